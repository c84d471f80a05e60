// Counts values.
#include "runtime/telemetry/ValueHistogram.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace dgc::rt;

static constexpr double kLeast = 1e-12, kGrowth = 1.1, kMost = 1e20;

/// The limits above zero: 1e-12, 1.1e-12 .. 1e20, and all that is beyond.
static const std::array<double, 776> &limits() {
  static const std::array<double, 776> all = [] {
    std::array<double, 776> made{};
    double limit = kLeast;
    for (double &each : made) {
      each = limit < kMost ? limit : std::numeric_limits<double>::max();
      limit *= kGrowth;
    }
    return made;
  }();
  return all;
}

static int bucketOf(double value) {
  const auto &all = limits();
  if (std::fabs(value) <= all[0])
    return 0;
  // The limit itself is in the bucket, on both sides of zero: by its mirror image what is negative has the next one.
  const auto first = std::lower_bound(all.begin(), all.end(), std::fabs(value));
  const auto bucket = static_cast<int>(std::min<std::ptrdiff_t>(first - all.begin(), all.size() - 1));
  return value > 0 ? bucket : -bucket;
}

double ValueHistogram::limit(int bucket) {
  const auto &all = limits();
  return bucket >= 0 ? all[static_cast<size_t>(bucket)] : -all[static_cast<size_t>(-bucket - 1)];
}

void ValueHistogram::add(double value) {
  if (!std::isfinite(value)) {
    ++notFinite;
    return;
  }
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  sum += value;
  squares += value * value;
  ++count;
  ++buckets[bucketOf(value)];
}

void ValueHistogram::merge(const ValueHistogram &other) {
  notFinite += other.notFinite;
  if (other.count == 0)
    return;
  least = count == 0 ? other.least : std::min(least, other.least);
  most = count == 0 ? other.most : std::max(most, other.most);
  sum += other.sum;
  squares += other.squares;
  count += other.count;
  for (const auto &[bucket, there] : other.buckets)
    buckets[bucket] += there;
}

std::string ValueHistogram::text() const {
  char head[160];
  std::snprintf(head, sizeof head, "%a %a %a %a", least, most, sum, squares);
  std::string text = str(head, " ", count, " ", notFinite);
  for (const auto &[bucket, there] : buckets)
    text += str(" ", bucket, " ", there);
  return text;
}

bool ValueHistogram::restore(std::string_view text) {
  *this = {};
  const std::string owned(text);
  const char *at = owned.c_str();
  auto real = [&](double &value) {
    char *end = nullptr;
    value = std::strtod(at, &end);
    return end != std::exchange(at, end);
  };
  auto whole = [&](auto &value) {
    while (*at == ' ')
      ++at;
    const auto [end, error] = std::from_chars(at, owned.c_str() + owned.size(), value);
    at = end;
    return error == std::errc();
  };
  if (!real(least) || !real(most) || !real(sum) || !real(squares) || !whole(count) || !whole(notFinite))
    return false;
  while (*at) {
    int bucket = 0;
    uint64_t there = 0;
    if (!whole(bucket) || !whole(there) || std::abs(bucket) >= static_cast<int>(limits().size()))
      return false;
    buckets[bucket] += there;
  }
  return true;
}
