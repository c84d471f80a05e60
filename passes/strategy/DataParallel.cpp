// dgc-strategy-data-parallel: the batch is cut over the axis `data`.

#include "passes/strategy/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {
#define GEN_PASS_DEF_DATAPARALLELPASS
#include "passes/strategy/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;

static constexpr llvm::StringLiteral kAxis = "data";
static constexpr llvm::StringLiteral kBatchDim = "dgc.batch_dim";

namespace {
/// Writes the annotations of one function.
class Annotator {
public:
  Annotator(func::FuncOp function, MeshOp mesh) : function(function), mesh(mesh) {}

  LogicalResult run() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (function.getArgAttr(i, kShardingAttr))
        continue;
      FailureOr<ShardingAttr> sharding =
          decide(function.getArgumentTypes()[i], function.getArgAttrOfType<IntegerAttr>(i, kBatchDim));
      if (failed(sharding))
        return failure();
      if (*sharding)
        function.setArgAttr(i, kShardingAttr, *sharding);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (function.getResultAttr(i, kShardingAttr))
        continue;
      FailureOr<ShardingAttr> sharding =
          decide(function.getResultTypes()[i], function.getResultAttrOfType<IntegerAttr>(i, kBatchDim));
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
    MLIRContext *context = function.getContext();
    auto origin = OriginAttr::get(context, OriginKind::Strategy, StringAttr::get(context, "data-parallel"));
    auto axis = AxisRefAttr::get(context, StringAttr::get(context, kAxis), origin);
    auto open = DimShardingAttr::get(context, {}, /*open=*/true, 0);
    SmallVector<DimShardingAttr> dims(tensor.getRank(), open);
    auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
    if (!batchDim)
      return ShardingAttr::get(context, symbol, dims, axis, Reduction::Sum, {});
    int64_t dim = batchDim.getInt();
    if (dim < 0 || dim >= tensor.getRank())
      return function.emitOpError() << "'" << kBatchDim << "' is " << dim << ", which is not a dimension of " << type;
    int64_t batch = tensor.getDimSize(dim);
    int64_t devices = mesh.getMesh().getAxisSize(kAxis);
    if (batch % devices)
      return function.emitError() << "the global batch of " << batch
                                  << " cannot be divided over the mesh axis \"data\" of " << devices
                                  << " devices; use a batch that is a multiple of " << devices
                                  << ", or a mesh whose size divides " << batch;
    dims[dim] = DimShardingAttr::get(context, axis, /*open=*/false, 0);
    return ShardingAttr::get(context, symbol, dims, {}, Reduction::Sum, {});
  }

  func::FuncOp function;
  MeshOp mesh;
};

struct DataParallel : ::dgc::impl::DataParallelPassBase<DataParallel> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto meshes = llvm::to_vector(module.getOps<MeshOp>());
    if (meshes.empty())
      return markAllAnalysesPreserved();
    auto hasAxis = [](MeshOp m) { return m.getMesh().getAxisIndex(kAxis) >= 0; };
    auto mesh = llvm::find_if(meshes, hasAxis);
    if (mesh == meshes.end()) {
      meshes[0].emitError("the mesh has no axis \"data\", which the strategy "
                          "data-parallel cuts the batch by; name one, as in "
                          "--mesh data=2");
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(Annotator(function, *mesh).run()))
        return signalPassFailure();
  }
};
} // namespace
