// The custom directives of the textual forms of ops.

#include "dialects/stablehlo/Assembly.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace dgc::stablehlo {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Gives the operands and the result the types of the function type; false where `type` is none.
static FailureOr<bool> takeFunctionType(OpAsmParser &parser, SMLoc location, Type type, ArrayRef<Type *> operands,
                                        Type &result) {
  auto function = dyn_cast<FunctionType>(type);
  if (!function)
    return false;
  if (function.getNumInputs() != operands.size() || function.getNumResults() != 1) {
    parser.emitError(location) << "expected the types of " << operands.size() << " operands and of one result";
    return failure();
  }
  for (auto [operand, input] : llvm::zip_equal(operands, function.getInputs()))
    *operand = input;
  result = function.getResult(0);
  return true;
}

static ParseResult parseTypes(OpAsmParser &parser, ArrayRef<Type *> operands, Type &result) {
  SMLoc location = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  FailureOr<bool> isFunction = takeFunctionType(parser, location, type, operands, result);
  if (failed(isFunction))
    return failure();
  if (!*isFunction) {
    for (Type *operand : operands)
      *operand = type;
    result = type;
  }
  return success();
}

static void printTypes(OpAsmPrinter &printer, ArrayRef<Type> operands, Type result) {
  if (llvm::all_equal(operands) && operands.front() == result)
    printer << result;
  else
    printer.printFunctionalType(operands, ArrayRef(result));
}

ParseResult parseSignature(OpAsmParser &parser, Type &operand, Type &result) {
  return parseTypes(parser, {&operand}, result);
}
ParseResult parseSignature(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  return parseTypes(parser, {&lhs, &rhs}, result);
}
ParseResult parseSignature(OpAsmParser &parser, Type &first, Type &second, Type &third, Type &result) {
  return parseTypes(parser, {&first, &second, &third}, result);
}
void printSignature(OpAsmPrinter &printer, Operation *, Type operand, Type result) {
  printTypes(printer, {operand}, result);
}
void printSignature(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs, Type result) {
  printTypes(printer, {lhs, rhs}, result);
}
void printSignature(OpAsmPrinter &printer, Operation *, Type first, Type second, Type third, Type result) {
  printTypes(printer, {first, second, third}, result);
}

ParseResult parseComplexTypes(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  SMLoc location = parser.getCurrentLocation();
  if (parseTypes(parser, {&lhs, &rhs}, result))
    return failure();
  if (lhs != result)
    return success();
  auto tensor = dyn_cast<RankedTensorType>(result);
  auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  if (!complex)
    return parser.emitError(location) << "expected a tensor of complex numbers";
  lhs = rhs = tensor.clone(complex.getElementType());
  return success();
}
void printComplexTypes(OpAsmPrinter &printer, Operation *, Type, Type, Type result) { printer << result; }

ParseResult parseSelectTypes(OpAsmParser &parser, Type &pred, Type &onTrue, Type &onFalse, Type &result) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(pred))
    return failure();
  FailureOr<bool> isFunction = takeFunctionType(parser, location, pred, {&pred, &onTrue, &onFalse}, result);
  if (failed(isFunction))
    return failure();
  if (!*isFunction) {
    if (parser.parseComma() || parser.parseType(result))
      return failure();
    onTrue = onFalse = result;
  }
  return success();
}
void printSelectTypes(OpAsmPrinter &printer, Operation *, Type pred, Type, Type, Type result) {
  printer << pred << ", " << result;
}

ParseResult parseSameTypes(OpAsmParser &parser, SmallVectorImpl<Type> &operands, SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}
void printSameTypes(OpAsmPrinter &printer, Operation *, TypeRange operands, TypeRange) { printer << operands; }

ParseResult parseTokenTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types, Type &result,
                            ArrayRef<Unresolved> operands) {
  if (parser.parseType(result))
    return failure();
  types.assign(operands.size(), result);
  return success();
}
void printTokenTypes(OpAsmPrinter &printer, Operation *, TypeRange, Type result, ValueRange) { printer << result; }

ParseResult parseTupleTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types, Type &result) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  if (auto function = dyn_cast<FunctionType>(result); function && function.getNumResults() == 1) {
    llvm::append_range(types, function.getInputs());
    result = function.getResult(0);
    return success();
  }
  auto tuple = dyn_cast<TupleType>(result);
  if (!tuple)
    return parser.emitError(location) << "expected the type of a tuple, not " << result;
  llvm::append_range(types, tuple.getTypes());
  return success();
}
void printTupleTypes(OpAsmPrinter &printer, Operation *, TypeRange, Type result) { printer << result; }

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Parses `[1, 2]`.
static ParseResult parseNumbers(AsmParser &parser, SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(numbers.emplace_back()); });
}

ParseResult parseFloatFormat(OpAsmParser &parser, IntegerAttr &exponentBits, IntegerAttr &mantissaBits) {
  SMLoc location = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  int32_t exponent = 0, mantissa = 0;
  if (!text.consume_front("e") || text.consumeInteger(10, exponent) || !text.consume_front("m") ||
      text.getAsInteger(10, mantissa))
    return parser.emitError(location) << "expected a format such as e5m10";
  exponentBits = parser.getBuilder().getI32IntegerAttr(exponent);
  mantissaBits = parser.getBuilder().getI32IntegerAttr(mantissa);
  return success();
}
void printFloatFormat(OpAsmPrinter &printer, Operation *, IntegerAttr exponentBits, IntegerAttr mantissaBits) {
  printer << "e" << exponentBits.getInt() << "m" << mantissaBits.getInt();
}

ParseResult parseOperands(OpAsmParser &parser, SmallVectorImpl<Unresolved> &operands) {
  while (true) {
    Unresolved operand;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      return success();
    if (failed(*parsed) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}
void printOperands(OpAsmPrinter &printer, Operation *, ValueRange operands) {
  for (Value operand : operands)
    printer << operand << ", ";
}

ParseResult parseRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts, DenseI64ArrayAttr &limits,
                        DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() || parser.parseInteger(limit.emplace_back()))
      return failure();
    stride.push_back(1);
    return succeeded(parser.parseOptionalColon()) ? parser.parseInteger(stride.back()) : success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  Builder &builder = parser.getBuilder();
  starts = builder.getDenseI64ArrayAttr(start);
  limits = builder.getDenseI64ArrayAttr(limit);
  strides = builder.getDenseI64ArrayAttr(stride);
  return success();
}
void printRanges(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                 DenseI64ArrayAttr strides) {
  printer << "[";
  llvm::interleaveComma(llvm::zip(starts.asArrayRef(), limits.asArrayRef(), strides.asArrayRef()), printer,
                        [&](auto range) {
                          auto [start, limit, stride] = range;
                          printer << start << ":" << limit;
                          if (stride != 1)
                            printer << ":" << stride;
                        });
  printer << "]";
}

/// Parses `[DEFAULT, HIGH]`.
static ParseResult parsePrecisionList(AsmParser &parser, ArrayAttr &precisions) {
  SmallVector<Attribute> all;
  auto parseOne = [&]() -> ParseResult {
    SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<Precision> precision = symbolizePrecision(name);
    if (!precision)
      return parser.emitError(location) << "'" << name << "' is no precision: DEFAULT, HIGH or HIGHEST";
    all.push_back(PrecisionAttr::get(parser.getContext(), *precision));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  precisions = ArrayAttr::get(parser.getContext(), all);
  return success();
}

ParseResult parsePrecision(OpAsmParser &parser, ArrayAttr &precisions) {
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("precision") || parser.parseEqual() || parsePrecisionList(parser, precisions));
}
void printPrecision(OpAsmPrinter &printer, Operation *, ArrayAttr precisions) {
  if (!precisions)
    return;
  printer << ", precision = [";
  llvm::interleaveComma(precisions.getAsRange<PrecisionAttr>(), printer,
                        [&](PrecisionAttr each) { printer << stringifyPrecision(each.getValue()); });
  printer << "]";
}

ParseResult parseDotClauses(OpAsmParser &parser, DotDimsAttr &dims, ArrayAttr &precisions,
                            DotAlgorithmAttr &algorithm) {
  NamedAttrList fields;
  auto parsePair = [&](StringRef lhsName, StringRef rhsName) -> ParseResult {
    SmallVector<int64_t> lhs, rhs;
    if (parseNumbers(parser, lhs) || parser.parseKeyword("x") || parseNumbers(parser, rhs))
      return failure();
    fields.set(lhsName, parser.getBuilder().getDenseI64ArrayAttr(lhs));
    fields.set(rhsName, parser.getBuilder().getDenseI64ArrayAttr(rhs));
    return success();
  };
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc location = parser.getCurrentLocation();
    StringRef clause;
    if (parser.parseKeyword(&clause) || parser.parseEqual())
      return failure();
    ParseResult parsed = success();
    if (clause == "batching_dims")
      parsed = parsePair("lhs_batching_dimensions", "rhs_batching_dimensions");
    else if (clause == "contracting_dims")
      parsed = parsePair("lhs_contracting_dimensions", "rhs_contracting_dimensions");
    else if (clause == "precision")
      parsed = parsePrecisionList(parser, precisions);
    else if (clause == "algorithm")
      parsed = parser.parseCustomAttributeWithFallback(algorithm);
    else
      return parser.emitError(location) << "'" << clause
                                        << "' is none of batching_dims, contracting_dims, precision "
                                           "and algorithm";
    if (parsed)
      return failure();
  }
  dims = DotDimsAttr::get(parser.getContext(), fields.getDictionary(parser.getContext()));
  return success();
}
void printDotClauses(OpAsmPrinter &printer, Operation *op, DotDimsAttr dims, ArrayAttr precisions,
                     DotAlgorithmAttr algorithm) {
  auto printPair = [&](StringRef clause, StringRef kind) {
    printer << ", " << clause << " = [" << dims.list(("lhs_" + kind).str()) << "] x ["
            << dims.list(("rhs_" + kind).str()) << "]";
  };
  if (!dims.list("lhs_batching_dimensions").empty() || !dims.list("rhs_batching_dimensions").empty())
    printPair("batching_dims", "batching_dimensions");
  printPair("contracting_dims", "contracting_dimensions");
  printPrecision(printer, op, precisions);
  if (algorithm) {
    printer << ", algorithm = ";
    printer.printStrippedAttrOrType(algorithm);
  }
}

/// Parses `[[0, 1], [2, 3]]`.
static ParseResult parsePadding(AsmParser &parser, DenseIntElementsAttr &padding) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<int64_t> numbers;
  auto parsePair = [&] { return parseNumbers(parser, numbers); };
  int64_t rows = 0;
  auto parseRow = [&]() -> ParseResult { return ++rows, parsePair(); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRow))
    return failure();
  if (static_cast<int64_t>(numbers.size()) != 2 * rows)
    return parser.emitError(location) << "expected two numbers for each dimension";
  Type type = parser.getBuilder().getI64Type();
  padding = DenseIntElementsAttr::get(RankedTensorType::get({rows, 2}, type), numbers);
  return success();
}

ParseResult parseWindow(OpAsmParser &parser, DenseI64ArrayAttr &strides, DenseIntElementsAttr &padding,
                        DenseI64ArrayAttr &lhsDilation, DenseI64ArrayAttr &rhsDilation, DenseBoolArrayAttr &reversal) {
  auto parseEntry = [&]() -> ParseResult {
    SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (name == "pad")
      return parsePadding(parser, padding);
    if (name == "reverse") {
      SmallVector<bool> flags;
      auto parseFlag = [&]() -> ParseResult {
        bool isSet = succeeded(parser.parseOptionalKeyword("true"));
        int64_t number = 0;
        if (!isSet && failed(parser.parseOptionalKeyword("false"))) {
          if (parser.parseInteger(number))
            return failure();
          isSet = number != 0;
        }
        flags.push_back(isSet);
        return success();
      };
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseFlag))
        return failure();
      reversal = parser.getBuilder().getDenseBoolArrayAttr(flags);
      return success();
    }
    DenseI64ArrayAttr *entry = name == "stride"       ? &strides
                               : name == "lhs_dilate" ? &lhsDilation
                               : name == "rhs_dilate" ? &rhsDilation
                                                      : nullptr;
    if (!entry)
      return parser.emitError(location) << "'" << name
                                        << "' is none of stride, pad, lhs_dilate, rhs_dilate and "
                                           "reverse";
    SmallVector<int64_t> numbers;
    if (parseNumbers(parser, numbers))
      return failure();
    *entry = parser.getBuilder().getDenseI64ArrayAttr(numbers);
    return success();
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces, parseEntry);
}
void printWindow(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides, DenseIntElementsAttr padding,
                 DenseI64ArrayAttr lhsDilation, DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal) {
  StringRef separator = "";
  auto begin = [&](StringRef name) { printer << std::exchange(separator, ", ") << name << " = ["; };
  auto print = [&](StringRef name, auto array) {
    if (!array)
      return;
    begin(name);
    llvm::interleaveComma(array.asArrayRef(), printer, [&](auto each) {
      if constexpr (std::is_same_v<decltype(each), bool>)
        printer << (each ? "true" : "false");
      else
        printer << each;
    });
    printer << "]";
  };
  printer << "{";
  print("stride", strides);
  if (padding) {
    begin("pad");
    auto numbers = llvm::to_vector(padding.getValues<int64_t>());
    for (size_t i = 0; i + 1 < numbers.size(); i += 2)
      printer << (i ? ", " : "") << "[" << numbers[i] << ", " << numbers[i + 1] << "]";
    printer << "]";
  }
  print("lhs_dilate", lhsDilation);
  print("rhs_dilate", rhsDilation);
  print("reverse", reversal);
  printer << "}";
}

ParseResult parseTarget(OpAsmParser &parser, StringAttr &target) {
  if (succeeded(parser.parseOptionalSymbolName(target)))
    return success();
  return parser.parseAttribute(target);
}
void printTarget(OpAsmPrinter &printer, Operation *, StringAttr target) { printer.printSymbolName(target.getValue()); }

} // namespace dgc::stablehlo
