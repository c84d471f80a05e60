// Joining, heartbeats, and noticing that the coordinator is gone.
#include "runtime/cluster/MemberCore.h"
#include "runtime/base/Printable.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

namespace dgc::rt {

MemberCore::MemberCore(Options o, Clock &clock)
    : options(std::move(o)), clock(clock), start(clock.now()), lastTick(start), lastHeard(start), nextHeartbeat(start),
      nextNotice(start + options.noticePeriod) {}

std::vector<FromWorker> MemberCore::takeOutgoing() { return std::exchange(outgoing, {}); }

std::optional<std::vector<std::string>> MemberCore::takeGathered() {
  if (gathered.empty())
    return std::nullopt;
  std::vector<std::string> data = std::move(gathered.front());
  gathered.pop_front();
  return data;
}

void MemberCore::connected() {
  if (current != State::Connecting)
    return;
  current = State::Joining;
  lastHeard = clock.now();
  nextHeartbeat = lastHeard + options.heartbeatPeriod;
  outgoing.emplace_back(options.join);
}

void MemberCore::end(JobError error) {
  if (over())
    return;
  current = State::Failed;
  firstError = std::move(error);
}

bool MemberCore::isOfAll(size_t size, const char *what) {
  if (size == options.join.worldSize)
    return true;
  JobError e;
  e.code = absl::StatusCode::kInternal;
  e.exitCode = ExitCode::Cluster;
  e.rank = static_cast<int>(options.join.rank);
  e.message =
      absl::StrCat("the coordinator at ", options.coordinator, " sent ", what, " of ", size, " workers, and there are ",
                   options.join.worldSize, "; what answers there is no dgc of this version");
  fail(std::move(e));
  return false;
}

void MemberCore::received(const ToWorker &message) {
  if (over())
    return;
  lastHeard = clock.now();
  if (auto *m = std::get_if<WaitingMessage>(&message)) {
    if (options.notice && !m->note.empty())
      options.notice(printable(m->note));
    else if (options.notice)
      options.notice(absl::StrCat("waiting for ", ranksText(m->missing), " of ", options.join.worldSize, " (",
                                  std::lround(m->seconds), " s)"));
  } else if (auto *m = std::get_if<RosterMessage>(&message)) {
    if (!isOfAll(m->members.size(), "the addresses"))
      return;
    members = *m;
    members->lost.message = printable(members->lost.message);
    ran = true;
    if (current == State::Joining)
      current = State::Running;
  } else if (auto *m = std::get_if<RegroupMessage>(&message)) {
    const bool isToWait = m->rank == JoinMessage::kAnyRank && m->worldSize == 0;
    if (!isToWait && (m->rank >= m->worldSize || m->worldSize > kMostWorkers))
      return refused(absl::StrCat("makes this worker rank ", m->rank, " of ", m->worldSize,
                                  "; what answers there is no dgc of this version"));
    current = State::Regrouping;
    regrouping = *m;
    regrouping.lost.message = printable(m->lost.message);
    gathered.clear();
  } else if (auto *m = std::get_if<GatheredMessage>(&message)) {
    if (isOfAll(m->data.size(), "what was gathered"))
      gathered.push_back(m->data);
  } else if (auto *m = std::get_if<HeartbeatReply>(&message)) {
    rank0 = m->rank0;
    offset.add(m->sent, m->received, lastHeard);
    if (options.reports && !m->workers.empty() && current != State::Regrouping && isOfAll(m->workers.size(), "reports"))
      options.reports(m->workers);
  } else if (auto *m = std::get_if<AbortMessage>(&message)) {
    JobError error = m->error;
    error.message = printable(error.message);
    end(std::move(error));
  } else if (auto *m = std::get_if<StragglerMessage>(&message)) {
    if (options.notice)
      options.notice(absl::StrCat(
          "rank ", m->rank, " on ", printable(m->hostName, 256), " is slower than the others: it computed ",
          std::lround(100 * m->busy), " % of the last ", std::lround(m->seconds), " s, the median of the others ",
          std::lround(100 * m->median), " %; most often at ", positionText(m->position, options.describeOp)));
    if (options.straggler)
      options.straggler(*m);
  } else if (auto *m = std::get_if<ProposeMessage>(&message)) {
    outgoing.emplace_back(ProposalMessage{m->number, options.gate ? options.gate->propose() : 0});
  } else if (auto *m = std::get_if<AgreedMessage>(&message)) {
    if (options.gate)
      options.gate->agree(m->step, m->event);
  } else {
    current = State::Left;
  }
}

void MemberCore::lost(const std::string &how) {
  JobError e;
  e.code = absl::StatusCode::kUnavailable;
  e.exitCode = ran ? ExitCode::PeerFailed : ExitCode::Cluster;
  if (options.launched) {
    e.message = absl::StrCat("the launcher ", how);
  } else {
    e.rank = 0;
    e.message = absl::StrCat("rank 0, which has the coordinator ", options.coordinator, ", ", how);
    if (members) {
      e.position = rank0;
      if (options.exactPosition)
        if (std::optional<Position> exact = options.exactPosition(0))
          e.position = exact;
    }
  }
  end(std::move(e));
}

void MemberCore::closed() {
  if (over())
    return;
  if (current == State::Connecting) {
    JobError e;
    e.exitCode = ExitCode::Cluster;
    e.message = absl::StrCat("what answers at ", options.coordinator, " is not a dgc coordinator; check --coordinator");
    return end(std::move(e));
  }
  lost("died");
}

void MemberCore::refused(std::string_view why) {
  if (over())
    return;
  JobError e;
  e.code = absl::StatusCode::kPermissionDenied;
  e.exitCode = ExitCode::Cluster;
  e.message = absl::StrCat("the coordinator at ", options.coordinator, " ", printable(why));
  end(std::move(e));
}

void MemberCore::attemptFailed(std::string_view why) { lastAttempt = absl::StrCat(" (", printable(why), ")"); }

void MemberCore::fail(JobError error) {
  if (over())
    return;
  if (current != State::Connecting)
    outgoing.emplace_back(FailureMessage{error});
  end(std::move(error));
}

void MemberCore::report(JobError error) {
  if (!over() && current != State::Regrouping)
    outgoing.emplace_back(FailureMessage{std::move(error)});
}

void MemberCore::rejoin(JoinMessage join, StepGate *gate) {
  if (current != State::Regrouping)
    return;
  current = State::Joining;
  start = clock.now();
  nextNotice = start + options.noticePeriod;
  round = 0;
  options.join = std::move(join);
  options.join.epoch = regrouping.epoch;
  options.gate = gate;
  outgoing.emplace_back(options.join);
}

void MemberCore::gather(std::string data) {
  if (!over() && current != State::Regrouping)
    outgoing.emplace_back(GatherMessage{round++, std::move(data)});
}

void MemberCore::request(StepEvent event) {
  if (!over() && current != State::Connecting)
    outgoing.emplace_back(RequestMessage{event});
}

void MemberCore::leave() {
  if (over() || current == State::Regrouping)
    return;
  current = State::Leaving;
  outgoing.emplace_back(LeaveMessage{});
}

void MemberCore::tick() {
  const TimeNs now = clock.now();
  // When this process itself was stopped or starved, the silence is its own.
  lastHeard = std::min(now, lastHeard + std::max<TimeNs>(0, now - lastTick - 1_s));
  lastTick = now;
  if (over())
    return;
  const double seconds = tenths(now - start);
  if (current == State::Connecting) {
    if (now - start >= options.joinTimeout) {
      JobError e;
      e.code = absl::StatusCode::kDeadlineExceeded;
      e.exitCode = ExitCode::Cluster;
      e.message = absl::StrCat("no coordinator at ", options.coordinator, " within ", seconds, " s", lastAttempt,
                               "; start rank 0, and check the address and the network between");
      return end(std::move(e));
    }
    if (now >= nextNotice) {
      nextNotice = now + options.noticePeriod;
      if (options.notice)
        options.notice(absl::StrCat("waiting for the coordinator at ", options.coordinator, " (", std::lround(seconds),
                                    " s)", lastAttempt));
    }
    return;
  }
  if (now - lastHeard >= options.silence)
    return lost(absl::StrCat(
        "has not been heard of for ", tenths(now - lastHeard), " s: stopped, or its machine or network is down",
        members && !options.launched ? "; last seen" : "")); // its position follows, where it has one
  if (now >= nextHeartbeat) {
    nextHeartbeat = now + options.heartbeatPeriod;
    HeartbeatMessage message = options.heartbeat ? options.heartbeat() : HeartbeatMessage{};
    message.sent = now;
    message.watches = options.reports != nullptr;
    outgoing.emplace_back(message);
  }
}

TimeNs MemberCore::nextDeadline() const {
  TimeNs next = lastTick + 1_s;
  if (over())
    return next;
  if (current == State::Connecting)
    return std::min({next, nextNotice, start + options.joinTimeout});
  return std::min({next, nextHeartbeat, lastHeard + options.silence});
}

} // namespace dgc::rt
