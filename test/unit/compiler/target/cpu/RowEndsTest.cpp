//===- RowEndsTest.cpp - rows that vectors do not divide, in memory that they do ===//
//
// Rows of arrays with a few columns more than are used: on GPUs most of a row is read and written in vectors, and its
// end one by one. What is behind the end is not a number, and must not be seen.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <tuple>

using namespace dgc::test;
using llvm::APFloat;

namespace {

/// Numbers of one of the types of models in memory.
class Numbers {
public:
  Numbers(const std::string &type, size_t count)
      : semantics(type == "f32"   ? APFloat::IEEEsingle()
                  : type == "f16" ? APFloat::IEEEhalf()
                                  : APFloat::BFloat()),
        width(type == "f32" ? 4 : 2), bytes(count * width, 0x5a) {}

  void set(size_t i, float value) {
    APFloat number(value);
    bool loses;
    number.convert(semantics, APFloat::rmNearestTiesToEven, &loses);
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  float operator[](size_t i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, width);
    APFloat number(semantics, llvm::APInt(width * 8, bits));
    bool loses;
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &loses);
    return number.convertToFloat();
  }
  void *data() { return bytes.data(); }

private:
  const llvm::fltSemantics &semantics;
  size_t width;
  Buffer<uint8_t> bytes;
};

/// `rows` of which `n` columns are numbers.
Numbers rowsOf(const std::string &type, int rows, int n, int pitch) {
  Numbers x(type, rows * pitch);
  for (int i = 0; i < rows * pitch; ++i)
    x.set(i, i % pitch < n ? float(sample(i + 3)) * 2 : NAN);
  return x;
}

double epsilon(const std::string &type) { return type == "f32" ? 2e-6 : type == "f16" ? 6e-4 : 5e-3; }

/// The text that makes %x, of f32, of the first columns of %a.
std::string columnsOf(const std::string &type, int rows, int n, int pitch) {
  std::string from = llvm::formatv("tensor<{0}x{1}x{2}>", rows, pitch, type);
  std::string same = llvm::formatv("tensor<{0}x{1}x{2}>", rows, n, type);
  std::string to = llvm::formatv("tensor<{0}x{1}xf32>", rows, n);
  std::string text = llvm::formatv("%s = dgc.slice %a from [0, 0] to [{0}, {1}] : {2}\n", rows, n, from);
  if (type == "f32")
    return text + "%z = dgc.constant dense<0.0> : " + to + "\n%x = dgc.add %s, %z : " + to + "\n";
  return text + "%x = dgc.convert %s to f32 : " + same + "\n";
}

using Shape = std::tuple<const char *, int, int, int>;
class RowEnds : public testing::TestWithParam<Shape> {};

// The loss of each row and its gradient, which is padded to the columns of the input.
TEST_P(RowEnds, LossAndPaddedGradient) {
  auto [type, rows, n, pitch] = GetParam();
  bool isF32 = std::string(type) == "f32";
  std::string narrow = isF32 ? "%n = dgc.subtract %p, %one : tensor<{0}x{1}xf32>\n"
                             : "%g = dgc.subtract %p, %one : tensor<{0}x{1}xf32>\n"
                               "%n = dgc.convert %g to {3} : tensor<{0}x{1}xf32>\n";
  std::string text = "func.func @k(%a: tensor<{0}x{2}x{3}>, %t: tensor<{0}xi32>) -> (tensor<{0}xf32>, "
                     "tensor<{0}x{2}x{3}>) {{\n" +
                     columnsOf(type, rows, n, pitch) + R"(
      %zero = dgc.constant dense<0.0> : tensor<{0}x{1}xf32>
      %m = dgc.reduce max %x dims [1] : tensor<{0}x{1}xf32>
      %mb = dgc.broadcast_in_dim %m dims [0] to [{0}, {1}] : tensor<{0}xf32>
      %d = dgc.subtract %x, %mb : tensor<{0}x{1}xf32>
      %e = dgc.exponential %d : tensor<{0}x{1}xf32>
      %sum = dgc.reduce sum %e dims [1] : tensor<{0}x{1}xf32>
      %log = dgc.log %sum : tensor<{0}xf32>
      %iota = dgc.iota dim 1 : tensor<{0}x{1}xi32>
      %tb = dgc.broadcast_in_dim %t dims [0] to [{0}, {1}] : tensor<{0}xi32>
      %is = dgc.compare eq %iota, %tb : tensor<{0}x{1}xi32>
      %picked = dgc.select %is, %d, %zero : tensor<{0}x{1}xi1>, tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>
      %target = dgc.reduce sum %picked dims [1] : tensor<{0}x{1}xf32>
      %loss = dgc.subtract %log, %target : tensor<{0}xf32>
      %sumb = dgc.broadcast_in_dim %sum dims [0] to [{0}, {1}] : tensor<{0}xf32>
      %p = dgc.divide %e, %sumb : tensor<{0}x{1}xf32>
      %one = dgc.convert %is to f32 : tensor<{0}x{1}xi1>
)" + narrow + R"(
      %c = dgc.constant dense<0.0> : tensor<{3}>
      %r = dgc.pad %n, %c low [0, 0] high [0, {4}] : tensor<{0}x{1}x{3}>, tensor<{3}>
      return %loss, %r : tensor<{0}xf32>, tensor<{0}x{2}x{3}>
    })";
  LoadedKernels kernels(llvm::formatv(false, text.c_str(), rows, n, pitch, type, pitch - n).str());
  ASSERT_TRUE(kernels.ok());
  Numbers x = rowsOf(type, rows, n, pitch);
  Buffer<int32_t> t(rows);
  for (int pieces : {1, 2}) {
    for (int i = 0; i < rows; ++i)
      t[i] = i % 2 ? n - 1 : i * 13 % n; // the last column too
    Buffer<float> loss(rows);
    Numbers g(type, rows * pitch);
    kernels.call({x.data(), t.data(), loss.data(), g.data()}, pieces);
    for (int i = 0; i < rows; ++i) {
      double sum = 0;
      for (int j = 0; j < n; ++j)
        sum += std::exp(double(x[i * pitch + j]));
      ASSERT_NEAR(loss[i], std::log(sum) - x[i * pitch + t[i]], 3e-5) << i;
      for (int j = 0; j < n; ++j)
        ASSERT_NEAR(g[i * pitch + j], std::exp(double(x[i * pitch + j])) / sum - (j == t[i]), epsilon(type))
            << i << ", " << j;
      for (int j = n; j < pitch; ++j)
        ASSERT_EQ(g[i * pitch + j], 0) << i << ", " << j;
    }
  }
}

// Of each row, and over all of them.
TEST_P(RowEnds, Sums) {
  auto [type, rows, n, pitch] = GetParam();
  std::string text = "func.func @k(%a: tensor<{0}x{2}x{3}>) -> (tensor<{0}xf32>, tensor<{0}xf32>, tensor<f32>) {{\n" +
                     columnsOf(type, rows, n, pitch) + R"(
      %0 = dgc.reduce sum %x dims [1] : tensor<{0}x{1}xf32>
      %1 = dgc.reduce min %x dims [1] : tensor<{0}x{1}xf32>
      %2 = dgc.reduce sum %x dims [0, 1] : tensor<{0}x{1}xf32>
      return %0, %1, %2 : tensor<{0}xf32>, tensor<{0}xf32>, tensor<f32>
    })";
  LoadedKernels kernels(llvm::formatv(false, text.c_str(), rows, n, pitch, type).str());
  ASSERT_TRUE(kernels.ok());
  Numbers x = rowsOf(type, rows, n, pitch);
  for (int pieces : {1, 2}) {
    Buffer<float> sums(rows), least(rows), all(1);
    kernels.call({x.data(), sums.data(), least.data(), all.data()}, pieces);
    double total = 0;
    for (int i = 0; i < rows; ++i) {
      double sum = 0, low = INFINITY;
      for (int j = 0; j < n; ++j) {
        sum += x[i * pitch + j];
        low = std::min<double>(low, x[i * pitch + j]);
      }
      ASSERT_NEAR(sums[i], sum, n * 1e-6 + 1e-5) << i;
      ASSERT_EQ(least[i], float(low)) << i;
      total += sum;
    }
    ASSERT_NEAR(all[0], total, n * rows * 1e-6 + 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowEnds,
                         testing::Values(Shape("bf16", 5, 257, 264), Shape("bf16", 1, 257, 264),
                                         Shape("f16", 3, 260, 264), Shape("f32", 4, 257, 260), Shape("bf16", 3, 7, 8),
                                         Shape("bf16", 40, 9, 16), Shape("f32", 5, 3001, 3004),
                                         Shape("bf16", 4, 257, 259),     // not aligned
                                         Shape("bf16", 3, 40001, 40008), // longer than what is kept
                                         Shape("f16", 2, 66001, 66008), Shape("f32", 2, 40003, 40004)));

// An array as one row, whatever its shape.
TEST(OddArrays, ElementByElement) {
  for (int n : {1, 5, 8, 1027, 4099, 6145}) {
    LoadedKernels kernels(llvm::formatv(R"(
      func.func @k(%a: tensor<{0}xbf16>, %b: tensor<{0}xf32>) -> (tensor<{0}xf32>, tensor<{0}xbf16>) {{
        %x = dgc.convert %a to f32 : tensor<{0}xbf16>
        %r = dgc.add %x, %b : tensor<{0}xf32>
        %h = dgc.convert %r to bf16 : tensor<{0}xf32>
        return %r, %h : tensor<{0}xf32>, tensor<{0}xbf16>
      })",
                                        n)
                              .str());
    ASSERT_TRUE(kernels.ok());
    Numbers a = rowsOf("bf16", 1, n, n), b = rowsOf("f32", 1, n, n);
    for (int pieces : {1, 2}) {
      Numbers r("f32", n), h("bf16", n);
      kernels.call({a.data(), b.data(), r.data(), h.data()}, pieces);
      for (int i = 0; i < n; ++i) {
        ASSERT_EQ(r[i], a[i] + b[i]) << n << ": " << i;
        ASSERT_NEAR(h[i], r[i], std::abs(r[i]) / 128) << n << ": " << i;
      }
    }
  }
}

// Padding of computed values, at all edges; vectors that have none of it are apart.
struct Edges {
  const char *type;
  int shape[2], low[2], high[2], interior;
};
class Padding : public testing::TestWithParam<Edges> {};

TEST_P(Padding, Elements) {
  auto [type, shape, low, high, interior] = GetParam();
  int size[2];
  for (int dim : {0, 1})
    size[dim] = low[dim] + high[dim] + shape[dim] + (dim == 1 ? interior * (shape[1] - 1) : 0);
  std::string between = interior ? llvm::formatv("interior [0, {0}]", interior).str() : "";
  LoadedKernels kernels(llvm::formatv(R"(
    func.func @k(%a: tensor<{0}x{1}x{8}>) -> tensor<{2}x{3}x{8}> {{
      %y = dgc.add %a, %a : tensor<{0}x{1}x{8}>
      %c = dgc.constant dense<-7.0> : tensor<{8}>
      %r = dgc.pad %y, %c low [{4}, {5}] high [{6}, {7}] {9} : tensor<{0}x{1}x{8}>, tensor<{8}>
      return %r : tensor<{2}x{3}x{8}>
    })",
                                      shape[0], shape[1], size[0], size[1], low[0], low[1], high[0], high[1], type,
                                      between)
                            .str());
  ASSERT_TRUE(kernels.ok());
  Numbers a = rowsOf(type, shape[0], shape[1], shape[1]);
  for (int pieces : {1, 2}) {
    Numbers r(type, size[0] * size[1]);
    kernels.call({a.data(), r.data()}, pieces);
    for (int i = 0; i < size[0]; ++i)
      for (int j = 0; j < size[1]; ++j) {
        int row = i - low[0], column = j - low[1];
        bool inside = row >= 0 && row < shape[0] && column >= 0 && column % (interior + 1) == 0 &&
                      column / (interior + 1) < shape[1];
        ASSERT_EQ(r[i * size[1] + j], inside ? 2 * a[row * shape[1] + column / (interior + 1)] : -7) << i << ", " << j;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Padding,
    testing::Values(Edges{"bf16", {5, 257}, {0, 0}, {0, 7}, 0}, Edges{"f16", {12, 250}, {1, 6}, {1, 8}, 0},
                    Edges{"f32", {9, 100}, {0, 4}, {1, 4}, 0}, Edges{"f32", {3, 40}, {0, 3}, {0, 1}, 0},
                    Edges{"bf16", {50, 3}, {0, 0}, {0, 5}, 0}, Edges{"f32", {6, 84}, {-1, -4}, {-2, 8}, 0},
                    Edges{"f32", {4, 3}, {2, 1}, {0, 0}, 0}, Edges{"f32", {1, 41}, {0, 0}, {3, 2}, 0},
                    Edges{"f32", {3, 40}, {0, 4}, {0, 5}, 1}));

// What is padded may be padded itself, or read through other changes of its indices.
TEST(NestedPadding, AndReversal) {
  LoadedKernels kernels(R"(
    func.func @k(%a: tensor<3x61xf32>) -> (tensor<3x72xf32>, tensor<3x64xf32>) {
      %c = dgc.constant dense<5.0> : tensor<f32>
      %d = dgc.constant dense<6.0> : tensor<f32>
      %y = dgc.multiply %a, %a : tensor<3x61xf32>
      %p = dgc.pad %y, %c low [0, 2] high [0, 1] : tensor<3x61xf32>, tensor<f32>
      %q = dgc.pad %p, %d low [0, 3] high [0, 5] : tensor<3x64xf32>, tensor<f32>
      %e = dgc.reverse %p dims [1] : tensor<3x64xf32>
      return %q, %e : tensor<3x72xf32>, tensor<3x64xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(3 * 61);
  for (int pieces : {1, 2}) {
    Buffer<float> q(3 * 72), e(3 * 64);
    kernels.call({a.data(), q.data(), e.data()}, pieces);
    auto padded = [&](int i, int j) { return j < 2 || j >= 63 ? 5 : a[i * 61 + j - 2] * a[i * 61 + j - 2]; };
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 72; ++j)
        ASSERT_EQ(q[i * 72 + j], j < 3 || j >= 67 ? 6 : padded(i, j - 3)) << i << ", " << j;
      for (int j = 0; j < 64; ++j)
        ASSERT_EQ(e[i * 64 + j], padded(i, 63 - j)) << i << ", " << j;
    }
  }
}

} // namespace
