// Gives the values of a model their types.

#include "dialects/dgc/TypeInference.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dgc/Operands.h"

using namespace mlir;
using namespace dgc;

/// Gives a result the type that is written with its op, the batch in its place.
static LogicalResult resolveDeclared(DeclaredTypeOpInterface op, int64_t batch) {
  RankedTensorType declared = op.getDeclared();
  if (!declared)
    return success(); // typed already
  SmallVector<int64_t> shape(declared.getShape());
  if (std::optional<int64_t> dim = op.getBatchDim()) {
    if (batch == 0)
      return op->emitOpError() << "has the type " << declared << ", whose '?' is the batch, and no input of the model "
                               << "has one: write a number, or give it (dgc-compile --batch N)";
    shape[*dim] = batch;
    if (!isa<InputOp>(op)) // which says it as long as it is there
      op->setAttr(kBatchDimAttr, Builder(op).getI64IntegerAttr(*dim));
  }
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return op->emitOpError() << "has more than one '?' in " << declared << ": only the batch dimension is left open";
  op.resolveType(declared.clone(shape));
  return success();
}

/// More than any machine holds; far enough from the limits of 64 bits to compute with.
static constexpr int64_t kMaxElements = int64_t(1) << 40;

/// Refuses values that are too large for the sizes of what is computed from them to be numbers.
static LogicalResult checkSizes(Operation *op) {
  for (Type type : op->getResultTypes()) {
    int64_t elements = 1;
    for (int64_t size : cast<RankedTensorType>(type).getShape())
      if (llvm::MulOverflow(elements, size, elements) || elements > kMaxElements)
        return op->emitOpError() << "gives a value of type " << type << ", which has more than 2^40 elements; give a "
                                 << "smaller batch (dgc-compile --batch N) or smaller shapes";
  }
  return success();
}

/// Refuses attributes that nothing knows: mostly words that are misspelt.
static LogicalResult checkAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (!name.contains('.') && name != "block" && name != "dims")
      return op->emitOpError() << "has an attribute '" << name << "', which nothing knows; in a model there may be "
                               << "block, dims, and those of dialects, as in dist.sharding";
  }
  return success();
}

/// Infers the types of an op, of what is inside of it first.
static LogicalResult inferFromContext(TypesFromContextOpInterface op, int64_t batch) {
  if (failed(op.inferTypesInside()))
    return failure();
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (failed(inferTypes(&inner, batch)))
        return failure();
  return op.inferResultTypes();
}

LogicalResult dgc::inferTypes(Operation *op, int64_t batch) {
  if (isa<LiteralOp>(op))
    return success(); // the ops that use it say what it is
  if (failed(resolveOperands(op)))
    return failure();
  if (auto declaring = dyn_cast<DeclaredTypeOpInterface>(op)) {
    if (failed(resolveDeclared(declaring, batch)))
      return failure();
  } else if (auto inferring = dyn_cast<InferTypeOpInterface>(op)) {
    SmallVector<Type> types;
    if (failed(inferring.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                          op->getRawDictionaryAttrs(), op->getPropertiesStorage(), op->getRegions(),
                                          types)))
      return failure();
    for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
      result.setType(type);
  } else if (auto context = dyn_cast<TypesFromContextOpInterface>(op)) {
    if (failed(inferFromContext(context, batch)))
      return failure();
  }
  if (isa<RepeatOp>(op))
    return op->emitOpError("is still there: run dgc-unroll-repeats first");
  if (isa<CallOp>(op))
    return op->emitOpError("is still there: run dgc-inline-calls first");
  if (anyUntyped(op->getResults()))
    return op->emitOpError("does not infer the types of its results: it cannot be part of a model");
  if (failed(checkSizes(op)) || failed(checkAttributes(op)))
    return failure();
  // Reports operands that the op does not take, as far as inference itself did not mind.
  return op->getName().verifyInvariants(op);
}
