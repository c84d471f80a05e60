// Initial values: their distribution, and that slices hold what the whole has.
#include "runtime/executor/Initialize.h"

#include "runtime/artifact/Reader.h"
#include "runtime/base/Philox.h"
#include "runtime/device/cpu/Parallel.h"
#include "test/unit/artifact/SamplePlan.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
/// A box of the first variable of a plan.
VariableView viewOf(const Artifact &artifact, DType dtype, const Slice &slice, std::span<std::byte> memory) {
  VariableView view;
  view.variable = artifact.plan().variables()->Get(0);
  view.name = view.variable->name()->str();
  view.dtype = dtype;
  view.globalShape = toVector(view.variable->global_shape());
  view.slice = slice;
  view.rngId = view.variable->rng_id();
  view.memory = memory;
  return view;
}

void initialize(const VariableView &view, const Artifact &artifact) {
  auto values = InitialValues::of(view, 7, artifact.initialValues());
  ASSERT_TRUE(values.ok()) << values.status();
  values->write(0, view.memory);
}

/// A variable [n, m] of a serialized plan.
class Variable {
public:
  Variable(fb::InitKind init, double a, double b, int64_t n, int64_t m, fb::DType dtype = fb::DType::F32) {
    fb::PlanT plan = samplePlan();
    plan.programs.clear();
    plan.private_bytes = 1 << 24;
    plan.variable_buffers[0]->shape = {n, m};
    plan.variable_buffers[0]->dtype = dtype;
    fb::VariableT &v = *plan.variables[0];
    v.global_shape = {n, m};
    v.init = init;
    v.a = a;
    v.b = b;
    v.rng_id = 99;
    artifact = *loadBytes(*finishPlan(std::move(plan)));
    shape = {n, m};
  }
  template <typename T> std::vector<T> values(const Slice &slice, DType dtype) const {
    std::vector<T> out(static_cast<size_t>(slice.numElements()));
    const VariableView view = viewOf(*artifact, dtype, slice, std::as_writable_bytes(std::span(out)));
    initialize(view, *artifact);
    return out;
  }
  template <typename T> std::vector<T> all(DType dtype) const { return values<T>(Slice{{0, 0}, shape}, dtype); }
  std::unique_ptr<Artifact> artifact;
  std::vector<int64_t> shape;
};

struct Moments {
  double mean = 0, deviation = 0, low = 1e9, high = -1e9;
};
Moments moments(const std::vector<float> &v) {
  Moments m;
  double squares = 0;
  for (float x : v) {
    m.mean += x;
    squares += double{x} * x;
    m.low = std::min<double>(m.low, x);
    m.high = std::max<double>(m.high, x);
  }
  double n = static_cast<double>(v.size());
  m.mean /= n;
  m.deviation = std::sqrt(squares / n - m.mean * m.mean);
  return m;
}

TEST(Initialize, Distributions) {
  struct Case {
    fb::InitKind init;
    double a, b, mean, deviation, low, high;
  } cases[] = {
      {fb::InitKind::Zeros, 0, 0, 0, 0, 0, 0},
      {fb::InitKind::Constant, 2.5, 0, 2.5, 0, 2.5, 2.5},
      {fb::InitKind::Uniform, 1, 3, 2, 2 / std::sqrt(12.0), 1, 3},
      {fb::InitKind::Normal, 1, 2, 1, 2, -99, 99},
      {fb::InitKind::TruncatedNormal, 1, 2, 1, 2 * .8796256610342398, -3, 5},
      {fb::InitKind::GlorotUniform, 100, 50, 0, std::sqrt(2.0 / 150), -std::sqrt(6.0 / 150), std::sqrt(6.0 / 150)},
      {fb::InitKind::GlorotNormal, 100, 50, 0, std::sqrt(2.0 / 150), -2.3 * std::sqrt(2.0 / 150),
       2.3 * std::sqrt(2.0 / 150)},
      {fb::InitKind::HeUniform, 100, 50, 0, std::sqrt(2.0 / 100), -std::sqrt(6.0 / 100), std::sqrt(6.0 / 100)},
      {fb::InitKind::HeNormal, 100, 50, 0, std::sqrt(2.0 / 100), -2.3 * std::sqrt(2.0 / 100),
       2.3 * std::sqrt(2.0 / 100)},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(fb::EnumNameInitKind(c.init));
    Variable v(c.init, c.a, c.b, 250, 400);
    Moments m = moments(v.all<float>(DType::F32));
    EXPECT_NEAR(m.mean, c.mean, 0.02 * (1 + c.deviation));
    EXPECT_NEAR(m.deviation, c.deviation, 0.01 * c.deviation + 1e-6);
    EXPECT_GE(m.low, c.low);
    EXPECT_LE(m.high, c.high);
  }
}

TEST(Initialize, ElementsFollowTheFormula) {
  Variable v(fb::InitKind::Uniform, -1, 1, 3, 5);
  std::vector<float> f = v.all<float>(DType::F32);
  Philox philox(7, 99);
  for (size_t e = 0; e < f.size(); ++e)
    EXPECT_EQ(f[e], static_cast<float>(-1 + 2.0 * philox.uniformF32(e)));
  Variable d(fb::InitKind::Uniform, -1, 1, 3, 5, fb::DType::F64);
  std::vector<double> g = d.all<double>(DType::F64);
  for (size_t e = 0; e < g.size(); ++e)
    EXPECT_EQ(g[e], -1 + 2.0 * philox.uniformF64(e));
}

TEST(Initialize, SlicesHoldWhatTheWholeHas) {
  for (fb::InitKind init : {fb::InitKind::Uniform, fb::InitKind::HeNormal}) {
    Variable v(init, 4, 5, 6, 10);
    std::vector<float> whole = v.all<float>(DType::F32);
    std::vector<float> part = v.values<float>(Slice{{2, 5}, {3, 5}}, DType::F32);
    for (size_t r = 0; r < 3; ++r)
      for (size_t c = 0; c < 5; ++c)
        EXPECT_EQ(part[r * 5 + c], whole[(r + 2) * 10 + c + 5]);
  }
}

// Numbers that one thread makes, element by element, are those of several threads and of pieces, in blocks.
TEST(Initialize, ThreadsAndPiecesMakeTheSameBits) {
  constexpr int64_t rows = 301, columns = 257;
  const Philox philox(7, 99);
  struct Case {
    fb::InitKind init;
    std::function<double(uint64_t)> number;
  } cases[] = {{fb::InitKind::Uniform, [&](uint64_t e) { return 0.5 + 1.5 * philox.uniformF32(e); }},
               {fb::InitKind::Normal, [&](uint64_t e) { return 0.5 + 2 * philox.normal(e); }},
               {fb::InitKind::TruncatedNormal, [&](uint64_t e) { return 0.5 + 2 * philox.truncatedNormal(e); }},
               {fb::InitKind::Constant, [](uint64_t) { return 0.5; }},
               {fb::InitKind::Zeros, [](uint64_t) { return 0.0; }}};
  const Slice slices[] = {{{0, 0}, {rows, columns}},
                          {{100, 0}, {101, columns}},
                          {{150, 129}, {151, 128}, {151, 129}}, // the last column of the block is padding
                          {{300, 0}, {1, columns}, {150, columns}}};
  for (const Case &c : cases)
    for (const Slice &slice : slices) {
      SCOPED_TRACE(fb::EnumNameInitKind(c.init));
      Variable v(c.init, 0.5, 2, rows, columns);
      const bool hasPadding = c.init != fb::InitKind::Constant; // which is everywhere
      std::vector<float> expected;
      for (int64_t row = 0; row < slice.extents()[0]; ++row)
        for (int64_t column = 0; column < slice.extents()[1]; ++column) {
          const bool isPadding = hasPadding && (row >= slice.sizes[0] || column >= slice.sizes[1]);
          const int64_t e = (row + slice.offsets[0]) * columns + column + slice.offsets[1];
          expected.push_back(isPadding ? 0.0F : static_cast<float>(c.number(static_cast<uint64_t>(e))));
        }
      for (int threads : {1, 2, 3, 7})
        for (size_t piece : {expected.size(), size_t{10007}, size_t{4096}}) {
          setThreads(threads);
          std::vector<float> actual(expected.size(), -9.0F);
          const auto bytes = std::as_writable_bytes(std::span(actual));
          const VariableView view = viewOf(*v.artifact, DType::F32, slice, bytes);
          auto values = InitialValues::of(view, 7, {});
          ASSERT_TRUE(values.ok());
          for (size_t at = 0; at < bytes.size(); at += 4 * piece)
            values->write(at, bytes.subspan(at, std::min(4 * piece, bytes.size() - at)));
          EXPECT_TRUE(std::memcmp(actual.data(), expected.data(), bytes.size()) == 0)
              << threads << " threads, pieces of " << piece;
        }
      setThreads(1);
    }
}

TEST(Initialize, StoredElementsAreCutAsTheVariableIs) {
  fb::PlanT plan = samplePlan();
  fb::VariableT &v = *plan.variables[0]; // [4, 4]
  v.init = fb::InitKind::Stored;
  v.stored = 8;
  addInitialSection(plan, 18, -2.0F);
  auto artifact = *loadBytes(*finishPlan(std::move(plan)));
  std::vector<float> out(4);
  const VariableView view =
      viewOf(*artifact, DType::F32, Slice{{1, 2}, {2, 2}}, std::as_writable_bytes(std::span(out)));
  initialize(view, *artifact);
  EXPECT_EQ(out, (std::vector<float>{6, 7, 10, 11}));
}

TEST(Initialize, IntegersMustFit) {
  Variable v(fb::InitKind::Constant, 300, 0, 2, 2, fb::DType::I8);
  std::vector<int8_t> out(4);
  const VariableView view =
      viewOf(*v.artifact, DType::I8, Slice{{0, 0}, {2, 2}}, std::as_writable_bytes(std::span(out)));
  absl::Status s = InitialValues::of(view, 7, {}).status();
  EXPECT_EQ(s.message(), "variable 'w': initial value 300 does not fit in i8");
}
} // namespace
