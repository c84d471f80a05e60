//===- TransposeTest.cpp - results that lie another way than what they are of --===//
//
// On GPUs tiles of such arrays pass through the memory of a block; which ones is tested in ../cuda/GeometryTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace dgc::test;

namespace {

uint16_t toBf16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
float fromBf16(uint16_t bits) { return llvm::bit_cast<float>(uint32_t(bits) << 16); }

std::string joined(const std::vector<int64_t> &numbers, const char *between) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : between) + std::to_string(number);
  return text;
}

/// A transpose alone, bit by bit.
template <typename T>
void checkTranspose(const std::string &type, std::vector<int64_t> shape, std::vector<int64_t> permutation) {
  size_t rank = shape.size();
  std::vector<int64_t> result(rank), strides(rank, 1), reads(rank);
  for (size_t i = rank - 1; i-- > 0;)
    strides[i] = strides[i + 1] * shape[i + 1];
  for (size_t i = 0; i < rank; ++i) {
    result[i] = shape[permutation[i]];
    reads[i] = strides[permutation[i]];
  }
  std::string from = joined(shape, "x") + "x" + type, to = joined(result, "x") + "x" + type;
  SCOPED_TRACE(from + " to " + to);
  LoadedKernels kernels(llvm::formatv("func.func @k(%x: tensor<{0}>) -> tensor<{1}> {{\n"
                                      "%r = dgc.transpose %x permutation [{2}] : tensor<{0}>\n"
                                      "return %r : tensor<{1}> }",
                                      from, to, joined(permutation, ", "))
                            .str());
  ASSERT_TRUE(kernels.ok());
  size_t size = std::accumulate(shape.begin(), shape.end(), size_t(1), std::multiplies<>());
  for (int pieces : {1, 2}) {
    Buffer<T> x(size), r(size);
    for (size_t i = 0; i < size; ++i)
      x[i] = type == "i1" ? T(i % 7 % 2) : T((i * 7919 + 13) % 1009);
    kernels.call({x.data(), r.data()}, pieces);
    std::vector<int64_t> at(rank, 0);
    for (size_t i = 0; i < size; ++i) {
      int64_t source = std::inner_product(at.begin(), at.end(), reads.begin(), int64_t(0));
      ASSERT_TRUE(r[i] == x[source]) << i;
      for (size_t dim = rank; dim-- > 0 && ++at[dim] == result[dim];)
        at[dim] = 0;
    }
  }
}

TEST(Transpose, EveryType) {
  checkTranspose<float>("f32", {130, 190}, {1, 0});
  checkTranspose<double>("f64", {130, 190}, {1, 0});
  checkTranspose<int8_t>("i8", {130, 190}, {1, 0});
  checkTranspose<uint8_t>("i1", {131, 193}, {1, 0});
  checkTranspose<uint16_t>("bf16", {131, 193}, {1, 0});
  checkTranspose<int64_t>("i64", {128, 256}, {1, 0});
}

// Large ones of small elements are in tiles of 64 x 64, where pairs of elements are whole.
TEST(Transpose, Wide) {
  checkTranspose<uint16_t>("f16", {520, 514}, {1, 0});
  checkTranspose<int8_t>("i8", {514, 1024}, {1, 0});
  checkTranspose<uint16_t>("f16", {521, 514}, {1, 0});
}

// Loops that follow each other in both arrays are one; others are outside of the tiles.
TEST(Transpose, Permutations) {
  checkTranspose<float>("f32", {3, 70, 90}, {0, 2, 1});
  checkTranspose<float>("f32", {40, 9, 70}, {2, 0, 1});
  checkTranspose<float>("f32", {40, 9, 70}, {1, 2, 0});
  checkTranspose<float>("f32", {4, 9, 9, 64}, {0, 3, 1, 2});
  checkTranspose<float>("f32", {40, 3, 70, 2}, {2, 1, 0, 3}); // pairs stay together
  checkTranspose<float>("f32", {5, 3, 40, 70}, {3, 1, 0, 2});
}

// Where no tile is needed: what lies along the result's loop already, few elements, narrow ones.
TEST(Transpose, WithoutTiles) {
  checkTranspose<float>("f32", {4, 20, 12, 64}, {0, 2, 1, 3});
  checkTranspose<float>("f32", {100, 100}, {1, 0});
  checkTranspose<float>("f32", {8192, 3}, {1, 0});
  checkTranspose<float>("f32", {3, 8192}, {1, 0});
}

// What is computed of several arrays, before and behind the transpose; some lie along the result, some do not.
TEST(Transpose, BetweenOtherOps) {
  const int m = 150, n = 133;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%a: tensor<{0}x{1}xf32>, %b: tensor<{0}x{1}xbf16>, %c: tensor<{1}x{0}xf32>, %d: tensor<{0}xf32>,
                 %e: tensor<{1}xf32>) -> (tensor<{1}x{0}xf32>, tensor<{1}x{0}xbf16>) {{
      %bf = dgc.convert %b to f32 : tensor<{0}x{1}xbf16>
      %db = dgc.broadcast_in_dim %d dims [0] to [{0}, {1}] : tensor<{0}xf32>
      %p = dgc.multiply %a, %bf : tensor<{0}x{1}xf32>
      %q = dgc.add %p, %db : tensor<{0}x{1}xf32>
      %t = dgc.transpose %q permutation [1, 0] : tensor<{0}x{1}xf32>
      %eb = dgc.broadcast_in_dim %e dims [0] to [{1}, {0}] : tensor<{1}xf32>
      %s = dgc.subtract %t, %c : tensor<{1}x{0}xf32>
      %r = dgc.multiply %s, %eb : tensor<{1}x{0}xf32>
      %h = dgc.convert %r to bf16 : tensor<{1}x{0}xf32>
      return %r, %h : tensor<{1}x{0}xf32>, tensor<{1}x{0}xbf16>
    })",
                                      m, n)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(m * n), c = samples<float>(m * n, 5), d = samples<float>(m, 7), e = samples<float>(n, 9);
  Buffer<uint16_t> b(m * n), h(m * n);
  for (int i = 0; i < m * n; ++i)
    b[i] = toBf16(sample(i + 3));
  Buffer<float> r(m * n);
  kernels.call({a.data(), b.data(), c.data(), d.data(), e.data(), r.data(), h.data()}, 2);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      float expected = (a[i * n + j] * fromBf16(b[i * n + j]) + d[i] - c[j * m + i]) * e[j];
      ASSERT_NEAR(r[j * m + i], expected, 1e-5) << j << ", " << i;
      ASSERT_NEAR(fromBf16(h[j * m + i]), expected, std::abs(expected) / 128 + 1e-6) << j << ", " << i;
    }
}

// An array and its transpose, as operands of one op and as results of one kernel.
TEST(Transpose, BothWays) {
  const int n = 141;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%x: tensor<{0}x{0}xf32>) -> (tensor<{0}x{0}xf32>, tensor<{0}x{0}xf32>, tensor<{0}x{0}xf32>) {{
      %t = dgc.transpose %x permutation [1, 0] : tensor<{0}x{0}xf32>
      %d = dgc.subtract %x, %t : tensor<{0}x{0}xf32>
      %s = dgc.add %x, %x : tensor<{0}x{0}xf32>
      %u = dgc.transpose %s permutation [1, 0] : tensor<{0}x{0}xf32>
      return %d, %s, %u : tensor<{0}x{0}xf32>, tensor<{0}x{0}xf32>, tensor<{0}x{0}xf32>
    })",
                                      n)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto x = samples<float>(n * n);
  for (int pieces : {1, 2}) {
    Buffer<float> d(n * n), s(n * n), u(n * n);
    kernels.call({x.data(), d.data(), s.data(), u.data()}, pieces);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        ASSERT_EQ(d[i * n + j], x[i * n + j] - x[j * n + i]) << i << ", " << j;
        ASSERT_EQ(s[i * n + j], 2 * x[i * n + j]) << i << ", " << j;
        ASSERT_EQ(u[i * n + j], 2 * x[j * n + i]) << i << ", " << j;
      }
  }
}

// Filters of a convolution, which become bf16 in another order, beside an update of other variables: some segments of
// a grid with tiles of their own sizes, some without.
TEST(Transpose, SegmentsOfOneGrid) {
  const int k = 3 * 3 * 40, o = 72, wide = 512;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%f: tensor<3x3x40x{0}xf32>, %v: tensor<5000xf32>, %g: tensor<{1}x{1}xbf16>, %x: tensor<200x200xf32>)
        -> (tensor<{0}x3x3x40xbf16>, tensor<5000xf32>, tensor<{1}x{1}xbf16>, tensor<200x200xf32>) {{
      %h = dgc.convert %f to bf16 : tensor<3x3x40x{0}xf32>
      %t = dgc.transpose %h permutation [3, 0, 1, 2] : tensor<3x3x40x{0}xbf16>
      %w = dgc.add %v, %v : tensor<5000xf32>
      %u = dgc.transpose %g permutation [1, 0] : tensor<{1}x{1}xbf16>
      %y = dgc.transpose %x permutation [1, 0] : tensor<200x200xf32>
      return %t, %w, %u, %y : tensor<{0}x3x3x40xbf16>, tensor<5000xf32>, tensor<{1}x{1}xbf16>, tensor<200x200xf32>
    })",
                                      o, wide)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto f = samples<float>(k * o), v = samples<float>(5000, 3), x = samples<float>(40000, 4);
  Buffer<uint16_t> g(wide * wide), t(k * o), u(wide * wide);
  for (int i = 0; i < wide * wide; ++i)
    g[i] = uint16_t(i * 31);
  Buffer<float> w(5000), y(40000);
  kernels.call({f.data(), v.data(), g.data(), x.data(), t.data(), w.data(), u.data(), y.data()}, 2);
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < o; ++j)
      ASSERT_EQ(t[j * k + i], toBf16(f[i * o + j])) << i << ", " << j;
  for (int i = 0; i < 5000; ++i)
    ASSERT_EQ(w[i], 2 * v[i]);
  for (int i = 0; i < wide; ++i)
    for (int j = 0; j < wide; ++j)
      ASSERT_EQ(u[j * wide + i], g[i * wide + j]) << i << ", " << j;
  for (int i = 0; i < 40000; ++i)
    ASSERT_EQ(y[i % 200 * 200 + i / 200], x[i]);
}

// A part of an array.
TEST(Transpose, Cut) {
  const int m = 150, n = 133;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%x: tensor<{0}x{1}xf32>) -> tensor<{1}x{2}xf32> {{
      %t = dgc.transpose %x permutation [1, 0] : tensor<{0}x{1}xf32>
      %s = dgc.slice %t from [0, 5] to [{1}, {0}] : tensor<{1}x{0}xf32>
      %r = dgc.multiply %s, %s : tensor<{1}x{2}xf32>
      return %r : tensor<{1}x{2}xf32>
    })",
                                      m, n, m - 5)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto x = samples<float>(m * n);
  Buffer<float> r(n * (m - 5));
  kernels.call({x.data(), r.data()}, 2);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m - 5; ++i)
      ASSERT_EQ(r[j * (m - 5) + i], x[(i + 5) * n + j] * x[(i + 5) * n + j]) << j << ", " << i;
}

// Padding reads at indices that are made at run time: without tiles.
TEST(Transpose, Padded) {
  const int m = 150, n = 133;
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%x: tensor<{0}x{1}xf32>) -> tensor<{2}x{3}xf32> {{
      %v = dgc.constant dense<9.0> : tensor<f32>
      %t = dgc.transpose %x permutation [1, 0] : tensor<{0}x{1}xf32>
      %p = dgc.pad %t, %v low [1, 2] high [3, 0] interior [0, 0] : tensor<{1}x{0}xf32>, tensor<f32>
      return %p : tensor<{2}x{3}xf32>
    })",
                                      m, n, n + 4, m + 2)
                            .str());
  ASSERT_TRUE(kernels.ok());
  auto x = samples<float>(m * n);
  Buffer<float> p((n + 4) * (m + 2));
  kernels.call({x.data(), p.data()}, 2);
  for (int j = 0; j < n + 4; ++j)
    for (int i = 0; i < m + 2; ++i) {
      bool inside = j >= 1 && j < n + 1 && i >= 2;
      ASSERT_EQ(p[j * (m + 2) + i], inside ? x[(i - 2) * n + j - 1] : 9.0f) << j << ", " << i;
    }
}

} // namespace
