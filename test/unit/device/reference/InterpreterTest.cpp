// Nests of loops, as the interpreter runs them.
#include "test/unit/device/reference/SampleKernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

using namespace dgc::testing;
using bc::Opcode;
using bc::Type;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// Runs the only kernel.
absl::Status run(const bc::KernelsT &kernels, std::vector<void *> args) {
  std::vector<uint8_t> bytes = packed(kernels);
  absl::StatusOr<const bc::Kernels *> read = bc::readKernels(std::as_bytes(std::span(bytes)));
  if (!read.ok())
    return read.status();
  bc::Interpreter interpreter(*(*read)->kernels()->Get(0));
  std::vector<std::byte> workspace(interpreter.workspaceBytes(), std::byte{0x55});
  return interpreter.run(args, workspace.data());
}

// The sum begins with what the output holds, and the last nest reads at computed places.
TEST(Interpreter, SumsAndLooksUp) {
  std::vector<float> matrix{1, 2, 3, 4, 10, 20, 30, 40, -1, -1, -1, -1}, result(3);
  std::vector<int32_t> places{2, 0, 1};
  ASSERT_TRUE(run(sampleKernels(), {matrix.data(), places.data(), result.data()}).ok());
  EXPECT_THAT(result, ElementsAre(-7, 21, 201));
}

// More rows than a strip has, and not a multiple of it.
TEST(Interpreter, LongLoopsAreCutIntoStrips) {
  const int64_t rows = 150, columns = 3;
  std::vector<float> matrix(rows * columns), result(rows);
  std::iota(matrix.begin(), matrix.end(), 0.0f);
  std::vector<int32_t> places(rows);
  std::iota(places.begin(), places.end(), 0);
  ASSERT_TRUE(run(sampleKernels(rows, columns), {matrix.data(), places.data(), result.data()}).ok());
  for (int64_t i = 0; i < rows; ++i)
    EXPECT_EQ(result[static_cast<size_t>(i)], static_cast<float>(1 + 2 * (9 * i + 3))) << i;
}

TEST(Interpreter, PlacesOutsideAreAnError) {
  std::vector<float> matrix(12), result(3);
  for (int32_t outside : {-1, 3}) {
    std::vector<int32_t> places{0, outside, 1};
    EXPECT_THAT(std::string(run(sampleKernels(), {matrix.data(), places.data(), result.data()}).message()),
                HasSubstr("kernel 'k' reads element"));
  }
}

// What an empty sum leaves is what the output held.
TEST(Interpreter, EmptyLoopsDoNothing) {
  std::vector<float> result(3);
  std::vector<int32_t> places{0, 1, 2};
  ASSERT_TRUE(run(sampleKernels(3, 0), {result.data(), places.data(), result.data()}).ok());
  EXPECT_THAT(result, ElementsAre(1, 1, 1));
}

// The sum of numbers of f32 is rounded once: in f32 the ones would be lost.
TEST(Interpreter, SumsAreInF64) {
  std::vector<float> matrix{16777216, 1, 1, -16777216}, result(1);
  std::vector<int32_t> places{0};
  ASSERT_TRUE(run(sampleKernels(1, 4), {matrix.data(), places.data(), result.data()}).ok());
  EXPECT_THAT(result, ElementsAre(5));
}

// Without a loop a nest runs once; with only loops that reduce it has one element.
TEST(Interpreter, ScalarNests) {
  bc::KernelsT kernels = sampleKernels(1, 6);
  bc::NestT &sum = *kernels.kernels[0]->nests[1];
  sum.extents = {6};
  sum.reduces = {true};
  sum.loads[0]->strides = {1};
  sum.outputs[0]->access->strides = {0};
  bc::NestT &start = *kernels.kernels[0]->nests[0];
  start.extents.clear();
  start.reduces.clear();
  start.loads[0]->strides.clear();
  start.outputs[0]->access->strides.clear();
  std::vector<float> matrix{1, 2, 3, 4, 5, 6}, result(1);
  std::vector<int32_t> places{0};
  ASSERT_TRUE(run(kernels, {matrix.data(), places.data(), result.data()}).ok());
  EXPECT_THAT(result, ElementsAre(43));
}

// Indices count up in strips, loops outside of them and loops that reduce.
TEST(Interpreter, Indices) {
  bc::KernelsT kernels;
  auto kernel = std::make_unique<bc::KernelT>();
  kernel->symbol = "indices";
  kernel->results = 1;
  kernel->buffers.push_back(buffer(Type::I64, 2 * 70));
  auto nest = std::make_unique<bc::NestT>();
  nest->extents = {2, 3, 70};
  nest->reduces = {false, true, false};
  // The last value stays: 10000 i + 1000 j + k.
  nest->body = {op(Opcode::Index, Type::I64, 0),
                op(Opcode::Index, Type::I64, 1),
                op(Opcode::Index, Type::I64, 2),
                op(Opcode::Constant, Type::I64, 0, 0, 0, 10000),
                op(Opcode::Constant, Type::I64, 0, 0, 0, 1000),
                op(Opcode::MulI, Type::I64, 0, 3),
                op(Opcode::MulI, Type::I64, 1, 4),
                op(Opcode::AddI, Type::I64, 5, 6),
                op(Opcode::AddI, Type::I64, 7, 2)};
  nest->outputs.push_back(output(access(0, {70, 0, 1}), 8));
  kernel->nests.push_back(std::move(nest));
  kernels.kernels.push_back(std::move(kernel));
  std::vector<int64_t> result(140);
  ASSERT_TRUE(run(kernels, {result.data()}).ok());
  EXPECT_EQ(result[0], 2000);
  EXPECT_EQ(result[69], 2069);
  EXPECT_EQ(result[70 + 65], 12065);
}

} // namespace
