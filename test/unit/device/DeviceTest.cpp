// The library calls against plain loops written here, on shapes that are not symmetric and sizes that do not divide.
#include "test/unit/device/OneStep.h"

#include <functional>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
/// |a - b| within `tolerance` of the larger of 1 and |b|, everywhere.
void expectNear(const std::vector<double> &a, const std::vector<double> &b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::fabs(b[i]))) << "element " << i;
}

double toleranceOf(DType type) {
  return type == DType::F64 ? 1e-12 : type == DType::F32 ? 2e-5 : type == DType::F16 ? 4e-3 : 2e-2;
}

//===-- Matmul ----------------------------------------------------------===//

std::unique_ptr<fb::PostOpT> postOp(fb::PostOpKind kind, int32_t arg = -1) {
  auto op = std::make_unique<fb::PostOpT>();
  op->kind = kind;
  op->arg = arg;
  return op;
}

struct MatmulCase {
  int64_t batch, m, n, k;
};

void checkMatmul(MatmulCase c, DType type, bool transposeA, bool transposeB, bool bias, int threads = 1) {
  auto shaped = [&](int64_t rows, int64_t columns, bool transposed) {
    std::vector<int64_t> shape{rows, columns};
    if (transposed)
      std::swap(shape[0], shape[1]);
    if (c.batch > 1)
      shape.insert(shape.begin(), c.batch);
    return shape;
  };
  Tensor a(shaped(c.m, c.k, transposeA), type, 1), b(shaped(c.k, c.n, transposeB), type, 2);
  Tensor dst(shaped(c.m, c.n, false), type), v({c.n}, type, 3);
  for (int64_t g = 0; g < c.batch; ++g)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = bias ? v.values[static_cast<size_t>(j)] : 0;
        for (int64_t l = 0; l < c.k; ++l)
          sum += a.values[static_cast<size_t>(g * c.m * c.k + (transposeA ? l * c.m + i : i * c.k + l))] *
                 b.values[static_cast<size_t>(g * c.k * c.n + (transposeB ? j * c.k + l : l * c.n + j))];
        dst.values[static_cast<size_t>((g * c.m + i) * c.n + j)] = sum;
      }
  std::vector<double> expected = dst.values;
  std::fill(dst.values.begin(), dst.values.end(), 77.0); // must not matter
  fb::MatmulT op;
  op.a = 0;
  op.b = 1;
  op.dst = 2;
  op.bias = bias ? 3 : -1;
  op.batch = static_cast<uint64_t>(c.batch);
  op.m = static_cast<uint64_t>(c.m);
  op.n = static_cast<uint64_t>(c.n);
  op.k = static_cast<uint64_t>(c.k);
  op.transpose_a = transposeA;
  op.transpose_b = transposeB;
  OneStep({&a, &b, &dst, &v}).run(op, threads);
  expectNear(dst.stored(), expected, toleranceOf(type));
}

TEST(Matmul, TransposesBiasesAndBatches) {
  for (MatmulCase c : {MatmulCase{1, 5, 7, 3}, {1, 33, 65, 129}, {3, 4, 6, 5}, {1, 1, 10, 64}, {1, 17, 1, 9}})
    for (int bits = 0; bits < 8; ++bits) {
      SCOPED_TRACE(testing::Message() << c.m << "x" << c.n << "x" << c.k << " case " << bits);
      checkMatmul(c, DType::F32, bits & 1, bits & 2, bits & 4);
    }
}

// The heads of an attention, multiplied where they lie: q [2, 5, 3, 4], k [2, 6, 3, 4], and a result that is stored as
// [2, 5, 3, 6] as well.
TEST(Matmul, DimensionsInAnyOrder) {
  for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (bool withPostOp : {false, true}) {
      const int64_t B = 2, T = 5, S = 6, H = 3, D = 4;
      Tensor q({B, T, H, D}, type, 1), k({B, S, H, D}, type, 2), y({B, T, H, S}, type), bias({S}, type, 3);
      fb::MatmulT op;
      op.a = 0;
      op.b = 1;
      op.dst = 2;
      op.batch = B * H;
      op.m = T;
      op.n = S;
      op.k = D;
      op.batch_sizes = {B, H};
      op.a_strides = {T * H * D, D, H * D, 1};
      op.b_strides = {S * H * D, D, 1, H * D};
      op.dst_strides = {T * H * S, S, H * S, 1};
      if (withPostOp) {
        op.bias = 3;
        op.post_ops.push_back(postOp(fb::PostOpKind::Relu));
      }
      OneStep({&q, &k, &y, &bias}).run(std::move(op));
      std::vector<double> expected;
      for (int64_t b = 0; b < B; ++b)
        for (int64_t t = 0; t < T; ++t)
          for (int64_t h = 0; h < H; ++h)
            for (int64_t s = 0; s < S; ++s) {
              double sum = withPostOp ? bias.values[static_cast<size_t>(s)] : 0;
              for (int64_t d = 0; d < D; ++d)
                sum += q.values[static_cast<size_t>(((b * T + t) * H + h) * D + d)] *
                       k.values[static_cast<size_t>(((b * S + s) * H + h) * D + d)];
              expected.push_back(withPostOp ? std::max(sum, 0.0) : sum);
            }
      expectNear(y.stored(), expected, toleranceOf(type));
    }
}

TEST(Matmul, OtherTypes) {
  for (DType type : {DType::F64, DType::BF16, DType::F16})
    for (int bits = 0; bits < 4; ++bits) {
      SCOPED_TRACE(testing::Message() << nameOf(type) << " case " << bits);
      checkMatmul({2, 5, 7, 11}, type, bits & 1, bits & 2, true);
    }
}

TEST(Matmul, Threads) {
  SKIP_WITH_THREAD_SANITIZER();
  checkMatmul({1, 130, 70, 90}, DType::F32, true, false, true, 3);
  checkMatmul({4, 13, 7, 9}, DType::F64, true, false, true, 3);
}

double gelu(double x, bool tanh) {
  return tanh ? 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
              : 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

TEST(Matmul, EveryPostOp) {
  using K = fb::PostOpKind;
  struct Case {
    K kind;
    int32_t arg; // 3: like the result, 4: per channel
    std::function<double(double value, double full, double channel, double before)> f;
  } cases[] = {{K::Relu, -1, [](double v, double, double, double) { return std::max(v, 0.0); }},
               {K::Tanh, -1, [](double v, double, double, double) { return std::tanh(v); }},
               {K::Sigmoid, -1, [](double v, double, double, double) { return 1 / (1 + std::exp(-v)); }},
               {K::GeluTanh, -1, [](double v, double, double, double) { return gelu(v, true); }},
               {K::GeluErf, -1, [](double v, double, double, double) { return gelu(v, false); }},
               {K::Add, 3, [](double v, double f, double, double) { return v + f; }},
               {K::Add, 4, [](double v, double, double c, double) { return v + c; }},
               {K::Multiply, 3, [](double v, double f, double, double) { return v * f; }},
               {K::Multiply, 4, [](double v, double, double c, double) { return v * c; }},
               {K::Accumulate, -1, [](double v, double, double, double b) { return v + b; }}};
  for (DType type : {DType::F32, DType::F64})
    for (int64_t batch : {1, 2})
      for (const Case &c : cases)
        for (bool thenRelu : {false, true}) {
          SCOPED_TRACE(testing::Message() << nameOf(type) << " " << fb::EnumNamePostOpKind(c.kind) << " arg " << c.arg);
          std::vector<int64_t> sa{4, 3}, sb{3, 6}, sd{4, 6};
          if (batch > 1)
            for (auto *s : {&sa, &sb, &sd})
              s->insert(s->begin(), batch);
          Tensor a(sa, type, 1), b(sb, type, 2), dst(sd, type, 5), full(sd, type, 3), channel({6}, type, 4);
          std::vector<double> expected(dst.values.size());
          for (size_t i = 0; i < expected.size(); ++i) {
            size_t g = i / 24, r = i / 6 % 4, j = i % 6;
            double v = 0;
            for (size_t l = 0; l < 3; ++l)
              v += a.values[g * 12 + r * 3 + l] * b.values[g * 18 + l * 6 + j];
            v = c.f(v, full.values[i], channel.values[j], dst.values[i]);
            expected[i] = thenRelu ? std::max(v, 0.0) : v;
          }
          fb::MatmulT op;
          op.b = 1;
          op.dst = 2;
          op.batch = static_cast<uint64_t>(batch);
          op.m = 4;
          op.n = 6;
          op.k = 3;
          op.post_ops.push_back(postOp(c.kind, c.arg));
          if (thenRelu)
            op.post_ops.push_back(postOp(K::Relu));
          OneStep({&a, &b, &dst, &full, &channel}).run(op);
          expectNear(dst.stored(), expected, type == DType::F64 ? 1e-12 : 1e-4);
        }
}

//===-- Convolution -----------------------------------------------------===//

struct ConvCase {
  const char *name;
  int64_t batch, in[2], inChannels, outChannels, window[2], stride[2], low[2], high[2], dilation[2], groups;
};

const ConvCase convCases[] = {
    {"Image", 3, {9, 8}, 1, 16, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
    {"Same", 2, {7, 5}, 16, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"Strided", 2, {9, 7}, 3, 5, {3, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 1}, 1},
    {"Dilated", 1, {11, 9}, 4, 6, {3, 3}, {1, 2}, {2, 0}, {1, 2}, {2, 1}, 1},
    {"Grouped", 2, {6, 6}, 6, 9, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3},
    {"Depthwise", 2, {6, 5}, 16, 16, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 16},
    {"Pointwise", 2, {4, 5}, 7, 11, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
    // More pixels than are added up one after the other: many images at a time, and some rows of one.
    {"ManyImages", 41, {9, 8}, 3, 70, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"ManyRows", 2, {61, 53}, 3, 7, {5, 3}, {1, 1}, {2, 1}, {1, 1}, {1, 1}, 1},
    {"ManyRowsStrided", 1, {120, 75}, 2, 5, {3, 3}, {2, 1}, {1, 2}, {3, 0}, {2, 2}, 1},
    {"ManyRowsGrouped", 1, {47, 45}, 4, 6, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
};

/// Calls f(src index, weight index, dst index) for every product of a convolution.
template <typename F> void forProducts(const ConvCase &c, const std::vector<int64_t> &out, F f) {
  int64_t gi = c.inChannels / c.groups, go = c.outChannels / c.groups;
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t y = 0; y < out[0]; ++y)
      for (int64_t x = 0; x < out[1]; ++x)
        for (int64_t ky = 0; ky < c.window[0]; ++ky)
          for (int64_t kx = 0; kx < c.window[1]; ++kx) {
            int64_t iy = y * c.stride[0] - c.low[0] + ky * c.dilation[0];
            int64_t ix = x * c.stride[1] - c.low[1] + kx * c.dilation[1];
            if (iy < 0 || iy >= c.in[0] || ix < 0 || ix >= c.in[1])
              continue;
            for (int64_t o = 0; o < c.outChannels; ++o)
              for (int64_t i = 0; i < gi; ++i)
                f(static_cast<size_t>(((b * c.in[0] + iy) * c.in[1] + ix) * c.inChannels + o / go * gi + i),
                  static_cast<size_t>(((ky * c.window[1] + kx) * gi + i) * c.outChannels + o),
                  static_cast<size_t>(((b * out[0] + y) * out[1] + x) * c.outChannels + o));
          }
}

void checkConvolution(const ConvCase &c, DType type, fb::ConvKind kind, bool bias, int threads = 1) {
  std::vector<int64_t> out(2);
  for (int d = 0; d < 2; ++d)
    out[static_cast<size_t>(d)] =
        (c.in[d] + c.low[d] + c.high[d] - (c.window[d] - 1) * c.dilation[d] - 1) / c.stride[d] + 1;
  Tensor src({c.batch, c.in[0], c.in[1], c.inChannels}, type, 1);
  Tensor weights({c.window[0], c.window[1], c.inChannels / c.groups, c.outChannels}, type, 2);
  Tensor dst({c.batch, out[0], out[1], c.outChannels}, type, 3), b({c.outChannels}, type, 4);
  bool forward = kind == fb::ConvKind::Forward;
  Tensor &result = forward ? dst : kind == fb::ConvKind::BackwardData ? src : weights;
  std::vector<double> expected(result.values.size());
  size_t channels = b.values.size();
  for (size_t i = 0; forward && bias && i < expected.size(); ++i)
    expected[i] = b.values[i % channels];
  forProducts(c, out, [&](size_t s, size_t w, size_t d) {
    if (forward)
      expected[d] += src.values[s] * weights.values[w];
    else if (kind == fb::ConvKind::BackwardData)
      expected[s] += dst.values[d] * weights.values[w];
    else
      expected[w] += src.values[s] * dst.values[d];
  });
  fb::ConvolutionT op;
  op.kind = kind;
  op.weights = 1;
  op.dst = 2;
  op.bias = bias ? 3 : -1;
  op.groups = c.groups;
  for (int d = 0; d < 2; ++d) {
    op.strides.push_back(c.stride[d]);
    op.pad_low.push_back(c.low[d]);
    op.pad_high.push_back(c.high[d]);
    op.dilation.push_back(c.dilation[d]);
  }
  OneStep({&src, &weights, &dst, &b}).run(op, threads);
  expectNear(result.stored(), expected, toleranceOf(type) * 4);
}

TEST(Convolution, EveryKindOfEveryCase) {
  for (const ConvCase &c : convCases)
    for (DType type : {DType::F32, DType::F64})
      for (fb::ConvKind kind : fb::EnumValuesConvKind())
        for (bool bias : {false, true}) {
          SCOPED_TRACE(testing::Message() << c.name << " " << nameOf(type) << " " << fb::EnumNameConvKind(kind));
          if (!bias || kind == fb::ConvKind::Forward)
            checkConvolution(c, type, kind, bias);
        }
}

TEST(Convolution, SixteenBits) {
  for (DType type : {DType::BF16, DType::F16})
    for (fb::ConvKind kind : fb::EnumValuesConvKind())
      checkConvolution(convCases[1], type, kind, false);
  checkConvolution(convCases[7], DType::BF16, fb::ConvKind::BackwardWeights, false);
}

TEST(Convolution, Threads) {
  SKIP_WITH_THREAD_SANITIZER();
  for (const ConvCase &c : convCases)
    for (fb::ConvKind kind : fb::EnumValuesConvKind())
      for (int threads : {2, 5})
        checkConvolution(c, DType::F32, kind, false, threads);
}

TEST(Convolution, ReluAndOneOrThreeDimensions) {
  Tensor src({2, 6, 3}, DType::F32, 1), weights({3, 3, 4}, DType::F32, 2), dst({2, 4, 4}, DType::F32);
  std::vector<double> expected(32);
  for (size_t b = 0; b < 2; ++b)
    for (size_t x = 0; x < 4; ++x)
      for (size_t o = 0; o < 4; ++o) {
        double sum = 0;
        for (size_t k = 0; k < 3; ++k)
          for (size_t i = 0; i < 3; ++i)
            sum += src.values[(b * 6 + x + k) * 3 + i] * weights.values[(k * 3 + i) * 4 + o];
        expected[(b * 4 + x) * 4 + o] = std::max(sum, 0.0);
      }
  fb::ConvolutionT op;
  op.weights = 1;
  op.dst = 2;
  op.strides = op.dilation = {1};
  op.pad_low = op.pad_high = {0};
  op.post_ops.push_back(postOp(fb::PostOpKind::Relu));
  OneStep({&src, &weights, &dst}).run(op);
  expectNear(dst.stored(), expected, 1e-5);
  // The same as one slice of three dimensions.
  src.shape = {2, 1, 1, 6, 3};
  weights.shape = {1, 1, 3, 3, 4};
  dst.shape = {2, 1, 1, 4, 4};
  op.strides = op.dilation = {1, 1, 1};
  op.pad_low = op.pad_high = {0, 0, 0};
  OneStep({&src, &weights, &dst}).run(op);
  expectNear(dst.stored(), expected, 1e-5);
}

//===-- Pool ------------------------------------------------------------===//

struct PoolCase {
  const char *name;
  int64_t batch, in[2], channels, window[2], stride[2], low[2], high[2];
};

const PoolCase poolCases[] = {
    {"Tiles", 2, {6, 4}, 5, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
    {"ManyChannels", 2, {4, 6}, 131, {2, 3}, {2, 3}, {0, 0}, {0, 0}},
    {"Rest", 3, {7, 5}, 3, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
    {"Overlap", 2, {7, 6}, 4, {3, 2}, {1, 2}, {0, 0}, {0, 0}},
    {"Padded", 2, {5, 6}, 4, {3, 3}, {2, 2}, {1, 2}, {1, 0}},
};

struct PoolNumbers {
  Tensor src, dst, diffDst, diffSrc;
  std::vector<int64_t> first; // position in the window of the first maximum
};

/// Few distinct values, so that windows have several maxima.
PoolNumbers poolNumbers(const PoolCase &c, DType type, bool max, bool countPad) {
  int64_t out[2];
  for (int d = 0; d < 2; ++d)
    out[d] = (c.in[d] + c.low[d] + c.high[d] - c.window[d]) / c.stride[d] + 1;
  PoolNumbers p{Tensor({c.batch, c.in[0], c.in[1], c.channels}, type, 1),
                Tensor({c.batch, out[0], out[1], c.channels}, type),
                Tensor({c.batch, out[0], out[1], c.channels}, type, 2),
                Tensor({c.batch, c.in[0], c.in[1], c.channels}, type),
                {}};
  for (double &v : p.src.values)
    v = std::floor(v * 2);
  for (size_t i = 0; i < p.dst.values.size(); ++i) {
    auto e = static_cast<int64_t>(i);
    int64_t ch = e % c.channels, x = e / c.channels % out[1], y = e / c.channels / out[1] % out[0];
    int64_t b = e / c.channels / out[1] / out[0];
    std::vector<std::pair<size_t, int64_t>> window; // index in src, position
    for (int64_t ky = 0; ky < c.window[0]; ++ky)
      for (int64_t kx = 0; kx < c.window[1]; ++kx) {
        int64_t iy = y * c.stride[0] - c.low[0] + ky, ix = x * c.stride[1] - c.low[1] + kx;
        if (iy >= 0 && iy < c.in[0] && ix >= 0 && ix < c.in[1])
          window.emplace_back(((b * c.in[0] + iy) * c.in[1] + ix) * c.channels + ch, ky * c.window[1] + kx);
      }
    double sum = 0;
    auto best = window.front();
    for (auto w : window) {
      sum += p.src.values[w.first];
      if (p.src.values[w.first] > p.src.values[best.first])
        best = w;
    }
    double n = countPad ? static_cast<double>(c.window[0] * c.window[1]) : static_cast<double>(window.size());
    p.dst.values[i] = max ? p.src.values[best.first] : sum / n;
    p.first.push_back(best.second);
    if (max)
      p.diffSrc.values[best.first] += p.diffDst.values[i];
    else
      for (auto w : window)
        p.diffSrc.values[w.first] += p.diffDst.values[i] / n;
  }
  return p;
}

fb::PoolT poolOp(const PoolCase &c, fb::PoolKind kind, bool countPad) {
  fb::PoolT op;
  op.kind = kind;
  op.count_include_pad = countPad;
  for (int d = 0; d < 2; ++d) {
    op.window.push_back(c.window[d]);
    op.strides.push_back(c.stride[d]);
    op.pad_low.push_back(c.low[d]);
    op.pad_high.push_back(c.high[d]);
  }
  return op;
}

TEST(Pool, ForwardAndBackward) {
  for (const PoolCase &c : poolCases)
    for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16})
      for (bool max : {true, false})
        for (bool countPad : {false, true}) {
          SCOPED_TRACE(testing::Message() << c.name << " " << nameOf(type) << (max ? " max" : " avg"));
          PoolNumbers p = poolNumbers(c, type, max, countPad);
          Tensor result(p.dst.shape, type);
          fb::PoolT op = poolOp(c, max ? fb::PoolKind::MaxForward : fb::PoolKind::AvgForward, countPad);
          op.src = 0;
          op.dst = 1;
          OneStep({&p.src, &result}).run(op);
          expectNear(result.stored(), p.dst.values, toleranceOf(type));
          Tensor gradient(p.src.shape, type, 9);
          op = poolOp(c, max ? fb::PoolKind::MaxBackward : fb::PoolKind::AvgBackward, countPad);
          op.src = max ? 0 : -1;
          op.diff_dst = 1;
          op.diff_src = 2;
          OneStep({&p.src, &p.diffDst, &gradient}).run(op);
          expectNear(gradient.stored(), p.diffSrc.values, toleranceOf(type));
        }
}

TEST(Pool, NanIsTheMaximum) {
  Tensor src({1, 2, 2, 1}, DType::F32), dst({1, 1, 1, 1}, DType::F32);
  for (size_t at = 0; at < 4; ++at) {
    src.values = {1, 2, 3, 4};
    src.values[at] = NAN;
    fb::PoolT op = poolOp({"", 1, {2, 2}, 1, {2, 2}, {2, 2}, {0, 0}, {0, 0}}, fb::PoolKind::MaxForward, false);
    op.src = 0;
    op.dst = 1;
    OneStep({&src, &dst}).run(op);
    EXPECT_TRUE(std::isnan(dst.stored()[0])) << at;
  }
}

//===-- Copy and fill ---------------------------------------------------===//

//===-- ScatterAdd ------------------------------------------------------===//

// Every index that is in the result, from the offset on; what is none is left out.
TEST(ScatterAdd, AddsInOrderWhatIsInside) {
  for (DType type : {DType::F32, DType::F64})
    for (int64_t outer : {1, 3})
      for (int threads : {1, 2}) {
        const int64_t count = 700, inner = 131, size = 10, first = 3;
        Tensor updates({outer, count, inner}, type, 5), dst({outer, size, inner}, type);
        Tensor indices({count}, DType::I32), offset({1}, DType::I64);
        std::vector<double> expected(static_cast<size_t>(dst.size()));
        for (int64_t j = 0; j < count; ++j) {
          int64_t index = j * 7 % 19 - 2; // -2 to 16: 3 to 12 are inside
          indices.values[static_cast<size_t>(j)] = static_cast<double>(index);
          for (int64_t o = 0; o < outer && index >= first && index < first + size; ++o)
            for (int64_t i = 0; i < inner; ++i)
              expected[static_cast<size_t>((o * size + index - first) * inner + i)] +=
                  updates.values[static_cast<size_t>((o * count + j) * inner + i)];
        }
        offset.values[0] = static_cast<double>(first);
        fb::ScatterAddT op;
        op.indices = 0, op.updates = 1, op.dst = 2, op.offset = 3;
        op.outer = static_cast<uint64_t>(outer);
        op.count = count, op.inner = inner, op.size = size;
        OneStep({&indices, &updates, &dst, &offset}).run(std::move(op), threads);
        expectNear(dst.stored(), expected, toleranceOf(type));
      }
}

TEST(Fill, InEveryFloatingType) {
  for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
    Tensor dst({3, 5}, type);
    fb::FillT op;
    op.value = 1.5;
    OneStep({&dst}).run(op);
    EXPECT_EQ(dst.stored(), std::vector<double>(15, 1.5));
    op.value = 0;
    OneStep({&dst}).run(op);
    EXPECT_EQ(dst.stored(), std::vector<double>(15, 0.0));
  }
}

TEST(CpuDevice, NamesAnActionThatItLacks) {
  fb::PlanT plan;
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.world_size = 1;
  auto artifact = loadBytes(*finishPlan(std::move(plan)));
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  auto device = CpuDevice::create(**artifact, 1);
  ASSERT_TRUE(device.ok()) << device.status();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::CreateAttention(builder));
  auto op = (*device)->prepare(*flatbuffers::GetRoot<fb::Attention>(builder.GetBufferPointer()), {});
  EXPECT_EQ(op.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(op.status().message(), "devices of the kind 'cpu' have no action 'attention'; compile the model again for "
                                   "this target");
}
} // namespace
