// What a plan says of the values that it checks.
#include "SamplePlan.h"

#include "runtime/artifact/Numerics.h"
#include "runtime/artifact/Reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::ContainsRegex;

namespace {
std::vector<CheckedValue> twoValues() {
  return {{"dgc.log at model.mlir:3:8", "the loss", "f32", {}, 7, 7, {}, false},
          {"dgc.dot_general at model.mlir:4:8", "", "bf16", {16, 4}, 12, 9, {0, 8}, true}};
}

TEST(Numerics, TextIsReadAsItIsWritten) {
  const std::optional<std::vector<CheckedValue>> read = readChecks(describeChecks(twoValues()));
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ(describeChecks(*read), describeChecks(twoValues()));
  EXPECT_EQ((*read)[1].shape, (std::vector<int64_t>{16, 4}));
  EXPECT_EQ((*read)[1].loops, (std::vector<int64_t>{0, 8}));
  EXPECT_EQ((*read)[1].order, 12);
  EXPECT_EQ((*read)[1].scope, 9);
  EXPECT_TRUE((*read)[1].isLeast && !(*read)[0].isLeast);
  EXPECT_EQ((*read)[0].what, "the loss");
  EXPECT_TRUE(readChecks("") && readChecks("")->empty());
}

TEST(Numerics, OtherTextIsNotRead) {
  const std::string good = "all\t1\t1\tf32\t4x2\t\tdgc.log\t\n";
  ASSERT_TRUE(readChecks(good));
  for (const char *bad :
       {"loss", "all\t1\t1\tf32\t4x2\t\tdgc.log\t", "some\t1\t1\tf32\t4x2\t\tdgc.log\t\n",
        "all\t1\t1\tf32\t4x\t\tdgc.log\t\n", "all\t-1\t1\tf32\t4\t\tdgc.log\t\n", "all\t1\tx\tf32\t4\t\tdgc.log\t\n",
        "all\t1\t1\tf32\t4\t\tdgc.log\n", "all\t1\t1\tf32\t99999999999999999999\t\tdgc.log\t\n", "\n"})
    EXPECT_FALSE(readChecks(bad)) << bad;
}

/// What is said of the sample with such an output, in a buffer of this type of its own.
std::string messageOf(const std::string &over, const std::vector<int64_t> &shape, fb::DType dtype) {
  fb::PlanT plan = samplePlan();
  fb::ProgramT &program = *plan.programs[0];
  plan.private_bytes = 1 << 20;
  program.buffers.push_back(std::make_unique<fb::BufferT>());
  program.buffers.back()->offset = 1 << 19;
  program.buffers.back()->dtype = dtype;
  program.buffers.back()->shape = shape;
  program.outputs.push_back(std::make_unique<fb::OutputT>());
  fb::OutputT &output = *program.outputs.back();
  output.name = kNumericsOutput;
  output.role = fb::OutputRole::Prediction;
  output.buffer = static_cast<uint32_t>(program.buffers.size() - 1);
  output.global_shape = shape;
  output.over = over;
  return std::string(loadBytes(*finishPlan(std::move(plan))).status().message());
}

TEST(Numerics, APlanHasARowForEachValue) {
  const std::string text = describeChecks(twoValues());
  EXPECT_EQ(messageOf(text, {2, 3}, fb::DType::I64), "");
  EXPECT_THAT(messageOf(text, {3, 3}, fb::DType::I64), ContainsRegex("'check_numerics': it tells of 2 values"));
  EXPECT_THAT(messageOf(text, {2, 3}, fb::DType::F64), ContainsRegex("'check_numerics': it tells of 2 values"));
  EXPECT_THAT(messageOf("loss", {2, 3}, fb::DType::I64),
              ContainsRegex("'check_numerics': what it checks cannot be read"));
}
} // namespace
