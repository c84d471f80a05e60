// The parts of stacked variables: their names, shapes and keys, and what the reader refuses.
#include "StackedPlan.h"

#include "runtime/artifact/Reader.h"
#include "runtime/artifact/VariableParts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;

namespace {
struct Parts {
  std::vector<std::string> names, beginsAs;
  std::vector<uint64_t> rngIds;
  std::vector<int64_t> shape; // the same of all
  uint64_t count;
};
Parts partsIn(fb::PlanT plan) {
  auto artifact = loadBytes(*finishPlan(std::move(plan)));
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  if (!artifact.ok())
    return {};
  const fb::Variable &variable = *(*artifact)->plan().variables()->Get(0);
  Parts parts;
  parts.count = countParts(variable);
  parts.shape = partsOf(variable).front().shape;
  for (const VariablePart &part : partsOf(variable)) {
    parts.names.push_back(part.name);
    parts.beginsAs.push_back(part.beginsAs);
    parts.rngIds.push_back(part.rngId);
    EXPECT_EQ(part.shape, parts.shape);
    EXPECT_TRUE(hasVariable((*artifact)->plan(), part.name));
  }
  EXPECT_EQ(hasVariable((*artifact)->plan(), variable.name()->string_view()), parts.count == 1);
  EXPECT_FALSE(hasVariable((*artifact)->plan(), "w.4"));
  return parts;
}

TEST(StackedVariables, OneThatIsNotIsItsOwnPart) {
  fb::PlanT plan = samplePlan();
  plan.variables[0]->rng_id = 2;
  plan.variables[0]->name = "a*";
  Parts parts = partsIn(std::move(plan));
  EXPECT_THAT(parts.names, ElementsAre("a*"));
  EXPECT_THAT(parts.beginsAs, ElementsAre(""));
  EXPECT_THAT(parts.rngIds, ElementsAre(2));
  EXPECT_THAT(parts.shape, ElementsAre(4, 4));
  EXPECT_EQ(parts.count, 1u);
}

TEST(StackedVariables, AlongOneDimension) {
  Parts parts = partsIn(stackedPlan());
  EXPECT_THAT(parts.names, ElementsAre("w.0", "w.1", "w.2", "w.3"));
  EXPECT_THAT(parts.rngIds, ElementsAre(2, 7, 12, 17));
  EXPECT_THAT(parts.shape, ElementsAre(4));
  EXPECT_EQ(parts.count, 4u);
}

TEST(StackedVariables, AlongTwoDimensionsInTheirOrderInMemory) {
  fb::PlanT plan = stackedPlan(2);
  fb::VariableT &w = *plan.variables[0];
  w.name = "a.*.b.*.w";
  w.global_shape = plan.variable_buffers[0]->shape = {2, 3, 4};
  w.begins_as = "*/*/v";
  addVariable(plan, "*/*/v", {2, 3, 4}, {2, 3, 4}).rng_strides = {1, 1};
  Parts parts = partsIn(std::move(plan));
  EXPECT_THAT(parts.names, ElementsAre("a.0.b.0.w", "a.0.b.1.w", "a.0.b.2.w", "a.1.b.0.w", "a.1.b.1.w", "a.1.b.2.w"));
  EXPECT_THAT(parts.beginsAs, ElementsAre("0/0/v", "0/1/v", "0/2/v", "1/0/v", "1/1/v", "1/2/v"));
  EXPECT_THAT(parts.rngIds, ElementsAre(2, 102, 202, 7, 107, 207));
  EXPECT_THAT(parts.shape, ElementsAre(4));
  EXPECT_EQ(parts.count, 6u);
}

TEST(StackedVariables, PartsMayBeScalars) { EXPECT_TRUE(partsIn(stackedPlan(2)).shape.empty()); }

using P = fb::PlanT &;
struct Violation {
  const char *name;
  std::function<void(P)> change; // of stackedPlan()
  const char *variable;
  const char *what; // a pattern
};
class StackedCheck : public ::testing::TestWithParam<Violation> {};

TEST_P(StackedCheck, IsRefusedByName) {
  fb::PlanT plan = stackedPlan();
  GetParam().change(plan);
  absl::Status s = loadBytes(*finishPlan(std::move(plan))).status();
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(std::string(s.message()),
              ContainsRegex("variable '" + std::string(GetParam().variable) + "': " + GetParam().what));
}

fb::VariableT &w(P p) { return *p.variables[0]; }

const Violation violations[] = {
    {"Rank", [](P p) { w(p).rng_strides = {1, 2, 3}; }, "w.[*]", "it is stacked along 3 dimensions, and has 2"},
    {"NoStar", [](P p) { w(p).name = "w"; }, "w", "it is stacked along 1 dimensions, and 'w' has 0 of"},
    {"Stars", [](P p) { w(p).name = "w.*.*"; }, "w.[*].[*]", "it is stacked along 1 dimensions, and 'w.*' has 2 of"},
    {"StarsOfBeginning", [](P p) { w(p).begins_as = "v"; }, "w.[*]",
     "it is stacked along 1 dimensions, and 'v' has 0 of"},
    {"Empty", [](P p) { w(p).global_shape = {0, 4}; }, "w.[*]",
     "it is stacked along dimension 0, of which the extent is 0"},
    {"Negative", [](P p) { w(p).global_shape = {-1, 4}; }, "w.[*]",
     "it is stacked along dimension 0, of which the extent is -1"},
    {"Parts", [](P p) { w(p).global_shape = {(1 << 20) + 1, 0}; }, "w.[*]", "it is stacked of more than 1048576 parts"},
    {"PartsOverflow",
     [](P p) {
       w(p).name = "w*.*.*";
       w(p).rng_strides = {1, 1, 1};
       w(p).global_shape = {1 << 20, int64_t{1} << 62, 0};
     },
     "w[*].[*].[*]", "it is stacked of more than 1048576 parts"},
    {"Cut",
     [](P p) {
       w(p).sharding = sharding({{0}, {}});
       p.variable_buffers[0]->shape = {2, 4};
     },
     "w.[*]", "it is stacked along dimension 0, which is cut over workers"},
    {"Block", [](P p) { w(p).row_count = 2; }, "w.[*]", "it is stacked, and rows of it are a block"},
    {"BlockInside", [](P p) { w(p).first_row = 2; }, "w.[*]", "it is stacked, and rows of it are a block"},
    {"NameOfAnother", [](P p) { addVariable(p, "w.2", {4}, {4}); }, "w.[*]",
     "its part 'w.2' is a second variable of this name"},
    {"NameOfAnotherPart",
     [](P p) {
       addVariable(p, "w*2", {2, 4}, {2, 4}).rng_strides = {1};
       w(p).name = "w1*";
     },
     "w[*]2", "its part 'w12' is a second variable of this name"},
    {"NameOfItsOwnPart",
     [](P p) {
       w(p).name = "w**";
       w(p).rng_strides = {1, 1};
       w(p).global_shape = p.variable_buffers[0]->shape = {12, 12};
     },
     "w[*][*]", "its part 'w11.*' is a second variable of this name"},
    {"LongNames",
     [](P p) {
       w(p).name = std::string(100, 'w') + "*";
       w(p).global_shape = p.variable_buffers[0]->shape = {1 << 20, 0};
     },
     "w*[*]", "with it, the names of the parts of stacked variables take more than 128 MiB"},
    {"BeginsAsOneThatIsNot",
     [](P p) {
       addVariable(p, "v.*", {4, 4}, {4, 4});
       w(p).begins_as = "v.*";
     },
     "w.[*]", "begins as 'v.*', which is no variable of its type"},
    {"BeginsAsPart",
     [](P p) {
       addVariable(p, "v.*", {4, 4}, {4, 4}).rng_strides = {1};
       addVariable(p, "u", {4}, {4}).begins_as = "v.0";
     },
     "u", "begins as 'v.0', which is no variable of its type"},
    {"Stored",
     [](P p) {
       w(p).init = fb::InitKind::Stored;
       w(p).stored = 241;
       p.initial_section = 1; // 256 bytes, of which a part takes 16
     },
     "w.[*]", "its initial value, bytes 241 . 16, is outside of its section of 256 bytes"},
    {"Sharding", [](P p) { w(p).sharding = sharding({{}}); }, "w.[*]", "the sharding has 1 dimensions, the shape 2"},
};
INSTANTIATE_TEST_SUITE_P(Plan, StackedCheck, ::testing::ValuesIn(violations),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(StackedVariables, StoredElementsAreThoseOfAPart) {
  fb::PlanT plan = stackedPlan();
  w(plan).init = fb::InitKind::Stored;
  w(plan).stored = 240;
  plan.initial_section = 1;
  EXPECT_EQ(partsIn(std::move(plan)).count, 4u);
}

TEST(StackedVariables, BlocksOfOthersShareTheirName) {
  fb::PlanT plan = stackedPlan();
  for (const char *name : {"g0", "g1"}) {
    auto group = std::make_unique<fb::GroupT>();
    group->name = name;
    group->first_rank = static_cast<uint32_t>(plan.groups.size());
    group->rank_count = 1;
    group->private_bytes = plan.private_bytes + 64;
    group->shared_bytes = plan.shared_bytes;
    plan.groups.push_back(std::move(group));
  }
  plan.programs.clear();
  plan.variables[0]->group = 0;
  for (int32_t group : {0, 1}) {
    fb::VariableT &block = addVariable(plan, "b", {4}, {2});
    block.group = group;
    block.first_row = group == 0 ? 0 : 2;
    block.row_count = 2;
    plan.variable_buffers.back()->offset = 128;
  }
  EXPECT_EQ(partsIn(std::move(plan)).count, 4u);
}
} // namespace
