// Reads what a program reports, and forms means.
#include "runtime/driver/RunLog.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

static double elementOf(const OutputView &view, int64_t index) {
  return loadElement(view.dtype, view.memory.data(), index);
}

ReportedValues::ReportedValues(const ProgramRunner &runner) {
  const auto outputs = runner.outputs();
  auto named = [&](std::string_view name) -> const OutputView * {
    auto view = std::find_if(outputs.begin(), outputs.end(), [&](const OutputView &each) { return each.name == name; });
    return view == outputs.end() ? nullptr : &*view;
  };
  for (const OutputView &view : outputs) {
    const bool isSecond =
        std::any_of(outputs.begin(), outputs.end(), [&](const OutputView &each) { return each.over == view.name; });
    const bool isOfAll = view.function == artifact::MetricFunction::AreaUnderCurve;
    if (view.role == artifact::OutputRole::Prediction || isSecond || isOfAll)
      continue;
    if (view.role == artifact::OutputRole::Metric || (view.globalShape.empty() && lossView))
      add(view, view.over.empty() ? nullptr : named(view.over));
    else if (view.globalShape.empty())
      lossView = &view;
  }
}

void ReportedValues::add(const OutputView &view, const OutputView *over) {
  const Metric metric{view.name, 0, std::nullopt, view.function, view.globalShape};
  for (size_t i = 0; i < metric.elements(); ++i) {
    sources.push_back({&view, over, static_cast<int64_t>(i)});
    values.push_back(metric);
  }
}

void ReportedValues::read() {
  if (lossView)
    lossValue = elementOf(*lossView, 0);
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto [value, over, index] = sources[i];
    if (over)
      values[i] = Metric::quotient(value->name, elementOf(*value, index), elementOf(*over, index), value->function,
                                   value->globalShape);
    else
      values[i].value = elementOf(*value, index);
  }
}

void WeightedMeans::add(const ReportedValues &batch, double weight) {
  total += weight;
  hasLoss = batch.loss().has_value();
  lossSum += weight * batch.loss().value_or(0);
  means.add(batch.metrics(), weight);
}

void WeightedMeans::clear() {
  total = lossSum = 0;
  means.clear();
}

std::optional<double> WeightedMeans::loss() const {
  if (!hasLoss || total == 0)
    return std::nullopt;
  return lossSum / total;
}

std::string dgc::rt::exactText(double value) {
  char number[40];
  std::snprintf(number, sizeof number, "%a", value);
  return number;
}

std::string WeightedMeans::text() const {
  std::string text;
  auto add = [&](double value) { text += exactText(value) + " "; };
  add(hasLoss);
  add(total);
  add(lossSum);
  for (size_t i = 0; i < means.sums.size(); ++i) {
    add(means.sums[i]);
    add(means.weights[i]);
  }
  return text;
}

bool WeightedMeans::restore(std::string_view text) {
  std::vector<double> values;
  const std::string owned(text);
  for (const char *at = owned.c_str(); *at;) {
    char *end = nullptr;
    values.push_back(std::strtod(at, &end));
    if (end == at || *end != ' ')
      return false;
    at = end + 1;
  }
  if (values.size() < 3 || values.size() % 2 == 0)
    return false;
  hasLoss = values[0] != 0;
  total = values[1];
  lossSum = values[2];
  means.sums.clear();
  means.weights.clear();
  for (size_t i = 3; i < values.size(); i += 2) {
    means.sums.push_back(values[i]);
    means.weights.push_back(values[i + 1]);
  }
  return true;
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
    if (metric.shape.empty())
      add(metric.name, metric.reported());
  return text;
}
