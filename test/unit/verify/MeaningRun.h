// Runs the meaning of an action by the interpreter of the reference, and compares it with the CPU device.
#pragma once

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Enums.h"
#include "runtime/device/reference/Interpreter.h"
#include "runtime/verify/Meaning.h"
#include "test/unit/device/OneStep.h"

#include <algorithm>
#include <set>

namespace dgc::verify::test {

using rt::DType;
using rt::test::OneStep;
using rt::test::Tensor;
namespace fb = dgc::artifact;

/// A buffer of a program.
struct Memory {
  DType type;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  Memory(DType type, std::vector<int64_t> shape) : type(type), shape(std::move(shape)) {
    int64_t size = 1;
    for (int64_t extent : this->shape)
      size *= extent;
    bytes.resize(static_cast<size_t>(size) * rt::sizeOf(type));
  }
  explicit Memory(Tensor &tensor) : Memory(tensor.type, tensor.shape) {
    tensor.store();
    std::memcpy(bytes.data(), tensor.as<std::byte>(), bytes.size());
  }
  std::vector<double> values() const {
    std::vector<double> all(bytes.size() / rt::sizeOf(type));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = rt::loadElement(type, bytes.data(), static_cast<int64_t>(i));
    return all;
  }
};

/// A program of one step.
class OneStepProgram {
public:
  template <typename ActionT> OneStepProgram(const std::vector<Memory> &buffers, ActionT action) {
    fb::ProgramT program;
    program.name = "main";
    for (const Memory &each : buffers)
      rt::test::addBuffer(program, 0, each.shape, rt::fromDType(each.type));
    rt::test::addStep(program, std::move(action), "step");
    builder.Finish(fb::Program::Pack(builder, &program));
  }
  const fb::Program &program() const { return *flatbuffers::GetRoot<fb::Program>(builder.GetBufferPointer()); }
  const fb::Step &step() const { return *program().steps()->Get(0); }

private:
  flatbuffers::FlatBufferBuilder builder;
};

/// The buffers that an action writes.
class Written : public rt::ActionSink<Written> {
public:
  void operand(std::string_view, rt::Role role, int64_t buffer) {
    if (buffer >= 0 && rt::mayWrite(role))
      buffers.insert(static_cast<uint32_t>(buffer));
  }
  std::set<uint32_t> buffers;
};

/// What is in memory before it is written: of each floating-point type a number that would be seen.
inline constexpr std::byte kStale{0x45};

/// Runs a meaning on buffers; those that it writes get their results. Results have memory of their own until the end.
inline void runMeaning(const Meaning &meaning, std::vector<Memory> &buffers) {
  reference::KernelsT kernels;
  kernels.kernels.push_back(std::make_unique<reference::KernelT>(meaning.kernel));
  flatbuffers::FlatBufferBuilder builder;
  reference::FinishKernelsBuffer(builder, reference::Kernels::Pack(builder, &kernels));
  auto read = reference::readKernels(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  ASSERT_TRUE(read.ok()) << read.status();
  reference::Interpreter interpreter(*(*read)->kernels()->Get(0));
  std::vector<Memory> results;
  for (uint32_t buffer : meaning.results) {
    results.push_back(buffers[buffer]);
    std::fill(results.back().bytes.begin(), results.back().bytes.end(), kStale);
  }
  std::vector<void *> arguments;
  for (uint32_t buffer : meaning.inputs)
    arguments.push_back(buffers[buffer].bytes.data());
  for (Memory &result : results)
    arguments.push_back(result.bytes.data());
  std::vector<std::byte> workspace(interpreter.workspaceBytes() + 64, kStale);
  auto aligned = (reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64;
  absl::Status status = interpreter.run(arguments, reinterpret_cast<std::byte *>(aligned));
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < results.size(); ++i)
    buffers[meaning.results[i]] = std::move(results[i]);
}

/// The meaning of an action, which writes just what the action does.
template <typename ActionT> Meaning meaningFor(const std::vector<Memory> &buffers, ActionT action) {
  OneStepProgram program(buffers, std::move(action));
  absl::StatusOr<Meaning> meaning = meaningOf(program.program(), program.step());
  EXPECT_TRUE(meaning.ok()) << meaning.status();
  if (!meaning.ok())
    return {};
  Written written;
  rt::describe(program.step(), written);
  EXPECT_EQ(std::set(meaning->results.begin(), meaning->results.end()), written.buffers);
  return *std::move(meaning);
}

/// |a - b| within `tolerance` of the larger of 1 and |b|, everywhere.
inline void expectNear(const std::vector<double> &a, const std::vector<double> &b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::fabs(b[i]))) << "element " << i;
}

inline double toleranceOf(DType type) {
  return type == DType::F64 ? 1e-12 : type == DType::F32 ? 2e-5 : type == DType::F16 ? 4e-3 : 2e-2;
}

/// The meaning of an action gives what the CPU device gives.
template <typename ActionT> void expectAsOnDevice(ActionT action, std::vector<Tensor *> tensors, double tolerance) {
  std::vector<Memory> buffers;
  for (Tensor *tensor : tensors)
    buffers.emplace_back(*tensor);
  Meaning meaning = meaningFor(buffers, action);
  ASSERT_FALSE(meaning.results.empty());
  runMeaning(meaning, buffers);
  OneStep(tensors).run(std::move(action));
  for (uint32_t result : meaning.results) {
    Memory given(tensors[result]->type, tensors[result]->shape);
    std::memcpy(given.bytes.data(), tensors[result]->as<std::byte>(), given.bytes.size());
    expectNear(buffers[result].values(), given.values(), tolerance);
  }
}

inline constexpr DType floatTypes[] = {DType::F32, DType::F64, DType::BF16, DType::F16};

inline std::unique_ptr<fb::PostOpT> postOp(fb::PostOpKind kind, int32_t arg = -1) {
  auto op = std::make_unique<fb::PostOpT>();
  op->kind = kind;
  op->arg = arg;
  return op;
}

/// The meaning has one nest with a product, and that is no more than a contraction.
inline void expectOneContraction(const Meaning &meaning) {
  using reference::Opcode;
  int contractions = 0;
  for (const auto &nest : meaning.kernel.nests) {
    std::vector<Opcode> body;
    for (const reference::Instruction &each : nest->body)
      if (auto opcode = static_cast<Opcode>(each.opcode()); opcode != Opcode::ConvertFloat)
        body.push_back(opcode);
    if (std::find(nest->reduces.begin(), nest->reduces.end(), true) == nest->reduces.end())
      continue;
    ++contractions;
    EXPECT_EQ(body, (std::vector{Opcode::Load, Opcode::Load, Opcode::MulF, Opcode::Current, Opcode::AddF}));
    EXPECT_TRUE(std::is_sorted(nest->reduces.begin(), nest->reduces.end()));
  }
  EXPECT_EQ(contractions, 1);
}

} // namespace dgc::verify::test
