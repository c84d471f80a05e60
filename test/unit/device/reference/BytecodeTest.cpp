// What the check of bytecode refuses: each case breaks one thing of a kernel that is right.
#include "test/unit/device/reference/SampleKernel.h"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::testing;
using bc::Opcode;
using bc::Type;
using ::testing::HasSubstr;

namespace {

absl::Status checked(const std::vector<uint8_t> &bytes) {
  return bc::readKernels(std::as_bytes(std::span(bytes))).status();
}

TEST(Bytecode, ThatIsRightPasses) { EXPECT_TRUE(checked(packed(sampleKernels())).ok()); }

using K = bc::KernelT &;
struct Case {
  const char *name;
  std::function<void(K)> change;
  const char *message;
};
void PrintTo(const Case &each, std::ostream *os) { *os << each.name; }

class BytecodeCheck : public ::testing::TestWithParam<Case> {};

TEST_P(BytecodeCheck, IsRefused) {
  bc::KernelsT kernels = sampleKernels();
  GetParam().change(*kernels.kernels[0]);
  absl::Status status = checked(packed(kernels));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

bc::NestT &sum(K kernel) { return *kernel.nests[1]; }
bc::NestT &look(K kernel) { return *kernel.nests[2]; }

const Case cases[] = {
    {"Arguments", [](K k) { k.results = 9; }, "has 5 buffers for 11 arguments"},
    {"ManyArguments", [](K k) { k.inputs = k.results = ~0u; }, "has 5 buffers for 8589934590 arguments"},
    {"BufferType", [](K k) { k.buffers[0]->type = static_cast<Type>(77); }, "buffer 0 has an unknown type"},
    {"BufferSize", [](K k) { k.buffers[3]->count = ~0ull; }, "more elements than there is memory"},
    {"ConstantSize", [](K k) { k.buffers[4]->count = 2; }, "buffer 4 has 4 bytes of data for 2 elements"},
    {"ArgumentWithData", [](K k) { k.buffers[1]->data.resize(12); }, "buffer 1 has 12 bytes of data"},
    {"LoopsUndescribed", [](K k) { sum(k).reduces.pop_back(); }, "has 2 loops, of which 1 are described"},
    {"NegativeExtent", [](K k) { sum(k).extents[1] = -1; }, "loop 1 has -1 iterations"},
    {"ManyIterations", [](K k) { look(k).extents[0] = int64_t{1} << 62; }, "iterations"},
    {"LoadBuffer", [](K k) { sum(k).loads[0]->buffer = 5; }, "buffer 5 does not exist"},
    {"LoadStrides", [](K k) { sum(k).loads[0]->strides.pop_back(); }, "has 1 strides in 2 loops"},
    {"LoadBehind", [](K k) { sum(k).loads[0]->offset = 1; }, "an access is outside of buffer 0 of 12 elements"},
    {"LoadBefore", [](K k) { sum(k).loads[0]->strides[1] = -1; }, "an access is outside of buffer 0"},
    {"LoadFar", [](K k) { sum(k).loads[0]->strides[0] = INT64_MAX; }, "an access is outside of buffer 0"},
    {"Opcode", [](K k) { sum(k).body[3].mutate_opcode(200); }, "instruction 3: has an unknown opcode or type"},
    {"Type", [](K k) { sum(k).body[3].mutate_type(static_cast<Type>(50)); }, "has an unknown opcode or type"},
    {"LoadNumber", [](K k) { sum(k).body[0].mutate_a(1); }, "instruction 0 Load: load 1 does not exist"},
    {"LoadType", [](K k) { sum(k).body[0].mutate_type(Type::F64); }, "is of another type than what it reads"},
    {"LaterOperand", [](K k) { sum(k).body[3].mutate_b(3); },
     "instruction 3 MulF: operand 3 is not computed before it"},
    {"OperandType", [](K k) { sum(k).body[3].mutate_a(0); }, "operand 0 is of a wrong type"},
    {"ResultType", [](K k) { look(k).body[1].mutate_type(Type::F64); }, "instruction 1 ExtendS: is of a wrong type"},
    {"ComparedTypes", [](K k) { sum(k).body.push_back(op(Opcode::LessF, Type::I1, 0, 1)); }, "is of a wrong type"},
    {"BitcastWidth", [](K k) { sum(k).body.push_back(op(Opcode::Bitcast, Type::I64, 0)); }, "types of other widths"},
    {"SelectCondition", [](K k) { sum(k).body.push_back(op(Opcode::Select, Type::F32, 0, 0, 0)); },
     "operand 0 is of a wrong type"},
    {"Current", [](K k) { sum(k).body[4].mutate_a(1); }, "output 1 does not exist"},
    {"CurrentType", [](K k) { sum(k).body[4].mutate_type(Type::F32); }, "is of another type than what it reads"},
    {"IndexLoop", [](K k) { sum(k).body.push_back(op(Opcode::Index, Type::I64, 2)); }, "loop 2 does not exist"},
    {"LoadAtBuffer", [](K k) { look(k).body[2].mutate_a(5); }, "buffer 5 does not exist"},
    {"LoadAtPlace", [](K k) { look(k).body[2].mutate_b(0); }, "has a place that is no i64"},
    {"LoadAtLater", [](K k) { look(k).body[2].mutate_b(2); }, "operand 2 does not exist"},
    {"OutputToInput", [](K k) { look(k).outputs[0]->access->buffer = 1; }, "buffer 1 must not be written"},
    {"OutputToConstant",
     [](K k) {
       look(k).outputs[0]->access->buffer = 4;
       look(k).outputs[0]->access->strides[0] = 0;
     },
     "buffer 4 must not be written"},
    {"OutputBehind", [](K k) { look(k).outputs[0]->access->offset = 1; }, "an access is outside of buffer 2"},
    {"OutputReduces",
     [](K k) {
       sum(k).outputs[0]->access->strides = {0, 1};
       sum(k).extents[1] = 3;
     },
     "an output depends on loop 1, which reduces"},
    {"OutputValue", [](K k) { look(k).outputs[0]->value = 3; }, "an output is instruction 3, which does not exist"},
    {"OutputType", [](K k) { look(k).outputs[0]->value = 1; }, "an output is of another type than its buffer"},
};
INSTANTIATE_TEST_SUITE_P(Each, BytecodeCheck, ::testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

TEST(Bytecode, TwoKernelsOfOneNameAreRefused) {
  bc::KernelsT kernels = sampleKernels();
  kernels.kernels.push_back(std::move(sampleKernels().kernels[0]));
  EXPECT_THAT(std::string(checked(packed(kernels)).message()), HasSubstr("kernel 'k': a second kernel of this name"));
}

// No byte that is other, and no end that is missing, may lead outside of memory.
TEST(Bytecode, DamageIsFoundOrHarmless) {
  const std::vector<uint8_t> right = packed(sampleKernels());
  EXPECT_FALSE(checked({}).ok());
  EXPECT_THAT(std::string(checked({1, 2, 3, 4, 5, 6, 7, 8, 9}).message()), HasSubstr("no bytecode of the reference"));
  for (size_t size = 0; size < right.size(); size += 3)
    (void)checked({right.begin(), right.begin() + static_cast<std::ptrdiff_t>(size)});
  int ran = 0;
  for (size_t i = 0; i < right.size(); ++i)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> damaged = right;
      damaged[i] ^= flip;
      absl::StatusOr<const bc::Kernels *> kernels = bc::readKernels(std::as_bytes(std::span(damaged)));
      if (!kernels.ok() || !(*kernels)->kernels())
        continue;
      for (const bc::Kernel *kernel : *(*kernels)->kernels()) {
        auto isSmall = [](const bc::Buffer *each) { return each->count() < 1000; };
        if (!kernel->buffers() || !std::all_of(kernel->buffers()->begin(), kernel->buffers()->end(), isSmall))
          continue;
        std::vector<std::vector<std::byte>> memory;
        std::vector<void *> args;
        for (uint32_t b = 0; b < kernel->inputs() + kernel->results(); ++b)
          memory.emplace_back(kernel->buffers()->Get(b)->count() * sizeOf(kernel->buffers()->Get(b)->type()));
        for (std::vector<std::byte> &each : memory)
          args.push_back(each.data());
        bc::Interpreter interpreter(*kernel);
        std::vector<std::byte> workspace(interpreter.workspaceBytes());
        (void)interpreter.run(args, workspace.data());
        ++ran;
      }
    }
  EXPECT_GT(ran, 100) << "much of it is data that may be other";
}

} // namespace
