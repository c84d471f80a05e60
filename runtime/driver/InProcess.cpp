// All ranks of a plan as threads of this process.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/MemoryUse.h"
#include "runtime/base/Status.h"
#include "runtime/driver/Worker.h"
#include "runtime/telemetry/JobStatus.h"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// Every rank gives bytes and gets those of all.
class Exchange {
public:
  Exchange(int worldSize, Abort &abort) : abort(abort), given(static_cast<size_t>(worldSize)) {}

  absl::StatusOr<std::vector<std::string>> gather(int rank, const std::string &bytes) {
    std::unique_lock<std::mutex> lock(mutex);
    given[static_cast<size_t>(rank)] = bytes;
    uint64_t mine = round;
    if (++arrived == given.size()) {
      result = given;
      arrived = 0;
      ++round;
      changed.notify_all();
      return result;
    }
    // An abort does not notify: look for it now and then.
    while (round == mine) {
      if (abort.raised())
        return abort.status();
      changed.wait_for(lock, std::chrono::milliseconds(20));
    }
    return result;
  }

private:
  Abort &abort;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> given, result;
  size_t arrived = 0;
  uint64_t round = 0;
};

/// Lets the workers agree on a step.
class Negotiation {
public:
  explicit Negotiation(int worldSize) : gates(static_cast<size_t>(worldSize)) {}

  void request(StepEvent event) {
    std::scoped_lock<std::mutex> lock(mutex);
    int64_t step = 0;
    for (StepGate &gate : gates)
      step = std::max(step, gate.propose());
    for (StepGate &gate : gates)
      gate.agree(step, event);
  }

  std::deque<StepGate> gates; // by rank

private:
  std::mutex mutex;
};

/// Turns SIGINT, SIGTERM and SIGHUP into an abort for as long as it lives, or, with `negotiation`, the first of them or of
/// SIGUSR1 into a stop at a step: the signals are blocked in every thread and
/// waited for by one of its own. Those that are ignored stay ignored. Once one has come they stay blocked, as the process
/// ends for it and may be sent a second one at the same time.
class InterruptWatch {
public:
  InterruptWatch(Abort &abort, Negotiation *negotiation) {
    sigemptyset(&signals);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
      if (signal == SIGUSR1 && !negotiation)
        continue;
      // A signal that is blocked is queued even where it is ignored, as by nohup.
      struct sigaction action = {};
      if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    thread = std::thread([this, &abort, negotiation]() mutable {
      timespec tick{0, 50000000};
      while (!done.load()) {
        int signal = sigtimedwait(&signals, nullptr, &tick);
        if (signal <= 0)
          continue;
        isInterrupted.store(true);
        if (Negotiation *stops = std::exchange(negotiation, nullptr)) {
          stops->request({StepEvent::Stop, signal});
          continue;
        }
        abort.raise(withExitCode(absl::CancelledError(signal == SIGINT    ? "interrupted"
                                                      : signal == SIGTERM ? "terminated"
                                                                          : "terminated (SIGHUP)"),
                                 ExitCode::Interrupted));
      }
    });
  }
  ~InterruptWatch() {
    done.store(true);
    thread.join();
    if (!isInterrupted.load())
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  sigset_t signals, before;
  std::atomic<bool> done{false}, isInterrupted{false};
  std::thread thread;
};

/// Lets those who watch the job see the workers for as long as it lives.
class WatchedThreads {
public:
  WatchedThreads(const std::vector<std::unique_ptr<Transport>> &transports, const std::vector<WorkerFigures> &figures,
                 JobStatus *status)
      : status(status) {
    if (!status)
      return;
    status->sampleWorkersBy([&transports, &figures] {
      std::vector<WorkerState> workers;
      for (size_t rank = 0; rank < transports.size(); ++rank) {
        Transport &transport = *transports[rank];
        const uint64_t onDevice = figures[rank].deviceBytes();
        workers.push_back({true, static_cast<int64_t>(transport.progress().get().step), transport.waits().awaited(),
                           onDevice ? onDevice : memoryUse().now() / transports.size(), residentBytes(),
                           figures[rank].exposed(), transport.waits().moved()});
      }
      return workers;
    });
  }
  ~WatchedThreads() {
    if (status)
      status->sampleWorkersBy(nullptr);
  }

private:
  JobStatus *status;
};
} // namespace

absl::StatusOr<RunEnd> dgc::rt::runInProcess(const Artifact &artifact, const RunOptions &options,
                                             const WorkerContext::Print &print, int terminal, JobStatus *status) {
  Abort abort;
  TransportOptions transportOptions;
  transportOptions.sharedBytes = artifact.plan().shared_bytes();
  int world = static_cast<int>(artifact.plan().world_size());
  DGC_ASSIGN_OR_RETURN(auto transports, createInProcessTransports(world, transportOptions, abort));
  Negotiation negotiation(world);
  InterruptWatch watch(abort, options.checkpoint.empty() ? nullptr : &negotiation);
  std::vector<RunEnd> ends(static_cast<size_t>(world));
  Exchange exchange(world, abort);
  std::vector<WorkerFigures> figures(static_cast<size_t>(world));
  const WatchedThreads watched(transports, figures, status);
  auto rankMain = [&](Transport &transport) {
    WorkerContext context{transport, abort, nullptr, print, terminal};
    context.gather = [&](const std::string &bytes) { return exchange.gather(transport.rank(), bytes); };
    context.gate = &negotiation.gates[static_cast<size_t>(transport.rank())];
    context.request = [&](StepEvent event) { negotiation.request(event); };
    context.figures = &figures[static_cast<size_t>(transport.rank())];
    context.status = transport.rank() == 0 ? status : nullptr;
    absl::Status s = catchExhaustion([&] {
      DGC_ASSIGN_OR_RETURN(ends[static_cast<size_t>(transport.rank())], runWorker(artifact, options, context));
      return absl::OkStatus();
    });
    if (!s.ok())
      abort.raise(world > 1 ? annotate(s, str("rank ", transport.rank())) : s);
  };
  std::vector<std::thread> threads;
  for (std::unique_ptr<Transport> &transport : transports)
    threads.emplace_back([&] { rankMain(*transport); });
  for (std::thread &thread : threads)
    thread.join();
  DGC_RETURN_IF_ERROR(abort.status());
  return ends[0];
}
