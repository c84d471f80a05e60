// dgc-strategy-sequence-parallel: between cut weights, activations are cut along the sequence.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/StrategyUtil.h"
#include "passes/shard/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_SEQUENCEPARALLELPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

static constexpr llvm::StringLiteral kAxis = "model";
static constexpr llvm::StringLiteral kName = "sequence-parallel";

namespace {
struct SequenceParallel : dgc::impl::SequenceParallelPassBase<SequenceParallel> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findMeshWithAxis(getOperation(), kAxis, kName, "cuts the sequence by");
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return markAllAnalysesPreserved();
    bool found = false;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        found |= annotate(function, i, *mesh);
    if (found)
      return;
    getOperation().emitError() << "strategy " << kName << " cuts the dimension after the batch of inputs such as "
                               << "tokens [batch, sequence], and no input of the model has one";
    signalPassFailure();
  }

  /// Cuts the dimension after the batch, but not before the weights have had their say: from round 1 on. True when
  /// there is one.
  bool annotate(func::FuncOp function, unsigned index, MeshOp mesh) {
    auto batchDim = function.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr);
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
    if (!batchDim || !type || batchDim.getInt() + 1 >= type.getRank())
      return false;
    auto sharding = function.getArgAttrOfType<ShardingAttr>(index, kShardingAttr);
    if (!sharding)
      sharding = ShardingAttr::getWhole(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), type.getRank(), /*open=*/true);
    SmallVector<DimShardingAttr> dims(sharding.getDims());
    DimShardingAttr &dim = dims[batchDim.getInt() + 1];
    if (!dim.getAxes().empty())
      return true; // the user's
    dim = DimShardingAttr::get(&getContext(), axisBy(&getContext(), kAxis, kName), /*open=*/false, /*round=*/1);
    function.setArgAttr(index, kShardingAttr,
                        ShardingAttr::get(&getContext(), sharding.getMesh(), dims, sharding.getReplicated(),
                                          sharding.getKind(), sharding.getUnreduced()));
    return true;
  }
};
} // namespace
