// Copies of layers that are written once.

#include "passes/model/Blocks.h"

#include "dialects/dgc/DGC.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dgc;

void dgc::putInBlock(Operation *op, StringRef name) {
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

namespace {
/// Counts ops as they are when everything is written out.
class WrittenOps {
public:
  explicit WrittenOps(const SymbolTable &symbols) : symbols(symbols) {}

  /// Those of a body; an error names the innermost repeat or call that makes too many.
  FailureOr<uint64_t> count(Block &body) {
    uint64_t total = 0;
    for (Operation &op : body.without_terminator()) {
      FailureOr<uint64_t> ops = count(&op);
      if (failed(ops))
        return failure();
      total = llvm::SaturatingAdd(total, *ops);
    }
    return total;
  }

private:
  FailureOr<uint64_t> count(Operation *op) {
    uint64_t copies = 1;
    FailureOr<uint64_t> ops = uint64_t{1};
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      copies = repeat.getCount();
      ops = count(repeat.getBody().front());
    } else if (auto call = dyn_cast<CallOp>(op)) {
      ops = countCalled(symbols.lookup<BlockOp>(call.getCallee()));
    }
    if (failed(ops))
      return failure();
    uint64_t written = llvm::SaturatingMultiply(copies, isa<RepeatOp>(op) ? *ops + 1 : *ops);
    if (written > mostWrittenOps)
      return op->emitOpError() << "would be written out as " << copies << (copies == 1 ? " copy of " : " copies of ")
                               << *ops << (*ops == 1 ? " op" : " ops") << ": a model may have " << mostWrittenOps
                               << "; repeat or call fewer layers";
    return written;
  }
  FailureOr<uint64_t> countCalled(BlockOp block) {
    auto known = blocks.find(block);
    if (known != blocks.end())
      return known->second;
    blocks[block] = 0; // one that calls itself is refused elsewhere
    FailureOr<uint64_t> ops = count(block.getBody().front());
    if (succeeded(ops))
      blocks[block] = *ops;
    return ops;
  }

  const SymbolTable &symbols;
  llvm::DenseMap<Operation *, uint64_t> blocks;
};
} // namespace

LogicalResult dgc::checkWrittenOps(ModuleOp module, const SymbolTable &symbols) {
  WrittenOps written(symbols);
  for (ModelOp model : module.getOps<ModelOp>()) {
    FailureOr<uint64_t> ops = written.count(model.getBody().front());
    if (failed(ops))
      return failure();
    if (*ops > mostWrittenOps)
      return model.emitOpError() << "has " << *ops << " ops with its repeats and calls written out: a model may have "
                                 << mostWrittenOps;
  }
  return success();
}
