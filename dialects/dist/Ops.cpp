// Ops of the dist dialect.

#include "dialects/dist/Dist.h"

#include "dialects/dgc/Assembly.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
using mlir::dgc::parseOperandTypes;
using mlir::dgc::printOperandTypes;
} // namespace mlir::dist

#include "dialects/dist/DistInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// The mesh of `op`, after checking that it exists, that `axes` are some of its
/// axes, and that none is twice.
static FailureOr<MeshAttr> verifyAxes(Operation *op, FlatSymbolRefAttr name, ArrayAttr axes,
                                      SymbolTableCollection &symbols) {
  auto mesh = symbols.lookupNearestSymbolFrom<MeshOp>(op, name);
  if (!mesh)
    return op->emitOpError() << "names the mesh " << name << ", which the module does not have";
  if (axes.empty())
    return op->emitOpError("needs at least one axis of the mesh");
  llvm::StringSet<> seen;
  for (auto axis : axes.getAsRange<StringAttr>()) {
    if (mesh.getMesh().getAxisIndex(axis) < 0)
      return op->emitOpError() << "mesh " << name << " has no axis " << axis;
    if (!seen.insert(axis.getValue()).second)
      return op->emitOpError() << "has the axis " << axis << " twice";
  }
  return mesh.getMesh();
}

static LogicalResult verifySharding(Operation *op, ShardingAttr sharding, Type type) {
  return sharding.verifyFor(type, op, [&] { return op->emitOpError(); });
}

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

//===----------------------------------------------------------------------===//
// Global level
//===----------------------------------------------------------------------===//

LogicalResult ConstraintOp::verifySymbolUses(SymbolTableCollection &) {
  if (isa<RankedTensorType>(getType()))
    return verifySharding(*this, getSharding(), getType());
  if (lookupMesh(*this, getSharding().getMesh()))
    return success();
  return emitOpError() << "names the mesh " << getSharding().getMesh() << ", which the module does not have";
}

SmallVector<Value> ConstraintOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                const llvm::BitVector &wanted) {
  if (!wanted[0] || !resultGradients[0])
    return {Value()};
  return {ConstraintOp::create(builder, getLoc(), resultGradients[0], getSharding())};
}

dgc::ShardingRule ConstraintOp::getShardingRule() { return dgc::ShardingRuleBuilder(*this).elementwise().build(); }

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  return verifySharding(*this, getSharding(), getType());
}

/// Checks that the types inside of a manual region are the local types of those
/// outside.
static LogicalResult verifyManualTypes(ManualOp op, StringRef what, ArrayAttr shardings, TypeRange global,
                                       TypeRange local, MeshAttr mesh) {
  if (shardings.size() != global.size() || local.size() != global.size())
    return op.emitOpError() << "has " << global.size() << " " << what << "s outside, " << local.size() << " inside and "
                            << shardings.size() << " shardings of them";
  for (auto [index, attribute, outside, inside] : llvm::enumerate(shardings, global, local)) {
    auto sharding = cast<ShardingAttr>(attribute);
    auto emitError = [&, index = index] { return op.emitOpError() << what << " " << index << ": "; };
    if (failed(sharding.verifyFor(outside, op, emitError)))
      return failure();
    if (sharding.getMesh() != op.getMeshAttr())
      return emitError() << "is spread over " << sharding.getMesh() << ", the region over " << op.getMeshAttr();
    for (DimShardingAttr dim : sharding.getDims())
      for (AxisRefAttr axis : dim.getAxes())
        if (!llvm::is_contained(op.getAxes(), axis.getName()))
          return emitError() << "is cut by " << axis.getName() << ", which is not a manual axis";
    auto type = cast<RankedTensorType>(outside);
    if (failed(sharding.verifyEqualParts(type.getShape(), mesh, emitError,
                                         "a region that is written for one device has equal parts only")))
      return failure();
    auto part = RankedTensorType::get(sharding.getLocalShape(type.getShape(), mesh), type.getElementType());
    if (dropEncoding(cast<RankedTensorType>(inside)) != part)
      return emitError() << "has the type " << inside << " inside, where the part of a device is " << part;
  }
  return success();
}

LogicalResult ManualOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
}

LogicalResult ManualOp::verifyRegions() {
  MeshAttr mesh = lookupMesh(*this, getMeshAttr());
  if (!mesh)
    return success(); // verifySymbolUses says so.
  Block &block = getBody().front();
  if (failed(verifyManualTypes(*this, "operand", getInShardings(), getInputs().getTypes(), block.getArgumentTypes(),
                               mesh)))
    return failure();
  return verifyManualTypes(*this, "result", getOutShardings(), getResultTypes(),
                           block.getTerminator()->getOperandTypes(), mesh);
}

//===----------------------------------------------------------------------===//
// Local level
//===----------------------------------------------------------------------===//

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t dim = adaptor.getDim(), parts = adaptor.getParts();
  if (dim < 0 || dim >= input.getRank())
    return emitOptionalError(location, "dimension ", dim, " is not one of ", input);
  if (parts < 1 || input.getDimSize(dim) % parts)
    return emitOptionalError(location, "dimension ", dim, " has size ", input.getDimSize(dim),
                             ", which cannot be cut in ", parts, " equal parts");
  SmallVector<int64_t> shape(input.getShape());
  shape[dim] /= parts;
  types.push_back(RankedTensorType::get(shape, input.getElementType(), input.getEncoding()));
  return success();
}

/// Elements of `input` from `start`, an index, on, as many as `type` has in dimension `dim`.
static SmallVector<Value> extractFrom(OpBuilder &builder, Location location, Value input, Value start, int64_t dim,
                                      RankedTensorType type) {
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1)), sizes;
  offsets[dim] = start;
  for (int64_t extent : type.getShape())
    sizes.push_back(builder.getIndexAttr(extent));
  Value part = tensor::ExtractSliceOp::create(builder, location, input, offsets, sizes, strides);
  return {part};
}

/// A scalar i64 tensor as an index.
static Value asIndex(OpBuilder &builder, Location location, Value scalar) {
  Value number = tensor::ExtractOp::create(builder, location, scalar, ValueRange());
  return arith::IndexCastOp::create(builder, location, builder.getIndexType(), number);
}

FailureOr<SmallVector<Value>> SliceOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto type = cast<RankedTensorType>(getType());
  Value index = asIndex(builder, getLoc(), operands[1]);
  Value size = arith::ConstantIndexOp::create(builder, getLoc(), type.getDimSize(getDim()));
  Value start = arith::MulIOp::create(builder, getLoc(), index, size);
  return extractFrom(builder, getLoc(), operands[0], start, getDim(), type);
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t dim = adaptor.getDim(), size = adaptor.getSize();
  if (dim < 0 || dim >= input.getRank())
    return emitOptionalError(location, "dimension ", dim, " is not one of ", input);
  if (size < 0 || size > input.getDimSize(dim))
    return emitOptionalError(location, "dimension ", dim, " has ", input.getDimSize(dim), " elements, of which ", size,
                             " cannot be taken");
  SmallVector<int64_t> shape(input.getShape());
  shape[dim] = size;
  types.push_back(RankedTensorType::get(shape, input.getElementType(), input.getEncoding()));
  return success();
}

FailureOr<SmallVector<Value>> DynamicSliceOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Value start = asIndex(builder, getLoc(), operands[1]);
  return extractFrom(builder, getLoc(), operands[0], start, getDim(), cast<RankedTensorType>(getType()));
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  for (Value input : adaptor.getInputs())
    types.push_back(removePartial(cast<RankedTensorType>(input.getType()), adaptor.getAxes()));
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
  if (failed(verifyAxes(*this, getMeshAttr(), getAxes(), symbols)) || failed(verifyList(*this)))
    return failure();
  for (Type type : getInputs().getTypes())
    if (failed(verifyPartialOperand(*this, type, getKind(), getMeshAttr(), getAxes())))
      return failure();
  return success();
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  if (failed(mesh) || failed(verifyList(*this)))
    return failure();
  if (getNumResults() != getNumOperands())
    return emitOpError() << "gives " << getNumResults() << " results for " << getNumOperands() << " operands";
  for (unsigned i = 0; i < getNumOperands(); ++i) {
    auto type = cast<RankedTensorType>(getInputs()[i].getType());
    if (failed(verifyDim(*this, "dim", getDim(), type)))
      return failure();
    SmallVector<int64_t> shape(type.getShape());
    shape[getDim()] *= getGroupSize(*mesh, getAxes());
    if (failed(verifyResult(*this, shape, i)))
      return failure();
  }
  return success();
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  if (failed(mesh) || failed(verifyList(*this)))
    return failure();
  if (getNumResults() != getNumOperands())
    return emitOpError() << "gives " << getNumResults() << " results for " << getNumOperands() << " operands";
  int64_t members = getGroupSize(*mesh, getAxes());
  for (unsigned i = 0; i < getNumOperands(); ++i) {
    auto type = cast<RankedTensorType>(getInputs()[i].getType());
    if (failed(verifyDim(*this, "dim", getDim(), type)) ||
        failed(verifyPartialOperand(*this, type, getKind(), getMeshAttr(), getAxes())))
      return failure();
    SmallVector<int64_t> shape(type.getShape());
    if (shape[getDim()] % members)
      return emitOpError() << "dimension " << getDim() << " has size " << shape[getDim()] << ", which " << members
                           << " members do not divide";
    shape[getDim()] /= members;
    if (failed(verifyResult(*this, shape, i)))
      return failure();
  }
  return success();
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  if (failed(mesh) || failed(verifyDim(*this, "split", getSplit(), getInput().getType())) ||
      failed(verifyDim(*this, "concat", getConcat(), getInput().getType())))
    return failure();
  SmallVector<int64_t> shape(getInput().getType().getShape());
  int64_t members = getGroupSize(*mesh, getAxes());
  if (shape[getSplit()] % members)
    return emitOpError() << "dimension " << getSplit() << " has size " << shape[getSplit()] << ", which " << members
                         << " members do not divide";
  shape[getSplit()] /= members;
  shape[getConcat()] *= members;
  return verifyResult(*this, shape);
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
  return verifyResult(*this, getInput().getType().getShape());
}

LogicalResult BroadcastOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<MeshAttr> mesh = verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
  if (failed(mesh))
    return failure();
  int64_t members = getGroupSize(*mesh, getAxes()), root = getRoot();
  if (root < 0 || root >= members)
    return emitOpError() << "root " << root << " is not a member; expected 0 to " << members - 1;
  return verifyResult(*this, getInput().getType().getShape());
}

LogicalResult DoneOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

LogicalResult DoneOp::verifySymbolUses(SymbolTableCollection &) {
  auto collective = getInputs().empty() ? CollectiveOpInterface() : getInputs()[0].getDefiningOp<CollectiveOpInterface>();
  if (!collective || !llvm::equal(getInputs(), collective->getResults()))
    return emitOpError("takes all results of one collective, in order");
  for (Value result : collective->getResults())
    for (Operation *user : result.getUsers())
      if (user != getOperation())
        return emitOpError("ends a collective whose result is used before").attachNote(user->getLoc()) << "here";
  return success();
}

CollectiveDescription AllReduceOp::describe() {
  return {.kind = CollectiveKind::AllReduce, .reduction = getKind(), .inPlace = true};
}

CollectiveDescription ReduceScatterOp::describe() {
  return {.kind = CollectiveKind::ReduceScatter, .reduction = getKind(), .dims = {int64_t(getDim())}};
}

CollectiveDescription AllGatherOp::describe() {
  return {.kind = CollectiveKind::AllGather, .dims = {int64_t(getDim())}};
}

CollectiveDescription AllToAllOp::describe() {
  return {.kind = CollectiveKind::AllToAll, .dims = {int64_t(getSplit()), int64_t(getConcat())}};
}

CollectiveDescription PermuteOp::describe() {
  return {.kind = CollectiveKind::Permute, .permutation = llvm::to_vector(getTargets())};
}

CollectiveDescription BroadcastOp::describe() {
  return {.kind = CollectiveKind::Broadcast, .inPlace = true, .root = int64_t(getRoot())};
}

/// Checks the two meshes of a transfer: there are such, of the same size, and no device is in both.
static LogicalResult verifyTransfer(Operation *op, FlatSymbolRefAttr source, FlatSymbolRefAttr target, int64_t channel,
                                    SymbolTableCollection &symbols) {
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
  return success();
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, getSourceAttr(), getTargetAttr(), getChannel(), symbols);
}

LogicalResult RecvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, getSourceAttr(), getTargetAttr(), getChannel(), symbols);
}

#define GET_OP_CLASSES
#include "dialects/dist/Dist.cpp.inc"
