//===- SumsTest.cpp - the error of long sums -------------------------------===//
//
// Every kind of sum that kernels have, of 10^3 to 10^7 positive numbers, against f64: the error is under 4 units in the
// last place for each doubling of the length. Equal addends are the hardest: each addition rounds to the same side
// until the sum doubles.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include <cmath>
#include <random>

using namespace dgc::test;

namespace {

/// A kernel that adds up what `value` computes of %x (and %y) over the loops that are `r`: shape and loops in order.
struct Sum {
  std::string name;
  std::vector<int64_t> shape; // of the operand, a loop for each dimension
  std::string kinds;          // per loop: p or r
  std::string value;          // in the body; defines %v : f32 of %x : ELEMENT; none: %x itself
  std::string element = "f32";
  double (*computed)(double) = [](double x) { return x; };
};

std::string shapeText(const std::vector<int64_t> &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

std::string kernelOf(const Sum &sum) {
  std::string dims, kept, kinds;
  std::vector<int64_t> result;
  for (size_t i = 0; i < sum.shape.size(); ++i) {
    std::string dim = "d" + std::to_string(i);
    dims += (i ? ", " : "") + dim;
    bool isKept = sum.kinds[i] == 'p';
    kinds += std::string(i ? ", " : "") + (isKept ? "\"parallel\"" : "\"reduction\"");
    if (!isKept)
      continue;
    kept += (kept.empty() ? "" : ", ") + dim;
    result.push_back(sum.shape[i]);
  }
  std::string from = shapeText(sum.shape, sum.element), to = shapeText(result, "f32");
  return "#in = affine_map<(" + dims + ") -> (" + dims + ")>\n#out = affine_map<(" + dims + ") -> (" + kept +
         ")>\nfunc.func @k(%a: " + from + ") -> " + to +
         " {\n%zero = arith.constant 0.0 : f32\n%e = tensor.empty() : " + to +
         "\n%f = linalg.fill ins(%zero : f32) outs(%e : " + to + ") -> " + to +
         "\n%r = linalg.generic {indexing_maps = [#in, #out], iterator_types = [" + kinds + "]} ins(%a : " + from +
         ") outs(%f : " + to + ") {\n^bb0(%x: " + sum.element + ", %o: f32):\n" + sum.value + "\n%s = arith.addf %o, " +
         (sum.value.empty() ? "%x" : "%v") + " : f32\nlinalg.yield %s : f32\n} -> " + to + "\nreturn %r : " + to +
         "\n}\n";
}

/// Units in the last place of a float.
double unitOf(double x) { return std::ldexp(1.0, std::ilogb(x) - 23); }

float asFloat(float x) { return x; }
float asFloat(uint16_t x) { return std::bit_cast<float>(uint32_t(x) << 16); } // bf16
void put(float &to, float x) { to = x; }
void put(uint16_t &to, float x) { to = std::bit_cast<uint32_t>(x) >> 16; }

/// Runs a sum of equal and of random numbers, in one piece and in three, and compares with f64.
template <typename T> void check(const Sum &sum) {
  SCOPED_TRACE(sum.name + " " + shapeText(sum.shape, sum.element));
  LoadedKernels kernels(kernelOf(sum));
  ASSERT_TRUE(kernels.ok());
  int64_t total = 1, results = 1;
  for (size_t i = 0; i < sum.shape.size(); ++i) {
    total *= sum.shape[i];
    results *= sum.kinds[i] == 'p' ? sum.shape[i] : 1;
  }
  double length = double(total) / results;
  // An emulated GPU takes its time: once is enough there for what is large.
  bool onlyOnce = LoadedKernels::onGpu() && total > 300000;
  for (bool random : {false, true}) {
    if (random && onlyOnce)
      continue;
    Buffer<T> a(total);
    std::mt19937 rng(7);
    for (int64_t i = 0; i < total; ++i)
      put(a[i], random ? std::ldexp(float(rng() >> 8) + 1, -24) : 0.1f);
    std::vector<double> expected(results);
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i, at = 0, scale = 1;
      for (size_t dim = sum.shape.size(); dim-- > 0; rest /= sum.shape[dim])
        if (sum.kinds[dim] == 'p') {
          at += rest % sum.shape[dim] * scale;
          scale *= sum.shape[dim];
        }
      expected[at] += sum.computed(asFloat(a[i]));
    }
    Buffer<float> r(results, -1), again(results, -1);
    kernels.call({a.data(), r.data()});
    if (!onlyOnce)
      kernels.call({a.data(), again.data()}, 3);
    for (int64_t i = 0; i < results; ++i) {
      ASSERT_LT(std::abs(r[i] - expected[i]), 4 * unitOf(expected[i]) * std::log2(length))
          << "result " << i << " is " << r[i] << " for " << expected[i] << (random ? ", random" : "");
      if (!onlyOnce)
        ASSERT_EQ(r[i], again[i]) << i;
    }
  }
}

void check(const Sum &sum) { sum.element == "bf16" ? check<uint16_t>(sum) : check<float>(sum); }

TEST(Sums, Everything) {
  for (int64_t n : {1000, 1025, 4099, 100003, 1000000, 10000000})
    check(Sum{"all", {n}, "r"});
  check(Sum{"all, of a matrix", {3162, 3163}, "rr"});
}

TEST(Sums, Rows) {
  for (int64_t n : {1000, 50257, 3333333})
    check(Sum{"rows", {3, n}, "pr"});
}

TEST(Sums, Columns) {
  for (auto [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {1000, 1}, {1001, 3}, {100003, 8}, {802816, 8}, {77777, 65}, {3001, 1030}, {5000, 2187}, {10000000, 1}})
    if (!LoadedKernels::onGpu() || rows * columns < 1500000)
      check(Sum{"columns", {rows, columns}, "rp"});
}

TEST(Sums, AroundAndBetweenKeptDimensions) {
  check(Sum{"the middle", {3, 30011, 5}, "prp"});
  check(Sum{"first and last", {503, 3, 1009}, "rpr"});
  check(Sum{"first and last, short rows", {50021, 4, 11}, "rpr"});
  check(Sum{"pairs", {3, 1024, 5, 300}, "prpr"});
  check(Sum{"images, per channel", {16, 56, 56, 24}, "rrrp"});
}

TEST(Sums, OfWhatIsComputed) {
  auto square = [](double x) { return x * x; };
  check(Sum{"squares", {1000003}, "r", "%v = arith.mulf %x, %x : f32", "f32", square});
  check(Sum{"squares, columns", {70001, 40}, "rp", "%v = arith.mulf %x, %x : f32", "f32", square});
  check(Sum{"of bf16", {2000003}, "r", "%v = arith.extf %x : bf16 to f32", "bf16"});
  check(Sum{"of bf16, columns", {200003, 10}, "rp", "%v = arith.extf %x : bf16 to f32", "bf16"});
  // Not vectorized: a call of the mathematical library.
  if (!LoadedKernels::onGpu())
    check(Sum{"sines", {1000003}, "r", "%v = math.sin %x : f32", "f32", [](double x) { return std::sin(x); }});
}

/// Compares a sum of `length` addends.
void expectClose(float sum, double expected, double length) {
  EXPECT_LT(std::abs(sum - expected), 4 * unitOf(expected) * std::log2(length)) << sum << " for " << expected;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at; (at = text.find(from)) != std::string::npos;)
    text.replace(at, from.size(), to);
  return text;
}

// In the first row the maximum grows, and the sum has to follow it where both are in one loop; in the second all
// addends but one are equal.
TEST(Sums, DenominatorsOfSoftmax) {
  for (int64_t n : {1000, 30011, 1000003}) {
    SCOPED_TRACE(n);
    LoadedKernels kernels(replaced(R"(
      func.func @k(%a: tensor<5xNxf32>) -> tensor<5xf32> {
        %m = dgc.reduce max %a dims [1] : tensor<5xNxf32>
        %mb = dgc.broadcast_in_dim %m dims [0] to [5, N] : tensor<5xf32>
        %d = dgc.subtract %a, %mb : tensor<5xNxf32>
        %e = dgc.exponential %d : tensor<5xNxf32>
        %s = dgc.reduce sum %e dims [1] : tensor<5xNxf32>
        return %s : tensor<5xf32>
      })",
                                   "N", std::to_string(n)));
    ASSERT_TRUE(kernels.ok());
    const float logarithms[] = {-2.3025851f, -1.2039728f, -0.3566749f, -0.1053605f}; // of 0.1, 0.3, 0.7, 0.9
    Buffer<float> a(5 * n), r(5);
    double expected[5] = {0, 0, 0, 0, 0};
    for (int64_t i = 0; i < 5 * n; ++i)
      a[i] = i < n ? 4.0f * i / n : i % n == 0 ? 0 : logarithms[i / n - 1];
    for (int64_t i = 0; i < 5 * n; ++i)
      expected[i / n] += std::exp(double(a[i]) - (i < n ? a[n - 1] : 0));
    kernels.call({a.data(), r.data()});
    for (int i = 0; i < 5; ++i)
      expectClose(r[i], expected[i], n);
  }
}

TEST(Sums, RowsAndColumnsTogether) {
  constexpr int64_t rows = 2101, columns = 610;
  LoadedKernels kernels(R"(
    func.func @k(%a: tensor<2101x610xf32>) -> (tensor<2101xf32>, tensor<610xf32>, tensor<f32>) {
      %r = dgc.reduce sum %a dims [1] : tensor<2101x610xf32>
      %c = dgc.reduce sum %a dims [0] : tensor<2101x610xf32>
      %s = dgc.reduce sum %a dims [0, 1] : tensor<2101x610xf32>
      return %r, %c, %s : tensor<2101xf32>, tensor<610xf32>, tensor<f32>
    })");
  ASSERT_TRUE(kernels.ok());
  Buffer<float> a(rows * columns, 0.1f), r(rows), c(columns), s(1);
  kernels.call({a.data(), r.data(), c.data(), s.data()}, LoadedKernels::onGpu() ? 1 : 2);
  for (int64_t i = 0; i < rows; ++i)
    expectClose(r[i], double(0.1f) * columns, columns);
  for (int64_t i = 0; i < columns; ++i)
    expectClose(c[i], double(0.1f) * rows, rows);
  expectClose(s[0], double(0.1f) * rows * columns, rows * columns);
}

TEST(Sums, LongWindows) {
  LoadedKernels kernels(R"(
    func.func @k(%a: tensor<20000x3xf32>) -> tensor<11x3xf32> {
      %s = dgc.reduce_window sum %a window [10000, 1] strides [1000, 1] : tensor<20000x3xf32>
      return %s : tensor<11x3xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  Buffer<float> a(60000, 0.1f), r(33);
  kernels.call({a.data(), r.data()});
  for (int i = 0; i < 33; ++i)
    expectClose(r[i], double(0.1f) * 10000, 10000);
}

TEST(Sums, ProductsOfMatrices) {
  LoadedKernels kernels(R"(
    func.func @k(%a: tensor<2x50021xf32>, %b: tensor<50021x6xf32>) -> tensor<2x6xf32> {
      %z = arith.constant dense<0.0> : tensor<2x6xf32>
      %c = linalg.matmul ins(%a, %b : tensor<2x50021xf32>, tensor<50021x6xf32>) outs(%z : tensor<2x6xf32>) -> tensor<2x6xf32>
      return %c : tensor<2x6xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  Buffer<float> a(2 * 50021, 0.1f), b(50021 * 6, 0.3f), r(12);
  kernels.call({a.data(), b.data(), r.data()});
  for (int i = 0; i < 12; ++i)
    expectClose(r[i], double(0.1f) * double(0.3f) * 50021, 50021);
}

// All updates are meant for one slice.
TEST(Sums, ScatterAdd) {
  LoadedKernels kernels(R"(
    func.func @k(%i: tensor<30011xi32>, %u: tensor<30011x32xf32>) -> tensor<3x32xf32> {
      %s = dgc.scatter_add %i, %u dim 0 size 3 : tensor<30011xi32>, tensor<30011x32xf32>
      return %s : tensor<3x32xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  Buffer<int32_t> indices(30011, 1);
  Buffer<float> updates(30011 * 32, 0.1f), r(96);
  kernels.call({indices.data(), updates.data(), r.data()});
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(r[i], 0);
    expectClose(r[32 + i], double(0.1f) * 30011, 30011);
    EXPECT_EQ(r[64 + i], 0);
  }
}

// One element is the maximum of all windows that it is in.
TEST(Sums, GradientOfLongMaximumWindows) {
  LoadedKernels kernels(R"(
    func.func @k(%a: tensor<4000xf32>, %g: tensor<2001xf32>) -> tensor<4000xf32> {
      %r = dgc.max_pool_grad %a, %g window [2000] : tensor<4000xf32>, tensor<2001xf32>
      return %r : tensor<4000xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  Buffer<float> a(4000), g(2001, 0.1f), r(4000);
  a[1999] = 1;
  kernels.call({a.data(), g.data(), r.data()});
  expectClose(r[1999], double(0.1f) * 2000, 2000);
  EXPECT_EQ(r[2000], 0.1f); // the first of the last window, whose elements are all zero
}

} // namespace
