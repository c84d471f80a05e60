// Collectives and transfers: what they check, infer and say of themselves.

#include "dialects/dist/OpUtil.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// Checks that `dim` is a dimension of `type`.
static LogicalResult verifyDim(Operation *op, StringRef what, int64_t dim, RankedTensorType type) {
  if (dim >= 0 && dim < type.getRank())
    return success();
  return op->emitOpError() << what << " " << dim << " is not a dimension of " << type;
}

/// Checks that result `index` has the shape `expected` and the element type of
/// its operand.
static LogicalResult verifyResult(Operation *op, ArrayRef<int64_t> expected, unsigned index = 0) {
  auto operand = cast<RankedTensorType>(op->getOperand(index).getType());
  auto result = cast<RankedTensorType>(op->getResult(index).getType());
  if (result.getElementType() == operand.getElementType() && result.getShape() == expected)
    return success();
  return op->emitOpError() << "gives " << RankedTensorType::get(expected, operand.getElementType()) << ", not "
                           << result;
}

/// Checks that an operand which is marked as partial can be combined by `kind`
/// along `axes`.
static LogicalResult verifyPartialOperand(Operation *op, Type type, Reduction kind, FlatSymbolRefAttr mesh,
                                          ArrayAttr axes) {
  auto partial = dyn_cast_or_null<PartialAttr>(cast<RankedTensorType>(type).getEncoding());
  if (!partial)
    return success();
  if (partial.getMesh() != mesh || partial.getKind() != kind)
    return op->emitOpError() << "combines by " << stringifyReduction(kind) << " over " << mesh << " what is partial by "
                             << stringifyReduction(partial.getKind()) << " over " << partial.getMesh();
  for (auto axis : axes.getAsRange<StringAttr>())
    if (!llvm::is_contained(partial.getAxes(), axis))
      return op->emitOpError() << "combines along " << axis << ", along which the operand is not partial";
  return success();
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  for (Type type : adaptor.getInputs().getTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    types.push_back(tensor ? removePartial(tensor, adaptor.getAxes()) : type);
  }
  return success();
}

/// Checks that there are operands, all of one element type.
static LogicalResult verifyList(Operation *op) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("needs at least one operand");
  Type element = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  for (Type type : op->getOperandTypes())
    if (cast<RankedTensorType>(type).getElementType() != element)
      return op->emitOpError() << "combines tensors of " << element << " and of "
                               << cast<RankedTensorType>(type).getElementType() << "; they must be of one element type";
  return success();
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyAxes(*this, getMeshAttr(), getAxes(), symbols)))
    return failure();
  if (dgc::anyUntyped(getOperands()))
    return success();
  if (failed(verifyList(*this)))
    return failure();
  for (Type type : getInputs().getTypes())
    if (failed(verifyPartialOperand(*this, type, getKind(), getMeshAttr(), getAxes())))
      return failure();
  return success();
}

/// The shape of what a collective over `members` makes of a tensor of the type `type`.
static FailureOr<SmallVector<int64_t>> shapeAfter(AllGatherOp op, RankedTensorType type, int64_t members) {
  if (failed(verifyDim(op, "dim", op.getDim(), type)))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape[op.getDim()] *= members;
  return shape;
}

/// Cuts a dimension among the members.
static LogicalResult divide(Operation *op, SmallVector<int64_t> &shape, int64_t dim, int64_t members) {
  if (shape[dim] % members)
    return op->emitOpError() << "dimension " << dim << " has size " << shape[dim] << ", which " << members
                             << " members do not divide";
  shape[dim] /= members;
  return success();
}

static FailureOr<SmallVector<int64_t>> shapeAfter(ReduceScatterOp op, RankedTensorType type, int64_t members) {
  SmallVector<int64_t> shape(type.getShape());
  if (failed(verifyDim(op, "dim", op.getDim(), type)) || failed(divide(op, shape, op.getDim(), members)))
    return failure();
  return shape;
}

static FailureOr<SmallVector<int64_t>> shapeAfter(AllToAllOp op, RankedTensorType type, int64_t members) {
  SmallVector<int64_t> shape(type.getShape());
  if (failed(verifyDim(op, "split", op.getSplit(), type)) || failed(verifyDim(op, "concat", op.getConcat(), type)) ||
      failed(divide(op, shape, op.getSplit(), members)))
    return failure();
  shape[op.getConcat()] *= members;
  return shape;
}

static FailureOr<SmallVector<int64_t>> shapeAfter(PermuteOp, RankedTensorType type, int64_t) {
  return llvm::to_vector(type.getShape());
}

static FailureOr<SmallVector<int64_t>> shapeAfter(BroadcastOp, RankedTensorType type, int64_t) {
  return llvm::to_vector(type.getShape());
}

/// Checks the operands and results of a collective whose axes are those of `mesh`.
template <typename OpT> static LogicalResult verifyShapes(OpT op, MeshAttr mesh) {
  if (dgc::anyUntyped(op->getOperands()))
    return success(); // in a model, before types are inferred
  if (failed(verifyList(op)))
    return failure();
  if (op->getNumResults() != op->getNumOperands())
    return op.emitOpError() << "gives " << op->getNumResults() << " results for " << op->getNumOperands()
                            << " operands";
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    FailureOr<SmallVector<int64_t>> shape =
        shapeAfter(op, cast<RankedTensorType>(type), getGroupSize(mesh, op.getAxes()));
    if (failed(shape) || failed(verifyResult(op, *shape, i)))
      return failure();
  }
  return success();
}

template <typename OpT> static LogicalResult inferShapes(OpT op) {
  int64_t members = getGroupSize(lookupMesh(op, op.getMeshAttr()), op.getAxes());
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    auto type = cast<RankedTensorType>(operand.getType());
    FailureOr<SmallVector<int64_t>> shape = shapeAfter(op, type, members);
    if (failed(shape))
      return failure();
    result.setType(RankedTensorType::get(*shape, type.getElementType()));
  }
  return success();
}

LogicalResult AllGatherOp::inferResultTypes() { return inferShapes(*this); }
LogicalResult ReduceScatterOp::inferResultTypes() { return inferShapes(*this); }
LogicalResult AllToAllOp::inferResultTypes() { return inferShapes(*this); }
LogicalResult PermuteOp::inferResultTypes() { return inferShapes(*this); }
LogicalResult BroadcastOp::inferResultTypes() { return inferShapes(*this); }

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  return failed(mesh) ? failure() : verifyShapes(*this, *mesh);
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  if (failed(mesh) || failed(verifyShapes(*this, *mesh)))
    return failure();
  for (Type type : getOperandTypes())
    if (isa<RankedTensorType>(type) && failed(verifyPartialOperand(*this, type, getKind(), getMeshAttr(), getAxes())))
      return failure();
  return success();
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  return failed(mesh) ? failure() : verifyShapes(*this, *mesh);
}

LogicalResult PermuteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  if (failed(mesh))
    return failure();
  int64_t members = getGroupSize(*mesh, getAxes());
  if (int64_t(getTargets().size()) != members)
    return emitOpError() << "has " << getTargets().size() << " targets for " << members << " members";
  SmallVector<bool> receives(members, false);
  for (int64_t target : getTargets()) {
    if (target < -1 || target >= members)
      return emitOpError() << "target " << target << " is not a member; expected -1 to " << members - 1;
    if (target >= 0 && std::exchange(receives[target], true))
      return emitOpError() << "member " << target << " would receive twice";
  }
  return verifyShapes(*this, *mesh);
}

LogicalResult BroadcastOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  if (failed(mesh))
    return failure();
  int64_t members = getGroupSize(*mesh, getAxes()), root = getRoot();
  if (root < 0 || root >= members)
    return emitOpError() << "root " << root << " is not a member; expected 0 to " << members - 1;
  return verifyShapes(*this, *mesh);
}

LogicalResult DoneOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

LogicalResult DoneOp::verifySymbolUses(SymbolTableCollection &) {
  auto collective =
      getInputs().empty() ? CollectiveOpInterface() : getInputs()[0].getDefiningOp<CollectiveOpInterface>();
  if (!collective || !llvm::equal(getInputs(), collective->getResults()))
    return emitOpError("takes all results of one collective, in order");
  for (Value result : collective->getResults())
    for (Operation *user : result.getUsers())
      if (user != getOperation())
        return emitOpError("ends a collective whose result is used before").attachNote(user->getLoc()) << "here";
  return success();
}

bool dgc::dist::communicatesInside(Operation *op) {
  auto communicates = [](Operation *inner) {
    return isa<CollectiveOpInterface, TransferOpInterface>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return llvm::any_of(op->getRegions(), [&](Region &region) { return region.walk(communicates).wasInterrupted(); });
}

CollectiveDescription AllReduceOp::describe() {
  return {.kind = CollectiveKind::AllReduce, .reduction = getKind(), .inPlace = true, .makesEqual = true};
}

CollectiveDescription ReduceScatterOp::describe() {
  return {.kind = CollectiveKind::ReduceScatter, .reduction = getKind(), .dims = {int64_t(getDim())}};
}

CollectiveDescription AllGatherOp::describe() {
  return {.kind = CollectiveKind::AllGather, .makesEqual = true, .dims = {int64_t(getDim())}};
}

CollectiveDescription AllToAllOp::describe() {
  return {.kind = CollectiveKind::AllToAll, .dims = {int64_t(getSplit()), int64_t(getConcat())}};
}

CollectiveDescription PermuteOp::describe() {
  return {.kind = CollectiveKind::Permute, .permutation = llvm::to_vector(getTargets())};
}

CollectiveDescription BroadcastOp::describe() {
  return {.kind = CollectiveKind::Broadcast, .inPlace = true, .makesEqual = true, .root = int64_t(getRoot())};
}

/// Checks the parts of a transfer from all devices of a mesh to one, or from one to all.
static LogicalResult verifyGathered(TransferOpInterface op, int64_t sources, int64_t targets) {
  if (std::min(sources, targets) != 1 || sources == targets)
    return op.emitOpError() << "is gathered, from " << sources << " devices to " << targets
                            << "; that goes from several devices to one, or from one to several";
  RankedTensorType type = op.getTransferType();
  if (type.getRank() == 0)
    return op.emitOpError() << "is gathered, and has no dimension 0 along which the parts follow each other";
  const int64_t parts = op.isSend() ? targets : sources;
  if (type.getDimSize(0) % parts != 0)
    return op.emitOpError() << (op.isSend() ? "sends " : "gets ") << type.getDimSize(0)
                            << " rows along dimension 0, which are no equal parts of " << parts << " devices";
  return success();
}

/// Checks the two meshes of a transfer: there are such, of the same size, and no device is in both.
static LogicalResult verifyTransfer(TransferOpInterface op, FlatSymbolRefAttr source, FlatSymbolRefAttr target,
                                    int64_t channel, SymbolTableCollection &symbols) {
  for (FlatSymbolRefAttr name : {source, target})
    if (!symbols.lookupNearestSymbolFrom<MeshOp>(op, name))
      return op->emitOpError() << "names the mesh " << name << ", which the module does not have";
  MeshAttr from = lookupMesh(op, source), to = lookupMesh(op, target);
  if (from.getNumDevices() != to.getNumDevices() && from.getNumDevices() != 1 && to.getNumDevices() != 1)
    return op->emitOpError() << "goes from " << from.getNumDevices() << " devices to " << to.getNumDevices()
                             << "; both meshes must have as many, or one of them one";
  if (from.getFirst() < to.getFirst() + to.getNumDevices() && to.getFirst() < from.getFirst() + from.getNumDevices())
    return op->emitOpError() << "goes between " << source << " and " << target << ", which share devices";
  if (channel < 0)
    return op->emitOpError() << "has the channel " << channel << "; expected at least 0";
  return op.getGathered() ? verifyGathered(op, from.getNumDevices(), to.getNumDevices()) : success();
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, getSourceAttr(), getTargetAttr(), getChannel(), symbols);
}

LogicalResult RecvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, getSourceAttr(), getTargetAttr(), getChannel(), symbols);
}
