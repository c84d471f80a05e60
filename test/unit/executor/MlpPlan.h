// An MLP trained by SGD, as a compiler would plan it: 784-hidden-hidden-10 on MNIST, data parallel, written by hand.
// For tests of the driver and of dgc-run, and to measure the executor by itself.
#pragma once

#include "runtime/artifact/Writer.h"

#include <cstdint>
#include <string>

namespace dgc::rt::test {

struct MlpOptions {
  uint32_t world = 1;
  int64_t batch = 128; // global; a multiple of world
  int64_t hidden = 512;
};

/// Programs "train" (image u8 [B,28,28], label u8 [B]) and "evaluate", each with outputs loss and accuracy.
/// `kernels` is the path of the shared object of mlp_kernels.c.
artifact::PlanT mlpPlan(const MlpOptions &options, const std::string &kernels);

} // namespace dgc::rt::test
