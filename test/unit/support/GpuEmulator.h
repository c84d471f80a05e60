// Runs grids of GPU kernels on this machine: blocks one after the other, the threads of a block in turns from one place
// where they meet to the next.
//
// What it finds: threads of a block that do not meet at the same barrier, threads of a warp that do not take part in
// the same shuffle. A missing barrier shows as a result that depends on the order of the threads, which can be given.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dgc::testing {

class GpuEmulator {
public:
  /// `object`: what compileForEmulator (EmulatedKernels.h) made. Null, with a message on stderr, when it cannot be loaded.
  static std::unique_ptr<GpuEmulator> load(std::span<const uint8_t> object);
  ~GpuEmulator();

  enum class Order { Forward, Backward };

  /// Runs all threads of a grid. Returns what went wrong, or nothing. `args` has one pointer for each argument.
  std::string run(const std::string &symbol, uint32_t grid, uint32_t block, std::span<void *const> args,
                  Order order = Order::Forward);

private:
  GpuEmulator(int descriptor, void *library) : descriptor(descriptor), library(library) {}
  int descriptor; // stays open: the loader knows libraries by name
  void *library;
};

} // namespace dgc::testing
