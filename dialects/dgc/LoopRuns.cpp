#include "dialects/dgc/LoopRuns.h"

#include "dialects/dgc/DGC.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

dgc::LoopRuns dgc::runsOf(Operation *op) {
  LoopRuns runs;
  for (Region *region = op->getParentRegion(); region; region = region->getParentRegion()) {
    auto loop = dyn_cast<RegionTiesOpInterface>(region->getParentOp());
    if (!loop)
      continue;
    std::optional<int64_t> each = loop.getNumRuns(*region);
    runs.isLowerBound |= !each;
    if (llvm::MulOverflow(runs.times, each.value_or(1), runs.times))
      runs.times = std::numeric_limits<int64_t>::max();
  }
  return runs;
}
