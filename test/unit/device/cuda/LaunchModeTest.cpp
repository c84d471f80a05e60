// Where collectives of NCCL belong: what is chosen without measuring, the file, and which steps are measured.
#include "runtime/device/cuda/LaunchMode.h"
#include "runtime/device/cuda/Tuning.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>

using namespace dgc::rt;
using namespace dgc::rt::cuda;
using dgc::rt::test::FakeDisk;
using ::testing::HasSubstr;

namespace {

const char *const kFile = "/plans/m.dgcx.tuning.json";
const MeasuredLaunch kHere{{}, 4, 2, 22809};

MeasuredLaunch kept(int64_t outside, int64_t graph) {
  MeasuredLaunch measured = kHere;
  measured.times = {outside, graph};
  return measured;
}

LaunchPreferences preferences(uint8_t asked, bool measures, std::optional<MeasuredLaunch> known = {}) {
  LaunchPreferences all;
  all.asked = asked;
  all.measures = measures;
  all.isKept = known.has_value();
  all.kept = known.value_or(MeasuredLaunch());
  return all;
}

TEST(LaunchMode, WhatIsAskedForComesFirstThenWhatIsKept) {
  for (bool measures : {false, true}) {
    LaunchChoice choice = chooseLaunchMode(preferences(1, measures, kept(2, 1)), kHere);
    EXPECT_EQ(choice.mode, LaunchMode::Outside);
    EXPECT_FALSE(choice.measures);
    choice = chooseLaunchMode(preferences(2, measures, kept(1, 2)), kHere);
    EXPECT_EQ(choice.mode, LaunchMode::Graph);
    EXPECT_FALSE(choice.measures);
    EXPECT_THAT(choice.why, HasSubstr("DGC_CUDA_COLLECTIVES"));
    choice = chooseLaunchMode(preferences(0, measures, kept(455'000, 412'000)), kHere);
    EXPECT_EQ(choice.mode, LaunchMode::Graph);
    EXPECT_FALSE(choice.measures);
    EXPECT_THAT(choice.why, HasSubstr("in the graph, 412 us a step (outside 455 us)"));
    choice = chooseLaunchMode(preferences(0, measures), kHere);
    EXPECT_EQ(choice.mode, LaunchMode::Outside);
    EXPECT_EQ(choice.measures, measures);
    EXPECT_EQ(choice.warning, "");
  }
  EXPECT_THAT(chooseLaunchMode(preferences(0, false), kHere).why, HasSubstr("dgc-run --tune"));
}

TEST(LaunchMode, WhatWasMeasuredElsewhereIsIgnored) {
  for (auto change : {+[](MeasuredLaunch &k) { k.nccl = 22707; }, +[](MeasuredLaunch &k) { k.workers = 2; },
                      +[](MeasuredLaunch &k) { k.hosts = 1; }}) {
    MeasuredLaunch other = kept(2, 1);
    change(other);
    LaunchChoice choice = chooseLaunchMode(preferences(0, true, other), kHere);
    EXPECT_EQ(choice.mode, LaunchMode::Outside);
    EXPECT_TRUE(choice.measures);
    EXPECT_THAT(choice.warning, HasSubstr("and here are 4 workers on 2 hosts with NCCL 2.28.9"));
  }
}

TEST(LaunchMode, TheFasterOneIsTaken) {
  EXPECT_EQ((LaunchTimes{2, 1}).faster(), LaunchMode::Graph);
  EXPECT_EQ((LaunchTimes{1, 2}).faster(), LaunchMode::Outside);
  EXPECT_EQ((LaunchTimes{2, 2}).faster(), LaunchMode::Outside);
  EXPECT_EQ((LaunchTimes{2, 0}).faster(), LaunchMode::Outside); // unknown
  EXPECT_EQ(describe(LaunchTimes{412'400, 455'000}), "outside, 412 us a step (in the graph 455 us)");
}

// Of each kind the same number of steps counts; behind each change those that mix both do not.
TEST(LaunchMode, StepsOfBothKindsAreMeasured) {
  LaunchMeasurement measurement;
  EXPECT_FALSE(measurement.times().areKnown());
  std::array<int, 2> counted{};
  for (uint64_t step = 0; step < LaunchMeasurement::kSteps; ++step) {
    LaunchMode mode = LaunchMeasurement::modeOf(step);
    const bool isFirst = step > 0 && mode != LaunchMeasurement::modeOf(step - 1);
    LaunchMeasurement one;
    one.add(step, 1);
    const LaunchTimes times = one.times();
    EXPECT_FALSE(isFirst && times.outside + times.graph > 0) << step;
    counted[0] += times.outside > 0;
    counted[1] += times.graph > 0;
    EXPECT_FALSE(mode == LaunchMode::Graph ? times.outside : times.graph) << step;
    measurement.add(step, mode == LaunchMode::Graph ? 100 + static_cast<int64_t>(step) : step == 8 ? 100'000 : 200);
  }
  EXPECT_EQ(counted[0], 12);
  EXPECT_EQ(counted[1], 12);
  EXPECT_EQ(LaunchMeasurement::modeOf(0), LaunchMode::Outside);
  EXPECT_EQ(LaunchMeasurement::modeOf(LaunchMeasurement::kSteps - 1), LaunchMode::Outside);
  EXPECT_EQ(measurement.times().outside, 200); // one that was late does not matter
  EXPECT_EQ(measurement.times().graph, 126);
}

class PlaceFile : public ::testing::Test {
protected:
  PlaceFile() { EXPECT_TRUE(disk.makeDirectory("/plans").ok()); }
  std::optional<MeasuredLaunch> read(const char *gpu = "GPU", const char *plan = "p1") {
    warning.clear();
    return readMeasuredLaunch(disk, kFile, gpu, plan, warning);
  }
  FakeDisk disk;
  std::string warning;
};

TEST_F(PlaceFile, IsReadAgain) {
  EXPECT_EQ(read(), std::nullopt);
  EXPECT_EQ(warning, "");
  ASSERT_TRUE(writeMeasuredLaunch(disk, kFile, "GPU", "p1", kept(5, 3)).ok());
  auto again = read();
  ASSERT_TRUE(again) << warning;
  EXPECT_EQ(again->times.outside, 5);
  EXPECT_EQ(again->times.graph, 3);
  EXPECT_EQ(again->workers, kHere.workers);
  EXPECT_EQ(again->hosts, kHere.hosts);
  EXPECT_EQ(again->nccl, kHere.nccl);
  EXPECT_EQ(read("GPU 2"), std::nullopt);
  EXPECT_THAT(warning, HasSubstr("it is for GPU, and here is GPU 2"));
  EXPECT_EQ(read("GPU", "p2"), std::nullopt);
  EXPECT_THAT(warning, HasSubstr("the plan was another one"));
}

TEST_F(PlaceFile, ProductsAndCollectivesAreKeptTogether) {
  TuningOptions options{kFile, true, true};
  ASSERT_TRUE(writeMeasuredLaunch(disk, kFile, "GPU", "p1", kept(5, 3)).ok());
  Tuning products(disk, options, "GPU", "library 1");
  EXPECT_EQ(products.warning(), "");
  products.keep("p", 1);
  ASSERT_TRUE(products.save().ok());
  EXPECT_TRUE(read()) << warning;
  ASSERT_TRUE(writeMeasuredLaunch(disk, kFile, "GPU", "p1", kept(7, 8)).ok());
  EXPECT_EQ(read()->times.outside, 7);
  EXPECT_EQ(Tuning(disk, options, "GPU", "library 1").find("p"), 1u);
  // Of another GPU nothing is left.
  ASSERT_TRUE(writeMeasuredLaunch(disk, kFile, "GPU 2", "p1", kept(7, 8)).ok());
  Tuning other(disk, options, "GPU 2", "library 1");
  EXPECT_EQ(other.find("p"), std::nullopt);
  EXPECT_EQ(other.warning(), "");
  Tuning first(disk, options, "GPU", "library 1");
  first.keep("p", 1);
  ASSERT_TRUE(first.save().ok());
  EXPECT_EQ(read(), std::nullopt);
  EXPECT_EQ(warning, ""); // it says nothing of collectives
}

TEST_F(PlaceFile, DamagedOnesAreIgnored) {
  for (const char *text : {"", "{", "[]", R"({"gpu": 1, "collectives": {}})", R"({"gpu": "GPU", "collectives": 1})",
                           R"({"gpu": "GPU", "collectives": {"plan": "p1", "outside_ns": 5}})",
                           R"({"gpu": "GPU", "collectives": {"plan": 1, "outside_ns": 5, "graph_ns": 3}})",
                           R"({"gpu": "GPU", "collectives": {"plan": "p1", "outside_ns": -5, "graph_ns": 3}})"}) {
    ASSERT_TRUE(writeFileAtomically(disk, kFile, text).ok());
    EXPECT_EQ(read(), std::nullopt) << text;
    EXPECT_NE(warning, "") << text;
    ASSERT_TRUE(writeMeasuredLaunch(disk, kFile, "GPU", "p1", kept(5, 3)).ok());
    EXPECT_TRUE(read()) << text;
  }
}

} // namespace
