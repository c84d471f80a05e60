// The undistributed program of a model: what its values are, and that its kernel computes the model.
#include "compiler/verify/Model.h"
#include "compiler/driver/Registration.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "runtime/device/reference/Interpreter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dgc {
namespace {

using namespace verify;
using artifact::DType;
using artifact::InitKind;
using artifact::InputRole;
using artifact::VariableRole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The model of a text or, where `path` is a file of the repository, of that; fails with the diagnostics in `error`.
std::optional<Model> read(const std::string &text, const CompileOptions &options, std::string &error,
                          bool isPath = false) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    error += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = isPath ? mlir::parseSourceFile<mlir::ModuleOp>(DGC_SOURCE_DIR "/" + text, &context)
                       : mlir::parseSourceString<mlir::ModuleOp>(text, &context, "model.mlir");
  mlir::FailureOr<Model> model = module ? modelOf(*module, options) : mlir::FailureOr<Model>();
  std::optional<Model> result;
  if (succeeded(model))
    result.emplace(std::move(*model));
  return result;
}

Model modelOfText(const std::string &text, const CompileOptions &options = {}) {
  std::string error;
  std::optional<Model> model = read(text, options, error);
  EXPECT_TRUE(model) << error;
  return model.value_or(Model());
}

Model modelOfFile(const std::string &path, const CompileOptions &options = {}) {
  std::string error;
  std::optional<Model> model = read(path, options, error, /*isPath=*/true);
  EXPECT_TRUE(model) << error;
  return model.value_or(Model());
}

const ModelProgram &program(const Model &model, const std::string &name) {
  static const ModelProgram none;
  for (const ModelProgram &each : model.programs)
    if (each.name == name)
      return each;
  ADD_FAILURE() << "no program " << name;
  return none;
}

/// The one kernel of a program, checked.
const reference::Kernel &kernelOf(const ModelProgram &program) {
  absl::StatusOr<const reference::Kernels *> kernels = reference::readKernels(std::as_bytes(std::span(program.kernel)));
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  EXPECT_EQ((*kernels)->kernels()->size(), 1u);
  return *(*kernels)->kernels()->Get(0);
}

/// The kernel has the arguments that the program says.
void expectConsistent(const ModelProgram &program) {
  SCOPED_TRACE(program.name);
  const reference::Kernel &kernel = kernelOf(program);
  EXPECT_EQ(kernel.symbol()->str(), program.name);
  ASSERT_EQ(kernel.inputs(), program.inputs.size());
  ASSERT_EQ(kernel.results(), program.results.size());
  EXPECT_EQ(kernel.nests() ? kernel.nests()->size() : 0, program.locations.size());
  auto expectBuffer = [&](size_t number, const auto &value) {
    uint64_t count = 1;
    for (int64_t extent : value.shape)
      count *= extent;
    EXPECT_EQ(kernel.buffers()->Get(number)->count(), count) << value.name;
    EXPECT_EQ(kernel.buffers()->Get(number)->type(), reference::typeOf(static_cast<rt::DType>(value.dtype)))
        << value.name;
  };
  for (size_t i = 0; i < program.inputs.size(); ++i)
    expectBuffer(i, program.inputs[i]);
  for (size_t i = 0; i < program.results.size(); ++i)
    expectBuffer(program.inputs.size() + i, program.results[i]);
}

std::string summary(const ModelInput &input) {
  return input.name + (input.isVariable ? " variable" : std::string(" ") + EnumNameInputRole(input.role)) +
         (input.batchDim >= 0 ? " batch " + std::to_string(input.batchDim) : "") +
         (input.indexLimit ? " below " + std::to_string(input.indexLimit) : "");
}

std::string summary(const ModelResult &result) {
  return result.name + (result.isVariable ? " variable" : std::string(" ") + EnumNameOutputRole(result.role)) +
         (result.batchDim >= 0 ? " batch " + std::to_string(result.batchDim) : "");
}

std::vector<std::string> summaries(const auto &values) {
  std::vector<std::string> result;
  for (const auto &value : values)
    result.push_back(summary(value));
  return result;
}

TEST(Model, OfMnist) {
  Model model = modelOfFile("examples/mnist_mlp.mlir");
  ASSERT_EQ(model.variables.size(), 8u);
  const ModelVariable &w1 = model.variables[0];
  EXPECT_EQ(w1.name, "w1");
  EXPECT_EQ(w1.role, VariableRole::Weight);
  EXPECT_EQ(w1.dtype, DType::F32);
  EXPECT_THAT(w1.shape, ElementsAre(784, 128));
  EXPECT_EQ(w1.init, InitKind::GlorotUniform);
  EXPECT_EQ(w1.a, 784);
  EXPECT_EQ(w1.b, 128);
  EXPECT_EQ(model.variables[2].rngId, 2u);
  EXPECT_EQ(model.variables[4].name, "w1.momentum");
  EXPECT_EQ(model.variables[4].role, VariableRole::Slot);

  ASSERT_EQ(model.programs.size(), 3u);
  for (const ModelProgram &each : model.programs)
    expectConsistent(each);
  const ModelProgram &train = program(model, "train");
  EXPECT_THAT(summaries(train.inputs),
              ElementsAre("w1 variable", "b1 variable", "w2 variable", "b2 variable", "w1.momentum variable",
                          "b1.momentum variable", "w2.momentum variable", "b2.momentum variable", "image Data batch 0",
                          "label Data batch 0 below 10", "valid_count ValidCount", "step Step"));
  EXPECT_THAT(train.inputs[8].shape, ElementsAre(128, 28, 28));
  EXPECT_EQ(train.inputs[8].dtype, DType::U8);
  EXPECT_THAT(summaries(train.results),
              ElementsAre("w1 variable", "w1.momentum variable", "b1 variable", "b1.momentum variable", "w2 variable",
                          "w2.momentum variable", "b2 variable", "b2.momentum variable", "loss Loss",
                          "accuracy Metric"));
  EXPECT_THAT(summaries(program(model, "predict").results), ElementsAre("logits Prediction batch 0"));
  EXPECT_THAT(train.locations, ::testing::Contains(HasSubstr("examples/mnist_mlp.mlir:")));
  EXPECT_THAT(train.locations, ::testing::Not(::testing::Contains("")));
}

TEST(Model, TakesTheBatchOfTheOptions) {
  CompileOptions options;
  options.batch = {6};
  Model model = modelOfFile("examples/mnist_mlp.mlir", options);
  EXPECT_THAT(program(model, "predict").results.at(0).shape, ElementsAre(6, 10));
}

constexpr const char *kDropout = R"(
dgc.model @small {
  %x = dgc.input "x" : tensor<4x3xf32>
  %y = dgc.input "y" : tensor<4x2xf32>
  %w = dgc.variable "w" normal 0 0.5 : tensor<3x2xf32>
  %z = dgc.matmul %x, %w
  %d = dgc.dropout %z rate 0.5
  %loss = dgc.mean_squared_error %d, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9
}
)";

TEST(Model, OfRandomNumbersAndMomentum) {
  Model model = modelOfText(kDropout);
  for (const ModelProgram &each : model.programs)
    expectConsistent(each);
  ASSERT_EQ(model.variables.size(), 2u);
  EXPECT_EQ(model.variables[0].init, InitKind::Normal);
  EXPECT_EQ(model.variables[0].b, 0.5);
  EXPECT_EQ(model.variables[1].rngId, 1u);
  EXPECT_THAT(summaries(program(model, "train").inputs),
              ElementsAre("w variable", "w.momentum variable", "x Data batch 0", "y Data batch 0",
                          "valid_count ValidCount", "step Step", "seed Seed"));
  EXPECT_THAT(summaries(program(model, "evaluate").inputs),
              ElementsAre("w variable", "x Data batch 0", "y Data batch 0", "valid_count ValidCount"));
}

TEST(Model, OfMixedPrecisionHasTheScaleOfTheLoss) {
  CompileOptions options;
  options.precision = Precision::F16;
  Model model = modelOfText(kDropout, options);
  EXPECT_THAT(model.variables, ::testing::Contains(::testing::Field(&ModelVariable::role, VariableRole::LossScale)));
}

/// Runs a kernel in step 0; `floats` are its arguments but for the scalars of the runtime, the results too.
void run(const ModelProgram &program, std::vector<std::vector<float> *> floats, int32_t validCount) {
  int64_t step = 0;
  const reference::Kernel &kernel = kernelOf(program);
  std::vector<void *> arguments;
  size_t next = 0;
  for (const ModelInput &input : program.inputs)
    arguments.push_back(input.role == InputRole::ValidCount ? static_cast<void *>(&validCount)
                        : input.role == InputRole::Step     ? static_cast<void *>(&step)
                                                            : floats.at(next++)->data());
  while (next < floats.size())
    arguments.push_back(floats[next++]->data());
  ASSERT_EQ(arguments.size(), kernel.inputs() + kernel.results());
  reference::Interpreter interpreter(kernel);
  std::vector<std::max_align_t> workspace(interpreter.workspaceBytes() / sizeof(std::max_align_t) + 8);
  absl::Status status = interpreter.run(arguments, reinterpret_cast<std::byte *>(workspace.data()));
  EXPECT_TRUE(status.ok()) << status;
}

// loss = mean (w x - y)^2 over the examples that count; w' = w - rate d loss / d w.
TEST(Model, ComputesAStep) {
  Model model = modelOfText(R"(
dgc.model @line {
  %x = dgc.input "x" : tensor<3x1xf32>
  %y = dgc.input "y" : tensor<3x1xf32>
  %w = dgc.variable "w" zeros : tensor<1x1xf32>
  %z = dgc.matmul %x, %w
  %loss = dgc.mean_squared_error %z, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.25
}
)");
  const ModelProgram &train = program(model, "train");
  ASSERT_THAT(summaries(train.inputs),
              ElementsAre("w variable", "x Data batch 0", "y Data batch 0", "valid_count ValidCount", "step Step"));
  ASSERT_THAT(summaries(train.results), ElementsAre("w variable", "loss Loss"));
  std::vector<float> w{2}, x{1, 2, 100}, y{3, 2, 100}, updated{0}, loss{0};
  run(train, {&w, &x, &y, &updated, &loss}, 2); // the third example is padding
  // Errors: 2 - 3 = -1 and 4 - 2 = 2. The gradient is 2 (-1 * 1 + 2 * 2) / 2 = 3.
  EXPECT_FLOAT_EQ(loss[0], 2.5);
  EXPECT_FLOAT_EQ(updated[0], 2 - 0.25 * 3);
}

TEST(Model, OfFunctions) {
  Model model = modelOfText(R"(
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @nothing(%x: tensor<4xf32>) { return }
func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) { return %x, %x : tensor<4xf32>, tensor<4xf32> }
)");
  ASSERT_EQ(model.programs.size(), 2u);
  EXPECT_EQ(program(model, "nothing").results.size(), 0u);
  const ModelProgram &twice = program(model, "twice");
  EXPECT_THAT(summaries(twice.inputs), ElementsAre("arg0 Data"));
  EXPECT_THAT(summaries(twice.results), ElementsAre("result0 Prediction", "result1 Prediction"));
  for (const ModelProgram &each : model.programs)
    expectConsistent(each);
  std::vector<float> x{1, 2, 3, 4}, a(4), b(4);
  run(twice, {&x, &a, &b}, 0);
  EXPECT_EQ(a, x);
  EXPECT_EQ(b, x);
}

TEST(Model, LeavesMeshesOut) {
  Model model = modelOfText(R"(
dist.mesh @mesh <data = 2, model = 2>
dgc.model @line {
  %x = dgc.input "x" {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>} : tensor<4x6xf32>
  %w = dgc.variable "w" zeros {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>} : tensor<6x2xf32>
  %z = dgc.matmul %x, %w
  %c = dist.constraint %z to <@mesh, [{"data"}, {}]>
  dgc.output "z" %c
}
)");
  EXPECT_THAT(program(model, "predict").inputs.at(1).shape, ElementsAre(4, 6));
  expectConsistent(program(model, "predict"));
}

TEST(Model, RefusesWhatIsForOneDevice) {
  std::string error;
  EXPECT_FALSE(read(R"(
dist.mesh @mesh <data = 2>
dgc.model @m {
  %x = dgc.input "x" : tensor<8x6xf32>
  %y = dist.manual (%l = %x) over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}, {}]>] out [#dist.sharding<@mesh, [{"data"}, {}]>] {
    dist.return %l
  }
  dgc.output "y" %y
}
)",
                    {}, error));
  EXPECT_THAT(error, HasSubstr("'dist.manual' op is for one device of a mesh"));
}

std::optional<CompileOptions> optionsOf(const std::vector<std::pair<std::string, std::string>> &list,
                                        std::string &error) {
  artifact::PlanT plan;
  plan.target = std::make_unique<artifact::TargetT>();
  plan.file_digest = std::make_unique<artifact::Digest>();
  for (const auto &[name, value] : list) {
    plan.options.push_back(std::make_unique<artifact::CompilerOptionT>());
    plan.options.back()->name = name;
    plan.options.back()->value = value;
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(artifact::Plan::Pack(builder, &plan));
  return optionsFor(*artifact::GetPlan(builder.GetBufferPointer()), error);
}

TEST(OptionsFor, TakesWhatChangesTheMeaning) {
  std::string error;
  std::optional<CompileOptions> options = optionsOf({{"target", "cuda:sm_90"},
                                                     {"batch", "12"},
                                                     {"mesh", "data=2"},
                                                     {"strategy", "zero1"},
                                                     {"precision", "bf16"},
                                                     {"attention", "fused"}},
                                                    error);
  ASSERT_TRUE(options) << error;
  EXPECT_EQ(options->target.spec, "cuda:sm_90");
  EXPECT_EQ(options->batch.value, 12);
  EXPECT_EQ(options->precision, Precision::BF16);
  EXPECT_EQ(options->attention, AttentionForm::Fused);
  EXPECT_TRUE(options->mesh.empty());
  EXPECT_EQ(options->strategy.text(), "");
  EXPECT_TRUE(optionsOf({{"batch", ""}}, error));
}

TEST(OptionsFor, RefusesWhatIsNone) {
  std::string error;
  EXPECT_FALSE(optionsOf({{"precision", "f12"}, {"batch", "4"}}, error));
  EXPECT_THAT(error, HasSubstr("option 'precision' of the plan: 'f12': f32, tf32, bf16 or f16 is expected"));
}

} // namespace
} // namespace dgc
