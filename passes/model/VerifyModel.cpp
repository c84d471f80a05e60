// dgc-verify-model: what the phase `model` promises.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/Definition.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "passes/model/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYMODELPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {
struct VerifyModel : dgc::impl::VerifyModelPassBase<VerifyModel> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    WalkResult walked = getOperation().walk<WalkOrder::PreOrder>([](Operation *op) -> WalkResult {
      if (isDefinition(op))
        return WalkResult::skip(); // until updates and learning rates are written out
      if (isa<ModelOp, BlockOp, RepeatOp, CallOp, LiteralOp>(op))
        return op->emitOpError("remains after the phase model");
      if (llvm::any_of(op->getResultTypes(), [](Type type) { return isa<UntypedType>(type); }))
        return op->emitOpError("has a result without a type after the phase model");
      return WalkResult::advance();
    });
    bool ok = !walked.wasInterrupted();
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      ok = ok && succeeded(verify(function, symbols));
    if (!ok)
      signalPassFailure();
  }

  static LogicalResult verify(func::FuncOp function, const SymbolTable &symbols) {
    if (function->hasAttr(kPaddedAttr))
      return function.emitOpError("counts the padding of its batch: '") << kPaddedAttr << "' is left";
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(verifyState(function, symbols, "argument", i, function.getArgumentTypes()[i],
                             function.getArgAttr(i, kStateAttr))))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(verifyState(function, symbols, "result", i, function.getResultTypes()[i],
                             function.getResultAttr(i, kStateAttr))))
        return failure();
    return success();
  }

  static LogicalResult verifyState(func::FuncOp function, const SymbolTable &symbols, StringRef what, unsigned i,
                                   Type type, Attribute attribute) {
    if (!attribute)
      return success();
    auto name = dyn_cast<FlatSymbolRefAttr>(attribute);
    auto state = name ? symbols.lookup<StateOp>(name.getValue()) : StateOp();
    if (!state)
      return function.emitOpError() << what << " " << i << " is of the state " << attribute << ", which there is not";
    if (!equalUpToEncoding(state.getTensorType(), type))
      return function.emitOpError() << what << " " << i << " has the type " << type << ", and its state " << attribute
                                    << " has " << state.getTensorType();
    return success();
  }
};
} // namespace
