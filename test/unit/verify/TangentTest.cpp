// Forward mode: the derivative of each operation of the bytecode, against central differences in f64, and in the fields.
#include "runtime/verify/Tangent.h"
#include "test/unit/verify/KernelRun.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numbers>

namespace dgc::verify::test {
namespace {

using ::testing::HasSubstr;

/// A kernel whose result is the last instruction of `body`, which begins with the loads of its inputs, for each element.
bc::KernelT kernelOf(uint32_t inputs, std::vector<bc::Instruction> body, uint64_t count, Type type = Type::F64) {
  std::vector<TensorRef> given(inputs, std::make_shared<Tensor>(type, count));
  return elementwise(given, type, std::move(body)).kernel;
}

/// The results of a kernel of f64.
std::vector<std::vector<double>> run(const bc::KernelT &kernel, std::vector<std::vector<double>> arguments) {
  bc::KernelsT kernels;
  kernels.kernels.push_back(std::make_unique<bc::KernelT>(kernel));
  const std::vector<uint8_t> bytes = testing::packed(kernels);
  auto read = bc::readKernels(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(read.ok()) << read.status();
  bc::Interpreter interpreter(*(*read)->kernels()->Get(0));
  for (uint32_t i = 0; i < kernel.results; ++i)
    arguments.emplace_back(kernel.buffers[kernel.inputs + i]->count);
  std::vector<void *> places;
  for (auto &each : arguments)
    places.push_back(each.data());
  std::vector<std::byte> workspace(interpreter.workspaceBytes() + 64);
  const auto misaligned = reinterpret_cast<uintptr_t>(workspace.data()) % 64;
  EXPECT_TRUE(interpreter.run(places, workspace.data() + (64 - misaligned) % 64).ok());
  return {arguments.begin() + kernel.inputs, arguments.end()};
}

struct OneOpcode {
  const char *name;
  Opcode opcode;
  int operands;
  double low, high;
};

class EachOpcode : public ::testing::TestWithParam<OneOpcode> {};

TEST_P(EachOpcode, AgreesWithCentralDifferences) {
  const OneOpcode &c = GetParam();
  constexpr size_t count = 9;
  const auto inputs = static_cast<uint32_t>(c.operands);
  const bc::KernelT kernel = kernelOf(inputs, {op(c.opcode, Type::F64, 0, 1)}, count);
  Tangents all{{}, {0}};
  std::vector<std::vector<double>> at, directions;
  for (uint32_t i = 0; i < inputs; ++i) {
    all.inputs.push_back(i);
    std::vector<double> x, u;
    for (size_t k = 0; k < count; ++k) {
      x.push_back(c.low +
                  (c.high - c.low) * (static_cast<double>((k * (i ? 5 : 7) + 3 * i) % count) + 0.3 + 0.35 * i) / count);
      u.push_back(0.4 + 0.3 * static_cast<double>((k + i) % 4));
    }
    at.push_back(x);
    directions.push_back(u);
  }
  auto differentiated = withTangents(kernel, all);
  ASSERT_TRUE(differentiated.ok()) << differentiated.status();
  auto given = at;
  given.insert(given.end(), directions.begin(), directions.end());
  const auto results = run(*differentiated, given);
  auto moved = [&](double step) {
    auto to = at;
    for (size_t i = 0; i < to.size(); ++i)
      for (size_t k = 0; k < count; ++k)
        to[i][k] += step * directions[i][k];
    return run(kernel, to)[0];
  };
  constexpr double step = 1e-6;
  const auto above = moved(step), below = moved(-step);
  EXPECT_EQ(results[0], run(kernel, at)[0]);
  for (size_t k = 0; k < count; ++k)
    EXPECT_NEAR(results[1][k], (above[k] - below[k]) / (2 * step), 1e-7) << k;
}

INSTANTIATE_TEST_SUITE_P(
    Table, EachOpcode,
    ::testing::Values(OneOpcode{"AddF", Opcode::AddF, 2, -2, 2}, OneOpcode{"SubF", Opcode::SubF, 2, -2, 2},
                      OneOpcode{"MulF", Opcode::MulF, 2, -2, 2}, OneOpcode{"DivF", Opcode::DivF, 2, 0.5, 2},
                      OneOpcode{"RemF", Opcode::RemF, 2, 0.5, 2}, OneOpcode{"Minimum", Opcode::Minimum, 2, -2, 2},
                      OneOpcode{"Maximum", Opcode::Maximum, 2, -2, 2}, OneOpcode{"NegF", Opcode::NegF, 1, -2, 2},
                      OneOpcode{"AbsF", Opcode::AbsF, 1, -2, 2}, OneOpcode{"CopySign", Opcode::CopySign, 2, -2, 2},
                      OneOpcode{"Sqrt", Opcode::Sqrt, 1, 0.5, 2}, OneOpcode{"Rsqrt", Opcode::Rsqrt, 1, 0.5, 2},
                      OneOpcode{"Cbrt", Opcode::Cbrt, 1, 0.5, 2}, OneOpcode{"Exp", Opcode::Exp, 1, -2, 2},
                      OneOpcode{"ExpM1", Opcode::ExpM1, 1, -2, 2}, OneOpcode{"Log", Opcode::Log, 1, 0.5, 2},
                      OneOpcode{"Log1P", Opcode::Log1P, 1, -0.5, 2}, OneOpcode{"Pow", Opcode::Pow, 2, 0.5, 2},
                      OneOpcode{"Sin", Opcode::Sin, 1, -2, 2}, OneOpcode{"Cos", Opcode::Cos, 1, -2, 2},
                      OneOpcode{"Tan", Opcode::Tan, 1, -1, 1}, OneOpcode{"Atan2", Opcode::Atan2, 2, 0.5, 2},
                      OneOpcode{"Tanh", Opcode::Tanh, 1, -2, 2}, OneOpcode{"Erf", Opcode::Erf, 1, -2, 2},
                      OneOpcode{"Floor", Opcode::Floor, 1, -2, 2}, OneOpcode{"Ceil", Opcode::Ceil, 1, -2, 2},
                      OneOpcode{"Round", Opcode::Round, 1, -2, 2}, OneOpcode{"RoundEven", Opcode::RoundEven, 1, -2, 2}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(Tangent, WhatDependsOnNothingHasNone) {
  const bc::KernelT kernel = kernelOf(2, {op(Opcode::MulF, Type::F64, 0, 1)}, 4);
  auto differentiated = withTangents(kernel, {{1}, {0}});
  ASSERT_TRUE(differentiated.ok());
  EXPECT_EQ(differentiated->inputs, 3u);
  EXPECT_EQ(differentiated->results, 2u);
  EXPECT_EQ(differentiated->buffers.size(), 5u);
  EXPECT_EQ(run(*differentiated, {{2, 2, 2, 2}, {1, 1, 1, 1}, {1, 2, 3, 4}})[1], (std::vector<double>{2, 4, 6, 8}));
}

TEST(Tangent, ABitcastIsNamed) {
  const bc::KernelT kernel = kernelOf(1, {op(Opcode::Bitcast, Type::I64, 0), op(Opcode::Bitcast, Type::F64, 1)}, 1);
  EXPECT_TRUE(withTangents(kernel, {{0}, {0}}).ok()); // of an integer
  const bc::KernelT direct = kernelOf(1, {op(Opcode::Bitcast, Type::F64, 0)}, 1);
  const auto refused = withTangents(direct, {{0}, {0}});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("nest 1: Bitcast has no derivative"));
}

/// Sums of products: one nest of the same form for each factor.
TEST(Tangent, ASumOfProductsStaysOne) {
  OneNest one({2, 3}, {false, true}, {randomTensor(6, 1), randomTensor(3, 2)}, Type::F64, 2);
  one.nest->loads.push_back(testing::access(0, {3, 1}));
  one.nest->loads.push_back(testing::access(1, {0, 1}));
  one.nest->body = sumOfProducts();
  one.nest->outputs.push_back(output(testing::access(2, {1, 0}), 6));
  auto differentiated = withTangents(one.kernel, {{0, 1}, {0}});
  ASSERT_TRUE(differentiated.ok());
  ASSERT_EQ(differentiated->nests.size(), 4u); // the first one is of zeros
  for (size_t i = 1; i < 4; ++i)
    EXPECT_EQ(differentiated->nests[i]->body.size(), 7u);
  const TensorRef a = one.inputs[0], b = one.inputs[1], da = randomTensor(6, 3), db = randomTensor(3, 4);
  one.kernel = *differentiated;
  one.inputs = {a, b, da, db};
  auto results = one.tryRun();
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t row = 0; row < 2; ++row) {
    Number sum;
    for (size_t k = 0; k < 3; ++k)
      sum = add(sum,
                add(multiply(da->number(row * 3 + k), b->number(k)), multiply(a->number(row * 3 + k), db->number(k))));
    EXPECT_TRUE(sum.same((*results)[1]->number(row)));
  }
}

} // namespace
} // namespace dgc::verify::test
