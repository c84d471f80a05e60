// Layers for images: convolution and pooling.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LayerUtil.h"
#include <array>

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// Height and width.
static constexpr int64_t kSpatialDims = 2;

static ParseResult parseWindow(OpAsmParser &parser, DenseI64ArrayAttr &window) {
  return parseListOrNumber(parser, kSpatialDims, window);
}

static void printWindow(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr window) {
  printer << '[';
  llvm::interleaveComma(window.asArrayRef(), printer);
  printer << ']';
}

static ParseResult parsePoolClauses(OpAsmParser &parser, DenseI64ArrayAttr &strides, PaddingAttr &padding) {
  if (failed(parseOptionalList(parser, "strides", kSpatialDims, strides)))
    return failure();
  return succeeded(parser.parseOptionalKeyword("padding")) ? parsePaddingClause(parser, padding) : success();
}

static void printPoolClauses(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides, PaddingAttr padding) {
  printOptionalList(printer, "strides", strides);
  if (padding) {
    printer << " padding ";
    printPaddingClause(printer, padding);
  }
}

static ParseResult parseConvClauses(OpAsmParser &parser, DenseI64ArrayAttr &strides, PaddingAttr &padding,
                                    DenseI64ArrayAttr &dilation, IntegerAttr &groups) {
  if (failed(parsePoolClauses(parser, strides, padding)) ||
      failed(parseOptionalList(parser, "dilation", kSpatialDims, dilation)))
    return failure();
  int64_t count = 0;
  if (failed(parser.parseOptionalKeyword("groups")))
    return success();
  if (failed(parser.parseInteger(count)))
    return failure();
  groups = parser.getBuilder().getI64IntegerAttr(count);
  return success();
}

static void printConvClauses(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr strides, PaddingAttr padding,
                             DenseI64ArrayAttr dilation, IntegerAttr groups) {
  printPoolClauses(printer, op, strides, padding);
  printOptionalList(printer, "dilation", dilation);
  if (groups)
    printer << " groups " << groups.getInt();
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
// Windows: Conv2DOp, MaxPoolOp, AvgPoolOp
//===----------------------------------------------------------------------===//

namespace {
/// The two spatial dimensions of a window op, clauses filled in.
struct Window {
  std::array<int64_t, 2> size, strides, dilation, low, high, result;
};
} // namespace

/// Works out strides, padding and the size of the result; reports what does not fit.
static FailureOr<Window> computeWindow(std::optional<Location> location, StringRef name, RankedTensorType input,
                                       ArrayRef<int64_t> size, std::optional<ArrayRef<int64_t>> strides,
                                       std::optional<PaddingAttr> padding, std::optional<ArrayRef<int64_t>> dilation,
                                       bool stridesAreWindow) {
  if (input.getRank() != 4) {
    (void)emitOptionalError(location, "'", name, "' has an input of type ", input,
                            ", which must be [n, height, width, channels]; dgc.expand_dims %x at 3 adds a channel");
    return failure();
  }
  auto check = [&](StringRef clause, ArrayRef<int64_t> values) -> LogicalResult {
    if (values.size() == 2 && llvm::all_of(values, [](int64_t v) { return v > 0; }))
      return success();
    return emitOptionalError(location, "'", name, "' needs two numbers above 0 in '", clause,
                             "', one for each spatial dimension");
  };
  ArrayRef<int64_t> amounts;
  PaddingKind kind = PaddingKind::Valid;
  if (padding && *padding) {
    kind = (*padding).getKind();
    if (kind == PaddingKind::Explicit)
      amounts = (*padding).getAmounts();
  }
  if (failed(check("window", size)) || (strides && failed(check("strides", *strides))) ||
      (dilation && failed(check("dilation", *dilation))))
    return failure();
  if (kind == PaddingKind::Explicit &&
      (amounts.size() != 4 || llvm::any_of(amounts, [](int64_t v) { return v < 0; }))) {
    (void)emitOptionalError(location, "'", name,
                            "' needs two pairs of numbers of 0 or more in 'padding', one for each "
                            "spatial dimension: [[LOW, HIGH], [LOW, HIGH]]");
    return failure();
  }
  Window w;
  for (int i = 0; i < 2; ++i) {
    int64_t length = input.getDimSize(i + 1);
    w.size[i] = size[i];
    w.strides[i] = strides ? (*strides)[i] : stridesAreWindow ? size[i] : 1;
    w.dilation[i] = dilation ? (*dilation)[i] : 1;
    int64_t extent = (size[i] - 1) * w.dilation[i] + 1;
    w.low[i] = w.high[i] = 0;
    if (kind == PaddingKind::Explicit) {
      w.low[i] = amounts[2 * i];
      w.high[i] = amounts[2 * i + 1];
    } else if (kind == PaddingKind::Same) {
      int64_t count = (length + w.strides[i] - 1) / w.strides[i];
      int64_t total = std::max<int64_t>((count - 1) * w.strides[i] + extent - length, 0);
      w.low[i] = total / 2;
      w.high[i] = total - total / 2;
    }
    int64_t padded = length + w.low[i] + w.high[i];
    if (padded < extent) {
      (void)emitOptionalError(location, "'", name, "' has a window of ", extent, " along dimension ", i + 1,
                              ", where the padded input is only ", padded, " long");
      return failure();
    }
    w.result[i] = (padded - extent) / w.strides[i] + 1;
  }
  return w;
}

static FailureOr<Window> convWindow(std::optional<Location> location, RankedTensorType input, RankedTensorType weights,
                                    std::optional<ArrayRef<int64_t>> strides, std::optional<PaddingAttr> padding,
                                    std::optional<ArrayRef<int64_t>> dilation) {
  if (weights.getRank() != 4) {
    (void)emitOptionalError(location, "'dgc.conv2d' has weights of type ", weights,
                            ", which must be [height, width, channels / groups, filters]");
    return failure();
  }
  return computeWindow(location, Conv2DOp::getOperationName(), input, weights.getShape().take_front(2), strides,
                       padding, dilation, /*stridesAreWindow=*/false);
}

LogicalResult Conv2DOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput()), weights = typeOf(adaptor.getWeights());
  FailureOr<Window> window =
      convWindow(location, input, weights, adaptor.getStrides(), adaptor.getPadding(), adaptor.getDilation());
  if (failed(window) || failed(checkElements(location, getOperationName(), input, weights)))
    return failure();
  int64_t groups = adaptor.getGroups().value_or(1), channels = input.getDimSize(3), filters = weights.getDimSize(3);
  if (groups < 1 || channels % groups != 0 || filters % groups != 0)
    return emitOptionalError(location, "'dgc.conv2d' cannot cut ", channels, " channels and ", filters,
                             " filters into ", groups, " equal groups");
  if (weights.getDimSize(2) * groups != channels)
    return emitOptionalError(location, "'dgc.conv2d' has an input of type ", input, " and weights of type ", weights,
                             ": dimension 2 of the weights must be channels / groups, ", channels / groups);
  types.push_back(RankedTensorType::get({input.getDimSize(0), window->result[0], window->result[1], filters},
                                        input.getElementType()));
  return checkBias(location, getOperationName(), input, adaptor.getBias(), filters);
}

FailureOr<SmallVector<Value>> Conv2DOp::decompose(OpBuilder &builder) {
  FailureOr<Window> window =
      convWindow(getLoc(), typeOf(getInput()), typeOf(getWeights()), getStrides(), getPadding(), getDilation());
  if (failed(window))
    return failure();
  CompositeBuilder b(builder, getLoc());
  int64_t padding[] = {window->low[0], window->high[0], window->low[1], window->high[1]};
  Value result = ConvolutionOp::create(builder, getLoc(), getInput(), getWeights(), window->strides, padding,
                                       window->dilation, ArrayRef<int64_t>{1, 1}, getGroups().value_or(1));
  return SmallVector<Value>{addBias(b, result, getBias())};
}

template <typename PoolT>
static LogicalResult inferPool(std::optional<Location> location, PoolT adaptor, StringRef name,
                               SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  FailureOr<Window> window = computeWindow(location, name, input, adaptor.getWindow(), adaptor.getStrides(),
                                           adaptor.getPadding(), std::nullopt, /*stridesAreWindow=*/true);
  if (failed(window))
    return failure();
  for (int i = 0; i < 2; ++i)
    if (window->low[i] >= window->size[i] || window->high[i] >= window->size[i])
      return emitOptionalError(location, "'", name,
                               "' has a padding as large as its window: some windows would be "
                               "empty");
  types.push_back(RankedTensorType::get(
      {input.getDimSize(0), window->result[0], window->result[1], input.getDimSize(3)}, input.getElementType()));
  return success();
}

/// A pooling op as a reduction over windows of all four dimensions.
template <typename PoolT>
static Value reduceWindow(CompositeBuilder &b, PoolT op, ReductionKind kind, const Window &w) {
  int64_t size[] = {1, w.size[0], w.size[1], 1}, strides[] = {1, w.strides[0], w.strides[1], 1};
  int64_t padding[] = {0, 0, w.low[0], w.high[0], w.low[1], w.high[1], 0, 0};
  return ReduceWindowOp::create(b.builder, b.location, kind, op.getInput(), size, strides, padding);
}

template <typename PoolT> static FailureOr<Window> poolWindow(PoolT op, RankedTensorType input) {
  return computeWindow(op.getLoc(), op.getOperationName(), input, op.getWindow(), op.getStrides(), op.getPadding(),
                       std::nullopt, /*stridesAreWindow=*/true);
}

template <typename PoolT> static void keepWholeWindow(PoolT op, RankedTensorType original) {
  const Window before = *poolWindow(op, original);
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
  FailureOr<Window> window = poolWindow(*this, typeOf(getInput()));
  if (failed(window))
    return failure();
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{reduceWindow(b, *this, ReductionKind::Max, *window)};
}

LogicalResult AvgPoolOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPool(location, adaptor, getOperationName(), types);
}

FailureOr<SmallVector<Value>> AvgPoolOp::decompose(OpBuilder &builder) {
  FailureOr<Window> window = poolWindow(*this, typeOf(getInput()));
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
