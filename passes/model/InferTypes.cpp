// dgc-infer-types: gives every value of a model its type.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dgc/TypeInference.h"
#include "passes/model/Batch.h"
#include "passes/model/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_INFERTYPESPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

FailureOr<int64_t> dgc::findBatch(ModelOp model, int64_t option) {
  if (option < 0)
    return model.emitError() << "the global batch must be above 0, not " << option;
  if (option > 0)
    return option;
  InputOp first;
  int64_t batch = 0;
  for (InputOp input : model.getBody().getOps<InputOp>()) {
    std::optional<int64_t> dim = input.getBatchDim();
    if (!dim)
      continue;
    if (input.getDeclared().isDynamicDim(*dim))
      return input.emitError() << "input \"" << input.getName() << "\" leaves the batch open: give the global batch "
                               << "(dgc-compile --batch N, or dgc-infer-types=batch=N), or write it instead of '?'";
    int64_t size = input.getDeclared().getDimSize(*dim);
    if (size == 0)
      return input.emitError() << "input \"" << input.getName() << "\" has a batch of 0: a batch has at least one "
                               << "example; write '?' and give the global batch when compiling";
    if (first && size != batch) {
      InFlightDiagnostic error = input.emitError()
                                 << "input \"" << input.getName() << "\" has a batch of " << size << ", but \""
                                 << first.getName() << "\" has one of " << batch
                                 << ": all inputs must agree; write '?' and give the global batch when compiling";
      error.attachNote(first.getLoc()) << "\"" << first.getName() << "\" is here";
      return failure();
    }
    first = input;
    batch = size;
  }
  return batch;
}

namespace {
struct InferTypesPass : dgc::impl::InferTypesPassBase<InferTypesPass> {
  using InferTypesPassBase::InferTypesPassBase;

  void runOnOperation() override {
    for (ModelOp model : getOperation().getOps<ModelOp>())
      if (failed(inferModel(model)))
        return signalPassFailure();
  }

  LogicalResult inferModel(ModelOp model) {
    FailureOr<int64_t> size = findBatch(model, batch);
    if (failed(size))
      return failure();
    for (Operation &op : model.getBody().getOps()) {
      if (failed(inferTypes(&op, *size)))
        return failure();
      numTyped += op.getNumResults();
    }
    model.walk([](LiteralOp literal) { literal.erase(); });
    if (*size > 0)
      getOperation()->setAttr(kGlobalBatchAttr, Builder(model).getI64IntegerAttr(*size));
    return success();
  }
};
} // namespace
