// The dialect of portable artifacts, as far as reading them takes.
//
// The bytecode of MLIR leaves types, attributes and properties to dialects. Here types and attributes are read as those of
// MLIR and StableHLO that they stand for, and the properties of an operation, which are stored in the alphabetical order
// of their names, as its dictionary of attributes.

#include "compiler/import/Vhlo.h"
#include "dialects/stablehlo/StableHLO.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/ExtensibleDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace dgc::import {
namespace {

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

/// Reads one type or attribute. On failure there is a diagnostic.
class Decoder {
public:
  explicit Decoder(DialectBytecodeReader &reader) : reader(reader), builder(reader.getContext()) {}

  Type readType();
  Attribute readAttribute();

private:
  Type readTensor(bool hasEncoding);
  Type readComplex();
  Type readFunction();
  Type readTuple();
  Attribute readArray();
  Attribute readDictionary();
  Attribute readFloat();
  Attribute readInteger();
  Attribute readString();
  Attribute readTensorValue();
  Attribute readAlias();
  Attribute readAccuracy();
  template <class Attr> using EnumOf = decltype(std::declval<Attr>().getValue());
  template <class Attr> Attribute readEnum(std::optional<EnumOf<Attr>> (*symbolize)(uint32_t));

  template <class... Parts> std::nullptr_t fail(Parts &&...parts) {
    InFlightDiagnostic error = reader.emitError();
    (error << ... << std::forward<Parts>(parts));
    return nullptr;
  }

  DialectBytecodeReader &reader;
  Builder builder;
};

Type Decoder::readComplex() {
  Type element;
  if (failed(reader.readType(element)))
    return {};
  return isa<FloatType>(element) ? Type(ComplexType::get(element)) : fail("complex numbers of the type ", element);
}

Type Decoder::readFunction() {
  SmallVector<Type> inputs, results;
  if (failed(reader.readTypes(inputs)) || failed(reader.readTypes(results)))
    return {};
  return builder.getFunctionType(inputs, results);
}

Type Decoder::readTuple() {
  SmallVector<Type> types;
  if (failed(reader.readTypes(types)))
    return {};
  return builder.getTupleType(types);
}

Type Decoder::readTensor(bool hasEncoding) {
  Attribute encoding;
  SmallVector<int64_t> shape;
  Type element;
  if ((hasEncoding && failed(reader.readAttribute(encoding))) || failed(reader.readSignedVarInts(shape)) ||
      failed(reader.readType(element)))
    return {};
  if (hasEncoding)
    return fail("a tensor with an encoding, which is not supported");
  if (!RankedTensorType::isValidElementType(element) ||
      llvm::any_of(shape, [](int64_t size) { return size < 0 && !ShapedType::isDynamic(size); }))
    return fail("a tensor type that there is not");
  return RankedTensorType::get(shape, element);
}

Type Decoder::readType() {
  uint64_t code = 0;
  if (failed(reader.readVarInt(code)))
    return {};
  switch (code) {
  case 0:
    return builder.getI1Type();
  case 1:
    return readComplex();
  case 2:
    return builder.getBF16Type();
  case 3:
    return builder.getF16Type();
  case 4:
    return builder.getF32Type();
  case 5:
    return builder.getF64Type();
  case 6:
    return Float8E4M3FNType::get(reader.getContext());
  case 7:
    return Float8E5M2Type::get(reader.getContext());
  case 8:
    return readFunction();
  case 9:
    return builder.getIndexType();
  case 10:
    return builder.getIntegerType(4);
  case 11:
    return builder.getIntegerType(8);
  case 12:
    return builder.getIntegerType(16);
  case 13:
    return builder.getIntegerType(32);
  case 14:
    return builder.getIntegerType(64);
  case 15:
    return builder.getIntegerType(4, /*isSigned=*/false);
  case 16:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case 17:
    return builder.getIntegerType(16, /*isSigned=*/false);
  case 18:
    return builder.getIntegerType(32, /*isSigned=*/false);
  case 19:
    return builder.getIntegerType(64, /*isSigned=*/false);
  case 20:
    return readTensor(/*hasEncoding=*/false);
  case 21:
    return readTensor(/*hasEncoding=*/true);
  case 22:
    return stablehlo::TokenType::get(reader.getContext());
  case 23:
    return readTuple();
  case 24:
  case 30:
    return fail("quantized types are not supported");
  case 27:
    return Float8E4M3FNUZType::get(reader.getContext());
  case 28:
    return Float8E5M2FNUZType::get(reader.getContext());
  case 29:
    return Float8E4M3B11FNUZType::get(reader.getContext());
  case 31:
    return builder.getIntegerType(2);
  case 32:
    return builder.getIntegerType(2, /*isSigned=*/false);
  case 33:
    return builder.getNoneType();
  default:
    return fail("the type with the code ", code, " is not known");
  }
}

Attribute Decoder::readArray() {
  SmallVector<Attribute> elements;
  if (failed(reader.readAttributes(elements)))
    return {};
  return builder.getArrayAttr(elements);
}

Attribute Decoder::readDictionary() {
  NamedAttrList entries;
  SmallVector<char> none;
  auto readEntry = [&](char &) -> LogicalResult {
    StringAttr key;
    Attribute value;
    if (failed(reader.readAttribute(key)) || failed(reader.readAttribute(value)))
      return failure();
    if (key.empty() || entries.get(key))
      return fail("a dictionary names '", key.getValue(), "' twice"), failure();
    entries.append(key, value);
    return success();
  };
  if (failed(reader.readList(none, readEntry)))
    return {};
  return entries.getDictionary(reader.getContext());
}

Attribute Decoder::readFloat() {
  FloatType type;
  if (failed(reader.readType(type)))
    return {};
  FailureOr<APFloat> value = reader.readAPFloatWithKnownSemantics(type.getFloatSemantics());
  return failed(value) ? Attribute() : FloatAttr::get(type, *value);
}

Attribute Decoder::readInteger() {
  Type type;
  if (failed(reader.readType(type)))
    return {};
  if (!isa<IntegerType, IndexType>(type))
    return fail("a number of the type ", type);
  FailureOr<APInt> value = reader.readAPIntWithKnownWidth(type.isIndex() ? 64 : type.getIntOrFloatBitWidth());
  return failed(value) ? Attribute() : IntegerAttr::get(type, *value);
}

Attribute Decoder::readString() {
  StringRef text;
  return failed(reader.readString(text)) ? Attribute() : builder.getStringAttr(text);
}

/// Booleans of a tensor: one byte for all, one bit each, or one byte each. One alone where all are equal.
FailureOr<SmallVector<bool>> readBools(ArrayRef<char> blob, size_t count) {
  if (blob.size() == 1 && (blob[0] == 0 || static_cast<uint8_t>(blob[0]) == 0xFF))
    return SmallVector<bool>(std::min<size_t>(count, 1), blob[0] != 0);
  SmallVector<bool> values;
  if (blob.size() == (count + 7) / 8)
    for (size_t i = 0; i < count; ++i)
      values.push_back((static_cast<uint8_t>(blob[i / 8]) >> (i % 8)) & 1);
  else if (blob.size() == count)
    for (char byte : blob)
      values.push_back(byte != 0);
  else
    return failure();
  return values;
}

Attribute Decoder::readTensorValue() {
  RankedTensorType type;
  ArrayRef<char> blob;
  bool isSplat = false;
  if (failed(reader.readType(type)) || failed(reader.readBlob(blob)))
    return {};
  if (!type.hasStaticShape())
    return fail("a constant of the type ", type);
  auto count = static_cast<size_t>(type.getNumElements());
  if (type.getElementType().isInteger(1)) {
    if (count > blob.size() * 8 && blob.size() != 1)
      return fail("a constant of the type ", type, " with ", blob.size(), " bytes");
    FailureOr<SmallVector<bool>> values = readBools(blob, count);
    return failed(values) ? Attribute(fail("a constant of the type ", type, " with ", blob.size(), " bytes"))
                          : DenseElementsAttr::get(type, *values);
  }
  if (!isa<IntegerType, IndexType, FloatType, ComplexType>(type.getElementType()) ||
      !DenseElementsAttr::isValidRawBuffer(type, blob, isSplat))
    return fail("a constant of the type ", type, " with ", blob.size(), " bytes");
  return DenseElementsAttr::getFromRawBuffer(type, blob);
}

Attribute Decoder::readAlias() {
  SmallVector<int64_t> outputs, operands;
  int64_t operand = 0;
  if (failed(reader.readSignedVarInts(outputs)) || failed(reader.readSignedVarInt(operand)) ||
      failed(reader.readSignedVarInts(operands)))
    return {};
  NamedAttrList fields;
  fields.append("output_tuple_indices", builder.getDenseI64ArrayAttr(outputs));
  fields.append("operand_index", builder.getI64IntegerAttr(operand));
  fields.append("operand_tuple_indices", builder.getDenseI64ArrayAttr(operands));
  return stablehlo::OutputOperandAliasAttr::get(reader.getContext(), fields.getDictionary(reader.getContext()));
}

Attribute Decoder::readAccuracy() {
  FailureOr<APFloat> absolute = reader.readAPFloatWithKnownSemantics(APFloat::IEEEdouble());
  if (failed(absolute))
    return {};
  FailureOr<APFloat> relative = reader.readAPFloatWithKnownSemantics(APFloat::IEEEdouble());
  int64_t ulps = 0;
  Attribute mode;
  if (failed(relative) || failed(reader.readSignedVarInt(ulps)) || failed(reader.readAttribute(mode)))
    return {};
  NamedAttrList fields;
  fields.append("atol", FloatAttr::get(builder.getF64Type(), *absolute));
  fields.append("rtol", FloatAttr::get(builder.getF64Type(), *relative));
  fields.append("ulps", builder.getI64IntegerAttr(ulps));
  fields.append("mode", mode);
  return stablehlo::ResultAccuracyAttr::get(reader.getContext(), fields.getDictionary(reader.getContext()));
}

/// The enums of StableHLO have the numbers of portable artifacts.
template <class Attr> Attribute Decoder::readEnum(std::optional<EnumOf<Attr>> (*symbolize)(uint32_t)) {
  uint64_t number = 0;
  if (failed(reader.readVarInt(number)))
    return {};
  std::optional<EnumOf<Attr>> value;
  if (number <= std::numeric_limits<uint32_t>::max())
    value = symbolize(static_cast<uint32_t>(number));
  return value ? Attribute(Attr::get(reader.getContext(), *value)) : fail("an enum with the number ", number);
}

Attribute Decoder::readAttribute() {
  uint64_t code = 0, number = 0;
  Type type;
  SmallVector<int64_t> bounds;
  if (failed(reader.readVarInt(code)))
    return {};
  switch (code) {
  case 1:
    return readArray();
  case 2:
    return failed(reader.readVarInt(number)) ? Attribute() : builder.getBoolAttr(number != 0);
  case 3:
    return readEnum<stablehlo::ComparisonDirectionAttr>(stablehlo::symbolizeComparisonDirection);
  case 4:
    return readEnum<stablehlo::ComparisonTypeAttr>(stablehlo::symbolizeComparisonType);
  case 5:
    return readEnum<stablehlo::CustomCallApiVersionAttr>(stablehlo::symbolizeCustomCallApiVersion);
  case 6:
    return readDictionary();
  case 7:
    return readEnum<stablehlo::FftTypeAttr>(stablehlo::symbolizeFftType);
  case 8:
    return readFloat();
  case 9:
    return readInteger();
  case 10:
    return readAlias();
  case 11:
    return readEnum<stablehlo::PrecisionAttr>(stablehlo::symbolizePrecision);
  case 12:
    return readEnum<stablehlo::RngAlgorithmAttr>(stablehlo::symbolizeRngAlgorithm);
  case 13:
    return readEnum<stablehlo::RngDistributionAttr>(stablehlo::symbolizeRngDistribution);
  case 14:
    return readString();
  case 15:
    return readTensorValue();
  case 16:
    return readEnum<stablehlo::TransposeAttr>(stablehlo::symbolizeTranspose);
  case 17:
    return failed(reader.readType(type)) ? Attribute() : TypeAttr::get(type);
  case 18:
    return failed(reader.readSignedVarInts(bounds)) ? Attribute() : builder.getDenseI64ArrayAttr(bounds);
  case 19:
    return readEnum<stablehlo::ResultAccuracyModeAttr>(stablehlo::symbolizeResultAccuracyMode);
  case 20:
    return readAccuracy();
  default:
    return fail("the attribute with the code ", code, " is not known");
  }
}

struct VhloBytecode : BytecodeDialectInterface {
  explicit VhloBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}
  Type readType(DialectBytecodeReader &reader) const override { return Decoder(reader).readType(); }
  Attribute readAttribute(DialectBytecodeReader &reader) const override { return Decoder(reader).readAttribute(); }
};

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The names of the attributes of each operation with its version, in the order in which they are stored.
const llvm::StringMap<SmallVector<StringRef>> &attributesByName() {
  static const llvm::StringMap<SmallVector<StringRef>> map = [] {
    llvm::StringMap<SmallVector<StringRef>> result;
    auto add = [&](StringRef name, int first, int last, ArrayRef<StringRef> attributes) {
      for (int version = first; version <= last; ++version)
        result[(name + "_v" + Twine(version)).str()] = SmallVector<StringRef>(attributes);
    };
#define DGC_VHLO_OP(name, first, last, ...) add(name, first, last, {__VA_ARGS__});
#include "compiler/import/VhloOps.def"
    return result;
  }();
  return map;
}

/// Reads the properties of an operation.
struct PropertiesReader : BytecodeOpInterface::FallbackModel<PropertiesReader> {
  static LogicalResult readProperties(DialectBytecodeReader &reader, OperationState &state) {
    for (StringRef name : attributesByName().lookup(state.name.stripDialect())) {
      Attribute value;
      if (failed(reader.readAttribute(value)))
        return failure();
      state.addAttribute(name, value);
    }
    return success();
  }
  void writeProperties(Operation *, DialectBytecodeWriter &) const {}
};

class VhloDialect : public ExtensibleDialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VhloDialect)
  static constexpr StringLiteral getDialectNamespace() { return "vhlo"; }

  explicit VhloDialect(MLIRContext *context)
      : ExtensibleDialect(getDialectNamespace(), context, TypeID::get<VhloDialect>()) {
    context->loadDialect<stablehlo::StableHLODialect>();
    addInterfaces<VhloBytecode>();
    auto verifies = [](Operation *) { return success(); };
    for (const auto &entry : attributesByName()) {
      registerDynamicOp(DynamicOpDefinition::get(entry.getKey(), this, verifies, verifies));
      OperationName(("vhlo." + entry.getKey()).str(), context).getRegisteredInfo()->attachInterface<PropertiesReader>();
    }
  }
};

} // namespace

void registerVhlo(DialectRegistry &registry) { registry.insert<VhloDialect>(); }

} // namespace dgc::import
