// Reads scalars off a program and forms means.
#include "runtime/driver/RunLog.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

double dgc::rt::scalarOf(const TensorView &view) { return loadElement(view.dtype, view.memory.data(), 0); }

Scalars::Scalars(const ProgramRunner &runner) {
  auto named = [&](std::string_view name) -> const OutputView * {
    const auto outputs = runner.outputs();
    auto view = std::find_if(outputs.begin(), outputs.end(), [&](const OutputView &each) { return each.name == name; });
    return view == outputs.end() ? nullptr : &*view;
  };
  for (const OutputView &view : runner.outputs()) {
    const bool divides = std::any_of(runner.outputs().begin(), runner.outputs().end(), [&](const OutputView &each) {
      return !each.over.empty() && each.over == view.name;
    });
    if (!view.globalShape.empty() || divides)
      continue;
    if (view.role == artifact::OutputRole::Loss && !lossView) {
      lossView = &view;
    } else if (view.role != artifact::OutputRole::Prediction) {
      views.push_back({&view, view.over.empty() ? nullptr : named(view.over)});
      values.push_back({view.name, 0, std::nullopt, view.function});
    }
  }
}

void Scalars::read() {
  if (lossView)
    lossValue = scalarOf(*lossView);
  for (size_t i = 0; i < views.size(); ++i)
    if (const auto [value, over] = views[i]; over)
      values[i] = Metric::quotient(value->name, scalarOf(*value), scalarOf(*over), value->function);
    else
      values[i].value = scalarOf(*value);
}

void WeightedMeans::add(const Scalars &scalars, double weight) {
  total += weight;
  hasLoss = scalars.loss().has_value();
  lossSum += weight * scalars.loss().value_or(0);
  means.add(scalars.metrics(), weight);
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
    add(metric.name, metric.reported());
  return text;
}
