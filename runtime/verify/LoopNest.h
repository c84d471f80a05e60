// A nest of the bytecode, decoded, and parts of it.
#pragma once

#include "runtime/verify/Interpreter.h"

namespace dgc::verify {

struct LoopAccess {
  uint32_t buffer = 0;
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

/// Loops that are one in memory, for every access, are one loop here, and those of one iteration are none.
struct LoopNest {
  std::vector<int64_t> extents, first; // an index of the nest is `first` plus that of the loop
  std::vector<bool> reduces;
  std::vector<LoopAccess> loads, outputs;
  std::vector<size_t> loopOf; // which loop each one of the bytecode is; those whose index is a value are of their own

  explicit LoopNest(const reference::Nest &nest);

  bool isEmpty() const;
  /// The indices [begin, end) of a loop.
  LoopNest part(size_t loop, int64_t begin, int64_t end) const;
  /// Whether different indices of the loops that do not reduce are different elements of an output. May be false where
  /// they are.
  bool isInjective(const LoopAccess &output) const;
  /// Whether the loops write each of `count` elements of a buffer. May be false where they do.
  bool covers(const LoopAccess &output, uint64_t count) const;
  /// The iterations of the loops with this value of `reduces`.
  double iterations(bool reducing) const;

private:
  void merge(std::vector<bool> isIndexed);
  void remove(size_t loop);
  bool canMerge(size_t loop) const;
};

/// The buffers of a kernel. Null are those that do not exist in this nest, and in `written` those that are given.
struct NestBuffers {
  std::vector<const Tensor *> read;
  std::vector<Tensor *> written;
};

/// What a nest runs in.
struct NestContext {
  const reference::Kernel &kernel;
  const reference::Nest &nest;
  const NestBuffers &buffers;
  const InterpreterOptions &options;
};

/// Whether the nest reads nothing that it writes, but for the current values of its outputs, and has an element of its
/// outputs for each iteration: then its iterations may run in any order.
bool isParallel(const NestContext &context, const LoopNest &loops);

/// Runs the loops in strips.
absl::Status runStrips(const NestContext &context, const LoopNest &loops);

/// Runs the loops if they are a sum of elements, or of products of two elements; otherwise returns false. The nest is
/// parallel.
bool runContraction(const NestContext &context, const LoopNest &loops);

/// The degrees of the outputs of a nest, from those of the buffers that it reads.
void setDegrees(const NestContext &context, const LoopNest &loops);

} // namespace dgc::verify
