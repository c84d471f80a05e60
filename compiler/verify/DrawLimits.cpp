#include "compiler/verify/DrawLimits.h"

#include "dialects/dgc/DGC.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dgc;

static bool isInteger(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  return type && type.getWidth() > 1;
}

/// The value that is broadcast, reshaped or converted to this one.
static Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || !isInteger(op->getOperand(0)))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The integer that all elements are; 0 where they are not one that is known.
static int64_t constantOf(Value value) {
  DenseIntElementsAttr elements;
  if (!matchPattern(sourceOf(value), m_Constant(&elements)) || !elements.isSplat())
    return 0;
  const auto number = elements.getSplatValue<APInt>();
  return number.getSignificantBits() > 63 ? 0 : number.getSExtValue();
}

/// What `value` is below where this comparison asks for a number of a list: `value == iota`, or `value <= constant`.
static int64_t limitIn(CompareOp compare, Value other) {
  if (auto iota = sourceOf(other).getDefiningOp<IotaOp>())
    return cast<RankedTensorType>(iota.getType()).getDimSize(static_cast<int64_t>(iota.getDimension()));
  switch (compare.getComparisonDirection()) {
  case ComparisonDirection::LE:
    return constantOf(other) + 1;
  case ComparisonDirection::LT:
    return constantOf(other);
  default:
    return 0;
  }
}

namespace {
class Limits {
public:
  explicit Limits(func::FuncOp function) : body(function.getBody().front()), limits(function.getNumArguments(), 0) {}

  /// What `value` is computed of is below `limit`.
  void add(Value value, int64_t limit) {
    if (limit < 2 || !isInteger(value))
      return;
    llvm::SmallSetVector<Value, 8> values;
    values.insert(value);
    for (size_t i = 0; i < values.size(); ++i) {
      if (Operation *op = values[i].getDefiningOp()) {
        for (Value operand : op->getOperands())
          if (isInteger(operand))
            values.insert(operand);
        continue;
      }
      auto argument = cast<BlockArgument>(values[i]);
      if (argument.getOwner() != &body)
        continue;
      uint64_t &least = limits[argument.getArgNumber()];
      least = least == 0 ? limit : std::min<uint64_t>(least, limit);
    }
  }

  SmallVector<uint64_t> take() { return std::move(limits); }

private:
  Block &body;
  SmallVector<uint64_t> limits;
};
} // namespace

SmallVector<uint64_t> dgc::drawLimitsOf(func::FuncOp function) {
  Limits limits(function);
  function.walk([&](Operation *op) {
    if (auto choosing = dyn_cast<ChoosingOpInterface>(op)) {
      if (Value numbers = choosing.getChoosingNumbers())
        limits.add(numbers, choosing.getNumChoices());
    } else if (auto clamp = dyn_cast<ClampOp>(op)) {
      limits.add(clamp.getOperand(), constantOf(clamp.getMax()) + 1);
    } else if (auto compare = dyn_cast<CompareOp>(op)) {
      limits.add(compare.getLhs(), limitIn(compare, compare.getRhs()));
    }
  });
  return limits.take();
}
