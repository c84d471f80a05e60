// Attention on the GPU by cuDNN.
#pragma once

#include "runtime/device/cuda/Cudnn.h"

namespace dgc::rt::cuda {

/// For each example and head, softmax(scale * query key^T) value, as the action Attention of the artifact says it.
/// [b, t, h * d], [b, s, h * d] and [b, s, h * e] give [b, t, h * e] and the logarithms [b, h, t].
struct DnnAttention {
  bool backward = false;
  DType type = DType::BF16;
  int64_t batch = 1, heads = 1, to = 1, from = 1, features = 8, mixed = 8; // t, s, d, e
  bool causal = false;
  float scale = 1;
  Address query = 0, key = 0, value = 0, result = 0, logSum = 0;
  Address resultGradient = 0, queryGradient = 0, keyGradient = 0, valueGradient = 0; // of `backward`
};

/// The most that it may have to work in.
uint64_t workspaceBytesOf(const DnnAttention &attention);

/// If cuDNN does not have it, the error names the version that does, and how to avoid it.
absl::StatusOr<std::unique_ptr<PreparedDnn>> prepareAttention(Cudnn &library, const DnnAttention &attention);

} // namespace dgc::rt::cuda
