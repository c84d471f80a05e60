// dgc-add-mesh: adds the mesh that the command line asked for.

#include "passes/shard/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_ADDMESHPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

dist::MeshAttr dgc::buildMesh(ModuleOp module, const MeshShape &shape) {
  MLIRContext *context = module.getContext();
  auto emitError = [&] { return module.emitError() << "mesh '" << shape.text() << "': "; };
  SmallVector<dist::MeshAxisAttr> axes;
  for (const auto &[name, size] : shape.axes) {
    axes.push_back(dist::MeshAxisAttr::getChecked(emitError, context, StringAttr::get(context, name), size));
    if (!axes.back())
      return {};
  }
  return dist::MeshAttr::getChecked(emitError, context, ArrayRef<dist::MeshAxisAttr>(axes), int64_t(0));
}

namespace {
struct AddMesh : dgc::impl::AddMeshPassBase<AddMesh> {
  using AddMeshPassBase::AddMeshPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (mesh.empty())
      return markAllAnalysesPreserved();
    dist::MeshAttr attribute = buildMesh(module, mesh);
    if (!attribute)
      return signalPassFailure();
    if (Operation *existing = SymbolTable::lookupSymbolIn(module, name)) {
      auto meshOp = dyn_cast<dist::MeshOp>(existing);
      if (meshOp && meshOp.getMesh() == attribute)
        return markAllAnalysesPreserved();
      existing->emitError() << "the module has '@" << name << "' already, and not as the mesh '"
                            << mesh.getValue().text() << "' that was asked for: leave --mesh out, or give the same";
      return signalPassFailure();
    }
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    dist::MeshOp::create(builder, module.getLoc(), name, attribute);
  }
};
} // namespace
