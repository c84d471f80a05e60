// A worker of a job with asynchronous parameter servers: a process beside the ranks of the plan, which computes one step after the
// other with the program of rank 0.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/driver/RunOptions.h"
#include "runtime/net/Address.h"
#include "runtime/net/FrameStream.h"

#include <functional>

namespace dgc::rt {

struct PoolWorkerOptions {
  Address chief;
  FrameSecurity security;
  double joinSeconds = 120; // how long the chief or a server may be out of reach
  std::function<void(std::string_view)> notice;
};

/// Returns when the job is over. Goes on when the chief or a server is lost, once they are there again: the step that it was at is
/// then computed again, by whom the chief gives it to. Of `run` counts what decides on the data, and `threads`.
absl::Status runPoolWorker(const Artifact &artifact, const RunOptions &run, const PoolWorkerOptions &options);

} // namespace dgc::rt
