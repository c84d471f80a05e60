// What library calls do to their sums before they store them.
#pragma once

#include "runtime/verify/NestBuilder.h"

namespace dgc::verify {

using PostOpList = flatbuffers::Vector<flatbuffers::Offset<artifact::PostOp>>;

/// Buffers of the program; -1: absent.
struct Epilogue {
  int64_t dst;
  int64_t channels; // the innermost dimension of dst
  int64_t bias = -1;
  const PostOpList *postOps = nullptr;
  int64_t aux = -1; // as Matmul.aux
};

/// Where a product that gets this epilogue is added up.
uint32_t sumsOf(KernelBuilder &kernel, const Epilogue &epilogue);

/// dst and aux from the sums: the bias, then the post-ops in their order, then the rounding. The formulas are those of
/// dgc.relu, dgc.gelu and the like, with the same constants. A mask of relu is of bits, the low one of a byte first.
void storeSums(KernelBuilder &kernel, uint32_t sums, const Epilogue &epilogue);

} // namespace dgc::verify
