// Products by GEMM for AVX2 are cut for threads so that the bits stay those of one call on one thread. Those that depend
// on the instruction set run with DNNL_MAX_CPU_ISA=AVX2 too.
#include "runtime/device/cpu/GemmOrder.h"
#include "test/unit/device/OneStep.h"

#include <algorithm>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
/// The sizes of the groups that a call computes, in order, written as oneDNN loops over them.
std::vector<int64_t> groupsOf(int64_t extent, int64_t block, int64_t group) {
  std::vector<int64_t> groups;
  for (int64_t begin = 0, size; begin < extent; begin += size) {
    size = extent - begin;
    if (size >= 2 * block)
      size = block;
    else if (size > block + block / 2)
      size = (size + 1) / 2;
    for (int64_t i = 0; i < size; i += group)
      groups.push_back(std::min(group, size - i));
  }
  return groups;
}

void expectSameGroups(const std::vector<GemmPart> &parts, int64_t extent, int64_t count, int64_t block, int64_t group) {
  std::vector<int64_t> groups;
  int64_t end = 0, most = 0;
  for (const GemmPart &part : parts) {
    for (const IndexRange &range : part) {
      ASSERT_EQ(range.begin, end);
      ASSERT_GE(range.size, 2) << "a product by GEMV";
      end += range.size;
      for (int64_t size : groupsOf(range.size, block, group))
        groups.push_back(size);
    }
    most = std::max(most, end - part.front().begin);
  }
  ASSERT_EQ(end, extent);
  ASSERT_LE(static_cast<int64_t>(parts.size()), count);
  ASSERT_LE(most, (extent + count - 1) / count + group + 2);
  ASSERT_EQ(groups, groupsOf(extent, block, group));
}

TEST(GemmOrder, PartsHaveTheGroupsOfTheWhole) {
  for (int64_t extent = 2; extent < 700; ++extent)
    for (int64_t count : {1, 2, 3, 5, 8, 64}) {
      SCOPED_TRACE(testing::Message() << extent << " in " << count);
      expectSameGroups(cutRows({extent, 5, 7, false, false}, count), extent, count, 48, 6);
      expectSameGroups(cutRows({extent, 5, 7, false, true}, count), extent, count, 96, 6);
    }
  for (int64_t extent : {2, 17, 18, 100, 4031, 6049, 8063, 8064, 12000, 50257})
    for (int64_t count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(testing::Message() << extent << " columns in " << count);
      expectSameGroups(cutColumns({5, extent, 7, false, false}, count), extent, count, 4032, 16);
    }
}

TEST(GemmOrder, OnePartIsOneCall) {
  for (int64_t extent : {2, 73, 95, 100, 4000})
    for (const auto &parts : {cutRows({extent, extent, 9, true, false}, 1), cutColumns({extent, extent, 9}, 1)}) {
      ASSERT_EQ(parts.size(), 1u);
      EXPECT_EQ(parts[0].size(), 1u);
    }
}

// Operands are copied where they are used often, up to a number of threads that leaves each enough of them.
TEST(GemmOrder, LargeProductsCopy) {
  EXPECT_EQ(threadsThatCopy({1024, 1024, 1024, false, false}), 63);
  EXPECT_EQ(threadsThatCopy({1024, 1024, 1024, true, false}), 1023);
  EXPECT_EQ(threadsThatCopy({512, 512, 512, false, false}), 0);
  EXPECT_EQ(threadsThatCopy({528, 528, 100, true, true}), 99);
  EXPECT_EQ(threadsThatCopy({64, 100000, 1000, false, false}), 0);
  EXPECT_EQ(threadsThatCopy({1024, 1024, 2, false, false}), 0);
}

struct ProductCase {
  int64_t m, n, k;
};

// The last two matrices are copied, with fewer threads than run here; there are two products by GEMV.
TEST(GemmOrder, ProductsDoNotDependOnThreads) {
  SKIP_WITH_THREAD_SANITIZER();
  for (ProductCase c : {ProductCase{34, 42, 256},
                        {128, 10, 900},
                        {95, 37, 1500},
                        {80, 183, 77},
                        {2519, 256, 10},
                        {950, 32, 14},
                        {7, 4100, 30},
                        {64, 2, 770},
                        {290, 2200, 60},
                        {600, 530, 500},
                        {1, 3001, 700},
                        {3001, 1, 700}})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true}) {
        SCOPED_TRACE(testing::Message() << c.m << "x" << c.n << "x" << c.k << " transposes " << transposeA
                                        << transposeB);
        Tensor a({transposeA ? c.k : c.m, transposeA ? c.m : c.k}, DType::F32, 1);
        Tensor b({transposeB ? c.n : c.k, transposeB ? c.k : c.n}, DType::F32, 2);
        Tensor dst({c.m, c.n}, DType::F32, 3), bias({c.n}, DType::F32, 4);
        fb::MatmulT op;
        op.b = 1;
        op.dst = 2;
        op.bias = 3;
        op.m = static_cast<uint64_t>(c.m);
        op.n = static_cast<uint64_t>(c.n);
        op.k = static_cast<uint64_t>(c.k);
        op.transpose_a = transposeA;
        op.transpose_b = transposeB;
        op.post_ops.push_back(std::make_unique<fb::PostOpT>());
        op.post_ops.back()->kind = fb::PostOpKind::GeluTanh;
        std::vector<double> one;
        for (int threads : {1, 2, 3, 7, 16, 33, 64}) {
          OneStep({&a, &b, &dst, &bias}).run(op, threads);
          if (threads == 1)
            one = dst.stored();
          EXPECT_EQ(dst.stored(), one) << threads << " threads";
        }
      }
}

// Tiles are where strides say, with the columns of the bias and the elements of post-ops that are theirs.
TEST(GemmOrder, TilesAreWhereTheyBelong) {
  for (ProductCase c : {ProductCase{95, 37, 130}, {131, 50, 70}, {13, 600, 64}, {600, 530, 20}}) {
    SCOPED_TRACE(testing::Message() << c.m << "x" << c.n << "x" << c.k);
    Tensor a({c.m, c.k}, DType::F32, 1), b({c.k, c.n}, DType::F32, 2), dst({c.m, c.n}, DType::F32, 3);
    Tensor bias({c.n}, DType::F32, 4), added({c.m, c.n}, DType::F32, 5);
    fb::MatmulT op;
    op.b = 1;
    op.dst = 2;
    op.bias = 3;
    op.m = static_cast<uint64_t>(c.m);
    op.n = static_cast<uint64_t>(c.n);
    op.k = static_cast<uint64_t>(c.k);
    for (fb::PostOpKind kind : {fb::PostOpKind::Add, fb::PostOpKind::Relu}) {
      op.post_ops.push_back(std::make_unique<fb::PostOpT>());
      op.post_ops.back()->kind = kind;
      op.post_ops.back()->arg = kind == fb::PostOpKind::Add ? 4 : -1;
    }
    OneStep({&a, &b, &dst, &bias, &added}).run(op, 3);
    const std::vector<double> actual = dst.stored();
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        const auto at = static_cast<size_t>(i * c.n + j);
        double sum = bias.values[static_cast<size_t>(j)] + added.values[at];
        for (int64_t l = 0; l < c.k; ++l)
          sum += a.values[static_cast<size_t>(i * c.k + l)] * b.values[static_cast<size_t>(l * c.n + j)];
        ASSERT_NEAR(actual[at], std::max(0.0, sum), 1e-4) << "row " << i << " column " << j;
      }
  }
}
} // namespace
