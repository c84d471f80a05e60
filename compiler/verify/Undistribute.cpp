#include "compiler/verify/Undistribute.h"
#include "dialects/dist/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace dgc {

static bool isOfDist(NamedAttribute attribute) {
  return isa_and_present<dist::DistDialect>(attribute.getNameDialect());
}

static DictionaryAttr withoutDist(DictionaryAttr attributes) {
  SmallVector<NamedAttribute> kept;
  llvm::copy_if(attributes, std::back_inserter(kept), [](NamedAttribute each) { return !isOfDist(each); });
  return DictionaryAttr::get(attributes.getContext(), kept);
}

/// Removes the attributes of an op, and those of the arguments and results of a function.
static void dropAttributes(Operation *op) {
  op->setDiscardableAttrs(withoutDist(op->getDiscardableAttrDictionary()));
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (DictionaryAttr attributes = function.getArgAttrDict(i))
      function.setArgAttrs(i, withoutDist(attributes));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (DictionaryAttr attributes = function.getResultAttrDict(i))
      function.setResultAttrs(i, withoutDist(attributes));
}

LogicalResult undistribute(ModuleOp module) {
  SmallVector<Operation *> constraints;
  WalkResult walk = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    dropAttributes(op);
    if (isa<dist::MeshOp, dist::ConstraintOp, dist::ReshardOp>(op)) {
      constraints.push_back(op);
    } else if (isa_and_present<dist::DistDialect>(op->getDialect())) {
      op->emitOpError("is for one device of a mesh: a plan is checked against a model that says nothing of devices, or "
                      "only how values are sharded; write that as well, and name it with --against");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  for (Operation *op : constraints) {
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  }
  return success();
}

} // namespace dgc
