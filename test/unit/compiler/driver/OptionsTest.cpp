#include "compiler/driver/CompileOptions.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dgc {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;

StrategyOptions strategies(llvm::StringRef list) {
  std::string error;
  std::optional<StrategyOptions> parsed = StrategyOptions::parse(list, error);
  EXPECT_TRUE(parsed) << list.str() << ": " << error;
  return parsed.value_or(StrategyOptions());
}

MeshShape mesh(llvm::StringRef text) {
  std::string error;
  return MeshShape::parse(text, error).value();
}

TEST(Strategies, TheTextOfAListIsParsedToTheSameList) {
  for (const char *list :
       {"", "accumulate=4", "zero2", "recompute", "recompute=layer.*+embed", "pipeline=zb-h1", "parameter-server=3",
        "tensor-parallel=w1:1+*.w2:-1,sequence-parallel", "accumulate=2,recompute=a,zero3,data-parallel"})
    EXPECT_EQ(strategies(list).text(), list);
}

TEST(Strategies, AliasesAndTheOrderOfTheListDoNotMatter) {
  EXPECT_EQ(strategies("mirrored,fsdp").text(), "zero3,data-parallel");
  EXPECT_EQ(strategies("data-parallel, accumulate=2").text(), "accumulate=2,data-parallel");
}

TEST(Strategies, CutsMayBeSeparatedByCommas) {
  StrategyOptions options = strategies("tensor-parallel=w1:1,w2:0,data-parallel");
  ASSERT_TRUE(options.tensorParallel);
  ASSERT_EQ(options.tensorParallel->cuts.size(), 2u);
  EXPECT_EQ(options.tensorParallel->cuts[1].name, "w2");
  EXPECT_EQ(options.tensorParallel->cuts[1].dim, 0);
  EXPECT_TRUE(options.dataParallel);
}

TEST(Strategies, WhatIsIncludedIsAdded) {
  std::string error;
  std::optional<StrategyOptions> complete = completeStrategies(strategies("zero1"), mesh("data=2"), false, error);
  ASSERT_TRUE(complete) << error;
  EXPECT_EQ(complete->text(), "zero1,data-parallel");
  // A mesh that nothing distributes over is for the batch, unless the model is annotated.
  EXPECT_EQ(completeStrategies({}, mesh("data=2"), false, error)->text(), "data-parallel");
  EXPECT_EQ(completeStrategies({}, mesh("a=2"), true, error)->text(), "");
}

TEST(Options, NamesOfEnumerationsAreInTheirOrder) {
  auto check = []<class E>(E) {
    for (size_t i = 0; i < std::size(EnumNames<E>::all); ++i) {
      EXPECT_EQ(static_cast<size_t>(EnumNames<E>::all[i].value), i);
      EXPECT_EQ(fromName<E>(nameOf(EnumNames<E>::all[i].value)), EnumNames<E>::all[i].value);
    }
    EXPECT_EQ(fromName<E>("none of them"), std::nullopt);
  };
  check(Phase());
  check(Precision());
  check(AttentionForm());
  check(Epilogues());
  check(PipelineScheduleKind());
  check(DeviceKind());
  check(StageSolver());
  check(FloatKind());
  check(Switch());
}

TEST(Options, TextsThatMeanNothingSayWhatIsExpected) {
  std::string error;
  EXPECT_FALSE(MeshShape::parse("data", error));
  EXPECT_THAT(error, HasSubstr("expected NAME=NUMBER for each axis"));
  EXPECT_FALSE(WeightCuts::parse("w1:x", error));
  EXPECT_THAT(error, HasSubstr("expected PATTERN:DIM"));
  EXPECT_FALSE(WeightCuts::parse("w1:0,,w2:0", error));
  EXPECT_THAT(error, HasSubstr("is empty"));
  EXPECT_FALSE(NamePatterns::parse("a+[", error));
  EXPECT_THAT(error, HasSubstr("'['"));
  EXPECT_FALSE(Count::parse("0", error));
  EXPECT_FALSE(ByteCount::parse("10Gigs", error));
  EXPECT_THAT(error, HasSubstr("8GiB"));
  EXPECT_FALSE(LinkModel::parse("data=1us:1GB/s,data=2us:1GB/s", error));
  EXPECT_THAT(error, HasSubstr("given twice"));
}

TEST(Options, PlacementsAreTheSameFromAFileAndAsText) {
  std::string error;
  auto file = PlacementRules::parseFile("places", "# all\n\tw1*\t /job:worker/task:1 # one\r\n\nhead task:0", error);
  ASSERT_TRUE(file) << error;
  EXPECT_EQ(file->text(), "w1*=/job:worker/task:1,head=task:0");
  EXPECT_EQ(PlacementRules::parse(file->text(), error), file);
  EXPECT_EQ(file->locationOf(file->rules[1]), "places:4");
  EXPECT_EQ(PlacementRules::parse("", error)->rules.size(), 0u);
  for (const char *wrong : {"w1", "w1=", "=task:0", "w1=task:0,", "w[=task:0", "w1=task=0", "w{1,2}=task:0"})
    EXPECT_FALSE(PlacementRules::parse(wrong, error)) << wrong;
  EXPECT_FALSE(PlacementRules::parseFile("places", "w1 task:0\nw2 on task:0", error));
  EXPECT_THAT(error, HasSubstr("places:2: expected a pattern"));
}

TEST(Options, WhatIsNotTheDefaultIsKept) {
  CompileOptions options;
  options.mesh = mesh("data=2");
  options.strategy = strategies("zero2");
  options.memoryLimit = {1 << 20};
  EXPECT_THAT(options.text(/*all=*/false),
              ::testing::ElementsAre(Pair("target", "cpu"), Pair("mesh", "data=2"), Pair("strategy", "zero2"),
                                     Pair("memory-limit", "1048576")));
  EXPECT_GT(options.text(/*all=*/true).size(), 15u);
}

TEST(Targets, UnknownOnesNameWhatThereIs) {
  std::string error;
  EXPECT_FALSE(TargetRegistry::builtin().create("pdp11", error));
  EXPECT_THAT(error, HasSubstr("x86-64-v3"));
  EXPECT_THAT(error, HasSubstr("cuda:sm_90"));
  EXPECT_FALSE(TargetRegistry::builtin().create("cuda:sm_1", error));
  EXPECT_THAT(error, HasSubstr("sm_80"));
  std::unique_ptr<Target> target = TargetRegistry::builtin().create("x86-64-v3", error);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->kind(), "cpu");
}

} // namespace
} // namespace dgc
