// dgc-mixed-precision: products in 16 bits, all else in 32.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/model/Passes.h"
#include "llvm/ADT/DenseMap.h"

namespace dgc {
#define GEN_PASS_DEF_MIXEDPRECISIONPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

static bool isF32(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

namespace {

/// Converts what the products of one block take and give.
class Narrowing {
public:
  explicit Narrowing(FloatType low) : low(low) {}

  bool narrow(Operation *op);

private:
  bool isWidened(Value value) const;
  Value narrowed(Value value, Location location);

  FloatType low;
  llvm::DenseMap<Value, Value> low16; // each value that is needed in 16 bits
};

} // namespace

/// The value in 16 bits: converted once, where it is known.
Value Narrowing::narrowed(Value value, Location location) {
  Value &known = low16[value];
  if (known)
    return known;
  if (isWidened(value))
    return known = value.getDefiningOp<ConvertOp>().getOperand();
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  return known = TensorBuilder(builder, location).convert(value, low);
}

/// Is the value one of 16 bits that was converted?
bool Narrowing::isWidened(Value value) const {
  auto convert = value.getDefiningOp<ConvertOp>();
  return convert && cast<RankedTensorType>(convert.getOperand().getType()).getElementType() == low;
}

bool Narrowing::narrow(Operation *op) {
  bool losesNothing = op->hasTrait<AnyPrecision>() &&
                      llvm::all_of(op->getOperands(), [&](Value v) { return !isF32(v) || isWidened(v); });
  bool firstOnly = op->hasTrait<AnyPrecisionOfFirst>() && isWidened(op->getOperand(0));
  if ((!op->hasTrait<LowPrecision>() && !losesNothing && !firstOnly) || !llvm::any_of(op->getResults(), isF32))
    return false;
  auto isTaken = [&](unsigned number, Value value) { return isF32(value) && (number == 0 || !firstOnly); };
  for (OpOperand &operand : op->getOpOperands())
    if (isTaken(operand.getOperandNumber(), operand.get()))
      operand.set(narrowed(operand.get(), op->getLoc()));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    if (!isTaken(result.getResultNumber(), result))
      continue;
    result.setType(cast<RankedTensorType>(result.getType()).clone(low));
    Value wide = TensorBuilder(builder, op->getLoc()).convert(result, builder.getF32Type());
    result.replaceAllUsesExcept(wide, wide.getDefiningOp());
  }
  return true;
}

namespace {
struct MixedPrecisionPass : dgc::impl::MixedPrecisionPassBase<MixedPrecisionPass> {
  using MixedPrecisionPassBase::MixedPrecisionPassBase;

  void runOnOperation() override {
    Builder builder(&getContext());
    if (to == Precision::TF32)
      getOperation()->setAttr(kTf32Attr, builder.getUnitAttr());
    if (to == Precision::TF32 || to == Precision::F32)
      return;
    FloatType low = to == Precision::F16 ? FloatType(builder.getF16Type()) : builder.getBF16Type();
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Block *block) { // of the function, or of a manual region
        Narrowing narrowing(low);
        for (Operation &op : llvm::make_early_inc_range(*block))
          numNarrowed += narrowing.narrow(&op);
      });
  }
};
} // namespace
