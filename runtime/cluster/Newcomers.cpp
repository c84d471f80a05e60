// Workers that join an elastic job as one more, and those that wait for others.
#include "runtime/cluster/CoordinatorCore.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace dgc::rt {

int CoordinatorCore::sizeFor(size_t workers) const {
  const auto [least, most, between] = *options.elastic;
  int size = std::min(static_cast<int>(workers), most);
  while (size >= least && !between.empty() && std::count(between.begin(), between.end(), size) == 0)
    --size;
  return size < least ? 0 : size;
}

std::string CoordinatorCore::whyFull() const {
  if (!options.elastic)
    return absl::StrCat("the job has a fixed number of workers, ", members.size(),
                        ": give each its --rank, or begin the job with --elastic MIN:MAX");
  if (static_cast<int>(members.size() + newcomers.size()) >= options.elastic->most)
    return absl::StrCat("the job has ", members.size() + newcomers.size(), " workers, as many as --elastic allows");
  if (current == State::Done || stopping ||
      std::any_of(members.begin(), members.end(), [](const Member &m) { return m.left; }))
    return "the job is about to end";
  return "";
}

void CoordinatorCore::admit(ConnectionId id, const JoinMessage &m) {
  std::optional<std::string> what = misfitOfPlan(m);
  if (!what)
    if (std::string full = whyFull(); !full.empty())
      what = absl::StrCat(describe(m), " cannot join: ", full);
  if (what) {
    turnAway(id, clusterError(-1, *what));
    return note(*std::move(what));
  }
  strangers.erase(id);
  newcomers[id] = m;
  if (ran)
    takeNewcomers();
}

void CoordinatorCore::receivedFromNewcomer(ConnectionId id, const FromWorker &message) {
  if (auto *m = std::get_if<HeartbeatMessage>(&message))
    send(id, HeartbeatReply{members[0].last.position, m->sent, clock.now(), {}});
  // What else it says it has said before it heard that it is to wait.
}

/// Begins an epoch with the workers that have come, where there is a plan for more.
void CoordinatorCore::takeNewcomers() {
  const auto size = static_cast<size_t>(sizeFor(members.size() + newcomers.size()));
  JobError reason;
  size_t rank = members.size();
  for (auto each = newcomers.begin(); rank < size; ++each, ++rank)
    absl::StrAppend(&reason.message, reason.message.empty() ? "" : ", ", describe(each->second), " has joined as rank ",
                    rank);
  if (!reason.message.empty())
    return beginEpoch(reason);
  for (const auto &[id, join] : newcomers)
    send(id, WaitingMessage{{},
                            0,
                            absl::StrCat("the job has ", members.size(), " workers, and there is no plan for ",
                                         members.size() + newcomers.size(), ": waiting for more of them")});
}

void CoordinatorCore::arrange(const JobError &loss) {
  const auto size = static_cast<size_t>(sizeFor(members.size() + newcomers.size()));
  while (members.size() < size) {
    auto first = newcomers.extract(newcomers.begin());
    Member &member = members.emplace_back();
    member.connection = first.key();
    member.join = std::move(first.mapped());
    member.isNew = true;
    member.lastHeard = member.advanced = clock.now();
  }
  while (members.size() > size) {
    Member &last = members.back();
    if (!last.connection) { // it is lost, as will be heard in a moment
      drop(static_cast<int>(members.size()) - 1);
      continue;
    }
    last.join.rank = JoinMessage::kAnyRank;
    newcomers[*last.connection] = last.join;
    send(*last.connection, RegroupMessage{loss, epoch, JoinMessage::kAnyRank, 0});
    members.pop_back();
  }
}

} // namespace dgc::rt
