// From one sharding of a value to another, by their difference: the plan as ops.

#include "passes/partition/ReshardLowering.h"

#include "dialects/dgc/TensorBuilder.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

ArrayAttr axesAttr(OpBuilder &builder, const MeshRef &mesh, ArrayRef<AxisUse> axes) {
  return builder.getArrayAttr(
      llvm::map_to_vector(axes, [&](AxisUse use) -> Attribute { return mesh.mesh.getAxes()[use.axis].getName(); }));
}

Value buildOffset(OpBuilder &builder, Location location, const MeshRef &mesh, ArrayRef<AxisUse> axes,
                  int64_t localSize) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Value index = AxisIndexOp::create(builder, location, type, mesh.name, axesAttr(builder, mesh, axes));
  if (localSize == 1)
    return index;
  return TensorBuilder(builder, location).multiply(index, double(localSize));
}

Value buildSlice(OpBuilder &builder, Location location, const MeshRef &mesh, Value value, unsigned dim,
                 ArrayRef<AxisUse> axes) {
  Value index = buildOffset(builder, location, mesh, axes, /*localSize=*/1);
  return dist::SliceOp::create(builder, location, value, index, dim, mesh.parts(axes));
}

namespace {
/// Builds the steps of a plan; `layout` is the current layout of the value.
class Lowering {
public:
  Lowering(OpBuilder &builder, Location location, const MeshRef &mesh, Value value, ArrayRef<int64_t> globalShape,
           ShardingAttr from, ShardingAttr to, StringRef user)
      : builder(builder), location(location), mesh(mesh), value(value), from(from), to(to), user(user),
        meshSizes(mesh.sizes()), space{meshSizes, globalShape}, layout(mesh.layoutOf(from)) {}

  FailureOr<Value> run() {
    for (AxisUse use : mesh.axesOf(to.getUnreduced()))
      if (!llvm::is_contained(mesh.axesOf(from.getUnreduced()), use) || from.getKind() != to.getKind())
        return emitError(location) << "a value that is distributed as " << from.describe() << " cannot become "
                                   << to.describe() << ": a value becomes partial by computation alone";
    for (const ReshardStep &step : planReshard(space, layout, mesh.layoutOf(to))) {
      build(step);
      layout = step.after;
    }
    return value;
  }

private:
  void build(const ReshardStep &step) {
    switch (step.kind) {
    case ReshardKind::Slice:
      pad(step);
      value = buildSlice(builder, location, mesh, value, step.dim, usesOf(step.axes));
      return;
    case ReshardKind::ReduceScatter:
      pad(step);
      value = ReduceScatterOp::create(builder, location, removePartial(typeAfter(step), names(step.axes)), value,
                                      from.getKind(), step.dim, mesh.name.getValue(), names(step.axes),
                                      because(step.axes, "partial along"))
                  .getResult(0);
      return;
    case ReshardKind::AllReduce:
      value = AllReduceOp::create(builder, location, from.getKind(), value, mesh.name.getValue(), names(step.axes),
                                  because(step.axes, "partial along"))
                  .getResult(0);
      return;
    case ReshardKind::AllToAll:
      pad(step);
      value = AllToAllOp::create(builder, location, putTogether(typeAfter(step), step, step.concat), value, step.dim,
                                 step.concat, mesh.name.getValue(), names(step.axes), because(step.axes, "cut by"));
      trim(step, step.concat);
      return;
    case ReshardKind::Permute:
      buildPermute(step);
      return;
    case ReshardKind::AllGather:
      value = AllGatherOp::create(builder, location, putTogether(typeAfter(step), step, step.dim), value, step.dim,
                                  mesh.name.getValue(), names(step.axes), because(step.axes, "cut by"))
                  .getResult(0);
      trim(step, step.dim);
      return;
    }
  }

  void buildPermute(const ReshardStep &step) {
    Axes cutting;
    for (int axis : step.axes)
      if (llvm::any_of(layout.dims, [&](const Axes &axes) { return llvm::is_contained(axes, axis); }))
        cutting.push_back(axis);
    value = PermuteOp::create(builder, location, type(), value, step.targets, mesh.name.getValue(), names(step.axes),
                              because(cutting, "cut by"));
  }

  //===--------------------------------------------------------------------===//
  // Sizes
  //===--------------------------------------------------------------------===//

  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }

  RankedTensorType withShape(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, type().getElementType(), type().getEncoding());
  }

  RankedTensorType typeAfter(const ReshardStep &step) const { return withShape(space.localShape(step.after)); }

  /// The type of parts of the group that are put together along `dim`, padding included.
  RankedTensorType putTogether(RankedTensorType after, const ReshardStep &step, int dim) const {
    SmallVector<int64_t> shape(after.getShape());
    shape[dim] = type().getDimSize(dim) * space.parts(step.axes);
    return withShape(shape);
  }

  /// Makes the dimension that is to be cut as long as its parts together.
  void pad(const ReshardStep &step) {
    int64_t size = space.partSize(step.dim, step.after.dims[step.dim]) * space.parts(step.axes);
    SmallVector<int64_t> zeros(type().getRank(), 0), high(zeros);
    high[step.dim] = size - type().getDimSize(step.dim);
    if (high[step.dim] != 0)
      value = keepEncoding(TensorBuilder(builder, location).padZero(value, zeros, high));
  }

  /// Takes away the padding of a dimension that was put together.
  void trim(const ReshardStep &step, int dim) {
    SmallVector<int64_t> zeros(type().getRank(), 0), limits(type().getShape());
    limits[dim] = space.partSize(dim, step.after.dims[dim]);
    if (limits[dim] != type().getDimSize(dim))
      value = keepEncoding(TensorBuilder(builder, location).slice(value, zeros, limits));
  }

  /// `result` with the encoding of the value that it was made from.
  Value keepEncoding(Value result) const {
    if (!type().getEncoding())
      return result;
    auto shaped = cast<RankedTensorType>(result.getType());
    result.setType(withShape(shaped.getShape()));
    recordEncodings(result.getDefiningOp());
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Axes
  //===--------------------------------------------------------------------===//

  /// The axes with the origins that they have in the sharding of the value or, if they are not in it, in the wanted
  /// one.
  AxisList usesOf(ArrayRef<int> axes) const {
    AxisList uses;
    for (int axis : axes)
      for (ShardingAttr sharding : {from, to}) {
        AxisList known = mesh.axesOf(sharding.getUnreduced());
        for (const AxisList &list : mesh.dimsOf(sharding))
          llvm::append_range(known, list);
        auto *use = llvm::find_if(known, [&](AxisUse use) { return use.axis == axis; });
        if (use == known.end())
          continue;
        uses.push_back(*use);
        break;
      }
    return uses;
  }

  ArrayAttr names(ArrayRef<int> axes) const {
    return builder.getArrayAttr(
        llvm::map_to_vector(axes, [&](int axis) -> Attribute { return mesh.mesh.getAxes()[axis].getName(); }));
  }

  ArrayAttr because(ArrayRef<int> axes, StringRef what) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::interleave(
        usesOf(axes), os,
        [&](AxisUse use) {
          os << what << ' ' << mesh.mesh.getAxes()[use.axis].getName().getValue() << " (";
          os << stringifyOriginKind(use.origin.getKind());
          if (use.origin.getKind() != OriginKind::User)
            os << ' ' << use.origin.getName().getValue();
          os << ')';
        },
        ", ");
    os << "; needed as " << to.describe() << " by " << user;
    return builder.getStrArrayAttr(StringRef(text));
  }

  OpBuilder &builder;
  Location location;
  const MeshRef &mesh;
  Value value;
  ShardingAttr from, to;
  StringRef user;
  SmallVector<int64_t> meshSizes;
  LayoutSpace space;
  ValueLayout layout;
};
} // namespace

FailureOr<Value> lowerReshard(OpBuilder &builder, Location location, const MeshRef &mesh, Value value,
                              ArrayRef<int64_t> globalShape, ShardingAttr from, ShardingAttr to, StringRef user) {
  return Lowering(builder, location, mesh, value, globalShape, from, to, user).run();
}

} // namespace dgc
