// The limits that the system sets a process (ulimit): found out before the work, and named where they are met.
//
// Libraries abort the process where they get no memory, thread or file descriptor. So what they will take is taken and
// given back once, before they are used; for what is left, no exception reaches the end of a thread.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>

namespace dgc::rt {

/// To be called first in main. A write beyond the limit on the size of files becomes an error (EFBIG) in place of a
/// signal; as many files may be open as the hard limit allows; and where there is no memory on a thread that does not
/// unwind for it (see catchExhaustion), the process ends with one line that begins with `program`, and
/// ExitCode::Machine.
void prepareForLimits(const char *program);

/// Ends the process as prepareForLimits says. Allocates nothing.
[[noreturn]] void endForLackOfMemory();

/// The resources that a process is about to take, in addition to those it has.
struct ResourceNeed {
  int files = 0, threads = 0;
  uint64_t addressSpace = 0; // bytes
};

/// Takes these and gives them back. An error with ExitCode::Machine names the limit.
absl::Status checkResources(const ResourceNeed &need);

/// Which limits an errno value may come from, as a sentence that errnoStatus appends: "; the limit on open files
/// (ulimit -n) is 16". Empty where it has nothing to do with one, or none is set.
std::string limitBehind(int error);

/// Whether limitBehind has named a limit. For programs whose errors carry no exit code.
bool isLimitNamed();

/// The error of a process or thread that could not be started.
absl::Status startStatus(int error, std::string_view context);

namespace detail {
/// While one lives, a thread throws std::bad_alloc where there is no memory.
class UnwindsForMemory {
public:
  UnwindsForMemory();
  ~UnwindsForMemory();

private:
  bool before;
};
absl::Status outOfMemory();
} // namespace detail

/// Calls `f`, which returns a status or a StatusOr. Where memory or threads run out below it, returns an error with
/// ExitCode::Machine that names the limit.
template <typename F> std::invoke_result_t<F> catchExhaustion(F f) {
  detail::UnwindsForMemory unwinds;
  try {
    return f();
  } catch (const std::bad_alloc &) {
    return detail::outOfMemory();
  } catch (const std::system_error &error) { // std::thread
    return startStatus(error.code().value(), "cannot start a thread");
  }
}

} // namespace dgc::rt
