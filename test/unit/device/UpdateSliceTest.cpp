// A slice that is replaced, against plain loops.
#include "test/unit/device/OneStep.h"

#include <algorithm>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
// At each place, those outside moved; in place and into another buffer; numbers of bytes that differ.
TEST(UpdateSlice, ReplacesTheSliceAlone) {
  for (DType type : {DType::F32, DType::F64, DType::BF16})
    for (DType startType : {DType::I32, DType::I64, DType::I8, DType::U8})
      for (int64_t start : {0, 2, 4, 5, 100}) {
        const int64_t outer = 3, size = 6, extent = 2, inner = 5, first = std::min<int64_t>(start, size - extent);
        Tensor src({outer, size, inner}, type, 5), update({outer, extent, inner}, type, 7),
            dst({outer, size, inner}, type), at({1}, startType);
        at.values[0] = static_cast<double>(start);
        std::vector<double> expected = src.stored();
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = 0; i < extent * inner; ++i)
            expected[static_cast<size_t>((o * size + first) * inner + i)] =
                update.stored()[static_cast<size_t>(o * extent * inner + i)];
        for (bool isInPlace : {false, true}) {
          fb::UpdateSliceT op;
          op.src = 0, op.update = 1, op.start = 2, op.dst = isInPlace ? 0 : 3;
          op.outer = outer, op.size = size, op.extent = extent, op.inner = inner;
          OneStep({&src, &update, &at, &dst}).run(std::move(op));
          EXPECT_EQ((isInPlace ? src : dst).stored(), expected) << start;
        }
      }
}

TEST(UpdateSlice, ANegativePlaceIsTheFirst) {
  Tensor src({4}, DType::F32, 5), update({2}, DType::F32, 7), at({1}, DType::I32), dst({4}, DType::F32);
  at.values[0] = -3;
  fb::UpdateSliceT op;
  op.src = 0, op.update = 1, op.start = 2, op.dst = 3;
  op.outer = 1, op.size = 4, op.extent = 2, op.inner = 1;
  OneStep({&src, &update, &at, &dst}).run(std::move(op));
  EXPECT_EQ(dst.stored(),
            (std::vector<double>{update.stored()[0], update.stored()[1], src.stored()[2], src.stored()[3]}));
}
} // namespace
