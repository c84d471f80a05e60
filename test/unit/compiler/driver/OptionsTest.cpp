#include "compiler/driver/CompileOptions.h"
#include "compiler/driver/MeshRange.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "runtime/artifact/Spelling.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dgc {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

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

TEST(Options, AMeshMayHaveSeveralSizes) {
  auto meshes = [](llvm::StringRef text) {
    std::string error, result;
    std::optional<MeshRange> range = MeshRange::parse(text, error);
    if (!range)
      return error;
    EXPECT_EQ(range->text(), text);
    for (const MeshShape &mesh : range->meshes)
      result += mesh.text() + " ";
    return result + (range->isRange ? "range" : "alone");
  };
  EXPECT_EQ(meshes(""), " alone");
  EXPECT_EQ(meshes("data=4,model=2"), "data=4,model=2 alone");
  EXPECT_EQ(meshes("data=2:4"), "data=2 data=3 data=4 range");
  EXPECT_EQ(meshes("data=3:3"), "data=3 range");
  EXPECT_EQ(meshes("stage=2, data = 1:2 ,model=2"), "stage=2,data=1,model=2 stage=2,data=2,model=2 range");
  EXPECT_EQ(meshes("data=1+2+4:6+8"), "data=1 data=2 data=4 data=5 data=6 data=8 range");
  EXPECT_EQ(meshes("data=*"), meshes("data=1:8"));
  const std::string ascend = "sizes are from 1 on and ascend, as in 2:4 or 1+2+4", expected =
                                                                                       "expected MIN:MAX, a list as in "
                                                                                       "1+2+4, or * for 1:8";
  EXPECT_EQ(meshes("data=4:2"), "mesh 'data=4:2': axis 'data': " + ascend);
  EXPECT_EQ(meshes("data=0:2"), "mesh 'data=0:2': axis 'data': " + ascend);
  EXPECT_EQ(meshes("data=1:2+2"), "mesh 'data=1:2+2': axis 'data': " + ascend);
  for (std::string wrong :
       {"data=2:", "data=:2", "data=2:x", "data=2:3:4", "data=2+", "data=2*", "data=2:99999999999999999999"})
    EXPECT_EQ(meshes(wrong), "mesh '" + wrong + "': axis 'data': " + expected);
  EXPECT_EQ(meshes("data=1:1024").substr(0, 14), "data=1 data=2 ");
  for (std::string wrong : {"data=1:1025", "data=1+2:1025", "data=1:9223372036854775807"})
    EXPECT_EQ(meshes(wrong), "mesh '" + wrong + "': axis 'data': at most 1024 sizes go into one artifact");
  EXPECT_EQ(meshes("data=2:4,model=1:2"), "mesh 'data=2:4,model=1:2': only one axis may have several sizes; give the "
                                          "others one, as in data=2:4,model=2");
  EXPECT_THAT(meshes("data=2:4,model"), HasSubstr("expected NAME=NUMBER for each axis"));
  EXPECT_THAT(meshes("=2:4"), HasSubstr("expected NAME=NUMBER for each axis"));
}

TEST(Options, AMeshCanBeTakenFromARange) {
  auto without = [](llvm::StringRef text, size_t index) {
    std::string error;
    return MeshRange::parse(text, error)->without(index);
  };
  EXPECT_EQ(without("data=2:4", 0), "data=3:4");
  EXPECT_EQ(without("data=2:4", 1), "data=2+4");
  EXPECT_EQ(without("data=2:4", 2), "data=2:3");
  EXPECT_EQ(without("stage=2,data=1+2+4:8,model=3", 3), "stage=2,data=1:2+4+6:8,model=3");
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

/// What a plan for an empty module says of itself, a line each.
std::vector<std::string> described(const CompileOptions &options, llvm::StringRef text = "") {
  mlir::MLIRContext context;
  context.loadDialect<dist::DistDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::FailureOr<CompilePlan> plan = planCompilation(*module, options);
  std::vector<std::string> lines;
  EXPECT_TRUE(mlir::succeeded(plan));
  if (mlir::succeeded(plan))
    for (const PlannedOption &option : plan->describe())
      lines.push_back(rt::optionText(option.name, option.value, option.origin));
  return lines;
}

TEST(Options, APlanSaysWhatWasGivenAndWhatWasDecided) {
  CompileOptions options;
  options.target = {"x86-64-v3"};
  options.mesh = mesh("data=2");
  options.strategy = strategies("zero2");
  options.memoryLimit = {1 << 20};
  std::vector<std::string> lines = described(options);
  EXPECT_THAT(lines,
              IsSupersetOf({"target = x86-64-v3 (given)", "mesh = data=2 (given)", "workers = 2 (decided)",
                            "servers = 0 (decided)", "strategy = zero2 (given)", "strategy = data-parallel (decided)",
                            "memory-limit = 1048576 (given)", "links = as on one host (decided)",
                            "attention = expanded (decided)", "precision = f32 (default)", "batch = none (default)"}));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("target-features = x86-64-v3 avx avx2"), EndsWith("(decided)"))));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("worker-threads = "), EndsWith("(decided)"))));
}

TEST(Options, APlanSaysWhichMeshAndServersThereAre) {
  EXPECT_THAT(described({}, "dist.mesh @mesh <data = 4>"),
              IsSupersetOf({"target = cpu (default)", "mesh = data=4 (model)", "workers = 4 (decided)"}));
  CompileOptions options;
  options.target = {"cuda:sm_90"};
  options.threads = {3};
  options.mesh = mesh("data=2");
  options.strategy = strategies("parameter-server=3");
  std::vector<std::string> lines = described(options);
  EXPECT_THAT(lines, IsSupersetOf({"target-features = sm_90 (decided)", "server-target = cpu (decided)",
                                   "mesh = data=2 (given)", "workers = 2 (decided)", "servers = 3 (decided)",
                                   "worker-threads = 3 (given)", "attention = fused (decided)"}));
  EXPECT_THAT(lines, Contains(StartsWith("server-features = ")));
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
