// The progress line: one line that updates on a terminal, plain lines now and
// then elsewhere.
#pragma once

#include "runtime/artifact/dgcx_generated.h"
#include "runtime/base/Clock.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// A metric of a batch, or an element of one that is a tensor. The elements of a tensor follow each other in row-major order,
/// and all have its name and shape. Both outlive the object that they are given to.
struct Metric {
  std::string_view name;
  double value;               // a mean over the samples, a quotient, or of all batches so far
  std::optional<double> over; // the divisor of a quotient, whose value is 0 where that is 0
  artifact::MetricFunction function = artifact::MetricFunction::Identity;
  std::span<const int64_t> shape = {}; // of the tensor; empty: a scalar

  /// A quotient of sums over the batch.
  static Metric quotient(std::string_view name, double sum, double over, artifact::MetricFunction function,
                         std::span<const int64_t> shape = {}) {
    return {name, over == 0 ? 0 : sum / over, over, function, shape};
  }
  /// The function of the value.
  double reported() const;
  /// How many elements the metric has.
  size_t elements() const;
};

/// Metrics over several batches: means over their samples, quotients of sums over all batches, last values.
class MetricMeans {
public:
  /// Adds a batch of so many samples. All batches have the same metrics.
  void add(std::span<const Metric> metrics, double samples);
  void clear();
  /// Valid until the next call.
  std::span<const Metric> means();

  /// What is added up for each metric, in their order.
  std::vector<double> sums, weights;

private:
  std::vector<Metric> metrics;
};

/// One training step that is done.
struct StepReport {
  int64_t epoch = 0;               // from 0
  int64_t step = 0;                // in the epoch, from 0
  int64_t validCount = 0;          // real samples of the global batch
  double loss = 0;                 // mean over them
  std::span<const Metric> metrics; // of them
};

struct ProgressOptions {
  bool terminal = false; // updates one line; else writes whole lines
  int width = 80;        // of the terminal; longer lines are cut
  int64_t epochs = 0;    // of the run; 0: not counted in epochs
  int64_t stepsPerEpoch = 1;
  int64_t totalSteps = 0; // of the run
  TimeNs interval = 0;    // between lines; 0: 0.1 s on a terminal, else 5 s
  std::string log;        // the file of --log-json, which has metrics that are too large for a line
};

/// Options for the file descriptor `fd`: whether it is a terminal that can
/// update a line, and its width.
ProgressOptions progressOptionsFor(int fd);

/// Used by one thread. step() costs a look at the clock unless a line is due,
/// and allocates nothing.
class Progress {
public:
  /// `write` gets the characters to print.
  Progress(std::function<void(std::string_view)> write, Clock &clock, const ProgressOptions &options);

  /// Begins counting time, when the first step is about to run.
  void start();
  /// The epoch has begun before: what its means are so far, summed up over `weight` real samples.
  void resumeEpoch(double lossSum, double weight, const MetricMeans &metrics);
  void step(const StepReport &report);
  /// Ends an epoch with a line of its means, weighted by real samples, and the metrics that are tensors behind it.
  void endEpoch();
  /// A line that stays: a result of evaluation, a message.
  void line(std::string_view text);
  /// Nothing of the updating line is left after this.
  void finish();

private:
  void print();
  void clear();

  std::function<void(std::string_view)> write;
  Clock &clock;
  ProgressOptions options;
  TimeNs lastPrint = 0, startTime = 0;
  int64_t samplesSincePrint = 0, stepsSincePrint = 0, stepsDone = 0;
  double secondsPerStep = 0, samplesPerSecond = 0; // smoothed over prints
  bool lineShown = false;
  StepReport last;
  std::vector<Metric> lastMetrics; // the values of `last`, and its names
  // Sums over the epoch, weighted.
  double lossSum = 0, weight = 0;
  MetricMeans epochMetrics;
  int64_t epochSamples = 0;
  TimeNs epochStart = 0;
};

/// "0:07", "12:34", "3:04:05".
std::string formatDuration(double seconds);
/// Three digits with a unit: "812", "3.12k", "31.2k", "1.20M".
std::string formatCount(double value);
/// "512 B", "3.2 MB"; powers of 1000.
std::string formatBytes(uint64_t bytes);

} // namespace dgc::rt
