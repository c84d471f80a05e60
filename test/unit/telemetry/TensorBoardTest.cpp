// --tensorboard: what is in the event file after which events of a run.
#include "runtime/telemetry/TensorBoard.h"
#include "test/unit/support/FakeDisk.h"
#include "test/unit/telemetry/EventReader.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using dgc::rt::test::readEvents;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

namespace {
class Board : public ::testing::Test {
protected:
  void open(int64_t stepsDone = 0) {
    auto opened =
        TensorBoard::open(disk, clock, "d", [this] { return 1.7e9 + static_cast<double>(clock.now()) * 1e-9; });
    ASSERT_TRUE(opened.ok()) << opened.status();
    board = *std::move(opened);
    ASSERT_TRUE(board->begin(stepsDone, {{{"options", "of the run"}}, ""}).ok());
  }

  /// A step with its loss, of 64 samples in 10 ms.
  absl::Status step(int64_t number, double loss) {
    LogEvent event{"step"};
    event.step = number;
    event.loss = loss;
    event.ms = 10;
    event.samplesPerSecond = 6400;
    return board->add(event);
  }

  absl::Status add(std::string_view name, int64_t step, std::optional<double> loss = std::nullopt,
                   std::span<const Metric> metrics = {}) {
    LogEvent event{name};
    event.step = step;
    event.loss = loss;
    event.metrics = metrics;
    return board->add(event);
  }

  std::string path() { return "d/" + disk.list("d")->back(); }
  /// What the newest file has, without what it begins with.
  std::vector<test::ReadEvent> events() {
    std::vector<test::ReadEvent> all = readEvents(*disk.get(path()));
    EXPECT_GE(all.size(), 3u);
    all.erase(all.begin(), all.begin() + 3);
    return all;
  }
  /// The steps of the points with a tag.
  std::vector<int64_t> stepsOf(const std::string &tag) {
    std::vector<int64_t> steps;
    for (const test::ReadEvent &event : events())
      if (event.scalars.contains(tag))
        steps.push_back(event.step);
    return steps;
  }

  FakeDisk disk;
  FakeClock clock{5_s};
  std::unique_ptr<TensorBoard> board;
};
} // namespace

TEST_F(Board, AFileBeginsWithItsVersionTheStartAndTheOptions) {
  open();
  const auto all = readEvents(*disk.get(path()));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].version, "brain.Event:2");
  EXPECT_EQ(all[0].wallTime, 1.7e9 + 5);
  EXPECT_EQ(all[1].session, 1);
  EXPECT_EQ(all[1].step, 0);
  EXPECT_EQ(all[2].step, 0);
  EXPECT_THAT(all[2].texts, ElementsAre(Pair("options", "of the run")));
}

// The point of the last step of a checkpoint, and those of the epoch and the evaluation behind it, stay.
TEST_F(Board, AFileOfARunThatIsResumedTakesBackWhatComesAfterItsCheckpoint) {
  open();
  ASSERT_TRUE(step(99, 1).ok());
  ASSERT_TRUE(add("evaluate", 100, 2).ok());
  EXPECT_THAT(stepsOf("train/loss"), ElementsAre(100));
  EXPECT_THAT(stepsOf("test/loss"), ElementsAre(100));
  open(100);
  EXPECT_EQ(disk.list("d")->size(), 2u);
  const auto all = readEvents(*disk.get(path()));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].session, 1);
  EXPECT_EQ(all[1].step, 101);
  EXPECT_EQ(all[2].step, 101);
  ASSERT_TRUE(step(100, 1).ok());
  ASSERT_TRUE(add("end", 101).ok());
  EXPECT_THAT(stepsOf("train/loss"), ElementsAre(101));
}

TEST_F(Board, WritesScalarsByTheirNames) {
  open();
  const int64_t vector[] = {2};
  const Metric metrics[] = {{"accuracy", 0.5},
                            {"top 5 (é)", 1},
                            {"f1", 0.25, 2.0, dgc::artifact::MetricFunction::SquareRoot},
                            {"classes", 1, std::nullopt, dgc::artifact::MetricFunction::Last, vector},
                            {"classes", 2, std::nullopt, dgc::artifact::MetricFunction::Last, vector},
                            {"loss", 7},
                            {"a/b-c.d_e", 3}};
  LogEvent event{"step"};
  event.step = 0;
  event.loss = 0.1;
  event.metrics = metrics;
  event.ms = 10;
  event.samplesPerSecond = 6400;
  ASSERT_TRUE(board->add(event).ok());
  ASSERT_TRUE(add("epoch", 1, 0.2, metrics).ok());
  ASSERT_TRUE(add("evaluate", 1, std::nullopt, std::span(metrics).first(1)).ok());
  const auto written = events();
  ASSERT_EQ(written.size(), 3u);
  EXPECT_THAT(written[0].scalars,
              UnorderedElementsAre(Pair("train/loss", 0.1f), Pair("train/accuracy", 0.5f), Pair("train/top_5_____", 1),
                                   Pair("train/f1", 0.5f), Pair("train/loss_2", 7), Pair("train/a/b-c.d_e", 3),
                                   Pair("train/samples_per_second", 6400)));
  EXPECT_EQ(written[1].scalars.size(), 6u);
  EXPECT_EQ(written[1].scalars.at("epoch/loss"), 0.2f);
  EXPECT_THAT(written[2].scalars, ElementsAre(Pair("test/accuracy", 0.5f)));
}

TEST_F(Board, NumbersThatAreNotFiniteAndZeroAreThere) {
  open();
  const Metric metrics[] = {{"zero", 0}, {"large", 1e300}};
  ASSERT_TRUE(add("epoch", 1, std::numeric_limits<double>::quiet_NaN(), metrics).ok());
  const auto scalars = events().at(0).scalars;
  EXPECT_TRUE(std::isnan(scalars.at("epoch/loss")));
  EXPECT_EQ(scalars.at("epoch/zero"), 0);
  EXPECT_TRUE(std::isinf(scalars.at("epoch/large")));
}

// Steps of 10 ms: one of ten, and the last one of the epoch, which need not be a tenth.
TEST_F(Board, ThinsStepsOut) {
  open();
  for (int64_t i = 0; i < 25; ++i, clock.advance(10_ms))
    ASSERT_TRUE(step(i, static_cast<double>(i)).ok());
  ASSERT_TRUE(add("epoch", 25, 0.5).ok());
  EXPECT_THAT(stepsOf("train/loss"), ElementsAre(1, 11, 21, 25));
  const auto written = events();
  EXPECT_EQ(written[3].scalars.at("train/loss"), 24);
  EXPECT_EQ(written[3].step, written[4].step);
  EXPECT_DOUBLE_EQ(written[3].wallTime, 1.7e9 + 5.24); // when the step was, not when it was written
  // The one that ends the run, too, whatever ends it.
  ASSERT_TRUE(step(25, 1).ok());
  ASSERT_TRUE(step(26, 1).ok());
  ASSERT_TRUE(add("error", 27).ok());
  EXPECT_THAT(stepsOf("train/loss"), ElementsAre(1, 11, 21, 25, 27));
  ASSERT_TRUE(step(27, 1).ok());
  board.reset();
  EXPECT_THAT(stepsOf("train/loss"), ElementsAre(1, 11, 21, 25, 27, 28));
}

TEST_F(Board, TheRateIsThatOfAllStepsSinceThePointBefore) {
  open();
  LogEvent event{"step"};
  for (auto [number, ms] : {std::pair(0, 10.0), {1, 40.0}, {2, 60.0}, {3, 0.0}}) {
    event.step = number;
    event.ms = ms;
    event.samplesPerSecond = 100 / ms * 1e3;
    ASSERT_TRUE(board->add(event).ok());
    clock.advance(60_ms);
  }
  ASSERT_TRUE(add("end", 4).ok());
  const auto written = events();
  ASSERT_EQ(written.size(), 3u);
  EXPECT_EQ(written[0].scalars.at("train/samples_per_second"), 10000);
  EXPECT_EQ(written[1].scalars.at("train/samples_per_second"), 2000);
  EXPECT_FALSE(written[2].scalars.contains("train/samples_per_second")); // nothing has a rate in no time
}

TEST_F(Board, IsInTheFileWithinASecond) {
  open();
  for (int64_t i = 0; i < 5; ++i, clock.advance(200_ms))
    ASSERT_TRUE(step(i, 1).ok());
  EXPECT_EQ(events().size(), 0u);
  ASSERT_TRUE(step(5, 1).ok());
  EXPECT_EQ(events().size(), 6u);
  // Everything else is there at once; a checkpoint has what led to it.
  clock.advance(200_ms);
  ASSERT_TRUE(step(6, 1).ok());
  ASSERT_TRUE(add("checkpoint", 7).ok());
  EXPECT_EQ(events().size(), 7u);
  ASSERT_TRUE(add("evaluate", 7, 1).ok());
  EXPECT_EQ(events().size(), 8u);
}

TEST_F(Board, AFullDiskIsToldOnceAndForAll) {
  open();
  disk.error = ENOSPC;
  disk.failAt = disk.operations;
  const absl::Status status = add("epoch", 1, 0.5);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--tensorboard: cannot write d/events.out.tfevents.17"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left on device"));
  const size_t size = disk.get(path())->size();
  EXPECT_EQ(add("epoch", 2, 0.5), status);
  board.reset();
  EXPECT_EQ(disk.get(path())->size(), size);
  std::string_view rest;
  EXPECT_EQ(readEvents(*disk.get(path()), &rest).size(), 3u);
  EXPECT_GT(rest.size(), 0u);
}

TEST_F(Board, SaysWhatItCannotMake) {
  disk.error = EACCES;
  disk.failAt = 0;
  auto opened = TensorBoard::open(disk, clock, "d");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().message(), "--tensorboard: cannot create folder d: Permission denied");
}

TEST_F(Board, DescribesTheRunInATable) {
  dgc::artifact::PlanT plan;
  plan.target = std::make_unique<dgc::artifact::TargetT>();
  plan.file_digest = std::make_unique<dgc::artifact::Digest>();
  plan.model = "a`b\n|";
  plan.producer = "dgc 0.1.0";
  plan.world_size = 1;
  plan.global_batch = 8;
  for (auto [name, value] : {std::pair("strategy", "zero3"), {"forbid", ""}}) {
    auto option = std::make_unique<dgc::artifact::CompilerOptionT>();
    option->name = name;
    option->value = value;
    plan.options.push_back(std::move(option));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(dgc::artifact::Plan::Pack(builder, &plan));
  EXPECT_EQ(describeRun(*flatbuffers::GetRoot<dgc::artifact::Plan>(builder.GetBufferPointer()), "3f", 4),
            "| | |\n|---|---|\n"
            "| plan | `a'b\\n|` |\n"
            "| digest | `3f` |\n"
            "| by | `dgc 0.1.0` |\n"
            "| workers | `1 worker, global batch 8` |\n"
            "| seed | `4` |\n"
            "| `strategy` | `zero3` (given) |\n"
            "| `forbid` | `none` (given) |\n");
}

TEST_F(Board, TextsAndTheGraphComeBeforePoints) {
  open();
  ASSERT_TRUE(board->begin(7, {{{"options", "a"}, {"plan", "b"}}, "a graph"}).ok());
  const auto all = events();
  ASSERT_EQ(all.size(), 5u) << "version, start, two texts, graph";
  EXPECT_THAT(all[2].texts, ElementsAre(Pair("options", "a")));
  EXPECT_THAT(all[3].texts, ElementsAre(Pair("plan", "b")));
  EXPECT_EQ(all[4].graph, "a graph");
  EXPECT_EQ(all[4].step, 8);
}

TEST_F(Board, HistogramsHaveTheirBuckets) {
  open();
  ASSERT_TRUE(step(4, 0.5).ok());
  std::map<std::string, ValueHistogram> variables;
  for (double value : {-2.0, 0.5, 0.5, 3.0})
    variables["w 1"].add(value);
  variables["empty"] = {};
  ASSERT_TRUE(board->add(5, variables).ok());
  const auto all = events();
  EXPECT_EQ(all.back().step, 5);
  ASSERT_THAT(all.back().histograms, ElementsAre(Pair("variables/w_1", testing::_)));
  const test::ReadHistogram &histogram = all.back().histograms.at("variables/w_1");
  EXPECT_EQ(histogram.min, -2);
  EXPECT_EQ(histogram.max, 3);
  EXPECT_EQ(histogram.num, 4);
  EXPECT_EQ(histogram.sum, 2);
  EXPECT_EQ(histogram.squares, 4 + 0.25 + 0.25 + 9);
  ASSERT_THAT(histogram.buckets, ElementsAre(0, 1, 0, 2, 0, 1)) << "an empty one in front of each";
  ASSERT_EQ(histogram.limits.size(), 6u);
  EXPECT_TRUE(std::is_sorted(histogram.limits.begin(), histogram.limits.end()));
  for (auto [at, value] : {std::pair(1, -2.0), {3, 0.5}, {5, 3.0}}) {
    EXPECT_LE(histogram.limits[static_cast<size_t>(at) - 1], value);
    EXPECT_GE(histogram.limits[static_cast<size_t>(at)], value);
    EXPECT_NEAR(histogram.limits[static_cast<size_t>(at)] / histogram.limits[static_cast<size_t>(at) - 1],
                value > 0 ? 1.1 : 1 / 1.1, 1e-9);
  }
}

TEST(ValueHistogram, PartsAreTheWhole) {
  ValueHistogram whole, first, second;
  for (int i = -500; i <= 500; ++i) {
    const double value = i * i * i * 1e-5;
    whole.add(value);
    (i % 3 ? first : second).add(value);
  }
  for (double value : {1e-300, -1e-300, 1e300, -1e300, 0.0})
    whole.add(value), second.add(value);
  second.add(std::nan(""));
  second.add(INFINITY);
  ValueHistogram read, merged;
  ASSERT_TRUE(read.restore(first.text()));
  merged.merge(read);
  ASSERT_TRUE(read.restore(second.text()));
  merged.merge(read);
  merged.merge({});
  EXPECT_EQ(merged.count, whole.count);
  EXPECT_EQ(merged.notFinite, 2u);
  EXPECT_EQ(merged.least, -1e300);
  EXPECT_EQ(merged.most, 1e300);
  EXPECT_EQ(merged.buckets, whole.buckets);
  uint64_t counted = 0;
  for (const auto &[bucket, count] : merged.buckets)
    counted += count;
  EXPECT_EQ(counted, merged.count);
  for (const char *wrong : {"", "1 2 3", "0x0p+0 0x0p+0 0x0p+0 0x0p+0 1 0 5", "0x0p+0 0x0p+0 0x0p+0 0x0p+0 1 0 5000 1"})
    EXPECT_FALSE(read.restore(wrong)) << wrong;
}

TEST(ValueHistogram, ValuesAreInTheirBuckets) {
  for (double value : {1e-12, 2e-12, 1e-6, 0.1, 1.0, 1.1, 7e19, -1e-12, -3e-12, -1.0, -1e19}) {
    ValueHistogram histogram;
    histogram.add(value);
    const int bucket = histogram.buckets.begin()->first;
    EXPECT_LE(value, ValueHistogram::limit(bucket)) << value;
    EXPECT_GE(value, ValueHistogram::limit(bucket - 1)) << value;
  }
}
