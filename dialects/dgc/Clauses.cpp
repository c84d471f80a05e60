// Numbers, initializers and padding as they are written.

#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LiteralText.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
/// A number, and whether it was written as an integer.
struct WrittenNumber {
  double value = 0;
  std::optional<APSInt> integer; // as wide as it needs, signed
};
} // namespace

/// What comes next in the text, which ends in a zero.
static const char *textAhead(AsmParser &parser) { return parser.getCurrentLocation().getPointer(); }

/// Parses the exponent after an integer. MLIR's lexer takes 1e-3 apart, as its literals have a decimal point.
static ParseResult parseExponent(AsmParser &parser, std::string &digits) {
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::string exponent = word.drop_front().str(); // of "e3"
  int64_t number = 0;
  if (exponent.empty()) {
    (void)parser.parseOptionalPlus();
    if (parser.parseInteger(number))
      return failure();
    exponent = std::to_string(number);
  }
  digits += "e" + exponent;
  return success();
}

/// True when an exponent follows the digits that were parsed last.
static bool exponentFollows(AsmParser &parser) {
  const char *text = textAhead(parser);
  if ((*text != 'e' && *text != 'E') || !llvm::isDigit(text[-1]))
    return false;
  do
    ++text;
  while (llvm::isDigit(*text));
  return !llvm::isAlnum(*text) && *text != '_';
}

/// True when the digits up to the exponent are all 0.
static bool isWrittenAsZero(const char *digits) {
  for (; llvm::isDigit(*digits) || *digits == '.'; ++digits)
    if (*digits != '0' && *digits != '.')
      return false;
  return true;
}

static ParseResult parseWritten(AsmParser &parser, WrittenNumber &number) {
  SMLoc location = parser.getCurrentLocation();
  // parseOptionalInteger would take the minus of a decimal.
  bool isNegative = succeeded(parser.parseOptionalMinus());
  if (!llvm::isDigit(*textAhead(parser))) {
    StringRef word;
    if (succeeded(parser.parseOptionalKeyword(&word)))
      return parser.emitError(location) << "expected a number such as 0.1 or 1e-3, not '" << word << "'";
    return parser.emitError(location, "expected a number such as 0.1 or 1e-3");
  }
  const char *digits = textAhead(parser);
  APInt integer; // without a sign, its highest bit 0
  OptionalParseResult isInteger = parser.parseOptionalInteger(integer);
  if (!isInteger.has_value()) {
    if (failed(parser.parseFloat(number.value)))
      return failure();
  } else if (failed(*isInteger)) {
    return failure();
  } else if (exponentFollows(parser)) {
    std::string text = llvm::toString(integer, 10, /*Signed=*/false);
    if (failed(parseExponent(parser, text)))
      return failure();
    number.value = std::strtod(text.c_str(), nullptr);
  } else {
    number.value = integer.roundToDouble(/*isSigned=*/false);
    number.integer = APSInt(isNegative ? -integer : integer, /*isUnsigned=*/false);
  }
  if (isNegative)
    number.value = -number.value;
  if (!std::isfinite(number.value))
    return parser.emitError(location, "expected a finite number; the largest is 1.7e308");
  if (number.value == 0 && !number.integer && !isWrittenAsZero(digits))
    return parser.emitError(location, "expected 0 or a number that f64 does not round to 0; the smallest is 5e-324");
  return success();
}

ParseResult dgc::parseNumber(AsmParser &parser, double &value) {
  WrittenNumber number;
  if (failed(parseWritten(parser, number)))
    return failure();
  value = number.value;
  return success();
}

bool dgc::startsLiteral(AsmParser &parser) {
  StringRef text(textAhead(parser), 1);
  if (llvm::isDigit(text[0]) || text[0] == '-')
    return true;
  const char *end = textAhead(parser);
  while (llvm::isAlnum(*end) || *end == '_')
    ++end;
  StringRef word(textAhead(parser), end - textAhead(parser));
  return word == "true" || word == "false";
}

ParseResult dgc::parseLiteral(AsmParser &parser, TypedAttr &value) {
  Builder &builder = parser.getBuilder();
  for (bool truth : {false, true})
    if (succeeded(parser.parseOptionalKeyword(truth ? "true" : "false"))) {
      value = builder.getBoolAttr(truth);
      return success();
    }
  SMLoc location = parser.getCurrentLocation();
  WrittenNumber number;
  if (failed(parseWritten(parser, number)))
    return failure();
  if (!number.integer) {
    value = builder.getF64FloatAttr(number.value);
    return success();
  }
  const bool isUnsigned = number.integer->getSignificantBits() > 64;
  if (isUnsigned && (number.integer->isNegative() || number.integer->getActiveBits() > 64))
    return parser.emitError(location, "expected an integer from -9223372036854775808 to 18446744073709551615; a "
                                      "larger float has a decimal point, as in 1.0e20");
  Type type = builder.getIntegerType(64, /*isSigned=*/!isUnsigned);
  value = IntegerAttr::get(isUnsigned ? type : builder.getI64Type(), number.integer->extOrTrunc(64));
  return success();
}

static std::string numberText(double value) {
  char text[40];
  for (int digits : {6, 9, 12, 15, 16, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  // A literal needs a decimal point.
  std::string literal = text;
  if (std::isfinite(value) && literal.find('.') == std::string::npos) {
    size_t exponent = literal.find('e');
    literal.insert(exponent == std::string::npos ? literal.size() : exponent, ".0");
  }
  return literal;
}

void dgc::printNumber(AsmPrinter &printer, double value) { printer.getStream() << numberText(value); }

std::string dgc::literalText(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return numberText(number.getValueAsDouble());
  auto integer = cast<IntegerAttr>(value);
  if (integer.getType().isInteger(1))
    return integer.getValue().isZero() ? "false" : "true";
  return llvm::toString(integer.getValue(), 10, /*Signed=*/!integer.getType().isUnsignedInteger());
}

void dgc::printLiteral(AsmPrinter &printer, Operation *, TypedAttr value) { printer << literalText(value); }

ParseResult dgc::parseNumber(AsmParser &parser, FloatAttr &value) {
  double number = 0;
  if (failed(parseNumber(parser, number)))
    return failure();
  value = parser.getBuilder().getF64FloatAttr(number);
  return success();
}

void dgc::printNumber(AsmPrinter &printer, Operation *, FloatAttr value) {
  printNumber(printer, value.getValueAsDouble());
}

ParseResult dgc::parseOptionalNumber(AsmParser &parser, StringRef keyword, FloatAttr &value) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parseNumber(parser, value);
}

void dgc::printOptionalNumber(AsmPrinter &printer, StringRef keyword, FloatAttr value) {
  if (!value)
    return;
  printer << ' ' << keyword << ' ';
  printNumber(printer, value.getValueAsDouble());
}

ParseResult dgc::parseListOrNumber(AsmParser &parser, int64_t repeat, DenseI64ArrayAttr &value) {
  int64_t number = 0;
  if (OptionalParseResult single = parser.parseOptionalInteger(number); single.has_value()) {
    value = parser.getBuilder().getDenseI64ArrayAttr(SmallVector<int64_t>(repeat, number));
    return *single;
  }
  SmallVector<int64_t> numbers;
  auto element = [&] { return parser.parseInteger(numbers.emplace_back()); };
  if (failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, element)))
    return failure();
  value = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return success();
}

ParseResult dgc::parseOptionalList(AsmParser &parser, StringRef keyword, int64_t repeat, DenseI64ArrayAttr &value) {
  return failed(parser.parseOptionalKeyword(keyword)) ? success() : parseListOrNumber(parser, repeat, value);
}

void dgc::printOptionalList(AsmPrinter &printer, StringRef keyword, DenseI64ArrayAttr value) {
  if (!value)
    return;
  printer << ' ' << keyword << " [";
  llvm::interleaveComma(value.asArrayRef(), printer);
  printer << ']';
}

ParseResult dgc::parseWord(AsmParser &parser, StringRef keyword, StringRef example) {
  SMLoc location = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(keyword)))
    return success();
  return parser.emitError(location) << "expected '" << keyword << "', as in '" << example << "'";
}

ParseResult dgc::parseOptionalField(AsmParser &parser, StringRef &field) {
  // The parser takes whole words, "dgc.loss" as well. The text, which ends in a zero, says whether the next one has a
  // dot.
  const char *text = parser.getCurrentLocation().getPointer();
  while (llvm::isAlnum(*text) || *text == '_' || *text == '$')
    ++text;
  return *text == '.' ? ParseResult(failure()) : parser.parseOptionalKeyword(&field);
}

std::string dgc::alternatives(ArrayRef<StringRef> words) {
  std::string text;
  for (auto [i, word] : llvm::enumerate(words)) {
    if (i > 0)
      text += i + 1 == words.size() ? " or " : ", ";
    text += word;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

ParseResult dgc::parseReduction(AsmParser &parser, ReductionKindAttr &kind) {
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  std::optional<ReductionKind> known;
  if (succeeded(parser.parseOptionalKeyword(&word)))
    known = symbolizeReductionKind(word);
  if (!known) {
    InFlightDiagnostic error = parser.emitError(location) << "expected a reduction: sum, product, max, min, and or or";
    if (!word.empty())
      error << ", not '" << word << "'";
    if (word == "mean" || word == "avg" || word == "average")
      error << "; a mean of n elements is their sum, multiplied by 1 / n (dgc.multiply %sum, 0.25), and the mean over "
               "the batch is part of losses (dgc.mean_squared_error, dgc.cross_entropy)";
    return error;
  }
  kind = ReductionKindAttr::get(parser.getContext(), *known);
  return success();
}

void dgc::printReduction(AsmPrinter &printer, Operation *, ReductionKindAttr kind) {
  printer << stringifyReductionKind(kind.getValue());
}

//===----------------------------------------------------------------------===//
// Initializers
//===----------------------------------------------------------------------===//

/// How many numbers follow the name of an initializer.
static int numbersOf(InitKind kind) {
  switch (kind) {
  case InitKind::Constant:
    return 1;
  case InitKind::Uniform:
  case InitKind::Normal:
  case InitKind::TruncatedNormal:
    return 2;
  default:
    return 0;
  }
}

InitAttr InitAttr::constant(MLIRContext *context, double value) {
  return get(context, InitKind::Constant, DenseF64ArrayAttr::get(context, value), {}, {});
}

InitAttr InitAttr::stored(ElementsAttr elements) {
  return get(elements.getContext(), InitKind::Stored, {}, {}, elements);
}

ParseResult dgc::parseInit(AsmParser &parser, InitAttr &init) {
  SMLoc location = parser.getCurrentLocation();
  std::string name;
  std::optional<InitKind> kind;
  if (succeeded(parser.parseOptionalKeywordOrString(&name)))
    kind = symbolizeInitKind(name);
  if (!kind)
    return parser.emitError(location)
           << (name.empty() ? "expected an initializer" : "unknown initializer '" + name + "'")
           << ": write zeros, constant VALUE, uniform LOW HIGH, normal MEAN STD, truncated_normal MEAN STD, "
              "glorot_uniform, glorot_normal, he_uniform, he_normal, file \"PATH\" or stored dense<..> : TYPE";
  MLIRContext *context = parser.getContext();
  if (*kind == InitKind::File) {
    std::string path;
    if (failed(parser.parseString(&path)))
      return failure();
    init = InitAttr::get(context, *kind, {}, StringAttr::get(context, path), {});
    return success();
  }
  if (*kind == InitKind::Stored) {
    ElementsAttr elements;
    if (failed(parser.parseAttribute(elements)))
      return failure();
    init = InitAttr::stored(elements);
    return success();
  }
  SmallVector<double> values(numbersOf(*kind));
  for (double &value : values)
    if (failed(parseNumber(parser, value)))
      return failure();
  init = InitAttr::get(context, *kind, values.empty() ? nullptr : DenseF64ArrayAttr::get(context, values), {}, {});
  return success();
}

void dgc::printInit(AsmPrinter &printer, Operation *, InitAttr init) {
  printer << stringifyInitKind(init.getKind());
  for (int i = 0, n = numbersOf(init.getKind()); i < n; ++i) {
    printer << ' ';
    printNumber(printer, i == 0 ? init.getA() : init.getB());
  }
  if (init.getKind() == InitKind::File)
    printer << ' ' << init.getFile();
  if (init.getKind() == InitKind::Stored)
    printer << ' ' << init.getElements();
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  InitAttr init;
  if (failed(parser.parseLess()) || failed(parseInit(parser, init)) || failed(parser.parseGreater()))
    return {};
  return init;
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printInit(printer, nullptr, *this);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

ParseResult dgc::parsePaddingClause(AsmParser &parser, PaddingAttr &padding) {
  MLIRContext *context = parser.getContext();
  if (succeeded(parser.parseOptionalKeyword("valid"))) {
    padding = PaddingAttr::get(context, PaddingKind::Valid, {});
    return success();
  }
  if (succeeded(parser.parseOptionalKeyword("same"))) {
    padding = PaddingAttr::get(context, PaddingKind::Same, {});
    return success();
  }
  SMLoc location = parser.getCurrentLocation();
  SmallVector<int64_t> amounts;
  auto pair = [&]() -> ParseResult {
    int64_t low = 0, high = 0;
    if (parser.parseLSquare() || parser.parseInteger(low) || parser.parseComma() || parser.parseInteger(high) ||
        parser.parseRSquare())
      return failure();
    amounts.append({low, high});
    return success();
  };
  if (failed(parser.parseOptionalLSquare()))
    return parser.emitError(location, "expected a padding: valid, same or [[LOW, HIGH], ..] with a pair for each "
                                      "spatial dimension");
  if (failed(parser.parseCommaSeparatedList(pair)) || failed(parser.parseRSquare()))
    return failure();
  padding = PaddingAttr::get(context, PaddingKind::Explicit, DenseI64ArrayAttr::get(context, amounts));
  return success();
}

void dgc::printPaddingClause(AsmPrinter &printer, PaddingAttr padding) {
  if (padding.getKind() != PaddingKind::Explicit) {
    printer << stringifyPaddingKind(padding.getKind());
    return;
  }
  ArrayRef<int64_t> amounts = padding.getAmounts();
  printer << '[';
  for (size_t i = 0; i + 1 < amounts.size(); i += 2)
    printer << (i ? ", [" : "[") << amounts[i] << ", " << amounts[i + 1] << ']';
  printer << ']';
}

Attribute PaddingAttr::parse(AsmParser &parser, Type) {
  PaddingAttr padding;
  if (failed(parser.parseLess()) || failed(parsePaddingClause(parser, padding)) || failed(parser.parseGreater()))
    return {};
  return padding;
}

void PaddingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printPaddingClause(printer, *this);
  printer << '>';
}
