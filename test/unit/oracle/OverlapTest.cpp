// Collectives that overlap with other work: the same bits as one after the other, for every strategy.
#include "test/unit/oracle/Oracle.h"

#include "runtime/artifact/Reader.h"

using namespace dgc::testing;

namespace {

struct Trained {
  NamedArrays variables;
  int underWay = 0; // collectives of the step that overlap with others
};

// Matrices of 360 kB: each makes a bucket of its own.
const char *const model = R"(
dgc.model @deep {
  %x = dgc.input "x" : tensor<?x300xf32>
  %y = dgc.input "y" : tensor<?x300xf32>
  %w1 = dgc.variable "w1" glorot_uniform : tensor<300x300xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<300x300xf32>
  %w3 = dgc.variable "w3" glorot_uniform : tensor<300x300xf32>
  %a = dgc.matmul %x, %w1
  %b = dgc.tanh %a
  %c = dgc.matmul %b, %w2
  %d = dgc.tanh %c
  %e = dgc.matmul %d, %w3
  %loss = dgc.mean_squared_error %e, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
})";

NamedArrays inputsOf(int step) {
  std::mt19937 rng(7 + step);
  std::vector<float> x(12 * 300), y(12 * 300);
  for (float &value : x)
    value = static_cast<float>(rng() % 1000) / 1000;
  for (float &value : y)
    value = static_cast<float>(rng() % 1000) / 500 - 1;
  return {{"x", HostArray::of({12, 300}, x)}, {"y", HostArray::of({12, 300}, y)}};
}

Trained trainOnce(const std::string &mesh, const std::string &strategy, bool overlap) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = 12;
  options.mesh = mesh;
  options.strategy = strategy;
  options.overlap = overlap;
  options.run.program = "train";
  options.run.seed = 7;
  options.run.steps = 2;
  options.run.inputsOfStep = inputsOf;
  Trained result;
  absl::StatusOr<std::vector<uint8_t>> plan = compileText(model, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok())
    return result;
  auto artifact = dgc::rt::loadBytes(*plan);
  for (const dgc::artifact::Step *step : *(*artifact)->program("train")->steps())
    result.underWay += step->queue() == 1;
  absl::StatusOr<dgc::rt::RunOnceResult> trained = dgc::rt::runOnce(*plan, inputsOf(0), options.run);
  EXPECT_TRUE(trained.ok()) << trained.status();
  if (trained.ok())
    result.variables = trained->variables;
  return result;
}

class Overlap : public testing::TestWithParam<const char *> {};

TEST_P(Overlap, ChangesNoBit) {
  for (const char *mesh : {"data=2", "data=3"}) {
    Trained off = trainOnce(mesh, GetParam(), false), on = trainOnce(mesh, GetParam(), true);
    EXPECT_EQ(off.underWay, 0);
    EXPECT_GT(on.underWay, 0) << mesh;
    ASSERT_EQ(on.variables.size(), off.variables.size());
    for (const auto &[name, array] : off.variables)
      EXPECT_EQ(on.variables.at(name).bytes, array.bytes) << mesh << ": " << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Overlap,
                         testing::Values("data-parallel", "zero1", "zero2", "zero3", "zero3,accumulate=2"),
                         [](const auto &info) {
                           std::string name;
                           for (char c : std::string(info.param))
                             if (isalnum(c))
                               name += c;
                           return name;
                         });

} // namespace
