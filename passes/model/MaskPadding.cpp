// dgc-mask-padding: keeps the padding of a batch that is not full from counting.

#include "dialects/dgc/AttributeNames.h"
#include "passes/model/Masker.h"
#include "passes/model/Passes.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-mask-padding"

namespace dgc {
#define GEN_PASS_DEF_MASKPADDINGPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {
struct MaskPaddingPass : dgc::impl::MaskPaddingPassBase<MaskPaddingPass> {
  void runOnOperation() override {
    auto attribute = getOperation()->getAttrOfType<IntegerAttr>(kGlobalBatchAttr);
    SmallVector<NamedAttribute> wholeBatches;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!function->removeAttr(kPaddedAttr))
        continue;
      std::string reason;
      FailureOr<func::FuncOp> result = mask(function, attribute ? attribute.getInt() : 0, reason);
      if (failed(result))
        return signalPassFailure();
      if (!reason.empty())
        wholeBatches.emplace_back(result->getSymNameAttr(), StringAttr::get(&getContext(), reason));
      dropUnusedCount(*result);
    }
    getOperation()->walk([](Operation *op) {
      if (!isa<func::FuncOp>(op))
        op->removeAttr(kBatchDimAttr);
    });
    if (!wholeBatches.empty())
      getOperation()->setAttr(kWholeBatchesAttr, DictionaryAttr::get(&getContext(), wholeBatches));
  }

  /// The function that takes the place of `function`; where `reason` is set it is as it was.
  FailureOr<func::FuncOp> mask(func::FuncOp function, int64_t batch, std::string &reason) {
    std::optional<unsigned> index = countArgument(function);
    if (batch < 2 || !index) // every batch is full
      return function;
    func::FuncOp original = function.clone();
    Masker masker(function, function.getArgument(*index), batch);
    if (succeeded(masker.run())) {
      original.erase();
      numMasked += masker.numMasked;
      numTold += masker.numTold;
      return function;
    }
    if (masker.reason.empty()) {
      original.erase();
      return failure();
    }
    LDBG() << function.getSymName() << " takes whole batches only: " << masker.reason;
    reason = masker.reason;
    ++numRefused;
    function->getBlock()->getOperations().insert(function->getIterator(), original);
    function.erase();
    return original;
  }

  static std::optional<unsigned> countArgument(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto role = function.getArgAttrOfType<StringAttr>(i, kRoleAttr); role && role.getValue() == "valid_count")
        return i;
    return std::nullopt;
  }

  /// A function that reports means takes the count also where none of them needs it: so it says that it has masked what
  /// there is.
  static void dropUnusedCount(func::FuncOp function) {
    std::optional<unsigned> index = countArgument(function);
    if (!index || !function.getArgument(*index).use_empty())
      return;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto role = function.getResultAttrOfType<StringAttr>(i, kRoleAttr); role && role.getValue() != "prediction")
        return;
    (void)function.eraseArgument(*index);
  }
};
} // namespace
