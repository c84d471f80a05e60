// Reads scalars off a program and forms means.
#include "runtime/driver/RunLog.h"

#include "runtime/base/Status.h"

#include <cstdio>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

double dgc::rt::scalarOf(const TensorView &view) { return loadElement(view.dtype, view.memory.data(), 0); }

Scalars::Scalars(const ProgramRunner &runner) {
  for (const OutputView &view : runner.outputs()) {
    if (!view.globalShape.empty())
      continue;
    if (view.role == artifact::OutputRole::Loss && !lossView) {
      lossView = &view;
    } else if (view.role != artifact::OutputRole::Prediction) {
      views.push_back(&view);
      values.push_back({view.name, 0});
    }
  }
}

void Scalars::read() {
  if (lossView)
    lossValue = scalarOf(*lossView);
  for (size_t i = 0; i < views.size(); ++i)
    values[i].value = scalarOf(*views[i]);
}

void WeightedMeans::add(const Scalars &scalars, double weight) {
  total += weight;
  hasLoss = scalars.loss().has_value();
  lossSum += weight * scalars.loss().value_or(0);
  sums.resize(scalars.metrics().size());
  means.resize(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] += weight * scalars.metrics()[i].value;
    means[i].name = scalars.metrics()[i].name;
  }
}

void WeightedMeans::clear() {
  total = lossSum = 0;
  sums.clear();
}

std::optional<double> WeightedMeans::loss() const {
  if (!hasLoss || total == 0)
    return std::nullopt;
  return lossSum / total;
}

std::span<const Metric> WeightedMeans::metrics() {
  for (size_t i = 0; i < sums.size(); ++i)
    means[i].value = sums[i] / total;
  return std::span(means).first(sums.size());
}

std::string dgc::rt::formatMeans(std::optional<double> loss, std::span<const Metric> metrics) {
  std::string text;
  auto add = [&](std::string_view name, double value) {
    char number[32];
    std::snprintf(number, sizeof number, "%.4f", value);
    text += str(text.empty() ? "" : "  ", name, " ", number);
  };
  if (loss)
    add("loss", *loss);
  for (const Metric &metric : metrics)
    add(metric.name, metric.value);
  return text;
}
