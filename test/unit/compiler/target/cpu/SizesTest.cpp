//===- SizesTest.cpp - rows, columns and sums of every length -------------===//
//
// How threads of a GPU share rows and sums depends on their size: a warp or a block for each, values that stay in
// registers or are computed again, several blocks for one sum. Sizes that divide nothing are among them.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace dgc::test;

namespace {

class RowLength : public testing::TestWithParam<int> {};

const char *const kSoftmax = R"(
func.func @k(%x: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {2} {{
  %m = dgc.reduce max %x dims [1] : tensor<{0}x{1}xf32>
  %mb = dgc.broadcast_in_dim %m dims [0] to [{0}, {1}] : tensor<{0}xf32>
  %s = dgc.subtract %x, %mb : tensor<{0}x{1}xf32>
  %e = dgc.exponential %s : tensor<{0}x{1}xf32>
  %t = dgc.reduce sum %e dims [1] : tensor<{0}x{1}xf32>
  %tb = dgc.broadcast_in_dim %t dims [0] to [{0}, {1}] : tensor<{0}xf32>
  %r = dgc.divide %e, %tb : tensor<{0}x{1}xf32>
  return %r : tensor<{0}x{1}xf32>
})";

void checkSoftmax(Buffer<float> &x, Buffer<float> &r, int rows, int n, int first = 0) {
  for (int i = first; i < rows; ++i) {
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < n; ++j)
      most = std::max<double>(most, x[i * n + j]);
    for (int j = 0; j < n; ++j)
      sum += std::exp(x[i * n + j] - most);
    for (int j = 0; j < n; ++j) {
      double expected = std::exp(x[i * n + j] - most) / sum;
      ASSERT_NEAR(r[i * n + j], expected, expected * 1e-5 + 1e-12) << n << ": " << i << ", " << j;
    }
  }
}

TEST_P(RowLength, Softmax) {
  int n = GetParam(), rows = 11;
  for (bool inPlace : {false, true}) {
    LoadedKernels kernels(
        llvm::formatv(kSoftmax, rows, n, inPlace ? "attributes {dgc.inplace = array<i64: 0>}" : "").str());
    ASSERT_TRUE(kernels.ok());
    if (!LoadedKernels::onReference())
      EXPECT_EQ(kernels.info().workspaceBytes, 0u);
    for (int pieces : {1, 2}) {
      auto x = samples<float>(rows * n, 3), r = samples<float>(rows * n, 3);
      kernels.call({inPlace ? r.data() : x.data(), r.data()}, pieces);
      checkSoftmax(x, r, rows, n);
    }
  }
}

// Of rows that are too long to be kept a GPU takes the maximum and the sum of exponentials together. What is masked may
// be all that a thread has of a row, or all of a row.
TEST(LongRows, MaskedAndInfinite) {
  const int n = 40001, rows = 7;
  for (bool is16 : {false, true}) {
    std::string text = llvm::formatv(kSoftmax, rows, n, "").str();
    if (is16) { // the argument; the maximum and the sum are of f32
      text.replace(text.find("%x: tensor"), 10, "%y: tensor");
      text.replace(text.find("xf32>) ->"), 9, "xbf16>) ->");
      text.insert(text.find("%m ="),
                  llvm::formatv("%x = dgc.convert %y to f32 : tensor<{0}x{1}xbf16>\n", rows, n).str());
    }
    LoadedKernels kernels(text);
    ASSERT_TRUE(kernels.ok());
    auto x = samples<float>(rows * n);
    for (int i = 0; i < n; ++i) {
      const int rank = i / 512; // of 512 elements
      x[i] = -INFINITY;
      x[n + i] = i % 512 == 77 ? x[n + i] : -INFINITY;         // one thread has all
      x[2 * n + i] = i < n - 1 ? -INFINITY : 3.0f;             // in the end
      x[3 * n + i] = i == 0 ? 3.0f : i == 7 ? -INFINITY : -80; // and the beginning
      x[4 * n + i] = float(rank);                              // ever larger
      if (is16)
        x[4 * n + i] = float(rank & ~7);
    }
    x[5 * n + 1234] = INFINITY;
    x[6 * n + 4321] = NAN;
    Buffer<uint16_t> halves(rows * n);
    for (int i = 0; i < rows * n; ++i) {
      halves[i] = uint16_t(llvm::bit_cast<uint32_t>(x[i]) >> 16);
      if (is16)
        x[i] = llvm::bit_cast<float>(uint32_t(halves[i]) << 16);
    }
    for (int pieces : {1, 2}) {
      Buffer<float> r(rows * n);
      kernels.call({is16 ? static_cast<void *>(halves.data()) : x.data(), r.data()}, pieces);
      for (int row : {0, 5, 6})
        for (int i = 0; i < n; i += 100)
          ASSERT_TRUE(std::isnan(r[row * n + i])) << row << ", " << i;
      checkSoftmax(x, r, 5, n, 1);
    }
  }
}

// Beside them sums of those differences that are chosen: of one element, many, none.
TEST(LongRows, ChosenDifferences) {
  const int n = 40001, rows = 6;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%x: tensor<{0}x{1}xf32>, %c: tensor<{0}x{1}xi1>) -> (tensor<{0}xf32>, tensor<{0}xf32>) {{
      %zero = dgc.constant dense<0.0> : tensor<{0}x{1}xf32>
      %m = dgc.reduce max %x dims [1] : tensor<{0}x{1}xf32>
      %mb = dgc.broadcast_in_dim %m dims [0] to [{0}, {1}] : tensor<{0}xf32>
      %s = dgc.subtract %x, %mb : tensor<{0}x{1}xf32>
      %e = dgc.exponential %s : tensor<{0}x{1}xf32>
      %sum = dgc.reduce sum %e dims [1] : tensor<{0}x{1}xf32>
      %chosen = dgc.select %c, %s, %zero : tensor<{0}x{1}xi1>, tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>
      %target = dgc.reduce sum %chosen dims [1] : tensor<{0}x{1}xf32>
      %log = dgc.log %sum : tensor<{0}xf32>
      return %log, %target : tensor<{0}xf32>, tensor<{0}xf32>
    })",
                                      rows, n)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto x = samples<float>(rows * n);
  Buffer<uint8_t> c(rows * n);
  for (int i = 0; i < n; ++i) {
    c[i] = i == 31234;
    c[n + i] = i % 3 == 0;
    x[2 * n + i] = i % 5 ? -INFINITY : x[2 * n + i]; // none of which is chosen
    c[2 * n + i] = i % 5 == 0;
    x[3 * n + i] = -INFINITY; // and nothing is chosen
    x[4 * n + i] = float(i) / 100;
    c[4 * n + i] = i % 1000 == 1;
    c[5 * n + i] = i == 7;
  }
  x[5 * n + 7] = -INFINITY;
  Buffer<float> log(rows), target(rows);
  kernels.call({x.data(), c.data(), log.data(), target.data()}, 2);
  for (int row : {0, 1, 2, 4}) {
    double most = -INFINITY, sum = 0, chosen = 0;
    for (int i = 0; i < n; ++i)
      most = std::max<double>(most, x[row * n + i]);
    for (int i = 0; i < n; ++i) {
      sum += std::exp(x[row * n + i] - most);
      chosen += c[row * n + i] ? x[row * n + i] - most : 0;
    }
    EXPECT_NEAR(log[row], std::log(sum), 2e-5) << row;
    EXPECT_NEAR(target[row], chosen, std::abs(chosen) * 2e-6) << row;
  }
  EXPECT_TRUE(std::isnan(log[3]));
  EXPECT_EQ(target[3], 0);
  EXPECT_EQ(target[5], -INFINITY);
}

// A maximum of planes, and sums of exponentials of planes and of the rows in them: not both with the maximum at once.
TEST(LongRows, SumsOfOtherRowsThanTheMaximum) {
  const int planes = 3, n = 200;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%a: tensor<{0}x{1}x{1}xf32>, %b: tensor<{1}xf32>)
        -> (tensor<{0}xf32>, tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>) {{
      %c = dgc.broadcast_in_dim %b dims [1] to [{0}, {1}, {1}] : tensor<{1}xf32>
      %x = dgc.add %a, %c : tensor<{0}x{1}x{1}xf32>
      %m = dgc.reduce max %x dims [1, 2] : tensor<{0}x{1}x{1}xf32>
      %mb = dgc.broadcast_in_dim %m dims [0] to [{0}, {1}, {1}] : tensor<{0}xf32>
      %s = dgc.subtract %x, %mb : tensor<{0}x{1}x{1}xf32>
      %e = dgc.exponential %s : tensor<{0}x{1}x{1}xf32>
      %plane = dgc.reduce sum %e dims [1, 2] : tensor<{0}x{1}x{1}xf32>
      %row = dgc.reduce sum %e dims [2] : tensor<{0}x{1}x{1}xf32>
      %plain = dgc.reduce sum %x dims [2] : tensor<{0}x{1}x{1}xf32>
      return %plane, %row, %plain : tensor<{0}xf32>, tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>
    })",
                                      planes, n)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(planes * n * n), b = samples<float>(n);
  Buffer<float> plane(planes), row(planes * n), plain(planes * n);
  kernels.call({a.data(), b.data(), plane.data(), row.data(), plain.data()}, 2);
  for (int p = 0; p < planes; ++p) {
    auto x = [&](int i, int j) { return double(a[(p * n + i) * n + j] + b[i]); };
    double most = -INFINITY, all = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        most = std::max(most, x(i, j));
    for (int i = 0; i < n; ++i) {
      double sum = 0, straight = 0;
      for (int j = 0; j < n; ++j) {
        sum += std::exp(x(i, j) - most);
        straight += x(i, j);
      }
      all += sum;
      ASSERT_NEAR(row[p * n + i], sum, sum * 1e-5) << p << ", " << i;
      ASSERT_NEAR(plain[p * n + i], straight, 1e-3) << p << ", " << i;
    }
    EXPECT_NEAR(plane[p], all, all * 1e-5) << p;
  }
}

// The loss of each row, and its gradient, with one target for each: sums, what is known once for a row, and rows again.
TEST_P(RowLength, CrossEntropyAndItsGradient) {
  int n = GetParam(), rows = 5;
  LoadedKernels kernels(llvm::formatv(R"(
    #id = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @k(%x: tensor<{0}x{1}xf32>, %t: tensor<{0}xi32>) -> (tensor<{0}xf32>, tensor<{0}x{1}xf32>) {{
      %zero = dgc.constant dense<0.0> : tensor<{0}x{1}xf32>
      %m = dgc.reduce max %x dims [1] : tensor<{0}x{1}xf32>
      %mb = dgc.broadcast_in_dim %m dims [0] to [{0}, {1}] : tensor<{0}xf32>
      %s = dgc.subtract %x, %mb : tensor<{0}x{1}xf32>
      %e = dgc.exponential %s : tensor<{0}x{1}xf32>
      %sum = dgc.reduce sum %e dims [1] : tensor<{0}x{1}xf32>
      %log = dgc.log %sum : tensor<{0}xf32>
      %lse = dgc.add %log, %m : tensor<{0}xf32>
      %iota = dgc.iota dim 1 : tensor<{0}x{1}xi32>
      %tb = dgc.broadcast_in_dim %t dims [0] to [{0}, {1}] : tensor<{0}xi32>
      %is = dgc.compare eq %iota, %tb : tensor<{0}x{1}xi32>
      %picked = dgc.select %is, %x, %zero : tensor<{0}x{1}xi1>, tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>
      %target = dgc.reduce sum %picked dims [1] : tensor<{0}x{1}xf32>
      %loss = dgc.subtract %lse, %target : tensor<{0}xf32>
      %sumb = dgc.broadcast_in_dim %sum dims [0] to [{0}, {1}] : tensor<{0}xf32>
      %p = dgc.divide %e, %sumb : tensor<{0}x{1}xf32>
      %one = dgc.convert %is to f32 : tensor<{0}x{1}xi1>
      %g = dgc.subtract %p, %one : tensor<{0}x{1}xf32>
      return %loss, %g : tensor<{0}xf32>, tensor<{0}x{1}xf32>
    })",
                                      rows, n)
                            .str());
  ASSERT_TRUE(kernels.ok());
  if (!LoadedKernels::onReference())
    EXPECT_LT(kernels.info().workspaceBytes, 4096u);
  auto x = samples<float>(rows * n, 3);
  Buffer<int32_t> t(rows);
  for (int i = 0; i < rows; ++i)
    t[i] = (i * 13 + 2) % n;
  Buffer<float> loss(rows), g(rows * n);
  kernels.call({x.data(), t.data(), loss.data(), g.data()});
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j)
      sum += std::exp(double(x[i * n + j]));
    ASSERT_NEAR(loss[i], std::log(sum) - x[i * n + t[i]], 2e-5) << n;
    for (int j = 0; j < n; ++j)
      ASSERT_NEAR(g[i * n + j], std::exp(double(x[i * n + j])) / sum - (j == t[i]), 2e-6)
          << n << ": " << i << ", " << j;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowLength, testing::Values(5, 33, 1000, 1027, 3001, 9000, 40001));

class SumLength : public testing::TestWithParam<std::pair<int, int>> {};

// Sums over everything, along rows and across them; some are long enough for several blocks.
TEST_P(SumLength, EverythingRowsAndColumns) {
  auto [rows, columns] = GetParam();
  for (int axes : {0, 1, 2}) {
    int results = axes == 0 ? columns : axes == 1 ? rows : 1;
    std::string result = axes == 2 ? "tensor<f32>" : llvm::formatv("tensor<{0}xf32>", results).str();
    LoadedKernels kernels(llvm::formatv(R"(
      func.func @k(%x: tensor<{0}x{1}xf32>) -> ({2}, {2}, {2}) {{
        %y = dgc.multiply %x, %x : tensor<{0}x{1}xf32>
        %0 = dgc.reduce sum %y dims [{3}] : tensor<{0}x{1}xf32>
        %1 = dgc.reduce max %x dims [{3}] : tensor<{0}x{1}xf32>
        %2 = dgc.sqrt %0 : {2}
        return %0, %1, %2 : {2}, {2}, {2}
      })",
                                        rows, columns, result, axes == 2 ? "0, 1" : std::to_string(axes))
                              .str());
    ASSERT_TRUE(kernels.ok());
    auto x = samples<float>(rows * columns);
    for (int pieces : {1, 2}) {
      Buffer<float> sum(results, -1), most(results, -1), root(results, -1);
      kernels.call({x.data(), sum.data(), most.data(), root.data()}, pieces);
      std::vector<double> expected(results, 0), largest(results, -INFINITY);
      for (int i = 0; i < rows * columns; ++i) {
        int k = axes == 2 ? 0 : axes == 0 ? i % columns : i / columns;
        expected[k] += double(x[i]) * x[i];
        largest[k] = std::max<double>(largest[k], x[i]);
      }
      for (int k = 0; k < results; ++k) {
        ASSERT_NEAR(sum[k], expected[k], expected[k] * 1e-5) << rows << "x" << columns << " " << axes << ": " << k;
        ASSERT_NEAR(root[k], std::sqrt(expected[k]), std::sqrt(expected[k]) * 1e-5);
        ASSERT_EQ(most[k], float(largest[k]));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SumLength,
                         testing::Values(std::pair(513, 37), std::pair(3, 33000), std::pair(700, 64),
                                         std::pair(1, 70001), std::pair(9001, 3)));

// More addends than threads of a block; some rows get many of them, most none.
TEST(ScatterAdd, FewOfManyAddends) {
  constexpr int addends = 1000, rows = 300, width = 70;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%i: tensor<{0}xi32>, %u: tensor<{0}x{2}xf32>) -> tensor<{1}x{2}xf32> {{
      %0 = dgc.scatter_add %i, %u dim 0 size {1} : tensor<{0}xi32>, tensor<{0}x{2}xf32>
      return %0 : tensor<{1}x{2}xf32>
    })",
                                      addends, rows, width)
                            .str());
  ASSERT_TRUE(kernels.ok());
  Buffer<int32_t> index(addends);
  for (int i = 0; i < addends; ++i)
    index[i] = i % 3 == 0 ? 17 : i * 7 % 200;
  auto updates = samples<float>(addends * width);
  for (int pieces : {1, 2}) {
    Buffer<float> r(rows * width, -1);
    kernels.call({index.data(), updates.data(), r.data()}, pieces);
    std::vector<double> expected(rows * width, 0);
    for (int i = 0; i < addends; ++i)
      for (int j = 0; j < width; ++j)
        expected[index[i] * width + j] += updates[i * width + j];
    for (int i = 0; i < rows * width; ++i)
      ASSERT_NEAR(r[i], expected[i], 1e-4) << i;
  }
}

} // namespace
