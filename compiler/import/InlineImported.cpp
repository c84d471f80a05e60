// dgc-inline-imported: writes out the calls of an imported program.

#include "compiler/import/EntrySignature.h"
#include "compiler/import/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace dgc {
#define GEN_PASS_DEF_INLINEIMPORTEDPASS
#include "compiler/import/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

/// Calls are written out as long as they become at most so many ops. Functions that call each other twice double them.
static constexpr int64_t kMostWritten = 1'000'000;

namespace {

/// Writes out calls, and those in what they call.
class Inliner {
public:
  explicit Inliner(ModuleOp module) : symbols(module) {}
  LogicalResult inlineCalls(Region &region);
  int64_t inlined = 0;

private:
  LogicalResult inlineCall(Operation *call, FlatSymbolRefAttr callee);

  SymbolTable symbols;
  int64_t written = 0;
  SmallVector<StringRef> stack; // of the functions that are being written out
};

} // namespace

/// The op of the dialect chlo that a composite stands for, or null.
static Operation *chloOf(stablehlo::CompositeOp composite) {
  StringRef name = composite.getName();
  std::optional<RegisteredOperationName> registered =
      name.starts_with("chlo.") ? RegisteredOperationName::lookup(name, composite.getContext()) : std::nullopt;
  if (!registered)
    return nullptr;
  OpBuilder builder(composite);
  OperationState state(composite.getLoc(), *registered, composite.getInputs(), composite.getResultTypes());
  if (DictionaryAttr attributes = composite.getCompositeAttributesAttr())
    state.addAttributes(attributes.getValue());
  Operation *op = builder.create(state);
  ScopedDiagnosticHandler quiet(composite.getContext(), [](Diagnostic &) {}); // its decomposition is there, too
  if (succeeded(registered->verifyInvariants(op)))
    return op;
  op->erase();
  return nullptr;
}

LogicalResult Inliner::inlineCalls(Region &region) {
  SmallVector<Operation *> calls;
  region.walk([&](Operation *op) {
    if (isa<func::CallOp, stablehlo::CompositeOp>(op))
      calls.push_back(op);
  });
  for (Operation *op : calls) {
    auto composite = dyn_cast<stablehlo::CompositeOp>(op);
    if (Operation *chlo = composite ? chloOf(composite) : nullptr) {
      op->replaceAllUsesWith(chlo);
      op->erase();
      ++inlined;
      continue;
    }
    auto callee = composite ? composite.getDecompositionAttr() : cast<func::CallOp>(op).getCalleeAttr();
    if (failed(inlineCall(op, callee)))
      return failure();
  }
  return success();
}

LogicalResult Inliner::inlineCall(Operation *call, FlatSymbolRefAttr callee) {
  auto function = symbols.lookup<func::FuncOp>(callee.getValue());
  if (!function || function.isExternal() || !function.getBody().hasOneBlock())
    return call->emitOpError() << "calls " << callee << ", which is no function with one block";
  if (function.getArgumentTypes() != call->getOperandTypes() || function.getResultTypes() != call->getResultTypes())
    return call->emitOpError() << "calls " << callee << ", which is of the type " << function.getFunctionType();
  if (llvm::is_contained(stack, callee.getValue()))
    return call->emitOpError() << "calls " << callee << ", which calls itself";
  // What a function calls is written out once in itself, not in each copy.
  stack.push_back(callee.getValue());
  LogicalResult inner = inlineCalls(function.getBody());
  stack.pop_back();
  if (failed(inner))
    return failure();
  function.getBody().walk([&](Operation *) { ++written; });
  if (written > kMostWritten)
    return call->emitOpError() << "calls " << callee << ", and all calls written out are more than " << kMostWritten
                               << " ops";
  IRMapping mapping;
  Block &body = function.getBody().front();
  mapping.map(body.getArguments(), call->getOperands());
  OpBuilder builder(call);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping)->setLoc(CallSiteLoc::get(op.getLoc(), call->getLoc()));
  auto end = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!end)
    return function.emitOpError("needs a return at its end");
  for (auto [result, value] : llvm::zip_equal(call->getResults(), end.getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call->erase();
  ++inlined;
  return success();
}

namespace {
struct InlineImported : dgc::impl::InlineImportedPassBase<InlineImported> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> entry = import::findEntry(module);
    if (failed(entry))
      return signalPassFailure();
    Inliner inliner(module);
    if (failed(inliner.inlineCalls(entry->getBody())))
      return signalPassFailure();
    numInlined += inliner.inlined;
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function != *entry)
        function.erase();
  }
};
} // namespace
