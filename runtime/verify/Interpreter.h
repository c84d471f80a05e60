// Runs a kernel of bytecode over the numbers of the exact check.
#pragma once

#include "runtime/verify/Field.h"

#include "absl/status/statusor.h"

#include <span>

namespace dgc::verify {

struct InterpreterOptions {
  const Functions &functions;
  Counts &counts;
  int threads = 1;
  bool portable = false;               // without vector instructions of the processor
  Undefined integers = Undefined::Low; // in memory that nobody wrote
};

/// The results of a checked kernel (readKernels) for these inputs, which are of the sizes and types of its buffers. Own
/// buffers live from the first nest that writes them to the last one that uses them. Fails where an instruction reads
/// outside of a buffer, or has no meaning in the fields, as a bitcast of a number that is no constant.
absl::StatusOr<std::vector<TensorRef>> interpret(const reference::Kernel &kernel, std::span<const TensorRef> inputs,
                                                 const InterpreterOptions &options);

} // namespace dgc::verify
