// The processes of a job with asynchronous parameter servers.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/cluster/Credentials.h"
#include "runtime/cluster/Identity.h"
#include "runtime/servers/UpdateServer.h"
#include "tools/dgc-run/Flags.h"
#include "tools/dgc-run/JobLog.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dgc::tool {

/// Makes the identity of a process that TF_CONFIG lists one of a plan with asynchronous parameter servers: the chief is rank 0, the
/// servers follow, and a worker, which has no rank, gets `flags.role`.
absl::Status takeRoleOf(rt::Identity &identity, const artifact::Plan &plan, Flags &flags);

/// Where a rank of such a plan serves the workers; nothing of any other plan. The chief listens at the port behind that of the
/// coordinator.
absl::StatusOr<std::optional<rt::ServingEnd>> servingEndOf(const rt::Artifact &artifact, const Flags &flags,
                                                           const rt::Identity &identity,
                                                           const rt::Credentials &credentials, Notice notice);

/// Runs a worker to the end of its job.
absl::Status runAsWorker(const rt::Artifact &artifact, const Flags &flags, Notice notice);

/// The workers that dgc-run starts itself, as children of a process that starts those again that die.
class WorkerProcesses {
public:
  /// Chooses where the chief listens, and tells that to all processes that are started later, in the environment. To be called while
  /// this process has one thread. `command`: that of this process.
  static absl::StatusOr<std::unique_ptr<WorkerProcesses>> start(int workers, int maxRestarts,
                                                                std::vector<std::string> command);
  /// Ends them.
  ~WorkerProcesses();
  /// Waits for them to end by themselves, as they do at the end of the job, some seconds.
  void wait();

private:
  explicit WorkerProcesses(int supervisor) : supervisor(supervisor) {}
  int supervisor; // process; -1: it has ended
};

} // namespace dgc::tool
