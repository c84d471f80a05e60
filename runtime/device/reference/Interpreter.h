// Runs a kernel of bytecode.
#pragma once

#include "runtime/device/reference/Scalar.h"

#include <vector>

namespace dgc::reference {

/// A checked kernel. Each nest computes some elements at a time, along one of its loops, and each element as the loops in
/// their order would: sums have one order.
class Interpreter {
public:
  /// `kernel` outlives this.
  explicit Interpreter(const Kernel &kernel);

  /// Bytes of memory for the buffers that are its own; aligned to 64.
  uint64_t workspaceBytes() const { return workspace; }

  /// `arguments` are the inputs, then the results. Results may be in the memory of inputs: they are written last. Fails
  /// where an instruction reads outside of a buffer.
  absl::Status run(std::span<void *const> arguments, std::byte *workspaceMemory);

private:
  const Kernel &kernel;
  uint64_t workspace = 0;
  std::vector<uint64_t> offsets;    // in the workspace, of each buffer that is there
  std::vector<std::byte *> buffers; // of a run
};

} // namespace dgc::reference
