// Can the communication of a plan come to an end?
#include "runtime/artifact/CommunicationOrder.h"

#include <algorithm>
#include <unordered_map>

namespace dgc::rt {

namespace {
using Kind = Communication::Kind;

class Simulation {
public:
  explicit Simulation(const CommunicationPlan &plan)
      : plan(plan), next(plan.workers.size(), 0), arrived(plan.groups.size(), 0), waiting(plan.workers.size(), false) {}

  std::optional<std::string> run() {
    if (auto error = checkForm())
      return error;
    for (uint32_t rank = 0; rank < plan.workers.size(); ++rank)
      ready.push_back(rank);
    while (!ready.empty()) {
      uint32_t rank = ready.back();
      ready.pop_back();
      if (auto error = arrive(rank))
        return error;
    }
    for (uint32_t rank = 0; rank < plan.workers.size(); ++rank)
      if (current(rank))
        return describeStall(rank);
    return std::nullopt;
  }

private:
  /// What `rank` is at; null when it has ended.
  const Communication *current(uint32_t rank) const {
    const auto &list = plan.workers[rank];
    return next[rank] < list.size() ? &list[next[rank]] : nullptr;
  }

  std::string name(uint32_t rank, const Communication &c) const {
    std::string text = "rank " + std::to_string(rank) + " in ";
    text += plan.signatures[c.signature];
    if (c.kind == Kind::Send)
      text += " to rank " + std::to_string(c.peer);
    if (c.kind == Kind::Receive)
      text += " from rank " + std::to_string(c.peer);
    if (!plan.places[c.place].empty())
      text += " (" + plan.places[c.place] + ")";
    return text;
  }

  /// Every member exists and is there once, and belongs to its groups.
  std::optional<std::string> checkForm() const {
    size_t world = plan.workers.size();
    for (const auto &group : plan.groups) {
      std::vector<uint32_t> sorted(group);
      std::sort(sorted.begin(), sorted.end());
      bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
      if (sorted.empty() || twice || sorted.back() >= world)
        return "a group is empty, has a rank twice, or one that does not exist";
    }
    // Groups of a rank, to find membership without a search in each group.
    std::vector<std::vector<uint32_t>> groupsOf(world);
    for (uint32_t group = 0; group < plan.groups.size(); ++group)
      for (uint32_t rank : plan.groups[group])
        groupsOf[rank].push_back(group);
    for (uint32_t rank = 0; rank < world; ++rank)
      for (const Communication &c : plan.workers[rank]) {
        const auto &mine = groupsOf[rank];
        if (c.kind == Kind::Collective && !std::binary_search(mine.begin(), mine.end(), c.group))
          return name(rank, c) + " is no member of the group";
        if (c.kind != Kind::Collective && (c.peer >= world || c.peer == rank))
          return name(rank, c) + ": there is no such partner";
      }
    return std::nullopt;
  }

  /// `rank` comes to its next operation; what is complete with it happens.
  std::optional<std::string> arrive(uint32_t rank) {
    const Communication *c = current(rank);
    if (!c)
      return std::nullopt;
    waiting[rank] = true;
    if (c->kind == Kind::Collective)
      return arriveAtCollective(rank, *c);
    const Communication *other = current(c->peer);
    Kind wanted = c->kind == Kind::Send ? Kind::Receive : Kind::Send;
    if (!waiting[c->peer] || !other || other->kind != wanted || other->peer != rank || other->channel != c->channel)
      return std::nullopt; // The partner will find this rank waiting.
    if (other->signature != c->signature)
      return name(rank, *c) + " meets " + name(c->peer, *other) + ", which is not the same";
    uint32_t peer = c->peer;
    finish(rank);
    finish(peer);
    return std::nullopt;
  }

  std::optional<std::string> arriveAtCollective(uint32_t rank, const Communication &c) {
    const auto &group = plan.groups[c.group];
    if (++arrived[c.group] < group.size())
      return std::nullopt;
    arrived[c.group] = 0;
    for (uint32_t member : group)
      if (current(member)->signature != c.signature)
        return name(rank, c) + " meets " + name(member, *current(member)) + ", which is not the same";
    for (uint32_t member : group)
      finish(member);
    return std::nullopt;
  }

  void finish(uint32_t rank) {
    ++next[rank];
    waiting[rank] = false;
    ready.push_back(rank);
  }

  /// Somebody that `rank`, which is stuck, waits for.
  uint32_t waitsFor(uint32_t rank) {
    const Communication &c = *current(rank);
    if (c.kind != Kind::Collective)
      return c.peer;
    auto [it, isNew] = absent.try_emplace(c.group, rank); // `rank` cannot be: somebody is not there
    if (!isNew)
      return it->second;
    for (uint32_t member : plan.groups[c.group]) {
      const Communication *other = current(member);
      if (!other || other->kind != Kind::Collective || other->group != c.group) {
        it->second = member;
        break;
      }
    }
    return it->second;
  }

  /// Follows who waits for whom until somebody has ended or comes again.
  std::string describeStall(uint32_t rank) {
    std::vector<uint32_t> path;
    std::unordered_map<uint32_t, size_t> place; // rank -> where it is on the path
    while (current(rank) && place.try_emplace(rank, path.size()).second) {
      path.push_back(rank);
      rank = waitsFor(rank);
    }
    if (!current(rank))
      return name(path.back(), *current(path.back())) + " waits for rank " + std::to_string(rank) +
             ", which has nothing left to do";
    constexpr size_t shown = 8;
    std::string text = "nobody can go on: ";
    const size_t begin = place[rank];
    for (size_t i = begin; i < path.size() && i < begin + shown; ++i) {
      uint32_t wanted = i + 1 == path.size() ? rank : path[i + 1];
      text += (i == begin ? "" : "; ") + name(path[i], *current(path[i])) + " waits for rank " + std::to_string(wanted);
    }
    if (path.size() - begin > shown)
      text += "; and so on, " + std::to_string(path.size() - begin) + " ranks in a circle";
    return text;
  }

  const CommunicationPlan &plan;
  std::vector<size_t> next;
  std::vector<size_t> arrived;                   // per group, members that are at it
  std::vector<bool> waiting;                     // per rank, whether it has come to `current`
  std::vector<uint32_t> ready;                   // ranks that have yet to come to it
  std::unordered_map<uint32_t, uint32_t> absent; // group -> a member that is not at it, once nobody can go on
};
} // namespace

std::optional<std::string> findCommunicationError(const CommunicationPlan &plan) { return Simulation(plan).run(); }

} // namespace dgc::rt
