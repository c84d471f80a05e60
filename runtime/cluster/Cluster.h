// One worker's membership in a job: it joins, has a transport to the others,
// learns of the first error anywhere, and leaves.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/ClockOffset.h"
#include "runtime/cluster/CoordinatorCore.h"
#include "runtime/cluster/Credentials.h"
#include "runtime/cluster/Messages.h"
#include "runtime/collective/StepGate.h"
#include "runtime/collective/Transport.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

class Network;

struct ClusterOptions {
  /// This worker joins a job, an elastic one, that has workers already; it gets a rank there, and `worldSize` says nothing.
  static constexpr int kNoRankYet = -1;
  int rank = 0;
  int worldSize = 1;
  /// HOST:PORT where the workers meet; not used when worldSize is 1. Rank 0
  /// listens there, unless the launcher does (`launched`).
  std::string coordinator;
  bool launched = isLaunched();
  /// ADDRESS or ADDRESS:PORT that rank 0 listens on, when it differs from
  /// `coordinator`; e.g. 0.0.0.0.
  std::string listen;
  /// How the workers prove to each other that they are of the job.
  Credentials credentials;
  /// Accept addresses other than loopback without credentials.
  bool insecure = false;
  /// Whether tensors are encrypted between workers: where they go between machines and there are credentials, always, or never.
  /// It is TCP then.
  enum class Encryption { Auto, On, Off };
  Encryption dataEncryption = Encryption::Auto;

  std::string planDigest; ///< SHA-256, 32 bytes
  std::string producer;   ///< Plan.producer
  TransportOptions transport;
  /// "auto" (shared memory on one host, else TCP), or the name of a transport
  /// that must be used: "shared-memory", "tcp" or "ucx".
  std::string transportName = "auto";

  /// HOST or HOST:PORT of this machine that the tcp transport listens at until
  /// all workers are connected; empty: the address from which this machine
  /// reaches the coordinator.
  std::string dataAddress;

  double joinTimeoutSeconds = 120;
  /// Silence after which a worker or the coordinator counts as lost. A process
  /// that dies is noticed at once; this is for machines and networks. Pauses of
  /// the network of a bit less than half of it do no harm (TCP backs off).
  double silenceSeconds = 10;
  /// Workers that wait for each other this long without advancing end the job.
  double stallTimeoutSeconds = 60;
  /// A worker that computes so much longer than the median of the others is named by rank 0; 0: none is.
  double stragglerFactor = 1.5;
  /// How many workers may be lost, and replaced by others, where this process has the coordinator.
  int restarts = 0;
  /// Where this process has the coordinator: between how many workers the job may go on with, whatever `restarts` is.
  std::optional<CoordinatorCore::Options::Sizes> elastic;
  /// TransportOptions::sharedBytes of a job of that many workers; null: those of `transport`.
  std::function<absl::StatusOr<uint64_t>(int worldSize)> sharedBytes;
  /// After the first error the process has this long to end by itself; then the
  /// control thread prints the error and ends it. 0: never.
  double abortGraceSeconds = 0.7;
  /// Turn SIGINT, SIGTERM and SIGHUP into a clean stop of all workers (exit code 130).
  bool handleSignals = true;
  /// The worker passes gate() before each step, and saves what it has when it is told to stop: a signal asks all workers to
  /// stop at one step then, SIGUSR1 as well.
  bool stopsAtSteps = false;

  /// Called, from another thread, with messages for the user: "waiting for ranks
  /// 1, 3 of 4 (5 s)".
  std::function<void(std::string_view)> notice;
  /// What heartbeats tell of this worker; null: nothing.
  const WorkerFigures *figures = nullptr;
  /// Called, from another thread, with what the coordinator knows of the workers, by rank, some times a second, and with
  /// stragglers. Rank 0 alone hears of these.
  std::function<void(const std::vector<WorkerReport> &)> reports;
  std::function<void(const StragglerMessage &)> straggler;
  /// Text for Position::op in errors, e.g. the name of the step; may be empty.
  std::function<std::string(uint32_t op)> describeOp;

  Network *network = nullptr; ///< null: gRPC
  Clock *clock = nullptr;     ///< null: that of the machine

  /// Whether the launcher started this process.
  static bool isLaunched();
};

class Cluster {
public:
  /// Returns when all workers, two at least, are there and can reach each other.
  /// The errors carry an exit code: Usage for addresses, Cluster for whatever
  /// keeps the workers from coming together, PeerFailed, Interrupted.
  static absl::StatusOr<std::unique_ptr<Cluster>> join(ClusterOptions options);

  /// Without leave() before, the others see this as the death of the worker.
  virtual ~Cluster() = default;

  virtual int rank() const = 0;
  virtual int worldSize() const = 0;

  /// Lives until regroup(). The executor writes transport().progress();
  /// heartbeats and errors take the position from there.
  virtual Transport &transport() = 0;

  /// Raised with the first error of the job, wherever it was; or with a loss that the job survives. Lives until regroup().
  virtual Abort &abort() = 0;

  /// Tells all others that this worker failed. Returns the job's first error,
  /// which is `error` itself unless another was earlier: print that, and exit
  /// with exitCodeOf() of it. Call it for every error after join().
  virtual absl::Status fail(absl::Status error) = 0;

  /// Every worker gives some bytes (below 1 MiB) and gets those of all, by
  /// rank. On the control plane: for set-up and verdicts, not for steps. All
  /// workers call it in the same order.
  virtual absl::StatusOr<std::vector<std::string>> gather(const std::string &bytes) = 0;

  /// Where the workers agree on steps. Lives until regroup().
  virtual StepGate &gate() = 0;

  /// Asks for an event before a step that all workers agree on.
  virtual void request(StepEvent event) = 0;

  /// From the clock of this worker to that of the coordinator, which is the same for all, as far as it is known now.
  virtual ClockOffset clockOffset() = 0;

  /// Whether `error`, which has ended the run of this worker, is the loss of another one, or of a connection, that the job
  /// survives: then regroup() is to be called, and not fail(). Waits for the coordinator where that has to decide.
  virtual bool survives(const absl::Status &error) = 0;

  /// Joins the next epoch of the job, with a new transport, abort and gate. Nothing uses those of before any more.
  virtual absl::Status regroup() = 0;

  /// The loss after which this epoch began; none in the first one.
  struct Loss {
    std::string what;
    TimeNs at = 0;      ///< by the clock of this machine
    int64_t number = 0; ///< of the epoch
  };
  virtual std::optional<Loss> loss() const = 0;

  /// The job has come to its end while this worker waited for a rank: there is nothing to do, after join() or regroup().
  virtual bool isOver() const = 0;

  /// Ends this worker's part. Returns when all others have left too, or with
  /// the job's error.
  virtual absl::Status leave() = 0;
};

} // namespace dgc::rt
