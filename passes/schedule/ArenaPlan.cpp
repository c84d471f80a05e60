//===- ArenaPlan.cpp - offsets for buffers with known lifetimes ------------===//

#include "passes/schedule/ArenaPlan.h"
#include <algorithm>
#include <map>
#include <numeric>

using namespace dgc;

static bool overlap(const ArenaRequest &a, const ArenaRequest &b) { return a.begin <= b.end && b.begin <= a.end; }

static uint64_t roundUp(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

std::string ArenaProblem::check() const {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return "alignment " + std::to_string(alignment) + " is not a power of two";
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].begin > requests[i].end) {
      return "request " + std::to_string(i) + " ends before it begins";
    }
  }
  return "";
}

std::string ArenaPlan::verify(const ArenaProblem &problem) const {
  if (offsets.size() != problem.requests.size()) {
    return "the plan has " + std::to_string(offsets.size()) + " offsets for " +
           std::to_string(problem.requests.size()) + " requests";
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    const ArenaRequest &a = problem.requests[i];
    if (offsets[i] % problem.alignment != 0 || offsets[i] + a.size > size) {
      return "request " + std::to_string(i) + " is not aligned or does not fit";
    }
    for (size_t j = 0; j < i; ++j) {
      const ArenaRequest &b = problem.requests[j];
      if (overlap(a, b) && offsets[i] < offsets[j] + b.size && offsets[j] < offsets[i] + a.size) {
        return "requests " + std::to_string(j) + " and " + std::to_string(i) + " overlap";
      }
    }
  }
  return "";
}

/// The plan that placing the requests in `order` gives.
static ArenaPlan placeInOrder(const ArenaProblem &problem, const std::vector<size_t> &order) {
  ArenaPlan plan;
  plan.offsets.resize(problem.requests.size());
  std::vector<size_t> placed; // by offset
  for (size_t index : order) {
    const ArenaRequest &request = problem.requests[index];
    uint64_t offset = 0;
    for (size_t other : placed) {
      if (!overlap(request, problem.requests[other])) {
        continue;
      }
      if (offset + request.size <= plan.offsets[other]) {
        break;
      }
      offset = std::max(offset, roundUp(plan.offsets[other] + problem.requests[other].size, problem.alignment));
    }
    plan.offsets[index] = offset;
    plan.size = std::max(plan.size, roundUp(offset + request.size, problem.alignment));
    auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                               [&](uint64_t value, size_t other) { return value < plan.offsets[other]; });
    placed.insert(at, index);
  }
  return plan;
}

ArenaPlan dgc::planArena(const ArenaProblem &problem) {
  const std::vector<ArenaRequest> &requests = problem.requests;
  auto length = [&](size_t i) { return static_cast<uint64_t>(requests[i].end - requests[i].begin + 1); };
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);

  ArenaPlan best;
  auto attempt = [&](auto before) {
    std::stable_sort(order.begin(), order.end(), before);
    ArenaPlan plan = placeInOrder(problem, order);
    if (best.offsets.empty() || plan.size < best.size) {
      best = std::move(plan);
    }
  };
  attempt([&](size_t a, size_t b) { return requests[a].size > requests[b].size; });
  attempt([&](size_t a, size_t b) { return requests[a].begin < requests[b].begin; });
  attempt([&](size_t a, size_t b) { return requests[a].size * length(a) > requests[b].size * length(b); });
  attempt([&](size_t a, size_t b) { return length(a) > length(b); });
  return best;
}

uint64_t dgc::liveBytes(const ArenaProblem &problem) {
  std::map<int64_t, int64_t> change; // step -> bytes that begin minus bytes that ended before it
  for (const ArenaRequest &request : problem.requests) {
    auto size = static_cast<int64_t>(roundUp(request.size, problem.alignment));
    change[request.begin] += size;
    change[request.end + 1] -= size;
  }
  int64_t live = 0, worst = 0;
  for (auto [step, bytes] : change) {
    live += bytes;
    worst = std::max(worst, live);
  }
  return static_cast<uint64_t>(worst);
}
