// Long sums in library calls: an error under 4 units of the last place times the logarithm of the length for terms of
// one sign, in an order that does not depend on threads. Expected values are sums in f64.
#include "test/unit/device/OneStep.h"

#include <algorithm>
#include <cstring>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
/// Positive terms: equal ones are the worst case, as all roundings go the same way while a sum grows.
enum class Terms { Equal, Random };

void fill(Tensor &tensor, Terms terms, double value, uint64_t seed) {
  Philox philox(seed, 7);
  for (size_t i = 0; i < tensor.values.size(); ++i)
    tensor.values[i] = tensor.rounded(terms == Terms::Equal ? value : philox.uniformF32(i));
  tensor.store();
}

/// Where oneDNN adds up blocks in order, of up to 2048 terms, the roundings of a block add up when its terms are equal.
double bound(DType type, int64_t length, bool hasEqualBlocks = false) {
  const double unit = type == DType::F64 ? 0x1p-52 : 0x1p-23;
  return (hasEqualBlocks ? 10 : 4) * unit * std::log2(static_cast<double>(length));
}

void expectWithin(double bound, double actual, double expected) {
  EXPECT_LE(std::fabs(actual - expected), bound * expected)
      << std::fabs(actual - expected) / expected / bound << " times the bound";
}

/// Runs `step(threads)` with one thread and with others, and expects `result` to have the same bits.
template <typename F> void expectSameBits(Tensor &result, F step, std::initializer_list<int> others = {2, 3}) {
  step(1);
  const std::vector<double> one = result.stored();
  if (dgc::rt::hasThreadSanitizer)
    return;
  for (int threads : others) {
    step(threads);
    EXPECT_EQ(result.stored(), one) << threads << " threads";
  }
}

struct ProductCase {
  int64_t m, n, k;
};

void checkProduct(ProductCase c, DType type, bool transposeA, Terms terms) {
  SCOPED_TRACE(testing::Message() << c.m << "x" << c.n << "x" << c.k << (transposeA ? " transposed " : " ")
                                  << nameOf(type) << (terms == Terms::Equal ? " equal" : " random"));
  Tensor a(transposeA ? std::vector{c.k, c.m} : std::vector{c.m, c.k}, type), b({c.k, c.n}, type);
  Tensor dst({c.m, c.n}, type);
  fill(a, terms, 0.1, 1);
  fill(b, terms, 1, 2);
  fb::MatmulT op;
  op.b = 1;
  op.dst = 2;
  op.m = static_cast<uint64_t>(c.m);
  op.n = static_cast<uint64_t>(c.n);
  op.k = static_cast<uint64_t>(c.k);
  op.transpose_a = transposeA;
  OneStep({&a, &b, &dst}).run(op);
  for (int64_t i : {int64_t{0}, c.m - 1})
    for (int64_t j : {int64_t{0}, c.n - 1}) {
      long double sum = 0;
      for (int64_t l = 0; l < c.k; ++l)
        sum += static_cast<long double>(a.values[static_cast<size_t>(transposeA ? l * c.m + i : i * c.k + l)]) *
               static_cast<long double>(b.values[static_cast<size_t>(l * c.n + j)]);
      expectWithin(bound(type, c.k, terms == Terms::Equal), dst.stored()[static_cast<size_t>(i * c.n + j)],
                   static_cast<double>(sum));
    }
}

TEST(Accuracy, Products) {
  for (Terms terms : {Terms::Equal, Terms::Random}) {
    for (bool transposeA : {false, true}) {
      for (int64_t k : {1000, 10000, 100003}) {
        checkProduct({3, 5, k}, DType::F32, transposeA, terms);
        checkProduct({1, 4, k}, DType::F32, transposeA, terms);
        checkProduct({4, 1, k}, DType::F32, transposeA, terms);
      }
      checkProduct({67, 64, 70001}, DType::F32, transposeA, terms); // too large for small parts
    }
    checkProduct({2, 2, 1000000}, DType::F32, true, terms);
    checkProduct({1, 1, 10000000}, DType::F32, false, terms);
    checkProduct({2, 3, 30000}, DType::F64, false, terms);
  }
}

// What is behind a product goes behind the whole sum, and the parts are where strides say.
TEST(Accuracy, LongProductsWithBiasesPostOpsAndBatches) {
  const int64_t B = 2, M = 3, N = 4, K = 30001;
  Tensor a({B, K, M}, DType::F32, 1), b({B, N, K}, DType::F32, 2), dst({B, M, N}, DType::F32, 3),
      bias({N}, DType::F32, 4);
  std::vector<double> expected;
  for (int64_t g = 0; g < B; ++g)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) {
        double sum = bias.values[static_cast<size_t>(j)];
        for (int64_t l = 0; l < K; ++l)
          sum +=
              a.values[static_cast<size_t>((g * K + l) * M + i)] * b.values[static_cast<size_t>((g * N + j) * K + l)];
        expected.push_back(std::max(0.0, sum + dst.values[expected.size()]));
      }
  fb::MatmulT op;
  op.b = 1;
  op.dst = 2;
  op.bias = 3;
  op.batch = B;
  op.m = M;
  op.n = N;
  op.k = K;
  op.transpose_a = op.transpose_b = true;
  for (fb::PostOpKind kind : {fb::PostOpKind::Accumulate, fb::PostOpKind::Relu}) {
    op.post_ops.push_back(std::make_unique<fb::PostOpT>());
    op.post_ops.back()->kind = kind;
  }
  expectSameBits(dst, [&](int threads) {
    OneStep({&a, &b, &dst, &bias}).run(op, threads);
    std::vector<double> actual = dst.stored();
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-3);
  });
}

// oneDNN splits sums among threads where it pleases: for a transposed left operand, and without AVX-512 for most
// products.
TEST(Accuracy, ProductsDoNotDependOnThreads) {
  SKIP_WITH_THREAD_SANITIZER();
  struct Case {
    ProductCase size;
    DType type;
    int64_t batch;
    bool transposeA, transposeB;
  };
  std::vector<Case> cases;
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      for (ProductCase size : {ProductCase{1, 64, 2000}, {64, 1, 2000}, {65, 64, 2048}, {300, 37, 3000}})
        cases.push_back({size, DType::F32, 1, transposeA, transposeB});
      cases.push_back({{64, 65, 4096}, DType::F32, 3, transposeA, transposeB});
      cases.push_back({{65, 64, 2048}, DType::BF16, 1, transposeA, transposeB});
    }
  cases.push_back({{1024, 10, 2048}, DType::F32, 1, true, false});
  cases.push_back({{66, 65, 33000}, DType::F32, 1, true, false});
  cases.push_back({{66, 65, 33000}, DType::F32, 1, false, true});
  cases.push_back({{65, 64, 2048}, DType::F16, 1, true, false});
  for (const Case &c : cases) {
    SCOPED_TRACE(testing::Message() << c.batch << " times " << c.size.m << "x" << c.size.n << "x" << c.size.k << " "
                                    << nameOf(c.type) << " transposes " << c.transposeA << c.transposeB);
    Tensor a({c.batch, c.size.m, c.size.k}, c.type, 1), b({c.batch, c.size.k, c.size.n}, c.type, 2);
    Tensor dst({c.batch, c.size.m, c.size.n}, c.type);
    fb::MatmulT op;
    op.b = 1;
    op.dst = 2;
    op.batch = static_cast<uint64_t>(c.batch);
    op.m = static_cast<uint64_t>(c.size.m);
    op.n = static_cast<uint64_t>(c.size.n);
    op.k = static_cast<uint64_t>(c.size.k);
    op.transpose_a = c.transposeA;
    op.transpose_b = c.transposeB;
    expectSameBits(dst, [&](int threads) { OneStep({&a, &b, &dst}).run(op, threads); }, {2, 3, 7});
  }
}

struct ImageCase {
  int64_t images, height, width, in, out, window;
};

fb::ConvolutionT weightGradient(int64_t padding) {
  fb::ConvolutionT op;
  op.kind = fb::ConvKind::BackwardWeights;
  op.weights = 1;
  op.dst = 2;
  op.groups = 1;
  op.strides = op.dilation = {1, 1};
  op.pad_low = op.pad_high = {padding, padding};
  return op;
}

TEST(Accuracy, GradientsOfWeightsOfConvolutions) {
  for (ImageCase c : {ImageCase{2, 28, 28, 3, 8, 3}, ImageCase{64, 112, 112, 2, 4, 3}, ImageCase{1, 3000, 300, 1, 2, 3},
                      ImageCase{300, 7, 7, 5, 66, 1}})
    for (Terms terms : {Terms::Equal, Terms::Random}) {
      SCOPED_TRACE(testing::Message() << c.images << "x" << c.height << "x" << c.width);
      const int64_t pixels = c.images * c.height * c.width, middle = c.window / 2;
      Tensor src({c.images, c.height, c.width, c.in}, DType::F32),
          dst({c.images, c.height, c.width, c.out}, DType::F32);
      Tensor weights({c.window, c.window, c.in, c.out}, DType::F32);
      fill(src, terms, 0.1, 1);
      fill(dst, terms, 0.1, 2);
      OneStep({&src, &weights, &dst}).run(weightGradient(middle));
      for (int64_t o : {int64_t{0}, c.out - 1}) {
        double sum = 0;
        for (int64_t p = 0; p < pixels; ++p)
          sum += src.values[static_cast<size_t>(p * c.in)] * dst.values[static_cast<size_t>(p * c.out + o)];
        // The weight in the middle meets every pixel.
        const auto at = static_cast<size_t>((middle * c.window + middle) * c.in * c.out + o);
        expectWithin(bound(DType::F32, pixels, terms == Terms::Equal), weights.stored()[at], sum);
      }
    }
}

TEST(Accuracy, GradientsOfWeightsDoNotDependOnThreads) {
  for (ImageCase c : {ImageCase{5, 9, 11, 3, 70, 3}, ImageCase{3, 61, 53, 3, 8, 3}, ImageCase{40, 12, 12, 16, 32, 3}}) {
    Tensor src({c.images, c.height, c.width, c.in}, DType::F32, 1);
    Tensor dst({c.images, c.height, c.width, c.out}, DType::F32, 2);
    Tensor weights({c.window, c.window, c.in, c.out}, DType::F32);
    expectSameBits(weights,
                   [&](int threads) { OneStep({&src, &weights, &dst}).run(weightGradient(c.window / 2), threads); });
  }
}

struct LongCase {
  int64_t images, side, channels, others, window;
};

/// A convolution that adds up `channels` inputs, or the gradient of its input, which adds up `channels` outputs.
void checkLongConvolution(LongCase c, fb::ConvKind kind, Terms terms, bool hasPostOps) {
  SCOPED_TRACE(testing::Message() << c.channels << "x" << c.window << " " << fb::EnumNameConvKind(kind)
                                  << (terms == Terms::Equal ? " equal" : " random"));
  const bool isForward = kind == fb::ConvKind::Forward;
  const int64_t in = isForward ? c.channels : c.others, out = isForward ? c.others : c.channels;
  const int64_t outSide = c.side - c.window + 1, middle = c.side / 2;
  Tensor src({c.images, c.side, c.side, in}, DType::F32), dst({c.images, outSide, outSide, out}, DType::F32);
  Tensor weights({c.window, c.window, in, out}, DType::F32), bias({out}, DType::F32);
  for (Tensor *tensor : {&src, &weights, &dst, &bias})
    fill(*tensor, terms, 0.1, static_cast<uint64_t>(tensor->shape.back()));
  fb::ConvolutionT op = weightGradient(0);
  op.kind = kind;
  if (hasPostOps) {
    op.bias = 3;
    op.post_ops.push_back(std::make_unique<fb::PostOpT>());
    op.post_ops.back()->kind = fb::PostOpKind::Relu;
  }
  Tensor &result = isForward ? dst : src;
  OneStep({&src, &weights, &dst, &bias}).run(op);
  const std::vector<double> actual = result.stored();
  for (int64_t other : {int64_t{0}, c.others - 1}) {
    double sum = hasPostOps ? bias.values[static_cast<size_t>(other)] : 0;
    for (int64_t y = 0; y < c.window; ++y)
      for (int64_t x = 0; x < c.window; ++x)
        for (int64_t k = 0; k < c.channels; ++k) {
          const int64_t i = isForward ? k : other, o = isForward ? other : k;
          const double weight = weights.values[static_cast<size_t>(((y * c.window + x) * in + i) * out + o)];
          const int64_t oy = middle - y, ox = middle - x;
          if (isForward)
            sum += weight * src.values[static_cast<size_t>((y * c.side + x) * in + i)];
          else if (std::min(oy, ox) >= 0 && std::max(oy, ox) < outSide)
            sum += weight * dst.values[static_cast<size_t>((oy * outSide + ox) * out + o)];
        }
    const int64_t at = isForward ? other : (middle * c.side + middle) * in + other;
    // In each part, blocks of some thousand terms are added up in order.
    const double allowed = bound(DType::F32, c.channels * c.window * c.window) * (terms == Terms::Equal ? 20 : 1);
    expectWithin(allowed, actual[static_cast<size_t>(at)], sum);
  }
}

TEST(Accuracy, LongConvolutions) {
  for (LongCase c :
       {LongCase{1, 5, 1000, 3, 3}, {2, 4, 2000, 16, 3}, {1, 4, 20000, 5, 3}, {2, 3, 20011, 4, 1}, {1, 34, 80, 7, 17}})
    for (Terms terms : {Terms::Equal, Terms::Random}) {
      checkLongConvolution(c, fb::ConvKind::Forward, terms, false);
      checkLongConvolution(c, fb::ConvKind::Forward, terms, true);
      checkLongConvolution(c, fb::ConvKind::BackwardData, terms, false);
    }
}

struct WindowCase {
  int64_t images, side, in, out, window, stride, padding;
  DType type = DType::F32;

  int64_t outSide() const { return (side + 2 * padding - window) / stride + 1; }
  fb::ConvolutionT op(fb::ConvKind kind) const {
    fb::ConvolutionT op = weightGradient(padding);
    op.kind = kind;
    op.strides = {stride, stride};
    const int64_t high = std::max<int64_t>(0, (outSide() - 1) * stride + window - side - padding);
    op.pad_high = {high, high};
    return op;
  }
};

// oneDNN chooses blocks of channels by the number of threads where the weights are large.
void expectSameBitsOnAnyThreads(std::initializer_list<WindowCase> cases) {
  for (WindowCase c : cases) {
    SCOPED_TRACE(testing::Message() << c.images << "x" << c.side << "x" << c.in << " to " << c.out << " window "
                                    << c.window << " stride " << c.stride << " padding " << c.padding);
    Tensor src({c.images, c.side, c.side, c.in}, c.type, 1), weights({c.window, c.window, c.in, c.out}, c.type, 2);
    Tensor dst({c.images, c.outSide(), c.outSide(), c.out}, c.type);
    const fb::ConvolutionT op = c.op(fb::ConvKind::Forward);
    expectSameBits(dst, [&](int threads) { OneStep({&src, &weights, &dst}).run(op, threads); }, {2, 3, 5, 7, 8});
  }
}

TEST(Accuracy, ConvolutionsDoNotDependOnThreads) {
  SKIP_WITH_THREAD_SANITIZER();
  expectSameBitsOnAnyThreads({{1, 8, 1000, 3, 3, 1, 0},
                              {1, 4, 512, 100, 3, 2, 0},
                              {1, 7, 256, 256, 5, 2, 0},
                              {1, 28, 130, 64, 5, 2, 2},
                              {2, 7, 48, 64, 7, 3, 0},
                              {2, 7, 64, 64, 7, 3, 3},
                              {1, 7, 16, 16, 5, 3, 2},
                              {1, 4, 17, 16, 7, 1, 3},
                              {2, 7, 2048, 32, 3, 1, 1},
                              {32, 4, 1000, 20, 3, 1, 1}});
}

// Without AVX-512 these are computed one element at a time, which takes twenty seconds.
TEST(Accuracy, ConvolutionsOfBf16DoNotDependOnThreads) {
  SKIP_WITH_THREAD_SANITIZER();
  expectSameBitsOnAnyThreads({{1, 28, 512, 64, 5, 2, 0, DType::BF16}});
}

// Parts are where strides say in every operand, with the padding that they have: of rows, of images, and of channels
// that are added up.
TEST(Accuracy, PartsOfConvolutions) {
  for (WindowCase c : {WindowCase{1, 20, 80, 40, 5, 1, 2},
                       {2, 27, 70, 33, 5, 2, 2},
                       {1, 27, 64, 70, 5, 1, 2},
                       {1, 16, 300, 17, 3, 3, 0},
                       {20, 6, 130, 24, 3, 1, 1},
                       {2, 9, 1900, 9, 3, 1, 1}}) {
    SCOPED_TRACE(testing::Message() << c.images << "x" << c.side << "x" << c.in << " window " << c.window);
    std::vector<double> results[2];
    for (DType type : {DType::F32, DType::F64}) {
      const std::vector result{c.images, c.outSide(), c.outSide(), c.out};
      Tensor src({c.images, c.side, c.side, c.in}, type, 1), weights({c.window, c.window, c.in, c.out}, type, 2);
      Tensor dst(result, type), bias({c.out}, type, 3), added(result, type, 4);
      for (Tensor *tensor : {&src, &weights, &bias, &added}) { // the same values in both
        for (double &value : tensor->values)
          value = static_cast<float>(value);
        tensor->store();
      }
      fb::ConvolutionT op = c.op(fb::ConvKind::Forward);
      op.bias = 3;
      for (fb::PostOpKind kind : {fb::PostOpKind::Add, fb::PostOpKind::Relu}) {
        op.post_ops.push_back(std::make_unique<fb::PostOpT>());
        op.post_ops.back()->kind = kind;
        op.post_ops.back()->arg = kind == fb::PostOpKind::Add ? 4 : -1;
      }
      OneStep({&src, &weights, &dst, &bias, &added}).run(op, 2);
      results[type == DType::F64] = dst.stored();
    }
    double most = 0;
    for (size_t i = 0; i < results[0].size(); ++i)
      most = std::max(most, std::fabs(results[0][i] - results[1][i]));
    EXPECT_LE(most, 1e-3);
    EXPECT_GT(*std::max_element(results[1].begin(), results[1].end()), 1);
  }
}

// oneDNN takes GEMM for the gradient of an input where windows are large.
TEST(Accuracy, GradientsOfInputsDoNotDependOnThreads) {
  Tensor src({3, 20, 20, 16}, DType::F32), weights({17, 17, 16, 16}, DType::F32, 1), dst({3, 4, 4, 16}, DType::F32, 2);
  fb::ConvolutionT op = weightGradient(0);
  op.kind = fb::ConvKind::BackwardData;
  expectSameBits(src, [&](int threads) { OneStep({&src, &weights, &dst}).run(op, threads); }, {2, 3, 7});
}

// The pixel in the middle is in every window; as the only maximum of all of them it gets all of their gradients.
TEST(Accuracy, GradientsOfOverlappingWindows) {
  for (DType type : {DType::F32, DType::F64})
    for (bool max : {false, true})
      for (Terms terms : {Terms::Equal, Terms::Random}) {
        const int64_t window = 32;
        SCOPED_TRACE(testing::Message() << window << (max ? " max " : " average ") << nameOf(type));
        const int64_t side = 2 * window - 1, channels = 3, middle = (window - 1) * side + window - 1;
        Tensor src({1, side, side, channels}, type), dst({1, window, window, channels}, type);
        Tensor result({1, side, side, channels}, type);
        for (int64_t c = 0; c < channels; ++c)
          src.values[static_cast<size_t>(middle * channels + c)] = 1;
        fill(dst, terms, 0.1, 2);
        fb::PoolT op;
        op.kind = max ? fb::PoolKind::MaxBackward : fb::PoolKind::AvgBackward;
        op.src = max ? 0 : -1;
        op.dst = -1;
        op.diff_dst = 1;
        op.diff_src = 2;
        op.window = {window, window};
        op.strides = {1, 1};
        op.pad_low = op.pad_high = {0, 0};
        OneStep({&src, &dst, &result}).run(op);
        const std::vector<double> actual = result.stored();
        for (int64_t c = 0; c < channels; ++c) {
          long double sum = 0;
          for (int64_t i = 0; i < window * window; ++i)
            sum += static_cast<long double>(dst.values[static_cast<size_t>(i * channels + c)]);
          expectWithin(bound(type, window * window), actual[static_cast<size_t>(middle * channels + c)],
                       static_cast<double>(sum) / (max ? 1.0 : static_cast<double>(window * window)));
        }
      }
}

TEST(Accuracy, ScatterAdd) {
  const int64_t size = 3, inner = 70;
  for (int64_t count : {1000, 100000})
    for (Terms terms : {Terms::Equal, Terms::Random}) {
      Tensor indices({count}, DType::I32), updates({count, inner}, DType::F32), dst({size, inner}, DType::F32);
      // Slice 1 gets none; slice 2 gets one of seven.
      for (int64_t j = 0; j < count; ++j)
        indices.values[static_cast<size_t>(j)] = j % 7 == 3 ? 2 : 0;
      indices.store();
      fill(updates, terms, 0.1, 1);
      fb::ScatterAddT op;
      op.updates = 1;
      op.dst = 2;
      op.outer = 1;
      op.count = static_cast<uint64_t>(count);
      op.inner = inner;
      op.size = size;
      expectSameBits(dst, [&](int threads) { OneStep({&indices, &updates, &dst}).run(op, threads); });
      for (int64_t column : {int64_t{0}, inner - 1}) {
        double sums[3] = {};
        for (int64_t j = 0; j < count; ++j)
          sums[static_cast<int>(indices.values[static_cast<size_t>(j)])] +=
              updates.values[static_cast<size_t>(j * inner + column)];
        for (int64_t slice = 0; slice < size; ++slice)
          expectWithin(bound(DType::F32, count), dst.stored()[static_cast<size_t>(slice * inner + column)],
                       sums[slice]);
      }
    }
}

TEST(Accuracy, AveragesOverWholeImages) {
  for (int64_t side : {32, 100, 1000})
    for (Terms terms : {Terms::Equal, Terms::Random}) {
      const int64_t channels = 3;
      Tensor src({1, side, side, channels}, DType::F32), dst({1, 1, 1, channels}, DType::F32);
      fill(src, terms, 0.1, 1);
      fb::PoolT op;
      op.kind = fb::PoolKind::AvgForward;
      op.src = 0;
      op.dst = 1;
      op.window = op.strides = {side, side};
      op.pad_low = op.pad_high = {0, 0};
      OneStep({&src, &dst}).run(op);
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (int64_t i = 0; i < side * side; ++i)
          sum += src.values[static_cast<size_t>(i * channels + c)];
        expectWithin(bound(DType::F32, side * side), dst.stored()[static_cast<size_t>(c)],
                     sum / static_cast<double>(side * side));
      }
    }
}
} // namespace
