// Running a program on one device and cut over several, and comparing.
#pragma once

#include "test/unit/support/Execute.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dgc::testing {

/// Numbers without a pattern that a transposed or shifted part would keep.
inline std::vector<float> numbers(int64_t count, unsigned seed) {
  std::vector<float> values(count);
  uint64_t state = 88172645463325252ull + seed * 7919;
  for (float &value : values) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value = float(int64_t(state >> 40)) / float(1 << 23) - 1;
  }
  return values;
}

inline HostArray array(std::vector<int64_t> shape, unsigned seed) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return HostArray::of(std::move(shape), numbers(count, seed));
}

/// The L2 norm of the difference, relative to that of `expected`; of f32 and
/// f64, and 0 or 1 for integers.
inline double relativeError(const HostArray &expected, const HostArray &actual) {
  if (expected.shape != actual.shape || expected.dtype != actual.dtype)
    return INFINITY;
  double difference = 0, norm = 0;
  auto add = [&](const auto &x, const auto &y) {
    for (size_t i = 0; i < x.size(); ++i) {
      difference += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
      norm += double(x[i]) * x[i];
    }
  };
  if (expected.dtype == rt::DType::F32)
    add(expected.as<float>(), actual.as<float>());
  else if (expected.dtype == rt::DType::F64)
    add(expected.as<double>(), actual.as<double>());
  else
    return expected.bytes == actual.bytes ? 0 : 1;
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}

/// Expects equal names and values that differ by at most `tolerance`.
inline void expectClose(const NamedArrays &expected, const NamedArrays &actual, double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  for (const auto &[name, array] : expected) {
    ASSERT_TRUE(actual.count(name)) << name;
    EXPECT_LE(relativeError(array, actual.at(name)), tolerance) << name;
  }
}

} // namespace dgc::testing
