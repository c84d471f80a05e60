#include "runtime/servers/WorkerPool.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Transport.h"
#include "runtime/servers/servers.pb.h"

#include <algorithm>

namespace dgc::rt {
namespace {
/// How long workers may take to leave at the end of the job, which they are told of when they are done with a step.
constexpr std::chrono::seconds kLeaveTime{5};
/// As StepBoard's.
constexpr TimeNs kPatience = 10'000'000'000;
/// Outputs of a program for training: a loss and metrics.
constexpr uint64_t kMostOutputs = uint64_t{64} << 20;
} // namespace

WorkerPool::WorkerPool(ServingEnd end, PoolFacts facts, Abort &abort)
    : facts(std::move(facts)), address(std::move(end.address)), joinSeconds(end.joinSeconds),
      notice(std::move(end.notice)), abort(abort), board(kPatience), aloneSince(realClock().now()),
      toldAlone(aloneSince) {
  connections =
      std::make_unique<FrameServer>(std::move(end.listening), std::move(end.security),
                                    [this](FrameStream &stream, const std::string &peer) { serve(stream, peer); });
}

WorkerPool::~WorkerPool() {
  isStopping = true;
  connections.reset();
}

void WorkerPool::finish() {
  isFinished = true;
  connections->stopAccepting();
  const auto deadline = std::chrono::steady_clock::now() + kLeaveTime;
  std::unique_lock<std::mutex> lock(mutex);
  while (workers > 0 && std::chrono::steady_clock::now() < deadline)
    changed.wait_for(lock, std::chrono::milliseconds(20));
}

void WorkerPool::serve(FrameStream &stream, const std::string &peer) {
  std::string name;
  if (const absl::Status status = welcome(stream, name); !status.ok()) {
    tell(str("a worker at ", peer, " was turned away: ", std::string(status.message())));
    return;
  }
  StepBoard::Worker worker = 0;
  {
    std::scoped_lock<std::mutex> lock(mutex);
    worker = ++lastWorker;
    tell(str("worker ", name, " is there, one of ", ++workers));
  }
  const absl::Status status = work(stream, worker);
  std::scoped_lock<std::mutex> lock(mutex);
  board.lose(worker);
  if (--workers == 0)
    aloneSince = toldAlone = realClock().now();
  if (!status.ok() && !isStopping && !isFinished)
    tell(str("worker ", name, " is lost (", std::string(status.message()), "); ", workers, " are left"));
  changed.notify_all();
}

absl::Status WorkerPool::welcome(FrameStream &stream, std::string &name) {
  DGC_ASSIGN_OR_RETURN(const Frame frame, stream.receive(kMostHeader, 0, kGreetingSeconds));
  servers::ToChief message;
  if (!message.ParseFromString(frame.header) || !message.has_hello())
    return absl::InvalidArgumentError("it says nothing that this dgc knows");
  name = str(message.hello().pid(), " on ", printable(message.hello().host()));
  servers::FromChief reply;
  std::string why;
  if (message.hello().plan_digest() != facts.planDigest) {
    why = str("process ", name, " has another plan than the servers: give all processes the same file");
    reply.mutable_refusal()->set_why(why);
  } else {
    for (const std::string &each : facts.servers)
      reply.mutable_welcome()->add_servers(each);
    reply.mutable_welcome()->set_seed(facts.seed);
    reply.mutable_welcome()->set_order(facts.order);
  }
  DGC_RETURN_IF_ERROR(stream.send(reply.SerializeAsString()));
  return why.empty() ? absl::OkStatus() : absl::FailedPreconditionError(why);
}

/// Nothing at the end of the job.
absl::StatusOr<std::optional<PooledStep>> WorkerPool::nextStep(FrameStream &stream, StepBoard::Worker worker,
                                                               std::optional<int64_t> computed) {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    if (isFinished)
      return std::nullopt;
    if (isStopping)
      return absl::CancelledError("the job ends");
    if (stream.isReadable()) // a worker that waits says nothing
      return absl::UnavailableError("it was closed");
    if (const std::optional<int64_t> step = board.take(worker, realClock().now(), computed)) {
      changed.notify_all();
      return submitted.at(*step);
    }
    changed.wait_for(lock, std::chrono::milliseconds(50));
  }
}

absl::Status WorkerPool::work(FrameStream &stream, StepBoard::Worker worker) {
  while (true) {
    DGC_ASSIGN_OR_RETURN(const Frame frame, stream.receive(kMostHeader, kMostOutputs, kUnlimitedSeconds));
    servers::ToChief message;
    if (!message.ParseFromString(frame.header))
      return absl::InvalidArgumentError("no message of this dgc");
    if (message.has_failure()) {
      std::scoped_lock<std::mutex> lock(mutex);
      failure = withExitCode(absl::Status(absl::StatusCode::kInternal, message.failure().message()),
                             static_cast<ExitCode>(message.failure().exit_code()));
      changed.notify_all();
      return failure;
    }
    if (message.has_report()) {
      std::scoped_lock<std::mutex> lock(mutex);
      const int64_t step = message.report().step();
      if (submitted.contains(step) && board.finish(step, realClock().now())) {
        reports[step] = frame.body;
        ++stalenesses[message.report().staleness()];
        submitted.erase(step);
      }
      changed.notify_all();
    }
    if (!message.has_ready() && !message.has_report())
      return absl::InvalidArgumentError("it says nothing that is due");
    std::optional<int64_t> computed;
    if (message.ready().has_pending())
      computed = message.ready().pending();
    DGC_ASSIGN_OR_RETURN(const std::optional<PooledStep> step, nextStep(stream, worker, computed));
    servers::FromChief reply;
    if (step) {
      reply.mutable_begin()->set_step(step->step);
      reply.mutable_begin()->set_epoch(step->epoch);
      reply.mutable_begin()->set_epoch_step(step->epochStep);
      reply.mutable_begin()->set_is_pending(step->step == computed);
    } else {
      reply.mutable_end();
    }
    DGC_RETURN_IF_ERROR(stream.send(reply.SerializeAsString()));
    if (!step)
      return absl::OkStatus();
  }
}

absl::Status WorkerPool::await(const std::function<bool()> &holds) {
  std::unique_lock<std::mutex> lock(mutex);
  while (!holds()) {
    DGC_RETURN_IF_ERROR(failure);
    if (abort.raised())
      return abort.status();
    if (const TimeNs now = realClock().now(); workers == 0 && now - toldAlone > 5'000'000'000) {
      if (static_cast<double>(now - aloneSince) * 1e-9 > joinSeconds)
        return withExitCode(absl::DeadlineExceededError(
                                str("no worker came to ", address, " within ", joinSeconds,
                                    " s; start workers: dgc-run with the same plan and data, and --role worker")),
                            ExitCode::Cluster);
      toldAlone = now;
      tell(str("waiting for workers at ", address, " (", (now - aloneSince) / 1'000'000'000, " s)"));
    }
    changed.wait_for(lock, std::chrono::milliseconds(20)); // an abort does not notify
  }
  return failure;
}

absl::Status WorkerPool::submit(const PooledStep &step) {
  {
    std::scoped_lock<std::mutex> lock(mutex);
    if (reports.contains(step.step))
      return absl::OkStatus();
    submitted[step.step] = step;
    board.offer(step.step);
    changed.notify_all();
  }
  return await([&] { return board.hasBegun(step.step); });
}

absl::StatusOr<std::string> WorkerPool::collect(int64_t step) {
  DGC_RETURN_IF_ERROR(await([&] { return reports.contains(step); }));
  std::scoped_lock<std::mutex> lock(mutex);
  return std::move(reports.extract(step).mapped());
}

} // namespace dgc::rt
