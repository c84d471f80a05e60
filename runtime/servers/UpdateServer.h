// Serves the workers of a job with asynchronous parameter servers, on a parameter server.
#pragma once

#include "runtime/collective/Abort.h"
#include "runtime/net/FrameServer.h"
#include "runtime/servers/UpdateShard.h"

#include <condition_variable>
#include <mutex>

namespace dgc::rt {

/// Where others find a process, and what they prove who they are with.
struct ServingEnd {
  Socket listening;
  FrameSecurity security;
  std::string address;                          // HOST:PORT, as others reach it
  double joinSeconds = 120;                     // how long there may be no worker
  std::function<void(std::string_view)> notice; // tells people who comes and goes; called by any thread
};

/// Works for workers while its owner waits in awaitBegun() and awaitApplied(), and at no other time: so its owner may use the
/// variables. All methods are called by one thread.
class UpdateServer {
public:
  /// `shard` and `abort` outlive it.
  UpdateServer(ServingEnd end, UpdateShard &shard, Abort &abort);
  /// Closes all connections.
  ~UpdateServer();
  UpdateServer(const UpdateServer &) = delete;

  /// Waits until a worker has begun the step, or one behind it. The error is that of the job, or one of this server.
  absl::Status awaitBegun(int64_t step) {
    return await([&] { return shard.lastBegun() >= step || shard.applied().has(step); });
  }
  /// Waits until the update of the step is applied.
  absl::Status awaitApplied(int64_t step) {
    return await([&] { return shard.applied().has(step); });
  }

private:
  absl::Status await(const std::function<bool()> &holds);
  absl::Status serve(FrameStream &stream);

  UpdateShard &shard;
  Abort &abort;
  std::mutex turn; // of who uses the variables
  std::unique_lock<std::mutex> owners{turn};
  std::condition_variable changed;
  absl::Status failure; // of this server, or that it ends
  std::unique_ptr<FrameServer> connections;
};

/// Bytes of the header of any message.
inline constexpr uint64_t kMostHeader = uint64_t{64} << 20;
/// How long the other end may take to say who it is.
inline constexpr double kGreetingSeconds = 10;

} // namespace dgc::rt
