// Where to compute what: the problem, and solvers for it.

#include "passes/place/Placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace dgc {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string number(const char *what, size_t i) { return std::string(what) + " " + std::to_string(i); }

/// Ops that are on one device: the members of a colocation, or a single one. In the order of their first ops.
struct Units {
  explicit Units(const PlacementProblem &problem) {
    std::map<int, size_t> byColocation;
    for (size_t i = 0; i < problem.ops.size(); ++i) {
      int colocation = problem.ops[i].colocation;
      auto [it, isNew] = byColocation.try_emplace(colocation, members.size());
      if (colocation < 0 || isNew) {
        members.emplace_back();
        device.push_back(-1);
        it->second = colocation < 0 ? it->second : members.size() - 1;
      }
      size_t unit = colocation < 0 ? members.size() - 1 : it->second;
      members[unit].push_back(static_cast<int>(i));
      if (problem.ops[i].device >= 0)
        device[unit] = problem.ops[i].device;
    }
  }
  std::vector<std::vector<int>> members;
  std::vector<int> device; // that is asked for, or -1
};

bool fits(const PlacementProblem &problem, const std::vector<int> &devices) {
  std::vector<uint64_t> used(problem.devices.size(), 0);
  for (size_t i = 0; i < devices.size(); ++i)
    if (devices[i] >= 0) {
      uint64_t capacity = problem.devices[devices[i]].capacity, bytes = problem.ops[i].bytes;
      if (bytes > capacity - std::min(used[devices[i]], capacity))
        return false;
      used[devices[i]] += bytes;
    }
  return true;
}
} // namespace

std::string PlacementProblem::check() const {
  if (devices.empty())
    return "there are no devices";
  for (size_t i = 0; i < devices.size(); ++i)
    if (!(devices[i].rate > 0))
      return number("device", i) + " has a rate that is not above 0";
  if (!bandwidth.empty() && bandwidth.size() != devices.size())
    return "there are rows of bandwidth for " + std::to_string(bandwidth.size()) + " of " +
           std::to_string(devices.size()) + " devices";
  for (size_t i = 0; i < bandwidth.size(); ++i)
    for (size_t j = 0; j < devices.size(); ++j)
      if (bandwidth[i].size() != devices.size() || (i != j && !(bandwidth[i][j] > 0)))
        return "the bandwidth from " + number("device", i) + " to " + number("device", j) + " is not above 0";
  if (!(defaultBandwidth > 0))
    return "the bandwidth is not above 0";
  if (!(slack >= 0))
    return "the slack is below 0";
  std::map<int, int> asked; // by colocation
  for (size_t i = 0; i < ops.size(); ++i) {
    const Op &op = ops[i];
    if (!(op.flops >= 0))
      return number("op", i) + " has less than no work";
    if (op.device < -1 || op.device >= static_cast<int>(devices.size()))
      return number("op", i) + " must be on " + number("device", op.device) + ", which there is not";
    for (int operand : op.operands)
      if (operand < 0 || operand >= static_cast<int>(i))
        return number("op", i) + " reads " + number("op", operand) + ", which is not before it";
    if (op.colocation < 0 || op.device < 0)
      continue;
    auto [it, isNew] = asked.try_emplace(op.colocation, op.device);
    if (!isNew && it->second != op.device)
      return number("op", i) + " must be on " + number("device", op.device) + " and with one that must be on " +
             number("device", it->second);
  }
  return "";
}

/// Calls `f` with the producer of each result, where it is, and each other device that reads it.
template <typename F> static void forTransfers(const PlacementProblem &problem, const std::vector<int> &devices, F f) {
  std::vector<std::set<int>> sentTo(problem.ops.size());
  for (size_t i = 0; i < problem.ops.size(); ++i)
    for (int operand : problem.ops[i].operands) {
      int from = devices[operand], to = devices[i];
      if (from >= 0 && to >= 0 && from != to && sentTo[operand].insert(to).second)
        f(problem.ops[operand], from, to);
    }
}

double placementCost(const PlacementProblem &problem, const std::vector<int> &devices) {
  std::vector<double> busy(problem.devices.size(), 0);
  for (size_t i = 0; i < problem.ops.size(); ++i)
    if (devices[i] >= 0)
      busy[devices[i]] += problem.ops[i].flops / problem.devices[devices[i]].rate;
  forTransfers(problem, devices, [&](const PlacementProblem::Op &op, int from, int to) {
    double seconds = static_cast<double>(op.resultBytes) / problem.bandwidthBetween(from, to);
    busy[from] += seconds;
    busy[to] += seconds;
  });
  return busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
}

uint64_t placementBytes(const PlacementProblem &problem, const std::vector<int> &devices) {
  uint64_t bytes = 0;
  forTransfers(problem, devices, [&](const PlacementProblem::Op &op, int, int) { bytes += op.resultBytes; });
  return bytes;
}

/// The placement with its cost and bytes.
static Placement measured(const PlacementProblem &problem, const std::vector<int> &devices) {
  return {devices, placementCost(problem, devices), placementBytes(problem, devices)};
}

std::string Placement::verify(const PlacementProblem &problem) const {
  if (devices.size() != problem.ops.size())
    return "there are devices for " + std::to_string(devices.size()) + " of " + std::to_string(problem.ops.size()) +
           " ops";
  std::map<int, int> colocated;
  for (size_t i = 0; i < devices.size(); ++i) {
    const PlacementProblem::Op &op = problem.ops[i];
    if (devices[i] < 0 || devices[i] >= static_cast<int>(problem.devices.size()))
      return number("op", i) + " is on a device that there is not";
    if (op.device >= 0 && op.device != devices[i])
      return number("op", i) + " is not on the device that it must be on";
    if (op.colocation >= 0 && colocated.try_emplace(op.colocation, devices[i]).first->second != devices[i])
      return number("op", i) + " is not with the others of its colocation";
  }
  if (!fits(problem, devices))
    return "a device has less memory than its ops need";
  double actual = placementCost(problem, devices);
  if (std::abs(actual - cost) > 1e-9 * std::max(1.0, actual))
    return "the cost is " + std::to_string(actual) + ", not " + std::to_string(cost);
  if (uint64_t sent = placementBytes(problem, devices); sent != bytes)
    return std::to_string(sent) + " bytes are sent, not " + std::to_string(bytes);
  return "";
}

/// Places unit after unit: to the cheapest device or, with a limit of the cost, to that which lets fewest bytes be
/// sent.
static Placement placeInOrder(const PlacementProblem &problem, const Units &units, double limit) {
  std::vector<int> devices(problem.ops.size(), -1);
  for (size_t unit = 0; unit < units.members.size(); ++unit) {
    int best = -1;
    std::pair<uint64_t, double> least;
    for (int device = 0; device < static_cast<int>(problem.devices.size()); ++device) {
      if (units.device[unit] >= 0 && units.device[unit] != device)
        continue;
      for (int op : units.members[unit])
        devices[op] = device;
      double cost = placementCost(problem, devices);
      uint64_t bytes = limit < infinity ? placementBytes(problem, devices) : 0;
      if (cost <= limit && fits(problem, devices) && (best < 0 || std::pair(bytes, cost) < least)) {
        best = device;
        least = {bytes, cost};
      }
    }
    if (best < 0)
      return {};
    for (int op : units.members[unit])
      devices[op] = best;
  }
  return measured(problem, devices);
}

Placement placeGreedy(const PlacementProblem &problem) {
  Units units(problem);
  Placement cheapest = placeInOrder(problem, units, infinity);
  if (!cheapest)
    return {};
  Placement close = placeInOrder(problem, units, cheapest.cost * (1 + problem.slack));
  return close && close.bytes < cheapest.bytes ? close : cheapest;
}

namespace {
/// Places unit after unit; gives up a branch that cannot be better than the best so far. Cost and bytes only grow with
/// more ops.
class BranchAndBound {
public:
  explicit BranchAndBound(const PlacementProblem &problem)
      : problem(problem), units(problem), devices(problem.ops.size(), -1) {}

  Placement run() {
    branch(0);
    if (best) {
      limit = best.cost * (1 + problem.slack);
      branch(0);
    }
    return best;
  }

private:
  /// First the cheapest placement is wanted; then, with a limit of the cost, that with the fewest bytes.
  bool isBetter() const {
    double cost = placementCost(problem, devices);
    if (limit == infinity)
      return !best || cost < best.cost;
    return cost <= limit && std::pair(placementBytes(problem, devices), cost) < std::pair(best.bytes, best.cost);
  }

  void branch(size_t unit) {
    if (unit == units.members.size()) {
      best = measured(problem, devices);
      return;
    }
    for (int device = 0; device < static_cast<int>(problem.devices.size()); ++device) {
      if (units.device[unit] >= 0 && units.device[unit] != device)
        continue;
      for (int op : units.members[unit])
        devices[op] = device;
      if (fits(problem, devices) && isBetter())
        branch(unit + 1);
    }
    for (int op : units.members[unit])
      devices[op] = -1;
  }

  const PlacementProblem &problem;
  Units units;
  std::vector<int> devices;
  Placement best;
  double limit = infinity;
};
} // namespace

Placement placeExact(const PlacementProblem &problem) { return BranchAndBound(problem).run(); }

namespace {
/// The cuts of the list into ranges. f[d][j] is the best cut of the first j ops into ranges for the first d devices:
///
///   least cost:  f[d + 1][j] = min over i of max(f[d][i], cost of the range [i, j) on d)
///   fewest bytes, of ranges that cost no more than a limit, then least cost:
///                f[d + 1][j] = min over i of (bytes of f[d][i] + bytes across i, max(cost of f[d][i], cost of [i, j)))
class ChainCuts {
public:
  explicit ChainCuts(const PlacementProblem &problem)
      : problem(problem), size(problem.ops.size()), crossing(size + 1, 0), anchors(size + 1, 0), work(size + 1, 0),
        bytes(size + 1, 0), first(size), last(size) {
    std::vector<size_t> lastReader(size, 0);
    std::map<int, std::pair<size_t, size_t>> colocated; // the first and the last op of each
    for (size_t i = 0; i < size; ++i) {
      const PlacementProblem::Op &op = problem.ops[i];
      anchors[i + 1] = anchors[i] + op.anchor;
      work[i + 1] = work[i] + op.flops;
      bytes[i + 1] = bytes[i] + static_cast<double>(op.bytes);
      for (int operand : op.operands)
        lastReader[operand] = std::max(lastReader[operand], i);
      if (op.colocation >= 0)
        colocated.try_emplace(op.colocation, i, i).first->second.second = i;
    }
    for (size_t i = 0; i < size; ++i) {
      for (size_t at = i + 1; at <= lastReader[i]; ++at)
        crossing[at] += problem.ops[i].resultBytes;
      auto it = colocated.find(problem.ops[i].colocation);
      std::tie(first[i], last[i]) = it == colocated.end() ? std::pair(i, i) : it->second;
    }
  }

  Placement run() {
    const size_t count = problem.devices.size();
    for (const std::vector<size_t> &candidates : {anchors, counted()}) {
      const bool isEnough = candidates.back() >= count;
      required = isEnough ? candidates : std::vector<size_t>();
      double least = isEnough || size < count ? solve(infinity) : infinity;
      if (least < infinity) {
        solve(least * (1 + problem.slack));
        return traced();
      }
    }
    return {};
  }

private:
  struct Cut {
    uint64_t bytes = 0; // 0 where only the cost counts
    double cost = infinity;
    size_t begin = 0; // of the last range
    bool operator<(const Cut &other) const { return std::tie(bytes, cost) < std::tie(other.bytes, other.cost); }
  };

  /// How many ops are before op i.
  std::vector<size_t> counted() const {
    std::vector<size_t> count(size + 1);
    std::iota(count.begin(), count.end(), 0);
    return count;
  }

  /// Fills `best` and returns the cost of the best cut. Without a limit only the cost counts.
  double solve(double limit) {
    size_t count = problem.devices.size();
    best.assign(count + 1, std::vector<Cut>(size + 1, Cut{UINT64_MAX}));
    best[0][0] = {0, 0};
    for (size_t d = 0; d < count; ++d)
      for (size_t begin = 0; begin <= size; ++begin)
        if (best[d][begin].cost < infinity)
          extend(d, begin, limit);
    return best[count][size].cost;
  }

  /// Adds to the best cut of the ops before `begin` a range for device d.
  void extend(size_t d, size_t begin, double limit) {
    const Cut &before = best[d][begin];
    uint64_t sent = limit < infinity && d > 0 ? crossing[begin] : 0;
    size_t mustHold = begin; // the end of the ops that what is in the range must be with
    for (size_t end = begin; end <= size && mayHold(d, begin, end); ++end) {
      if (end > begin)
        mustHold = std::max(mustHold, last[end - 1] + 1);
      double cost = std::max(before.cost, rangeCost(d, begin, end));
      Cut cut{before.bytes + sent, cost, begin};
      if (hasRequired(begin, end) && end >= mustHold && cost <= limit && cost < infinity && cut < best[d + 1][end])
        best[d + 1][end] = cut;
    }
  }

  bool hasRequired(size_t begin, size_t end) const { return required.empty() || required[end] > required[begin]; }

  /// Whether the last op of the range [begin, end) may be on the device, and all of them fit.
  bool mayHold(size_t device, size_t begin, size_t end) const {
    if (end == begin)
      return true;
    const PlacementProblem::Op &op = problem.ops[end - 1];
    return bytes[end] - bytes[begin] <= static_cast<double>(problem.devices[device].capacity) &&
           (op.device < 0 || op.device == static_cast<int>(device)) && first[end - 1] >= begin;
  }

  /// The time that a device is busy with the ops [begin, end).
  double rangeCost(size_t device, size_t begin, size_t end) const {
    double seconds = (work[end] - work[begin]) / problem.devices[device].rate;
    int d = static_cast<int>(device);
    if (begin > 0 && device > 0)
      seconds += static_cast<double>(crossing[begin]) / problem.bandwidthBetween(d - 1, d);
    if (end < size && device + 1 < problem.devices.size())
      seconds += static_cast<double>(crossing[end]) / problem.bandwidthBetween(d, d + 1);
    return seconds;
  }

  Placement traced() const {
    std::vector<int> devices(size);
    for (size_t d = problem.devices.size(), end = size; d > 0; --d) {
      size_t begin = best[d][end].begin;
      std::fill(devices.begin() + begin, devices.begin() + end, static_cast<int>(d - 1));
      end = begin;
    }
    return measured(problem, devices);
  }

  const PlacementProblem &problem;
  size_t size;
  std::vector<uint64_t> crossing;     // bytes that are made before op i and read from it on
  std::vector<size_t> anchors;        // how many are before op i
  std::vector<size_t> required;       // of those that each range has one of: how many are before op i; empty: none
  std::vector<double> work, bytes;    // of the ops before op i
  std::vector<size_t> first, last;    // ops of the colocation of op i
  std::vector<std::vector<Cut>> best; // by devices, then ops
};
} // namespace

Placement placeChain(const PlacementProblem &problem) { return ChainCuts(problem).run(); }

} // namespace dgc
