// The generated kernels of an artifact, as a shared object in memory.
#pragma once

#include "runtime/artifact/KernelAbi.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace dgc::rt {

/// Code that is mapped from a sealed copy; unmapped when this goes away.
class KernelLibrary {
public:
  /// `object` is an ELF shared object without dependencies other than the C and
  /// mathematics libraries. Its constructors run here: only artifacts that were
  /// checked, and that the user trusts as code, may come this far.
  static absl::StatusOr<std::unique_ptr<KernelLibrary>> open(std::span<const std::byte> object);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary &) = delete;
  KernelLibrary &operator=(const KernelLibrary &) = delete;

  absl::StatusOr<dgc_kernel> find(const std::string &symbol) const;

private:
  KernelLibrary(int fd, void *handle) : fd(fd), handle(handle) {}
  // Open as long as the code is loaded: the dynamic linker knows the object by
  // the name /proc/self/fd/N, which must not come to mean another file.
  int fd;
  void *handle;
};

} // namespace dgc::rt
