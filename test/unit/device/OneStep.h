// One action of a plan, run on tensors by the CPU device.
#pragma once

#include "runtime/base/Philox.h"
#include "runtime/base/Sanitizers.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "test/unit/artifact/SamplePlan.h"

#include "gtest/gtest.h"

#include <cmath>

/// The threads of oneDNN are those of libgomp, whose locks the thread sanitizer does not see.
#define SKIP_WITH_THREAD_SANITIZER()                                                                                   \
  if (dgc::rt::hasThreadSanitizer)                                                                                     \
  GTEST_SKIP() << "libgomp is not instrumented"

namespace dgc::rt::test {

/// A dense array of any floating-point type, with its values as f64.
class Tensor {
public:
  Tensor(std::vector<int64_t> shape, DType type, uint64_t seed = 0) : shape(std::move(shape)), type(type) {
    values.resize(static_cast<size_t>(size()));
    Philox philox(seed, 1);
    for (size_t i = 0; seed && i < values.size(); ++i)
      values[i] = rounded(2 * philox.uniformF32(i) - 1);
    memory.resize(values.size() * sizeOf(type) / 8 + 8);
    store();
  }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t extent : shape)
      n *= extent;
    return n;
  }
  double rounded(double v) const {
    float f = static_cast<float>(v);
    return type == DType::F64    ? v
           : type == DType::F16  ? fromF16(toF16(f))
           : type == DType::BF16 ? fromBF16(toBF16(f))
                                 : f;
  }
  void store() {
    for (size_t i = 0; i < values.size(); ++i) {
      float f = static_cast<float>(values[i]);
      if (type == DType::F64)
        as<double>()[i] = values[i];
      else if (type == DType::F32)
        as<float>()[i] = f;
      else if (type == DType::I32)
        as<int32_t>()[i] = static_cast<int32_t>(values[i]);
      else if (type == DType::I64)
        as<int64_t>()[i] = static_cast<int64_t>(values[i]);
      else if (sizeOf(type) == 1)
        as<uint8_t>()[i] = static_cast<uint8_t>(static_cast<int64_t>(values[i]));
      else
        as<uint16_t>()[i] = type == DType::F16 ? toF16(f) : toBF16(f);
    }
  }
  std::vector<double> stored() {
    std::vector<double> v(values.size());
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = type == DType::F64   ? as<double>()[i]
             : type == DType::F32 ? as<float>()[i]
             : type == DType::F16 ? fromF16(as<uint16_t>()[i])
                                  : fromBF16(as<uint16_t>()[i]);
    return v;
  }
  template <typename T> T *as() { return reinterpret_cast<T *>(memory.data()); }

  std::vector<int64_t> shape;
  DType type;
  std::vector<double> values;

private:
  std::vector<double> memory; // aligned
};

/// Serializes one action on tensors, prepares it and runs it (twice, to see that nothing is left over). Tensors that
/// accumulate are stored anew between.
class OneStep {
public:
  explicit OneStep(std::vector<Tensor *> tensors) : tensors(std::move(tensors)) {}

  template <typename ActionT> void run(ActionT action, int threads = 1, size_t scratchLimit = SIZE_MAX) {
    fb::PlanT plan;
    plan.target = std::make_unique<fb::TargetT>();
    plan.target->kind = "cpu";
    plan.world_size = 1;
    auto program = std::make_unique<fb::ProgramT>();
    program->name = "main";
    for (Tensor *tensor : tensors) {
      addBuffer(*program, plan.private_bytes, tensor->shape, static_cast<fb::DType>(tensor->type));
      plan.private_bytes += static_cast<uint64_t>(tensor->size() * 8 + 63) / 64 * 64;
    }
    addStep(*program, std::move(action), "step");
    plan.programs.push_back(std::move(program));
    auto artifact = loadBytes(*finishPlan(std::move(plan)));
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    auto device = CpuDevice::create(**artifact, threads);
    ASSERT_TRUE(device.ok()) << device.status();
    (*device)->setScratchLimit(scratchLimit);
    std::vector<Operand> operands;
    for (Tensor *tensor : tensors)
      operands.push_back({tensor->as<void>(), tensor->type, tensor->shape});
    auto op = (*device)->prepare(
        *(*artifact)->plan().programs()->Get(0)->steps()->Get(0)->template action_as<typename ActionT::TableType>(),
        operands);
    ASSERT_TRUE(op.ok()) << op.status();
    ASSERT_TRUE((*device)->finish().ok());
    scratchBytes = (*device)->scratchBytes();
    for (int i = 0; i < 2; ++i) {
      for (Tensor *tensor : tensors)
        tensor->store();
      absl::Status s = (*op)->run({});
      ASSERT_TRUE(s.ok()) << s;
    }
  }

  size_t scratchBytes = 0; ///< that the last run() has taken

private:
  std::vector<Tensor *> tensors;
};

} // namespace dgc::rt::test
