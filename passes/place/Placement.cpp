// Where to compute what: the problem, and solvers for it.

#include "passes/place/Placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

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
        members.push_back({});
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

double placementCost(const PlacementProblem &problem, const std::vector<int> &devices) {
  std::vector<double> busy(problem.devices.size(), 0);
  std::vector<std::set<int>> sentTo(problem.ops.size());
  for (size_t i = 0; i < problem.ops.size(); ++i) {
    if (devices[i] < 0)
      continue;
    busy[devices[i]] += problem.ops[i].flops / problem.devices[devices[i]].rate;
    for (int operand : problem.ops[i].operands) {
      int from = devices[operand], to = devices[i];
      if (from < 0 || from == to || !sentTo[operand].insert(to).second)
        continue;
      double seconds = static_cast<double>(problem.ops[operand].resultBytes) / problem.bandwidthBetween(from, to);
      busy[from] += seconds;
      busy[to] += seconds;
    }
  }
  return busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
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
  return "";
}

Placement placeGreedy(const PlacementProblem &problem) {
  Units units(problem);
  std::vector<int> devices(problem.ops.size(), -1);
  for (size_t unit = 0; unit < units.members.size(); ++unit) {
    int best = -1;
    double bestCost = infinity;
    for (int device = 0; device < static_cast<int>(problem.devices.size()); ++device) {
      if (units.device[unit] >= 0 && units.device[unit] != device)
        continue;
      for (int op : units.members[unit])
        devices[op] = device;
      double cost = placementCost(problem, devices);
      if (cost < bestCost && fits(problem, devices)) {
        best = device;
        bestCost = cost;
      }
    }
    if (best < 0)
      return {};
    for (int op : units.members[unit])
      devices[op] = best;
  }
  return {devices, placementCost(problem, devices)};
}

namespace {
/// Places unit after unit; gives up a branch that is not below the best so far. The cost only grows with more ops.
class BranchAndBound {
public:
  explicit BranchAndBound(const PlacementProblem &problem)
      : problem(problem), units(problem), devices(problem.ops.size(), -1) {}

  Placement run() {
    branch(0);
    return best;
  }

private:
  void branch(size_t unit) {
    if (unit == units.members.size()) {
      best = {devices, placementCost(problem, devices)};
      return;
    }
    for (int device = 0; device < static_cast<int>(problem.devices.size()); ++device) {
      if (units.device[unit] >= 0 && units.device[unit] != device)
        continue;
      for (int op : units.members[unit])
        devices[op] = device;
      if (fits(problem, devices) && (!best || placementCost(problem, devices) < best.cost))
        branch(unit + 1);
    }
    for (int op : units.members[unit])
      devices[op] = -1;
  }

  const PlacementProblem &problem;
  Units units;
  std::vector<int> devices;
  Placement best;
};
} // namespace

Placement placeExact(const PlacementProblem &problem) { return BranchAndBound(problem).run(); }

namespace {
/// f[d][j]: the cost of the cheapest cut of the first j ops into ranges for the first d devices.
class ChainCuts {
public:
  explicit ChainCuts(const PlacementProblem &problem)
      : problem(problem), size(problem.ops.size()), crossing(size + 1, 0), work(size + 1, 0), bytes(size + 1, 0) {
    std::vector<size_t> last(size, 0); // reader of each result
    for (size_t i = 0; i < size; ++i) {
      work[i + 1] = work[i] + problem.ops[i].flops;
      bytes[i + 1] = bytes[i] + static_cast<double>(problem.ops[i].bytes);
      for (int operand : problem.ops[i].operands)
        last[operand] = std::max(last[operand], i);
    }
    for (size_t i = 0; i < size; ++i)
      for (size_t at = i + 1; at <= last[i]; ++at)
        crossing[at] += static_cast<double>(problem.ops[i].resultBytes);
  }

  Placement run() {
    size_t count = problem.devices.size(), atLeast = size >= count ? 1 : 0;
    std::vector<std::vector<double>> cost(count + 1, std::vector<double>(size + 1, infinity));
    std::vector<std::vector<size_t>> from(count + 1, std::vector<size_t>(size + 1, 0));
    cost[0][0] = 0;
    for (size_t d = 0; d < count; ++d)
      for (size_t end = 0; end <= size; ++end)
        for (size_t begin = 0; begin + atLeast <= end; ++begin) {
          double both = std::max(cost[d][begin], rangeCost(d, begin, end));
          if (both < cost[d + 1][end]) {
            cost[d + 1][end] = both;
            from[d + 1][end] = begin;
          }
        }
    if (cost[count][size] == infinity)
      return {};
    std::vector<int> devices(size);
    for (size_t d = count, end = size; d > 0; --d) {
      for (size_t i = from[d][end]; i < end; ++i)
        devices[i] = static_cast<int>(d - 1);
      end = from[d][end];
    }
    return {devices, placementCost(problem, devices)};
  }

private:
  /// The time that a device is busy with the ops [begin, end); infinite when they do not fit or may not be there.
  double rangeCost(size_t device, size_t begin, size_t end) const {
    if (bytes[end] - bytes[begin] > static_cast<double>(problem.devices[device].capacity))
      return infinity;
    for (size_t i = begin; i < end; ++i) {
      const PlacementProblem::Op &op = problem.ops[i];
      if (op.device >= 0 && op.device != static_cast<int>(device))
        return infinity;
      if (op.colocation >= 0 && !holdsColocation(op.colocation, begin, end))
        return infinity;
    }
    double seconds = (work[end] - work[begin]) / problem.devices[device].rate;
    int d = static_cast<int>(device);
    if (begin > 0 && device > 0)
      seconds += crossing[begin] / problem.bandwidthBetween(d - 1, d);
    if (end < size && device + 1 < problem.devices.size())
      seconds += crossing[end] / problem.bandwidthBetween(d, d + 1);
    return seconds;
  }

  bool holdsColocation(int colocation, size_t begin, size_t end) const {
    for (size_t i = 0; i < size; ++i)
      if (problem.ops[i].colocation == colocation && (i < begin || i >= end))
        return false;
    return true;
  }

  const PlacementProblem &problem;
  size_t size;
  std::vector<double> crossing;    // bytes that are made before op i and read from it on
  std::vector<double> work, bytes; // of the ops before op i
};
} // namespace

Placement placeChain(const PlacementProblem &problem) { return ChainCuts(problem).run(); }

} // namespace dgc
