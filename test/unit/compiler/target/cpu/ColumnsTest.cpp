//===- ColumnsTest.cpp - sums of columns, short rows and updates ----------===//
//
// Where a GPU has a thread take several adjacent columns, or all of a short row, and where what one root writes in place
// another one has read.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace dgc::test;

namespace {

class Columns : public testing::TestWithParam<std::pair<int, int>> {};

// As in the gradient of a batch normalization: what is added up is stored, and columns have numbers of their own.
TEST_P(Columns, StoredAndAddedUp) {
  auto [rows, columns] = GetParam();
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%x: tensor<{0}x{1}xf32>, %g: tensor<{0}x{1}xf32>, %mean: tensor<{1}xf32>)
        -> (tensor<{0}x{1}xf32>, tensor<{1}xf32>, tensor<{1}xf32>) {{
      %zero = dgc.constant dense<0.0> : tensor<{0}x{1}xf32>
      %is = dgc.compare gt %x, %zero : tensor<{0}x{1}xf32>
      %y = dgc.select %is, %g, %zero : tensor<{0}x{1}xi1>, tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>
      %m = dgc.broadcast_in_dim %mean dims [1] to [{0}, {1}] : tensor<{1}xf32>
      %c = dgc.subtract %x, %m : tensor<{0}x{1}xf32>
      %p = dgc.multiply %y, %c : tensor<{0}x{1}xf32>
      %0 = dgc.reduce sum %y dims [0] : tensor<{0}x{1}xf32>
      %1 = dgc.reduce sum %p dims [0] : tensor<{0}x{1}xf32>
      return %y, %0, %1 : tensor<{0}x{1}xf32>, tensor<{1}xf32>, tensor<{1}xf32>
    })",
                                      rows, columns)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto x = samples<float>(rows * columns, 3), g = samples<float>(rows * columns, 11), mean = samples<float>(columns, 5);
  Buffer<float> y(rows * columns, -1), first(columns, -1), second(columns, -1);
  kernels.call({x.data(), g.data(), mean.data(), y.data(), first.data(), second.data()});
  std::vector<double> sums(columns), products(columns), sizes(columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      float wanted = x[i * columns + j] > 0 ? g[i * columns + j] : 0;
      ASSERT_EQ(y[i * columns + j], wanted) << i << ", " << j;
      double product = double(wanted) * (double(x[i * columns + j]) - mean[j]);
      sums[j] += wanted;
      products[j] += product;
      sizes[j] += std::abs(wanted) + std::abs(product);
    }
  for (int j = 0; j < columns; ++j) {
    ASSERT_NEAR(first[j], sums[j], sizes[j] * 1e-6) << j;
    ASSERT_NEAR(second[j], products[j], sizes[j] * 1e-6) << j;
  }
}

// Columns that 4 divides, that 2 does, of which there are no more than a few threads, and that stay single.
INSTANTIATE_TEST_SUITE_P(All, Columns,
                         testing::Values(std::pair(9000, 64), std::pair(9000, 24), std::pair(3000, 160),
                                         std::pair(9000, 18), std::pair(9000, 7), std::pair(130, 512)));

// The windows of an image are many sums inside a row, and those of an element of the gradient are few.
TEST(ShortRows, GradientOfMaxPool) {
  constexpr int batch = 2, height = 37, width = 29, channels = 5, tall = 19, wide = 15;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%x: tensor<{0}x{1}x{2}x{3}xf32>, %g: tensor<{0}x{4}x{5}x{3}xf32>) -> tensor<{0}x{1}x{2}x{3}xf32> {{
      %0 = dgc.max_pool_grad %x, %g window [1, 3, 3, 1] strides [1, 2, 2, 1] padding [[0, 0], [1, 1], [1, 1], [0, 0]]
          : tensor<{0}x{1}x{2}x{3}xf32>, tensor<{0}x{4}x{5}x{3}xf32>
      %1 = dgc.negate %0 : tensor<{0}x{1}x{2}x{3}xf32>
      return %1 : tensor<{0}x{1}x{2}x{3}xf32>
    })",
                                      batch, height, width, channels, tall, wide)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto x = samples<float>(batch * height * width * channels, 3), g = samples<float>(batch * tall * wide * channels, 7);
  Buffer<float> result(batch * height * width * channels, 99);
  kernels.call({x.data(), g.data(), result.data()});
  std::vector<double> expected(batch * height * width * channels);
  for (int n = 0; n < batch; ++n)
    for (int i = 0; i < tall; ++i)
      for (int j = 0; j < wide; ++j)
        for (int c = 0; c < channels; ++c) {
          int most = -1;
          for (int h = std::max(2 * i - 1, 0); h < std::min(2 * i + 2, height); ++h)
            for (int w = std::max(2 * j - 1, 0); w < std::min(2 * j + 2, width); ++w)
              if (int at = ((n * height + h) * width + w) * channels + c; most < 0 || x[at] > x[most])
                most = at;
          expected[most] += g[((n * tall + i) * wide + j) * channels + c];
        }
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(result[i], -expected[i], 1e-6) << i;
}

// Momentum reads the weights that are overwritten in the same loop, beside variables of another shape.
TEST(Updates, InPlaceOfSeveralShapes) {
  constexpr int rows = 33, columns = 20, single = 50;
  LoadedKernels kernels(R"(
    func.func @k(%g0: tensor<20x33xf32>, %m0: tensor<33x20xf32>, %w0: tensor<33x20xf32>,
                 %g1: tensor<50xf32>, %m1: tensor<50xf32>, %w1: tensor<50xf32>)
        -> (tensor<33x20xf32>, tensor<33x20xf32>, tensor<50xf32>, tensor<50xf32>)
        attributes {dgc.inplace = array<i64: 1, 2, 4, 5>} {
      %t = dgc.transpose %g0 permutation [1, 0] : tensor<20x33xf32>
      %decay0 = dgc.constant dense<0.25> : tensor<33x20xf32>
      %rate0 = dgc.constant dense<0.5> : tensor<33x20xf32>
      %d0 = dgc.multiply %w0, %decay0 : tensor<33x20xf32>
      %a0 = dgc.add %t, %d0 : tensor<33x20xf32>
      %n0 = dgc.add %m0, %a0 : tensor<33x20xf32>
      %s0 = dgc.multiply %n0, %rate0 : tensor<33x20xf32>
      %v0 = dgc.subtract %w0, %s0 : tensor<33x20xf32>
      %decay1 = dgc.constant dense<0.25> : tensor<50xf32>
      %rate1 = dgc.constant dense<0.5> : tensor<50xf32>
      %d1 = dgc.multiply %w1, %decay1 : tensor<50xf32>
      %a1 = dgc.add %g1, %d1 : tensor<50xf32>
      %n1 = dgc.add %m1, %a1 : tensor<50xf32>
      %s1 = dgc.multiply %n1, %rate1 : tensor<50xf32>
      %v1 = dgc.subtract %w1, %s1 : tensor<50xf32>
      return %n0, %v0, %n1, %v1 : tensor<33x20xf32>, tensor<33x20xf32>, tensor<50xf32>, tensor<50xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  auto g0 = samples<float>(rows * columns, 3), m0 = samples<float>(rows * columns, 5),
       w0 = samples<float>(rows * columns, 7);
  auto g1 = samples<float>(single, 11), m1 = samples<float>(single, 13), w1 = samples<float>(single, 17);
  std::vector<float> n, v;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      n.push_back(m0[i * columns + j] + (g0[j * rows + i] + w0[i * columns + j] * 0.25f));
      v.push_back(w0[i * columns + j] - n.back() * 0.5f);
    }
  for (int i = 0; i < single; ++i) {
    n.push_back(m1[i] + (g1[i] + w1[i] * 0.25f));
    v.push_back(w1[i] - n.back() * 0.5f);
  }
  kernels.call(
      {g0.data(), m0.data(), w0.data(), g1.data(), m1.data(), w1.data(), m0.data(), w0.data(), m1.data(), w1.data()});
  for (int i = 0; i < rows * columns + single; ++i) {
    bool isFirst = i < rows * columns;
    int at = isFirst ? i : i - rows * columns;
    ASSERT_NEAR(isFirst ? m0[at] : m1[at], n[i], 1e-6) << i;
    ASSERT_NEAR(isFirst ? w0[at] : w1[at], v[i], 1e-6) << i;
  }
}

} // namespace
