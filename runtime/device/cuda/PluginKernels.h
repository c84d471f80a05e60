// Kernels that no plan brings: those that are compiled when dgc is built.
#pragma once

#include "runtime/device/cuda/Driver.h"

namespace dgc::rt::cuda {

/// The kernels of one source, which are loaded when the first of them is looked for.
class PluginKernels {
public:
  /// Null: the host compiler makes no code for GPUs.
  explicit PluginKernels(const char *ptx) : ptx(ptx) {}
  /// `op`: what needs it, for errors.
  absl::StatusOr<Driver::Function> find(Driver &driver, const std::string &name, std::string_view op);
  void unload(Driver &driver);

private:
  const char *ptx;
  Driver::Module module = nullptr;
};

} // namespace dgc::rt::cuda
