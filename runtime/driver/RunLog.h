// What rank 0 logs of a run: the progress line, the JSON log.
#pragma once

#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"
#include "runtime/telemetry/JsonLog.h"
#include "runtime/telemetry/Progress.h"

#include <optional>

namespace dgc::rt {

/// The scalar outputs of a program, by role.
class Scalars {
public:
  explicit Scalars(const ProgramRunner &runner);
  /// Reads them; allocates nothing.
  void read();
  std::optional<double> loss() const { return lossValue; }
  std::span<const Metric> metrics() const { return values; }

private:
  const OutputView *lossView = nullptr;
  struct View {
    const OutputView *value, *over; // `over` is null where the metric is no quotient
  };
  std::vector<View> views;
  std::vector<Metric> values; // names point into the views
  std::optional<double> lossValue;
};

/// The loss and the metrics over samples that come in batches.
class WeightedMeans {
public:
  void add(const Scalars &scalars, double weight);
  void clear();
  std::optional<double> loss() const;
  /// Valid until the next call.
  std::span<const Metric> metrics() { return means.means(); }
  double weight() const { return total; }

private:
  double total = 0, lossSum = 0;
  bool hasLoss = false;
  MetricMeans means;
};

/// The value of a scalar output in any type.
double scalarOf(const TensorView &view);

/// "loss 0.1234  accuracy 0.9750"
std::string formatMeans(std::optional<double> loss, std::span<const Metric> metrics);

} // namespace dgc::rt
