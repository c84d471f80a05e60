#include "runtime/driver/PoolWorker.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"
#include "runtime/driver/Asynchronous.h"
#include "runtime/driver/Inputs.h"
#include "runtime/servers/WorkerTransport.h"
#include "runtime/servers/servers.pb.h"

#include <thread>

#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;

namespace {
using SteadyClock = std::chrono::steady_clock;

/// Between two attempts to reach the chief.
constexpr std::chrono::milliseconds kRetry{100};

class PoolWorker {
public:
  PoolWorker(const Artifact &artifact, const RunOptions &run, const PoolWorkerOptions &options)
      : artifact(artifact), run(run), options(options) {}

  absl::Status work() {
    auto lastGood = SteadyClock::now();
    while (true) {
      const int64_t before = stepsDone;
      const auto begin = SteadyClock::now();
      const absl::Status status = session();
      const auto end = SteadyClock::now();
      if (status.ok() || !isWorthAnotherAttempt)
        return status;
      if (isWelcome && options.notice)
        options.notice(str("the job is out of reach (", std::string(status.message()), "); this worker waits for it"));
      if (stepsDone > before || (isWelcome && end - begin > std::chrono::seconds(1)))
        lastGood = end;
      if (std::chrono::duration<double>(end - lastGood).count() > options.joinSeconds)
        return withExitCode(annotate(status, str("the chief at ", options.chief.text(),
                                                 " and its servers are out of reach for ", options.joinSeconds, " s")),
                            ExitCode::Cluster);
      std::this_thread::sleep_for(kRetry);
    }
  }

private:
  static bool never() { return false; }

  absl::StatusOr<FrameStream> reach(const Address &address) const {
    return FrameStream::connect(address, options.security, SteadyClock::now() + std::chrono::seconds(10), never);
  }

  /// From a connection to the chief to its end. An error that is worth another attempt is one of the others.
  absl::Status session() {
    isWorthAnotherAttempt = true;
    isWelcome = false;
    absl::StatusOr<FrameStream> chief = reach(options.chief);
    if (absl::IsPermissionDenied(chief.status()) || absl::IsFailedPrecondition(chief.status())) {
      isWorthAnotherAttempt = false;
      return withExitCode(annotate(chief.status(), str("the chief at ", options.chief.text())), ExitCode::Cluster);
    }
    DGC_RETURN_IF_ERROR(chief.status());
    servers::ToChief hello;
    const auto digest = artifact.digest();
    hello.mutable_hello()->set_plan_digest(digest.data(), digest.size());
    hello.mutable_hello()->set_host(hostName());
    hello.mutable_hello()->set_pid(static_cast<uint64_t>(getpid()));
    DGC_RETURN_IF_ERROR(chief->send(hello.SerializeAsString()));
    DGC_ASSIGN_OR_RETURN(const servers::FromChief welcome, hear(*chief, kGreetingSeconds));
    if (welcome.has_refusal()) {
      isWorthAnotherAttempt = false;
      return withExitCode(absl::FailedPreconditionError(printable(welcome.refusal().why())), ExitCode::Cluster);
    }
    if (welcome.has_end())
      return absl::OkStatus();
    if (!executor) {
      isWorthAnotherAttempt = false;
      DGC_RETURN_IF_ERROR(prepare(welcome.welcome()));
      isWorthAnotherAttempt = true;
    }
    std::vector<FrameStream> streams;
    for (const std::string &each : welcome.welcome().servers()) {
      DGC_ASSIGN_OR_RETURN(const Address address, parseAddress(printable(each), "the address of a server"));
      absl::StatusOr<FrameStream> stream = reach(address);
      DGC_RETURN_IF_ERROR(stream.ok() ? absl::OkStatus() : annotate(stream.status(), str("the server at ", each)));
      streams.push_back(*std::move(stream));
    }
    if (static_cast<int>(streams.size()) + 1 != transport->worldSize())
      return absl::InternalError("the chief names another number of servers than the plan has");
    transport->connect(std::move(streams));
    isWelcome = true;
    servers::ToChief ready;
    ready.mutable_ready()->set_has_pending(transport->pending().has_value());
    ready.mutable_ready()->set_pending(transport->pending().value_or(0));
    DGC_RETURN_IF_ERROR(chief->send(ready.SerializeAsString()));
    return computeSteps(*chief);
  }

  static absl::StatusOr<servers::FromChief> hear(FrameStream &chief, double seconds) {
    DGC_ASSIGN_OR_RETURN(const Frame frame, chief.receive(kMostHeader, 0, seconds));
    servers::FromChief message;
    if (!message.ParseFromString(frame.header))
      return absl::UnavailableError("what answers is no chief of this dgc");
    return message;
  }

  /// Tells the chief of an error of this worker, which ends the job.
  static absl::Status fail(FrameStream &chief, const absl::Status &status) {
    servers::ToChief failure;
    failure.mutable_failure()->set_exit_code(static_cast<int>(exitCodeOf(status)));
    failure.mutable_failure()->set_message(
        str("a worker (process ", getpid(), " on ", hostName(), ") failed: ", std::string(status.message())));
    chief.send(failure.SerializeAsString()).IgnoreError(); // the error is said here as well
    return status;
  }

  absl::Status prepare(const servers::FromChief::Welcome &welcome) {
    DGC_ASSIGN_OR_RETURN(transport, WorkerTransport::create(artifact.plan(), "train", abort));
    ExecutorOptions executorOptions;
    executorOptions.threads = run.threads;
    executorOptions.seed = welcome.seed();
    executorOptions.memoryLimit = run.memoryLimit;
    executorOptions.makeDevice = run.makeDevice;
    DGC_ASSIGN_OR_RETURN(executor, Executor::create(artifact, *transport, executorOptions, {"train"}));
    if (!run.data.empty()) {
      DGC_ASSIGN_OR_RETURN(dataset, Dataset::open(realDisk(), run.data));
    }
    DGC_ASSIGN_OR_RETURN(training,
                         bindInputs(artifact.plan(), *executor->program("train"), dataset ? &*dataset : nullptr,
                                    {"train", run.lastBatch, run.shuffle, welcome.seed(), "use --last-batch=drop, "}));
    const std::string order = describeOrder(*training.feed, artifact.plan(), run, welcome.seed());
    if (order != welcome.order())
      return withExitCode(absl::FailedPreconditionError(str("this worker was started differently from the chief: ",
                                                            order, " here, ", printable(welcome.order()), " there")),
                          ExitCode::Cluster);
    return absl::OkStatus();
  }

  /// Computes a step, up to the acknowledgements of the servers; how stale its update was.
  absl::StatusOr<int64_t> compute(FrameStream &chief, const servers::FromChief::Begin &begin) {
    training.feed->seek({begin.epoch(), begin.epoch_step()});
    const int64_t valid = training.next();
    DGC_RETURN_IF_ERROR(transport->begin(begin.step(), static_cast<int32_t>(valid)));
    const absl::Status computed = training.runner->run(static_cast<uint64_t>(begin.step()));
    DGC_RETURN_IF_ERROR(transport->lost());
    if (!computed.ok()) {
      isWorthAnotherAttempt = false;
      return fail(chief, computed);
    }
    return transport->finish(packOutputs(*training.runner));
  }

  absl::Status computeSteps(FrameStream &chief) {
    while (true) {
      DGC_ASSIGN_OR_RETURN(const servers::FromChief message, hear(chief, kUnlimitedSeconds));
      if (message.has_end())
        return absl::OkStatus();
      if (!message.has_begin())
        return absl::UnavailableError("what answers is no chief of this dgc");
      const servers::FromChief::Begin &begin = message.begin();
      if (begin.epoch_step() < 0 || begin.epoch_step() >= training.feed->stepsPerEpoch() || begin.step() < 0)
        return absl::UnavailableError("the chief gives a step that there is not");
      DGC_ASSIGN_OR_RETURN(const int64_t staleness, begin.is_pending() && transport->pending() == begin.step()
                                                        ? transport->sendAgain()
                                                        : compute(chief, begin));
      ++stepsDone;
      servers::ToChief report;
      report.mutable_report()->set_step(begin.step());
      report.mutable_report()->set_staleness(staleness);
      DGC_RETURN_IF_ERROR(chief.send(report.SerializeAsString(), transport->lastOutputs()));
    }
  }

  const Artifact &artifact;
  const RunOptions &run;
  const PoolWorkerOptions &options;
  Abort abort; // nothing raises it: a worker ends by itself, or is ended
  std::unique_ptr<WorkerTransport> transport;
  std::unique_ptr<Executor> executor;
  std::optional<Dataset> dataset;
  FedProgram training;
  int64_t stepsDone = 0;
  bool isWorthAnotherAttempt = true, isWelcome = false;
};
} // namespace

absl::Status dgc::rt::runPoolWorker(const Artifact &artifact, const RunOptions &run, const PoolWorkerOptions &options) {
  return PoolWorker(artifact, run, options).work();
}
