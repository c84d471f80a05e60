// Training runs of a small MLP on MNIST, ranks as threads: what is learnt, saved, logged and refused.
#include "runtime/driver/Worker.h"

#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/checkpoint/Safetensors.h"
#include "test/unit/executor/MlpPlan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <filesystem>
#include <unistd.h>

using namespace dgc::rt;
using testing::HasSubstr;

namespace {
class Driver : public ::testing::Test {
protected:
  Driver() : folder(str(::testing::TempDir(), "dgc-driver-", ::getpid())) {
    std::filesystem::create_directories(folder);
    options.data = DGC_SOURCE_DIR "/examples/data/mnist";
    options.evaluate = false;
  }
  ~Driver() override { std::filesystem::remove_all(folder); }

  static std::unique_ptr<Artifact> plan(uint32_t world, int64_t batch = 120) {
    test::MlpOptions mlp{world, batch, 32};
    auto bytes = finishPlan(test::mlpPlan(mlp, DGC_MLP_KERNELS));
    auto artifact = loadBytes(*bytes);
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    return *std::move(artifact);
  }

  absl::Status run(const Artifact &artifact) {
    printed.clear();
    return runInProcess(artifact, options, [&](std::string_view text) { printed += text; }, -1).status();
  }

  std::string path(const char *name) const { return folder + "/" + name; }

  static std::vector<float> variable(const std::string &file, const std::string &name) {
    auto opened = SafetensorsFile::open(realDisk(), file);
    EXPECT_TRUE(opened.ok()) << opened.status();
    const SafetensorsFile::Entry &entry = opened->entries().at(name);
    std::vector<float> values(entry.bytes / sizeof(float));
    EXPECT_TRUE(opened->read(entry, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }

  /// Relative L2 distance of all weights.
  static double distance(const std::string &a, const std::string &b) {
    double difference = 0, norm = 0;
    for (const char *name : {"w1", "b1", "w2", "b2", "w3", "b3"}) {
      std::vector<float> x = variable(a, name), y = variable(b, name);
      for (size_t i = 0; i < x.size(); ++i) {
        difference += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
        norm += double{y[i]} * y[i];
      }
    }
    return std::sqrt(difference / norm);
  }

  std::string folder, printed;
  RunOptions options;
};

TEST_F(Driver, LearnsAndEvaluates) {
  options.epochs = 1;
  options.evaluate = true;
  options.logJson = path("log");
  absl::Status s = run(*plan(1));
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_THAT(printed, HasSubstr("test  loss"));
  EXPECT_THAT(printed, HasSubstr("(10000 samples)"));
  std::string log = *readFile(realDisk(), options.logJson);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 500 + 3);
  size_t at = log.find("\"event\":\"evaluate\"");
  ASSERT_NE(at, std::string::npos);
  double accuracy = std::stod(log.substr(log.find("\"accuracy\":", at) + 11));
  EXPECT_GT(accuracy, 0.9);
}

// The samples of a step and the initial weights do not depend on the number of workers, so neither does the result, up
// to rounding; two runs have the same bits.
TEST_F(Driver, AnyNumberOfWorkersTrainsTheSameModel) {
  options.steps = 20;
  options.save = path("one");
  ASSERT_TRUE(run(*plan(1)).ok());
  for (uint32_t world : {2u, 3u, 4u}) {
    options.save = path("many");
    absl::Status s = run(*plan(world));
    ASSERT_TRUE(s.ok()) << s;
    EXPECT_LT(distance(path("many"), path("one")), 1e-6) << world;
    EXPECT_GT(distance(path("many"), path("one")), 0) << "the same additions in the same order?";
    options.save = path("again");
    ASSERT_TRUE(run(*plan(world)).ok());
    EXPECT_EQ(*readFile(realDisk(), path("again")), *readFile(realDisk(), path("many")));
  }
  options.seed = 1;
  options.save = path("other");
  ASSERT_TRUE(run(*plan(2)).ok());
  EXPECT_GT(distance(path("other"), path("one")), 0.1);
}

TEST_F(Driver, ContinuesFromACheckpointAtAnotherNumberOfWorkers) {
  options.seed = 5;
  options.steps = 12;
  options.save = path("whole");
  ASSERT_TRUE(run(*plan(2)).ok());
  options.steps = 5;
  options.save = path("half");
  ASSERT_TRUE(run(*plan(2)).ok());
  options.load = path("half");
  options.seed.reset(); // the checkpoint has it
  options.steps = 7;
  options.save = path("rest");
  ASSERT_TRUE(run(*plan(2)).ok());
  for (const char *name : {"w1", "b2", "w3"})
    EXPECT_EQ(variable(path("rest"), name), variable(path("whole"), name));
  options.save = path("rest");
  ASSERT_TRUE(run(*plan(4)).ok());
  EXPECT_LT(distance(path("rest"), path("whole")), 1e-6);
}

TEST_F(Driver, NoStepsSaveTheInitialWeights) {
  options.data.clear();
  options.steps = 0;
  options.save = path("initial");
  absl::Status s = run(*plan(2));
  ASSERT_TRUE(s.ok()) << s;
  std::vector<float> w = variable(path("initial"), "w1");
  double limit = std::sqrt(6.0 / (784 + 32)), largest = 0;
  for (float x : w)
    largest = std::max(largest, std::fabs(double{x}));
  EXPECT_LE(largest, limit);
  EXPECT_GT(largest, 0.99 * limit);
  EXPECT_EQ(variable(path("initial"), "b1"), std::vector<float>(32));
}

// 60000 samples are 468 batches of 128 and 96 more.
TEST_F(Driver, LastBatchIsDroppedOrWeighted) {
  auto p = plan(2, 128);
  options.epochs = 1;
  options.logJson = path("log");
  ASSERT_TRUE(run(*p).ok());
  std::string log = *readFile(realDisk(), options.logJson);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 468 + 2);
  options.lastBatch = LastBatch::Weight;
  ASSERT_TRUE(run(*p).ok());
  log = *readFile(realDisk(), options.logJson);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 469 + 2);
}

TEST_F(Driver, EvaluatesAloneAndTraces) {
  options.entry = "evaluate";
  options.trace = path("trace");
  absl::Status s = run(*plan(2, 96)); // 10000 is no multiple
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_THAT(printed, HasSubstr("(10000 samples)"));
  std::string trace = *readFile(realDisk(), options.trace);
  EXPECT_THAT(trace, HasSubstr("\"all_reduce\""));
  EXPECT_THAT(trace, HasSubstr("worker 1"));
}

// avx512er is in a few machines of 2016 only, avx2 in all that run this test.
TEST_F(Driver, RefusesCpuFeaturesThatAreNotThere) {
  dgc::artifact::PlanT made = test::mlpPlan({1, 120, 32}, DGC_MLP_KERNELS);
  made.target->features = {"+avx2", "+avx512er", "+avx512pf"};
  auto artifact = loadBytes(*finishPlan(std::move(made)));
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  absl::Status s = run(**artifact);
  EXPECT_EQ(exitCodeOf(s), ExitCode::Machine) << s;
  EXPECT_THAT(std::string(s.message()), HasSubstr("features that this machine lacks: avx512er, avx512pf;"));
}

TEST_F(Driver, Refusals) {
  auto p = plan(1);
  auto expect = [&](ExitCode code, const char *message) {
    absl::Status s = run(*p);
    EXPECT_EQ(exitCodeOf(s), code) << s;
    EXPECT_THAT(std::string(s.message()), HasSubstr(message));
  };
  options.entry = "predict";
  expect(ExitCode::Usage, "it has train, evaluate");
  options.entry = "evaluate";
  options.epochs = 2;
  expect(ExitCode::Usage, "are for training");
  options = {};
  expect(ExitCode::Usage, "--data DIR");
  options.data = folder + "/nowhere";
  expect(ExitCode::BadData, "nowhere");
  options.data = folder;
  expect(ExitCode::BadData, "image");
  options.data = DGC_SOURCE_DIR "/examples/data/mnist";
  options.load = folder + "/missing.safetensors";
  expect(ExitCode::BadData, "missing.safetensors");
}
} // namespace
