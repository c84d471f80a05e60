// Gradients of the ops of manual regions.
//
// Along the axes of a collective its operand is a value of each device; dist.vary has made it one where it was not. A
// result that is the same on all devices of the group (of an all-reduce, an all-gather, a broadcast) has a gradient
// that is so, too: that of the one value which all of them have. So no communication is needed to go back through
// these.

#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// What collectives in the backward pass say of themselves.
static ArrayAttr originOf(Operation *op) {
  std::string text = "gradient of " + op->getName().getStringRef().str();
  return Builder(op->getContext()).getStrArrayAttr(StringRef(text));
}

/// Builds the gradient of each operand that has one from that of its result.
template <typename Build>
static SmallVector<Value> perOperand(ValueRange gradients, const llvm::BitVector &wanted, Build build) {
  SmallVector<Value> built(wanted.size());
  for (unsigned i = 0; i < wanted.size(); ++i)
    if (wanted[i] && gradients[i])
      built[i] = build(i, gradients[i]);
  return built;
}

SmallVector<Value> VaryOp::buildGradients(OpBuilder &builder, ValueRange gradients, const llvm::BitVector &wanted) {
  return perOperand(gradients, wanted, [&](unsigned, Value gradient) {
    return AllReduceOp::create(builder, getLoc(), Reduction::Sum, gradient, getMesh(), getAxes(),
                               builder.getStrArrayAttr(StringRef("gradient of a value that devices share")))
        .getResult(0);
  });
}

SmallVector<Value> AllReduceOp::buildGradients(OpBuilder &builder, ValueRange gradients,
                                               const llvm::BitVector &wanted) {
  if (getKind() == Reduction::Product)
    return {}; // not known
  return perOperand(gradients, wanted, [&](unsigned i, Value gradient) {
    if (getKind() == Reduction::Sum)
      return gradient;
    // It goes to the devices that have the largest or smallest element, in equal parts.
    TensorBuilder b(builder, getLoc());
    Type element = cast<RankedTensorType>(gradient.getType()).getElementType();
    Value chosen = b.convert(b.equal(getInputs()[i], getResult(i)), element);
    auto count = AllReduceOp::create(builder, getLoc(), Reduction::Sum, chosen, getMesh(), getAxes(), originOf(*this));
    return b.divide(b.multiply(gradient, chosen), count.getResult(0));
  });
}

/// The part of a value that is the same on all devices of a group which is that of this device.
static Value ownPart(OpBuilder &builder, Location location, Value value, int64_t dim, StringRef mesh, ArrayAttr axes,
                     int64_t members) {
  Value index = AxisIndexOp::create(builder, location, mesh, axes);
  return dist::SliceOp::create(builder, location, value, index, dim, members);
}

SmallVector<Value> AllGatherOp::buildGradients(OpBuilder &builder, ValueRange gradients,
                                               const llvm::BitVector &wanted) {
  int64_t members = getGroupSize(lookupMesh(*this, getMeshAttr()), getAxes());
  return perOperand(gradients, wanted, [&](unsigned, Value gradient) {
    return ownPart(builder, getLoc(), gradient, getDim(), getMesh(), getAxes(), members);
  });
}

SmallVector<Value> ReduceScatterOp::buildGradients(OpBuilder &builder, ValueRange gradients,
                                                   const llvm::BitVector &wanted) {
  if (getKind() != Reduction::Sum)
    return {}; // not known
  return perOperand(gradients, wanted, [&](unsigned i, Value gradient) {
    return AllGatherOp::create(builder, getLoc(), getInputs()[i].getType(), gradient, int64_t(getDim()), getMesh(),
                               getAxes(), originOf(*this))
        .getResult(0);
  });
}

SmallVector<Value> AllToAllOp::buildGradients(OpBuilder &builder, ValueRange gradients, const llvm::BitVector &wanted) {
  return perOperand(gradients, wanted, [&](unsigned, Value gradient) -> Value {
    return AllToAllOp::create(builder, getLoc(), getInput().getType(), gradient, getConcat(), getSplit(), getMesh(),
                              getAxes(), originOf(*this));
  });
}

SmallVector<Value> PermuteOp::buildGradients(OpBuilder &builder, ValueRange gradients, const llvm::BitVector &wanted) {
  SmallVector<int64_t> sources(getTargets().size(), -1);
  for (auto [member, target] : llvm::enumerate(getTargets()))
    if (target >= 0)
      sources[target] = member;
  return perOperand(gradients, wanted, [&](unsigned, Value gradient) -> Value {
    return PermuteOp::create(builder, getLoc(), gradient.getType(), gradient, sources, getMesh(), getAxes(),
                             originOf(*this));
  });
}

/// True, in the shape of `like`, on the devices where `index` is `number`.
static Value whereEqual(TensorBuilder &b, Value index, int64_t number, Value like) {
  Value here = b.equal(index, b.splat(double(number), index));
  return b.broadcast(here, cast<RankedTensorType>(like.getType()).getShape(), {});
}

SmallVector<Value> BroadcastOp::buildGradients(OpBuilder &builder, ValueRange gradients,
                                               const llvm::BitVector &wanted) {
  return perOperand(gradients, wanted, [&](unsigned, Value gradient) {
    TensorBuilder b(builder, getLoc());
    Value index = AxisIndexOp::create(builder, getLoc(), getMesh(), getAxes());
    return b.select(whereEqual(b, index, getRoot(), gradient), gradient, b.splat(0, gradient));
  });
}

SmallVector<Value> dist::SliceOp::buildGradients(OpBuilder &builder, ValueRange gradients,
                                                 const llvm::BitVector &wanted) {
  SmallVector<Value> built(2);
  if (!wanted[0] || !gradients[0])
    return built;
  TensorBuilder b(builder, getLoc());
  SmallVector<Value> parts;
  for (int64_t part = 0; part < int64_t(getParts()); ++part)
    parts.push_back(b.select(whereEqual(b, getIndex(), part, gradients[0]), gradients[0], b.splat(0, gradients[0])));
  built[0] = parts.size() == 1 ? parts[0] : Value(dgc::ConcatenateOp::create(builder, getLoc(), parts, getDim()));
  return built;
}
