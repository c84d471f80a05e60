// What rank 0 logs of a run: the progress line, the JSON log, the event file of TensorBoard.
#pragma once

#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"
#include "runtime/telemetry/JsonLog.h"
#include "runtime/telemetry/Progress.h"
#include "runtime/telemetry/TensorBoard.h"

#include <optional>

namespace dgc::rt {

/// The loss and the metrics of a program but for areas under curves, which are those of all examples (AreaMetrics).
class ReportedValues {
public:
  explicit ReportedValues(const ProgramRunner &runner);
  /// Reads them; allocates nothing.
  void read();
  std::optional<double> loss() const { return lossValue; }
  std::span<const Metric> metrics() const { return values; }

private:
  void add(const OutputView &view, const OutputView *over);

  const OutputView *lossView = nullptr;
  /// An element of a metric.
  struct Source {
    const OutputView *value, *over; // `over` is null where the metric is no quotient
    int64_t index;
  };
  std::vector<Source> sources;
  std::vector<Metric> values; // of the sources; names and shapes are those of the views
  std::optional<double> lossValue;
};

/// A number as text that strtod() reads back bit by bit.
std::string exactText(double value);

/// The loss and the metrics over samples that come in batches.
class WeightedMeans {
public:
  void add(const ReportedValues &batch, double weight);
  void clear();
  std::optional<double> loss() const;
  /// Valid until the next call.
  std::span<const Metric> metrics() { return means.means(); }
  double weight() const { return total; }

  /// All of it as text, and back, bit by bit. False where the text is none.
  std::string text() const;
  bool restore(std::string_view text);
  void continueIn(Progress &progress) const { progress.resumeEpoch(lossSum, total, means); }

private:
  double total = 0, lossSum = 0;
  bool hasLoss = false;
  MetricMeans means;
};

/// "loss 0.1234  accuracy 0.9750": what is no tensor.
std::string formatMeans(std::optional<double> loss, std::span<const Metric> metrics);

} // namespace dgc::rt
