// Layers for images: convolution and pooling.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LayerUtil.h"
#include "dialects/dgc/SpatialWindow.h"

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// Height and width, of ops that are for images alone.
static constexpr int64_t kImageDims = 2;

static ParseResult parseWindow(OpAsmParser &parser, DenseI64ArrayAttr &window) {
  return parseListOrNumber(parser, kImageDims, window);
}

static void printWindow(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr window) {
  printer << '[';
  llvm::interleaveComma(window.asArrayRef(), printer);
  printer << ']';
}

static ParseResult parseStridesAndPadding(OpAsmParser &parser, int64_t spatialDims, DenseI64ArrayAttr &strides,
                                          PaddingAttr &padding) {
  if (failed(parseOptionalList(parser, "strides", spatialDims, strides)))
    return failure();
  return succeeded(parser.parseOptionalKeyword("padding")) ? parsePaddingClause(parser, padding) : success();
}

static ParseResult parseDilationAndGroups(OpAsmParser &parser, int64_t spatialDims, DenseI64ArrayAttr &dilation,
                                          IntegerAttr &groups) {
  int64_t count = 0;
  if (failed(parseOptionalList(parser, "dilation", spatialDims, dilation)))
    return failure();
  if (failed(parser.parseOptionalKeyword("groups")))
    return success();
  if (failed(parser.parseInteger(count)))
    return failure();
  groups = parser.getBuilder().getI64IntegerAttr(count);
  return success();
}

static void printDilationAndGroups(OpAsmPrinter &printer, DenseI64ArrayAttr dilation, IntegerAttr groups) {
  printOptionalList(printer, "dilation", dilation);
  if (groups)
    printer << " groups " << groups.getInt();
}

static ParseResult parsePoolClauses(OpAsmParser &parser, DenseI64ArrayAttr &strides, PaddingAttr &padding) {
  return parseStridesAndPadding(parser, kImageDims, strides, padding);
}

static void printPoolClauses(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides, PaddingAttr padding) {
  printOptionalList(printer, "strides", strides);
  if (padding) {
    printer << " padding ";
    printPaddingClause(printer, padding);
  }
}

static ParseResult parseConvClauses(OpAsmParser &parser, int64_t spatialDims, DenseI64ArrayAttr &strides,
                                    PaddingAttr &padding, DenseI64ArrayAttr &dilation, IntegerAttr &groups) {
  return failure(failed(parseStridesAndPadding(parser, spatialDims, strides, padding)) ||
                 failed(parseDilationAndGroups(parser, spatialDims, dilation, groups)));
}

static void printConvClauses(OpAsmPrinter &printer, Operation *op, int64_t, DenseI64ArrayAttr strides,
                             PaddingAttr padding, DenseI64ArrayAttr dilation, IntegerAttr groups) {
  printPoolClauses(printer, op, strides, padding);
  printDilationAndGroups(printer, dilation, groups);
}

static ParseResult parseConvTransposeClauses(OpAsmParser &parser, DenseI64ArrayAttr &strides, PaddingAttr &padding,
                                             DenseI64ArrayAttr &outputPadding, DenseI64ArrayAttr &dilation,
                                             IntegerAttr &groups) {
  return failure(failed(parseStridesAndPadding(parser, kImageDims, strides, padding)) ||
                 failed(parseOptionalList(parser, "output_padding", kImageDims, outputPadding)) ||
                 failed(parseDilationAndGroups(parser, kImageDims, dilation, groups)));
}

static void printConvTransposeClauses(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr strides,
                                      PaddingAttr padding, DenseI64ArrayAttr outputPadding, DenseI64ArrayAttr dilation,
                                      IntegerAttr groups) {
  printPoolClauses(printer, op, strides, padding);
  printOptionalList(printer, "output_padding", outputPadding);
  printDilationAndGroups(printer, dilation, groups);
}

#define GET_OP_CLASSES
#include "dialects/dgc/ImageOps.cpp.inc"

namespace dgc {
void registerImageOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ImageOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// [n, .., channels] of the sizes of the result of a window.
static RankedTensorType resultType(RankedTensorType input, const SpatialWindow &window, int64_t channels) {
  SmallVector<int64_t> shape{input.getDimSize(0)};
  llvm::append_range(shape, window.result);
  shape.push_back(channels);
  return RankedTensorType::get(shape, input.getElementType());
}

/// Reports weights of another rank: `channels` are the names of their last two dimensions.
static LogicalResult checkWeights(std::optional<Location> location, StringRef name, RankedTensorType weights,
                                  int64_t spatialDims, StringRef channels) {
  if (weights.getRank() == spatialDims + 2)
    return success();
  StringRef spatial = activationsOf(spatialDims).drop_front(sizeof("[n, ") - 1).drop_back(sizeof("channels]") - 1);
  return emitOptionalError(location, "'", name, "' has weights of type ", weights, ", which must be [", spatial,
                           channels, "]");
}

template <typename ConvT>
static FailureOr<SpatialWindow> convWindow(std::optional<Location> location, StringRef name, ConvT op,
                                           int64_t spatialDims) {
  RankedTensorType input = typeOf(op.getInput()), weights = typeOf(op.getWeights());
  if (failed(checkWeights(location, name, weights, spatialDims, "channels / groups, filters")))
    return failure();
  return computeWindow(location, name, input, spatialDims,
                       {weights.getShape().drop_back(2), op.getStrides(), op.getPadding(), op.getDilation()});
}

/// Reports channels and filters that the groups do not divide.
static LogicalResult checkGroups(std::optional<Location> location, StringRef name, int64_t groups, int64_t channels,
                                 int64_t filters) {
  if (groups >= 1 && channels % groups == 0 && filters % groups == 0)
    return success();
  return emitOptionalError(location, "'", name, "' cannot cut ", channels, " channels and ", filters, " filters into ",
                           groups, " equal groups");
}

template <typename ConvT>
static LogicalResult inferConv(std::optional<Location> location, StringRef name, ConvT adaptor, int64_t spatialDims,
                               SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput()), weights = typeOf(adaptor.getWeights());
  FailureOr<SpatialWindow> window = convWindow(location, name, adaptor, spatialDims);
  if (failed(window) || failed(checkElements(location, name, input, weights)))
    return failure();
  const int64_t groups = adaptor.getGroups().value_or(1), channels = input.getShape().back();
  const int64_t filters = weights.getShape().back();
  if (failed(checkGroups(location, name, groups, channels, filters)))
    return failure();
  if (weights.getDimSize(spatialDims) * groups != channels)
    return emitOptionalError(location, "'", name, "' has an input of type ", input, " and weights of type ", weights,
                             ": dimension ", spatialDims, " of the weights must be channels / groups, ",
                             channels / groups);
  types.push_back(resultType(input, *window, filters));
  return checkBias(location, name, input, adaptor.getBias(), filters);
}

template <typename ConvT> static FailureOr<SmallVector<Value>> decomposeConv(OpBuilder &builder, ConvT op) {
  const int64_t spatialDims = typeOf(op.getInput()).getRank() - 2;
  FailureOr<SpatialWindow> window = convWindow(op.getLoc(), op.getOperationName(), op, spatialDims);
  if (failed(window))
    return failure();
  CompositeBuilder b(builder, op.getLoc());
  Value result =
      ConvolutionOp::create(builder, op.getLoc(), op.getInput(), op.getWeights(), window->strides, window->padding(),
                            window->dilation, SmallVector<int64_t>(spatialDims, 1), op.getGroups().value_or(1));
  return SmallVector<Value>{addBias(b, result, op.getBias())};
}

LogicalResult Conv1DOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferConv(location, getOperationName(), adaptor, 1, types);
}
LogicalResult Conv2DOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferConv(location, getOperationName(), adaptor, 2, types);
}
LogicalResult Conv3DOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferConv(location, getOperationName(), adaptor, 3, types);
}

FailureOr<SmallVector<Value>> Conv1DOp::decompose(OpBuilder &builder) { return decomposeConv(builder, *this); }
FailureOr<SmallVector<Value>> Conv2DOp::decompose(OpBuilder &builder) { return decomposeConv(builder, *this); }
FailureOr<SmallVector<Value>> Conv3DOp::decompose(OpBuilder &builder) { return decomposeConv(builder, *this); }

template <typename ConvT> static FailureOr<SpatialWindow> transposedWindow(std::optional<Location> location, ConvT op) {
  RankedTensorType input = typeOf(op.getInput()), weights = typeOf(op.getWeights());
  StringRef name = ConvTranspose2DOp::getOperationName();
  if (failed(checkWeights(location, name, weights, kImageDims, "filters / groups, channels")))
    return failure();
  return computeTransposedWindow(location, name, input, kImageDims,
                                 {weights.getShape().drop_back(2), op.getStrides(), op.getPadding(), op.getDilation()},
                                 op.getOutputPadding());
}

LogicalResult ConvTranspose2DOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput()), weights = typeOf(adaptor.getWeights());
  FailureOr<SpatialWindow> window = transposedWindow(location, adaptor);
  if (failed(window) || failed(checkElements(location, getOperationName(), input, weights)))
    return failure();
  const int64_t groups = adaptor.getGroups().value_or(1), channels = input.getShape().back();
  const int64_t filters = weights.getDimSize(kImageDims) * groups;
  if (failed(checkGroups(location, getOperationName(), groups, channels, filters)))
    return failure();
  if (weights.getShape().back() != channels)
    return emitOptionalError(location, "'dgc.conv_transpose2d' has an input of type ", input, " and weights of type ",
                             weights, ": the last dimension of the weights must be that of the input, ", channels);
  types.push_back(resultType(input, *window, filters));
  return checkBias(location, getOperationName(), input, adaptor.getBias(), filters);
}

FailureOr<SmallVector<Value>> ConvTranspose2DOp::decompose(OpBuilder &builder) {
  FailureOr<SpatialWindow> window = transposedWindow(getLoc(), *this);
  if (failed(window))
    return failure();
  CompositeBuilder b(builder, getLoc());
  Value result = ConvolutionInputGradOp::create(builder, getLoc(), getInput(), getWeights(), window->result,
                                                window->strides, window->padding(), window->dilation,
                                                ArrayRef<int64_t>{1, 1}, getGroups().value_or(1));
  return SmallVector<Value>{addBias(b, result, getBias())};
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

template <typename PoolT>
static FailureOr<SpatialWindow> poolWindow(std::optional<Location> location, StringRef name, PoolT op,
                                           RankedTensorType input) {
  return computeWindow(location, name, input, kImageDims,
                       {op.getWindow(), op.getStrides(), op.getPadding(), std::nullopt, /*stridesAreWindow=*/true});
}

template <typename PoolT>
static LogicalResult inferPool(std::optional<Location> location, PoolT adaptor, StringRef name,
                               SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  FailureOr<SpatialWindow> window = poolWindow(location, name, adaptor, input);
  if (failed(window))
    return failure();
  for (int i = 0; i < 2; ++i)
    if (window->low[i] >= window->size[i] || window->high[i] >= window->size[i])
      return emitOptionalError(location, "'", name,
                               "' has a padding as large as its window: some windows would be "
                               "empty");
  types.push_back(resultType(input, *window, input.getShape().back()));
  return success();
}

/// A pooling op as a reduction over windows of all four dimensions.
template <typename PoolT>
static Value reduceWindow(CompositeBuilder &b, PoolT op, ReductionKind kind, const SpatialWindow &w) {
  int64_t size[] = {1, w.size[0], w.size[1], 1}, strides[] = {1, w.strides[0], w.strides[1], 1};
  int64_t padding[] = {0, 0, w.low[0], w.high[0], w.low[1], w.high[1], 0, 0};
  return ReduceWindowOp::create(b.builder, b.location, kind, op.getInput(), size, strides, padding);
}

template <typename PoolT> static FailureOr<SpatialWindow> poolWindow(PoolT op, RankedTensorType input) {
  return poolWindow(op.getLoc(), op.getOperationName(), op, input);
}

template <typename PoolT> static void keepWholeWindow(PoolT op, RankedTensorType original) {
  const SpatialWindow before = *poolWindow(op, original);
  SmallVector<int64_t> window(op.getWindow());
  for (int i = 0; i < 2; ++i)
    if (before.size[i] == original.getDimSize(i + 1) && before.low[i] == 0 && before.high[i] == 0)
      window[i] = typeOf(op.getInput()).getDimSize(i + 1);
  op.setWindow(window);
}

void MaxPoolOp::keepWhole(RankedTensorType original) { keepWholeWindow(*this, original); }
void AvgPoolOp::keepWhole(RankedTensorType original) { keepWholeWindow(*this, original); }

LogicalResult MaxPoolOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPool(location, adaptor, getOperationName(), types);
}

FailureOr<SmallVector<Value>> MaxPoolOp::decompose(OpBuilder &builder) {
  FailureOr<SpatialWindow> window = poolWindow(*this, typeOf(getInput()));
  if (failed(window))
    return failure();
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{reduceWindow(b, *this, ReductionKind::Max, *window)};
}

LogicalResult AvgPoolOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPool(location, adaptor, getOperationName(), types);
}

FailureOr<SmallVector<Value>> AvgPoolOp::decompose(OpBuilder &builder) {
  FailureOr<SpatialWindow> window = poolWindow(*this, typeOf(getInput()));
  if (failed(window))
    return failure();
  CompositeBuilder b(builder, getLoc());
  Value sum = reduceWindow(b, *this, ReductionKind::Sum, *window);
  // One over the number of elements in each window that are not padding.
  SmallVector<double> inverse;
  RankedTensorType input = typeOf(getInput());
  auto count = [&](int dim, int64_t position) {
    int64_t begin = position * window->strides[dim] - window->low[dim], end = begin + window->size[dim];
    return std::min(end, input.getDimSize(dim + 1)) - std::max<int64_t>(begin, 0);
  };
  for (int64_t i = 0; i < window->result[0]; ++i)
    for (int64_t j = 0; j < window->result[1]; ++j)
      inverse.push_back(1.0 / double(count(0, i) * count(1, j)));
  if (llvm::all_equal(inverse))
    return SmallVector<Value>{b.multiply(sum, b.splat(inverse.front(), sum))};
  Value factors = b.constant({window->result[0], window->result[1]}, input.getElementType(), inverse);
  return SmallVector<Value>{b.multiply(sum, b.broadcast(factors, shapeOf(sum), {1, 2}))};
}

static LogicalResult inferGlobalPool(std::optional<Location> location, StringRef name, Value operand,
                                     SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(operand);
  if (input.getRank() < 3)
    return emitOptionalError(location, "'", name, "' has an input of type ", input,
                             ", which must be [n, .., channels] with one dimension or more between");
  if (llvm::is_contained(input.getShape().drop_front().drop_back(), 0))
    return emitOptionalError(location, "'", name, "' has an input of type ", input,
                             ": there is no element between the first dimension and the last");
  types.push_back(RankedTensorType::get({input.getDimSize(0), input.getShape().back()}, input.getElementType()));
  return success();
}

/// All dimensions but the first and the last.
template <typename PoolT> static SmallVector<int64_t> dimsBetween(PoolT op) {
  return llvm::to_vector(llvm::seq<int64_t>(1, typeOf(op.getInput()).getRank() - 1));
}

LogicalResult GlobalAvgPoolOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferGlobalPool(location, getOperationName(), adaptor.getInput(), types);
}

LogicalResult GlobalMaxPoolOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferGlobalPool(location, getOperationName(), adaptor.getInput(), types);
}

FailureOr<SmallVector<Value>> GlobalAvgPoolOp::decompose(OpBuilder &builder) {
  return SmallVector<Value>{
      MeanOp::create(builder, getLoc(), getInput(), builder.getDenseI64ArrayAttr(dimsBetween(*this)))};
}

FailureOr<SmallVector<Value>> GlobalMaxPoolOp::decompose(OpBuilder &builder) {
  return SmallVector<Value>{
      CompositeBuilder(builder, getLoc()).reduce(ReductionKind::Max, getInput(), dimsBetween(*this))};
}

//===----------------------------------------------------------------------===//
// UpsampleOp
//===----------------------------------------------------------------------===//

LogicalResult UpsampleOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  const auto factor = static_cast<int64_t>(adaptor.getFactor());
  if (input.getRank() != 4)
    return emitOptionalError(location, "'dgc.upsample' has an input of type ", input,
                             ", which must be [n, height, width, channels]");
  if (factor < 1 || factor > 1024)
    return emitOptionalError(location, "'dgc.upsample' has the factor ", factor, ", which must be one of 1 to 1024");
  ArrayRef<int64_t> shape = input.getShape();
  types.push_back(
      RankedTensorType::get({shape[0], shape[1] * factor, shape[2] * factor, shape[3]}, input.getElementType()));
  return success();
}

FailureOr<SmallVector<Value>> UpsampleOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getInput());
  const auto factor = static_cast<int64_t>(getFactor());
  Value repeated = b.broadcast(getInput(), {shape[0], shape[1], factor, shape[2], factor, shape[3]}, {0, 1, 3, 5});
  return SmallVector<Value>{b.reshape(repeated, shapeOf(getResult()))};
}
