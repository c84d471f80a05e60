// The reduction loops of every instruction set give the same bits as those of
// the baseline, which the transport suite compares with a plain program.
#include "runtime/collective/Reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace dgc::rt {
namespace {

TEST(Reduce, EveryInstructionSetGivesTheSameBits) {
  std::mt19937 random(5);
  for (std::string_view isa : {"avx2", "avx512"})
    for (int t = 0; t < numDTypes; ++t)
      for (int r = 0; r < 4; ++r)
        for (int members : {1, 2, 3, 5, 8, 9, 29})
          for (size_t count : {0, 1, 7, 63, 64, 65, 256, 511}) {
            ReduceFn fast = selectReduceFor(isa, DType(t), Reduction(r));
            if (!fast)
              continue;
            std::vector<std::vector<uint8_t>> in(members, std::vector<uint8_t>(count * sizeOf(DType(t)) + 1));
            std::vector<const void *> srcs;
            for (auto &v : in) {
              for (uint8_t &b : v)
                b = DType(t) == DType::I1 ? random() & 1 : random();
              if (isFloat(DType(t))) // no NaN: which of several survives is not said
                for (size_t i = sizeOf(DType(t)); i <= v.size(); i += sizeOf(DType(t)))
                  v[i - 1] &= 0x3f;
              srcs.push_back(v.data());
            }
            std::vector<uint8_t> a(in[0].size(), 0xA5), b = a;
            void *dstA = a.data(), *dstB = b.data();
            selectReduceFor("baseline", DType(t), Reduction(r))(&dstA, 1, srcs.data(), members, count);
            fast(&dstB, 1, srcs.data(), members, count);
            ASSERT_EQ(a, b) << isa << " " << nameOf(DType(t)) << " reduction " << r << " of " << members;
            EXPECT_EQ(a.back(), 0xA5) << "wrote past the end";
          }
}

TEST(Reduce, MaxAndMinReturnNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Reduction r : {Reduction::Max, Reduction::Min})
    for (bool first : {false, true}) {
      float a = first ? nan : 1, b = first ? 1 : nan, out = 0;
      const void *srcs[] = {&a, &b};
      void *dst = &out;
      selectReduce(DType::F32, r)(&dst, 1, srcs, 2, 1);
      EXPECT_TRUE(std::isnan(out));
    }
}

// Equal addends are the worst case: while the sum grows, all roundings go the same way.
TEST(Reduce, TheErrorOfASumGrowsWithTheLogarithmOfTheMembers) {
  for (int members : {2, 8, 9, 100, 1000, 100000})
    for (size_t count : {1, 130}) {
      std::vector<float> in(count, 0.1f), out(count);
      std::vector<const void *> srcs(members, in.data());
      void *dst = out.data();
      selectReduce(DType::F32, Reduction::Sum)(&dst, 1, srcs.data(), members, count);
      const double exact = static_cast<double>(0.1f) * members;
      for (float sum : {out.front(), out.back()})
        EXPECT_LE(std::fabs(sum - exact), 4 * 0x1p-23 * std::log2(members) * exact) << members;
    }
}

// What each of two, four or eight workers adds up of its own may be added up again: the bits are those of one.
TEST(Reduce, AddsUpInPairs) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  auto sum = [](std::span<const float> in) {
    std::vector<const void *> srcs;
    for (const float &v : in)
      srcs.push_back(&v);
    float out;
    void *dst = &out;
    selectReduce(DType::F32, Reduction::Sum)(&dst, 1, srcs.data(), static_cast<int>(in.size()), 1);
    return out;
  };
  int inOrder = 0;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<float> in(16);
    for (float &v : in)
      v = uniform(random);
    const float all = sum(in);
    for (size_t each : {2, 4, 8}) {
      std::vector<float> sums;
      for (size_t first = 0; first < in.size(); first += each)
        sums.push_back(sum(std::span(in).subspan(first, each)));
      EXPECT_EQ(sum(sums), all) << each;
    }
    EXPECT_EQ(sum(std::span(in).first(3)), (in[0] + in[1]) + in[2]);
    EXPECT_EQ(sum(std::span(in).first(4)), (in[0] + in[1]) + (in[2] + in[3]));
    inOrder += ((in[0] + in[1]) + in[2]) + in[3] == (in[0] + in[1]) + (in[2] + in[3]);
  }
  EXPECT_LT(inOrder, 50); // or it would not matter
}

TEST(Reduce, RoundsHalvesOnce) {
  // 256 + 1 + 1 + 1 + 1: each single addition would round back to 256 in
  // bfloat16.
  uint16_t in[5] = {toBF16(256), toBF16(1), toBF16(1), toBF16(1), toBF16(1)}, out;
  const void *srcs[5] = {&in[0], &in[1], &in[2], &in[3], &in[4]};
  void *dst = &out;
  selectReduce(DType::BF16, Reduction::Sum)(&dst, 1, srcs, 5, 1);
  EXPECT_EQ(fromBF16(out), 260.0f);
}

} // namespace
} // namespace dgc::rt
