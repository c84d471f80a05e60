// The messages of the control plane, in any order, to both of its ends; between them connections open and close, processes
// end and time passes.
#include "runtime/cluster/CoordinatorCore.h"
#include "runtime/cluster/MemberCore.h"
#include "runtime/cluster/Wire.h"
#include "test/unit/readers/Reader.h"

#include <array>

namespace dgc::rt::test {
namespace {

constexpr int kWorkers = 3;

/// A job that failed ends with an error, and no process of it with 0.
void checkError(const JobError &error) {
  const absl::Status status = jobStatus(error, nullptr);
  require(!status.ok() && exitCodeOf(status) != ExitCode::Ok, "a job that failed has an error and an exit code");
}

/// What is sent arrives.
template <typename Message> void checkSent(const Message &message) {
  auto wire = toWire(message);
  decltype(wire) arrived;
  require(arrived.ParseFromString(wire.SerializeAsString()), "a message that is sent can be parsed");
  const auto read = fromWire(arrived);
  require(read && read->index() == message.index(), "a message that is sent is of a kind that is known");
}

template <typename Wire> auto take(Input &input) {
  Wire message;
  using Read = decltype(fromWire(message));
  return message.ParseFromString(std::string(input.string())) ? fromWire(message) : Read();
}

JobError errorOf(Input &input) {
  JobError error;
  error.rank = static_cast<int>(input.below(kWorkers + 1)) - 1;
  error.message = input.string();
  return error;
}

/// From milliseconds to an hour.
TimeNs durationOf(Input &input) { return TimeNs{1} << (20 + input.below(22)); }

bool readAtCoordinator(std::span<const uint8_t> bytes) {
  Input input(bytes);
  FakeClock clock(1_s);
  CoordinatorCore::Options options;
  options.worldSize = kWorkers;
  const uint8_t flags = input.byte();
  options.authenticated = flags & 1;
  options.restarts = flags & 2 ? 5 : 0;
  options.exitReportGrace = flags & 4 ? 1_s : 0;
  if (flags & 8)
    options.elastic = {1, kWorkers + 1};
  options.exactPosition = [](int) { return std::nullopt; };
  CoordinatorCore core(std::move(options), clock);
  std::array<ConnectionId, kWorkers + 1> connections{}; // 0: none
  ConnectionId last = 0;
  const auto close = [&](ConnectionId &id) {
    if (id)
      core.closed(std::exchange(id, 0));
  };
  bool hasRun = false;
  while (!input.isAtEnd()) {
    const uint8_t event = input.byte();
    ConnectionId &at = connections[event / 16 % connections.size()];
    switch (event % 8) {
    case 0:
    case 1:
    case 2:
      if (!at)
        core.opened(at = ++last);
      if (const auto message = take<cluster::FromWorker>(input))
        core.received(at, *message);
      break;
    case 3:
      close(at);
      break;
    case 4:
      clock.advance(durationOf(input));
      core.tick();
      break;
    case 5:
      core.processEnded(static_cast<int>(input.below(kWorkers)), input.byte(), static_cast<int>(input.below(32)));
      break;
    case 6:
      core.request({static_cast<StepEvent::Kind>(input.below(4)), static_cast<int32_t>(input.below(32))});
      break;
    case 7:
      core.refused(std::string(input.string()));
      break;
    }
    for (const Outgoing &out : core.takeOutgoing()) {
      if (out.message)
        checkSent(*out.message);
      else if (auto it = std::find(connections.begin(), connections.end(), out.to); it != connections.end())
        close(*it);
    }
    core.takeLost();
    core.missing();
    core.awaited();
    core.nextDeadline();
    hasRun |= core.state() == CoordinatorCore::State::Running;
    if (core.state() == CoordinatorCore::State::Failed)
      checkError(core.error());
  }
  return hasRun;
}

bool readAtMember(std::span<const uint8_t> bytes) {
  Input input(bytes);
  FakeClock clock(1_s);
  StepGate gate;
  MemberCore::Options options;
  const uint8_t flags = input.byte();
  options.join.rank = flags & 1;
  options.join.worldSize = kWorkers;
  options.join.planDigest = std::string(32, 'p');
  options.coordinator = "10.0.0.1:29400";
  options.launched = flags & 2;
  options.heartbeat = [] { return HeartbeatMessage(); };
  if (flags & 4)
    options.reports = [](const std::vector<WorkerReport> &reports) {
      require(reports.size() == kWorkers, "reports are of all workers");
    };
  options.exactPosition = [](int) { return std::nullopt; };
  options.notice = [](std::string_view) {};
  options.gate = &gate;
  MemberCore core(options, clock);
  bool isOpen = false, hasRun = false;
  while (!input.isAtEnd()) {
    const bool isRunning = core.state() == MemberCore::State::Running;
    switch (input.below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (!isOpen && core.state() == MemberCore::State::Connecting) {
        core.connected();
        isOpen = true;
      }
      if (const auto message = take<cluster::ToWorker>(input); message && isOpen)
        core.received(*message);
      break;
    case 4:
      if (std::exchange(isOpen, false))
        core.closed();
      break;
    case 5:
      clock.advance(durationOf(input));
      core.tick();
      break;
    case 6:
      core.fail(errorOf(input));
      break;
    case 7:
      if (isRunning)
        core.report(errorOf(input));
      break;
    case 8:
      if (core.state() == MemberCore::State::Regrouping)
        core.rejoin(options.join, &gate);
      break;
    case 9:
      if (isRunning)
        core.gather(std::string(input.string()));
      break;
    case 10:
      if (isRunning)
        core.leave();
      break;
    case 11:
      if (!isOpen)
        core.attemptFailed(input.string());
      break;
    }
    for (const FromWorker &message : core.takeOutgoing())
      checkSent(message);
    core.nextDeadline();
    if (const auto gathered = core.takeGathered())
      require(gathered->size() == kWorkers, "what is gathered is of all workers");
    gate.propose();
    hasRun |= core.state() == MemberCore::State::Running;
    if (core.state() == MemberCore::State::Running)
      require(core.roster() && core.roster()->members.size() == kWorkers, "a worker that runs knows all workers");
    if (core.state() == MemberCore::State::Failed)
      checkError(core.error());
    if (core.state() == MemberCore::State::Regrouping)
      checkError(core.loss());
  }
  return hasRun;
}

const RegisteredReader coordinator("coordinator", readAtCoordinator), member("member", readAtMember);

} // namespace
} // namespace dgc::rt::test
