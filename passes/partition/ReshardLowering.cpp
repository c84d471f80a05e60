// From one sharding of a value to another, by their difference.

#include "passes/partition/ReshardLowering.h"

#include "dialects/dgc/TensorBuilder.h"

using namespace mlir;
using namespace mlir::dist;

namespace dgc {

static ArrayAttr axesAttr(OpBuilder &builder, const MeshRef &mesh, ArrayRef<AxisUse> axes) {
  return builder.getArrayAttr(
      llvm::map_to_vector(axes, [&](AxisUse use) -> Attribute { return mesh.mesh.getAxes()[use.axis].getName(); }));
}

Value buildOffset(OpBuilder &builder, Location location, const MeshRef &mesh, ArrayRef<AxisUse> axes,
                  int64_t localSize) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Value index = AxisIndexOp::create(builder, location, type, mesh.name, axesAttr(builder, mesh, axes));
  if (localSize == 1)
    return index;
  return mlir::dgc::TensorBuilder(builder, location).multiply(index, double(localSize));
}

Value buildSlice(OpBuilder &builder, Location location, const MeshRef &mesh, Value value, unsigned dim,
                 ArrayRef<AxisUse> axes) {
  Value index = buildOffset(builder, location, mesh, axes, /*localSize=*/1);
  return SliceOp::create(builder, location, value, index, dim, mesh.parts(axes));
}

namespace {
/// Moves a value step by step; `dims` and `partial` say where it stands.
class Lowering {
public:
  Lowering(OpBuilder &builder, Location location, const MeshRef &mesh, Value value, ShardingAttr from, ShardingAttr to,
           StringRef user)
      : builder(builder), location(location), mesh(mesh), value(value), dims(mesh.dimsOf(from)),
        target(mesh.dimsOf(to)), partial(mesh.axesOf(from.getUnreduced())), kind(from.getKind()), from(from), to(to),
        user(user) {}

  FailureOr<Value> run() {
    for (AxisUse use : mesh.axesOf(to.getUnreduced()))
      if (!llvm::is_contained(partial, use) || kind != to.getKind())
        return emitError(location) << "a value that is spread as " << from.describe() << " cannot become "
                                   << to.describe() << ": a value becomes partial by computation alone";
    reducePartial();
    while (dims != target) {
      bool moved = slice() || allToAll() || allGather();
      assert(moved && "an axis is missing, in the way, or too much");
      (void)moved;
    }
    return value;
  }

private:
  /// The axes that dimension `dim` is to have beyond those it has; empty when it
  /// has some that must go first.
  ArrayRef<AxisUse> missing(unsigned dim) const {
    if (!startsWith(target[dim], dims[dim]))
      return {};
    return ArrayRef<AxisUse>(target[dim]).drop_front(dims[dim].size());
  }

  bool cuts(AxisUse use) const {
    return llvm::any_of(dims, [&](const AxisList &axes) { return llvm::is_contained(axes, use); });
  }

  std::string because(ArrayRef<AxisUse> axes, StringRef what) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::interleave(
        axes, os,
        [&](AxisUse use) {
          os << what << ' ' << mesh.mesh.getAxes()[use.axis].getName().getValue() << " (";
          os << stringifyOriginKind(use.origin.getKind());
          if (use.origin.getKind() != OriginKind::User)
            os << ' ' << use.origin.getName().getValue();
          os << ')';
        },
        ", ");
    os << "; needed as " << to.describe() << " by " << user;
    return text;
  }

  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }

  /// The type with dimension `dim` of another size, no longer partial along `axes`.
  RankedTensorType resized(unsigned dim, int64_t size) const {
    SmallVector<int64_t> shape(type().getShape());
    shape[dim] = size;
    return RankedTensorType::get(shape, type().getElementType(), type().getEncoding());
  }

  void reducePartial() {
    AxisList left = mesh.axesOf(to.getUnreduced()), whole;
    for (unsigned dim = 0; dim < dims.size(); ++dim) {
      AxisList scatter;
      for (AxisUse use : missing(dim)) {
        if (!llvm::is_contained(partial, use) || llvm::is_contained(left, use))
          break;
        scatter.push_back(originalUse(use));
      }
      if (scatter.empty())
        continue;
      ArrayAttr axes = axesAttr(builder, mesh, scatter);
      auto result = removePartial(resized(dim, type().getDimSize(dim) / mesh.parts(scatter)), axes);
      value = ReduceScatterOp::create(builder, location, result, value, kind, dim, mesh.name.getValue(), axes,
                                      builder.getStringAttr(because(scatter, "partial along")));
      for (AxisUse use : scatter) {
        dims[dim].push_back(use);
        llvm::erase(partial, use);
      }
    }
    for (AxisUse use : partial)
      if (!llvm::is_contained(left, use))
        whole.push_back(use);
    if (whole.empty())
      return;
    value = AllReduceOp::create(builder, location, kind, value, mesh.name.getValue(), axesAttr(builder, mesh, whole),
                                builder.getStringAttr(because(whole, "partial along")))
                .getResult(0);
  }

  /// The axis with the origin that it has as a partial one.
  AxisUse originalUse(AxisUse use) const { return *llvm::find(partial, use); }

  bool slice() {
    for (unsigned dim = 0; dim < dims.size(); ++dim) {
      AxisList axes;
      for (AxisUse use : missing(dim)) {
        if (cuts(use))
          break;
        axes.push_back(use);
      }
      if (axes.empty())
        continue;
      value = buildSlice(builder, location, mesh, value, dim, axes);
      llvm::append_range(dims[dim], axes);
      return true;
    }
    return false;
  }

  bool allToAll() {
    for (unsigned split = 0; split < dims.size(); ++split)
      for (unsigned concat = 0; concat < dims.size(); ++concat) {
        if (split == concat || missing(split).empty() || dims[concat].empty() ||
            startsWith(target[concat], dims[concat]) || !(dims[concat].back() == missing(split).front()))
          continue;
        AxisUse use = dims[concat].back();
        int64_t parts = mesh.sizeOf(use.axis);
        SmallVector<int64_t> shape(type().getShape());
        shape[split] /= parts;
        shape[concat] *= parts;
        auto result = RankedTensorType::get(shape, type().getElementType(), type().getEncoding());
        value = AllToAllOp::create(builder, location, result, value, split, concat, mesh.name.getValue(),
                                   axesAttr(builder, mesh, use), builder.getStringAttr(because(use, "cut by")));
        dims[concat].pop_back();
        dims[split].push_back(use);
        return true;
      }
    return false;
  }

  bool allGather() {
    for (unsigned dim = 0; dim < dims.size(); ++dim) {
      size_t common = 0;
      while (common < dims[dim].size() && common < target[dim].size() && dims[dim][common] == target[dim][common])
        ++common;
      AxisList axes(ArrayRef<AxisUse>(dims[dim]).drop_front(common));
      if (axes.empty())
        continue;
      value = AllGatherOp::create(builder, location, resized(dim, type().getDimSize(dim) * mesh.parts(axes)), value,
                                  dim, mesh.name.getValue(), axesAttr(builder, mesh, axes),
                                  builder.getStringAttr(because(axes, "cut by")));
      dims[dim].truncate(common);
      return true;
    }
    return false;
  }

  OpBuilder &builder;
  Location location;
  const MeshRef &mesh;
  Value value;
  DimAxes dims, target;
  AxisList partial;
  Reduction kind;
  ShardingAttr from, to;
  StringRef user;
};
} // namespace

FailureOr<Value> lowerReshard(OpBuilder &builder, Location location, const MeshRef &mesh, Value value,
                              ShardingAttr from, ShardingAttr to, StringRef user) {
  return Lowering(builder, location, mesh, value, from, to, user).run();
}

} // namespace dgc
