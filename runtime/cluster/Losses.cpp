// What the loss of a worker, or of a connection, is to a job: its end, or the beginning of its next epoch. And workers that
// wait for each other and do not advance.
#include "runtime/cluster/CoordinatorCore.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace dgc::rt {
namespace {

constexpr double kNsPerSecond = 1e9;

} // namespace

void CoordinatorCore::memberLost(int rank, const std::string &how, ExitCode code) {
  const Member &m = members[rank];
  JobError e;
  e.code = absl::StatusCode::kAborted;
  e.exitCode = code;
  e.rank = rank;
  e.message = absl::StrCat("rank ", rank, " ", how);
  if (current == State::Running) {
    e.position = m.last.position;
    if (options.exactPosition)
      if (std::optional<Position> exact = options.exactPosition(rank))
        e.position = exact;
  } else {
    absl::StrAppend(&e.message, " before all workers had joined");
  }
  if (code != ExitCode::PeerFailed && code != ExitCode::Network && !m.isNew) // by an error of its own
    return fail(std::move(e));
  if (!survives(e, rank))
    fail(std::move(e));
}

void CoordinatorCore::closed(ConnectionId id) {
  connected.erase(id);
  strangers.erase(id);
  newcomers.erase(id);
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

void CoordinatorCore::processEnded(int rank, int code, int signal, uint64_t pid) {
  if (options.elastic && ran) {
    const auto found = std::find_if(members.begin(), members.end(), [&](const Member &m) { return m.join.pid == pid; });
    if (found == members.end()) // none of those that are in the job
      return;
    rank = static_cast<int>(found - members.begin());
  }
  if (over() || members[rank].left)
    return;
  if (signal)
    return memberLost(rank, absl::StrCat("was killed by signal ", signal, " (", strsignal(signal), ")"),
                      ExitCode::PeerFailed);
  memberLost(rank, absl::StrCat("ended early with exit code ", code),
             code == 0 ? ExitCode::PeerFailed : static_cast<ExitCode>(code));
}

/// Whether the job is at another step than at the loss before, as far as is known: a worker that dies again and again at
/// one step is not helped.
bool CoordinatorCore::makesProgress() {
  uint64_t now = 0;
  for (size_t r = 0; r < members.size(); ++r) {
    Position at = members[r].last.position;
    if (options.exactPosition)
      at = options.exactPosition(static_cast<int>(r)).value_or(at);
    now = std::max(now, at.step);
  }
  const bool isFurther = stepOfLoss == UINT64_MAX || now > stepOfLoss;
  fruitless = isFurther ? 1 : fruitless + 1;
  if (isFurther)
    stepOfLoss = now;
  return fruitless < kMostFruitless;
}

std::string CoordinatorCore::whyLost(int rank) {
  if (options.elastic && rank >= 0 && sizeFor(members.size() - 1 + newcomers.size()) == 0)
    return absl::StrCat(members.size() - 1, members.size() == 2 ? " worker is" : " workers are",
                        " left, and --elastic asks for ", options.elastic->least, " at least: the job ends");
  if (!options.elastic && restarted == options.restarts)
    return absl::StrCat(restarted, restarted == 1 ? " restart was" : " restarts were",
                        " all that --max-restarts allows: the job ends");
  if (!makesProgress())
    return absl::StrCat(fruitless, " workers were lost and the job has not come beyond step ", stepOfLoss, ": it ends");
  return "";
}

bool CoordinatorCore::survives(const JobError &loss, int rank) {
  if (over() || !maySurvive() || (options.elastic && !ran))
    return false;
  std::string why = whyLost(rank);
  if (!why.empty()) {
    const auto any =
        std::find_if(members.begin(), members.end(), [](const Member &m) { return m.connection.has_value(); });
    if (any != members.end())
      send(*any->connection, WaitingMessage{{}, 0, std::move(why)});
    return false;
  }
  ++restarted;
  if (rank >= 0)
    drop(rank);
  if (current == State::Running || options.elastic)
    beginEpoch(loss);
  return true;
}

/// Waits for another process of this rank; goes on without, where the job is elastic.
void CoordinatorCore::drop(int rank) {
  Member &member = members[rank];
  lost.push_back({rank, member.join.pid});
  if (options.elastic && member.connection) // it lives
    turnAway(*member.connection,
             clusterError(rank, absl::StrCat("the job has lost ", describe(member.join),
                                             " and goes on without it; start it again with --elastic "
                                             "and --coordinator, without --rank")));
  if (options.elastic)
    members.erase(members.begin() + rank);
  else
    members[rank] = Member();
}

void CoordinatorCore::beginEpoch(const JobError &loss) {
  ++epoch;
  current = State::Joining;
  lastLoss = loss;
  lostAt = start = clock.now();
  nextNotice = start + options.noticePeriod;
  stragglers.reset();
  round = 0;
  negotiation.reset();
  requests.clear(); // the workers ask again for what they still want
  if (stopping)
    requests.push_back(*stopping);
  for (size_t r = members.size(); r-- > 0;)
    if (members[r].left && !members[r].connection) // its end was none of the job
      drop(static_cast<int>(r));
  if (options.elastic) {
    if (sizeFor(members.size() + newcomers.size()) == 0)
      return fail(loss);
    arrange(loss);
  }
  for (size_t r = 0; r < members.size(); ++r) {
    Member &m = members[r];
    m.joined = m.left = false;
    m.gathered.reset();
    m.proposal.reset();
    m.last = {};
    if (m.connection)
      send(*m.connection, RegroupMessage{loss, epoch, static_cast<uint32_t>(r), static_cast<uint32_t>(members.size())});
  }
}

/// Whether a worker that comes while the job runs takes the place of one whose loss was not noticed yet, as that of a
/// machine.
bool CoordinatorCore::isSuccessor(const JoinMessage &m) const {
  if (options.restarts == 0 || options.elastic || m.rank >= members.size() || m.worldSize != members.size() ||
      m.protocol != kClusterProtocol || m.planDigest != options.planDigest)
    return false;
  const JoinMessage &before = members[m.rank].join;
  return !members[m.rank].left && (m.hostId != before.hostId || m.pid != before.pid);
}

std::vector<RankWait> CoordinatorCore::waitsOf(uint32_t rank) const {
  const Member &m = members[rank];
  const auto awaited = static_cast<uint32_t>(m.last.awaited); // kNoRank: no such rank
  if (awaited < members.size() && awaited != rank && !m.left && !m.gathered)
    return {{rank, awaited, RankWait::Transfer, m.last.position}};
  std::vector<RankWait> waits;
  for (uint32_t r = 0; r < members.size() && (m.left || m.gathered); ++r)
    if (r != rank && !(m.left ? members[r].left : members[r].gathered.has_value()))
      waits.push_back({rank, r, m.left ? RankWait::End : RankWait::Exchange, {}});
  return waits;
}

/// A rank is stalled when it has waited long enough, for a rank that is stalled. So the largest set of ranks for which
/// that holds is sought, beginning with all that have waited long enough.
std::vector<RankWait> CoordinatorCore::stalled(TimeNs now) const {
  std::vector<std::vector<RankWait>> waits(members.size()); // of those that may be stalled
  for (uint32_t r = 0; r < members.size(); ++r)
    if (now - members[r].advanced >= options.stallTimeout)
      waits[r] = waitsOf(r);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::vector<RankWait> &each : waits)
      changed = std::erase_if(each, [&](const RankWait &w) { return waits[w.awaited].empty(); }) > 0 || changed;
  }
  std::vector<RankWait> found;
  for (const std::vector<RankWait> &each : waits)
    if (!each.empty())
      found.push_back(each.front());
  return found;
}

void CoordinatorCore::failStalled(std::vector<RankWait> waits) {
  constexpr size_t kMostListed = 16;
  JobError e;
  e.code = absl::StatusCode::kDeadlineExceeded;
  e.exitCode = ExitCode::Network;
  std::vector<uint32_t> ranks;
  for (const RankWait &w : waits)
    ranks.push_back(w.rank);
  e.message = absl::StrCat(ranksText(ranks), " have not advanced for ",
                           static_cast<double>(options.stallTimeout) / kNsPerSecond,
                           " s (--stall-timeout) and wait for each other: see that nothing blocks the connections "
                           "between their machines");
  waits.resize(std::min(waits.size(), kMostListed));
  e.waits = std::move(waits);
  if (!survives(e, -1))
    fail(std::move(e));
}

} // namespace dgc::rt
