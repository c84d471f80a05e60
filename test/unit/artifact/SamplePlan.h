// A small valid plan for tests: every kind of action, two workers.
#pragma once

#include "runtime/artifact/Writer.h"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace dgc::rt::test {

namespace fb = dgc::artifact;

/// Adds a buffer to `program` and returns its index.
inline uint32_t addBuffer(fb::ProgramT &program, uint64_t offset, std::vector<int64_t> shape,
                          fb::DType dtype = fb::DType::F32, fb::Space space = fb::Space::Private) {
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->space = space;
  buffer->offset = offset;
  buffer->dtype = dtype;
  buffer->shape = std::move(shape);
  buffer->name = "b" + std::to_string(program.buffers.size());
  program.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(program.buffers.size() - 1);
}

template <typename ActionT> ActionT &addStep(fb::ProgramT &program, ActionT action, std::string name) {
  auto step = std::make_unique<fb::StepT>();
  step->name = std::move(name);
  step->location = "model.mlir:1:1";
  step->action.Set(std::move(action));
  program.steps.push_back(std::move(step));
  return *static_cast<ActionT *>(program.steps.back()->action.value);
}

inline std::unique_ptr<fb::ShardingT> sharding(std::vector<std::vector<uint32_t>> dims) {
  auto result = std::make_unique<fb::ShardingT>();
  for (auto &axes : dims) {
    auto dim = std::make_unique<fb::DimShardingT>();
    dim->axes = std::move(axes);
    result->dims.push_back(std::move(dim));
  }
  return result;
}

/// Adds the section of initial values: `count` floats that count up from `first`.
inline void addInitialSection(fb::PlanT &plan, size_t count, float first) {
  std::vector<float> elements(count);
  std::iota(elements.begin(), elements.end(), first);
  auto section = std::make_unique<fb::SectionT>();
  section->name = "initial";
  const auto *bytes = reinterpret_cast<const uint8_t *>(elements.data());
  section->data.assign(bytes, bytes + count * sizeof(float));
  plan.initial_section = static_cast<int32_t>(plan.sections.size());
  plan.sections.push_back(std::move(section));
}

/// Two workers on axis "data"; variable w [4, 4]; a program "train" with one
/// step of each kind except point to point.
inline fb::PlanT samplePlan() {
  fb::PlanT plan;
  plan.producer = "test";
  plan.model = "sample";
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  auto axis = std::make_unique<fb::MeshAxisT>();
  axis->name = "data";
  axis->size = 2;
  plan.mesh.push_back(std::move(axis));
  plan.world_size = 2;
  plan.global_batch = 4;
  plan.private_bytes = 8192;
  plan.shared_bytes = 1024;

  auto section = std::make_unique<fb::SectionT>();
  section->name = "object";
  section->data.assign(100, 7);
  plan.sections.push_back(std::move(section));
  section = std::make_unique<fb::SectionT>();
  section->name = "constants";
  section->data.assign(256, 1);
  plan.sections.push_back(std::move(section));
  plan.object_section = 0;
  plan.constant_section = 1;

  auto kernel = std::make_unique<fb::KernelT>();
  kernel->symbol = "kernel_0";
  kernel->arg_count = 2;
  plan.kernels.push_back(std::move(kernel));

  auto variableBuffer = std::make_unique<fb::BufferT>();
  variableBuffer->shape = {4, 4};
  variableBuffer->dtype = fb::DType::F32;
  plan.variable_buffers.push_back(std::move(variableBuffer));
  auto variable = std::make_unique<fb::VariableT>();
  variable->name = "w";
  variable->global_shape = {4, 4};
  variable->init = fb::InitKind::GlorotUniform;
  variable->a = 4;
  variable->b = 4;
  plan.variables.push_back(std::move(variable));

  auto program = std::make_unique<fb::ProgramT>();
  program->name = "train";
  using fb::DType;
  using fb::Space;
  uint32_t w = addBuffer(*program, 0, {4, 4});
  uint32_t x = addBuffer(*program, 64, {2, 4});
  uint32_t y = addBuffer(*program, 128, {2, 4});
  uint32_t bias = addBuffer(*program, 0, {4}, DType::F32, Space::Constant);
  uint32_t loss = addBuffer(*program, 0, {}, DType::F32, Space::Shared);
  uint32_t count = addBuffer(*program, 192, {}, DType::I32);
  uint32_t image = addBuffer(*program, 256, {1, 4, 4, 1});
  uint32_t filter = addBuffer(*program, 320, {3, 3, 1, 2});
  uint32_t features = addBuffer(*program, 448, {1, 4, 4, 2});
  uint32_t pooled = addBuffer(*program, 640, {1, 2, 2, 2});

  auto input = std::make_unique<fb::InputT>();
  input->name = "x";
  input->buffer = x;
  input->global_shape = {4, 4};
  input->sharding = sharding({{0}, {}});
  input->batch_dim = 0;
  program->inputs.push_back(std::move(input));
  input = std::make_unique<fb::InputT>();
  input->name = "count";
  input->role = fb::InputRole::ValidCount;
  input->buffer = count;
  program->inputs.push_back(std::move(input));
  auto output = std::make_unique<fb::OutputT>();
  output->name = "loss";
  output->buffer = loss;
  program->outputs.push_back(std::move(output));

  fb::MatmulT matmul;
  matmul.a = x;
  matmul.b = w;
  matmul.dst = y;
  matmul.bias = static_cast<int32_t>(bias);
  matmul.m = 2;
  matmul.n = 4;
  matmul.k = 4;
  auto relu = std::make_unique<fb::PostOpT>();
  relu->kind = fb::PostOpKind::Relu;
  matmul.post_ops.push_back(std::move(relu));
  addStep(*program, std::move(matmul), "matmul");
  fb::KernelCallT call;
  call.args = {y, loss};
  addStep(*program, std::move(call), "kernel");
  fb::ConvolutionT conv;
  conv.src = image;
  conv.weights = filter;
  conv.dst = features;
  conv.strides = conv.dilation = conv.pad_low = conv.pad_high = {1, 1};
  addStep(*program, std::move(conv), "conv");
  fb::PoolT pool;
  pool.kind = fb::PoolKind::MaxForward;
  pool.src = static_cast<int32_t>(features);
  pool.dst = static_cast<int32_t>(pooled);
  pool.window = pool.strides = {2, 2};
  pool.pad_low = pool.pad_high = {0, 0};
  addStep(*program, std::move(pool), "pool");
  fb::CollectiveT collective;
  collective.axes = {0};
  collective.dtype = DType::F32;
  collective.src_count = collective.dst_count = 1;
  collective.origin = "loss";
  addStep(*program, std::move(collective), "all_reduce");
  fb::CopyT copy;
  copy.src = x;
  copy.dst = y;
  addStep(*program, std::move(copy), "copy");
  fb::FillT fill;
  fill.dst = y;
  addStep(*program, std::move(fill), "fill");
  plan.programs.push_back(std::move(program));
  return plan;
}

} // namespace dgc::rt::test
