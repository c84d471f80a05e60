// The meanings of convolutions and pools, in floating point, against the CPU device.
#include "test/unit/verify/MeaningRun.h"

using namespace dgc;
using namespace dgc::verify;
using namespace dgc::verify::test;

namespace {
//===-- Convolution -----------------------------------------------------===//

struct ConvCase {
  const char *name;
  int64_t batch, in[2], inChannels, outChannels, window[2], stride[2], low[2], high[2], dilation[2], groups;
};

const ConvCase convCases[] = {
    {"Image", 3, {7, 8}, 1, 6, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
    {"Same", 2, {7, 5}, 4, 3, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"Strided", 2, {9, 7}, 3, 5, {3, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 1}, 1},
    {"StridedWithRest", 1, {10, 9}, 3, 2, {2, 3}, {3, 4}, {0, 1}, {0, 0}, {1, 1}, 1},
    {"StrideAboveWindow", 1, {9, 8}, 2, 3, {1, 2}, {3, 3}, {0, 1}, {0, 1}, {1, 1}, 1},
    {"Dilated", 1, {11, 9}, 4, 6, {3, 3}, {1, 2}, {2, 0}, {1, 2}, {2, 1}, 1},
    {"Grouped", 2, {6, 5}, 6, 9, {3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 1}, 3},
    {"Depthwise", 2, {6, 5}, 8, 8, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, 8},
    {"Pointwise", 2, {4, 5}, 7, 4, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
};

struct ConvTensors {
  ConvTensors(const ConvCase &c, DType type)
      : src({c.batch, c.in[0], c.in[1], c.inChannels}, type, 1),
        weights({c.window[0], c.window[1], c.inChannels / c.groups, c.outChannels}, type, 2),
        dst({c.batch, out(c, 0), out(c, 1), c.outChannels}, type, 3), bias({c.outChannels}, type, 4),
        arg(dst.shape, type, 5) {}
  static int64_t out(const ConvCase &c, int d) {
    return (c.in[d] + c.low[d] + c.high[d] - (c.window[d] - 1) * c.dilation[d] - 1) / c.stride[d] + 1;
  }
  Tensor src, weights, dst, bias, arg;
};

fb::ConvolutionT convolution(const ConvCase &c, fb::ConvKind kind) {
  fb::ConvolutionT op;
  op.kind = kind;
  op.weights = 1;
  op.dst = 2;
  op.groups = c.groups;
  for (int d = 0; d < 2; ++d) {
    op.strides.push_back(c.stride[d]);
    op.pad_low.push_back(c.low[d]);
    op.pad_high.push_back(c.high[d]);
    op.dilation.push_back(c.dilation[d]);
  }
  return op;
}

TEST(MeaningOfConvolution, EveryKindOfEveryCase) {
  for (const ConvCase &c : convCases)
    for (DType type : floatTypes)
      for (fb::ConvKind kind : fb::EnumValuesConvKind()) {
        SCOPED_TRACE(::testing::Message() << c.name << " " << nameOf(type) << " " << fb::EnumNameConvKind(kind));
        ConvTensors t(c, type);
        const fb::ConvolutionT op = convolution(c, kind);
        expectAsOnDevice(op, {&t.src, &t.weights, &t.dst}, toleranceOf(type) * 4);
        expectOneContraction(meaningFor({Memory(t.src), Memory(t.weights), Memory(t.dst)}, op));
      }
}

TEST(MeaningOfConvolution, BiasAndPostOps) {
  for (DType type : floatTypes) {
    ConvTensors t(convCases[2], type);
    fb::ConvolutionT op = convolution(convCases[2], fb::ConvKind::Forward);
    op.bias = 3;
    op.post_ops.push_back(postOp(fb::PostOpKind::Relu));
    op.post_ops.push_back(postOp(fb::PostOpKind::Add, 4));
    op.post_ops.push_back(postOp(fb::PostOpKind::Accumulate));
    expectAsOnDevice(op, {&t.src, &t.weights, &t.dst, &t.bias, &t.arg}, toleranceOf(type) * 4);
  }
}

// Windows of one and three dimensions.
TEST(MeaningOfConvolution, OtherRanks) {
  for (fb::ConvKind kind : fb::EnumValuesConvKind()) {
    Tensor src({2, 6, 3}, DType::F32, 1), weights({3, 3, 4}, DType::F32, 2), dst({2, 4, 4}, DType::F32, 3);
    fb::ConvolutionT op;
    op.kind = kind;
    op.weights = 1, op.dst = 2;
    op.strides = op.dilation = {1};
    op.pad_low = op.pad_high = {0};
    expectAsOnDevice(op, {&src, &weights, &dst}, 1e-4);
    src = Tensor({2, 3, 4, 5, 3}, DType::F32, 4);
    weights = Tensor({2, 1, 3, 3, 2}, DType::F32, 5);
    dst = Tensor({2, 3, 2, 5, 2}, DType::F32, 6);
    op.strides = {1, 2, 1}, op.dilation = {1, 1, 1};
    op.pad_low = {1, 0, 0}, op.pad_high = {0, 0, 2};
    expectAsOnDevice(op, {&src, &weights, &dst}, 1e-4);
  }
}

// The same weights with their outputs first give the same.
TEST(MeaningOfConvolution, WeightsWithOutputsFirst) {
  for (const ConvCase &c : convCases)
    for (fb::ConvKind kind : fb::EnumValuesConvKind()) {
      SCOPED_TRACE(::testing::Message() << c.name << " " << fb::EnumNameConvKind(kind));
      ConvTensors t(c, DType::F32);
      const int64_t out = c.outChannels, inside = t.weights.size() / out;
      Tensor turned({out, c.window[0], c.window[1], c.inChannels / c.groups}, DType::F32);
      auto turn = [&](const std::vector<double> &from) {
        std::vector<double> to(from.size());
        for (int64_t i = 0; i < inside; ++i)
          for (int64_t o = 0; o < out; ++o)
            to[static_cast<size_t>(o * inside + i)] = from[static_cast<size_t>(i * out + o)];
        return to;
      };
      turned.values = turn(t.weights.values);
      std::vector<Memory> plain{Memory(t.src), Memory(t.weights), Memory(t.dst)};
      std::vector<Memory> first{Memory(t.src), Memory(turned), Memory(t.dst)};
      fb::ConvolutionT op = convolution(c, kind);
      runMeaning(meaningFor(plain, op), plain);
      op.weights_out_first = true;
      runMeaning(meaningFor(first, op), first);
      EXPECT_EQ(plain[0].values(), first[0].values());
      EXPECT_EQ(turn(plain[1].values()), first[1].values());
      EXPECT_EQ(plain[2].values(), first[2].values());
    }
}

//===-- Pool ------------------------------------------------------------===//

struct PoolCase {
  const char *name;
  int64_t batch, in[2], channels, window[2], stride[2], low[2], high[2];
};

const PoolCase poolCases[] = {
    {"Tiles", 2, {6, 4}, 5, {2, 2}, {2, 2}, {0, 0}, {0, 0}},   {"Rest", 3, {7, 5}, 3, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
    {"Overlap", 2, {7, 6}, 4, {3, 2}, {1, 2}, {0, 0}, {0, 0}}, {"Padded", 2, {5, 6}, 4, {3, 3}, {2, 2}, {1, 2}, {1, 0}},
    {"Apart", 1, {9, 8}, 2, {2, 2}, {3, 4}, {0, 1}, {0, 0}},
};

fb::PoolT pool(const PoolCase &c, fb::PoolKind kind, bool countPad) {
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

struct PoolTensors {
  /// Few distinct values, so that windows have several maxima.
  PoolTensors(const PoolCase &c, DType type)
      : in({c.batch, c.in[0], c.in[1], c.channels}, type, 1),
        out({c.batch, size(c, 0), size(c, 1), c.channels}, type, 2), indices(out.shape, DType::I32),
        gradient(in.shape, type, 3) {
    for (double &v : in.values)
      v = std::floor(v * 2);
  }
  static int64_t size(const PoolCase &c, int d) {
    return (c.in[d] + c.low[d] + c.high[d] - c.window[d]) / c.stride[d] + 1;
  }
  Tensor in, out, indices, gradient;
};

TEST(MeaningOfPool, Maxima) {
  using K = fb::PoolKind;
  for (const PoolCase &c : poolCases)
    for (DType type : floatTypes)
      for (bool withIndices : {false, true}) {
        SCOPED_TRACE(::testing::Message() << c.name << " " << nameOf(type) << (withIndices ? " with indices" : ""));
        PoolTensors t(c, type);
        fb::PoolT op = pool(c, K::MaxForward, false);
        op.src = 0, op.dst = 1;
        op.indices = withIndices ? 2 : -1;
        expectAsOnDevice(op, {&t.in, &t.out, &t.indices}, 0);
        const int32_t *found = t.indices.as<int32_t>(); // by the device
        t.indices.values.assign(found, found + t.indices.size());
        op = pool(c, K::MaxBackward, false);
        op.src = withIndices ? -1 : 0;
        op.indices = withIndices ? 2 : -1;
        op.diff_dst = 1, op.diff_src = 3;
        expectAsOnDevice(op, {&t.in, &t.out, &t.indices, &t.gradient}, toleranceOf(type));
      }
}

TEST(MeaningOfPool, IndicesOfAByte) {
  PoolTensors t(poolCases[3], DType::F32);
  std::vector<Memory> wide{Memory(t.in), Memory(t.out), Memory(t.indices), Memory(t.gradient)}, narrow = wide;
  narrow[2] = Memory(DType::U8, t.indices.shape);
  fb::PoolT forward = pool(poolCases[3], fb::PoolKind::MaxForward, false), backward = forward;
  forward.src = 0, forward.dst = 1, forward.indices = 2;
  backward.kind = fb::PoolKind::MaxBackward;
  backward.diff_dst = 1, backward.indices = 2, backward.diff_src = 3;
  for (std::vector<Memory> *buffers : {&wide, &narrow}) {
    runMeaning(meaningFor(*buffers, forward), *buffers);
    runMeaning(meaningFor(*buffers, backward), *buffers);
  }
  EXPECT_EQ(wide[2].values(), narrow[2].values());
  EXPECT_EQ(wide[3].values(), narrow[3].values());
}

TEST(MeaningOfPool, MaximaOfInfinities) {
  Tensor in({1, 3, 3, 1}, DType::F32), out({1, 2, 2, 1}, DType::F32), indices({1, 2, 2, 1}, DType::I32);
  std::fill(in.values.begin(), in.values.end(), -INFINITY);
  const PoolCase c{"", 1, {3, 3}, 1, {2, 2}, {2, 2}, {1, 0}, {0, 1}};
  fb::PoolT op = pool(c, fb::PoolKind::MaxForward, false);
  op.src = 0, op.dst = 1, op.indices = 2;
  std::vector<Memory> buffers{Memory(in), Memory(out), Memory(indices)};
  runMeaning(meaningFor(buffers, op), buffers);
  OneStep({&in, &out, &indices}).run(op);
  const int32_t *found = indices.as<int32_t>();
  EXPECT_EQ(buffers[2].values(), std::vector<double>(found, found + 4));
  EXPECT_EQ(buffers[1].values(), std::vector<double>(4, -INFINITY));
}

TEST(MeaningOfPool, Averages) {
  using K = fb::PoolKind;
  for (const PoolCase &c : poolCases)
    for (DType type : floatTypes)
      for (bool countPad : {false, true}) {
        SCOPED_TRACE(::testing::Message() << c.name << " " << nameOf(type) << (countPad ? " all" : ""));
        PoolTensors t(c, type);
        fb::PoolT op = pool(c, K::AvgForward, countPad);
        op.src = 0, op.dst = 1;
        expectAsOnDevice(op, {&t.in, &t.out}, toleranceOf(type));
        op = pool(c, K::AvgBackward, countPad);
        op.diff_dst = 1, op.diff_src = 0;
        expectAsOnDevice(op, {&t.in, &t.out}, toleranceOf(type));
      }
}
} // namespace
