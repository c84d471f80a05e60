// The gradient of a manual region: another one, that computes the body again and goes back through it.

#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dist/Dist.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {

/// Axes of a mesh by number.
using AxisMask = uint64_t;

/// Copies ops that are written for one device and makes explicit where a value that is the same along axes is taken as
/// one that may differ along them: each device then has a gradient of its own, and the value the sum of them.
class Replay {
public:
  Replay(OpBuilder &builder, FlatSymbolRefAttr name, MeshAttr mesh) : builder(builder), name(name), mesh(mesh) {}

  AxisMask maskOf(ArrayAttr axes) const {
    AxisMask mask = 0;
    for (auto axis : axes.getAsRange<StringAttr>())
      mask |= AxisMask(1) << mesh.getAxisIndex(axis);
    return mask;
  }

  AxisMask maskOf(ShardingAttr sharding) const {
    AxisMask mask = 0;
    for (DimShardingAttr dim : sharding.getDims())
      for (AxisRefAttr axis : dim.getAxes())
        mask |= AxisMask(1) << mesh.getAxisIndex(axis.getName());
    return mask;
  }

  ArrayAttr axesOf(AxisMask mask) const {
    SmallVector<Attribute> names;
    for (auto [i, axis] : llvm::enumerate(mesh.getAxes()))
      if (mask >> i & 1)
        names.push_back(axis.getName());
    return builder.getArrayAttr(names);
  }

  int64_t devices(AxisMask mask) const {
    int64_t count = 1;
    for (auto [i, axis] : llvm::enumerate(mesh.getAxes()))
      if (mask >> i & 1)
        count *= axis.getSize();
    return count;
  }

  /// Puts `inside`, which may differ along the axes of `mask`, in place of `original`.
  void map(Value original, Value inside, AxisMask mask) {
    mapping.map(original, inside);
    varies[inside] = mask;
  }

  Value lookup(Value original) const { return mapping.lookup(original); }
  AxisMask variesAlong(Value inside) const { return varies.lookup(inside); }

  /// The value as one that may differ along the axes of `mask`.
  Value vary(Value inside, AxisMask mask) {
    AxisMask missing = mask & ~variesAlong(inside);
    auto type = dyn_cast<RankedTensorType>(inside.getType());
    if (!missing || !type || !isa<FloatType>(type.getElementType()))
      return inside;
    Value &varied = copies[{inside, missing}];
    if (!varied) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(inside); // before the first use of it
      varied = VaryOp::create(builder, inside.getLoc(), inside, name.getValue(), axesOf(missing));
      varies[varied] = variesAlong(inside) | missing;
    }
    return varied;
  }

  void copy(Operation &op) {
    AxisMask mask = 0;
    for (Value operand : op.getOperands())
      mask |= variesAlong(lookup(operand));
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (collective)
      mask |= maskOf(collective.getAxes());
    if (auto index = dyn_cast<AxisIndexOp>(op))
      mask |= maskOf(index.getAxes());
    auto operands = llvm::map_to_vector(op.getOperands(), [&](Value each) { return vary(lookup(each), mask); });
    Operation *made = builder.clone(op, mapping);
    made->setOperands(operands);
    if (collective && leavesEqual(collective.describe().kind))
      mask &= ~maskOf(collective.getAxes());
    for (Value result : made->getResults())
      varies[result] = mask;
  }

private:
  /// True when all members of a group have the same afterwards.
  static bool leavesEqual(CollectiveKind kind) {
    return kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather || kind == CollectiveKind::Broadcast;
  }

  OpBuilder &builder;
  FlatSymbolRefAttr name;
  MeshAttr mesh;
  IRMapping mapping;
  DenseMap<Value, AxisMask> varies;
  DenseMap<std::pair<Value, AxisMask>, Value> copies;
};

} // namespace

/// The sum of all elements of `value` times those of `weight`, over all devices that have their own: one scalar f32.
static Value innerProduct(TensorBuilder &b, Replay &replay, Value value, Value weight, AxisMask mask,
                          FlatSymbolRefAttr mesh) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  Value sum = b.reduce(dgc::ReductionKind::Sum, b.multiply(value, weight), dims);
  if (!type.getElementType().isF32())
    sum = b.convert(sum, b.builder.getF32Type());
  if (!mask)
    return sum;
  return AllReduceOp::create(b.builder, b.location, Reduction::Sum, sum, mesh.getValue(), replay.axesOf(mask),
                             ArrayAttr())
      .getResult(0);
}

/// The region's gradient, without its body: takes the operands of `op` and the gradients of its results that there are,
/// gives the gradients of the operands that are wanted.
static ManualOp createBackward(OpBuilder &builder, ManualOp op, ValueRange gradients, const llvm::BitVector &wanted) {
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<Attribute> in(op.getInShardings().getValue()), out;
  Block *forward = &op.getBody().front();
  SmallVector<Type> local(forward->getArgumentTypes()), types;
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (gradient) {
      inputs.push_back(gradient);
      in.push_back(op.getOutShardings()[i]);
      local.push_back(forward->getTerminator()->getOperand(i).getType());
    }
  for (unsigned i : wanted.set_bits()) {
    types.push_back(op.getInputs()[i].getType());
    out.push_back(op.getInShardings()[i]);
  }
  auto backward = ManualOp::create(builder, op.getLoc(), types, inputs, op.getMeshAttr(), op.getAxes(),
                                   builder.getArrayAttr(in), builder.getArrayAttr(out));
  backward.getBody().emplaceBlock().addArguments(local, SmallVector<Location>(local.size(), op.getLoc()));
  return backward;
}

SmallVector<Value> ManualOp::buildGradients(OpBuilder &builder, ValueRange gradients, const llvm::BitVector &wanted) {
  ManualOp backward = createBackward(builder, *this, gradients, wanted);
  Block &forward = getBody().front(), &body = backward.getBody().front();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  Replay replay(builder, getMeshAttr(), lookupMesh(*this, getMeshAttr()));
  for (auto [argument, inside, sharding] :
       llvm::zip_first(forward.getArguments(), body.getArguments(), getInShardings().getAsRange<ShardingAttr>()))
    replay.map(argument, inside, replay.maskOf(sharding));
  for (Operation &op : forward.without_terminator())
    replay.copy(op);

  // The gradients are those of the sum of all results times what is given for them, each counted once: not once for
  // every device that has the same.
  TensorBuilder b(builder, getLoc());
  unsigned given = getNumOperands();
  Value loss;
  for (auto [i, gradient] : llvm::enumerate(gradients)) {
    if (!gradient)
      continue;
    AxisMask cut = replay.maskOf(cast<ShardingAttr>(getOutShardings()[i]));
    Value value = replay.lookup(forward.getTerminator()->getOperand(i)), weight = body.getArgument(given++);
    AxisMask mask = replay.variesAlong(value) | cut;
    if (int64_t copies = replay.devices(mask & ~cut); copies > 1)
      weight = b.multiply(weight, 1.0 / double(copies));
    Value product = innerProduct(b, replay, replay.vary(value, mask), weight, mask, getMeshAttr());
    loss = loss ? b.add(loss, product) : product;
  }
  SmallVector<Value> arguments;
  for (unsigned i : wanted.set_bits())
    arguments.push_back(body.getArgument(i));
  auto gradient = dgc::GradientOp::create(builder, getLoc(), loss, arguments);
  ReturnOp::create(builder, getLoc(), gradient.getResults());

  SmallVector<Value> results(getNumOperands());
  for (auto [i, operand] : llvm::enumerate(wanted.set_bits()))
    results[operand] = backward.getResult(i);
  return results;
}
