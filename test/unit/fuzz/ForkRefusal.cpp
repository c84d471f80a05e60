#include "test/unit/fuzz/ForkRefusal.h"

#include <cerrno>
#include <dlfcn.h>
#include <unistd.h>

namespace {
bool isRefused = false;
} // namespace

/// That of the C library, but for the refusal: the shared libraries of the program call this one.
extern "C" pid_t fork() noexcept {
  static auto *const real = reinterpret_cast<pid_t (*)()>(::dlsym(RTLD_NEXT, "fork"));
  if (!isRefused)
    return real();
  errno = EAGAIN;
  return -1;
}

namespace dgc::testing {

ForkRefusal::ForkRefusal() { isRefused = true; }
ForkRefusal::~ForkRefusal() { isRefused = false; }

} // namespace dgc::testing
