// The meaning of matrix products, in floating point, against the CPU device; what it lacks against loops.
#include "test/unit/verify/MeaningRun.h"

using namespace dgc;
using namespace dgc::verify;
using namespace dgc::verify::test;
using reference::Opcode;

namespace {
fb::MatmulT matmul(uint64_t batch, uint64_t m, uint64_t n, uint64_t k) {
  fb::MatmulT op;
  op.a = 0, op.b = 1, op.dst = 2;
  op.batch = batch, op.m = m, op.n = n, op.k = k;
  return op;
}

TEST(MeaningOfMatmul, TransposesBiasesAndBatches) {
  for (DType type : floatTypes)
    for (int64_t batch : {1, 3})
      for (int bits = 0; bits < 8; ++bits) {
        SCOPED_TRACE(::testing::Message() << nameOf(type) << " batch " << batch << " case " << bits);
        const int64_t m = 5, n = 7, k = 3;
        const bool transposeA = bits & 1, transposeB = bits & 2;
        Tensor a({batch, transposeA ? k : m, transposeA ? m : k}, type, 1);
        Tensor b({batch, transposeB ? n : k, transposeB ? k : n}, type, 2), dst({batch, m, n}, type),
            bias({n}, type, 3);
        fb::MatmulT op = matmul(static_cast<uint64_t>(batch), m, n, k);
        op.transpose_a = transposeA, op.transpose_b = transposeB;
        op.bias = bits & 4 ? 3 : -1;
        expectAsOnDevice(op, {&a, &b, &dst, &bias}, toleranceOf(type));
      }
}

TEST(MeaningOfMatmul, DimensionsInAnyOrder) {
  for (DType type : floatTypes)
    for (bool withPostOp : {false, true}) {
      const int64_t B = 2, T = 5, S = 6, H = 3, D = 4;
      Tensor q({B, T, H, D}, type, 1), k({B, S, H, D}, type, 2), y({B, T, H, S}, type), bias({S}, type, 3);
      fb::MatmulT op = matmul(B * H, T, S, D);
      op.batch_sizes = {B, H};
      op.a_strides = {T * H * D, D, H * D, 1};
      op.b_strides = {S * H * D, D, 1, H * D};
      op.dst_strides = {T * H * S, S, H * S, 1};
      if (withPostOp) {
        op.bias = 3;
        op.post_ops.push_back(postOp(fb::PostOpKind::Relu));
      }
      expectAsOnDevice(std::move(op), {&q, &k, &y, &bias}, toleranceOf(type));
    }
}

TEST(MeaningOfMatmul, ResultsWithRowsInside) {
  Tensor a({5, 3}, DType::F32, 1), b({3, 7}, DType::F32, 2), y({7, 5}, DType::F32);
  fb::MatmulT op = matmul(1, 5, 7, 3);
  op.a_strides = {3, 1}, op.b_strides = {7, 1}, op.dst_strides = {1, 5};
  expectAsOnDevice(op, {&a, &b, &y}, 1e-5);
}

TEST(MeaningOfMatmul, EveryPostOp) {
  using K = fb::PostOpKind;
  const std::pair<K, int32_t> cases[] = {{K::Relu, -1},    {K::Tanh, -1},      {K::Sigmoid, -1}, {K::GeluTanh, -1},
                                         {K::GeluErf, -1}, {K::Add, 3},        {K::Add, 4},      {K::Multiply, 3},
                                         {K::Multiply, 4}, {K::Accumulate, -1}};
  for (DType type : floatTypes)
    for (auto [kind, arg] : cases)
      for (bool withOthers : {false, true}) {
        SCOPED_TRACE(::testing::Message() << nameOf(type) << " " << fb::EnumNamePostOpKind(kind) << " arg " << arg);
        Tensor a({2, 4, 3}, type, 1), b({2, 3, 6}, type, 2), dst({2, 4, 6}, type, 5), full({2, 4, 6}, type, 3),
            channel({6}, type, 4);
        fb::MatmulT op = matmul(2, 4, 6, 3);
        if (withOthers)
          op.post_ops.push_back(postOp(K::Add, 3));
        op.post_ops.push_back(postOp(kind, arg));
        if (withOthers)
          op.post_ops.push_back(postOp(K::Multiply, 4));
        expectAsOnDevice(op, {&a, &b, &dst, &full, &channel}, type == DType::F32 ? 1e-4 : toleranceOf(type));
      }
}

TEST(MeaningOfMatmul, IsOneContraction) {
  for (DType type : floatTypes) {
    Tensor a({5, 3}, type, 1), b({3, 7}, type, 2), dst({5, 7}, type, 3), bias({7}, type, 4);
    fb::MatmulT op = matmul(1, 5, 7, 3);
    op.bias = 3;
    op.post_ops.push_back(postOp(fb::PostOpKind::GeluTanh));
    op.post_ops.push_back(postOp(fb::PostOpKind::Accumulate));
    expectOneContraction(meaningFor({Memory(a), Memory(b), Memory(dst), Memory(bias)}, op));
  }
}

/// The constants of the formula are those of dgc.gelu, in the type that is computed in.
TEST(MeaningOfMatmul, GeluHasTheConstantsOfTheModel) {
  for (DType type : {DType::F32, DType::F64, DType::BF16}) {
    Memory a(type, {2, 2}), b(type, {2, 2}), dst(type, {2, 2});
    fb::MatmulT op = matmul(1, 2, 2, 2);
    op.post_ops.push_back(postOp(fb::PostOpKind::GeluTanh));
    Meaning meaning = meaningFor({a, b, dst}, op);
    std::vector<double> constants, expected{0.044715, 1, std::sqrt(2 / M_PI), 0.5, 0.5};
    for (const reference::Instruction &each : meaning.kernel.nests.back()->body)
      if (static_cast<Opcode>(each.opcode()) == Opcode::Constant)
        constants.push_back(std::bit_cast<double>(each.immediate()));
    for (double &each : expected)
      each = type == DType::F64 ? each : static_cast<double>(static_cast<float>(each));
    EXPECT_EQ(constants, expected);
  }
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

/// a [m, k] times b [k, n].
std::vector<double> product(const Tensor &a, const Tensor &b) {
  const int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  std::vector<double> result(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        result[static_cast<size_t>(i * n + j)] +=
            a.values[static_cast<size_t>(i * k + l)] * b.values[static_cast<size_t>(l * n + j)];
  return result;
}

std::vector<double> sumOfRows(const std::vector<double> &values, size_t n) {
  std::vector<double> sums(n);
  for (size_t i = 0; i < values.size(); ++i)
    sums[i % n] += values[i];
  return sums;
}

// What a product keeps for the gradient of its post-op is what the post-op of the other one takes.
TEST(MeaningOfMatmul, GradientOfGelu) {
  Tensor a({5, 3}, DType::BF16, 1), b({3, 11}, DType::BF16, 2), dst({5, 11}, DType::BF16), aux({5, 11}, DType::BF16);
  std::vector<Memory> buffers{Memory(a), Memory(b), Memory(dst), Memory(aux)};
  fb::MatmulT op = matmul(1, 5, 11, 3);
  op.post_ops.push_back(postOp(fb::PostOpKind::GeluTanh));
  op.aux = 3;
  runMeaning(meaningFor(buffers, op), buffers);
  std::vector<double> x = product(a, b), y;
  for (double each : x)
    y.push_back(gelu(each));
  expectNear(buffers[3].values(), x, 1e-2);
  expectNear(buffers[2].values(), y, 1e-2);

  buffers.push_back(Memory(DType::BF16, {11}));
  op.aux = -1;
  op.post_ops[0] = postOp(fb::PostOpKind::GeluTanhGrad, 3);
  op.bias_gradient = 4;
  x = buffers[3].values();
  runMeaning(meaningFor(buffers, op), buffers);
  y = product(a, b);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] *= (gelu(x[i] + 1e-4) - gelu(x[i] - 1e-4)) / 2e-4;
  expectNear(buffers[2].values(), y, 1e-2);
  expectNear(buffers[4].values(), sumOfRows(buffers[2].values(), 11), 1e-2);
}

TEST(MeaningOfMatmul, GradientOfReluThroughAMask) {
  for (int64_t n : {5, 8, 27, 131}) {
    Tensor a({4, 3}, DType::F16, 1), b({3, n}, DType::F16, 2), dst({4, n}, DType::F16);
    std::vector<Memory> buffers{Memory(a), Memory(b), Memory(dst), Memory(DType::U8, {4, (n - 1) / 128 * 16 + 16}),
                                Memory(DType::F16, {n})};
    fb::MatmulT op = matmul(1, 4, static_cast<uint64_t>(n), 3);
    op.post_ops.push_back(postOp(fb::PostOpKind::Relu));
    op.aux = 3;
    runMeaning(meaningFor(buffers, op), buffers);
    const std::vector<double> relu = buffers[2].values();
    std::vector<double> x = product(a, b);
    for (double &each : x)
      each = std::max(each, 0.0);
    expectNear(relu, x, 4e-3);

    Tensor gradient({4, 3}, DType::F16, 9);
    buffers[0] = Memory(gradient);
    op.aux = -1;
    op.post_ops[0] = postOp(fb::PostOpKind::ReluGrad, 3);
    op.bias_gradient = 4;
    runMeaning(meaningFor(buffers, op), buffers);
    x = product(gradient, b);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = relu[i] > 0 ? x[i] : 0;
    expectNear(buffers[2].values(), x, 4e-3);
    expectNear(buffers[4].values(), sumOfRows(buffers[2].values(), static_cast<size_t>(n)), 4e-3);
  }
}

TEST(MeaningOfMatmul, SumsOfOperands) {
  Tensor a({3, 5}, DType::F16, 1), b({3, 7}, DType::F16, 2), dst({5, 7}, DType::F16);
  for (fb::MatmulValue of : {fb::MatmulValue::A, fb::MatmulValue::B}) {
    const Tensor &summed = of == fb::MatmulValue::A ? a : b;
    std::vector<Memory> buffers{Memory(a), Memory(b), Memory(dst), Memory(DType::F16, {summed.shape[1]})};
    fb::MatmulT op = matmul(1, 5, 7, 3);
    op.transpose_a = true;
    op.bias_gradient = 3;
    op.bias_gradient_of = of;
    runMeaning(meaningFor(buffers, op), buffers);
    expectNear(buffers[3].values(), sumOfRows(summed.values, static_cast<size_t>(summed.shape[1])), 4e-3);
  }
}
} // namespace
