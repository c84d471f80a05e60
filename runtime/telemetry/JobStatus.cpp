// Keeps what is told of a job.
#include "runtime/telemetry/JobStatus.h"

#include <algorithm>
#include <cmath>

using namespace dgc::rt;

void TimeHistogram::add(double seconds) {
  ++counts[static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin())];
  ++count;
  sum += seconds;
}

void Curve::add(int64_t step, double value) {
  sum.step += static_cast<double>(step);
  sum.value += value;
  if (++taken < stride)
    return;
  whole.push_back({sum.step / static_cast<double>(taken), sum.value / static_cast<double>(taken)});
  sum = {};
  taken = 0;
  if (whole.size() < most)
    return;
  for (size_t i = 0; i < whole.size() / 2; ++i)
    whole[i] = {(whole[2 * i].step + whole[2 * i + 1].step) / 2, (whole[2 * i].value + whole[2 * i + 1].value) / 2};
  whole.resize(whole.size() / 2);
  stride *= 2;
}

std::vector<Curve::Point> Curve::points() const {
  std::vector<Point> all = whole;
  if (taken > 0)
    all.push_back({sum.step / static_cast<double>(taken), sum.value / static_cast<double>(taken)});
  return all;
}

JobStatus::JobStatus(size_t workers, Clock &clock, std::function<double()> wallTime)
    : clock(clock), wallTime(std::move(wallTime)), begun(clock.now()) {
  current.workers.resize(workers);
  current.stragglers.resize(workers);
}

void JobStatus::enter(std::string_view phase) {
  std::scoped_lock<std::mutex> lock(mutex);
  current.phase = phase;
}

void JobStatus::beginsAt(int64_t step, int64_t lastStep, double tokensPerSample) {
  std::scoped_lock<std::mutex> lock(mutex);
  current.firstStep = current.step = step;
  current.lastStep = lastStep;
  current.tokensPerSample = tokensPerSample;
  window.assign(1, sampleAt(clock.now()));
}

JobStatus::Sample JobStatus::sampleAt(TimeNs now) {
  Sample taken{now, current.steps, current.samples, 0};
  for (const WorkerState &worker : current.workers)
    taken.exposed += worker.exposed;
  return taken;
}

static void takeScalars(std::span<const Metric> from, std::vector<std::pair<std::string, double>> &to) {
  size_t at = 0;
  for (const Metric &metric : from) {
    if (!metric.shape.empty())
      continue;
    if (at == to.size())
      to.emplace_back();
    to[at].first = metric.name; // which allocates once
    to[at++].second = metric.reported();
  }
  to.resize(at);
}

void JobStatus::addStep(const LogEvent &event) {
  const double seconds = event.ms.value_or(0) * 1e-3;
  ++current.steps;
  current.samples += static_cast<uint64_t>(std::llround(event.samplesPerSecond.value_or(0) * seconds));
  current.step = event.step.value_or(0) + 1;
  current.epoch = event.epoch.value_or(0);
  current.stepSeconds.add(seconds);
  current.loss = event.loss;
  takeScalars(event.metrics, current.metrics);
  if (event.loss && std::isfinite(*event.loss))
    losses.add(current.step, *event.loss);
  const TimeNs now = clock.now();
  if (!window.empty() && now - window.back().at < kSamplePeriod)
    return;
  window.push_back(sampleAt(now));
  while (window.size() > 2 && now - window[1].at >= kWindow)
    window.pop_front();
}

void JobStatus::addEvaluation(const LogEvent &event) {
  ++current.evaluations;
  current.testLoss = event.loss;
  takeScalars(event.metrics, current.testMetrics);
  if (event.loss && std::isfinite(*event.loss))
    testLosses.add(event.step.value_or(0), *event.loss);
}

void JobStatus::add(const LogEvent &event) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (event.event == "step") {
    addStep(event);
  } else if (event.event == "evaluate") {
    addEvaluation(event);
  } else if (event.event == "checkpoint" && event.ms) {
    current.checkpoints.step = event.step.value_or(0);
    current.checkpoints.seconds = *event.ms * 1e-3;
    current.checkpoints.writtenAt = wallTime();
    ++current.checkpoints.count;
  } else if (event.event == "warning" || event.event == "error") {
    current.checkpoints.failures += event.isLostCheckpoint;
    current.warnings.emplace_back(event.message);
    if (current.warnings.size() > kWarnings)
      current.warnings.pop_front();
  }
  if (event.event == "end" || event.event == "error")
    current.phase = event.event == "end" ? "ended" : "failed";
}

void JobStatus::setRestarts(int64_t restarts) {
  std::scoped_lock<std::mutex> lock(mutex);
  current.restarts = restarts;
}

void JobStatus::setPeak(double flops) {
  std::scoped_lock<std::mutex> lock(mutex);
  current.peakFlops = flops;
}

void JobStatus::setWorkers(std::vector<WorkerState> workers) {
  std::scoped_lock<std::mutex> lock(mutex);
  current.workers = std::move(workers);
}

void JobStatus::sampleWorkersBy(std::function<std::vector<WorkerState>()> sample) {
  std::scoped_lock<std::mutex> lock(mutex);
  this->sample = std::move(sample);
}

void JobStatus::name(size_t straggler, double busy, double median) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (straggler >= current.stragglers.size())
    return;
  JobState::Straggler &named = current.stragglers[straggler];
  ++named.count;
  named.busy = busy;
  named.median = median;
}

/// From the oldest sample to now; nothing where no step has been done for a while, whatever steps take.
void JobStatus::addRates(JobState &copy, TimeNs now) {
  const TimeNs between = window.size() < 2 ? 0 : window.back().at - window[window.size() - 2].at;
  if (window.empty() || now - window.back().at > std::max(kWindow, 3 * between))
    return;
  const Sample last = sampleAt(now), &first = window.front();
  const double seconds = static_cast<double>(last.at - first.at) * 1e-9;
  if (seconds <= 0)
    return;
  copy.stepsPerSecond = static_cast<double>(last.steps - first.steps) / seconds;
  copy.samplesPerSecond = static_cast<double>(last.samples - first.samples) / seconds;
  if (last.exposed > first.exposed && !copy.workers.empty())
    copy.exposedShare = std::min(1.0, static_cast<double>(last.exposed - first.exposed) * 1e-9 / seconds /
                                          static_cast<double>(copy.workers.size()));
}

JobState JobStatus::state() {
  std::scoped_lock<std::mutex> lock(mutex);
  if (sample)
    current.workers = sample();
  const TimeNs now = clock.now();
  JobState copy = current;
  copy.seconds = static_cast<double>(now - begun) * 1e-9;
  copy.losses = losses.points();
  copy.testLosses = testLosses.points();
  addRates(copy, now);
  return copy;
}
