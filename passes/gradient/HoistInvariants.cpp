// dgc-hoist-invariants: computes once, in front of a loop, what is the same in all of its rounds.

#include "dialects/dgc/DGC.h"
#include "dialects/dgc/RegionTies.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/gradient/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace dgc {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

int64_t elementsOf(Value value) { return tensorOf(value).getNumElements(); }

/// Whether it is worth a value that is kept for all rounds: a product, or what is smaller than what it is made of. What is not
/// smaller, such as a broadcast, is computed where it is needed, within the kernels of a round.
bool isWorthKeeping(Operation *op) {
  if (op->hasTrait<StandaloneKernel>())
    return true;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return llvm::all_of(op->getResults(), [&](Value result) { return elementsOf(result) < elementsOf(operand); });
  });
}

/// Moves what one region of a loop computes of invariants alone.
class Hoister {
public:
  Hoister(RegionTiesOpInterface loop, Region &region) : loop(loop), region(region) {
    for (RegionTies::Same each : loop.getRegionTies().same)
      if (each.operand >= 0 && each.inside.getParentRegion() == &region)
        outside.map(each.inside, each.outside);
  }

  int64_t run() {
    llvm::SetVector<Operation *> invariant;
    for (Operation &op : region.front().without_terminator())
      if (isInvariant(&op, invariant))
        invariant.insert(&op);
    int64_t count = 0;
    for (Operation *op : invariant) {
      // What is worth it, and needed by others than what is moved itself.
      const bool isLast = isWorthKeeping(op) && llvm::any_of(op->getUsers(), [&](Operation *user) {
                            return !invariant.contains(user) || !isWorthKeeping(user);
                          });
      if (!isLast)
        continue;
      move(op);
      ++count;
    }
    return count;
  }

private:
  static bool isInvariantOrConstant(Operation *op, const llvm::SetVector<Operation *> &invariant) {
    return op && (invariant.contains(op) || op->hasTrait<OpTrait::ConstantLike>());
  }

  bool isInvariant(Operation *op, const llvm::SetVector<Operation *> &invariant) const {
    if (op->getNumRegions() != 0 || op->getNumOperands() == 0 || !isMemoryEffectFree(op) ||
        !llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return outside.contains(operand) || isInvariantOrConstant(operand.getDefiningOp(), invariant);
    });
  }

  /// The value in front of the loop.
  Value before(Value inside) {
    if (Value known = outside.lookupOrNull(inside))
      return known;
    Operation *op = inside.getDefiningOp();
    for (Value operand : op->getOperands())
      (void)before(operand);
    OpBuilder builder(loop);
    builder.clone(*op, outside);
    return outside.lookup(inside);
  }

  void move(Operation *op) {
    for (Value result : op->getResults()) {
      if (result.use_empty())
        continue;
      Value first = before(result);
      loop.addInvariant(first);
      result.replaceAllUsesWith(region.getArguments().back());
      outside.map(region.getArguments().back(), first);
    }
  }

  RegionTiesOpInterface loop;
  Region &region;
  IRMapping outside; // by the value inside
};

struct HoistInvariantsPass : dgc::impl::HoistInvariantsPassBase<HoistInvariantsPass> {
  using HoistInvariantsPassBase::HoistInvariantsPassBase;

  void runOnOperation() override {
    SmallVector<RegionTiesOpInterface> loops;
    getOperation()->walk([&](RegionTiesOpInterface op) { // inner ones first
      if (!op.getRegionTies().carried.empty() || !op.getRegionTies().sliced.empty())
        loops.push_back(op);
    });
    for (RegionTiesOpInterface loop : loops)
      for (Region &region : loop->getRegions())
        numHoisted += Hoister(loop, region).run();
  }
};

} // namespace
