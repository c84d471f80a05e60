#include "runtime/cluster/StragglerWatch.h"

#include <algorithm>

namespace dgc::rt {

/// Fewer heartbeats than these say nothing.
static constexpr int kLeastSamples = 20;
/// A straggler computes most of the time.
static constexpr double kLeastBusy = 0.5;

void StragglerWatch::add(uint32_t rank, const HeartbeatMessage &sample) {
  Worker &worker = workers[rank];
  ++worker.samples;
  if (sample.awaited != WaitRecord::kNoRank)
    return;
  ++worker.busy;
  auto &[count, step] = worker.ops[sample.position.op];
  ++count;
  step = sample.position.step;
}

std::optional<StragglerWatch::Straggler> StragglerWatch::slowest() const {
  std::vector<double> shares;
  for (const Worker &worker : workers) {
    if (worker.samples < kLeastSamples)
      return std::nullopt;
    shares.push_back(static_cast<double>(worker.busy) / worker.samples);
  }
  const auto most = std::max_element(shares.begin(), shares.end());
  Straggler found{static_cast<uint32_t>(most - shares.begin()), *most, 0, options.window, {}};
  shares.erase(most);
  if (shares.empty())
    return std::nullopt;
  std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2), shares.end());
  found.median = shares[shares.size() / 2];
  if (found.busy < kLeastBusy || found.busy < options.factor * found.median)
    return std::nullopt;
  const auto &ops = workers[found.rank].ops;
  const auto often = std::max_element(ops.begin(), ops.end(),
                                      [](const auto &a, const auto &b) { return a.second.first < b.second.first; });
  found.position = {often->second.second, often->first};
  return found;
}

std::optional<StragglerWatch::Straggler> StragglerWatch::look(TimeNs now) {
  if (options.factor <= 0 || now - begin < options.window)
    return std::nullopt;
  begin = now;
  const std::optional<Straggler> found = slowest();
  for (Worker &worker : workers) {
    worker.samples = worker.busy = 0;
    worker.ops.clear();
  }
  suspected = found && suspect == found->rank ? suspected + 1 : 1;
  suspect = found ? std::optional(found->rank) : std::nullopt;
  if (!found || suspected < options.windows)
    return std::nullopt;
  std::optional<TimeNs> &named = workers[found->rank].named;
  if (named && now - *named < options.silence)
    return std::nullopt;
  named = now;
  return found;
}

} // namespace dgc::rt
