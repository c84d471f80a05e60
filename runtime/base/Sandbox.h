// What a process gives up before it runs the code of a plan: other programs, and writing outside of the folders of its outputs.
// By Landlock and seccomp, which any process may use on itself and nobody can undo.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace dgc::rt {

/// Where files may be written; all else is read-only. What is open stays as it is.
struct SandboxRules {
  std::vector<std::string>
      folders; ///< anything in them may be made, changed and removed; those that are not there do not count
  std::vector<std::string> files; ///< devices and pipes that may be written into
};

/// What this kernel has.
struct SandboxSupport {
  int landlock = 0; ///< the version of its interface; 0: none
  bool seccomp = false;
  bool isWhole() const { return landlock > 0 && seccomp; }
  /// What is missing, for messages: "Landlock and seccomp".
  std::string missing() const;
};
SandboxSupport sandboxSupport();

/// From now on this process cannot start programs or other processes, trace or signal others, change mounts, namespaces or
/// the modes and times of files, put text into a terminal, or write outside of the rules; as far as the kernel supports that.
/// To be called before other threads begin, which the rules for files would not hold for.
absl::Status enterSandbox(const SandboxRules &rules);

/// From now on no thread of this process can make or connect sockets. Those that there are go on.
absl::Status closeNetwork();

} // namespace dgc::rt
