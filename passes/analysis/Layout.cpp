// How tensors are cut, in a form to compute with.

#include "passes/analysis/Layout.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

bool startsWith(ArrayRef<AxisUse> list, ArrayRef<AxisUse> prefix) {
  return prefix.size() <= list.size() && list.take_front(prefix.size()) == prefix;
}

int64_t MeshRef::parts(ArrayRef<AxisUse> axes) const {
  int64_t parts = 1;
  for (AxisUse use : axes)
    parts *= sizeOf(use.axis);
  return parts;
}

AxisList MeshRef::axesOf(ArrayRef<AxisRefAttr> axes) const {
  AxisList list;
  for (AxisRefAttr axis : axes)
    list.push_back({int(mesh.getAxisIndex(axis.getName())), axis.getOrigin()});
  return list;
}

DimAxes MeshRef::dimsOf(ShardingAttr sharding) const {
  DimAxes dims;
  for (DimShardingAttr dim : sharding.getDims())
    dims.push_back(axesOf(dim.getAxes()));
  return dims;
}

ValueLayout MeshRef::layoutOf(ShardingAttr sharding) const {
  auto numbersOf = [](ArrayRef<AxisUse> uses) {
    Axes axes;
    for (AxisUse use : uses)
      axes.push_back(use.axis);
    return axes;
  };
  ValueLayout layout;
  for (const AxisList &uses : dimsOf(sharding))
    layout.dims.push_back(numbersOf(uses));
  layout.partial = numbersOf(axesOf(sharding.getUnreduced()));
  return layout;
}

SmallVector<int64_t> MeshRef::sizes() const {
  return llvm::map_to_vector(mesh.getAxes(), [](MeshAxisAttr axis) { return axis.getSize(); });
}

SmallVector<AxisRefAttr> MeshRef::refsOf(ArrayRef<AxisUse> axes) const {
  return llvm::map_to_vector(axes, [&](AxisUse use) {
    return AxisRefAttr::get(mesh.getContext(), mesh.getAxes()[use.axis].getName(), use.origin);
  });
}

ShardingAttr MeshRef::shardingOf(const DimAxes &dims, Reduction kind, ArrayRef<AxisUse> unreduced) const {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimShardingAttr> attributes;
  for (const AxisList &axes : dims)
    attributes.push_back(DimShardingAttr::get(context, refsOf(axes), /*open=*/false, 0));
  AxisList sorted(unreduced);
  llvm::sort(sorted, [](AxisUse a, AxisUse b) { return a.axis < b.axis; });
  return ShardingAttr::get(context, name, attributes, {}, sorted.empty() ? Reduction::Sum : kind, refsOf(sorted));
}

FailureOr<MeshRef> findMesh(ModuleOp module) {
  MeshRef found;
  WalkResult result = module.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs()) {
      WalkResult inner = attribute.getValue().walk([&](ShardingAttr sharding) {
        if (!found.name)
          found.name = sharding.getMesh();
        if (found.name == sharding.getMesh())
          return WalkResult::advance();
        op->emitError() << "is distributed over the mesh " << sharding.getMesh() << ", other values over " << found.name
                        << "; all shardings of a module must name one mesh";
        return WalkResult::interrupt();
      });
      if (inner.wasInterrupted())
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  auto meshes = llvm::to_vector(module.getOps<MeshOp>());
  if (!found.name && meshes.size() == 1)
    found.name = FlatSymbolRefAttr::get(meshes[0].getSymNameAttr());
  if (found.name)
    found.mesh = lookupMesh(module, found.name);
  if (found && found.mesh.getAxes().size() > 64) {
    module.emitError() << "mesh " << found.name << " has " << found.mesh.getAxes().size()
                       << " axes; at most 64 are supported";
    return failure();
  }
  return found;
}

LogicalResult factorsFromDims(const TensorFactors &tensor, ArrayRef<Factor> factors, const DimAxes &dims,
                              const MeshRef &mesh, llvm::function_ref<void(unsigned, ArrayRef<AxisUse>)> give) {
  bool exact = true;
  for (auto [dimFactors, dimAxes] : llvm::zip_equal(tensor.dims, dims)) {
    ArrayRef<AxisUse> rest = dimAxes;
    for (unsigned factor : dimFactors) {
      // A dimension that is one factor takes all its axes, also those that do
      // not divide it: that is for the partitioner to say.
      if (dimFactors.size() == 1) {
        give(factor, rest);
        rest = {};
        break;
      }
      size_t taken = 0;
      int64_t left = factors[factor].size;
      while (taken < rest.size() && left % mesh.sizeOf(rest[taken].axis) == 0)
        left /= mesh.sizeOf(rest[taken++].axis);
      give(factor, rest.take_front(taken));
      rest = rest.drop_front(taken);
      if (left != 1)
        break;
    }
    exact &= rest.empty();
  }
  return success(exact);
}

DimAxes dimsFromFactors(const TensorFactors &tensor, ArrayRef<Factor> factors, ArrayRef<AxisList> axes,
                        const MeshRef &mesh, std::optional<unsigned> *lost) {
  DimAxes dims;
  for (ArrayRef<unsigned> dimFactors : tensor.dims) {
    AxisList &dim = dims.emplace_back();
    bool blocked = false;
    for (unsigned factor : dimFactors) {
      int64_t parts = mesh.parts(axes[factor]), size = factors[factor].size;
      blocked |= dimFactors.size() > 1 && size % parts != 0;
      if (!blocked)
        llvm::append_range(dim, axes[factor]);
      else if (!axes[factor].empty() && lost)
        *lost = factor;
      blocked |= parts != size;
    }
  }
  return dims;
}

ShardingAttr declaredSharding(Value value, const MeshRef &mesh) {
  Attribute attribute;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent))
      attribute = function.getArgAttr(argument.getArgNumber(), kShardingAttr);
    else if (auto shardings = parent->getAttrOfType<ArrayAttr>(kArgumentShardingsAttr))
      attribute = shardings[argument.getArgNumber()];
  } else if (auto shardings = value.getDefiningOp()->getAttrOfType<ArrayAttr>(kShardingsAttr)) {
    attribute = shardings[cast<OpResult>(value).getResultNumber()];
  } else if (auto reshard = value.getDefiningOp<ReshardOp>()) {
    attribute = reshard.getSharding();
  }
  if (auto sharding = dyn_cast_or_null<ShardingAttr>(attribute))
    return sharding;
  return ShardingAttr::getWhole(mesh.name, cast<RankedTensorType>(value.getType()).getRank());
}

void declareArguments(Operation *op, ArrayRef<ShardingAttr> shardings) {
  op->removeAttr(kArgumentShardingsAttr);
  if (!llvm::all_of(shardings, [](ShardingAttr sharding) { return sharding.isWhole(); }))
    op->setAttr(kArgumentShardingsAttr,
                ArrayAttr::get(op->getContext(), SmallVector<Attribute>(shardings.begin(), shardings.end())));
}

std::string describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  FileLineColLoc found;
  op->getLoc()->walk([&](Location location) {
    found = dyn_cast<FileLineColLoc>(location);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (found)
    text += llvm::formatv(" at {0}:{1}:{2}", llvm::sys::path::filename(found.getFilename().getValue()), found.getLine(),
                          found.getColumn());
  return text;
}

OriginAttr originOf(Operation *op) {
  MLIRContext *context = op->getContext();
  return OriginAttr::get(context, OriginKind::Op, StringAttr::get(context, describe(op)));
}

std::optional<Reduction> partialKind(ReductionKind kind, Type element) {
  switch (kind) {
  case ReductionKind::Sum:
    return Reduction::Sum;
  case ReductionKind::Product:
    return Reduction::Product;
  case ReductionKind::Max:
    return Reduction::Max;
  case ReductionKind::Min:
    return Reduction::Min;
  case ReductionKind::And:
    return element.isInteger(1) ? std::optional(Reduction::Min) : std::nullopt;
  case ReductionKind::Or:
    return element.isInteger(1) ? std::optional(Reduction::Max) : std::nullopt;
  }
  return std::nullopt;
}

} // namespace dgc
