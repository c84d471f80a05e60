// Loads the object of an artifact through the dynamic linker.
#include "runtime/device/cpu/KernelLibrary.h"

#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <dlfcn.h>
#include <unistd.h>

using namespace dgc::rt;

absl::StatusOr<std::unique_ptr<KernelLibrary>> KernelLibrary::open(std::span<const std::byte> object) {
  DGC_ASSIGN_OR_RETURN(int fd, sealedCopy(object, "dgc-kernels"));
  void *handle = ::dlopen(str("/proc/self/fd/", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = ::dlerror();
    ::close(fd);
    return withExitCode(
        absl::InvalidArgumentError(str("cannot load the kernels of the plan: ", reason ? reason : "unknown error")),
        ExitCode::BadArtifact);
  }
  return std::unique_ptr<KernelLibrary>(new KernelLibrary(fd, handle));
}

KernelLibrary::~KernelLibrary() {
  ::dlclose(handle);
  ::close(fd);
}

absl::StatusOr<dgc_kernel> KernelLibrary::find(const std::string &symbol) const {
  void *address = ::dlsym(handle, symbol.c_str());
  if (!address)
    return withExitCode(absl::InvalidArgumentError(str("the plan's object has no kernel '", symbol, "'")),
                        ExitCode::BadArtifact);
  return reinterpret_cast<dgc_kernel>(address);
}
