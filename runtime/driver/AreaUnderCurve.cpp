// Counts pairs of positive and negative elements.
#include "runtime/driver/AreaUnderCurve.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cmath>

using namespace dgc;
using namespace dgc::rt;

namespace {
struct Ranked {
  double logit;
  bool isPositive;
};
} // namespace

/// Those whose logit is a number.
static std::vector<Ranked> elementsOf(const ElementsView &logits, const ElementsView &labels) {
  const int64_t count = static_cast<int64_t>(logits.bytes.size() / sizeOf(logits.dtype));
  std::vector<Ranked> elements;
  elements.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const double logit = loadElement(logits.dtype, logits.bytes.data(), i);
    const double label = loadElement(labels.dtype, labels.bytes.data(), i);
    if (!std::isnan(logit))
      elements.push_back({logit, isFloat(labels.dtype) ? label > 0.5 : label != 0});
  }
  return elements;
}

double dgc::rt::areaUnderCurve(const ElementsView &logits, const ElementsView &labels) {
  std::vector<Ranked> elements = elementsOf(logits, labels);
  std::sort(elements.begin(), elements.end(), [](const Ranked &a, const Ranked &b) { return a.logit < b.logit; });
  uint64_t positives = 0, negatives = 0, twiceRight = 0;
  for (size_t begin = 0, end = 0; begin < elements.size(); begin = end) {
    uint64_t equalPositives = 0, equalNegatives = 0;
    for (; end < elements.size() && elements[end].logit == elements[begin].logit; ++end)
      ++(elements[end].isPositive ? equalPositives : equalNegatives);
    twiceRight += equalPositives * (2 * negatives + equalNegatives);
    positives += equalPositives;
    negatives += equalNegatives;
  }
  if (positives == 0 || negatives == 0)
    return 0;
  return static_cast<double>(twiceRight) / static_cast<double>(2 * positives * negatives);
}

static OutputParts areaParts(const artifact::Plan &plan, const ProgramRunner &runner) {
  OutputParts parts(plan, runner.name());
  parts.keep([&](const WholeOutput &output) { return parts.isOfArea(output); });
  return parts;
}

AreaMetrics::AreaMetrics(const artifact::Plan &plan, const ProgramRunner &runner, int rank)
    : rows(areaParts(plan, runner), runner, rank) {}

void AreaMetrics::add(int64_t valid) {
  if (!rows.outputs().empty())
    rows.add(valid);
}

absl::StatusOr<std::vector<Metric>> AreaMetrics::gather(const GatherBytes &gather) const {
  DGC_ASSIGN_OR_RETURN(std::vector<std::vector<std::byte>> whole, rows.gather(gather));
  std::vector<Metric> metrics;
  const std::span<const WholeOutput> outputs = rows.outputs();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (outputs[i].function != artifact::MetricFunction::AreaUnderCurve)
      continue;
    const auto labels = std::find_if(outputs.begin(), outputs.end(),
                                     [&](const WholeOutput &other) { return other.name == outputs[i].over; });
    const double area = areaUnderCurve({outputs[i].dtype, whole[i]},
                                       {labels->dtype, whole[static_cast<size_t>(labels - outputs.begin())]});
    metrics.push_back({outputs[i].name, area, std::nullopt, outputs[i].function});
  }
  return metrics;
}
