// Plans that the exact check refuses for what they say, whatever they compute.
#include "runtime/artifact/Writer.h"
#include "test/unit/verify/Damage.h"
#include "test/unit/verify/Subject.h"
#include "gmock/gmock.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::testing;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

namespace {

SubjectText perceptron() {
  for (const SubjectText &each : subjects())
    if (each.name == "perceptron, data-parallel")
      return each;
  return {};
}

class RefusedPlans : public ::testing::Test {
protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Subject>> created = Subject::create(perceptron());
    ASSERT_TRUE(created.ok()) << created.status();
    subject = *std::move(created);
  }

  /// What is said of the plan and another model.
  std::string against(const std::function<void(verify::Model &)> &change) const {
    verify::Model model = subject->modelOf();
    change(model);
    absl::StatusOr<verify::CheckResult> verdict = subject->check(model, {});
    return verdict.ok() ? verdict->difference : std::string(verdict.status().message());
  }
  /// What is said of another plan.
  std::string of(const std::function<void(artifact::PlanT &)> &change) const {
    artifact::PlanT plan;
    artifact::GetPlan(subject->plan().data())->UnPackTo(&plan);
    change(plan);
    return subject->judge({"", *rt::finishPlan(std::move(plan))}).why;
  }

  std::unique_ptr<Subject> subject;
};

verify::ModelProgram &program(verify::Model &model, const std::string &name) {
  return *std::find_if(model.programs.begin(), model.programs.end(), [&](auto &each) { return each.name == name; });
}
template <class List> auto &valueOf(List &list, const std::string &name) {
  return *std::find_if(list.begin(), list.end(), [&](auto &each) { return each.name == name; });
}

TEST_F(RefusedPlans, DeclareWhatTheModelDoesNot) {
  EXPECT_EQ(against([](verify::Model &) {}), "");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(model.variables, "w1").shape = {7, 5}; }),
            "variable 'w1' is f32 [5x7], and in the model f32 [7x5]");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(model.variables, "w1").role = artifact::VariableRole::Slot; }),
            "variable 'w1' has another role than in the model");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(model.variables, "w1").file = "w1.npy"; }),
            "variable 'w1' has another initial value");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(model.variables, "w1").rngStrides = {1}; }),
            "variable 'w1' has another initial value");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(program(model, "train").inputs, "x").shape = {5, 7}; }),
            "input 'x' of program 'train' is f32 [7x5], and in the model f32 [5x7]");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(program(model, "train").inputs, "x").batchDim = 1; }),
            "input 'x' of program 'train' has the batch in another dimension than in the model");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(program(model, "train").inputs, "label").indexLimit = 9; }),
            "input 'label' of program 'train' has indices below 3, and in the model below 9");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(program(model, "train").inputs, "x").name = "z"; }),
            "input 'x' of program 'train' is not in the model");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(program(model, "predict").results, "logits").shape = {9, 9}; }),
            "output 'logits' of program 'predict' is f32 [7x3], and in the model f32 [9x9]");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(program(model, "predict").results, "logits").batchDim = -1; }),
            "output 'logits' of program 'predict' has the batch in another dimension than in the model");
  EXPECT_EQ(against([](verify::Model &model) {
              valueOf(program(model, "train").results, "loss").role = artifact::OutputRole::Metric;
            }),
            "output 'loss' of program 'train' has another role than in the model");
  EXPECT_EQ(against([](verify::Model &model) { valueOf(program(model, "train").results, "loss").over = "count"; }),
            "output 'loss' of program 'train' is reported in another way than in the model");
}

/// The first step of the program train that calls a kernel whose first operand is longer than 64 bytes.
artifact::KernelCallT &callOf(artifact::PlanT &plan, artifact::ProgramT *&train) {
  for (auto &each : plan.programs)
    if (each->name == "train")
      train = each.get();
  for (auto &step : train->steps)
    if (artifact::KernelCallT *call = step->action.AsKernelCall())
      if (const auto &shape = train->buffers[call->args[0]]->shape; shape.size() == 2 && shape[0] * shape[1] > 16)
        return *call;
  ADD_FAILURE() << "no such call";
  return *train->steps[0]->action.AsKernelCall();
}

TEST_F(RefusedPlans, WriteResultsOverAPartOfAnOperand) {
  EXPECT_THAT(of([](artifact::PlanT &plan) {
                artifact::ProgramT *train = nullptr;
                const artifact::KernelCallT &call = callOf(plan, train);
                artifact::BufferT &result = *train->buffers[call.args.back()];
                const artifact::BufferT &operand = *train->buffers[call.args[0]];
                result.space = operand.space;
                result.offset = operand.offset + 64;
              }),
              HasSubstr(" overlaps argument 0 of the kernel in memory"));
}

/// Puts a result into the place of an operand of its type that the kernel may not overwrite.
void putInPlace(artifact::PlanT &plan) {
  for (auto &program : plan.programs)
    for (auto &step : program->steps) {
      const artifact::KernelCallT *call = step->action.AsKernelCall();
      if (!call)
        continue;
      const std::vector<int32_t> &inplace = plan.kernels[call->kernel]->inplace;
      const size_t inputs = call->args.size() - inplace.size();
      for (size_t result = 0; result < inplace.size(); ++result)
        for (size_t operand = 0; operand < inputs; ++operand) {
          const artifact::BufferT &from = *program->buffers[call->args[operand]];
          artifact::BufferT &to = *program->buffers[call->args[inputs + result]];
          if (inplace[result] == static_cast<int32_t>(operand) || from.space == artifact::Space::Constant ||
              from.dtype != to.dtype || from.shape != to.shape)
            continue;
          to.space = from.space;
          to.offset = from.offset;
          return;
        }
    }
  ADD_FAILURE() << "no such call";
}

TEST_F(RefusedPlans, WriteResultsOverAnOperandThatIsReadLater) {
  const ::testing::Matcher<std::string> refused = ContainsRegex("result . overlaps argument . of the kernel in memory");
  EXPECT_THAT(of(putInPlace), refused);
  // The reader cannot tell results from operands; the check can.
  EXPECT_THAT(of([](artifact::PlanT &plan) {
                putInPlace(plan);
                for (auto &kernel : plan.kernels)
                  kernel->inplace.clear();
              }),
              refused);
}

TEST_F(RefusedPlans, CallKernelsWithAnotherNumberOfResults) {
  EXPECT_THAT(of([](artifact::PlanT &plan) {
                for (auto &kernel : plan.kernels)
                  if (std::count(kernel->inplace.begin(), kernel->inplace.end(), -1) == std::ssize(kernel->inplace))
                    kernel->inplace.push_back(-1);
              }),
              HasSubstr("results whose meaning has "));
}

TEST_F(RefusedPlans, CallKernelsWithOtherBuffers) {
  EXPECT_THAT(of([](artifact::PlanT &plan) {
                std::vector<uint8_t> &bytes = plan.sections[static_cast<size_t>(plan.object_section)]->data;
                reference::KernelsT kernels;
                reference::GetKernels(bytes.data())->UnPackTo(&kernels);
                for (auto &kernel : kernels.kernels)
                  ++kernel->buffers[0]->count;
                flatbuffers::FlatBufferBuilder builder;
                reference::FinishKernelsBuffer(builder, reference::Kernels::Pack(builder, &kernels));
                bytes.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
              }),
              HasSubstr("argument 0 is no buffer as the kernel takes"));
}

TEST(RefusedChecks, OfPolynomialsOfALargeDegree) {
  SubjectText text = perceptron();
  text.name = "powers";
  std::string squares = "%s0 = dgc.tanh %h\n";
  for (int i = 0; i < 60; ++i)
    squares += rt::str("%s", i + 1, " = dgc.multiply %s", i, ", %s", i, "\n");
  text.model = R"(
dgc.model @powers {
  %x = dgc.input "x" : tensor<?x5xf32>
  %y = dgc.input "y" : tensor<?x3xf32>
  %w = dgc.variable "w" normal 0 0.5 : tensor<5x3xf32>
  %h = dgc.matmul %x, %w
)" + squares + R"(
  %loss = dgc.mean_squared_error %s60, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";
  EXPECT_THAT(std::string(Subject::create(text).status().message()),
              HasSubstr("nothing differs, which proves nothing"));
}

} // namespace
