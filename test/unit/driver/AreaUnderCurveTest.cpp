// The area under the curve of given logits and labels, compared with all pairs of them.
#include "runtime/driver/AreaUnderCurve.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace dgc::rt;

namespace {
template <typename T> ElementsView viewOf(DType type, const std::vector<T> &values) {
  return {type, std::as_bytes(std::span(values))};
}

double areaOf(const std::vector<float> &logits, const std::vector<int32_t> &labels) {
  return areaUnderCurve(viewOf(DType::F32, logits), viewOf(DType::I32, labels));
}

/// By definition: the share of the pairs of a positive and a negative element in which the positive one is larger.
double areaOfPairs(const std::vector<float> &logits, const std::vector<int32_t> &labels) {
  double right = 0, pairs = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    for (size_t j = 0; j < logits.size(); ++j) {
      if (labels[i] == 0 || labels[j] != 0 || std::isnan(logits[i]) || std::isnan(logits[j]))
        continue;
      right += logits[i] > logits[j] ? 1 : logits[i] == logits[j] ? 0.5 : 0;
      ++pairs;
    }
  return pairs == 0 ? 0 : right / pairs;
}

TEST(AreaUnderCurve, IsTheShareOfPairsInOrder) {
  EXPECT_EQ(areaOf({1, 2, 3, 4}, {0, 0, 1, 1}), 1);
  EXPECT_EQ(areaOf({1, 2, 3, 4}, {1, 1, 0, 0}), 0);
  EXPECT_EQ(areaOf({1, 2, 3, 4}, {0, 1, 0, 1}), 0.75);
  EXPECT_EQ(areaOf({5, 5, 5}, {1, 0, 1}), 0.5);
  EXPECT_EQ(areaOf({-0.0f, 0.0f}, {1, 0}), 0.5);
}

TEST(AreaUnderCurve, IsZeroWithoutPairs) {
  EXPECT_EQ(areaOf({}, {}), 0);
  EXPECT_EQ(areaOf({1, 2}, {1, 1}), 0);
  EXPECT_EQ(areaOf({1, 2}, {0, 0}), 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(areaOf({nan, 2}, {1, 0}), 0);
}

TEST(AreaUnderCurve, LeavesOutWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(areaOf({nan, 1, 2, nan, 3, -infinity, infinity, infinity}, {1, 0, 1, 0, 0, 1, 1, 0}),
            areaOf({1, 2, 3, -infinity, infinity, infinity}, {0, 1, 0, 1, 1, 0}));
  // Of the nine pairs: -inf is above none, 2 above one, inf above two and equal to one.
  EXPECT_DOUBLE_EQ(areaOf({1, 2, 3, -infinity, infinity, infinity}, {0, 1, 0, 1, 1, 0}), 3.5 / 9);
}

TEST(AreaUnderCurve, IsThatOfAllPairsWhateverIsEqual) {
  std::mt19937 random(7);
  for (int levels : {1, 2, 5, 40, 100000})
    for (size_t count : {2u, 3u, 17u, 400u}) {
      std::vector<float> logits(count);
      std::vector<int32_t> labels(count);
      for (size_t i = 0; i < count; ++i) {
        logits[i] = static_cast<float>(random() % static_cast<unsigned>(levels)) / 8 - 1;
        labels[i] = static_cast<int32_t>(random() % 3 == 0) * -3; // not 0 is positive
        if (random() % 20 == 0)
          logits[i] = std::numeric_limits<float>::quiet_NaN();
      }
      EXPECT_EQ(areaOf(logits, labels), areaOfPairs(logits, labels)) << levels << " levels, " << count;
    }
}

TEST(AreaUnderCurve, TakesElementsOfAnyType) {
  const std::vector<double> logits{0.1, 0.3, 0.2, 0.4};
  const std::vector<float> labels{0.5f, 0.75f, 0.25f, 1}; // above 0.5 is positive
  const std::vector<uint8_t> bytes{0, 255, 0, 1};
  const std::vector<uint16_t> halves{0x2e66, 0x34cd, 0x3266, 0x3666}; // 0.1, 0.3, 0.2, 0.4
  EXPECT_EQ(areaUnderCurve(viewOf(DType::F64, logits), viewOf(DType::F32, labels)), 1);
  EXPECT_EQ(areaUnderCurve(viewOf(DType::F64, logits), viewOf(DType::U8, bytes)), 1);
  EXPECT_EQ(areaUnderCurve(viewOf(DType::F16, halves), viewOf(DType::U8, bytes)), 1);
}
} // namespace
