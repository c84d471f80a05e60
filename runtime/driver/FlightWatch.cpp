#include "runtime/driver/FlightWatch.h"

#include "runtime/telemetry/FlightLog.h"

namespace dgc::rt {

static constexpr TimeNs kPeriod = 100_ms;

/// The names of all ops, by their numbers.
static std::vector<std::string> namesOf(const artifact::Plan &plan) {
  std::vector<std::string> names;
  for (std::string name = describeOp(plan, 0); !name.empty(); name = describeOp(plan, names.size())) {
    for (char &c : name)
      if (c == '\n')
        c = ' ';
    names.push_back(std::move(name));
  }
  return names;
}

/// Keeps the file of a rank of the run before, if there is one.
static absl::Status setAside(Disk &disk, const std::string &dir, uint32_t rank) {
  const std::string path = dir + "/" + flightFileName(rank);
  return disk.exists(path) ? disk.rename(path, str(path, kFlightBefore)) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FlightWatch>> FlightWatch::begin(const Artifact &artifact, Executor &executor,
                                                                const WorkerContext &context, Disk &disk,
                                                                const std::string &dir, Clock &clock) {
  const auto rank = static_cast<uint32_t>(context.transport.rank());
  const auto world = static_cast<uint32_t>(context.transport.worldSize());
  DGC_RETURN_IF_ERROR(disk.makeDirectory(dir));
  DGC_RETURN_IF_ERROR(setAside(disk, dir, rank));
  if (rank == 0) {
    DGC_ASSIGN_OR_RETURN(std::vector<std::string> files, disk.list(dir));
    for (const std::string &file : files)
      if (std::optional<uint32_t> other = flightRankOf(file); other && *other >= world)
        DGC_RETURN_IF_ERROR(setAside(disk, dir, *other));
  }
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<FlightRecorder> recorder,
                       FlightRecorder::create(dir + "/" + flightFileName(rank),
                                              {rank, world, hostName(), artifact.digestHex()}, namesOf(artifact.plan()),
                                              clock));
  return std::unique_ptr<FlightWatch>(new FlightWatch(std::move(recorder), executor, context, clock));
}

FlightWatch::FlightWatch(std::unique_ptr<FlightRecorder> recorder, Executor &executor, const WorkerContext &context,
                         Clock &clock)
    : recorder(std::move(recorder)), executor(executor), context(context), clock(clock) {
  executor.setRecorder(this->recorder.get());
  thread = std::thread([this] { look(); });
}

void FlightWatch::look() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isEnding) {
    const TimeNs now = clock.now();
    if (!context.abort.raised()) // what ends a wait is not to hide it
      recorder->sample(context.transport.waits().awaited(), now);
    clock.waitUntil(changed, lock, now + kPeriod);
  }
}

FlightWatch::~FlightWatch() {
  executor.setRecorder(nullptr);
  {
    std::scoped_lock<std::mutex> lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  thread.join();
}

} // namespace dgc::rt
