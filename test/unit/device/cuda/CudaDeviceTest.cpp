// The CUDA device on a fake GPU: what programs compute, against the CPU, and how the device uses the driver.
#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "test/unit/device/cuda/FakeGpus.h"
#include "test/unit/oracle/Transformer.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <regex>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

TEST(CudaDevice, TrainsMnistAsTheCpuDoes) {
  ExecuteOptions options = mnistOptions();
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto log = std::make_shared<FakeLog>();
  options.run.makeDevice = fakeDevice(log);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  for (int step = 0; step < kSteps; ++step)
    for (const auto &[name, array] : expected->outputsOfStep[static_cast<size_t>(step)])
      EXPECT_LE(difference(result->outputsOfStep[static_cast<size_t>(step)].at(name), array), 1e-5) << name;
  ASSERT_EQ(result->variables.size(), expected->variables.size());
  for (const auto &[name, array] : expected->variables)
    EXPECT_LE(difference(result->variables.at(name), array), 1e-5) << name;
  // A step is one graph, of two that take turns; nothing is launched outside of it.
  EXPECT_EQ(log->graphs, 2);
  EXPECT_EQ(log->replays, kSteps);
  EXPECT_GT(log->launches, 0);
  EXPECT_THAT(log->violations, IsEmpty());
  EXPECT_EQ(log->allocatedBytes, 0u);
}

/// Numbers of bf16 between -0.4 and 0.6.
HostArray pattern(std::vector<int64_t> shape, size_t seed) {
  std::vector<uint16_t> values(static_cast<size_t>(shape[0] * shape[1]));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = toBF16(static_cast<float>((i * 31 + seed) % 17) / 16.0F - 0.4F);
  return HostArray::of(std::move(shape), values, DType::BF16);
}

/// Runs a program on the fake GPU: every output, of bf16, is near that of the CPU, element by element. `look` sees what
/// the plan does.
void expectNear(const std::string &text, const NamedArrays &inputs,
                const std::function<void(const artifact::Program &)> &look) {
  auto expected = execute(text, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto plan = compileForFakeGpu(text);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto artifact = loadBytes(*plan);
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  look(*(*artifact)->plan().programs()->Get(0));
  auto log = std::make_shared<FakeLog>();
  RunOnceOptions run;
  run.makeDevice = fakeDevice(log);
  auto result = runOnce(*plan, inputs, run);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(log->violations, IsEmpty());
  ASSERT_FALSE(expected->outputs.empty());
  for (const auto &[name, array] : expected->outputs) {
    std::vector<uint16_t> actual = result->outputs.at(name).as<uint16_t>(), wanted = array.as<uint16_t>();
    ASSERT_EQ(actual.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(fromBF16(actual[i]), fromBF16(wanted[i]), 1e-2 * std::abs(fromBF16(wanted[i])) + 1e-2)
          << name << ", element " << i;
  }
}

// With --precision=tf32 the device may round what it multiplies, as this one does; without it never does.
TEST(CudaDevice, RoundsToTf32WhereThatIsAskedFor) {
  ExecuteOptions options = mnistOptions();
  options.run.steps = 1; // relu decides otherwise here and there, and later steps go on from that
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  options.precision = "tf32";
  auto onCpu = execute(mnist(), {}, options);
  ASSERT_TRUE(onCpu.ok()) << onCpu.status();
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  options.run.makeDevice = fakeDevice(std::make_shared<FakeLog>());
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  double most = 0;
  for (const auto &[name, array] : expected->variables) {
    EXPECT_EQ(onCpu->variables.at(name).bytes, array.bytes) << name;
    most = std::max(most, difference(result->variables.at(name), array));
  }
  EXPECT_GT(most, 1e-5);
  EXPECT_LT(most, 2e-2);
}

// Rows of 467 elements of 16 bits are not aligned: the plan pads them, and the results are those of the CPU.
TEST(CudaDevice, PadsProductsWhoseRowsAreNotAligned) {
  const std::string text = R"(
func.func @f(%x: tensor<600x480xbf16>, %w: tensor<467x480xbf16>) -> (tensor<600x467xbf16>, tensor<600x480xbf16>) {
  %0 = dgc.dot_general %x, %w contract [1] x [1] : tensor<600x480xbf16>, tensor<467x480xbf16>
  %1 = dgc.negate %0 : tensor<600x467xbf16>
  %2 = dgc.dot_general %1, %w contract [1] x [0] : tensor<600x467xbf16>, tensor<467x480xbf16>
  return %1, %2 : tensor<600x467xbf16>, tensor<600x480xbf16>
})";
  NamedArrays inputs{{"arg0", pattern({600, 480}, 3)}, {"arg1", pattern({467, 480}, 8)}};
  std::vector<uint64_t> columns;
  expectNear(text, inputs, [&](const artifact::Program &program) {
    for (const artifact::Step *step : *program.steps())
      if (const artifact::Matmul *matmul = step->action_as_Matmul())
        columns.insert(columns.end(), {matmul->n(), matmul->k()});
  });
  EXPECT_THAT(columns, ElementsAre(472, 480, 480, 472));
}

// What one kernel computes in f32 is computed again in others, from what products gave and from the rows themselves.
TEST(CudaDevice, ComputesAgainWhatWouldBeStored) {
  const std::string text = R"(
func.func @f(%a: tensor<384x352xbf16>, %b: tensor<352x352xbf16>) -> (tensor<384x352xbf16>, tensor<384x352xbf16>) {
  %p = dgc.dot_general %a, %b contract [1] x [0] : tensor<384x352xbf16>, tensor<352x352xbf16>
  %x = dgc.convert %p to f32 : tensor<384x352xbf16>
  %t = dgc.tanh %x : tensor<384x352xf32>
  %m = dgc.reduce max %t dims [1] : tensor<384x352xf32>
  %w = dgc.broadcast_in_dim %m dims [0] to [384, 352] : tensor<384xf32>
  %n = dgc.subtract %t, %w : tensor<384x352xf32>
  %y = dgc.convert %n to bf16 : tensor<384x352xf32>
  %q = dgc.dot_general %y, %b contract [1] x [0] : tensor<384x352xbf16>, tensor<352x352xbf16>
  %g = dgc.convert %q to f32 : tensor<384x352xbf16>
  %d = dgc.multiply %g, %n : tensor<384x352xf32>
  %e = dgc.convert %d to bf16 : tensor<384x352xf32>
  return %y, %e : tensor<384x352xbf16>, tensor<384x352xbf16>
})";
  NamedArrays inputs{{"arg0", pattern({384, 352}, 3)}, {"arg1", pattern({352, 352}, 8)}};
  expectNear(text, inputs, [](const artifact::Program &program) {
    for (const artifact::Buffer *buffer : *program.buffers())
      EXPECT_FALSE(toDType(buffer->dtype()) == DType::F32 && buffer->shape()->size() > 1) << "stored in f32";
  });
}

// The sums over rows of a gradient, and of what another kernel multiplies it with, read both and store nothing.
TEST(CudaDevice, AddsUpTheGradientsOfANormalizationAtOnce) {
  const std::string text = R"(
func.func @f(%a: tensor<384x352xbf16>, %b: tensor<352x352xbf16>, %x: tensor<384x352xbf16>)
    -> (tensor<352xbf16>, tensor<352xbf16>, tensor<384x352xbf16>) {
  %p = dgc.dot_general %a, %b contract [1] x [0] : tensor<384x352xbf16>, tensor<352x352xbf16>
  %g = dgc.convert %p to f32 : tensor<384x352xbf16>
  %v = dgc.convert %x to f32 : tensor<384x352xbf16>
  %m = dgc.multiply %g, %v : tensor<384x352xf32>
  %offset = dgc.reduce sum %g dims [0] : tensor<384x352xf32>
  %scale = dgc.reduce sum %m dims [0] : tensor<384x352xf32>
  %row = dgc.reduce sum %m dims [1] : tensor<384x352xf32>
  %w = dgc.broadcast_in_dim %row dims [0] to [384, 352] : tensor<384xf32>
  %n = dgc.subtract %m, %w : tensor<384x352xf32>
  %y = dgc.convert %n to bf16 : tensor<384x352xf32>
  %o = dgc.convert %offset to bf16 : tensor<352xf32>
  %s = dgc.convert %scale to bf16 : tensor<352xf32>
  return %o, %s, %y : tensor<352xbf16>, tensor<352xbf16>, tensor<384x352xbf16>
})";
  NamedArrays inputs{
      {"arg0", pattern({384, 352}, 3)}, {"arg1", pattern({352, 352}, 8)}, {"arg2", pattern({384, 352}, 5)}};
  int kernels = 0;
  expectNear(text, inputs, [&](const artifact::Program &program) {
    for (const artifact::Step *step : *program.steps())
      kernels += step->action_type() == artifact::Action::KernelCall;
    for (const artifact::Buffer *buffer : *program.buffers())
      EXPECT_FALSE(toDType(buffer->dtype()) == DType::F32 && buffer->shape()->size() > 1) << "stored in f32";
  });
  EXPECT_EQ(kernels, 3); // the rows, the two sums, these in 16 bits
}

// Attention multiplies heads where they lie: batches that take several products, of f32 and of bf16.
TEST(CudaDevice, TrainsATransformerAsTheCpuDoes) {
  for (const auto &[precision, tolerance] : {std::pair("f32", 2e-5), std::pair("bf16", 3e-2)}) {
    SCOPED_TRACE(precision);
    ExecuteOptions options;
    options.from = "input";
    options.batch = dgc::testing::batch;
    options.precision = precision;
    options.run.program = "train";
    options.run.seed = 7;
    options.run.inputsOfStep = windowsOfStep;
    NamedArrays initial;
    std::map<std::string, NamedArrays> trained;
    for (bool onGpu : {false, true}) {
      auto plan = onGpu ? compileForFakeGpu(smallTransformer, options) : compileText(smallTransformer, options);
      ASSERT_TRUE(plan.ok()) << plan.status();
      auto log = std::make_shared<FakeLog>();
      if (onGpu)
        options.run.makeDevice = fakeDevice(log);
      else
        options.run.makeDevice = nullptr;
      options.run.steps = 1;
      auto result = runOnce(*plan, windowsOfStep(0), options.run);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_THAT(log->violations, IsEmpty());
      trained[onGpu ? "gpu" : "cpu"] = result->variables;
      options.run.steps = 0;
      initial = runOnce(*plan, windowsOfStep(0), options.run)->variables;
    }
    EXPECT_LE(distance(trained["gpu"], trained["cpu"], &initial), tolerance);
    EXPECT_GT(distance(trained["gpu"], initial), 1e-4) << "nothing was trained";
  }
}

// In 16 bits attention is a call, and one for its gradient: heads of 8 features.
TEST(CudaDevice, TrainsWithFusedAttentionAsTheCpuDoes) {
  std::string model = std::regex_replace(std::string(smallTransformer), std::regex("12"), "16");
  ExecuteOptions options;
  options.from = "input";
  options.batch = dgc::testing::batch;
  options.precision = "bf16";
  options.run.program = "train";
  options.run.seed = 7;
  options.run.steps = 0;
  options.run.inputsOfStep = windowsOfStep;
  auto onCpu = compileText(model, options), onGpu = compileForFakeGpu(model, options);
  ASSERT_TRUE(onCpu.ok() && onGpu.ok()) << onCpu.status() << onGpu.status();
  auto initial = runOnce(*onCpu, windowsOfStep(0), options.run);
  options.run.steps = 1;
  auto expected = runOnce(*onCpu, windowsOfStep(0), options.run);
  auto log = std::make_shared<FakeLog>();
  options.run.makeDevice = fakeDevice(log);
  auto result = runOnce(*onGpu, windowsOfStep(0), options.run);
  ASSERT_TRUE(initial.ok() && expected.ok() && result.ok()) << result.status();
  EXPECT_THAT(log->violations, IsEmpty());
  EXPECT_EQ(log->allocatedBytes, 0u);
  EXPECT_EQ(std::count(log->calls.begin(), log->calls.end(), "attention"),
            12); // of two layers, once before it is recorded twice
  EXPECT_LE(distance(result->variables, expected->variables, &initial->variables), 3e-2);
  EXPECT_GT(distance(expected->variables, initial->variables), 1e-4) << "nothing was trained";
}

// The negative control: a wrong initial value is seen.
// What was measured is kept, and later runs take it, or what the library expects where the file is of no use.
TEST(CudaDevice, TakesTheAlgorithmsThatWereMeasured) {
  ExecuteOptions options = mnistOptions();
  options.run.steps = 1;
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::string file = ::testing::TempDir() + "dgc_products_" + std::to_string(::getpid()) + ".tuning.json";
  auto run = [&](bool measures) {
    auto log = std::make_shared<FakeLog>();
    options.run.makeDevice = fakeDevices({log}, {}, kFakeGpu, nullptr, nullptr, {file, measures});
    auto result = runOnce(*plan, {}, options.run);
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(log->violations, IsEmpty());
    return log->calls;
  };
  auto count = [](const std::vector<std::string> &calls, const std::string &name) {
    return std::count(calls.begin(), calls.end(), name);
  };
  EXPECT_EQ(count(run(false), "product 1"), 0);
  EXPECT_FALSE(realDisk().exists(file));
  EXPECT_GT(count(run(true), "product 1"), 10);
  auto text = readFile(realDisk(), file);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\"gpu\": \"Fake GPU\""));
  std::string edited;
  for (size_t i = 0; i < text->size(); ++i) // all choices are 2
    edited += i > 2 && text->substr(i - 2, 2) == ": " && std::isdigit((*text)[i]) ? '2' : (*text)[i];
  ASSERT_TRUE(writeFileAtomically(realDisk(), file, edited).ok());
  auto calls = run(false);
  EXPECT_GT(count(calls, "product 2"), 0);
  EXPECT_EQ(count(calls, "product"), 0);
  ASSERT_TRUE(writeFileAtomically(realDisk(), file, "{}").ok());
  EXPECT_EQ(count(run(false), "product 2"), 0);
  ASSERT_TRUE(realDisk().remove(file).ok());
}

TEST(CudaDevice, AnotherSeedTrainsOtherwise) {
  ExecuteOptions options = mnistOptions();
  auto expected = execute(mnist(), {}, options);
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(expected.ok() && plan.ok());
  options.run.makeDevice = fakeDevice(std::make_shared<FakeLog>());
  options.run.seed = 8;
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(difference(result->variables.at("w1"), expected->variables.at("w1")), 1e-2);
}

constexpr char kProduct[] = "func.func @f(%x: tensor<3x5xf32>, %y: tensor<5x4xf32>) -> tensor<3x4xf32> {\n"
                            "%0 = dgc.dot_general %x, %y contract [1] x [0] : tensor<3x5xf32>, tensor<5x4xf32>\n"
                            "%1 = dgc.exponential %0 : tensor<3x4xf32>\nreturn %1 : tensor<3x4xf32> }";

NamedArrays productInputs() {
  std::vector<float> x(15), y(20);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0.1f * static_cast<float>(i) - 0.6f;
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = 0.05f * static_cast<float>(i * i % 13);
  return {{"arg0", HostArray::of({3, 5}, x)}, {"arg1", HostArray::of({5, 4}, y)}};
}

// Whatever call of the driver fails, the error is told, nothing is called after it and nothing leaks.
TEST(CudaDevice, EveryErrorOfTheDriverIsTold) {
  auto plan = compileForFakeGpu(kProduct);
  ASSERT_TRUE(plan.ok()) << plan.status();
  int failures = 0;
  for (bool failed = true; failed && failures < 100;) {
    auto log = std::make_shared<FakeLog>();
    RunOnceOptions options;
    options.makeDevice = fakeDevice(log, failures);
    auto result = runOnce(*plan, productInputs(), options);
    failed = !result.ok();
    failures += failed;
    if (failed)
      EXPECT_THAT(std::string(result.status().message()), HasSubstr("CUDA_ERROR_")) << failures;
    EXPECT_THAT(log->violations, IsEmpty()) << "after failure " << failures;
    EXPECT_EQ(log->allocatedBytes, 0u);
  }
  EXPECT_GT(failures, 15);
  EXPECT_LT(failures, 100);
}

TEST(CudaDevice, MemoryThatThereIsNotIsAnError) {
  auto plan = compileForFakeGpu(kProduct);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto log = std::make_shared<FakeLog>();
  RunOnceOptions options;
  options.makeDevice = fakeDevice(log, -1, {"Small GPU", 9, 0, 1000});
  auto result = runOnce(*plan, productInputs(), options);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("bytes on Small GPU"));
  EXPECT_THAT(log->violations, IsEmpty());
}

TEST(CudaDevice, AnotherArchitectureIsRefused) {
  auto plan = compileForFakeGpu(kProduct);
  ASSERT_TRUE(plan.ok()) << plan.status();
  RunOnceOptions options;
  options.makeDevice = fakeDevice(std::make_shared<FakeLog>(), -1, {"Old GPU", 8, 6, 1u << 30});
  auto result = runOnce(*plan, productInputs(), options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(exitCodeOf(result.status()), ExitCode::Machine);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("the GPU, Old GPU, is of sm_86, and the plan has code for sm_90: compile the model with "
                        "--target=cuda:sm_86"));
}

} // namespace
