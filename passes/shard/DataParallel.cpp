// dgc-strategy-data-parallel: the batch is cut over the axis `data`.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/IdleWorkers.h"
#include "passes/analysis/StrategyUtil.h"
#include "passes/shard/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_DATAPARALLELPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

static constexpr llvm::StringLiteral kAxis = "data";

namespace {
/// Writes the annotations of one function.
class Annotator {
public:
  Annotator(func::FuncOp function, MeshOp mesh) : function(function), mesh(mesh) {}

  /// How many examples the inputs of the function have; 0 where none has a batch.
  int64_t examples() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto dim = function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr))
        if (auto tensor = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
            tensor && dim.getInt() >= 0 && dim.getInt() < tensor.getRank())
          return tensor.getDimSize(dim.getInt());
    return 0;
  }

  LogicalResult run() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (function.getArgAttr(i, kShardingAttr))
        continue;
      FailureOr<ShardingAttr> sharding =
          decide(function.getArgumentTypes()[i], function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr));
      if (failed(sharding))
        return failure();
      if (*sharding)
        function.setArgAttr(i, kShardingAttr, *sharding);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (function.getResultAttr(i, kShardingAttr))
        continue;
      FailureOr<ShardingAttr> sharding =
          decide(function.getResultTypes()[i], function.getResultAttrOfType<IntegerAttr>(i, kBatchDimAttr));
      if (failed(sharding))
        return failure();
      if (*sharding)
        function.setResultAttr(i, kShardingAttr, *sharding);
    }
    return success();
  }

private:
  /// The sharding of a value: cut in its batch dimension if it has one, else
  /// replicated. Null for what is not a tensor.
  FailureOr<ShardingAttr> decide(Type type, IntegerAttr batchDim) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return ShardingAttr();
    AxisRefAttr axis = axisBy(function.getContext(), kAxis, "data-parallel");
    if (!batchDim)
      return cutAlong(mesh, axis, tensor.getRank(), std::nullopt);
    int64_t dim = batchDim.getInt();
    if (dim < 0 || dim >= tensor.getRank())
      return function.emitOpError() << "'" << kBatchDimAttr << "' is " << dim << ", which is not a dimension of "
                                    << type;
    return cutAlong(mesh, axis, tensor.getRank(), dim);
  }

  func::FuncOp function;
  MeshOp mesh;
};

struct DataParallel : dgc::impl::DataParallelPassBase<DataParallel> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<MeshOp> mesh = findMeshWithAxis(module, kAxis, "data-parallel", "cuts the batch by");
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return markAllAnalysesPreserved();
    warnOfIdleWorkers(module, *mesh);
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(Annotator(function, *mesh).run()))
        return signalPassFailure();
  }

  /// Says it once of all functions.
  static void warnOfIdleWorkers(ModuleOp module, MeshOp mesh) {
    MeshAttr attr = mesh.getMesh();
    int64_t workers = attr.getAxes()[attr.getAxisIndex(kAxis)].getSize();
    for (auto function : module.getOps<func::FuncOp>()) {
      int64_t examples = Annotator(function, mesh).examples();
      int64_t idle = countIdleWorkers(examples, workers);
      if (idle == 0)
        continue;
      function.emitWarning() << "a batch of " << examples << " examples over " << workers << " workers (axis \""
                             << kAxis << "\") leaves " << idle
                             << " of them without an example: use a --batch that is a multiple of " << workers
                             << ", or fewer workers";
      return;
    }
  }
};
} // namespace
