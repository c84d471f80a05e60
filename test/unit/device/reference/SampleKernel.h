// A kernel that sums the rows of a matrix, times two, and looks up the results: for tests of the interpreter and of the check
// of its code.
#pragma once

#include "runtime/device/reference/Interpreter.h"

#include <bit>
#include <vector>

namespace dgc::testing {

namespace bc = dgc::reference;

inline bc::Instruction op(bc::Opcode opcode, bc::Type type, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0,
                          uint64_t immediate = 0) {
  return {static_cast<uint8_t>(opcode), type, a, b, c, immediate};
}

inline bc::Instruction number(double value, bc::Type type = bc::Type::F32) {
  return op(bc::Opcode::Constant, type, 0, 0, 0, std::bit_cast<uint64_t>(value));
}

inline std::unique_ptr<bc::BufferT> buffer(bc::Type type, uint64_t count, std::vector<uint8_t> data = {}) {
  auto result = std::make_unique<bc::BufferT>();
  result->type = type;
  result->count = count;
  result->data = std::move(data);
  return result;
}

inline std::unique_ptr<bc::AccessT> access(uint32_t buffer, std::vector<int64_t> strides, int64_t offset = 0) {
  auto result = std::make_unique<bc::AccessT>();
  result->buffer = buffer;
  result->offset = offset;
  result->strides = std::move(strides);
  return result;
}

inline std::unique_ptr<bc::OutputT> output(std::unique_ptr<bc::AccessT> access, uint32_t value) {
  auto result = std::make_unique<bc::OutputT>();
  result->access = std::move(access);
  result->value = value;
  return result;
}

/// Arguments: matrix [rows, columns] f32, places [rows] i32, result [rows] f32. A buffer of its own, [rows] f32, gets
/// 1 + 2 * the sum of each row; the result is that of the place for each row.
inline bc::KernelsT sampleKernels(int64_t rows = 3, int64_t columns = 4) {
  auto kernel = std::make_unique<bc::KernelT>();
  kernel->symbol = "k";
  kernel->inputs = 2;
  kernel->results = 1;
  const auto count = static_cast<uint64_t>(rows);
  kernel->buffers.push_back(buffer(bc::Type::F32, count * static_cast<uint64_t>(columns)));
  kernel->buffers.push_back(buffer(bc::Type::I32, count));
  kernel->buffers.push_back(buffer(bc::Type::F32, count));
  kernel->buffers.push_back(buffer(bc::Type::F32, count));
  kernel->buffers.push_back(buffer(bc::Type::F32, 1, {0, 0, 128, 63})); // 1.0

  auto start = std::make_unique<bc::NestT>();
  start->extents = {rows};
  start->reduces = {false};
  start->loads.push_back(access(4, {0}));
  start->body = {op(bc::Opcode::Load, bc::Type::F32, 0)};
  start->outputs.push_back(output(access(3, {1}), 0));

  auto sum = std::make_unique<bc::NestT>();
  sum->extents = {rows, columns};
  sum->reduces = {false, true};
  sum->loads.push_back(access(0, {columns, 1}));
  sum->body = {op(bc::Opcode::Load, bc::Type::F32, 0),
               op(bc::Opcode::ConvertFloat, bc::Type::F64, 0),
               number(2, bc::Type::F64),
               op(bc::Opcode::MulF, bc::Type::F64, 1, 2),
               op(bc::Opcode::Current, bc::Type::F64, 0),
               op(bc::Opcode::AddF, bc::Type::F64, 4, 3)};
  sum->outputs.push_back(output(access(3, {1, 0}), 5));

  auto look = std::make_unique<bc::NestT>();
  look->extents = {rows};
  look->reduces = {false};
  look->loads.push_back(access(1, {1}));
  look->body = {op(bc::Opcode::Load, bc::Type::I32, 0), op(bc::Opcode::ExtendS, bc::Type::I64, 0),
                op(bc::Opcode::LoadAt, bc::Type::F32, 3, 1)};
  look->outputs.push_back(output(access(2, {1}), 2));

  kernel->nests.push_back(std::move(start));
  kernel->nests.push_back(std::move(sum));
  kernel->nests.push_back(std::move(look));
  bc::KernelsT kernels;
  kernels.kernels.push_back(std::move(kernel));
  return kernels;
}

inline std::vector<uint8_t> packed(const bc::KernelsT &kernels) {
  flatbuffers::FlatBufferBuilder builder;
  bc::FinishKernelsBuffer(builder, bc::Kernels::Pack(builder, &kernels));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace dgc::testing
