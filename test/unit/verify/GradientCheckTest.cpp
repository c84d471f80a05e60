// The check of gradients: right ones, and wrong ones that it has to find.
#include "runtime/verify/GradientCheck.h"
#include "runtime/verify/ExactConstants.h"
#include "test/unit/verify/KernelRun.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dgc::verify::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kCount = 5;

std::unique_ptr<bc::NestT> nestOf(std::vector<uint8_t> reduces, const std::vector<uint32_t> &loads,
                                  std::vector<bc::Instruction> body, uint32_t to) {
  auto nest = std::make_unique<bc::NestT>();
  nest->extents = {kCount};
  nest->reduces.assign(reduces.begin(), reduces.end());
  for (uint32_t load : loads)
    nest->loads.push_back(testing::access(load, {1}));
  nest->outputs.push_back(output(testing::access(to, {reduces[0] ? 0 : 1}), static_cast<uint32_t>(body.size() - 1)));
  nest->body = std::move(body);
  return nest;
}

/// The loss is the sum of v exp(w) + w^2; the new values are w - (v exp(w) + factor w) and v - exp(w). `function` is in place
/// of exp.
Model modelOf(double factor, Opcode step = Opcode::SubF, Opcode function = Opcode::Exp) {
  auto kernel = std::make_unique<bc::KernelT>();
  kernel->symbol = "train";
  kernel->inputs = 2;  // w, v
  kernel->results = 3; // loss, w, v
  for (uint64_t count : {kCount, kCount, 1u, kCount, kCount})
    kernel->buffers.push_back(buffer(Type::F32, count));
  auto load = [](uint32_t i) { return op(Opcode::Load, Type::F32, i); };
  auto binary = [](Opcode opcode, uint32_t a, uint32_t b) { return op(opcode, Type::F32, a, b); };
  const auto exp = op(function, Type::F32, 0);
  auto start = std::make_unique<bc::NestT>(); // of the sum
  start->body = {number(0)};
  start->outputs.push_back(output(testing::access(2, {}), 0));
  kernel->nests.push_back(std::move(start));
  kernel->nests.push_back(
      nestOf({1}, {0, 1},
             {load(0), load(1), exp, binary(Opcode::MulF, 1, 2), binary(Opcode::MulF, 0, 0), binary(Opcode::AddF, 3, 4),
              op(Opcode::Current, Type::F32, 0), binary(Opcode::AddF, 6, 5)},
             2));
  kernel->nests.push_back(nestOf({0}, {0, 1},
                                 {load(0), load(1), exp, binary(Opcode::MulF, 1, 2), number(factor),
                                  binary(Opcode::MulF, 0, 4), binary(Opcode::AddF, 3, 5), binary(step, 0, 6)},
                                 3));
  kernel->nests.push_back(nestOf({0}, {0, 1}, {load(0), load(1), exp, binary(Opcode::SubF, 1, 2)}, 4));
  bc::KernelsT kernels;
  kernels.kernels.push_back(std::move(kernel));
  Model model;
  ModelProgram program;
  program.name = "train";
  ModelResult loss;
  loss.name = "loss";
  program.results.push_back(loss);
  for (const char *name : {"w", "v"}) {
    ModelVariable variable;
    variable.name = name;
    variable.shape = {kCount};
    model.variables.push_back(variable);
    ModelInput input;
    input.name = name;
    input.isVariable = true;
    input.shape = {kCount};
    program.inputs.push_back(input);
    ModelResult result;
    result.name = name;
    result.isVariable = true;
    result.shape = {kCount};
    program.results.push_back(result);
  }
  program.kernel = testing::packed(kernels);
  model.programs.push_back(std::move(program));
  return model;
}

std::string differenceOf(const Model &model) {
  auto verdict = checkGradient(model, {});
  EXPECT_TRUE(verdict.ok()) << verdict.status();
  return verdict.ok() ? verdict->difference : "";
}

TEST(GradientCheck, ARightOneIsEqual) {
  auto verdict = checkGradient(modelOf(2), {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->difference, "");
  EXPECT_EQ(verdict->weights, 10u);
  EXPECT_GT(verdict->bits, 30);
}

TEST(GradientCheck, AWrongFactorIsFoundAndNamed) {
  for (double factor : {0.0, 1.0, 3.0, 2.0000002384185791}) {
    const std::string difference = differenceOf(modelOf(factor));
    EXPECT_THAT(difference, HasSubstr("'w' ("));
    EXPECT_THAT(difference, Not(HasSubstr("'v'")));
  }
}

TEST(GradientCheck, AWrongSignIsFound) { EXPECT_THAT(differenceOf(modelOf(2, Opcode::AddF)), HasSubstr("'w' (")); }

TEST(GradientCheck, AModelWithoutTrainingIsRefused) {
  Model model = modelOf(2);
  model.programs[0].name = "predict";
  EXPECT_THAT(std::string(checkGradient(model, {}).status().message()), HasSubstr("no program 'train'"));
}

// Some weights are negative: the loss is none, and neither are both derivatives.
TEST(GradientCheck, ALossThatIsNoNumberProvesNothing) {
  EXPECT_THAT(std::string(checkGradient(modelOf(2, Opcode::SubF, Opcode::Log), {}).status().message()),
              HasSubstr("is no finite number, which proves nothing"));
}

TEST(ExactConstants, RoundingsOfOtherNumbers) {
  auto exact = [](double value) { return exactConstant(Type::F32, static_cast<float>(value)); };
  EXPECT_TRUE(multiply(exact(1.0 / 3), fromInteger(3)).same(fromInteger(1)));
  EXPECT_TRUE(multiply(exact(-1.0 / 784), fromInteger(784)).same(fromInteger(-1)));
  EXPECT_TRUE(multiply(exact(std::sqrt(0.5)), exact(std::sqrt(0.5))).same(fromDouble(0.5)));
  EXPECT_TRUE(multiply(exact(0.044715), fromInteger(1000000)).same(fromInteger(44715)));
  EXPECT_TRUE(multiply(exact(2 / std::sqrt(std::acos(-1))), exact(std::sqrt(0.5)))
                  .same(multiply(fromInteger(2), exact(1 / std::sqrt(2 * std::acos(-1))))));
  EXPECT_TRUE(exact(0.75).same(fromDouble(0.75)));
}

TEST(Functions, InversesWhereTheyAreAskedFor) {
  const Functions keyed(3), exact(3, LawSet::ofGradients());
  const Number x{12345, 6789, 1.5};
  const Number one = fromDouble(1);
  EXPECT_FALSE(multiply(x, keyed.reciprocal(x)).same(one));
  EXPECT_TRUE(multiply(x, exact.reciprocal(x)).same(one));
  const Number root = exact.call(Opcode::Rsqrt, x);
  EXPECT_TRUE(multiply(root, root).same(exact.reciprocal(x)));
}

} // namespace
} // namespace dgc::verify::test
