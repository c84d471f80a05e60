// Replaces composite ops by their decompositions.

#include "dialects/dgc/Decompose.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dist/AttributeNames.h"

using namespace mlir;

namespace dgc {

void inheritPlacement(Operation *from, Operation *to) {
  for (StringRef name : {StringRef(dist::kStageAttr), StringRef(dist::kDeviceAttr), StringRef(dist::kSlotAttr),
                         StringRef(kMicrobatchAttr), StringRef(kMicrobatchLevelAttr), StringRef(kRecomputeAttr)})
    if (Attribute value = from->getDiscardableAttr(name); value && !to->hasAttr(name))
      to->setDiscardableAttr(name, value);
}

LogicalResult decomposeInPlace(DecomposableOpInterface op, SmallVectorImpl<Operation *> &built) {
  return decomposeInPlace(op, built, [&](OpBuilder &builder) { return op.decompose(builder); });
}

LogicalResult decomposeInPlace(DecomposableOpInterface op, SmallVectorImpl<Operation *> &built,
                               function_ref<FailureOr<SmallVector<Value>>(OpBuilder &)> decompose) {
  for (Type type : op->getOperandTypes())
    if (isa<UntypedType>(type))
      return op->emitOpError("cannot be decomposed before the types are "
                             "inferred; run dgc-infer-types first");
  size_t first = built.size();
  InsertedOps listener(built);
  OpBuilder builder(op, &listener);
  FailureOr<SmallVector<Value>> values = decompose(builder);
  if (failed(values))
    return failure();
  for (auto [value, result] : llvm::zip_equal(*values, op->getResults()))
    if (!equalUpToEncoding(value.getType(), result.getType()))
      return op->emitOpError("decomposes into a value of type ")
             << value.getType() << " for its result of type " << result.getType();
  // What a strategy or the user wrote on the composite holds for the value that
  // takes its place.
  if (op->getNumResults() == 1) {
    Operation *maker = values->front().getDefiningOp();
    if (maker && maker->getNumResults() == 1 && llvm::is_contained(built, maker))
      for (NamedAttribute attribute : op->getDiscardableAttrs())
        maker->setDiscardableAttr(attribute.getName(), attribute.getValue());
  }
  for (Operation *part : llvm::drop_begin(built, first))
    inheritPlacement(op, part);
  op->replaceAllUsesWith(*values);
  op->erase();
  return success();
}

LogicalResult decomposeInside(Operation *op) {
  SmallVector<Operation *> left;
  for (Region &region : op->getRegions())
    region.walk<WalkOrder::PreOrder>([&](DecomposableOpInterface inner) { left.push_back(inner); }); // the inmost first
  while (!left.empty()) {
    SmallVector<Operation *> built;
    if (auto composite = dyn_cast<DecomposableOpInterface>(left.pop_back_val()))
      if (failed(decomposeInPlace(composite, built)))
        return failure();
    left.append(built);
  }
  return success();
}

} // namespace dgc
