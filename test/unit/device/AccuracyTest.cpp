// Long sums in library calls: an error under 4 units of the last place times the logarithm of the length for terms of
// one sign, in an order that does not depend on threads. Expected values are sums in f64.
#include "test/unit/device/OneStep.h"

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
template <typename F> void expectSameBits(Tensor &result, F step) {
  step(1);
  const std::vector<double> one = result.stored();
  if (dgc::testing::hasThreadSanitizer)
    return;
  for (int threads : {2, 3}) {
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

struct ImageCase {
  int64_t images, height, width, in, out, window;
};

fb::ConvolutionT weightGradient(int64_t padding) {
  fb::ConvolutionT op;
  op.kind = fb::ConvKind::BackwardWeights;
  op.weights = 1;
  op.dst = 2;
  op.bias = 3;
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
      Tensor weights({c.window, c.window, c.in, c.out}, DType::F32), bias({c.out}, DType::F32);
      fill(src, terms, 0.1, 1);
      fill(dst, terms, 0.1, 2);
      OneStep({&src, &weights, &dst, &bias}).run(weightGradient(middle));
      for (int64_t o : {int64_t{0}, c.out - 1}) {
        double sum = 0, biasSum = 0;
        for (int64_t p = 0; p < pixels; ++p) {
          sum += src.values[static_cast<size_t>(p * c.in)] * dst.values[static_cast<size_t>(p * c.out + o)];
          biasSum += dst.values[static_cast<size_t>(p * c.out + o)];
        }
        // The weight in the middle meets every pixel.
        const auto at = static_cast<size_t>((middle * c.window + middle) * c.in * c.out + o);
        expectWithin(bound(DType::F32, pixels, terms == Terms::Equal), weights.stored()[at], sum);
        expectWithin(bound(DType::F32, pixels, terms == Terms::Equal), bias.stored()[static_cast<size_t>(o)], biasSum);
      }
    }
}

TEST(Accuracy, GradientsOfWeightsDoNotDependOnThreads) {
  for (ImageCase c : {ImageCase{5, 9, 11, 3, 70, 3}, ImageCase{3, 61, 53, 3, 8, 3}, ImageCase{40, 12, 12, 16, 32, 3}}) {
    Tensor src({c.images, c.height, c.width, c.in}, DType::F32, 1);
    Tensor dst({c.images, c.height, c.width, c.out}, DType::F32, 2);
    Tensor weights({c.window, c.window, c.in, c.out}, DType::F32), bias({c.out}, DType::F32);
    expectSameBits(weights, [&](int threads) {
      OneStep({&src, &weights, &dst, &bias}).run(weightGradient(c.window / 2), threads);
    });
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
