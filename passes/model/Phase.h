// The phase `model`: from a model to functions on typed tensors.

#ifndef DGC_PASSES_MODEL_PHASE_H
#define DGC_PASSES_MODEL_PHASE_H

#include "passes/analysis/OptionTypes.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace dgc {

struct ModelOptions {
  int64_t batch = 0;
  Precision precision = Precision::F32;
  int64_t loopRepeats = 0;
  bool keepLoopedRepeats = false;
  bool fuseAttention = false;
  std::vector<FloatKind> attentionElements = {FloatKind::BF16, FloatKind::F16};
  int64_t attentionMultiple = 8, attentionMost = 128;

  template <class Binder> void bind(Binder &b) {
    b("batch", batch, "the global batch; 0: as the model says");
    b("precision", precision, "what products are computed in: f32, tf32, bf16 or f16");
    b("loop-repeats", loopRepeats, "from how many rounds on a repeat is a loop; 0: none is");
    b("keep-looped-repeats", keepLoopedRepeats, "these stay loops where other scans are written out");
    b("fuse-attention", fuseAttention, "attention that the target has stays one op");
    b("attention-elements", attentionElements, "element types of such attention");
    b("attention-multiple", attentionMultiple, "what the features of its heads are a multiple of");
    b("attention-most", attentionMost, "the most features of its heads");
  }
};

void buildModelPhase(mlir::OpPassManager &manager, const ModelOptions &options);

} // namespace dgc

#endif // DGC_PASSES_MODEL_PHASE_H
