// Formats progress.
#include "runtime/telemetry/Progress.h"

#include "runtime/telemetry/MetricText.h"

#include "absl/strings/str_format.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace dgc::rt;

namespace {
/// A line under construction, in place, field by field. What does not fit is left out.
class Line {
public:
  template <typename... Args> void add(const absl::FormatSpec<Args...> &format, const Args &...args) {
    const int n = absl::SNPrintF(text + size, sizeof text - size, format, args...);
    size = std::min(size + static_cast<size_t>(std::max(n, 0)), sizeof text - 1);
    if (fields < std::size(ends))
      ++fields;
    ends[fields - 1] = size;
  }
  /// Leaves out the fields that do not fit into so many columns; the first one is cut.
  void cut(size_t width) {
    while (fields > 1 && size > width)
      size = ends[--fields - 1];
    size = std::min(size, width);
  }
  std::string_view view() const { return {text, size}; }

private:
  char text[1024];
  size_t size = 0;
  size_t ends[64], fields = 0; // where each field ends
};

/// formatCount, formatBytes and formatDuration without allocation.
struct Small {
  char text[32];
};
} // namespace

static Small scaled(double value, const char *const *units) {
  Small out;
  int unit = 0;
  // 999.5 would print as 1000 with three digits.
  for (; value >= 999.5 && units[unit + 1]; ++unit)
    value /= 1000;
  int decimals = unit == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(out.text, sizeof out.text, "%.*f%s", decimals, value, units[unit]);
  return out;
}

static Small count(double value) {
  static const char *const units[] = {"", "k", "M", "G", "T", nullptr};
  return scaled(std::max(value, 0.0), units);
}

static Small duration(double seconds) {
  Small out;
  if (!(seconds < 360000)) { // also NaN
    std::snprintf(out.text, sizeof out.text, "-:--");
    return out;
  }
  long s = std::lround(std::max(seconds, 0.0));
  if (s >= 3600)
    std::snprintf(out.text, sizeof out.text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(out.text, sizeof out.text, "%ld:%02ld", s / 60, s % 60);
  return out;
}

std::string dgc::rt::formatDuration(double seconds) { return duration(seconds).text; }
std::string dgc::rt::formatCount(double value) { return count(value).text; }
std::string dgc::rt::formatBytes(uint64_t bytes) {
  static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB", nullptr};
  return scaled(static_cast<double>(bytes), units).text;
}

double Metric::reported() const {
  switch (function) {
  case artifact::MetricFunction::Identity:
  case artifact::MetricFunction::Last:
  case artifact::MetricFunction::AreaUnderCurve:
    return value;
  case artifact::MetricFunction::Exponential:
    return std::exp(value);
  case artifact::MetricFunction::SquareRoot:
    return std::sqrt(value);
  }
  return value;
}

size_t Metric::elements() const {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  return count;
}

void MetricMeans::add(std::span<const Metric> batch, double samples) {
  sums.resize(batch.size());
  weights.resize(batch.size());
  metrics.assign(batch.begin(), batch.end());
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].function == artifact::MetricFunction::Last) {
      sums[i] = batch[i].value;
      weights[i] = 1;
      continue;
    }
    const double weight = batch[i].over.value_or(samples);
    sums[i] += batch[i].value * weight;
    weights[i] += weight;
  }
}

void MetricMeans::clear() {
  std::fill(sums.begin(), sums.end(), 0.0);
  std::fill(weights.begin(), weights.end(), 0.0);
}

std::span<const Metric> MetricMeans::means() {
  for (size_t i = 0; i < metrics.size(); ++i)
    metrics[i].value = weights[i] == 0 ? 0 : sums[i] / weights[i];
  return metrics;
}

ProgressOptions dgc::rt::progressOptionsFor(int fd) {
  ProgressOptions options;
  const char *term = std::getenv("TERM");
  options.terminal = ::isatty(fd) && term && std::strcmp(term, "dumb") != 0;
  winsize size{};
  if (options.terminal && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
    options.width = size.ws_col;
  return options;
}

Progress::Progress(std::function<void(std::string_view)> write, Clock &clock, const ProgressOptions &options)
    : write(std::move(write)), clock(clock), options(options) {
  if (this->options.interval == 0)
    this->options.interval = options.terminal ? 100_ms : 5_s;
  start();
}

void Progress::start() {
  startTime = lastPrint = epochStart = clock.now();
  samplesSincePrint = stepsSincePrint = 0;
}

void Progress::resumeEpoch(double lossSum, double weight, const MetricMeans &metrics) {
  this->lossSum = lossSum;
  this->weight = weight;
  epochMetrics = metrics;
}

void Progress::step(const StepReport &report) {
  last = report;
  lastMetrics.assign(report.metrics.begin(), report.metrics.end());
  double w = static_cast<double>(report.validCount);
  lossSum += report.loss * w;
  weight += w;
  epochMetrics.add(report.metrics, w);
  epochSamples += report.validCount;
  samplesSincePrint += report.validCount;
  ++stepsSincePrint;
  ++stepsDone;
  if (clock.now() - lastPrint >= options.interval)
    print();
}

/// The metrics that fit into a line.
static void addScalars(Line &line, std::span<const Metric> metrics) {
  for (const Metric &metric : metrics)
    if (metric.shape.empty())
      line.add("  %s %.4f", metric.name, metric.reported());
}

void Progress::print() {
  TimeNs now = clock.now();
  double seconds = static_cast<double>(now - lastPrint) * 1e-9;
  double perStep = seconds / static_cast<double>(stepsSincePrint);
  double rate = static_cast<double>(samplesSincePrint) / seconds;
  // The first figure counts alone; later ones move it by a third.
  double mix = secondsPerStep == 0 ? 1.0 : 1.0 / 3;
  secondsPerStep += mix * (perStep - secondsPerStep);
  samplesPerSecond += mix * (rate - samplesPerSecond);
  lastPrint = now;
  samplesSincePrint = stepsSincePrint = 0;

  Line line;
  line.add("epoch %d", last.epoch + 1);
  if (options.epochs > 0)
    line.add("/%d", options.epochs);
  line.add("  step %d/%d", last.step + 1, options.stepsPerEpoch);
  line.add("  loss %.4f", last.loss);
  addScalars(line, lastMetrics);
  line.add("  %s samples/s", count(samplesPerSecond).text);
  if (options.totalSteps > 0)
    line.add("  %s left", duration(secondsPerStep * static_cast<double>(options.totalSteps - stepsDone)).text);
  if (!options.terminal) {
    line.add("\n");
    write(line.view());
    return;
  }
  // The last column stays free: some terminals wrap as soon as it is written.
  line.cut(static_cast<size_t>(std::max(options.width - 1, 1)));
  write("\r");
  write(line.view());
  write("\x1b[K");
  lineShown = true;
}

void Progress::clear() {
  if (lineShown)
    write("\r\x1b[K");
  lineShown = false;
}

void Progress::endEpoch() {
  clear();
  TimeNs now = clock.now();
  double seconds = static_cast<double>(now - epochStart) * 1e-9;
  Line line;
  line.add("epoch %d", last.epoch + 1);
  if (options.epochs > 0)
    line.add("/%d", options.epochs);
  std::string tables;
  if (weight > 0) {
    line.add("  loss %.4f", lossSum / weight);
    addScalars(line, epochMetrics.means());
    tables = formatTables(epochMetrics.means(), options.log);
  }
  line.add("  %s samples/s  %.1f s", count(static_cast<double>(epochSamples) / seconds).text, seconds);
  write(line.view());
  write(tables + "\n");
  lossSum = weight = 0;
  epochMetrics.clear();
  epochSamples = 0;
  epochStart = lastPrint = now;
  samplesSincePrint = stepsSincePrint = 0;
}

void Progress::line(std::string_view text) {
  clear();
  write(text);
  write("\n");
  // What happened meanwhile (an evaluation) is not time of training steps.
  if (stepsSincePrint == 0)
    epochStart = lastPrint = clock.now();
}

void Progress::finish() { clear(); }
