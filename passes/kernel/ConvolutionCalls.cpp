//===- ConvolutionCalls.cpp - convolutions and pools of the library -------===//

#include "dialects/dgc/Geometry.h"
#include "passes/kernel/LibraryCalls.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-select-library-calls"

using namespace mlir;

namespace dgc {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A window as the library takes it.
struct Window {
  SmallVector<int64_t> size, strides, low, high, dilation;

  /// False where the library cannot have it.
  bool add(const WindowDim &dim) {
    size.push_back(dim.window);
    strides.push_back(dim.stride);
    low.push_back(dim.low);
    high.push_back(dim.high);
    dilation.push_back(dim.dilation);
    return dim.inputDilation == 1 && dim.low >= 0 && dim.high >= 0 && dim.input > 0 && dim.output > 0;
  }
};

std::optional<Window> libraryWindow(ArrayRef<WindowDim> dims) {
  Window window;
  if (dims.empty() || dims.size() > 3)
    return std::nullopt;
  for (const WindowDim &dim : dims)
    if (!window.add(dim))
      return std::nullopt;
  return window;
}

/// [spatial.., C, O] as [O, spatial.., C], once for all convolutions with these weights.
Value outputsFirst(Value weights, Operation *user) {
  SmallVector<int64_t> permutation{typeOf(weights).getRank() - 1};
  llvm::append_range(permutation, llvm::seq<int64_t>(0, permutation[0]));
  for (Operation *other : weights.getUsers())
    if (auto transpose = dyn_cast<TransposeOp>(other); transpose && transpose->getBlock() == user->getBlock() &&
                                                       transpose->isBeforeInBlock(user) &&
                                                       transpose.getPermutation() == ArrayRef(permutation))
      return transpose;
  OpBuilder builder(weights.getContext());
  builder.setInsertionPointAfterValue(weights);
  return TransposeOp::create(builder, weights.getLoc(), weights, permutation);
}

/// The call as cuDNN takes it: weights have their outputs first, and what they get is brought back into the order that
/// the program knows. Kernels that make or use the weights do so on the way.
template <typename Op> Operation *gpuConvolutionCall(Op op, exec::ConvKind kind, const Window &window) {
  auto type = cast<RankedTensorType>(op.getType());
  const bool givesWeights = kind == exec::ConvKind::BackwardWeights;
  Value rhs = op->getOperand(1);
  if (!givesWeights)
    rhs = outputsFirst(rhs, op);
  Type result = type;
  SmallVector<int64_t> back; // where the dimensions of the weights are in what the call gives
  if (givesWeights) {
    SmallVector<int64_t> shape{type.getShape().back()};
    llvm::append_range(shape, type.getShape().drop_back());
    result = RankedTensorType::get(shape, type.getElementType());
    llvm::append_range(back, llvm::seq<int64_t>(1, type.getRank()));
    back.push_back(0);
  }
  OpBuilder builder(op);
  auto call = exec::ConvolutionOp::create(
      builder, op.getLoc(), result, kind, op->getOperand(0), rhs, Value(), ValueRange(), ValueRange(), window.strides,
      window.low, window.high, window.dilation, op.getGeometry().groups, ArrayAttr(), /*weights_out_first=*/true);
  Value given = call.getResult(0);
  if (givesWeights) {
    given = TransposeOp::create(builder, op.getLoc(), given, back);
    given.setType(type); // with the mark of a partial sum
  }
  op->replaceAllUsesWith(ValueRange{given});
  op->erase();
  return call;
}

/// On CPUs the library could add up the gradient of the bias as well; the kernels that it would be taken from do so in
/// their own order, and which one does must not decide the bits: sums of gradients are always kernels.
template <typename Op> Operation *convolutionCall(Op op, exec::ConvKind kind, bool forGpus) {
  auto type = cast<RankedTensorType>(op.getType());
  auto geometry = op.getGeometry();
  std::optional<Window> window = libraryWindow(geometry.spatial);
  Type element = type.getElementType();
  const bool hasType = element.isF32() || element.isBF16() || (forGpus && element.isF16());
  if (!hasType || !window || type.getNumElements() == 0 || geometry.batch == 0) {
    LDBG() << "the library has no such convolution: " << op;
    return nullptr;
  }
  if (forGpus)
    return gpuConvolutionCall(op, kind, *window);
  OpBuilder builder(op);
  auto call =
      exec::ConvolutionOp::create(builder, op.getLoc(), TypeRange{type}, kind, op->getOperand(0), op->getOperand(1),
                                  Value(), ValueRange(), ValueRange(), window->strides, window->low, window->high,
                                  window->dilation, geometry.groups, ArrayAttr(), /*weights_out_first=*/false);
  op->replaceAllUsesWith(ValueRange{call.getResult(0)});
  op->erase();
  return call;
}

/// The spatial dimensions of a window over [N, spatial.., C]; nothing when it is over other dimensions.
std::optional<Window> poolWindow(ArrayRef<WindowDim> dims) {
  if (dims.size() < 3 || !dims.front().isPointwise() || !dims.back().isPointwise())
    return std::nullopt;
  std::optional<Window> window = libraryWindow(dims.drop_front().drop_back());
  if (!window || llvm::any_of(window->dilation, [](int64_t d) { return d != 1; }))
    return std::nullopt;
  return window;
}

Operation *poolCall(Operation *op, exec::PoolKind kind, const Window &window) {
  OpBuilder builder(op);
  auto call = exec::PoolOp::create(builder, op->getLoc(), op->getResultTypes(), kind, op->getOperands(), ValueRange(),
                                   window.size, window.strides, window.low, window.high, /*count_include_pad=*/true);
  op->replaceAllUsesWith(call.getResults());
  op->erase();
  return call;
}

/// The sum over a window times the inverse of the number of its elements, as one average; or divided by it where that is
/// the same: the inverse of another number than a power of 2 is rounded.
Operation *averageOf(ReduceWindowOp sum, const Window &window) {
  if (!sum->hasOneUse())
    return nullptr;
  double count = 1;
  for (int64_t size : window.size)
    count *= size;
  Operation *user = *sum->getUsers().begin();
  bool divides = false;
  if (auto divide = dyn_cast<DivideOp>(user))
    divides = llvm::isPowerOf2_64(static_cast<uint64_t>(count)) && divide.getLhs() == sum.getResult() &&
              isSplat(divide.getRhs(), count);
  if (auto multiply = dyn_cast<MultiplyOp>(user))
    divides = isSplat(multiply.getLhs() == sum.getResult() ? multiply.getRhs() : multiply.getLhs(), float(1 / count));
  if (!divides)
    return nullptr;
  user->replaceAllUsesWith(ValueRange{sum.getResult()});
  user->erase();
  return poolCall(sum, exec::PoolKind::AvgForward, window);
}

} // namespace

Operation *selectConvolution(Operation *op, bool forGpus) {
  if (auto forward = dyn_cast<ConvolutionOp>(op))
    return convolutionCall(forward, exec::ConvKind::Forward, forGpus);
  if (auto data = dyn_cast<ConvolutionInputGradOp>(op))
    return convolutionCall(data, exec::ConvKind::BackwardData, forGpus);
  if (auto weights = dyn_cast<ConvolutionWeightGradOp>(op))
    return convolutionCall(weights, exec::ConvKind::BackwardWeights, forGpus);
  return nullptr;
}

Operation *selectPool(Operation *op) {
  if (op->getNumResults() != 1 || !isa<ReduceWindowOp, MaxPoolGradOp>(op))
    return nullptr;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = type.getElementType();
  if (!(element.isF32() || element.isBF16() || element.isF16()) || type.getNumElements() == 0)
    return nullptr;
  if (auto grad = dyn_cast<MaxPoolGradOp>(op)) {
    std::optional<Window> window = poolWindow(grad.getGeometry());
    return window ? poolCall(op, exec::PoolKind::MaxBackward, *window) : nullptr;
  }
  auto pool = cast<ReduceWindowOp>(op);
  std::optional<Window> window = poolWindow(pool.getGeometry());
  if (!window) {
    LDBG() << "the library has no such pool: " << *op;
    return nullptr;
  }
  if (pool.getKind() == ReductionKind::Max)
    return poolCall(op, exec::PoolKind::MaxForward, *window);
  if (pool.getKind() == ReductionKind::Sum)
    return averageOf(pool, *window);
  return nullptr;
}

} // namespace dgc
