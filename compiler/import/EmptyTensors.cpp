// Tensors without elements, which dgc has not. Programs have them where something is cut into parts of which one may be empty, as
// by `jax.lax.associative_scan` and `jnp.pad`: what is computed with them is computed without.

#include "compiler/import/Patterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

static bool isEmpty(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 0;
}

static Value spread(OpBuilder &builder, Location location, Value scalar, Type type) {
  return stablehlo::BroadcastInDimOp::create(builder, location, type, scalar, ArrayRef<int64_t>());
}

/// What a result with elements is, where operands have none; null where that is not known.
static Value withoutEmpty(OpBuilder &builder, Operation *op) {
  Location location = op->getLoc();
  if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op)) {
    SmallVector<Value> parts;
    llvm::copy_if(concatenate.getInputs(), std::back_inserter(parts), [](Value part) { return !isEmpty(part); });
    return parts.size() == 1 ? parts.front()
                             : stablehlo::ConcatenateOp::create(builder, location, op->getResult(0).getType(), parts,
                                                                concatenate.getDimension())
                                   .getResult();
  }
  if (auto pad = dyn_cast<stablehlo::PadOp>(op))
    return spread(builder, location, pad.getPaddingValue(), op->getResult(0).getType());
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return update.getOperand();
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (isa<stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp>(op) && type &&
      type.getElementType().isIntOrFloat())
    return stablehlo::ConstantOp::create(
        builder, location, type,
        DenseElementsAttr::get(type, ArrayRef<Attribute>(builder.getZeroAttr(type.getElementType()))));
  return {};
}

/// The results, where those of several operands are known.
static SmallVector<Value> resultsWithoutEmpty(OpBuilder &builder, Operation *op) {
  SmallVector<Value> results;
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op)) {
    llvm::append_range(results, scatter.getInputs());
  } else if (isa<stablehlo::ReduceOp, stablehlo::ReduceWindowOp>(op)) {
    const unsigned half = op->getNumOperands() / 2;
    for (auto [init, result] : llvm::zip_equal(op->getOperands().drop_front(half), op->getResults()))
      results.push_back(spread(builder, op->getLoc(), init, result.getType()));
  } else if (op->getNumResults() == 1) {
    if (Value result = withoutEmpty(builder, op))
      results.push_back(result);
  }
  return results;
}

void dgc::import::resolveEmptyTensors(func::FuncOp function) {
  bool any = false;
  function.walk([&](Operation *op) {
    if (llvm::none_of(op->getOperands(), isEmpty))
      return;
    any = true;
    if (op->getNumResults() == 0 || llvm::any_of(op->getResults(), isEmpty))
      return;
    OpBuilder builder(op);
    if (SmallVector<Value> results = resultsWithoutEmpty(builder, op); !results.empty()) {
      op->replaceAllUsesWith(results);
      op->erase();
    }
  });
  function.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    const bool isUnused = op->getNumResults() > 0 && op->use_empty() && isMemoryEffectFree(op);
    if (isUnused && llvm::all_of(op->getResults(), isEmpty))
      op->erase();
  });
}
