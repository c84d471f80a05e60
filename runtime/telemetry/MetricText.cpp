// Formats metrics that are tensors.
#include "runtime/telemetry/MetricText.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace dgc::rt;

/// A larger table is hard to read.
static constexpr int64_t mostRows = 24, mostColumns = 12;

void dgc::rt::forEachMetric(std::span<const Metric> metrics, const std::function<void(std::span<const Metric>)> &use) {
  while (!metrics.empty()) {
    const size_t count = std::clamp<size_t>(metrics.front().elements(), 1, metrics.size());
    use(metrics.first(count));
    metrics = metrics.subspan(count);
  }
}

static void append(std::span<const int64_t> shape, std::span<const Metric> elements,
                   const std::function<void(double)> &number, std::string &out) {
  if (shape.empty())
    return number(elements.front().reported());
  const size_t parts = static_cast<size_t>(shape.front()), each = elements.size() / parts;
  out += '[';
  for (size_t i = 0; i < parts; ++i) {
    if (i > 0)
      out += ',';
    append(shape.subspan(1), elements.subspan(i * each, each), number, out);
  }
  out += ']';
}

void dgc::rt::appendNested(std::span<const Metric> elements, const std::function<void(double)> &number,
                           std::string &out) {
  append(elements.front().shape, elements, number, out);
}

/// Rows of numbers, right-aligned; whole numbers have no decimals where all are such.
static std::string tableOf(std::span<const Metric> elements, size_t columns) {
  const bool areWhole = std::all_of(elements.begin(), elements.end(), [](const Metric &element) {
    const double value = element.reported();
    return std::isfinite(value) && value == std::floor(value) && std::abs(value) < 1e15;
  });
  std::vector<std::string> cells;
  size_t width = 0;
  for (const Metric &element : elements) {
    char text[352]; // the largest number has 309 digits in front of the point
    std::snprintf(text, sizeof text, "%.*f", areWhole ? 0 : 4, element.reported());
    cells.emplace_back(text);
    width = std::max(width, cells.back().size());
  }
  std::string lines;
  for (size_t i = 0; i < cells.size(); ++i)
    lines += str(i % columns == 0 ? "\n" : "", "  ", std::string(width - cells[i].size(), ' '), cells[i]);
  return lines;
}

static std::string shapeText(std::span<const int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += str(text.empty() ? "" : "x", extent);
  return text;
}

std::string dgc::rt::formatTables(std::span<const Metric> metrics, std::string_view log) {
  std::string text;
  forEachMetric(metrics, [&](std::span<const Metric> elements) {
    const std::span<const int64_t> shape = elements.front().shape;
    if (shape.empty())
      return;
    const int64_t columns = shape.back(), rows = static_cast<int64_t>(elements.size()) / columns;
    text += str("\n", elements.front().name);
    if (shape.size() <= 2 && rows <= mostRows && columns <= mostColumns)
      text += tableOf(elements, static_cast<size_t>(columns));
    else
      text += str(" [", shapeText(shape), "]", log.empty() ? ": use --log-json to have it" : str(", in ", log));
  });
  return text;
}
