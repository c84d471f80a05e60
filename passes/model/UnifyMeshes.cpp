// dgc-unify-meshes: one mesh for all shardings of a module, under the name that the compiler knows it by.

#include "passes/model/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringSet.h"

namespace dgc {
#define GEN_PASS_DEF_UNIFYMESHESPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {

/// An axis of a mesh as the range of places that it strides over: its neighbours along the axis are `low` ranks apart,
/// and those along the next major axis `high`.
struct Range {
  int64_t low, high;
};

SmallVector<Range> rangesOf(MeshAttr mesh) {
  SmallVector<Range> ranges(mesh.getAxes().size());
  int64_t stride = 1;
  for (size_t i = mesh.getAxes().size(); i-- > 0;) {
    ranges[i] = {stride, stride * mesh.getAxes()[i].getSize()};
    stride = ranges[i].high;
  }
  return ranges;
}

/// The coarsest mesh in which every axis of every mesh is a run of axes, and these runs.
struct Refinement {
  StringAttr name;
  MeshAttr mesh;
  /// For the name of a mesh and of an axis of it.
  DenseMap<std::pair<StringAttr, StringAttr>, SmallVector<StringAttr, 2>> axes;

  ArrayRef<StringAttr> lookup(StringAttr mesh, StringAttr axis) const {
    auto it = axes.find({mesh, axis});
    return it == axes.end() ? ArrayRef<StringAttr>() : ArrayRef<StringAttr>(it->second);
  }
};

constexpr llvm::StringLiteral kName = "mesh";

/// The meshes of a module if they are to become one: several of the same devices, or one of another name. Meshes of
/// other devices are left for others to refuse, or to use.
SmallVector<MeshOp> meshesToUnify(ModuleOp module) {
  auto meshes = llvm::to_vector(module.getOps<MeshOp>());
  for (MeshOp mesh : meshes)
    if (meshes[0].getMesh().getFirst() != mesh.getMesh().getFirst() ||
        meshes[0].getMesh().getNumDevices() != mesh.getMesh().getNumDevices())
      return {};
  if (meshes.size() == 1 && meshes[0].getSymName() == kName)
    return {};
  return meshes;
}

/// The strides at which an axis of one of the meshes begins or ends, ascending. Fails with a diagnostic when one of
/// them does not divide the next: then axes of two meshes overlap.
FailureOr<SmallVector<int64_t>> findStrides(ArrayRef<MeshOp> meshes) {
  SmallVector<std::pair<int64_t, MeshOp>> found;
  for (MeshOp mesh : meshes)
    for (Range range : rangesOf(mesh.getMesh())) {
      found.push_back({range.low, mesh});
      found.push_back({range.high, mesh});
    }
  llvm::stable_sort(found, llvm::less_first());
  SmallVector<int64_t> strides;
  MeshOp last;
  for (auto [stride, mesh] : found) {
    if (!strides.empty() && stride == strides.back())
      continue;
    if (!strides.empty() && stride % strides.back() != 0) {
      InFlightDiagnostic error = mesh.emitError()
                                 << "the axes of the meshes @" << last.getSymName() << " " << last.getMesh() << " and @"
                                 << mesh.getSymName() << " " << mesh.getMesh() << " overlap: " << strides.back()
                                 << " neighbouring devices are together in the one and " << stride
                                 << " in the other, and the first number does not divide the second; meshes of "
                                    "the same devices must cut them at places that divide one another";
      error.attachNote(last.getLoc()) << "the other mesh";
      return failure();
    }
    strides.push_back(stride);
    last = mesh;
  }
  return strides;
}

/// An axis as the axes, from major to minor, that the strides in its range make of it. They are named after it.
SmallVector<std::pair<MeshAxisAttr, Range>> splitAxis(MeshAxisAttr axis, Range range, ArrayRef<int64_t> strides,
                                                      llvm::StringSet<> &taken) {
  SmallVector<int64_t> inside;
  llvm::copy_if(strides, std::back_inserter(inside), [&](int64_t s) { return s >= range.low && s <= range.high; });
  if (inside.size() <= 2) // nothing splits it, or it has a single place
    return {{axis, range}};
  SmallVector<std::pair<MeshAxisAttr, Range>> parts;
  for (size_t i = inside.size(); i-- > 1;) {
    std::string name = (axis.getName().getValue() + "." + Twine(inside.size() - 1 - i)).str();
    while (!taken.insert(name).second)
      name += "_";
    parts.push_back(
        {MeshAxisAttr::get(axis.getContext(), StringAttr::get(axis.getContext(), name), inside[i] / inside[i - 1]),
         Range{inside[i - 1], inside[i]}});
  }
  return parts;
}

FailureOr<Refinement> refine(ArrayRef<MeshOp> meshes) {
  FailureOr<SmallVector<int64_t>> strides = findStrides(meshes);
  if (failed(strides))
    return failure();
  const auto *named = llvm::find_if(meshes, [](MeshOp mesh) { return mesh.getSymName() == kName; });
  MeshOp main = named == meshes.end() ? meshes[0] : *named;
  llvm::StringSet<> taken;
  for (MeshAxisAttr axis : main.getMesh().getAxes())
    taken.insert(axis.getName().getValue());
  Refinement refinement;
  SmallVector<MeshAxisAttr> axes;
  SmallVector<std::pair<MeshAxisAttr, Range>> places; // major to minor
  for (auto [axis, range] : llvm::zip_equal(main.getMesh().getAxes(), rangesOf(main.getMesh())))
    llvm::append_range(places, splitAxis(axis, range, *strides, taken));
  for (auto &[axis, range] : places)
    axes.push_back(axis);
  refinement.mesh = MeshAttr::get(main->getContext(), axes, main.getMesh().getFirst());
  for (MeshOp mesh : meshes)
    for (auto [axis, range] : llvm::zip_equal(mesh.getMesh().getAxes(), rangesOf(mesh.getMesh()))) {
      auto &parts = refinement.axes[{mesh.getSymNameAttr(), axis.getName()}];
      // An axis of size 1 cuts nothing; only the mesh that gives the names keeps it.
      if (axis.getSize() == 1 && mesh == main)
        parts.push_back(axis.getName());
      for (auto &[part, place] : places)
        if (part.getSize() > 1 && place.low >= range.low && place.high <= range.high)
          parts.push_back(part.getName());
    }
  return refinement;
}

SmallVector<AxisRefAttr> replaceAxes(const Refinement &refinement, StringAttr mesh, ArrayRef<AxisRefAttr> axes) {
  SmallVector<AxisRefAttr> replaced;
  for (AxisRefAttr axis : axes)
    for (StringAttr name : refinement.lookup(mesh, axis.getName()))
      replaced.push_back(AxisRefAttr::get(axis.getContext(), name, axis.getOrigin()));
  return replaced;
}

ShardingAttr replaceSharding(const Refinement &refinement, ShardingAttr sharding) {
  StringAttr mesh = sharding.getMesh().getAttr();
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims()) {
    SmallVector<AxisRefAttr> axes = replaceAxes(refinement, mesh, dim.getAxes());
    // A closed dimension that axes of size 1 cut has no round.
    dims.push_back(DimShardingAttr::get(dim.getContext(), axes, dim.getOpen(),
                                        dim.getOpen() || !axes.empty() ? dim.getRound() : 0));
  }
  SmallVector<AxisRefAttr> unreduced = replaceAxes(refinement, mesh, sharding.getUnreduced());
  return ShardingAttr::get(sharding.getContext(), FlatSymbolRefAttr::get(sharding.getContext(), kName), dims,
                           replaceAxes(refinement, mesh, sharding.getReplicated()), sharding.getKind(), unreduced);
}

/// What names a mesh and axes side by side: manual regions and what communicates in them.
void replaceNames(const Refinement &refinement, Operation *op) {
  auto mesh = op->getAttrOfType<FlatSymbolRefAttr>("mesh");
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  if (!mesh || !axes)
    return;
  SmallVector<Attribute> replaced;
  for (auto axis : axes.getAsRange<StringAttr>())
    llvm::append_range(replaced, refinement.lookup(mesh.getAttr(), axis));
  op->setAttr("mesh", FlatSymbolRefAttr::get(op->getContext(), kName));
  op->setAttr("axes", ArrayAttr::get(op->getContext(), replaced));
}

struct UnifyMeshes : dgc::impl::UnifyMeshesPassBase<UnifyMeshes> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<MeshOp> meshes = meshesToUnify(module);
    if (meshes.empty())
      return markAllAnalysesPreserved();
    FailureOr<Refinement> refinement = refine(meshes);
    if (failed(refinement))
      return signalPassFailure();
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](ShardingAttr sharding) { return replaceSharding(*refinement, sharding); });
    for (MeshOp mesh : llvm::drop_begin(meshes))
      mesh.erase();
    meshes[0].setSymName(kName);
    meshes[0].setMeshAttr(refinement->mesh);
    module.walk([&](Operation *op) { replaceNames(*refinement, op); });
    replacer.recursivelyReplaceElementsIn(module);
  }
};

} // namespace

FailureOr<MeshAttr> dgc::unifiedMesh(ModuleOp module) {
  SmallVector<MeshOp> meshes = meshesToUnify(module);
  if (meshes.empty()) {
    auto mesh = module.lookupSymbol<MeshOp>(kName);
    return mesh ? mesh.getMesh() : MeshAttr();
  }
  FailureOr<Refinement> refinement = refine(meshes);
  if (failed(refinement))
    return failure();
  return refinement->mesh;
}
