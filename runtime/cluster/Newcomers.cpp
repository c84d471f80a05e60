// Workers that join an elastic job as one more.
#include "runtime/cluster/CoordinatorCore.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace dgc::rt {

std::string CoordinatorCore::whyFull() const {
  if (!options.elastic)
    return absl::StrCat("the job has a fixed number of workers, ", members.size(),
                        ": give each its --rank, or begin the job with --elastic MIN:MAX");
  if (static_cast<int>(members.size()) >= options.elastic->most)
    return absl::StrCat("the job has ", members.size(), " workers, as many as --elastic allows");
  if (current == State::Done || std::any_of(members.begin(), members.end(), [](const Member &m) { return m.left; }))
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

/// Begins an epoch with the workers that have come, as far as there is room.
void CoordinatorCore::takeNewcomers() {
  JobError reason;
  for (const auto &[id, join] : std::exchange(newcomers, {})) {
    if (std::string full = whyFull(); !full.empty()) {
      turnAway(id, clusterError(-1, absl::StrCat(describe(join), " cannot join: ", full)));
      continue;
    }
    absl::StrAppend(&reason.message, reason.message.empty() ? "" : ", ", describe(join), " has joined as rank ",
                    members.size());
    Member &member = members.emplace_back();
    member.connection = id;
    member.join = join;
    member.lastHeard = member.advanced = clock.now();
  }
  if (!reason.message.empty())
    beginEpoch(reason);
}

} // namespace dgc::rt
