// Membership, failure detection and the first error of a job.
#include "runtime/cluster/CoordinatorCore.h"
#include "runtime/base/Printable.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <algorithm>

namespace dgc::rt {
namespace {

constexpr double kNsPerSecond = 1e9;
/// How many workers that are turned away are told of.
constexpr int kMostNotes = 5;

std::string shortDigest(const std::string &digest) { return absl::BytesToHexString(digest.substr(0, 6)); }

/// `m` with its texts fit to be shown to people.
JoinMessage readable(JoinMessage m) {
  m.hostName = printable(m.hostName, 256);
  m.producer = printable(m.producer, 256);
  return m;
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
  if (m.rank == JoinMessage::kAnyRank)
    return absl::StrCat("process ", m.pid, " on ", m.hostName);
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
  for (const auto &[id, join] : newcomers)
    send(id, AbortMessage{firstError});
}

void CoordinatorCore::received(ConnectionId id, const FromWorker &message) {
  if (!connected.contains(id))
    return;
  if (newcomers.contains(id))
    return receivedFromNewcomer(id, message);
  std::optional<int> rank = rankOf(id);
  if (auto *m = std::get_if<JoinMessage>(&message)) {
    if (rank && m->epoch != epoch)
      return; // sent before the worker heard that another epoch begins
    if (rank && (members[*rank].joined || m->rank != static_cast<uint32_t>(*rank)))
      turnAway(id, clusterError(*rank, absl::StrCat("rank ", *rank,
                                                    " joined twice on one "
                                                    "connection")));
    else
      join(id, readable(*m));
    return;
  }
  if (!rank) // says something before it has joined: not one of ours
    return outgoing.push_back({id, std::nullopt});
  members[*rank].lastHeard = clock.now();
  const bool isOfEpoch = members[*rank].joined; // else it was sent before the worker heard that a new one begins
  if (auto *m = std::get_if<HeartbeatMessage>(&message)) {
    if (isOfEpoch)
      heartbeat(*rank, *m);
    send(id, HeartbeatReply{members[0].last.position, m->sent, clock.now(),
                            m->watches ? reports() : std::vector<WorkerReport>()});
  } else if (auto *m = std::get_if<FailureMessage>(&message)) {
    if (!isOfEpoch && m->error.exitCode == ExitCode::Network)
      return; // the loss is known
    JobError e = m->error;
    e.rank = *rank;
    e.waits.clear();
    bool interrupted = e.exitCode == ExitCode::Interrupted;
    e.message = absl::StrCat("rank ", *rank, interrupted ? " was " : " failed: ", printable(e.message));
    if (e.exitCode == ExitCode::Network && survives(e, -1))
      return;
    if (members[*rank].isNew) // it ends, and has cost the others nothing yet
      return memberLost(*rank, absl::StrCat("could not take part: ", printable(m->error.message)),
                        ExitCode::PeerFailed);
    if (!isOfAllWorkers(e.exitCode))
      e.exitCode = ExitCode::PeerFailed;
    fail(std::move(e));
  } else if (auto *m = std::get_if<RequestMessage>(&message)) {
    if (isOfEpoch || m->event.kind == StepEvent::Stop)
      request(m->event);
  } else if (!isOfEpoch) {
    return;
  } else if (auto *m = std::get_if<GatherMessage>(&message)) {
    gather(*rank, *m);
  } else if (auto *m = std::get_if<ProposalMessage>(&message)) {
    proposed(*rank, *m);
  } else {
    leave(*rank);
  }
}

void CoordinatorCore::request(StepEvent event) {
  if (over() || event.kind == StepEvent::None || stopping)
    return;
  if (event.kind == StepEvent::Stop)
    stopping = event;
  requests.push_back(event);
  negotiate();
}

/// Begins the next negotiation, if none is under way. A job that is over in a moment has none.
void CoordinatorCore::negotiate() {
  if (negotiation || requests.empty() || current != State::Running ||
      std::any_of(members.begin(), members.end(), [](const Member &m) { return m.left; }))
    return;
  negotiation = negotiations++;
  sendAll(ProposeMessage{*negotiation});
}

void CoordinatorCore::proposed(int rank, const ProposalMessage &m) {
  if (over() || m.number != negotiation)
    return;
  members[rank].proposal = m.step;
  if (!std::all_of(members.begin(), members.end(), [](const Member &x) { return x.proposal.has_value(); }))
    return;
  AgreedMessage agreed{0, requests.front()};
  for (Member &each : members)
    agreed.step = std::max(agreed.step, *std::exchange(each.proposal, std::nullopt));
  requests.pop_front();
  negotiation.reset();
  sendAll(agreed);
  negotiate();
}

std::optional<std::string> CoordinatorCore::misfit(const JoinMessage &m) const {
  if (m.protocol != kClusterProtocol)
    return misfitOfPlan(m);
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
  return misfitOfPlan(m);
}

std::optional<std::string> CoordinatorCore::misfitOfPlan(const JoinMessage &m) const {
  if (m.protocol != kClusterProtocol)
    return absl::StrCat(describe(m), " speaks version ", m.protocol,
                        " of the cluster protocol, the coordinator version ", kClusterProtocol,
                        "; run the same dgc-run on all machines");
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
  if (current == State::Failed)
    return turnAway(id, firstError);
  if (m.rank == JoinMessage::kAnyRank)
    return admit(id, m);
  if (options.elastic && ran && (rankOf(id) != static_cast<int>(m.rank) || m.worldSize != members.size()))
    return turnAway(id, clusterError(-1, absl::StrCat(describe(m), " cannot join: the job has begun, and ranks of an "
                                                                   "elastic job change; start it with --elastic and "
                                                                   "--coordinator, without --rank and --world-size")));
  if (current == State::Running && isSuccessor(m)) {
    const std::optional<ConnectionId> before = members[m.rank].connection;
    memberLost(static_cast<int>(m.rank), absl::StrCat("was started again, as process ", m.pid, " on ", m.hostName),
               ExitCode::PeerFailed);
    if (before)
      turnAway(*before,
               clusterError(static_cast<int>(m.rank), absl::StrCat(describe(m), " takes the place of this process")));
    if (current == State::Failed)
      return turnAway(id, firstError);
  }
  if (current != State::Joining)
    return turnAway(id, clusterError(m.rank, absl::StrCat(describe(m), " came too late: the job has ", members.size(),
                                                          " workers and is running")));
  if (std::optional<std::string> what = misfit(m))
    return misfits(id, m, *std::move(what));
  if (options.planDigest.empty())
    options.planDigest = m.planDigest;
  strangers.erase(id);
  Member &member = members[m.rank];
  member.joined = true;
  member.connection = id;
  member.join = m;
  member.lastHeard = member.advanced = clock.now();
  if (options.joined)
    options.joined(m);
  if (!lastMisfit.empty())
    send(id, WaitingMessage{{}, 0, absl::StrCat("turned away: ", lastMisfit)});
  if (!missing().empty())
    return;
  current = State::Running;
  ran = true;
  for (Member &each : members)
    each.advanced = clock.now();
  stragglers.emplace(members.size(), options.stragglers, clock.now());
  RosterMessage roster;
  roster.epoch = epoch;
  roster.survives = maySurvive();
  roster.lost = lastLoss;
  roster.sinceLoss = epoch > 0 ? clock.now() - lostAt : 0;
  for (const Member &each : members)
    roster.members.push_back({each.join.hostId, each.join.hostName, each.join.pid, each.join.segment});
  sendAll(roster);
  negotiate(); // what was requested before
  if (!newcomers.empty())
    takeNewcomers();
}

void CoordinatorCore::misfits(ConnectionId id, const JoinMessage &m, std::string what) {
  if (options.authenticated || m.planDigest == options.planDigest) {
    fail(clusterError(static_cast<int>(m.rank), std::move(what))); // tells the newcomer too
    strangers.erase(id);
    return;
  }
  turnAway(id, clusterError(static_cast<int>(m.rank), what));
  note(std::move(what));
}

void CoordinatorCore::refused(const std::string &what) {
  if (!over())
    note(printable(what));
}

void CoordinatorCore::note(std::string what) {
  lastMisfit = std::move(what);
  if (++notes <= kMostNotes)
    sendAll(WaitingMessage{{}, 0, absl::StrCat("turned away: ", lastMisfit)});
}

void CoordinatorCore::heartbeat(int rank, const HeartbeatMessage &m) {
  Member &member = members[rank];
  if (m.position != member.last.position || m.awaited != member.last.awaited || m.moved != member.last.moved)
    member.advanced = clock.now();
  member.last = m;
  member.isNew = member.isNew && m.position == Position();
  ++member.heartbeats;
  member.waits += m.awaited != WaitRecord::kNoRank;
  if (stragglers && !member.left)
    stragglers->add(static_cast<uint32_t>(rank), m);
}

std::vector<WorkerReport> CoordinatorCore::reports() const {
  std::vector<WorkerReport> all;
  for (const Member &m : members)
    all.push_back({m.joined && !m.left && m.connection.has_value(), m.last, m.heartbeats, m.waits});
  return all;
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
  members[rank].advanced = clock.now();
  if (!std::all_of(members.begin(), members.end(), [](const Member &x) { return x.gathered.has_value(); }))
    return;
  GatheredMessage all;
  all.round = round++;
  for (Member &x : members) {
    all.data.push_back(*std::exchange(x.gathered, std::nullopt));
    x.advanced = clock.now();
  }
  sendAll(all);
}

void CoordinatorCore::leave(int rank) {
  members[rank].left = true;
  members[rank].advanced = clock.now();
  if (current != State::Running || !std::all_of(members.begin(), members.end(), [](const Member &x) { return x.left; }))
    return;
  current = State::Done;
  sendAll(AllLeftMessage{});
  for (const auto &[id, join] : newcomers)
    send(id, AllLeftMessage{});
}

void CoordinatorCore::tick() {
  const TimeNs now = clock.now();
  // When this process itself was stopped or starved, the silence is its own.
  const TimeNs allowance = std::max<TimeNs>(0, now - lastTick - 1_s);
  lastTick = now;
  for (auto &[id, since] : strangers)
    since = std::min(now, since + allowance);
  if (allowance)
    for (Member &m : members) {
      m.lastHeard = std::min(now, m.lastHeard + allowance);
      m.advanced = std::min(now, m.advanced + allowance);
    }

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
    if (m.left || (!m.connection && !m.lostAt))
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
  if (current == State::Running)
    if (std::vector<RankWait> waits = stalled(now); !waits.empty())
      return failStalled(std::move(waits));
  if (current == State::Running && members[0].connection)
    if (auto found = stragglers->look(now))
      send(*members[0].connection,
           StragglerMessage{found->rank, members[found->rank].join.hostName, found->busy, found->median,
                            static_cast<double>(found->window) / kNsPerSecond, found->position});
  if (current != State::Joining)
    return;
  const double seconds = static_cast<double>(now - start) / kNsPerSecond;
  if (now - start >= options.joinTimeout) {
    std::vector<uint32_t> absent = missing();
    if (options.elastic && epoch > 0)
      return memberLost(
          static_cast<int>(absent.front()),
          absl::StrCat("did not join again within ", static_cast<double>(options.joinTimeout) / kNsPerSecond, " s"),
          ExitCode::PeerFailed);
    JobError e = clusterError(-1, absl::StrCat(ranksText(absent), " of ", members.size(), " did not join within ",
                                               static_cast<double>(options.joinTimeout) / kNsPerSecond,
                                               " s; start them, or raise --join-timeout",
                                               lastMisfit.empty() ? "" : absl::StrCat(". Turned away: ", lastMisfit)));
    e.code = absl::StatusCode::kDeadlineExceeded;
    return fail(std::move(e));
  }
  if (now >= nextNotice) {
    nextNotice = now + options.noticePeriod;
    sendAll(WaitingMessage{missing(), seconds, ""});
  }
}

TimeNs CoordinatorCore::nextDeadline() const {
  TimeNs next = lastTick + 1_s;
  for (const auto &[id, since] : strangers)
    next = std::min(next, since + options.strangerTime);
  if (over())
    return next;
  for (const Member &m : members)
    if (!m.left && (m.connection || m.lostAt))
      next = std::min(next, m.lostAt ? *m.lostAt + options.exitReportGrace : m.lastHeard + options.silence);
  if (current == State::Joining)
    next = std::min({next, nextNotice, start + options.joinTimeout});
  return next;
}

} // namespace dgc::rt
