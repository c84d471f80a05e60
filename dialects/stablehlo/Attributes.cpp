// The attributes of the dialect stablehlo that are lists of fields.

#include "dialects/stablehlo/Attributes.h"
#include "dialects/stablehlo/StableHLO.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dgc::stablehlo;

ArrayRef<int64_t> dgc::stablehlo::listField(DictionaryAttr fields, StringRef name) {
  auto list = fields.getAs<DenseI64ArrayAttr>(name);
  return list ? list.asArrayRef() : ArrayRef<int64_t>();
}

int64_t dgc::stablehlo::numberField(DictionaryAttr fields, StringRef name) {
  auto number = fields.getAs<IntegerAttr>(name);
  return number && number.getValue().getSignificantBits() <= 64 ? number.getValue().getSExtValue() : 0;
}

/// Parses `1, 2]`, behind the bracket that opens a list.
static ParseResult parseList(AsmParser &parser, Attribute &value) {
  SmallVector<int64_t> numbers;
  if (failed(parser.parseOptionalRSquare())) {
    auto parseNumber = [&] { return parser.parseInteger(numbers.emplace_back()); };
    if (parser.parseCommaSeparatedList(parseNumber) || parser.parseRSquare())
      return failure();
  }
  value = DenseI64ArrayAttr::get(parser.getContext(), numbers);
  return success();
}

DictionaryAttr dgc::stablehlo::parseFields(AsmParser &parser) {
  NamedAttrList fields;
  auto parseField = [&]() -> ParseResult {
    StringRef name;
    SMLoc location = parser.getCurrentLocation();
    Attribute value;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (fields.get(name))
      return parser.emitError(location) << "'" << name << "' is given twice";
    bool isList = succeeded(parser.parseOptionalLSquare());
    if (isList ? parseList(parser, value) : parser.parseAttribute(value))
      return failure();
    fields.append(name, value);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseField))
    return {};
  return fields.getDictionary(parser.getContext());
}

void dgc::stablehlo::printFields(AsmPrinter &printer, DictionaryAttr fields) {
  printer << "<";
  llvm::interleaveComma(fields, printer, [&](NamedAttribute field) {
    printer << field.getName().getValue() << " = ";
    if (auto list = dyn_cast<DenseI64ArrayAttr>(field.getValue()))
      printer << "[" << list.asArrayRef() << "]";
    else if (auto number = dyn_cast<IntegerAttr>(field.getValue()); number && number.getType().isInteger(64))
      printer << number.getInt();
    else
      printer << field.getValue();
  });
  printer << ">";
}

LogicalResult dgc::stablehlo::verifyFields(function_ref<InFlightDiagnostic()> emitError, DictionaryAttr fields,
                                           ArrayRef<StringRef> lists, ArrayRef<StringRef> others) {
  for (NamedAttribute field : fields) {
    StringRef name = field.getName().getValue();
    if (llvm::is_contained(lists, name)) {
      if (!isa<DenseI64ArrayAttr>(field.getValue()))
        return emitError() << "'" << name << "' must be a list of numbers";
    } else if (!llvm::is_contained(others, name)) {
      return emitError() << "has no field '" << name << "'";
    }
  }
  return success();
}

#define GET_ATTRDEF_CLASSES
#include "dialects/stablehlo/StableHLOAttrs.cpp.inc"

void StableHLODialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/stablehlo/StableHLOAttrs.cpp.inc"
      >();
}
