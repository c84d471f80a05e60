// What the dimensions of a convolution are, as text: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.

#include "dialects/stablehlo/Assembly.h"
#include "dialects/stablehlo/Attributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace dgc::stablehlo;

namespace {
/// The dimensions of one of the three tensors: where its two named ones are, and the spatial ones in their order.
struct Dims {
  int64_t first = -1, second = -1;
  SmallVector<int64_t> spatial;
};
} // namespace

/// Parses `[b, 0, 1, f]`, where `names` has the letters of the two named dimensions.
static ParseResult parseDims(AsmParser &parser, StringRef names, Dims &dims) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<std::pair<int64_t, int64_t>> spatial; // number, position
  int64_t position = 0;
  auto parseDim = [&]() -> ParseResult {
    int64_t number = 0;
    StringRef name;
    OptionalParseResult parsed = parser.parseOptionalInteger(number);
    if (parsed.has_value()) {
      if (failed(*parsed))
        return failure();
      spatial.emplace_back(number, position++);
      return success();
    }
    if (succeeded(parser.parseOptionalQuestion()))
      return parser.emitError(location) << "dimensions without a meaning ('?') are not supported";
    if (parser.parseKeyword(&name))
      return failure();
    int64_t *place = name == names.take_front() ? &dims.first : name == names.drop_front() ? &dims.second : nullptr;
    if (!place || *place >= 0)
      return parser.emitError(location) << "'" << name << "' must be a number, or '" << names.take_front() << "' or '"
                                        << names.drop_front() << "', each once";
    *place = position++;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return failure();
  dims.spatial.assign(spatial.size(), -1);
  for (auto [number, at] : spatial) {
    if (number < 0 || number >= static_cast<int64_t>(spatial.size()) || dims.spatial[number] >= 0)
      return parser.emitError(location) << "spatial dimensions must be numbered from 0 on, each once";
    dims.spatial[number] = at;
  }
  if (dims.first < 0 || dims.second < 0)
    return parser.emitError(location) << "'" << names.take_front() << "' or '" << names.drop_front() << "' is missing";
  return success();
}

static ConvDimsAttr makeDims(MLIRContext *context, const Dims &input, const Dims &kernel, const Dims &output) {
  return ConvDimsAttr::get(context, input.first, input.second, input.spatial, kernel.first, kernel.second,
                           kernel.spatial, output.first, output.second, output.spatial);
}

ParseResult dgc::stablehlo::parseConvDimensions(AsmParser &parser, ConvDimsAttr &attribute) {
  Dims input, kernel, output;
  // "x" and what follows it is one keyword only where no bracket follows.
  if (parseDims(parser, "bf", input) || parser.parseKeyword("x") || parseDims(parser, "io", kernel) ||
      parser.parseArrow() || parseDims(parser, "bf", output))
    return failure();
  attribute = makeDims(parser.getContext(), input, kernel, output);
  return success();
}

static void printDims(AsmPrinter &printer, StringRef names, int64_t first, int64_t second, ArrayRef<int64_t> spatial) {
  SmallVector<std::string> texts(spatial.size() + 2, "?");
  auto put = [&](int64_t at, std::string text) {
    if (at >= 0 && at < static_cast<int64_t>(texts.size()))
      texts[at] = std::move(text);
  };
  put(first, names.take_front().str());
  put(second, names.drop_front().str());
  for (auto [i, at] : llvm::enumerate(spatial))
    put(at, std::to_string(i));
  printer << "[";
  llvm::interleaveComma(texts, printer);
  printer << "]";
}

void dgc::stablehlo::printConvDimensions(AsmPrinter &printer, ConvDimsAttr dims) {
  printDims(printer, "bf", dims.getInputBatchDimension(), dims.getInputFeatureDimension(),
            dims.getInputSpatialDimensions());
  printer << "x";
  printDims(printer, "io", dims.getKernelInputFeatureDimension(), dims.getKernelOutputFeatureDimension(),
            dims.getKernelSpatialDimensions());
  printer << "->";
  printDims(printer, "bf", dims.getOutputBatchDimension(), dims.getOutputFeatureDimension(),
            dims.getOutputSpatialDimensions());
}

/// Parses `raw` and what follows it: a field for each dimension.
static ParseResult parseRaw(AsmParser &parser, ConvDimsAttr &dims) {
  llvm::StringMap<SmallVector<int64_t>> fields;
  auto parseField = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    SmallVector<int64_t> &field = fields[name];
    auto parseNumber = [&] { return parser.parseInteger(field.emplace_back()); };
    if (!name.contains("_spatial_"))
      return parseNumber();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseNumber);
  };
  if (parser.parseCommaSeparatedList(parseField))
    return failure();
  auto number = [&](StringRef name) { return fields[name].empty() ? 0 : fields[name].front(); };
  dims = ConvDimsAttr::get(parser.getContext(), number("input_batch_dimension"), number("input_feature_dimension"),
                           fields["input_spatial_dimensions"], number("kernel_input_feature_dimension"),
                           number("kernel_output_feature_dimension"), fields["kernel_spatial_dimensions"],
                           number("output_batch_dimension"), number("output_feature_dimension"),
                           fields["output_spatial_dimensions"]);
  return success();
}

Attribute ConvDimsAttr::parse(AsmParser &parser, Type) {
  ConvDimsAttr dims;
  if (parser.parseLess() ||
      (succeeded(parser.parseOptionalKeyword("raw")) ? parseRaw(parser, dims) : parseConvDimensions(parser, dims)) ||
      parser.parseGreater())
    return {};
  return dims;
}

void ConvDimsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printConvDimensions(printer, *this);
  printer << ">";
}
