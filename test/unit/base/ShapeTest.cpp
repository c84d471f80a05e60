// Shapes and blocks: against sizes worked out by hand and a plain loop over
// elements.
#include "runtime/base/Shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;
using testing::ElementsAre;

using Dims = std::vector<int64_t>;

TEST(Shape, Describes) {
  EXPECT_EQ(describe(DType::F32, Dims{128, 28}), "f32 [128x28]");
  EXPECT_EQ(describe(DType::I64, Dims{}), "i64 []");
}

TEST(Shape, SizesDoNotOverflow) {
  EXPECT_EQ(byteSize(DType::F32, Dims{2, 3}), 24u);
  EXPECT_EQ(byteSize(DType::F64, Dims{}), 8u);
  EXPECT_EQ(byteSize(DType::U8, Dims{0, 5}), 0u);
  EXPECT_EQ(byteSize(DType::U8, Dims{INT64_MAX}), uint64_t{INT64_MAX});
  EXPECT_EQ(byteSize(DType::I16, Dims{INT64_MAX}), std::nullopt);
  EXPECT_EQ(byteSize(DType::U8, Dims{0, INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(byteSize(DType::U8, Dims{-1}), std::nullopt);
}

TEST(Shape, BlocksLieInside) {
  EXPECT_TRUE(isBlockInside(Dims{4, 4}, Dims{3, 0}, Dims{1, 4}));
  EXPECT_TRUE(isBlockInside(Dims{4}, Dims{4}, Dims{0}));
  EXPECT_FALSE(isBlockInside(Dims{4}, Dims{3}, Dims{2}));
  EXPECT_FALSE(isBlockInside(Dims{4}, Dims{-1}, Dims{2}));
  EXPECT_FALSE(isBlockInside(Dims{4}, Dims{0}, Dims{-1}));
  EXPECT_FALSE(isBlockInside(Dims{4}, Dims{INT64_MAX}, Dims{INT64_MAX}));
  EXPECT_FALSE(isBlockInside(Dims{4}, Dims{0, 0}, Dims{1, 1}));
}

TEST(Shape, CutsFewPieces) {
  using P = BlockPiece;
  EXPECT_THAT(blockPieces(Dims{}, Dims{}, Dims{}), ElementsAre(P{0, 0, 1}));
  EXPECT_THAT(blockPieces(Dims{2, 3, 4}, Dims{0, 0, 0}, Dims{2, 3, 4}), ElementsAre(P{0, 0, 24}));
  EXPECT_THAT(blockPieces(Dims{4, 3}, Dims{1, 0}, Dims{2, 3}), ElementsAre(P{3, 0, 6}));
  EXPECT_THAT(blockPieces(Dims{2, 3}, Dims{0, 1}, Dims{2, 2}), ElementsAre(P{1, 0, 2}, P{4, 2, 2}));
  EXPECT_THAT(blockPieces(Dims{2, 3}, Dims{0, 1}, Dims{0, 2}), ElementsAre());
}

TEST(Shape, LeavesPaddingOut) {
  using P = BlockPiece;
  EXPECT_THAT(blockPieces(Dims{5, 3}, Dims{3, 0}, Dims{2, 3}, Dims{3, 3}), ElementsAre(P{9, 0, 6}));
  EXPECT_THAT(blockPieces(Dims{2, 5}, Dims{0, 3}, Dims{2, 2}, Dims{2, 3}), ElementsAre(P{3, 0, 2}, P{8, 3, 2}));
  // All of the array, in memory that is larger than it.
  EXPECT_THAT(blockPieces(Dims{2, 2}, Dims{0, 0}, Dims{2, 2}, Dims{2, 3}), ElementsAre(P{0, 0, 2}, P{2, 3, 2}));
  EXPECT_THAT(blockPieces(Dims{2, 2}, Dims{2, 0}, Dims{0, 2}, Dims{1, 2}), ElementsAre());
}

/// Every block of a small array, element by element.
TEST(Shape, CutsEveryBlockRight) {
  const Dims shape = {2, 3, 2};
  for (int64_t a = 0; a <= 2; ++a)
    for (int64_t b = 0; b <= 3; ++b)
      for (int64_t c = 0; c <= 2; ++c)
        for (int64_t na = 0; na <= 2 - a; ++na)
          for (int64_t nb = 0; nb <= 3 - b; ++nb)
            for (int64_t nc = 0; nc <= 2 - c; ++nc) {
              std::vector<size_t> expected, actual;
              for (int64_t i = a; i < a + na; ++i)
                for (int64_t j = b; j < b + nb; ++j)
                  for (int64_t k = c; k < c + nc; ++k)
                    expected.push_back(static_cast<size_t>(i * 6 + j * 2 + k));
              for (const BlockPiece &p : blockPieces(shape, Dims{a, b, c}, Dims{na, nb, nc})) {
                EXPECT_EQ(p.to, actual.size());
                for (size_t e = 0; e < p.count; ++e)
                  actual.push_back(p.from + e);
              }
              EXPECT_EQ(actual, expected);
            }
}
