// Kernels of one nest over random numbers, for tests of the interpreter.
#pragma once

#include "runtime/verify/Interpreter.h"
#include "test/unit/device/reference/SampleKernel.h"

#include <random>

namespace dgc::verify::test {

namespace bc = dgc::reference;
using bc::Opcode;
using bc::Type;
using testing::buffer;
using testing::number;
using testing::op;
using testing::output;

/// Elements of no relation to their f64 values, which are small integers.
inline std::shared_ptr<Tensor> randomTensor(size_t count, uint64_t seed, Type type = Type::F32) {
  std::mt19937_64 random(seed);
  auto result = std::make_shared<Tensor>(type, count);
  for (size_t i = 0; i < count; ++i)
    result->set(i, {random() % kP, random() % kQ, static_cast<double>(random() % 64) - 31.5});
  result->degree = 1;
  return result;
}

inline std::shared_ptr<Tensor> integers(Type type, const std::vector<int64_t> &values) {
  auto result = std::make_shared<Tensor>(type, values.size());
  result->i.assign(values.begin(), values.end());
  return result;
}

/// A kernel whose buffers are the inputs, one result that begins with zeros, and then what is added.
struct OneNest {
  bc::KernelT kernel;
  bc::NestT *nest;
  Functions functions{11};
  std::unique_ptr<Counts> counts = std::make_unique<Counts>();

  OneNest(std::vector<int64_t> extents, std::vector<uint8_t> reduces, std::vector<TensorRef> given, Type type,
          size_t count)
      : inputs(std::move(given)) {
    kernel.symbol = "k";
    kernel.inputs = static_cast<uint32_t>(inputs.size());
    kernel.results = 1;
    for (const TensorRef &each : inputs)
      kernel.buffers.push_back(buffer(each->type, each->count));
    kernel.buffers.push_back(buffer(type, count));
    auto start = std::make_unique<bc::NestT>();
    start->extents = {static_cast<int64_t>(count)};
    start->reduces = {false};
    start->body = {op(Opcode::Constant, type)};
    start->outputs.push_back(output(testing::access(kernel.inputs, {1}), 0));
    kernel.nests.push_back(std::move(start));
    kernel.nests.push_back(std::make_unique<bc::NestT>());
    nest = kernel.nests.back().get();
    nest->extents = std::move(extents);
    nest->reduces.assign(reduces.begin(), reduces.end());
  }

  absl::StatusOr<std::vector<TensorRef>> tryRun(int threads = 1, bool portable = false) {
    bc::KernelsT kernels;
    kernels.kernels.push_back(std::make_unique<bc::KernelT>(kernel));
    const std::vector<uint8_t> bytes = testing::packed(kernels);
    auto read = bc::readKernels(std::as_bytes(std::span(bytes)));
    if (!read.ok())
      return read.status();
    return interpret(*(*read)->kernels()->Get(0), inputs, {functions, *counts, threads, portable});
  }
  TensorRef run(int threads = 1, bool portable = false) {
    auto results = tryRun(threads, portable);
    if (!results.ok())
      throw std::runtime_error(std::string(results.status().message()));
    return (*results)[0];
  }

  std::vector<TensorRef> inputs;
};

/// A nest that computes f(load of each input) for `count` elements.
inline OneNest elementwise(std::vector<TensorRef> inputs, Type type, std::vector<bc::Instruction> body) {
  const size_t count = inputs[0]->count;
  OneNest result({static_cast<int64_t>(count)}, {false}, inputs, type, count);
  std::vector<bc::Instruction> all;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    result.nest->loads.push_back(testing::access(i, {1}));
    all.push_back(op(Opcode::Load, inputs[i]->type, i));
  }
  all.insert(all.end(), body.begin(), body.end());
  result.nest->body = all;
  result.nest->outputs.push_back(
      output(testing::access(static_cast<uint32_t>(inputs.size()), {1}), static_cast<uint32_t>(all.size() - 1)));
  return result;
}

/// The body of a sum of products of two loads.
inline std::vector<bc::Instruction> sumOfProducts() {
  return {op(Opcode::Load, Type::F32, 0),    op(Opcode::ConvertFloat, Type::F64, 0),
          op(Opcode::Load, Type::F32, 1),    op(Opcode::ConvertFloat, Type::F64, 2),
          op(Opcode::MulF, Type::F64, 1, 3), op(Opcode::Current, Type::F64, 0),
          op(Opcode::AddF, Type::F64, 5, 4)};
}

} // namespace dgc::verify::test
