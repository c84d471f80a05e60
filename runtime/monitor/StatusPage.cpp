// The state of a job as JSON, and the page that draws it.
#include "runtime/monitor/StatusPage.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace dgc::rt;
using nlohmann::json;

static constexpr std::string_view html =
#include "runtime/monitor/StatusPage.inc"
    ;

std::string_view dgc::rt::statusPage() { return html; }

static json number(std::optional<double> value) { return value && std::isfinite(*value) ? json(*value) : json(); }

static json scalars(const std::vector<std::pair<std::string, double>> &metrics) {
  json all = json::object();
  for (const auto &[name, value] : metrics)
    all[name] = number(value);
  return all;
}

static json curve(const std::vector<Curve::Point> &points) {
  json all = json::array();
  for (const Curve::Point &point : points)
    all.push_back({point.step, number(point.value)});
  return all;
}

/// The value below which this share of the steps is: within its bucket as if they were evenly spread there.
static std::optional<double> quantile(const TimeHistogram &histogram, double share) {
  const double wanted = share * static_cast<double>(histogram.count);
  double below = 0;
  for (size_t i = 0; i < TimeHistogram::bounds.size() && histogram.count > 0; ++i) {
    const auto here = static_cast<double>(histogram.counts[i]);
    const double low = i == 0 ? 0 : TimeHistogram::bounds[i - 1];
    if (here > 0 && below + here >= wanted)
      return low + (TimeHistogram::bounds[i] - low) * (wanted - below) / here;
    below += here;
  }
  return std::nullopt;
}

static json workers(const JobFacts &facts, const JobState &state) {
  json all = json::array();
  for (size_t rank = 0; rank < facts.workers.size(); ++rank) {
    const WorkerState worker = rank < state.workers.size() ? state.workers[rank] : WorkerState();
    const JobState::Straggler straggler =
        rank < state.stragglers.size() ? state.stragglers[rank] : JobState::Straggler();
    json sent = json::object();
    for (const auto &[kind, bytes] : facts.workers[rank].traffic)
      sent[kind] = std::max(bytes.sent, bytes.received);
    all.push_back({{"present", worker.isPresent},
                   {"step", worker.step},
                   {"waits_for", worker.awaited < 0 ? json() : json(worker.awaited)},
                   {"memory_planned", facts.workers[rank].plannedBytes},
                   {"memory_used", worker.memory ? json(worker.memory) : json()},
                   {"resident", worker.resident ? json(worker.resident) : json()},
                   {"exposed_seconds", static_cast<double>(worker.exposed) * 1e-9},
                   {"waiting_share",
                    worker.heartbeats ? json(static_cast<double>(worker.waits) / static_cast<double>(worker.heartbeats))
                                      : json()},
                   {"bytes_per_step", sent},
                   {"straggler", straggler.count}});
  }
  return all;
}

static json plan(const JobFacts &facts) {
  json options = json::array();
  for (const auto &[name, value] : facts.options)
    options.push_back({name, value});
  return {{"model", facts.model},         {"producer", facts.producer}, {"digest", facts.digest},
          {"workers", facts.workersText}, {"options", options},         {"summary", facts.summary}};
}

static json checkpoint(const JobState &state, double wallTime) {
  if (state.checkpoints.count == 0 && state.checkpoints.failures == 0)
    return nullptr;
  const bool isThere = state.checkpoints.count > 0;
  return {{"step", isThere ? json(state.checkpoints.step) : json()},
          {"age", isThere ? json(wallTime - state.checkpoints.writtenAt) : json()},
          {"seconds", isThere ? json(state.checkpoints.seconds) : json()},
          {"count", state.checkpoints.count},
          {"failures", state.checkpoints.failures}};
}

std::string dgc::rt::statusJson(const JobFacts &facts, const JobState &state, double wallTime) {
  const double left = static_cast<double>(state.lastStep - state.step);
  json job = {
      {"phase", state.phase},
      {"seconds", state.seconds},
      {"step", state.step},
      {"first_step", state.firstStep},
      {"last_step", state.lastStep},
      {"epoch", state.epoch},
      {"loss", number(state.loss)},
      {"metrics", scalars(state.metrics)},
      {"test_loss", number(state.testLoss)},
      {"test_metrics", scalars(state.testMetrics)},
      {"losses", curve(state.losses)},
      {"test_losses", curve(state.testLosses)},
      {"steps_per_second", state.stepsPerSecond},
      {"samples_per_second", state.samplesPerSecond},
      {"tokens_per_second", state.tokensPerSample > 0 ? json(state.samplesPerSecond * state.tokensPerSample) : json()},
      {"flops_per_second", facts.flopsPerStep > 0 ? json(facts.flopsPerStep * state.stepsPerSecond) : json()},
      {"share_of_peak", facts.flopsPerStep > 0 && state.peakFlops > 0
                            ? json(facts.flopsPerStep * state.stepsPerSecond / state.peakFlops)
                            : json()},
      {"seconds_left", state.stepsPerSecond > 0 ? json(left / state.stepsPerSecond) : json()},
      {"exposed_share", state.exposedShare},
      {"step_seconds",
       {{"median", number(quantile(state.stepSeconds, .5))}, {"p95", number(quantile(state.stepSeconds, .95))}}},
      {"checkpoint", checkpoint(state, wallTime)},
      {"restarts", state.restarts},
      {"warnings", state.warnings},
      {"workers", workers(facts, state)},
      {"plan", plan(facts)}};
  return job.dump(-1, ' ', false, json::error_handler_t::replace);
}
