// example-report-replicated: names the variables that every worker holds as a whole.

#include "Example.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace example {
#define GEN_PASS_DEF_REPORTREPLICATEDPASS
#include "ExamplePasses.h.inc"

using namespace mlir;

static bool isCut(dgc::dist::ShardingAttr sharding) {
  return sharding && llvm::any_of(sharding.getDims(), [](auto dim) { return !dim.getAxes().empty(); });
}

struct ReportReplicated : impl::ReportReplicatedPassBase<ReportReplicated> {
  using ReportReplicatedPassBase::ReportReplicatedPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto entry : getOperation().getOps<func::FuncOp>())
      for (BlockArgument argument : entry.getArguments())
        if (auto variable = entry.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), dgc::kStateAttr))
          report(entry, argument, variable);
  }

  void report(func::FuncOp entry, BlockArgument argument, FlatSymbolRefAttr variable) {
    auto type = cast<RankedTensorType>(argument.getType());
    uint64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    if (bytes >= atLeast &&
        !isCut(entry.getArgAttrOfType<dgc::dist::ShardingAttr>(argument.getArgNumber(), dgc::dist::kShardingAttr)))
      emitRemark(argument.getLoc()) << "@" << entry.getSymName() << ": every worker holds all " << bytes << " bytes of "
                                    << variable.getValue();
  }
};

} // namespace example
