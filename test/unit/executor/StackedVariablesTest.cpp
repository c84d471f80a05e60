// Stacked variables have, part by part, the values that separate variables have.
#include "runtime/executor/RunOnce.h"

#include "test/unit/artifact/StackedPlan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::HasSubstr;

namespace {
/// A program that does nothing, for two workers; a variable [2, 3, 5, 32] that is stacked along two dimensions, of which
/// each part [5, 32] is cut as `axes` say, and a stored one [3, 16].
fb::PlanT planOf(fb::InitKind init, const std::vector<std::vector<uint32_t>> &axes) {
  fb::PlanT plan = samplePlan();
  plan.kernels.clear();
  plan.object_section = -1;
  plan.programs.clear();
  plan.programs.push_back(std::make_unique<fb::ProgramT>());
  plan.programs[0]->name = "main";
  addInitialSection(plan, 20, -3.0F);

  const int64_t rows = axes[0].empty() ? 5 : 3, columns = axes[1].empty() ? 32 : 16;
  fb::VariableT &w = addVariable(plan, "layer.*.w.*", {2, 3, 5, 32}, {2, 3, rows, columns});
  w.init = init;
  w.a = 0.5;
  w.b = 2;
  w.file = init == fb::InitKind::File ? "w.npy" : "";
  w.rng_id = 9;
  w.rng_strides = {100, 7};
  w.sharding = sharding({{}, {}, axes[0], axes[1]});
  fb::VariableT &s = addVariable(plan, "s.*", {3, 16}, {3, 16});
  s.init = fb::InitKind::Stored;
  s.stored = 8;
  s.rng_strides = {1};
  return plan;
}

absl::StatusOr<RunOnceResult> run(fb::PlanT plan, NamedArrays variables = {}) {
  RunOnceOptions options;
  options.steps = 0;
  options.seed = 7;
  options.variables = std::move(variables);
  return runOnce(*finishPlan(std::move(plan)), {}, options);
}

void expectSame(const NamedArrays &actual, const NamedArrays &expected) {
  EXPECT_EQ(actual.size(), expected.size());
  for (const auto &[name, array] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_EQ(actual.at(name).shape, array.shape) << name;
    EXPECT_EQ(actual.at(name).bytes, array.bytes) << name;
  }
}

const std::vector<std::vector<uint32_t>> whole = {{}, {}}, rows = {{0}, {}}, columns = {{}, {0}};

TEST(StackedVariables, BeginAsSeparateOnes) {
  using enum fb::InitKind;
  for (const auto &axes : {whole, rows, columns})
    for (fb::InitKind init : {Zeros, Constant, Uniform, Normal, TruncatedNormal, GlorotUniform, HeNormal}) {
      SCOPED_TRACE(fb::EnumNameInitKind(init));
      auto stacked = run(planOf(init, axes)), separate = run(unstacked(planOf(init, axes)));
      ASSERT_TRUE(stacked.ok()) << stacked.status();
      ASSERT_TRUE(separate.ok()) << separate.status();
      expectSame(stacked->variables, separate->variables);
      EXPECT_EQ(stacked->variables.size(), 1u + 6u + 3u);
      const HostArray &first = stacked->variables.at("layer.0.w.0"), &last = stacked->variables.at("layer.1.w.2");
      EXPECT_EQ(first.shape, (std::vector<int64_t>{5, 32}));
      EXPECT_EQ(first.bytes == last.bytes, init == Zeros || init == Constant);
      std::vector<float> stored(16);
      std::iota(stored.begin(), stored.end(), -1.0F);
      for (const char *name : {"s.0", "s.1", "s.2"})
        EXPECT_EQ(stacked->variables.at(name).as<float>(), stored);
    }
}

TEST(StackedVariables, AreGivenByPart) {
  auto array = [](float from) {
    std::vector<float> values(160);
    std::iota(values.begin(), values.end(), from);
    return HostArray::of({5, 32}, values);
  };
  for (const auto &axes : {whole, rows, columns}) {
    NamedArrays given;
    for (const char *name : {"layer.0.w.0", "layer.0.w.1", "layer.0.w.2", "layer.1.w.0", "layer.1.w.1"})
      given[name] = array(100 * static_cast<float>(given.size()));
    // What would be read from a file is asked for part by part.
    absl::Status s = run(planOf(fb::InitKind::File, axes), given).status();
    EXPECT_THAT(std::string(s.message()),
                HasSubstr("variable 'layer.1.w.2' from file 'w.npy': its value is not given"));
    given["layer.1.w.2"] = array(-5);
    for (fb::InitKind init : {fb::InitKind::File, fb::InitKind::Uniform}) {
      auto result = run(planOf(init, axes), given);
      ASSERT_TRUE(result.ok()) << result.status();
      for (const auto &[name, values] : given)
        EXPECT_EQ(result->variables.at(name).bytes, values.bytes) << name;
    }
    s = run(planOf(fb::InitKind::Uniform, axes), {{"layer.*.w.*", array(0)}}).status();
    EXPECT_THAT(std::string(s.message()), HasSubstr("the plan has no variable 'layer.*.w.*'"));
    s = run(planOf(fb::InitKind::Uniform, axes), {{"layer.1.w.1", HostArray::of({160}, array(0).as<float>())}})
            .status();
    EXPECT_THAT(std::string(s.message()), HasSubstr("'layer.1.w.1' must be f32 [5x32]"));
  }
}
} // namespace
