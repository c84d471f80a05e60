//===- StructuredTest.cpp - reductions, products, windows, random bits ----===//
//
// The generated code against the definitions of the ops, written out as plain loops, and published numbers.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Philox.h"
#include "test/unit/compiler/target/cpu/LoadedKernels.h"
#include <cmath>

using namespace dgc::test;

namespace {

std::string kernel(const std::string &arguments, const std::string &op, const std::string &result) {
  return "func.func @k(" + arguments + ") -> " + result + " {\n%y = " + op + "\nreturn %y : " + result + "\n}";
}

/// Runs a kernel of one result.
template <typename T, typename... Inputs>
std::vector<T> run(const std::string &text, size_t resultSize, Inputs &...inputs) {
  LoadedKernels kernels(text);
  std::vector<T> result(resultSize);
  if (kernels.ok())
    kernels.call({static_cast<void *>(inputs.data())..., result.data()}, 2);
  return result;
}

template <typename T> std::vector<T> numbers(size_t count, size_t start = 0) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] =
        T(std::is_unsigned_v<T> ? (start + i) * 37 % 251 : sample(start + i) * (std::is_integral_v<T> ? 20 : 1));
  return values;
}

std::string tensorType(const std::vector<int64_t> &shape, const char *element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Reduces a matrix of the given shape and element type.
template <typename T>
std::vector<T> reduce(const char *kind, const char *dims, const std::vector<int64_t> &shape, const char *element,
                      const std::vector<int64_t> &resultShape, std::vector<T> x) {
  size_t size = 1;
  for (int64_t s : resultShape)
    size *= s;
  std::string type = tensorType(shape, element);
  std::string op = std::string("dgc.reduce ") + kind + " %x dims " + dims + " : " + type;
  return run<T>(kernel("%x: " + type, op, tensorType(resultShape, element)), size, x);
}

TEST(Reduce, EveryKind) {
  using V = std::vector<float>;
  V x{3, -1, 4, 1, -5, 9};
  EXPECT_EQ(reduce<float>("sum", "[1]", {2, 3}, "f32", {2}, x), (V{6, 5}));
  EXPECT_EQ(reduce<float>("sum", "[0]", {2, 3}, "f32", {3}, x), (V{4, -6, 13}));
  EXPECT_EQ(reduce<float>("product", "[0]", {2, 3}, "f32", {3}, x), (V{3, 5, 36}));
  EXPECT_EQ(reduce<float>("max", "[0, 1]", {2, 3}, "f32", {}, x), (V{9}));
  EXPECT_EQ(reduce<float>("min", "[1]", {2, 3}, "f32", {2}, x), (V{-1, -5}));
}

TEST(Reduce, IntegersAndBooleans) {
  using I = std::vector<int32_t>;
  using U = std::vector<uint8_t>;
  EXPECT_EQ(reduce<int32_t>("max", "[0]", {4}, "i32", {}, {-6, -3, -5, -12}), I{-3});
  EXPECT_EQ(reduce<int32_t>("and", "[0]", {2, 2}, "i32", {2}, {6, -3, 5, 12}), (I{6 & 5, -3 & 12}));
  // 200 is the largest only where it is not -56.
  EXPECT_EQ(reduce<uint8_t>("max", "[0]", {3}, "ui8", {}, {100, 200, 7}), U{200});
  EXPECT_EQ(reduce<uint8_t>("min", "[0]", {3}, "ui8", {}, {100, 200, 7}), U{7});
  EXPECT_EQ(reduce<uint8_t>("and", "[1]", {2, 2}, "i1", {2}, {0, 1, 1, 1}), (U{0, 1}));
  EXPECT_EQ(reduce<uint8_t>("or", "[1]", {2, 2}, "i1", {2}, {0, 1, 0, 0}), (U{1, 0}));
}

// In f16 itself a sum of ones ends at 2048, in bf16 at 256.
TEST(Reduce, HalfPrecisionSumsAreAccumulatedInSingle) {
  using H = std::vector<uint16_t>;
  EXPECT_EQ(reduce<uint16_t>("sum", "[0]", {4096}, "f16", {}, H(4096, 0x3C00)), H{0x6C00});
  EXPECT_EQ(reduce<uint16_t>("sum", "[0]", {4096}, "bf16", {}, H(4096, 0x3F80)), H{0x4580});
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

template <typename T> void checkDot(const char *element) {
  // x[b, k, m], y[n, b, k] -> z[b, m, n]
  const int B = 3, K = 7, M = 5, N = 11;
  auto x = numbers<T>(B * K * M), y = numbers<T>(N * B * K, 99);
  std::string tx = tensorType({B, K, M}, element), ty = tensorType({N, B, K}, element);
  auto z = run<T>(kernel("%x: " + tx + ", %w: " + ty,
                         "dgc.dot_general %x, %w batch [0] x [1] contract [1] x [2] : " + tx + ", " + ty,
                         tensorType({B, M, N}, element)),
                  B * M * N, x, y);
  for (int b = 0; b < B; ++b)
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        double sum = 0;
        for (int k = 0; k < K; ++k)
          sum += double(x[(b * K + k) * M + m]) * double(y[(n * B + b) * K + k]);
        ASSERT_NEAR(double(z[(b * M + m) * N + n]), sum, 2e-5) << b << " " << m << " " << n;
      }
}

TEST(DotGeneral, F32) { checkDot<float>("f32"); }
TEST(DotGeneral, F64) { checkDot<double>("f64"); }
TEST(DotGeneral, I32) { checkDot<int32_t>("i32"); }

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

TEST(Gather, TakesSlicesAndZeros) {
  auto x = numbers<float>(2 * 4 * 3);
  std::vector<int32_t> indices{3, 0, -1, 4, 0};
  auto y = run<float>(kernel("%x: tensor<2x4x3xf32>, %i: tensor<5xi32>",
                             "dgc.gather %x, %i dim 1 : tensor<2x4x3xf32>, tensor<5xi32>", "tensor<2x5x3xf32>"),
                      30, x, indices);
  for (int a = 0; a < 2; ++a)
    for (int i = 0; i < 5; ++i)
      for (int c = 0; c < 3; ++c) {
        int row = indices[i];
        EXPECT_EQ(y[(a * 5 + i) * 3 + c], row >= 0 && row < 4 ? x[(a * 4 + row) * 3 + c] : 0) << a << i << c;
      }
}

// 200 is a row, and not -56.
TEST(Gather, UnsignedIndices) {
  auto x = numbers<int32_t>(250);
  std::vector<uint8_t> indices{200, 7, 249, 255};
  EXPECT_EQ(run<int32_t>(kernel("%x: tensor<250xi32>, %i: tensor<4xui8>",
                                "dgc.gather %x, %i dim 0 : tensor<250xi32>, tensor<4xui8>", "tensor<4xi32>"),
                         4, x, indices),
            (std::vector<int32_t>{x[200], x[7], x[249], 0}));
}

// The parts of a table that is cut find every row together.
TEST(Gather, PartsAddUpToTheWhole) {
  auto x = numbers<float>(6 * 3);
  std::vector<int64_t> indices{5, 2, 3, 0, 6}, offset{0};
  std::string text = kernel("%x: tensor<3x3xf32>, %i: tensor<5xi64>, %o: tensor<i64>",
                            "dgc.gather %x, %i dim 0 from %o : tensor<3x3xf32>, tensor<5xi64>", "tensor<5x3xf32>");
  std::vector<float> low(x.begin(), x.begin() + 9), high(x.begin() + 9, x.end());
  auto first = run<float>(text, 15, low, indices, offset);
  offset[0] = 3;
  auto second = run<float>(text, 15, high, indices, offset);
  for (int i = 0; i < 5; ++i)
    for (int c = 0; c < 3; ++c)
      EXPECT_EQ(first[i * 3 + c] + second[i * 3 + c], indices[i] < 6 ? x[indices[i] * 3 + c] : 0);
}

TEST(ScatterAdd, AddsWhatIsMeantForASlice) {
  auto updates = numbers<float>(2 * 3 * 5);
  std::vector<int32_t> indices{1, 3, 1, -1, 4, 0};
  auto y =
      run<float>(kernel("%i: tensor<2x3xi32>, %u: tensor<2x3x5xf32>",
                        "dgc.scatter_add %i, %u dim 0 size 4 : tensor<2x3xi32>, tensor<2x3x5xf32>", "tensor<4x5xf32>"),
                 20, indices, updates);
  std::vector<float> expected(20);
  for (int i = 0; i < 6; ++i)
    for (int c = 0; c < 5; ++c)
      if (indices[i] >= 0 && indices[i] < 4)
        expected[indices[i] * 5 + c] += updates[i * 5 + c];
  for (int i = 0; i < 20; ++i)
    EXPECT_NEAR(y[i], expected[i], 1e-6) << i;
}

// Many updates and wide slices: more than the threads of a block, and neither a multiple of a warp. On GPUs, blocks look
// for the updates of a slice first.
TEST(ScatterAdd, ManyUpdatesOfWideSlices) {
  for (auto [count, width, size] : {std::tuple(150, 37, 9), std::tuple(64, 1100, 3), std::tuple(2051, 64, 2)}) {
    auto updates = numbers<float>(count * width);
    std::vector<int32_t> indices;
    for (int i = 0; i < count; ++i)
      indices.push_back((i * i + i / 7) % (size + 2) - 1); // some are outside
    std::string i = tensorType({count}, "i32"), u = tensorType({count, width}, "f32");
    auto y = run<float>(kernel("%i: " + i + ", %u: " + u,
                               "dgc.scatter_add %i, %u dim 0 size " + std::to_string(size) + " : " + i + ", " + u,
                               tensorType({size, width}, "f32")),
                        size * width, indices, updates);
    std::vector<double> expected(size * width);
    for (int at = 0; at < count; ++at)
      for (int c = 0; c < width; ++c)
        if (indices[at] >= 0 && indices[at] < size)
          expected[indices[at] * width + c] += updates[at * width + c];
    for (int at = 0; at < size * width; ++at)
      ASSERT_NEAR(y[at], expected[at], 1e-5 * (1 + std::abs(expected[at]))) << count << " updates, element " << at;
  }
}

TEST(ScatterAdd, APartIsThatOfTheWhole) {
  auto updates = numbers<int32_t>(7);
  std::vector<uint8_t> indices{250, 3, 251, 0, 250, 249, 255};
  std::vector<int64_t> offset{250};
  EXPECT_EQ(run<int32_t>(kernel("%i: tensor<7xui8>, %u: tensor<7xi32>, %o: tensor<i64>",
                                "dgc.scatter_add %i, %u dim 0 size 2 from %o : tensor<7xui8>, tensor<7xi32>",
                                "tensor<2xi32>"),
                         2, indices, updates, offset),
            (std::vector<int32_t>{updates[0] + updates[4], updates[2]}));
}

// An update that would not be inside is moved.
TEST(DynamicUpdateSlice, MovesWhatIsNotInside) {
  auto x = numbers<float>(2 * 5 * 3), u = numbers<float>(2 * 2 * 3);
  for (auto &value : u)
    value += 100;
  const std::string text =
      kernel("%x: tensor<2x5x3xf32>, %u: tensor<2x2x3xf32>, %i: tensor<i32>",
             "dgc.dynamic_update_slice %x, %u at %i dim 1 : tensor<2x5x3xf32>, tensor<2x2x3xf32>, tensor<i32>",
             "tensor<2x5x3xf32>");
  for (auto [start, first] : {std::pair(-7, 0), {0, 0}, {2, 2}, {3, 3}, {4, 3}, {2000000000, 3}}) {
    std::vector<int32_t> starts{start};
    auto expected = x;
    for (int o = 0; o < 2; ++o)
      for (int j = 0; j < 2; ++j)
        for (int c = 0; c < 3; ++c)
          expected[(o * 5 + first + j) * 3 + c] = u[(o * 2 + j) * 3 + c];
    EXPECT_EQ(run<float>(text, 30, x, u, starts), expected) << start;
  }
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

struct Conv {
  int64_t n, h, w, c, kh, kw, o, groups = 1;
  int64_t stride[2] = {1, 1}, low[2] = {0, 0}, high[2] = {0, 0}, dilation[2] = {1, 1}, lhsDilation[2] = {1, 1};

  int64_t out(int d) const {
    int64_t in = ((d ? w : h) - 1) * lhsDilation[d] + 1 + low[d] + high[d];
    return (in - ((d ? kw : kh) - 1) * dilation[d] - 1) / stride[d] + 1;
  }
  std::string attributes() const {
    auto pair = [](int64_t a, int64_t b) { return "[" + std::to_string(a) + ", " + std::to_string(b) + "]"; };
    return " strides " + pair(stride[0], stride[1]) + " padding [" + pair(low[0], high[0]) + ", " +
           pair(low[1], high[1]) + "] dilation " + pair(dilation[0], dilation[1]) + " lhs_dilation " +
           pair(lhsDilation[0], lhsDilation[1]) + " groups " + std::to_string(groups);
  }
};

template <typename T> void checkConvolution(const Conv &c, const char *element) {
  int64_t oh = c.out(0), ow = c.out(1), cg = c.c / c.groups, og = c.o / c.groups;
  auto x = numbers<T>(c.n * c.h * c.w * c.c), w = numbers<T>(c.kh * c.kw * cg * c.o, 55);
  std::string tx = tensorType({c.n, c.h, c.w, c.c}, element), tw = tensorType({c.kh, c.kw, cg, c.o}, element);
  auto y =
      run<T>(kernel("%x: " + tx + ", %w: " + tw, "dgc.convolution %x, %w" + c.attributes() + " : " + tx + ", " + tw,
                    tensorType({c.n, oh, ow, c.o}, element)),
             c.n * oh * ow * c.o, x, w);
  size_t at = 0;
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t i = 0; i < oh; ++i)
      for (int64_t j = 0; j < ow; ++j)
        for (int64_t o = 0; o < c.o; ++o, ++at) {
          double sum = 0;
          for (int64_t ki = 0; ki < c.kh; ++ki)
            for (int64_t kj = 0; kj < c.kw; ++kj) {
              int64_t p = i * c.stride[0] + ki * c.dilation[0] - c.low[0];
              int64_t q = j * c.stride[1] + kj * c.dilation[1] - c.low[1];
              if (p < 0 || q < 0 || p % c.lhsDilation[0] || q % c.lhsDilation[1])
                continue;
              p /= c.lhsDilation[0], q /= c.lhsDilation[1];
              if (p >= c.h || q >= c.w)
                continue;
              for (int64_t k = 0; k < cg; ++k)
                sum += double(x[((n * c.h + p) * c.w + q) * c.c + o / og * cg + k]) *
                       double(w[((ki * c.kw + kj) * cg + k) * c.o + o]);
            }
          ASSERT_NEAR(double(y[at]), sum, 5e-5) << n << " " << i << " " << j << " " << o;
        }
}

TEST(Convolution, Plain) { checkConvolution<float>({.n = 2, .h = 7, .w = 6, .c = 3, .kh = 3, .kw = 2, .o = 5}, "f32"); }

TEST(Convolution, StridesAndPadding) {
  Conv c{.n = 2, .h = 8, .w = 7, .c = 2, .kh = 3, .kw = 4, .o = 3, .stride = {2, 3}, .low = {1, 2}, .high = {0, 3}};
  checkConvolution<float>(c, "f32");
}

TEST(Convolution, Dilations) {
  Conv c{.n = 1, .h = 5, .w = 4, .c = 2, .kh = 3, .kw = 2, .o = 3, .stride = {1, 2}, .low = {2, 1}, .high = {1, 0}};
  c.dilation[0] = 2, c.dilation[1] = 3, c.lhsDilation[0] = 2, c.lhsDilation[1] = 3;
  checkConvolution<double>(c, "f64");
}

TEST(Convolution, Groups) {
  Conv c{.n = 2, .h = 5, .w = 6, .c = 6, .kh = 2, .kw = 3, .o = 9, .groups = 3, .low = {1, 0}, .high = {0, 1}};
  checkConvolution<float>(c, "f32");
}

TEST(Convolution, Integers) {
  checkConvolution<int32_t>({.n = 1, .h = 5, .w = 4, .c = 3, .kh = 2, .kw = 2, .o = 2}, "i32");
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Combines the windows of a 5x7 matrix: window 3x2, strides 2x3, padding [1, 1] and [0, 1].
template <typename T, typename F> std::vector<T> windows(const std::vector<T> &x, T init, F combine) {
  std::vector<T> y;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      T value = init;
      for (int ki = 0; ki < 3; ++ki)
        for (int kj = 0; kj < 2; ++kj) {
          int p = i * 2 + ki - 1, q = j * 3 + kj;
          if (p >= 0 && p < 5 && q < 7)
            value = combine(value, x[p * 7 + q]);
        }
      y.push_back(value);
    }
  return y;
}

std::string windowKernel(const char *kind, const char *element) {
  std::string type = tensorType({5, 7}, element);
  return kernel("%x: " + type,
                std::string("dgc.reduce_window ") + kind +
                    " %x window [3, 2] strides [2, 3] padding [[1, 1], [0, 1]] : " + type,
                tensorType({3, 3}, element));
}

TEST(ReduceWindow, EveryKind) {
  auto x = numbers<float>(35);
  EXPECT_EQ(run<float>(windowKernel("max", "f32"), 9, x),
            windows<float>(x, -INFINITY, [](float a, float b) { return std::max(a, b); }));
  EXPECT_EQ(run<float>(windowKernel("min", "f32"), 9, x),
            windows<float>(x, INFINITY, [](float a, float b) { return std::min(a, b); }));
  auto n = numbers<int32_t>(35);
  EXPECT_EQ(run<int32_t>(windowKernel("sum", "i32"), 9, n), windows<int32_t>(n, 0, std::plus<>()));
  auto u = numbers<uint8_t>(35);
  EXPECT_EQ(run<uint8_t>(windowKernel("max", "ui8"), 9, u),
            windows<uint8_t>(u, 0, [](uint8_t a, uint8_t b) { return std::max(a, b); }));
}

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

template <typename T>
std::vector<T> bits(int64_t seed, int64_t step, int64_t id, const char *type, size_t size,
                    const std::string &where = "", std::vector<int64_t> offsets = {0, 0}) {
  std::vector<int64_t> s{seed}, t{step}, o0{offsets[0]}, o1{offsets[1]};
  std::string op = "dgc.rng_bit_generator %s, %t id " + std::to_string(id) + where + " : " + type;
  return run<T>(kernel("%s: tensor<i64>, %t: tensor<i64>, %o0: tensor<i64>, %o1: tensor<i64>", op, type), size, s, t,
                o0, o1);
}

// The first known answer of the authors of Philox (Random123, kat_vectors): key and counter zero.
TEST(RngBitGenerator, KnownAnswer) {
  EXPECT_EQ(bits<uint32_t>(0, 0, 0, "tensor<4xui32>", 4),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(bits<uint64_t>(0, 0, 0, "tensor<2xui64>", 2),
            (std::vector<uint64_t>{0xe169c58d6627e8d5, 0x9b00dbd8bc57ac4c}));
}

TEST(RngBitGenerator, AgreesWithTheRuntime) {
  int64_t seed = 0x299f31d0a4093822, step = 0x4413198a2e, id = 0x37073;
  dgc::rt::Philox philox(seed, (uint64_t(id) << 40) + step);
  auto words = bits<uint32_t>(seed, step, id, "tensor<7x9xui32>", 63);
  for (size_t e = 0; e < 63; ++e)
    ASSERT_EQ(words[e], philox.bits32(e)) << e;
  auto wide = bits<uint64_t>(seed, step, id, "tensor<7x9xui64>", 63);
  for (size_t e = 0; e < 63; ++e)
    ASSERT_EQ(wide[e], philox.bits64(e)) << e;
}

TEST(RngBitGenerator, APartHasTheBitsOfTheWhole) {
  auto whole = bits<uint32_t>(5, 6, 7, "tensor<6x10xui32>", 60);
  auto part = bits<uint32_t>(5, 6, 7, "tensor<2x3xui32>", 6, " at (%o0, %o1) in [6, 10]", {3, 4});
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(part[i * 3 + j], whole[(i + 3) * 10 + j + 4]);
  // Where the index of the element has more than 34 bits, that of the block has more than one word.
  dgc::rt::Philox philox(5, (uint64_t(7) << 40) + 6);
  auto far = bits<uint32_t>(5, 6, 7, "tensor<1x5xui32>", 5, " at (%o0, %o1) in [100000, 1000000]", {90000, 3});
  for (int j = 0; j < 5; ++j)
    EXPECT_EQ(far[j], philox.bits32(90000ull * 1000000 + 3 + j));
}

} // namespace
