// Reductions over sliding windows.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/InferUtil.h"
#include "dialects/dgc/LinalgUtil.h"
#include "dialects/dgc/TensorBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/WindowOps.cpp.inc"

namespace dgc {
void registerWindowOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/WindowOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

template <typename Op>
static FailureOr<SmallVector<WindowDim>> inferGeometry(std::optional<Location> location, StringRef name,
                                                       RankedTensorType type, Op op) {
  auto dims = inferWindow(location, name, type.getShape(), op.getWindow(), {op.getStrides(), op.getPadding(), {}, {}});
  if (failed(dims))
    return failure();
  for (auto [i, dim] : llvm::enumerate(*dims))
    if (dim.low >= dim.window || dim.high >= dim.window)
      return emitOptionalError(location, "'", name, "' op pads dimension ", i, " by [", dim.low, ", ", dim.high,
                               "], which must be less than its window of ", dim.window);
  return dims;
}

static SmallVector<int64_t> outputSizes(ArrayRef<WindowDim> dims) {
  return llvm::map_to_vector(dims, [](const WindowDim &dim) { return dim.output; });
}

LogicalResult ReduceWindowOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto type = staticTensor(location, name, "the operand", adaptor.getOperand());
  if (failed(type))
    return failure();
  ReductionKind kind = adaptor.getKind();
  if (kind != ReductionKind::Sum && kind != ReductionKind::Max && kind != ReductionKind::Min)
    return emitOptionalError(location, "'", name, "' op combines windows by sum, max or min, not by ",
                             stringifyEnum(kind));
  auto dims = inferGeometry(location, name, *type, adaptor);
  if (failed(dims))
    return failure();
  types.push_back(RankedTensorType::get(outputSizes(*dims), type->getElementType()));
  return success();
}

LogicalResult MaxPoolGradOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto type = staticTensor(location, name, "the operand", adaptor.getOperand());
  auto gradient = staticTensor(location, name, "the result gradient", adaptor.getResultGradient());
  if (failed(type) || failed(gradient))
    return failure();
  auto dims = inferGeometry(location, name, *type, adaptor);
  if (failed(dims))
    return failure();
  auto expected = RankedTensorType::get(outputSizes(*dims), type->getElementType());
  if (*gradient != expected)
    return emitOptionalError(location, "'", name, "' op the result gradient is ", *gradient,
                             ", but the result of the pool over ", *type, " is ", expected);
  types.push_back(*type);
  return success();
}

SmallVector<WindowDim> ReduceWindowOp::getGeometry() {
  return *inferGeometry(std::nullopt, getOperationName(), cast<RankedTensorType>(getOperand().getType()), *this);
}
SmallVector<WindowDim> MaxPoolGradOp::getGeometry() {
  return *inferGeometry(std::nullopt, getOperationName(), cast<RankedTensorType>(getOperand().getType()), *this);
}

template <typename Op> static void keepWholeWindows(Op op, RankedTensorType original) {
  auto now = cast<RankedTensorType>(op.getOperand().getType());
  SmallVector<int64_t> window(op.getWindow());
  for (auto [i, dim] : llvm::enumerate(*inferGeometry(std::nullopt, op.getOperationName(), original, op)))
    if (dim.isWhole())
      window[i] = now.getDimSize(i);
  op.setWindow(window);
}

void ReduceWindowOp::keepWhole(RankedTensorType original) { keepWholeWindows(*this, original); }
void MaxPoolGradOp::keepWhole(RankedTensorType original) { keepWholeWindows(*this, original); }

//===----------------------------------------------------------------------===//
// Sharding and cost
//===----------------------------------------------------------------------===//

ShardingRule ReduceWindowOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (auto [i, dim] : llvm::enumerate(getGeometry())) {
    int64_t d = i;
    addSlidingFactor(rule, dim, {{d}, {-1}}, {{-1}, {d}}, dim.output);
  }
  return rule.build();
}

ShardingRule MaxPoolGradOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (auto [i, dim] : llvm::enumerate(getGeometry())) {
    int64_t d = i;
    addSlidingFactor(rule, dim, {{d, -1}, {d}}, {{-1, d}, {-1}}, dim.input);
  }
  return rule.build();
}

bool ReduceWindowOp::isLinearIn(int index) { return getKind() == ReductionKind::Sum; }
bool MaxPoolGradOp::isLinearIn(int index) { return index == 1; }

/// One operation for each element of each window.
static OpCost windowCost(Operation *op, ArrayRef<WindowDim> dims) {
  OpCost cost = costPerElement(op, 0);
  cost.flops = 1;
  for (const WindowDim &dim : dims)
    cost.flops *= dim.output * dim.window;
  return cost;
}

OpCost ReduceWindowOp::getCost() { return windowCost(*this, getGeometry()); }
OpCost MaxPoolGradOp::getCost() { return windowCost(*this, getGeometry()); }

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// The gradient of the sums in windows: at each element the sum of the gradients of the windows that it is in, which
/// are a window over the gradients with zeros between them (`stride - 1`) and around them.
static Value sumGradient(TensorBuilder &b, ReduceWindowOp op, Value gradient) {
  SmallVector<int64_t> low, high, interior;
  for (const WindowDim &dim : op.getGeometry()) {
    low.push_back(dim.window - 1 - dim.low);
    interior.push_back(dim.stride - 1);
    high.push_back(dim.input + dim.low - (dim.output - 1) * dim.stride - 1);
  }
  return b.reduceWindow(ReductionKind::Sum, b.padZero(gradient, low, high, interior), op.getWindow(), {}, {});
}

SmallVector<Value> ReduceWindowOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                  const llvm::BitVector &wanted) {
  TensorBuilder b(builder, getLoc());
  if (getKind() == ReductionKind::Sum)
    return {sumGradient(b, *this, resultGradients[0])};
  Value operand = getKind() == ReductionKind::Max ? getOperand() : b.negate(getOperand());
  return {MaxPoolGradOp::create(builder, getLoc(), operand, resultGradients[0], getWindowAttr(), getStridesAttr(),
                                getPaddingAttr())};
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

namespace {
/// Loops over outputs and, for the dimensions with a window larger than 1, over the elements of a window.
struct WindowLoops {
  OpBuilder &builder;
  Location location;
  ArrayRef<WindowDim> dims;
  SmallVector<utils::IteratorType> iterators;
  SmallVector<AffineExpr> outer, window; // per dimension; `window` is null where the window is 1
  SmallVector<int64_t> windowSizes;      // of those that are loops

  WindowLoops(OpBuilder &builder, Location location, ArrayRef<WindowDim> dims)
      : builder(builder), location(location), dims(dims), window(dims.size()) {
    for (size_t i = 0; i < dims.size(); ++i)
      outer.push_back(loop(utils::IteratorType::parallel));
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (dim.window == 1)
        continue;
      window[i] = loop(utils::IteratorType::reduction);
      windowSizes.push_back(dim.window);
    }
  }

  AffineExpr loop(utils::IteratorType kind) {
    iterators.push_back(kind);
    return builder.getAffineDimExpr(iterators.size() - 1);
  }

  /// A tensor without data whose shape gives the bounds of the window loops.
  Value windowShape(Type element) { return tensor::EmptyOp::create(builder, location, windowSizes, element); }
  SmallVector<AffineExpr> windowIndices() const {
    return llvm::filter_to_vector(window, [](AffineExpr expr) { return bool(expr); });
  }

  /// outer * scale + window * windowScale + offset in each dimension.
  SmallVector<AffineExpr> indices(function_ref<std::array<int64_t, 3>(size_t)> coefficients) const {
    SmallVector<AffineExpr> exprs;
    for (size_t i = 0; i < dims.size(); ++i) {
      auto [scale, windowScale, offset] = coefficients(i);
      AffineExpr expr = outer[i] * scale + offset;
      exprs.push_back(window[i] ? expr + window[i] * windowScale : expr);
    }
    return exprs;
  }

  /// The row-major place within the window, as an i32 scalar in the body of the loops.
  Value placeInWindow(OpBuilder &b, Location l) const {
    AffineExpr place = b.getAffineConstantExpr(0);
    SmallVector<AffineExpr> windowLoops = windowIndices();
    for (auto [expr, size] : llvm::zip_equal(windowLoops, windowSizes))
      place = place * size + expr;
    return affineScalar(b, l, place);
  }

  /// The value of an affine expression of the loops, as an i32 scalar in their body.
  Value affineScalar(OpBuilder &b, Location l, AffineExpr expr) const {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return arith::ConstantIntOp::create(b, l, constant.getValue(), 32);
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return arith::IndexCastOp::create(b, l, b.getI32Type(), linalg::IndexOp::create(b, l, dim.getPosition()));
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value lhs = affineScalar(b, l, binary.getLHS()), rhs = affineScalar(b, l, binary.getRHS());
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return arith::AddIOp::create(b, l, lhs, rhs);
    case AffineExprKind::Mul:
      return arith::MulIOp::create(b, l, lhs, rhs);
    default:
      assert(binary.getKind() == AffineExprKind::Mod && "loops are not negative");
      return arith::RemUIOp::create(b, l, lhs, rhs);
    }
  }
};
} // namespace

FailureOr<SmallVector<Value>> ReduceWindowOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Location location = getLoc();
  SmallVector<WindowDim> dims = getGeometry();
  WindowLoops loops(builder, location, dims);
  Type element = cast<RankedTensorType>(getType()).getElementType();
  Type accumulator = getKind() == ReductionKind::Sum ? accumulatorElement(element) : element;
  SmallVector<int64_t> low, high, ones(dims.size(), 1);
  for (const WindowDim &dim : dims) {
    low.push_back(dim.low);
    high.push_back(dim.high);
  }
  Value padded = paddedTensor(builder, location, operands[0], low, high, ones, reductionIdentity(getKind(), element));
  Value init = filledTensor(builder, location, outputSizes(dims), reductionIdentity(getKind(), accumulator));
  auto seen = loops.indices([&](size_t i) { return std::array<int64_t, 3>{dims[i].stride, 1, 0}; });
  auto reduced = linalg::GenericOp::create(
      builder, location, init.getType(), ValueRange{padded, loops.windowShape(builder.getI1Type())}, init,
      indexingMaps(builder, loops.iterators.size(), {seen, loops.windowIndices(), loops.outer}), loops.iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value wide = extendScalar(b, l, args[0], signlessElement(accumulator));
        Value combined = combineScalars(b, l, getKind(), accumulator, args[2], wide);
        linalg::YieldOp::create(b, l, combined);
      });
  return SmallVector<Value>{roundedTensor(builder, location, reduced.getResult(0), signlessElement(element))};
}

/// The place of the first maximum of each window, row-major, as i32; -1 for a window of nothing but -inf and padding.
static Value firstMaxima(WindowLoops &loops, Value operand, ArrayRef<WindowDim> dims) {
  OpBuilder &builder = loops.builder;
  Location location = loops.location;
  Type element = cast<RankedTensorType>(operand.getType()).getElementType();
  TypedAttr lowest = reductionIdentity(ReductionKind::Max, element);
  SmallVector<int64_t> low, high, ones(dims.size(), 1);
  for (const WindowDim &dim : dims) {
    low.push_back(dim.low);
    high.push_back(dim.high);
  }
  Value padded = paddedTensor(builder, location, operand, low, high, ones, lowest);
  Value best = filledTensor(builder, location, outputSizes(dims), lowest);
  Value place = filledTensor(builder, location, outputSizes(dims), builder.getI32IntegerAttr(-1));
  auto seen = loops.indices([&](size_t i) { return std::array<int64_t, 3>{dims[i].stride, 1, 0}; });
  auto found = linalg::GenericOp::create(
      builder, location, TypeRange{best.getType(), place.getType()},
      ValueRange{padded, loops.windowShape(builder.getI1Type())}, ValueRange{best, place},
      indexingMaps(builder, loops.iterators.size(), {seen, loops.windowIndices(), loops.outer, loops.outer}),
      loops.iterators, [&](OpBuilder &b, Location l, ValueRange args) {
        Value better = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OGT, args[0], args[2]);
        Value newBest = arith::SelectOp::create(b, l, better, args[0], args[2]);
        Value newPlace = arith::SelectOp::create(b, l, better, loops.placeInWindow(b, l), args[3]);
        linalg::YieldOp::create(b, l, ValueRange{newBest, newPlace});
      });
  return found.getResult(1);
}

/// Windows side by side: each element is in one window only.
static Value scatterTiled(WindowLoops &loops, Value place, Value gradient, RankedTensorType type,
                          ArrayRef<WindowDim> dims) {
  OpBuilder &builder = loops.builder;
  SmallVector<AffineExpr> windows, elements;
  AffineExpr placeOfElement = builder.getAffineConstantExpr(0);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    elements.push_back(builder.getAffineDimExpr(i));
    windows.push_back(elements.back().floorDiv(dim.window));
    if (dim.window > 1)
      placeOfElement = placeOfElement * dim.window + elements.back() % dim.window;
  }
  Value empty = tensor::EmptyOp::create(builder, loops.location, type.getShape(), type.getElementType());
  Value zero = arith::ConstantOp::create(builder, loops.location, builder.getZeroAttr(type.getElementType()));
  SmallVector<utils::IteratorType> iterators(dims.size(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, loops.location, empty.getType(), ValueRange{place, gradient}, empty,
                                   indexingMaps(builder, dims.size(), {windows, windows, elements}), iterators,
                                   [&](OpBuilder &b, Location l, ValueRange args) {
                                     Value here = loops.affineScalar(b, l, placeOfElement);
                                     Value isFirst =
                                         arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, args[0], here);
                                     Value part = arith::SelectOp::create(b, l, isFirst, args[1], zero);
                                     linalg::YieldOp::create(b, l, part);
                                   })
      .getResult(0);
}

/// Any windows: each element adds up the gradients of the windows of which it is the first maximum. Element i is at
/// place k of the window o with o * stride = i - k + low; zeros and places of -1 between and around the windows make
/// every such o exist.
static Value gatherOverlapping(WindowLoops &loops, Value place, Value gradient, RankedTensorType type,
                               ArrayRef<WindowDim> dims) {
  OpBuilder &builder = loops.builder;
  Location location = loops.location;
  Type element = type.getElementType(), accumulator = accumulatorElement(element);
  SmallVector<int64_t> low, high, strides;
  for (const WindowDim &dim : dims) {
    low.push_back(std::max<int64_t>(0, dim.window - 1 - dim.low));
    high.push_back(std::max<int64_t>(0, dim.input - 1 + dim.low - (dim.output - 1) * dim.stride));
    strides.push_back(dim.stride);
  }
  Value places = paddedTensor(builder, location, place, low, high, strides, builder.getI32IntegerAttr(-1));
  Value gradients = paddedTensor(builder, location, gradient, low, high, strides, builder.getZeroAttr(element));
  Value init = filledTensor(builder, location, type.getShape(), reductionIdentity(ReductionKind::Sum, accumulator));
  auto windows = loops.indices([&](size_t i) { return std::array<int64_t, 3>{1, -1, dims[i].low + low[i]}; });
  auto sum = linalg::GenericOp::create(
      builder, location, init.getType(), ValueRange{places, gradients, loops.windowShape(builder.getI1Type())}, init,
      indexingMaps(builder, loops.iterators.size(), {windows, windows, loops.windowIndices(), loops.outer}),
      loops.iterators, [&](OpBuilder &b, Location l, ValueRange args) {
        Value isFirst = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, args[0], loops.placeInWindow(b, l));
        Value addend = extendScalar(b, l, args[1], accumulator);
        Value nothing = arith::ConstantOp::create(b, l, b.getZeroAttr(addend.getType()));
        Value part = arith::SelectOp::create(b, l, isFirst, addend, nothing);
        linalg::YieldOp::create(b, l, arith::AddFOp::create(b, l, args[3], part).getResult());
      });
  return roundedTensor(builder, location, sum.getResult(0), element);
}

FailureOr<SmallVector<Value>> MaxPoolGradOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  SmallVector<WindowDim> dims = getGeometry();
  WindowLoops loops(builder, getLoc(), dims);
  auto type = cast<RankedTensorType>(operands[0].getType());
  Value place = firstMaxima(loops, operands[0], dims);
  bool isTiled = llvm::all_of(dims, [](const WindowDim &dim) { return dim.isTiled(); });
  Value result = isTiled ? scatterTiled(loops, place, operands[1], type, dims)
                         : gatherOverlapping(loops, place, operands[1], type, dims);
  return SmallVector<Value>{result};
}
