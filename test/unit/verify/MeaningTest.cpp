// The meanings of the other actions: in floating point, against the CPU device or loops.
#include "test/unit/verify/MeaningRun.h"

using namespace dgc;
using namespace dgc::verify;
using namespace dgc::verify::test;

namespace {
//===-- Memory ----------------------------------------------------------===//

TEST(MeaningOfCopy, OfEveryType) {
  for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I32, DType::I64}) {
    Tensor from({3, 5}, type, 1), to({15}, type);
    std::vector<Memory> buffers{Memory(from), Memory(to)};
    fb::CopyT op;
    op.dst = 1;
    runMeaning(meaningFor(buffers, op), buffers);
    EXPECT_EQ(buffers[0].bytes, buffers[1].bytes);
  }
}

TEST(MeaningOfCopy, BetweenTypes) {
  fb::CopyT op;
  op.dst = 1;
  Tensor from({4}, DType::F32, 1);
  std::vector<Memory> buffers{Memory(from), Memory(DType::I32, {4})};
  runMeaning(meaningFor(buffers, op), buffers);
  EXPECT_EQ(buffers[0].bytes, buffers[1].bytes);
  buffers = {Memory(DType::I1, {3}), Memory(DType::U8, {3})};
  buffers[0].bytes[1] = std::byte{1};
  runMeaning(meaningFor(buffers, op), buffers);
  EXPECT_EQ(buffers[0].bytes, buffers[1].bytes);
  OneStepProgram program({Memory(DType::F32, {4}), Memory(DType::F64, {2})}, op);
  absl::StatusOr<Meaning> meaning = meaningOf(program.program(), program.step());
  EXPECT_EQ(meaning.status().message(), "a copy of f32 to f64, which have other sizes, has no meaning");
}

TEST(MeaningOfFill, InEveryType) {
  for (int i = 0; i < rt::numDTypes; ++i)
    for (double value : {0.0, 1.5, -3.0, 1e30}) {
      const auto type = static_cast<DType>(i);
      SCOPED_TRACE(::testing::Message() << nameOf(type) << " " << value);
      std::vector<Memory> buffers{Memory(type, {2, 3})};
      fb::FillT op;
      op.value = value;
      Memory expected = buffers[0];
      for (int64_t at = 0; at < 6; ++at)
        rt::storeElement(type, expected.bytes.data(), at, value);
      runMeaning(meaningFor(buffers, op), buffers);
      EXPECT_EQ(buffers[0].bytes, expected.bytes);
    }
}

TEST(MeaningOfScatterAdd, AddsWhatIsInside) {
  for (DType type : {DType::F32, DType::F64})
    for (DType indexType : {DType::I32, DType::I64})
      for (bool withOffset : {false, true}) {
        const int64_t outer = 3, count = 40, inner = 5, size = 10;
        Tensor indices({count}, indexType), updates({outer, count, inner}, type, 5), dst({outer, size, inner}, type),
            offset({1}, DType::I64);
        for (int64_t j = 0; j < count; ++j)
          indices.values[static_cast<size_t>(j)] = static_cast<double>(j * 7 % 19 - 2);
        offset.values[0] = 3;
        fb::ScatterAddT op;
        op.indices = 0, op.updates = 1, op.dst = 2;
        op.offset = withOffset ? 3 : -1;
        op.outer = outer, op.count = count, op.inner = inner, op.size = size;
        expectAsOnDevice(std::move(op), {&indices, &updates, &dst, &offset}, toleranceOf(type));
      }
}

// 200 as a byte is no negative number.
TEST(MeaningOfScatterAdd, UnsignedIndices) {
  std::vector<Memory> buffers{Memory(DType::U8, {2}), Memory(DType::F32, {2}), Memory(DType::F32, {201})};
  buffers[0].bytes = {std::byte{200}, std::byte{7}};
  rt::storeElement(DType::F32, buffers[1].bytes.data(), 0, 2.5);
  rt::storeElement(DType::F32, buffers[1].bytes.data(), 1, -1);
  fb::ScatterAddT op;
  op.updates = 1, op.dst = 2;
  op.outer = 1, op.count = 2, op.inner = 1, op.size = 201;
  runMeaning(meaningFor(buffers, op), buffers);
  std::vector<double> expected(201);
  expected[200] = 2.5;
  expected[7] = -1;
  EXPECT_EQ(buffers[2].values(), expected);
}

TEST(MeaningOfUpdateSlice, ReplacesTheSlice) {
  for (DType type : {DType::F32, DType::F64})
    for (DType startType : {DType::I32, DType::I64, DType::U8})
      for (double start : {0, 2, 4, 100}) {
        Tensor src({3, 6, 5}, type, 5), update({3, 2, 5}, type, 7), at({1}, startType), dst({3, 6, 5}, type);
        at.values[0] = start;
        fb::UpdateSliceT op;
        op.src = 0, op.update = 1, op.start = 2, op.dst = 3;
        op.outer = 3, op.size = 6, op.extent = 2, op.inner = 5;
        expectAsOnDevice(std::move(op), {&src, &update, &at, &dst}, toleranceOf(type));
      }
}

//===-- Attention -------------------------------------------------------===//

/// In f64, with gradients of the weights by the rule of softmax.
class PlainAttention {
public:
  PlainAttention(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &dy, int64_t heads, bool causal,
                 double scale)
      : batch(q.shape[0]), to(q.shape[1]), from(k.shape[1]), heads(heads), d(q.shape[2] / heads), e(v.shape[2] / heads),
        y(dy.values.size()), logSum(static_cast<size_t>(batch * heads * to)), dq(q.values.size()), dk(k.values.size()),
        dv(v.values.size()) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = 0; t < to; ++t)
          row(q, k, v, dy, b, h, t, causal ? t + 1 : from, scale);
  }

  int64_t batch, to, from, heads, d, e;
  std::vector<double> y, logSum, dq, dk, dv;

private:
  size_t at(int64_t b, int64_t place, int64_t places, int64_t h, int64_t i, int64_t size) const {
    return static_cast<size_t>(((b * places + place) * heads + h) * size + i);
  }
  void row(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &dy, int64_t b, int64_t h, int64_t t,
           int64_t seen, double scale) {
    std::vector<double> w(static_cast<size_t>(seen)), dw(w);
    double total = 0, mean = 0;
    for (int64_t s = 0; s < seen; ++s) {
      auto n = static_cast<size_t>(s);
      for (int64_t i = 0; i < d; ++i)
        w[n] += scale * q.values[at(b, t, to, h, i, d)] * k.values[at(b, s, from, h, i, d)];
      total += w[n] = std::exp(w[n]);
    }
    logSum[static_cast<size_t>((b * heads + h) * to + t)] = std::log(total);
    for (int64_t s = 0; s < seen; ++s) {
      auto n = static_cast<size_t>(s);
      w[n] /= total;
      for (int64_t i = 0; i < e; ++i) {
        y[at(b, t, to, h, i, e)] += w[n] * v.values[at(b, s, from, h, i, e)];
        dv[at(b, s, from, h, i, e)] += w[n] * dy.values[at(b, t, to, h, i, e)];
        dw[n] += dy.values[at(b, t, to, h, i, e)] * v.values[at(b, s, from, h, i, e)];
      }
      mean += w[n] * dw[n];
    }
    for (int64_t s = 0; s < seen; ++s)
      for (int64_t i = 0; i < d; ++i) {
        const double ds = w[static_cast<size_t>(s)] * (dw[static_cast<size_t>(s)] - mean) * scale;
        dq[at(b, t, to, h, i, d)] += ds * k.values[at(b, s, from, h, i, d)];
        dk[at(b, s, from, h, i, d)] += ds * q.values[at(b, t, to, h, i, d)];
      }
  }
};

TEST(MeaningOfAttention, ForwardAndBackward) {
  for (DType type : {DType::F16, DType::BF16})
    for (bool causal : {false, true}) {
      SCOPED_TRACE(::testing::Message() << nameOf(type) << (causal ? " causal" : ""));
      const int64_t B = 2, T = 5, S = causal ? 5 : 7, H = 3, D = 4, E = 2;
      Tensor q({B, T, H * D}, type, 1), k({B, S, H * D}, type, 2), v({B, S, H * E}, type, 3), y({B, T, H * E}, type),
          logSum({B, H, T}, DType::F32), dy({B, T, H * E}, type, 4), dq(q.shape, type), dk(k.shape, type),
          dv(v.shape, type);
      const PlainAttention plain(q, k, v, dy, H, causal, 0.625);
      fb::AttentionT op;
      op.query = 0, op.key = 1, op.value = 2, op.result = 3, op.log_sum = 4;
      op.heads = H, op.causal = causal, op.scale = 0.625;
      std::vector<Memory> buffers;
      for (Tensor *each : {&q, &k, &v, &y, &logSum, &dy, &dq, &dk, &dv})
        buffers.emplace_back(*each);
      runMeaning(meaningFor(buffers, op), buffers);
      const double tolerance = toleranceOf(type) / 2;
      expectNear(buffers[3].values(), plain.y, tolerance);
      expectNear(buffers[4].values(), plain.logSum, 1e-5);
      op.backward = true;
      op.result_gradient = 5, op.query_gradient = 6, op.key_gradient = 7, op.value_gradient = 8;
      runMeaning(meaningFor(buffers, op), buffers);
      expectNear(buffers[6].values(), plain.dq, tolerance);
      expectNear(buffers[7].values(), plain.dk, tolerance);
      expectNear(buffers[8].values(), plain.dv, tolerance);
    }
}

//===-- What is no library call -----------------------------------------===//

TEST(Meaning, OthersHaveNone) {
  auto codeOf = [](auto action) {
    OneStepProgram program({Memory(DType::F32, {4})}, std::move(action));
    return meaningOf(program.program(), program.step()).status().code();
  };
  EXPECT_EQ(codeOf(fb::KernelCallT()), absl::StatusCode::kInternal);
  EXPECT_EQ(codeOf(fb::CollectiveT()), absl::StatusCode::kInternal);
  EXPECT_EQ(codeOf(fb::SendT()), absl::StatusCode::kInternal);
  EXPECT_EQ(codeOf(fb::ReceiveT()), absl::StatusCode::kInternal);
}
} // namespace
