// Where collectives of NCCL belong: what is chosen without measuring, the file, and which steps are measured.
#include "runtime/device/cuda/Place.h"
#include "runtime/device/cuda/Tuning.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>

using namespace dgc::rt;
using namespace dgc::rt::cuda;
using dgc::rt::test::FakeDisk;
using ::testing::HasSubstr;

namespace {

const char *const kFile = "/plans/m.dgcx.tuning.json";
const KeptPlace kHere{{}, 4, 2, 22809};

KeptPlace kept(int64_t outside, int64_t graph) {
  KeptPlace place = kHere;
  place.times = {outside, graph};
  return place;
}

PlaceWishes wishes(uint8_t asked, bool measures, std::optional<KeptPlace> known = {}) {
  PlaceWishes all;
  all.asked = asked;
  all.measures = measures;
  all.isKept = known.has_value();
  all.kept = known.value_or(KeptPlace());
  return all;
}

TEST(Place, WhatIsAskedForComesFirstThenWhatIsKept) {
  for (bool measures : {false, true}) {
    PlaceChoice choice = choosePlace(wishes(1, measures, kept(2, 1)), kHere);
    EXPECT_EQ(choice.place, Place::Outside);
    EXPECT_FALSE(choice.measures);
    choice = choosePlace(wishes(2, measures, kept(1, 2)), kHere);
    EXPECT_EQ(choice.place, Place::Graph);
    EXPECT_FALSE(choice.measures);
    EXPECT_THAT(choice.why, HasSubstr("DGC_CUDA_COLLECTIVES"));
    choice = choosePlace(wishes(0, measures, kept(455'000, 412'000)), kHere);
    EXPECT_EQ(choice.place, Place::Graph);
    EXPECT_FALSE(choice.measures);
    EXPECT_THAT(choice.why, HasSubstr("in the graph, 412 us a step (outside 455 us)"));
    choice = choosePlace(wishes(0, measures), kHere);
    EXPECT_EQ(choice.place, Place::Outside);
    EXPECT_EQ(choice.measures, measures);
    EXPECT_EQ(choice.warning, "");
  }
  EXPECT_THAT(choosePlace(wishes(0, false), kHere).why, HasSubstr("dgc-run --tune"));
}

TEST(Place, WhatWasMeasuredElsewhereIsIgnored) {
  for (auto change : {+[](KeptPlace &k) { k.nccl = 22707; }, +[](KeptPlace &k) { k.workers = 2; },
                      +[](KeptPlace &k) { k.hosts = 1; }}) {
    KeptPlace other = kept(2, 1);
    change(other);
    PlaceChoice choice = choosePlace(wishes(0, true, other), kHere);
    EXPECT_EQ(choice.place, Place::Outside);
    EXPECT_TRUE(choice.measures);
    EXPECT_THAT(choice.warning, HasSubstr("and here are 4 workers on 2 hosts with NCCL 2.28.9"));
  }
}

TEST(Place, TheFasterOneIsTaken) {
  EXPECT_EQ((PlaceTimes{2, 1}).faster(), Place::Graph);
  EXPECT_EQ((PlaceTimes{1, 2}).faster(), Place::Outside);
  EXPECT_EQ((PlaceTimes{2, 2}).faster(), Place::Outside);
  EXPECT_EQ((PlaceTimes{2, 0}).faster(), Place::Outside); // unknown
  EXPECT_EQ(describe(PlaceTimes{412'400, 455'000}), "outside, 412 us a step (in the graph 455 us)");
}

// Of each kind the same number of steps counts; behind each change those that mix both do not.
TEST(Place, StepsOfBothKindsAreMeasured) {
  PlaceMeasurement measurement;
  EXPECT_FALSE(measurement.times().areKnown());
  std::array<int, 2> counted{};
  for (uint64_t step = 0; step < PlaceMeasurement::kSteps; ++step) {
    Place place = PlaceMeasurement::placeOf(step);
    const bool isFirst = step > 0 && place != PlaceMeasurement::placeOf(step - 1);
    PlaceMeasurement one;
    one.add(step, 1);
    const PlaceTimes times = one.times();
    EXPECT_FALSE(isFirst && times.outside + times.graph > 0) << step;
    counted[0] += times.outside > 0;
    counted[1] += times.graph > 0;
    EXPECT_FALSE(place == Place::Graph ? times.outside : times.graph) << step;
    measurement.add(step, place == Place::Graph ? 100 + static_cast<int64_t>(step) : step == 8 ? 100'000 : 200);
  }
  EXPECT_EQ(counted[0], 12);
  EXPECT_EQ(counted[1], 12);
  EXPECT_EQ(PlaceMeasurement::placeOf(0), Place::Outside);
  EXPECT_EQ(PlaceMeasurement::placeOf(PlaceMeasurement::kSteps - 1), Place::Outside);
  EXPECT_EQ(measurement.times().outside, 200); // one that was late does not matter
  EXPECT_EQ(measurement.times().graph, 126);
}

class PlaceFile : public ::testing::Test {
protected:
  PlaceFile() { EXPECT_TRUE(disk.makeDirectory("/plans").ok()); }
  std::optional<KeptPlace> read(const char *gpu = "GPU", const char *plan = "p1") {
    warning.clear();
    return readPlace(disk, kFile, gpu, plan, warning);
  }
  FakeDisk disk;
  std::string warning;
};

TEST_F(PlaceFile, IsReadAgain) {
  EXPECT_EQ(read(), std::nullopt);
  EXPECT_EQ(warning, "");
  ASSERT_TRUE(writePlace(disk, kFile, "GPU", "p1", kept(5, 3)).ok());
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
  ASSERT_TRUE(writePlace(disk, kFile, "GPU", "p1", kept(5, 3)).ok());
  Tuning products(disk, options, "GPU", "library 1");
  EXPECT_EQ(products.warning(), "");
  products.keep("p", 1);
  ASSERT_TRUE(products.save().ok());
  EXPECT_TRUE(read()) << warning;
  ASSERT_TRUE(writePlace(disk, kFile, "GPU", "p1", kept(7, 8)).ok());
  EXPECT_EQ(read()->times.outside, 7);
  EXPECT_EQ(Tuning(disk, options, "GPU", "library 1").find("p"), 1u);
  // Of another GPU nothing is left.
  ASSERT_TRUE(writePlace(disk, kFile, "GPU 2", "p1", kept(7, 8)).ok());
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
    ASSERT_TRUE(writePlace(disk, kFile, "GPU", "p1", kept(5, 3)).ok());
    EXPECT_TRUE(read()) << text;
  }
}

} // namespace
