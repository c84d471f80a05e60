// Membership, failure detection and the first error of a job.
#include "runtime/cluster/CoordinatorCore.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace dgc::rt {
namespace {

constexpr double kNsPerSecond = 1e9;

std::string shortDigest(const std::string &digest) { return absl::BytesToHexString(digest.substr(0, 6)); }

// Compares in a time that does not tell where they differ.
bool sameToken(const std::string &a, const std::string &b) {
  unsigned char difference = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= a[i] ^ b[i];
  return difference == 0;
}

JobError clusterError(int rank, std::string message) {
  JobError e;
  e.code = absl::StatusCode::kFailedPrecondition;
  e.exitCode = ExitCode::Cluster;
  e.rank = rank;
  e.message = std::move(message);
  return e;
}

} // namespace

CoordinatorCore::CoordinatorCore(Options o, Clock &clock)
    : options(std::move(o)), clock(clock), start(clock.now()), nextNotice(start + options.noticePeriod),
      lastTick(start), members(options.worldSize) {}

void CoordinatorCore::send(ConnectionId id, ToWorker message) { outgoing.push_back({id, std::move(message)}); }

void CoordinatorCore::sendAll(const ToWorker &message) {
  for (const Member &m : members)
    if (m.connection)
      send(*m.connection, message);
}

std::vector<Outgoing> CoordinatorCore::takeOutgoing() { return std::exchange(outgoing, {}); }

std::optional<int> CoordinatorCore::rankOf(ConnectionId id) const {
  for (size_t r = 0; r < members.size(); ++r)
    if (members[r].connection == id)
      return static_cast<int>(r);
  return std::nullopt;
}

std::vector<uint32_t> CoordinatorCore::missing() const {
  std::vector<uint32_t> ranks;
  for (size_t r = 0; r < members.size(); ++r)
    if (!members[r].joined)
      ranks.push_back(r);
  return ranks;
}

std::string CoordinatorCore::describe(const JoinMessage &m) const {
  return absl::StrCat("rank ", m.rank, " (process ", m.pid, " on ", m.hostName, ")");
}

size_t CoordinatorCore::awaited() const {
  bool early = current == State::Failed && !ran && clock.now() - start < options.joinTimeout;
  auto all = static_cast<size_t>(options.worldSize);
  return early && everOpened < all ? all - everOpened : 0;
}

void CoordinatorCore::opened(ConnectionId id) {
  ++everOpened;
  connected.insert(id);
  strangers[id] = clock.now();
}

void CoordinatorCore::turnAway(ConnectionId id, JobError error) {
  send(id, AbortMessage{std::move(error)});
  outgoing.push_back({id, std::nullopt});
  strangers.erase(id);
}

void CoordinatorCore::fail(JobError error) {
  if (over())
    return;
  current = State::Failed;
  firstError = std::move(error);
  sendAll(AbortMessage{firstError});
  // Connections that have not said who they are get it too: they may be
  // workers that were about to join.
  for (const auto &[id, since] : strangers)
    send(id, AbortMessage{firstError});
}

void CoordinatorCore::received(ConnectionId id, const FromWorker &message) {
  if (!connected.count(id))
    return;
  std::optional<int> rank = rankOf(id);
  if (auto *m = std::get_if<JoinMessage>(&message)) {
    if (rank)
      turnAway(id, clusterError(*rank, absl::StrCat("rank ", *rank,
                                                    " joined twice on one "
                                                    "connection")));
    else
      join(id, *m);
    return;
  }
  if (!rank) // says something before it has joined: not one of ours
    return outgoing.push_back({id, std::nullopt});
  members[*rank].lastHeard = clock.now();
  if (auto *m = std::get_if<HeartbeatMessage>(&message)) {
    members[*rank].position = m->position;
    send(id, HeartbeatReply{members[0].position});
  } else if (auto *m = std::get_if<GatherMessage>(&message)) {
    gather(*rank, *m);
  } else if (auto *m = std::get_if<FailureMessage>(&message)) {
    JobError e = m->error;
    e.rank = *rank;
    bool interrupted = e.exitCode == ExitCode::Interrupted;
    e.message = absl::StrCat("rank ", *rank, interrupted ? " was " : " failed: ", e.message);
    if (!isOfAllWorkers(e.exitCode))
      e.exitCode = ExitCode::PeerFailed;
    fail(std::move(e));
  } else {
    leave(*rank);
  }
}

std::optional<std::string> CoordinatorCore::misfit(const JoinMessage &m) const {
  if (m.protocol != kClusterProtocol)
    return absl::StrCat(describe(m), " speaks version ", m.protocol,
                        " of the cluster protocol, the coordinator version ", kClusterProtocol,
                        "; run the same dgc-run on all machines");
  if (m.worldSize != members.size())
    return absl::StrCat(describe(m), " was started for ", m.worldSize, " workers, the coordinator for ", members.size(),
                        "; give all of them the same --world-size");
  if (m.rank >= members.size())
    return absl::StrCat(describe(m), " does not exist among ", members.size(), " workers; ranks are 0 to ",
                        members.size() - 1);
  if (members[m.rank].joined)
    return absl::StrCat("two workers say that they are rank ", m.rank, ": process ", members[m.rank].join.pid, " on ",
                        members[m.rank].join.hostName, " and process ", m.pid, " on ", m.hostName,
                        "; give every worker its own --rank");
  if (!options.planDigest.empty() && m.planDigest != options.planDigest)
    return absl::StrCat(describe(m), " runs another plan (SHA-256 ", shortDigest(m.planDigest), "..., the others ",
                        shortDigest(options.planDigest), "...); copy one .dgcx to all machines");
  for (const Member &other : members)
    if (other.joined && other.join.producer != m.producer)
      return absl::StrCat(describe(m), " runs ", m.producer, ", ", describe(other.join), " runs ", other.join.producer,
                          "; run the same dgc-run on all machines");
  return std::nullopt;
}

void CoordinatorCore::join(ConnectionId id, const JoinMessage &m) {
  if (!sameToken(m.token, options.token))
    return turnAway(id, clusterError(-1, absl::StrCat(describe(m), " does not have the token of this "
                                                                   "job; set DGC_JOB_TOKEN to the same "
                                                                   "value for all workers")));
  if (current == State::Failed)
    return turnAway(id, firstError);
  if (current != State::Joining)
    return turnAway(id, clusterError(m.rank, absl::StrCat(describe(m), " came too late: the job has ", members.size(),
                                                          " workers and is running")));
  if (std::optional<std::string> what = misfit(m)) {
    fail(clusterError(m.rank, *what)); // tells the newcomer too
    strangers.erase(id);
    return;
  }
  if (options.planDigest.empty())
    options.planDigest = m.planDigest;
  strangers.erase(id);
  Member &member = members[m.rank];
  member.joined = true;
  member.connection = id;
  member.join = m;
  member.lastHeard = clock.now();
  if (options.joined)
    options.joined(m);
  if (!missing().empty())
    return;
  current = State::Running;
  ran = true;
  RosterMessage roster;
  for (const Member &each : members)
    roster.members.push_back({each.join.hostId, each.join.hostName, each.join.pid, each.join.segment});
  sendAll(roster);
}

void CoordinatorCore::gather(int rank, const GatherMessage &m) {
  if (over())
    return;
  if (m.round != round || members[rank].gathered) {
    JobError e;
    e.exitCode = ExitCode::Internal;
    e.rank = rank;
    e.message = absl::StrCat("rank ", rank, " is in round ", m.round, " of the exchange, the others in round ", round);
    return fail(std::move(e));
  }
  members[rank].gathered = m.data;
  if (!std::all_of(members.begin(), members.end(), [](const Member &x) { return x.gathered.has_value(); }))
    return;
  GatheredMessage all;
  all.round = round++;
  for (Member &x : members)
    all.data.push_back(*std::exchange(x.gathered, std::nullopt));
  sendAll(all);
}

void CoordinatorCore::leave(int rank) {
  members[rank].left = true;
  if (current != State::Running || !std::all_of(members.begin(), members.end(), [](const Member &x) { return x.left; }))
    return;
  current = State::Done;
  sendAll(AllLeftMessage{});
}

void CoordinatorCore::memberLost(int rank, const std::string &how, ExitCode code) {
  const Member &m = members[rank];
  JobError e;
  e.code = absl::StatusCode::kAborted;
  e.exitCode = code;
  e.rank = rank;
  e.message = absl::StrCat("rank ", rank, " ", how);
  if (current == State::Running) {
    e.position = m.position;
    if (options.exactPosition)
      if (std::optional<Position> exact = options.exactPosition(rank))
        e.position = exact;
  } else {
    absl::StrAppend(&e.message, " before all workers had joined");
  }
  fail(std::move(e));
}

void CoordinatorCore::closed(ConnectionId id) {
  connected.erase(id);
  strangers.erase(id);
  std::optional<int> rank = rankOf(id);
  if (!rank)
    return;
  Member &m = members[*rank];
  m.connection.reset();
  if (m.left || over())
    return;
  m.lostAt = clock.now();
  if (options.exitReportGrace == 0)
    memberLost(*rank, absl::StrCat("(process ", m.join.pid, " on ", m.join.hostName, ") died"), ExitCode::PeerFailed);
}

void CoordinatorCore::processEnded(int rank, int code, int signal) {
  if (over() || members[rank].left)
    return;
  if (signal)
    return memberLost(rank, absl::StrCat("was killed by signal ", signal, " (", strsignal(signal), ")"),
                      ExitCode::PeerFailed);
  memberLost(rank, absl::StrCat("ended early with exit code ", code),
             code == 0 ? ExitCode::PeerFailed : static_cast<ExitCode>(code));
}

void CoordinatorCore::tick() {
  const TimeNs now = clock.now();
  // When this process itself was stopped or starved, the silence is its own.
  const TimeNs allowance = std::max<TimeNs>(0, now - lastTick - 1_s);
  lastTick = now;
  if (allowance)
    for (Member &m : members)
      m.lastHeard += allowance;

  for (auto it = strangers.begin(); it != strangers.end();) {
    if (now - it->second >= options.strangerTime) {
      outgoing.push_back({it->first, std::nullopt});
      it = strangers.erase(it);
    } else {
      ++it;
    }
  }
  if (over())
    return;
  for (size_t r = 0; r < members.size(); ++r) {
    Member &m = members[r];
    if (m.left || !m.joined)
      continue;
    if (m.lostAt && now - *m.lostAt >= options.exitReportGrace)
      return memberLost(r, absl::StrCat("(process ", m.join.pid, " on ", m.join.hostName, ") died"),
                        ExitCode::PeerFailed);
    if (!m.lostAt && now - m.lastHeard >= options.silence)
      return memberLost(r,
                        absl::StrCat("(process ", m.join.pid, " on ", m.join.hostName, ") has not been heard of for ",
                                     tenths(now - m.lastHeard),
                                     " s: stopped, or its machine or network is down; last "
                                     "seen"),
                        ExitCode::PeerFailed);
  }
  if (current != State::Joining)
    return;
  const double seconds = static_cast<double>(now - start) / kNsPerSecond;
  if (now - start >= options.joinTimeout) {
    std::vector<uint32_t> absent = missing();
    JobError e = clusterError(-1, absl::StrCat(ranksText(absent), " of ", members.size(), " did not join within ",
                                               static_cast<double>(options.joinTimeout) / kNsPerSecond,
                                               " s; start them, or raise --join-timeout"));
    e.code = absl::StatusCode::kDeadlineExceeded;
    return fail(std::move(e));
  }
  if (now >= nextNotice) {
    nextNotice = now + options.noticePeriod;
    sendAll(WaitingMessage{missing(), seconds});
  }
}

TimeNs CoordinatorCore::nextDeadline() const {
  TimeNs next = lastTick + 1_s;
  for (const auto &[id, since] : strangers)
    next = std::min(next, since + options.strangerTime);
  if (over())
    return next;
  for (const Member &m : members)
    if (m.joined && !m.left)
      next = std::min(next, m.lostAt ? *m.lostAt + options.exitReportGrace : m.lastHeard + options.silence);
  if (current == State::Joining)
    next = std::min({next, nextNotice, start + options.joinTimeout});
  return next;
}

} // namespace dgc::rt
