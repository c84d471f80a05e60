//===- Exec.cpp - the exec dialect -----------------------------------------===//

#include "dialects/dgc/DiscardableAttributes.h"
#include "dialects/exec/StepUtil.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;

#include "dialects/exec/ExecDialect.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#include "dialects/exec/ExecInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/exec/Exec.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/Exec.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// The rows of Attributes.def.
static ArrayRef<discardable::Row> attributeRows() {
  using namespace discardable;
  using enum Place;
  static constexpr Row rows[] = {
#define DGC_ATTRIBUTE(constant, name, places, kind, meaning) {name, places, kind},
#include "dialects/exec/Attributes.def"
#undef DGC_ATTRIBUTE
  };
  return rows;
}

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  discardable::Place here = discardable::placesOf(op);
  if (isa<ProgramOp>(op))
    here |= discardable::Place::Program;
  return discardable::verify(op, attribute, attributeRows(), here);
}

LogicalResult ExecDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  return discardable::verifyArgument(op, index, attribute, attributeRows());
}

LogicalResult ExecDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attribute) {
  return discardable::verifyResult(op, index, attribute, attributeRows());
}

//===----------------------------------------------------------------------===//
// What all steps share
//===----------------------------------------------------------------------===//

LogicalResult exec::verifyLevel(Operation *op, ValueRange reads, ValueRange outs) {
  bool onBuffers = !outs.empty();
  if (onBuffers && op->getNumResults() != 0) {
    return op->emitOpError("has results and `outs`: a step on tensors has results, a step on buffers has outs");
  }
  if (!onBuffers && op->getNumResults() == 0) {
    return op->emitOpError("writes nothing: give it results (on tensors) or `outs` (on buffers)");
  }
  for (Value read : reads) {
    if (isa<MemRefType>(read.getType()) != onBuffers) {
      return op->emitOpError("mixes tensors and buffers: operand of type ") << read.getType();
    }
  }
  return success();
}

/// The effects of a step on buffers; a step on tensors has none.
static void addEffects(ValueRange reads, ValueRange outs,
                       SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects, Operation *op) {
  if (outs.empty()) {
    return;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    if (llvm::is_contained(outs, operand.get())) {
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    } else {
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    }
  }
}

/// Clones a step: same attributes, operands mapped to buffers, outputs in place of results.
template <typename OpT> static void cloneStep(OpT op, OpBuilder &builder, IRMapping &mapping, ValueRange outs) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(mapping.lookup(operand));
  }
  OperationState state(op.getLoc(), OpT::getOperationName());
  state.addOperands(operands);
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.useProperties(op.getProperties());
  auto clone = cast<OpT>(builder.create(state));
  clone.getOutsMutable().append(outs);
}

static SmallVector<Value> allButOuts(Operation *op, OperandRange outs) {
  return SmallVector<Value>(op->getOperands().drop_back(outs.size()));
}

#define DGC_STEP(OpT)                                                                                                  \
  SmallVector<Value> exec::OpT::getReads() { return allButOuts(*this, getOuts()); }                                    \
  void exec::OpT::cloneOnBuffers(OpBuilder &builder, IRMapping &mapping, ValueRange outs) {                            \
    cloneStep(*this, builder, mapping, outs);                                                                          \
  }                                                                                                                    \
  void exec::OpT::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {           \
    addEffects(getReads(), getOuts(), effects, *this);                                                                 \
  }
DGC_STEP(LaunchOp)
DGC_STEP(MatmulOp)
DGC_STEP(ConvolutionOp)
DGC_STEP(PoolOp)
DGC_STEP(ScatterAddOp)
DGC_STEP(UpdateSliceOp)
DGC_STEP(AttentionOp)
#undef DGC_STEP

SmallVector<ShapedType> exec::givenTypes(Operation *op, ValueRange outs) {
  SmallVector<ShapedType> types;
  for (Value value : outs.empty() ? ValueRange(op->getResults()) : outs) {
    types.push_back(cast<ShapedType>(value.getType()));
  }
  return types;
}

LogicalResult exec::verifyPostOps(Operation *op, std::optional<ArrayAttr> postOps, ValueRange args, ShapedType dst) {
  for (Attribute attr : postOps.value_or(ArrayAttr::get(op->getContext(), {}))) {
    int64_t arg = cast<PostOpAttr>(attr).getArg();
    if (arg < 0) {
      continue;
    }
    if (arg >= static_cast<int64_t>(args.size())) {
      return op->emitOpError("post op ") << attr << " names argument " << arg << ", but there are only " << args.size();
    }
    if (cast<PostOpAttr>(attr).getKind() == PostOpKind::ReluGrad) {
      continue; // its argument is a mask, which the op looks at
    }
    ShapedType type = shaped(args[arg]);
    bool perChannel = type.getRank() == 1 && dst.getRank() > 0 && type.getDimSize(0) == dst.getShape().back();
    if (type.getShape() != dst.getShape() && !perChannel) {
      return op->emitOpError("post op argument of type ")
             << type << " has neither the shape of the result " << dst << " nor one element per channel";
    }
  }
  return success();
}

LogicalResult PostOpAttr::verify(function_ref<InFlightDiagnostic()> emitError, PostOpKind kind, int64_t arg) {
  bool needsArg =
      llvm::is_contained({PostOpKind::Add, PostOpKind::Multiply, PostOpKind::ReluGrad, PostOpKind::GeluTanhGrad}, kind);
  if (needsArg != (arg >= 0)) {
    return emitError() << "post op '" << stringifyPostOpKind(kind) << "' "
                       << (needsArg ? "needs an argument, as in <add, 0>" : "takes no argument");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

int64_t exec::LaunchOp::getInplaceOperand(unsigned result) {
  std::optional<ArrayRef<int64_t>> inplace = getInplace();
  return inplace ? (*inplace)[result] : -1;
}

LogicalResult exec::LaunchOp::verify() {
  if (failed(verifyLevel(*this, getReads(), getOuts()))) {
    return failure();
  }
  std::optional<ArrayRef<int64_t>> inplace = getInplace();
  if (!inplace) {
    return success();
  }
  size_t outputs = std::max<size_t>(getNumResults(), getOuts().size());
  if (inplace->size() != outputs) {
    return emitOpError("`inplace` has ") << inplace->size() << " entries for " << outputs << " results";
  }
  for (int64_t operand : *inplace) {
    if (operand < -1 || operand >= static_cast<int64_t>(getInputs().size())) {
      return emitOpError("`inplace` names operand ") << operand << " of " << getInputs().size();
    }
  }
  return success();
}

LogicalResult exec::LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  if (!kernel) {
    return emitOpError("launches ") << getKernelAttr() << ", which is no function here";
  }
  size_t outputs = std::max<size_t>(getNumResults(), getOuts().size());
  if (kernel.getNumArguments() != getInputs().size() || kernel.getNumResults() != outputs) {
    return emitOpError("passes ") << getInputs().size() << " inputs and takes " << outputs << " results, but "
                                  << getKernelAttr() << " has " << kernel.getNumArguments() << " and "
                                  << kernel.getNumResults();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// while, if
//===----------------------------------------------------------------------===//

static LogicalResult verifyPredicate(Operation *op, Type type) {
  auto buffer = cast<MemRefType>(type);
  if (buffer.getElementType().isInteger(1) && buffer.getNumElements() == 1)
    return success();
  return op->emitOpError() << "is decided by " << type << ": it must be one element of i1";
}

LogicalResult exec::WhileOp::verify() {
  if (getCounted() && !getRounds())
    return emitOpError("is counted, and does not say how many rounds there are");
  if (getCounted() && !getTest().empty())
    if (auto inside = getTest().front().getOps<CollectiveOp>(); !inside.empty())
      return emitOpError("is counted, and communicates in its test");
  return verifyPredicate(*this, getPredicate().getType());
}
LogicalResult exec::IfOp::verify() { return verifyPredicate(*this, getPredicate().getType()); }

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

LogicalResult exec::ConvolutionOp::verify() {
  if (failed(verifyLevel(*this, getReads(), getOuts()))) {
    return failure();
  }
  SmallVector<ShapedType> given = givenTypes(*this, getOuts());
  if (given.size() != 1) {
    return emitOpError("gives ") << given.size() << " results; " << stringifyConvKind(getKind()) << " gives one";
  }
  ShapedType lhs = shaped(getLhs()), rhs = shaped(getRhs()), first = given[0];
  ShapedType src = getKind() == ConvKind::BackwardData ? first : lhs;
  ShapedType weights = getKind() == ConvKind::BackwardWeights ? first : rhs;
  ShapedType dst = getKind() == ConvKind::Forward ? first : getKind() == ConvKind::BackwardData ? lhs : rhs;
  int64_t rank = src.getRank(), spatial = rank - 2;
  if (spatial < 1 || weights.getRank() != rank || dst.getRank() != rank) {
    return emitOpError("needs src, weights and dst of equal rank, at least 3: ")
           << src << ", " << weights << ", " << dst;
  }
  for (ArrayRef<int64_t> list : {getStrides(), getPadLow(), getPadHigh(), getDilation()}) {
    if (static_cast<int64_t>(list.size()) != spatial) {
      return emitOpError("has ") << spatial << " spatial dimensions, but a window attribute with " << list.size();
    }
  }
  // The weights' outputs, inputs and windows.
  const bool outFirst = getWeightsOutFirst();
  const int64_t outAt = outFirst ? 0 : rank - 1, inAt = outFirst ? rank - 1 : rank - 2, windowAt = outFirst ? 1 : 0;
  bool fits = src.getDimSize(0) == dst.getDimSize(0) && weights.getDimSize(outAt) == dst.getDimSize(rank - 1) &&
              weights.getDimSize(inAt) * static_cast<int64_t>(getGroups()) == src.getDimSize(rank - 1);
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t window = (weights.getDimSize(windowAt + i) - 1) * getDilation()[i] + 1;
    int64_t padded = src.getDimSize(i + 1) + getPadLow()[i] + getPadHigh()[i];
    fits &= getStrides()[i] > 0 && padded >= window && (padded - window) / getStrides()[i] + 1 == dst.getDimSize(i + 1);
  }
  if (!fits) {
    return emitOpError("has shapes that do not fit: src ") << src << ", weights " << weights << ", dst " << dst;
  }
  return verifyPostOps(*this, getPostOps(), getArgs(), first);
}

LogicalResult exec::AttentionOp::verify() {
  if (failed(verifyLevel(*this, getReads(), getOuts()))) {
    return failure();
  }
  SmallVector<ShapedType> given = givenTypes(*this, getOuts());
  if (getInputs().size() != (getBackward() ? 6 : 3) || given.size() != (getBackward() ? 3 : 2)) {
    return emitOpError("takes query, key and value and gives a result and logarithms; `backward` takes these and the "
                       "gradient of the result as well, and gives three gradients");
  }
  auto input = [&](unsigned index) { return shaped(getInputs()[index]); };
  ShapedType q = input(0), k = input(1), v = input(2), result = getBackward() ? input(3) : given[0],
             logSum = getBackward() ? input(4) : given[1];
  bool fits = q.getRank() == 3 && k.getRank() == 3 && v.getRank() == 3;
  int64_t heads = getHeads();
  fits = fits && heads > 0 && q.getDimSize(2) % heads == 0 && v.getDimSize(2) % heads == 0 &&
         k.getShape() == ArrayRef<int64_t>{q.getDimSize(0), k.getDimSize(1), q.getDimSize(2)} &&
         v.getShape() == ArrayRef<int64_t>{q.getDimSize(0), k.getDimSize(1), v.getDimSize(2)} &&
         result.getShape() == ArrayRef<int64_t>{q.getDimSize(0), q.getDimSize(1), v.getDimSize(2)} &&
         logSum.getShape() == ArrayRef<int64_t>{q.getDimSize(0), heads, q.getDimSize(1)};
  if (fits && getBackward()) {
    fits = input(5).getShape() == result.getShape() && given[0].getShape() == q.getShape() &&
           given[1].getShape() == k.getShape() && given[2].getShape() == v.getShape();
  }
  if (!fits) {
    return emitOpError("has shapes that do not fit ")
           << heads << " heads: query " << q << ", key " << k << ", value " << v << ", result " << result;
  }
  return success();
}

LogicalResult exec::ScatterAddOp::verify() {
  if (failed(verifyLevel(*this, getReads(), getOuts()))) {
    return failure();
  }
  SmallVector<ShapedType> given = givenTypes(*this, getOuts());
  ShapedType indices = shaped(getIndices()), updates = shaped(getUpdates());
  int64_t dim = getDimension(), rank = indices.getRank();
  if (given.size() != 1 || dim < 0 || dim + rank > updates.getRank() ||
      given[0].getRank() != updates.getRank() - rank + 1 || updates.getShape().slice(dim, rank) != indices.getShape() ||
      updates.getShape().take_front(dim) != given[0].getShape().take_front(dim) ||
      updates.getShape().drop_front(dim + rank) != given[0].getShape().drop_front(dim + 1) ||
      updates.getElementType() != given[0].getElementType()) {
    return emitOpError("has shapes that do not fit: indices ") << indices << " and updates " << updates;
  }
  return success();
}

int64_t exec::UpdateSliceOp::getInplaceOperand(unsigned) { return 0; }

LogicalResult exec::UpdateSliceOp::verify() {
  if (failed(verifyLevel(*this, getReads(), getOuts()))) {
    return failure();
  }
  SmallVector<ShapedType> given = givenTypes(*this, getOuts());
  ShapedType operand = shaped(getOperand()), update = shaped(getUpdate()), start = shaped(getStart());
  int64_t dim = getDimension();
  bool fits = given.size() == 1 && given[0] == operand && operand.getElementType() == update.getElementType() &&
              operand.getRank() == update.getRank() && dim >= 0 && dim < operand.getRank() && start.getRank() == 0 &&
              isa<IntegerType>(start.getElementType());
  for (int64_t i = 0; fits && i < operand.getRank(); ++i) {
    fits = i == dim ? update.getDimSize(i) <= operand.getDimSize(i) : update.getDimSize(i) == operand.getDimSize(i);
  }
  if (!fits) {
    return emitOpError("has shapes that do not fit: operand ") << operand << ", update " << update << " at " << start;
  }
  return success();
}

LogicalResult exec::PoolOp::verify() {
  if (failed(verifyLevel(*this, getReads(), getOuts()))) {
    return failure();
  }
  SmallVector<ShapedType> given = givenTypes(*this, getOuts());
  size_t inputs = getKind() == PoolKind::MaxBackward ? 2 : 1;
  if (getInputs().size() != inputs || given.size() != 1) {
    return emitOpError("takes ") << inputs << " operands and gives one result for " << stringifyPoolKind(getKind());
  }
  bool forward = getKind() == PoolKind::MaxForward || getKind() == PoolKind::AvgForward;
  ShapedType src = forward || inputs == 2 ? shaped(getInputs().front()) : given[0];
  ShapedType dst = forward ? given[0] : shaped(getInputs().back());
  int64_t spatial = src.getRank() - 2;
  if (spatial < 1 || dst.getRank() != src.getRank() || (!forward && given[0].getShape() != src.getShape())) {
    return emitOpError("needs src and dst of equal rank, at least 3: ") << src << ", " << dst;
  }
  for (ArrayRef<int64_t> list : {getWindow(), getStrides(), getPadLow(), getPadHigh()}) {
    if (static_cast<int64_t>(list.size()) != spatial) {
      return emitOpError("has ") << spatial << " spatial dimensions, but a window attribute with " << list.size();
    }
  }
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t padded = src.getDimSize(i + 1) + getPadLow()[i] + getPadHigh()[i];
    if (getStrides()[i] <= 0 || padded < getWindow()[i] ||
        (padded - getWindow()[i]) / getStrides()[i] + 1 != dst.getDimSize(i + 1)) {
      return emitOpError("has shapes that do not fit: src ") << src << ", dst " << dst;
    }
  }
  return success();
}

static uint64_t byteSize(Type type) {
  auto shapedType = cast<ShapedType>(type);
  return storageBytes(shapedType.getElementType()) * shapedType.getNumElements();
}

uint64_t dgc::exec::storageBytes(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }

LogicalResult exec::ViewOp::verify() {
  uint64_t end = getOffset() + byteSize(getType());
  if (static_cast<int64_t>(getOffset()) < 0 || end > byteSize(getSource().getType())) {
    return emitOpError("ends at byte ") << end << " of a buffer of " << byteSize(getSource().getType());
  }
  return success();
}

LogicalResult exec::CollectiveOp::verify() {
  if (getSrc().empty()) {
    return emitOpError("moves nothing: it needs at least one buffer");
  }
  bool severalAllowed = llvm::is_contained(
      {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather}, getKind());
  if (getSrc().size() > 1 && !severalAllowed) {
    return emitOpError("has ") << getSrc().size() << " buffers; " << stringifyCollectiveKind(getKind()) << " takes one";
  }
  Type element = shaped(getSrc()[0]).getElementType();
  for (Value buffer : getOperands()) {
    if (shaped(buffer).getElementType() != element) {
      return emitOpError("mixes element types ") << element << " and " << shaped(buffer).getElementType();
    }
  }
  int64_t padding = getPadding(),
          most = std::min(shaped(getSrc()[0]).getNumElements(), shaped(getDst()[0]).getNumElements());
  if (padding < 0 || padding > most) {
    return emitOpError("has ") << padding << " elements of padding; expected 0 to " << most
                               << ", the elements of its first buffer";
  }
  return success();
}
