// The exit codes of dgc-run and dgc-inspect; docs/exit-codes.md and --help say
// the same.
#pragma once

#include "absl/status/status.h"

#include <string>

namespace dgc::rt {

enum class ExitCode : int {
  Ok = 0,
  Internal = 1,    // an error that has no code of its own
  Usage = 2,       // unknown flag, wrong value, contradicting flags
  BadArtifact = 3, // the plan is damaged, of another format, or fails a check
  BadData = 4,     // a data file or checkpoint is missing, damaged or does not fit
                   // the plan, or a file cannot be written
  Cluster = 5,     // the workers did not come together: world size, duplicate rank,
                   // other plan, missing workers
  PeerFailed = 6,  // another worker died or reported an error
  Machine = 7,     // this machine lacks what the plan needs (CPU features, memory)
  NotFinite = 8,   // the loss, or a value that the plan checks, is infinite or no number, and
                   // --on-nan=stop
  Network = 9,     // workers cannot exchange data: a connection is lost or blocked, or
                   // all of them wait for each other
  Different = 10,  // dgc-verify: the plan computes something else than its model
  Again = 75,      // stopped by a signal, with all that it had in a checkpoint: the same command with --resume goes on
  Interrupted = 130, // Ctrl-C
};

/// Whether all workers end with the code of the one that met the error, not with PeerFailed: no worker is at fault.
inline bool isOfAllWorkers(ExitCode code) {
  return code == ExitCode::Interrupted || code == ExitCode::NotFinite || code == ExitCode::Network;
}

/// `status` carrying `code`. A code that is already there stays: the first to
/// know decides. OK stays OK.
absl::Status withExitCode(absl::Status status, ExitCode code);

/// The code that `status` carries; Internal where it carries none, Ok where it
/// is OK.
ExitCode exitCodeOf(const absl::Status &status);

/// An error about the command line, or what stands for it in the environment.
inline absl::Status usageError(absl::string_view message) {
  return withExitCode(absl::InvalidArgumentError(message), ExitCode::Usage);
}

/// An error about a data file or a checkpoint.
inline absl::Status badData(const std::string &message) {
  return withExitCode(absl::InvalidArgumentError(message), ExitCode::BadData);
}

} // namespace dgc::rt
