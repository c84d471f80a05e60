// Random models that combine, pair and rearrange the examples of a batch, each written for batches of any size.
#pragma once

#include <cstdint>
#include <string>

namespace dgc::testing {

struct RandomBatchModel {
  std::string text;        // one dgc.model of the inputs of short_batch::inputs, and the mesh that it brings
  bool hasOwnMesh = false; // two devices, one of its regions is written for one of them
};

/// Model number `seed` for a batch of `batch` examples. The ops and the weights do not depend on the batch; where the
/// size of it is in the text, it is `batch`.
RandomBatchModel randomBatchModel(uint32_t seed, int64_t batch);

} // namespace dgc::testing
