// dgc-inline-calls: writes out calls of blocks.

#include "dialects/dgc/Definition.h"
#include "mlir/IR/IRMapping.h"
#include "passes/model/Blocks.h"
#include "passes/model/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_INLINECALLSPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

struct InlineCallsPass : dgc::impl::InlineCallsPassBase<InlineCallsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<BlockOp> blocks(getOperation().getOps<BlockOp>());
    llvm::DenseSet<Operation *> finite;
    for (BlockOp block : blocks) {
      SmallVector<CallOp> way;
      if (failed(checkEnds(block, symbols, way, finite)))
        return signalPassFailure();
    }
    if (failed(checkWrittenOps(getOperation(), symbols)))
      return signalPassFailure();
    SmallVector<CallOp> worklist;
    for (ModelOp model : getOperation().getOps<ModelOp>())
      model.walk([&](CallOp call) { worklist.push_back(call); });
    for (Operation &op : *getOperation().getBody())
      if (isDefinition(&op))
        op.walk([&](CallOp call) { worklist.push_back(call); });
    for (size_t i = 0; i < worklist.size(); ++i, ++numCalls) {
      CallOp call = worklist[i];
      inlineCall(call, symbols.lookup<BlockOp>(call.getCallee()), worklist);
    }
    for (BlockOp block : blocks)
      block.erase();
  }

  /// Refuses a block that calls itself, also by way of others. `way` has the calls by which it has been reached.
  static LogicalResult checkEnds(BlockOp block, const SymbolTable &symbols, SmallVectorImpl<CallOp> &way,
                                 llvm::DenseSet<Operation *> &finite) {
    if (finite.contains(block))
      return success();
    auto before = llvm::find_if(way, [&](CallOp call) { return call->getParentOfType<BlockOp>() == block; });
    if (before != way.end()) {
      InFlightDiagnostic error = way.back().emitOpError() << "calls " << way.back().getCalleeAttr()
                                                          << ", which this is a part of, so it would never end; use "
                                                             "dgc.repeat for layers that repeat";
      for (CallOp call : llvm::make_range(before, way.end() - 1))
        error.attachNote(call.getLoc()) << "by way of " << call.getCalleeAttr() << " here";
      return failure();
    }
    WalkResult result = block.walk([&](CallOp call) {
      way.push_back(call);
      LogicalResult ends = checkEnds(symbols.lookup<BlockOp>(call.getCallee()), symbols, way, finite);
      way.pop_back();
      return failed(ends) ? WalkResult::interrupt() : WalkResult::advance();
    });
    finite.insert(block);
    return failure(result.wasInterrupted());
  }

  /// Replaces a call by a copy of the block; calls in that are added to `worklist`.
  static void inlineCall(CallOp call, BlockOp block, SmallVectorImpl<CallOp> &worklist) {
    OpBuilder builder(call);
    Block &body = block.getBody().front();
    IRMapping mapping;
    mapping.map(body.getArguments(), call.getInputs());
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      putInBlock(copy, call.getName());
      copy->walk([&](CallOp inner) { worklist.push_back(inner); });
    }
    call.replaceAllUsesWith(
        llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value value) { return mapping.lookup(value); }));
    call.erase();
  }
};

} // namespace
