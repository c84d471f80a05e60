// CoordinatorCore with a server and a clock around it.
#pragma once

#include "runtime/cluster/CoordinatorCore.h"
#include "runtime/cluster/Network.h"
#include "runtime/collective/SharedMemory.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace dgc::rt {

class Coordinator final : ServerEvents {
public:
  /// Serves at `listening` those who have the credentials; where there are none, everybody. The hooks of `options` are set
  /// here.
  static absl::StatusOr<std::unique_ptr<Coordinator>> start(CoordinatorCore::Options options, Socket listening,
                                                            const Credentials &credentials, Network &network,
                                                            Clock &clock);
  ~Coordinator() override;

  void processEnded(int rank, int code, int signal, uint64_t pid);
  void fail(JobError error);
  /// CoordinatorCore::request().
  void request(StepEvent event);
  /// CoordinatorCore::takeLost(), and how many losses the job has survived.
  std::vector<CoordinatorCore::Lost> takeLost();
  int restarts();
  /// The first error of the job, if there was one.
  std::optional<JobError> error();
  /// Waits, at most twice `seconds`, until the job is done or failed and all
  /// workers have closed their connections, so that they know.
  void settle(double seconds);

private:
  Coordinator(CoordinatorCore::Options options, Clock &clock);
  void opened(ConnectionId id) override;
  void received(ConnectionId id, FromWorker message) override;
  void closed(ConnectionId id) override;
  void refused(const std::string &who, std::string_view why) override;
  /// Sends what the core wants sent; `mutex` is held.
  void pump();
  void tickLoop();

  Clock &clock;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<const SegmentHeader>> headers; ///< by rank
  CoordinatorCore core;
  bool ending = false;
  std::unique_ptr<Server> server;
  std::thread ticker;
};

} // namespace dgc::rt
