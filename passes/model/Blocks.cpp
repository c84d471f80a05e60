// Copies of layers that are written once.

#include "passes/model/Blocks.h"

#include "dialects/dgc/DGC.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dgc;

void ::dgc::putInBlock(Operation *op, StringRef name) {
  auto inside = [&](StringRef own) { return (name + "." + own).str(); };
  llvm::TypeSwitch<Operation *>(op).Case<VariableOp, RepeatOp, CallOp>(
      [&](auto named) { named.setName(inside(named.getName())); });
  Location location = op->getLoc();
  std::string block = name.str();
  if (auto inner = dyn_cast<NameLoc>(location)) {
    block = inside(inner.getName());
    location = inner.getChildLoc();
  }
  op->setLoc(NameLoc::get(StringAttr::get(op->getContext(), block), location));
}
