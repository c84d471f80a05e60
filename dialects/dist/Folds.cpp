// Simplifications of the ops that take parts of values, or move them, where there is one part or one device.

#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// The number of devices along `axes`; 0 where the module has no such mesh.
static int64_t countMembers(Operation *op, FlatSymbolRefAttr name, ArrayAttr axes) {
  MeshAttr mesh = lookupMesh(op, name);
  return mesh ? getGroupSize(mesh, axes) : 0;
}

bool dist::movesNothing(CollectiveOpInterface op) {
  if (auto permute = dyn_cast<PermuteOp>(*op))
    return llvm::equal(permute.getTargets(), llvm::seq<int64_t>(0, permute.getTargets().size()));
  return countMembers(op, op.getMeshAttr(), op.getAxes()) == 1;
}

/// Replaces the results by the operands where nothing is moved. Partial sums stay, as their type says so, and so does an
/// asynchronous collective, whose end needs it.
static LogicalResult foldCollective(CollectiveOpInterface op, SmallVectorImpl<OpFoldResult> &results) {
  auto isEnd = [](Operation *user) { return isa<DoneOp>(user); };
  if (op->getOperandTypes() != op->getResultTypes() || llvm::any_of(op->getUsers(), isEnd) || !movesNothing(op))
    return failure();
  llvm::append_range(results, op->getOperands());
  return success();
}

static OpFoldResult foldCollective(CollectiveOpInterface op) {
  SmallVector<OpFoldResult> results;
  return succeeded(foldCollective(op, results)) ? results[0] : OpFoldResult();
}

LogicalResult AllReduceOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  return foldCollective(*this, results);
}

LogicalResult AllGatherOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  return foldCollective(*this, results);
}

LogicalResult ReduceScatterOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  return foldCollective(*this, results);
}

OpFoldResult AllToAllOp::fold(FoldAdaptor) { return foldCollective(*this); }
OpFoldResult PermuteOp::fold(FoldAdaptor) { return foldCollective(*this); }
OpFoldResult BroadcastOp::fold(FoldAdaptor) { return foldCollective(*this); }

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<ReshardOp>();
  bool isThere = inner && inner.getSharding().hasSameLayout(getSharding()) && inner.getType() == getType();
  return isThere ? getInput() : Value();
}

OpFoldResult AxisIndexOp::fold(FoldAdaptor) {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || countMembers(*this, getMeshAttr(), getAxes()) != 1)
    return {};
  return DenseElementsAttr::get(type, APInt(64, 0));
}

OpFoldResult dist::SliceOp::fold(FoldAdaptor) {
  return getParts() == 1 && getInput().getType() == getType() ? getInput() : Value();
}

// The whole dimension has one place to begin.
OpFoldResult DynamicSliceOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : Value(); }

OpFoldResult VaryOp::fold(FoldAdaptor) { return getInput(); }

Operation *DistDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements && elements.getType() == type ? dgc::ConstantOp::create(builder, location, type, elements) : nullptr;
}
