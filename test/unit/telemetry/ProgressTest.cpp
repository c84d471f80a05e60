// The progress line, driven by a clock that a test moves.
#include "runtime/telemetry/Progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;

namespace {
struct ProgressTest : testing::Test {
  FakeClock clock;
  std::string out;
  ProgressOptions options;
  ProgressTest() {
    options.epochs = 2;
    options.stepsPerEpoch = 4;
    options.totalSteps = 8;
    options.width = 200;
  }
  Progress make() {
    return Progress([this](std::string_view text) { out += text; }, clock, options);
  }
  std::string taken() { return std::exchange(out, ""); }
};
} // namespace

static StepReport report(int64_t step, double loss, std::span<const Metric> metrics = {}, int64_t valid = 100) {
  return {0, step, valid, loss, metrics};
}

TEST_F(ProgressTest, PrintsPlainLinesNoMoreThanTheIntervalAllows) {
  Progress progress = make();
  Metric metrics[] = {{"accuracy", 0.25}};
  clock.advance(2_s);
  progress.step(report(0, 2.5, metrics));
  EXPECT_EQ(taken(), "");
  clock.advance(3_s);
  progress.step(report(1, 2.25, metrics));
  // Two steps in 5 s: 40 samples a second; six steps to go, 15 s.
  EXPECT_EQ(taken(), "epoch 1/2  step 2/4  loss 2.2500  accuracy 0.2500  40 "
                     "samples/s  0:15 left\n");
  clock.advance(1_s);
  progress.step(report(2, 2.0, metrics));
  EXPECT_EQ(taken(), "");
}

TEST_F(ProgressTest, EndsAnEpochWithMeansWeightedBySamples) {
  Progress progress = make();
  Metric good[] = {{"accuracy", 1.0}}, bad[] = {{"accuracy", 0.0}};
  clock.advance(1_s);
  progress.step(report(0, 1.0, good, 300));
  clock.advance(1_s);
  progress.step(report(1, 5.0, bad, 100));
  progress.endEpoch();
  EXPECT_EQ(taken(), "epoch 1/2  loss 2.0000  accuracy 0.7500  200 samples/s  2.0 s\n");
  clock.advance(1_s);
  progress.step({1, 0, 100, 3.0, good});
  progress.endEpoch();
  EXPECT_EQ(taken(), "epoch 2/2  loss 3.0000  accuracy 1.0000  100 samples/s  1.0 s\n");
}

// 3 of 4 and 7 of 36 are 10 of 40, whatever the samples are. The perplexity is that of the mean loss, (3 * 1 + 5) / 4.
TEST_F(ProgressTest, EndsAnEpochWithQuotientsOfSums) {
  using dgc::artifact::MetricFunction;
  Progress progress = make();
  auto metrics = [](double right, double found, double loss) {
    return std::vector<Metric>{Metric::quotient("precision", right, found, MetricFunction::Identity),
                               {"perplexity", loss, std::nullopt, MetricFunction::Exponential},
                               Metric::quotient("root", right, found, MetricFunction::SquareRoot)};
  };
  clock.advance(1_s);
  progress.step(report(0, 1.0, metrics(3, 4, 1), 300));
  clock.advance(1_s);
  progress.step(report(1, 5.0, metrics(7, 36, 5), 100));
  progress.endEpoch();
  EXPECT_EQ(taken(),
            "epoch 1/2  loss 2.0000  precision 0.2500  perplexity 7.3891  root 0.5000  200 samples/s  2.0 s\n");
  clock.advance(1_s);
  progress.step({1, 0, 100, 3.0, metrics(0, 0, 0)});
  progress.endEpoch();
  EXPECT_EQ(taken(),
            "epoch 2/2  loss 3.0000  precision 0.0000  perplexity 1.0000  root 0.0000  100 samples/s  1.0 s\n");
}

// What a program has summed up itself is reported as it is, whatever the samples are.
TEST_F(ProgressTest, EndsAnEpochWithLastValues) {
  Progress progress = make();
  auto metrics = [](double value) {
    return std::vector<Metric>{{"auc", value, std::nullopt, dgc::artifact::MetricFunction::Last}};
  };
  clock.advance(1_s);
  progress.step(report(0, 1.0, metrics(0.5), 300));
  clock.advance(1_s);
  progress.step(report(1, 5.0, metrics(0.75), 100));
  progress.endEpoch();
  EXPECT_EQ(taken(), "epoch 1/2  loss 2.0000  auc 0.7500  200 samples/s  2.0 s\n");
}

// The elements of a tensor are means and quotients each by itself; a table of them is behind the line.
TEST_F(ProgressTest, EndsAnEpochWithTables) {
  using dgc::artifact::MetricFunction;
  options.log = "log.json";
  Progress progress = make();
  const int64_t matrix[] = {2, 2}, vector[] = {3}, wide[] = {1, 13};
  auto metrics = [&](double first, double second) {
    std::vector<Metric> made{{"accuracy", first}};
    for (double value : {1.0, 0.0, 12.0, second})
      made.push_back({"confusion", value, std::nullopt, MetricFunction::Last, matrix});
    for (double over : {4.0, 0.0, 4 * second})
      made.push_back(Metric::quotient("rates", first, over, MetricFunction::Identity, vector));
    for (int i = 0; i < 13; ++i)
      made.push_back({"wide", first, std::nullopt, MetricFunction::Identity, wide});
    return made;
  };
  clock.advance(1_s);
  progress.step(report(0, 1.0, metrics(1, 100), 300));
  EXPECT_EQ(taken(), "");
  clock.advance(9_s);
  progress.step(report(1, 5.0, metrics(3, 200), 100)); // tensors are not in the line of a step
  EXPECT_THAT(taken(), testing::HasSubstr("loss 5.0000  accuracy 3.0000  40 samples/s"));
  progress.endEpoch();
  EXPECT_EQ(taken(), "epoch 1/2  loss 2.0000  accuracy 1.5000  40 samples/s  10.0 s\n"
                     "confusion\n    1    0\n   12  200\n"
                     "rates\n  0.5000  0.0000  0.0033\n"
                     "wide [1x13], in log.json\n");
}

TEST_F(ProgressTest, UpdatesOneLineOnATerminal) {
  options.terminal = true;
  Progress progress = make();
  clock.advance(100_ms);
  progress.step(report(0, 2.5));
  EXPECT_EQ(taken(), "\repoch 1/2  step 1/4  loss 2.5000  1.00k samples/s  "
                     "0:01 left\x1b[K");
  clock.advance(50_ms);
  progress.step(report(1, 2.5));
  EXPECT_EQ(taken(), "");
  progress.line("test accuracy 0.5");
  EXPECT_EQ(taken(), "\r\x1b[Ktest accuracy 0.5\n");
  progress.line("again");
  EXPECT_EQ(taken(), "again\n");
  clock.advance(100_ms);
  progress.step(report(2, 2.5));
  taken();
  progress.finish();
  EXPECT_EQ(taken(), "\r\x1b[K");
  progress.finish();
  EXPECT_EQ(taken(), "");
}

TEST_F(ProgressTest, CutsTheLineToTheTerminal) {
  options.terminal = true;
  options.width = 20;
  Progress progress = make();
  clock.advance(1_s);
  progress.step(report(0, 2.5));
  EXPECT_EQ(taken(), "\repoch 1/2  step 1/4\x1b[K");
}

TEST_F(ProgressTest, LeavesOutFieldsThatDoNotFit) {
  options.terminal = true;
  options.width = 31; // the loss would end in column 32
  Progress progress = make();
  clock.advance(1_s);
  progress.step(report(0, 2.5));
  EXPECT_EQ(taken(), "\repoch 1/2  step 1/4\x1b[K");
}

TEST_F(ProgressTest, ShowsALossThatIsNoNumber) {
  Progress progress = make();
  clock.advance(5_s);
  progress.step(report(0, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_THAT(taken(), testing::HasSubstr("loss nan"));
}

TEST(Format, Durations) {
  EXPECT_EQ(formatDuration(0), "0:00");
  EXPECT_EQ(formatDuration(7.4), "0:07");
  EXPECT_EQ(formatDuration(59.6), "1:00");
  EXPECT_EQ(formatDuration(754), "12:34");
  EXPECT_EQ(formatDuration(3 * 3600 + 4 * 60 + 5), "3:04:05");
  EXPECT_EQ(formatDuration(1e9), "-:--");
  EXPECT_EQ(formatDuration(std::numeric_limits<double>::quiet_NaN()), "-:--");
}

TEST(Format, Counts) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(812), "812");
  EXPECT_EQ(formatCount(999.6), "1.00k");
  EXPECT_EQ(formatCount(3120), "3.12k");
  EXPECT_EQ(formatCount(31200), "31.2k");
  EXPECT_EQ(formatCount(312000), "312k");
  EXPECT_EQ(formatCount(999600), "1.00M");
  EXPECT_EQ(formatBytes(512), "512 B");
  EXPECT_EQ(formatBytes(47040016), "47.0 MB");
  EXPECT_EQ(formatBytes(407080), "407 kB");
}
