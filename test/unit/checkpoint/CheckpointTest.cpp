// Checkpoints: what is saved comes back, at another cut too, and a file that
// does not fit the plan is refused with everything that differs.
#include "runtime/base/ExitCode.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::ElementsAre;
using testing::HasSubstr;

static const float weight[] = {1, 2, 3, 4, 5, 6};
static const float momentum[] = {6, 5, 4, 3, 2, 1};

static std::vector<Tensor> tensors() {
  return {
      {"w", DType::F32, {3, 2}, std::as_bytes(std::span(weight))},
      {"w/momentum", DType::F32, {3, 2}, std::as_bytes(std::span(momentum))}};
}
static std::vector<VariableSpec> plan() {
  return {{"w", DType::F32, {3, 2}, false},
          {"w/momentum", DType::F32, {3, 2}, true}};
}

static std::string messageOf(FakeDisk &disk, std::vector<VariableSpec> plan) {
  auto checkpoint = Checkpoint::open(disk, "d/c", plan);
  if (checkpoint.ok())
    return "no error";
  EXPECT_EQ(exitCodeOf(checkpoint.status()), ExitCode::BadData);
  return std::string(checkpoint.status().message());
}

TEST(Checkpoint, BringsBackWhatWasSaved) {
  FakeDisk disk;
  RunState state{1404, {2, 468}, uint64_t{1} << 63, "ab01", "dgc 0.1.0"};
  ASSERT_TRUE(saveCheckpoint(disk, "d/c", tensors(), state).ok());
  auto checkpoint = Checkpoint::open(disk, "d/c", plan());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->state(), state);
  // A worker that holds the last row.
  int64_t start[] = {2, 0}, size[] = {1, 2};
  float row[2];
  ASSERT_TRUE(checkpoint
                  ->read("w/momentum", start, size,
                         std::as_writable_bytes(std::span(row)))
                  .ok());
  EXPECT_THAT(row, ElementsAre(2, 1));
  EXPECT_FALSE(
      checkpoint
          ->read("other", start, size, std::as_writable_bytes(std::span(row)))
          .ok());
}

TEST(Checkpoint, AcceptsWeightsAlone) {
  FakeDisk disk;
  auto weights = tensors();
  weights.resize(1);
  ASSERT_TRUE(writeSafetensors(disk, "d/c", weights, {}).ok());
  auto checkpoint = Checkpoint::open(disk, "d/c", plan());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_FALSE(checkpoint->state());
  EXPECT_TRUE(checkpoint->has("w"));
  EXPECT_FALSE(checkpoint->has("w/momentum"));
}

TEST(Checkpoint, ListsEverythingThatDiffers) {
  FakeDisk disk;
  ASSERT_TRUE(saveCheckpoint(disk, "d/c", tensors(), {}).ok());
  EXPECT_EQ(messageOf(disk, plan()), "no error");
  EXPECT_EQ(messageOf(disk, {{"w", DType::F32, {2, 3}, false},
                             {"b", DType::F32, {2}, false}}),
            "d/c does not fit the plan; it lacks b; the plan has no "
            "w/momentum; these differ: w (f32 [3x2] for f32 [2x3])");
  EXPECT_EQ(messageOf(disk, {{"w", DType::F64, {3, 2}, false},
                             {"w/momentum", DType::F32, {3, 2}, true}}),
            "d/c does not fit the plan; these differ: w (f32 [3x2] for f64 "
            "[3x2])");
  EXPECT_EQ(messageOf(disk, {{"w", DType::F32, {3, 2}, false},
                             {"w/momentum", DType::F32, {3, 2}, true},
                             {"w/second", DType::F32, {3, 2}, true}}),
            "d/c does not fit the plan; it lacks of the optimizer's state "
            "w/second");
  std::vector<VariableSpec> many;
  for (int i = 0; i < 12; ++i)
    many.push_back({"v" + std::to_string(i), DType::F32, {1}, false});
  EXPECT_THAT(messageOf(disk, many),
              HasSubstr("it lacks v0, v1, v2, v3, v4, v5, v6, v7 and 4 more"));
}

TEST(Checkpoint, RefusesAStateThatIsNoState) {
  FakeDisk disk;
  ASSERT_TRUE(writeSafetensors(disk, "d/c", tensors(),
                               {{"dgc.step", "1"}, {"dgc.epoch", "-1"}})
                  .ok());
  EXPECT_THAT(messageOf(disk, plan()), HasSubstr("are not four numbers"));
}

TEST(Checkpoint, NamesAFileThatIsMissing) {
  FakeDisk disk;
  EXPECT_THAT(messageOf(disk, plan()), HasSubstr("cannot open d/c"));
}
