// --dry-run: the summary of a plan made by hand.
#include "runtime/telemetry/PlanSummary.h"

#include <gtest/gtest.h>

using namespace dgc::rt;
namespace fb = dgc::artifact;

/// Two workers, w [100, 10] f32 with a momentum, one all-reduce of 1000 f32.
static fb::PlanT samplePlan() {
  fb::PlanT plan;
  plan.model = "tiny";
  plan.producer = "dgc 0.1.0";
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.target->cpu = "x86-64-v3";
  plan.world_size = 2;
  plan.global_batch = 64;
  plan.private_bytes = 1000000;
  plan.shared_bytes = 4096;
  auto axis = std::make_unique<fb::MeshAxisT>();
  axis->name = "data";
  axis->size = 2;
  plan.mesh.push_back(std::move(axis));

  for (fb::VariableRole role : {fb::VariableRole::Weight, fb::VariableRole::Slot}) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->dtype = fb::DType::F32;
    buffer->shape = {100, 10};
    auto variable = std::make_unique<fb::VariableT>();
    variable->name = role == fb::VariableRole::Weight ? "w" : "w/momentum";
    variable->role = role;
    variable->global_shape = {100, 10};
    variable->buffer = static_cast<uint32_t>(plan.variable_buffers.size());
    plan.variable_buffers.push_back(std::move(buffer));
    plan.variables.push_back(std::move(variable));
  }

  auto section = std::make_unique<fb::SectionT>();
  section->name = "object";
  section->digest = std::make_unique<fb::Digest>();
  section->data.assign(500, 0);
  plan.sections.push_back(std::move(section));
  plan.object_section = 0;
  plan.file_digest = std::make_unique<fb::Digest>();

  auto program = std::make_unique<fb::ProgramT>();
  program->name = "train";
  auto add = [&](auto action) {
    auto step = std::make_unique<fb::StepT>();
    step->action.Set(std::move(action));
    program->steps.push_back(std::move(step));
  };
  add(fb::KernelCallT());
  add(fb::KernelCallT());
  add(fb::MatmulT());
  fb::CollectiveT collective;
  collective.kind = fb::CollectiveKind::AllReduce;
  collective.reduction = fb::Reduction::Sum;
  collective.axes = {0};
  collective.dtype = fb::DType::F32;
  collective.src_count = collective.dst_count = 1000;
  collective.origin = "gradients";
  add(std::move(collective));
  plan.programs.push_back(std::move(program));
  return plan;
}

TEST(PlanSummary, SaysWhatWillRun) {
  flatbuffers::FlatBufferBuilder builder;
  fb::PlanT plan = samplePlan();
  fb::FinishPlanBuffer(builder, fb::CreatePlan(builder, &plan));
  const fb::Plan &packed = *fb::GetPlan(builder.GetBufferPointer());
  EXPECT_EQ(workerBytes(packed), 1000000u + 4096 + 500);
  EXPECT_EQ(summarize(packed), "plan tiny by dgc 0.1.0 for cpu (x86-64-v3)\n"
                               "workers: 2 workers, mesh data=2, global batch 64\n"
                               "variables: 2 (1.00k weights, 1.00k of optimizer state, 0 statistics), "
                               "8.00 kB\n"
                               "memory per worker, peak: 1.00 MB (private 1000000 B, shared 4096 B, "
                               "libraries 0 B, constants 0 B, code 500 B), and the data set\n"
                               "program train: 4 steps (2 kernels, 1 library call)\n"
                               "  communication per step: 1 collective of 4000 B\n"
                               "    0: all_reduce sum over data, f32 x 1000 = 4.00 kB, gradients\n");
}
