// What tests of a batch that is not full share: its inputs, and how far results are apart.
#pragma once

#include "runtime/artifact/Reader.h"
#include "test/unit/support/Execute.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace dgc::testing::short_batch {

constexpr int64_t full = 6, real = 4;

/// The first examples of a batch of `full`; those after `real` are unlike all others.
inline NamedArrays inputs(int64_t batch) {
  std::mt19937 rng(11);
  std::vector<float> x(full * 3), x3(full * 6);
  std::vector<int32_t> y(full), y2(full * 2);
  auto fill = [&](std::vector<float> &values) {
    for (float &value : values)
      value = float(rng() % 2001) / 1000 - 1;
  };
  fill(x);
  fill(x3);
  for (std::vector<int32_t> *labels : {&y, &y2})
    for (int32_t &label : *labels)
      label = static_cast<int32_t>(rng() % 3);
  auto first = [&](auto values, int64_t each) {
    values.resize(static_cast<size_t>(batch * each));
    return values;
  };
  return {{"x", HostArray::of({batch, 3}, first(x, 3))},
          {"y", HostArray::of<int32_t>({batch}, first(y, 1), rt::DType::I32)},
          {"x3", HostArray::of({batch, 2, 3}, first(x3, 6))},
          {"y2", HostArray::of<int32_t>({batch, 2}, first(y2, 2), rt::DType::I32)}};
}

/// Those that the program takes.
inline NamedArrays inputsOf(const std::vector<uint8_t> &plan, const std::string &program, int64_t batch) {
  NamedArrays all = inputs(batch), taken;
  for (const artifact::Program *each : *artifact::GetPlan(plan.data())->programs())
    for (uint32_t i = 0; each->name()->str() == program && each->inputs() && i < each->inputs()->size(); ++i)
      if (auto it = all.find(each->inputs()->Get(i)->name()->str()); it != all.end())
        taken.insert(*it);
  return taken;
}

/// The largest difference, relative to the largest element.
inline double apart(const std::vector<float> &a, const std::vector<float> &b) {
  double difference = 0, largest = 1e-6;
  if (a.size() != b.size())
    return INFINITY;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = std::isnan(a[i]) ? INFINITY : std::max(difference, std::abs(double{a[i]} - b[i]));
    largest = std::max(largest, std::abs(double{b[i]}));
  }
  return difference / largest;
}

inline double apart(const NamedArrays &a, const NamedArrays &b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (const auto &[name, array] : b)
    most = std::max(most, a.contains(name) ? apart(a.at(name).as<float>(), array.as<float>()) : INFINITY);
  return most;
}

/// The elements of real examples of an output with `full` examples in one of its dimensions.
inline std::vector<float> realPart(const HostArray &array, const std::vector<int64_t> &shape) {
  std::vector<float> all = array.as<float>(), part;
  for (size_t i = 0; i < all.size(); ++i) {
    bool isReal = true;
    for (size_t d = shape.size(), rest = i; d-- > 0; rest /= static_cast<size_t>(array.shape[d]))
      isReal &= static_cast<int64_t>(rest % static_cast<size_t>(array.shape[d])) < shape[d];
    if (isReal)
      part.push_back(all[i]);
  }
  return part;
}

} // namespace dgc::testing::short_batch
