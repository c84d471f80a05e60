// Attention of a plan, as it is handed to cuDNN.
#include "runtime/device/cuda/AttentionLayout.h"

namespace dgc::rt::cuda {

DnnAttention describeAttention(const artifact::Attention &op, std::span<const Operand> buffers) {
  auto buffer = [&](int64_t index) -> const Operand & { return buffers[static_cast<size_t>(index)]; };
  auto address = [&](int64_t index) { return index < 0 ? 0 : reinterpret_cast<Address>(buffer(index).data); };
  const Operand &query = buffer(op.query());
  auto heads = static_cast<int64_t>(op.heads());
  return {.backward = op.backward(),
          .type = query.dtype,
          .batch = query.shape[0],
          .heads = heads,
          .to = query.shape[1],
          .from = buffer(op.key()).shape[1],
          .features = query.shape[2] / heads,
          .mixed = buffer(op.value()).shape[2] / heads,
          .causal = op.causal(),
          .scale = static_cast<float>(op.scale()),
          .query = address(op.query()),
          .key = address(op.key()),
          .value = address(op.value()),
          .result = address(op.result()),
          .logSum = address(op.log_sum()),
          .resultGradient = address(op.result_gradient()),
          .queryGradient = address(op.query_gradient()),
          .keyGradient = address(op.key_gradient()),
          .valueGradient = address(op.value_gradient())};
}

} // namespace dgc::rt::cuda
