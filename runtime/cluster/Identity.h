// Who this process is: its rank, the number of workers, and where they meet.
#pragma once

#include "absl/status/statusor.h"

#include <functional>
#include <optional>
#include <string>

namespace dgc::rt {

/// What the command line says; absent where it says nothing.
struct IdentityFlags {
  std::optional<int> rank;
  std::optional<int> worldSize;
  std::optional<std::string> coordinator;
};

struct Identity {
  int rank = 0;
  int worldSize = 1;
  std::string coordinator;  ///< HOST:PORT; empty only for one worker, and where `localJob` is not
  std::string source;       ///< "--rank", "DGC_RANK", "torchrun", "TF_CONFIG",
                            ///< "Open MPI", "Slurm", "Kubeflow", "Kubernetes"
  std::string localJob;     ///< all workers are on this machine: the name of the job there (MeetingPoint)
  int localWorkers = 0;     ///< workers of the job on this machine; 0: not said
  int cpus = 0;             ///< that this worker may use, where the launcher has given it some; 0: not said
  int chiefs = 0;           ///< of the ranks, the first are a chief (TF_CONFIG); 0: not said
  int servers = 0;          ///< and the last are parameter servers
  bool isEvaluator = false; ///< TF_CONFIG: a job of its own, which evaluates the checkpoints of the others
};

/// Reads an environment variable; null when it is not set.
using Environment = std::function<const char *(const char *name)>;

/// The first of these that says who this process is: flags, DGC_RANK /
/// DGC_WORLD_SIZE / DGC_COORDINATOR, torchrun, TF_CONFIG, Open MPI, Slurm,
/// Kubeflow, Kubernetes. Nothing when none does: then dgc-run starts local workers.
///
/// A source that is there but incomplete or malformed is an error that says
/// what is missing; two that disagree on the rank or the number of workers are
/// an error that names both. One that has started this process itself, as
/// mpirun does, is the last that is asked: what has started mpirun, as Slurm
/// may have, speaks of other processes. --coordinator or DGC_COORDINATOR gives the meeting
/// point for all of them, DGC_WORLD_SIZE the number of workers for Kubernetes,
/// which does not know it. A worker that the launcher started (DGC_LAUNCHED)
/// looks at its flags alone. The errors carry ExitCode::Usage.
absl::StatusOr<std::optional<Identity>> resolveIdentity(const IdentityFlags &flags, const Environment &environment);

/// The environment of this process.
Environment processEnvironment();

} // namespace dgc::rt
