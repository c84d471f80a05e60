// Starts the workers of a job on this machine and watches over them.
#pragma once

#include "runtime/cluster/CoordinatorCore.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dgc::rt {

struct LauncherOptions {
  int worldSize = 1;
  /// The command line of a worker; command[0] is only its name, the program is
  /// that of this process (/proc/self/exe). Each worker gets `--rank R
  /// --world-size W --coordinator 127.0.0.1:PORT` appended.
  std::vector<std::string> command;
  std::string program = "/proc/self/exe";

  std::string planDigest; ///< SHA-256, 32 bytes, of the plan as read here
  double joinTimeoutSeconds = 120;
  double silenceSeconds = 10;
  double stallTimeoutSeconds = 60;
  /// A worker that computes so much longer than the median of the others is named by rank 0; 0: none is.
  double stragglerFactor = 1.5;
  /// As ClusterOptions::stopsAtSteps, of the workers: the first signal asks them to stop at a step.
  bool stopsAtSteps = false;
  /// How many workers that die are replaced, while the others keep what they have.
  int restarts = 0;
  /// As CoordinatorCore::Options::elastic. A worker that dies is replaced here too, by one that joins as one more, while there
  /// are `restarts`.
  std::optional<CoordinatorCore::Options::Sizes> elastic = std::nullopt;

  /// Called before a worker is started in place of one that died; `number` counts them from 1.
  std::function<void(int rank, int number)> restarting = {};
  /// Called at the end of a job that failed, when all workers have ended, with what is known of the error.
  std::function<void(const std::string &message)> failed = {};
};

/// Hosts the coordinator on a loopback port of the kernel's choice, starts the
/// workers, and returns an exit code when all have ended.
///
/// Rank 0 has this process's terminal; the lines of the others come with
/// "[rank N] " in front, of an elastic job "[worker N] ", as ranks change there. A worker that dies is replaced; where that was done as often as it may be, or when a worker ends with an error of its own, the
/// others end within a second, in the end by SIGKILL. An elastic job goes on without, as CoordinatorCore says. The code is that
/// of the first worker that failed (PeerFailed for one killed by a signal), 130
/// after Ctrl-C, SIGTERM or SIGHUP. If this process dies, even by SIGKILL, the kernel ends the
/// workers.
///
/// Call it from the main thread: the workers end with the thread that started
/// them.
int runLauncher(const LauncherOptions &options);

} // namespace dgc::rt
