#include "runtime/device/cuda/PluginKernels.h"

#include "runtime/base/Status.h"

#include <utility>

namespace dgc::rt::cuda {

absl::StatusOr<Driver::Function> PluginKernels::find(Driver &driver, const std::string &name, std::string_view op) {
  if (!module) {
    if (!ptx)
      return absl::UnimplementedError(str("this dgc was built by a compiler that makes no code for GPUs, so it has no "
                                          "kernel for ",
                                          op, ": build it with clang"));
    DGC_ASSIGN_OR_RETURN(module, driver.loadText(ptx));
  }
  return driver.findFunction(module, name);
}

void PluginKernels::unload(Driver &driver) {
  if (module)
    driver.unloadModule(std::exchange(module, nullptr));
}

} // namespace dgc::rt::cuda
