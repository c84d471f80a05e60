// dgc-add-mesh: adds the mesh that the command line asked for.

#include "passes/strategy/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_ADDMESHPASS
#include "passes/strategy/Passes.h.inc"
} // namespace dgc

using namespace mlir;

dist::MeshAttr(::dgc::parseMesh)(ModuleOp module, StringRef text) {
  MLIRContext *context = module.getContext();
  auto emitError = [&] { return module.emitError() << "mesh '" << text << "': "; };
  SmallVector<dist::MeshAxisAttr> axes;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    int64_t size;
    if (name.trim().empty() || number.trim().getAsInteger(10, size)) {
      emitError() << "expected NAME=NUMBER for each axis, as in data=4,model=2";
      return {};
    }
    axes.push_back(dist::MeshAxisAttr::getChecked(emitError, context, StringAttr::get(context, name.trim()), size));
    if (!axes.back())
      return {};
  }
  return dist::MeshAttr::getChecked(emitError, context, ArrayRef<dist::MeshAxisAttr>(axes), int64_t(0));
}

namespace {
struct AddMesh : ::dgc::impl::AddMeshPassBase<AddMesh> {
  using AddMeshPassBase::AddMeshPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (mesh.empty())
      return markAllAnalysesPreserved();
    dist::MeshAttr attribute = ::dgc::parseMesh(module, mesh);
    if (!attribute)
      return signalPassFailure();
    if (Operation *existing = SymbolTable::lookupSymbolIn(module, name)) {
      auto meshOp = dyn_cast<dist::MeshOp>(existing);
      if (meshOp && meshOp.getMesh() == attribute)
        return markAllAnalysesPreserved();
      existing->emitError() << "the module has '@" << name << "' already, and not as the mesh '" << mesh
                            << "' that was asked for";
      return signalPassFailure();
    }
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    dist::MeshOp::create(builder, module.getLoc(), name, attribute);
  }
};
} // namespace
