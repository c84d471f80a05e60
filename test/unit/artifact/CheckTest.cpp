// One violation each: a valid plan with one field changed, and the part of the
// message that must name it.
#include "SamplePlan.h"

#include "runtime/artifact/Reader.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <utility>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
struct Violation {
  const char *name;
  std::function<void(fb::PlanT &)> change;
  const char *message;
};

class Check : public ::testing::TestWithParam<Violation> {};

template <typename ActionT> ActionT &action(fb::PlanT &plan, size_t step) {
  return *static_cast<ActionT *>(plan.programs[0]->steps[step]->action.value);
}
fb::MatmulT &matmul(fb::PlanT &p) { return action<fb::MatmulT>(p, 0); }
/// The same product, its memory described by strides.
fb::MatmulT &setStrides(fb::PlanT &p) {
  fb::MatmulT &op = matmul(p);
  op.a_strides = {static_cast<int64_t>(op.k), 1};
  op.b_strides = op.dst_strides = {static_cast<int64_t>(op.n), 1};
  return op;
}
fb::KernelCallT &call(fb::PlanT &p) { return action<fb::KernelCallT>(p, 1); }
fb::ConvolutionT &conv(fb::PlanT &p) { return action<fb::ConvolutionT>(p, 2); }
fb::PoolT &pool(fb::PlanT &p) { return action<fb::PoolT>(p, 3); }
fb::CollectiveT &collective(fb::PlanT &p) { return action<fb::CollectiveT>(p, 4); }
fb::BufferT &buffer(fb::PlanT &p, size_t i) { return *p.programs[0]->buffers[i]; }

TEST_P(Check, IsRefusedByName) {
  fb::PlanT plan = samplePlan();
  GetParam().change(plan);
  absl::Status s = loadBytes(*finishPlan(std::move(plan))).status();
  ASSERT_FALSE(s.ok());
  EXPECT_NE(std::string(s.message()).find(GetParam().message), std::string::npos) << s;
}

using P = fb::PlanT &;
/// Parts of gradients behind the other steps, on a GPU: relu or gelu of [3, 136], or the gradient of that, in bf16.
fb::MatmulT &gradientParts(P p, fb::PostOpKind kind) {
  p.target->kind = "cuda";
  fb::ProgramT &program = *p.programs[0];
  uint64_t offset = 8192;
  auto add = [&](std::vector<int64_t> shape, fb::DType type = fb::DType::BF16) {
    return addBuffer(program, std::exchange(offset, offset + 4096), std::move(shape), type);
  };
  const bool isGradient = kind == fb::PostOpKind::ReluGrad || kind == fb::PostOpKind::GeluTanhGrad;
  const bool isRelu = kind == fb::PostOpKind::Relu || kind == fb::PostOpKind::ReluGrad;
  fb::MatmulT op;
  op.m = 3, op.n = 136, op.k = 5;
  op.a = add({3, 5});
  op.b = add({5, 136});
  op.dst = add({3, 136});
  const auto aux = static_cast<int32_t>(isRelu ? add({3, 32}, fb::DType::U8) : add({3, 136}));
  auto postOp = std::make_unique<fb::PostOpT>();
  postOp->kind = kind;
  if (isGradient) {
    postOp->arg = aux;
    op.bias_gradient = static_cast<int32_t>(add({136}));
  } else {
    op.aux = aux;
  }
  op.post_ops.push_back(std::move(postOp));
  p.private_bytes = 65536;
  addStep(program, std::move(op), "matmul");
  return *program.steps.back()->action.AsMatmul();
}

/// A kernel of one grid for GPUs, with code.
void forGpus(P p) {
  p.target->kind = "cuda";
  auto launch = std::make_unique<fb::LaunchT>();
  launch->symbol = "k_0";
  launch->grid = 4;
  launch->block = 256;
  p.kernels[0]->launches.push_back(std::move(launch));
  p.device_code.push_back(std::make_unique<fb::DeviceCodeT>());
}

/// An attention behind the other steps, of 2 heads, 3 places that see 5, with 4 and 2 features; its gradient if wanted.
fb::AttentionT &attention(fb::PlanT &p, bool backward = false) {
  fb::ProgramT &program = *p.programs[0];
  uint64_t offset = 4096;
  auto add = [&](std::vector<int64_t> shape, fb::DType type = fb::DType::BF16) {
    return addBuffer(program, std::exchange(offset, offset + 256), std::move(shape), type);
  };
  fb::AttentionT op;
  op.backward = backward;
  op.query = add({2, 3, 8});
  op.key = add({2, 5, 8});
  op.value = add({2, 5, 4});
  op.result = add({2, 3, 4});
  op.log_sum = add({2, 2, 3}, fb::DType::F32);
  if (backward) {
    op.result_gradient = static_cast<int32_t>(add({2, 3, 4}));
    op.query_gradient = static_cast<int32_t>(add({2, 3, 8}));
    op.key_gradient = static_cast<int32_t>(add({2, 5, 8}));
    op.value_gradient = static_cast<int32_t>(add({2, 5, 4}));
  }
  op.heads = 2;
  op.scale = 0.5;
  return addStep(program, std::move(op), "attention");
}
fb::BufferT &operand(fb::PlanT &p, int64_t index) { return buffer(p, static_cast<size_t>(index)); }

TEST(CheckAttention, ForwardsAndBackwards) {
  for (bool backward : {false, true}) {
    fb::PlanT plan = samplePlan();
    attention(plan, backward);
    absl::Status s = loadBytes(*finishPlan(std::move(plan))).status();
    EXPECT_TRUE(s.ok()) << s;
  }
}

const Violation violations[] = {
    {"AttentionQuery", [](P p) { attention(p).query = 99; }, "attention: query is buffer 99, which does not exist"},
    {"AttentionRank", [](P p) { operand(p, attention(p).key).shape = {2, 40}; }, "the key is no buffer of rank 3"},
    {"AttentionType", [](P p) { operand(p, attention(p).query).dtype = fb::DType::F32; },
     "the query must be of f16 or bf16"},
    {"AttentionOtherType", [](P p) { operand(p, attention(p).value).dtype = fb::DType::F16; }, "the value, buffer"},
    {"AttentionLogSum", [](P p) { operand(p, attention(p).log_sum).dtype = fb::DType::BF16; }, "the log_sum, buffer"},
    {"AttentionPlaces", [](P p) { operand(p, attention(p).value).shape = {2, 4, 4}; }, "the value, buffer"},
    {"AttentionEmpty", [](P p) { operand(p, attention(p).query).shape = {2, 0, 8}; }, "sizes must be at least 1"},
    {"AttentionNoHeads", [](P p) { attention(p).heads = 0; }, "0 heads do not divide 8 and 4 features"},
    {"AttentionHeads", [](P p) { attention(p).heads = 3; }, "3 heads do not divide 8 and 4 features"},
    {"AttentionManyHeads", [](P p) { attention(p).heads = ~0ull; }, "heads do not divide"},
    {"AttentionCausal", [](P p) { attention(p).causal = true; }, "it is causal, but has 3 places that see 5"},
    {"AttentionScale", [](P p) { attention(p).scale = NAN; }, "the scale is not finite"},
    {"AttentionGradients", [](P p) { attention(p).key_gradient = 0; }, "only `backward` has gradients"},
    {"AttentionNoGradient", [](P p) { attention(p, true).result_gradient = -1; },
     "the result_gradient is buffer -1, which does not exist"},
    {"AttentionGradientShape", [](P p) { operand(p, attention(p, true).key_gradient).shape = {2, 8, 5}; },
     "the key_gradient, buffer"},
    {"AttentionOverlap", [](P p) { operand(p, attention(p, true).value_gradient).offset = 4096; },
     "the value_gradient overlaps the query in memory"},
    {"AttentionConstant",
     [](P p) {
       fb::BufferT &result = operand(p, attention(p).result);
       result.space = fb::Space::Constant;
       result.offset = 64;
     },
     "result is in constant memory but is written"},
    {"GridBlocks", [](P p) { forGpus(p), p.kernels[0]->launches[0]->grid = 0; }, "grid 0 has 0 blocks"},
    {"GridThreads", [](P p) { forGpus(p), p.kernels[0]->launches[0]->block = 40; }, "blocks of 40 threads"},
    {"GridManyThreads", [](P p) { forGpus(p), p.kernels[0]->launches[0]->block = 2048; }, "blocks of 2048 threads"},
    {"GridSymbol", [](P p) { forGpus(p), p.kernels[0]->launches[0]->symbol = "a;b"; }, "identifier"},
    {"Workspace", [](P p) { forGpus(p), p.kernels[0]->workspace_bytes = ~0ull; }, "workspace of more than 64 TiB"},
    {"DeviceCodeSection", [](P p) { forGpus(p), p.device_code[0]->section = 9; }, "section 9 does not exist"},
    {"NoDeviceCode", [](P p) { forGpus(p), p.device_code.clear(); }, "kernels for GPUs but no code"},
    {"DeviceCodeForCpu", [](P p) { forGpus(p), p.target->kind = "cpu"; }, "code for GPUs in a plan for another device"},
    {"UnknownDevice", [](P p) { p.target->kind = "abacus"; }, "the plan is for 'abacus' devices; this dgc has 'cpu'"},
    {"UnknownHost",
     [](P p) {
       p.host_target = std::make_unique<fb::TargetT>();
       p.host_target->kind = "abacus";
     },
     "the plan is for 'abacus' devices"},
    {"WorldSize", [](P p) { p.world_size = 3; }, "world_size is 3"},
    {"MeshZero", [](P p) { p.mesh[0]->size = 0; }, "size 0"},
    {"MeshAxes",
     [](P p) {
       for (int i = 0; i < 64; ++i) {
         p.mesh.push_back(std::make_unique<fb::MeshAxisT>(*p.mesh[0]));
         p.mesh.back()->name += std::to_string(i);
         p.mesh.back()->size = 1;
       }
     },
     "65 axes"},
    {"MeshHuge", [](P p) { p.mesh[0]->size = 1u << 31; }, "more than"},
    {"ArenaHuge", [](P p) { p.private_bytes = ~0ull; }, "64 TiB"},
    {"ObjectSection", [](P p) { p.object_section = 2; }, "does not exist"},
    {"Symbol", [](P p) { p.kernels[0]->symbol = "a;b"; }, "identifier"},
    {"Extent", [](P p) { p.kernels[0]->extent = 0; }, "extent is 0"},
    {"Dtype", [](P p) { buffer(p, 1).dtype = static_cast<fb::DType>(99); }, "unknown element type 99"},
    {"Space", [](P p) { buffer(p, 1).space = static_cast<fb::Space>(9); }, "unknown memory space 9"},
    {"NegativeExtent", [](P p) { buffer(p, 1).shape = {-2, -4}; }, "negative"},
    {"ShapeOverflow", [](P p) { buffer(p, 1).shape = {1ll << 40, 1ll << 40}; }, "overflows"},
    {"Rank", [](P p) { buffer(p, 1).shape.assign(17, 1); }, "rank 17"},
    {"OutsideArena", [](P p) { buffer(p, 1).offset = 8192; }, "outside"},
    {"OffsetWraps", [](P p) { buffer(p, 1).offset = ~63ull; }, "outside"},
    {"Misaligned", [](P p) { buffer(p, 1).offset = 4; }, "multiple of 64"},
    {"NoConstants", [](P p) { p.constant_section = -1; }, "outside"},
    {"VariableBuffer", [](P p) { p.variables[0]->buffer = 5; }, "variable 'w': buffer 5"},
    {"VariableInit", [](P p) { p.variables[0]->init = static_cast<fb::InitKind>(50); }, "initializer"},
    {"VariableFile",
     [](P p) {
       p.variables[0]->init = fb::InitKind::File;
       p.variables[0]->file = "a/../../etc/passwd";
     },
     "below the data folder"},
    {"VariableTwice", [](P p) { p.variables.push_back(std::make_unique<fb::VariableT>(*p.variables[0])); },
     "second variable"},
    {"KernelOnHostOfCpus", [](P p) { p.kernels[0]->on_host = true; }, "is one for the host, and none beside GPUs"},
    {"KernelOnHostCalledByGpus",
     [](P p) {
       forGpus(p);
       p.kernels[0]->launches.clear();
       p.kernels[0]->on_host = true;
     },
     "is for workers on the host, and these are not"},
    {"GroupOnHostOfCpus",
     [](P p) {
       auto group = std::make_unique<fb::GroupT>();
       group->name = "ps0";
       group->rank_count = 1;
       group->on_host = true;
       p.groups.push_back(std::move(group));
     },
     "group 'ps0' is on the host, and the plan is not one for GPUs"},
    {"BlockOfNoGroup", [](P p) { p.variables[0]->row_count = 1; }, "no block that a group holds"},
    {"BlockOfNothing", [](P p) { p.variables[0]->first_row = 1; }, "no block that a group holds"},
    {"VariablesOverlap",
     [](P p) {
       p.variables.push_back(std::make_unique<fb::VariableT>(*p.variables[0]));
       p.variables[1]->name = "v";
     },
     "overlap"},
    {"ShardingRank", [](P p) { p.programs[0]->inputs[0]->sharding = sharding({{0}}); }, "1 dimensions"},
    {"ShardingAxis", [](P p) { p.programs[0]->inputs[0]->sharding = sharding({{3}, {}}); }, "does not exist"},
    {"ShardingTwice", [](P p) { p.programs[0]->inputs[0]->sharding = sharding({{0}, {0}}); }, "second time"},
    {"ShardingOrigins",
     [](P p) {
       p.programs[0]->inputs[0]->sharding = sharding({{0}, {}});
       p.programs[0]->inputs[0]->sharding->dims[0]->origins = {"user", "user"};
     },
     "2 origins for 1 axes"},
    {"PaddedLocalShape", [](P p) { p.programs[0]->inputs[0]->global_shape = {5, 4}; }, "one worker's part"},
    {"LocalShape", [](P p) { p.programs[0]->inputs[0]->global_shape = {8, 4}; }, "one worker's part"},
    {"BatchDim", [](P p) { p.programs[0]->inputs[0]->batch_dim = 2; }, "batch dimension 2"},
    {"AxisIndex",
     [](P p) {
       fb::InputT &input = *p.programs[0]->inputs[1];
       input.role = fb::InputRole::AxisIndex;
       input.name = "data,model";
       buffer(p, 5).dtype = fb::DType::I64;
     },
     "names no axes of the mesh"},
    {"InputTwice",
     [](P p) { p.programs[0]->inputs.push_back(std::make_unique<fb::InputT>(*p.programs[0]->inputs[0])); },
     "second input"},
    {"CountType", [](P p) { buffer(p, 5).dtype = fb::DType::F32; }, "i32"},
    {"OutputBuffer", [](P p) { p.programs[0]->outputs[0]->buffer = 99; }, "output 'loss'"},
    {"Queue", [](P p) { p.programs[0]->steps[0]->queue = 16; }, "queue 16"},
    {"Waits", [](P p) { p.programs[0]->steps[0]->waits = {0}; }, "step 0 'matmul': waits for step 0"},
    {"OverlapOfCompute", [](P p) { p.programs[0]->steps[0]->queue = 1; }, "only a collective goes on"},
    {"OverlapAwaited", [](P p) { p.programs[0]->steps[5]->waits = {4}; }, "step 4, which is not under way"},
    {"OverlapTwice",
     [](P p) {
       p.programs[0]->steps[4]->queue = 1;
       p.programs[0]->steps[5]->waits = p.programs[0]->steps[6]->waits = {4};
     },
     "step 6 waits for step 4, which is not under way"},
    {"OverlapTouched",
     [](P p) {
       p.programs[0]->steps[4]->queue = 1;
       fb::FillT fill; // of what is reduced
       fill.dst = call(p).args[1];
       p.programs[0]->steps[5]->action.Set(std::move(fill));
     },
     "step 5 uses memory that step 4"},
    {"CollectiveRanges",
     [](P p) {
       collective(p).kind = fb::CollectiveKind::Broadcast;
       collective(p).more.push_back(std::make_unique<fb::CollectiveRangeT>());
     },
     "several ranges"},
    {"CollectiveRangeOutside",
     [](P p) {
       collective(p).more.push_back(std::make_unique<fb::CollectiveRangeT>());
       collective(p).more[0]->src = 1 << 20;
       collective(p).more[0]->src_count = collective(p).more[0]->dst_count = 1;
     },
     "outside of the shared arena"},
    {"Kernel", [](P p) { call(p).kernel = 1; }, "kernel 1"},
    {"ArgCount", [](P p) { call(p).args = {0}; }, "takes 2 arguments"},
    {"ArgIndex", [](P p) { call(p).args = {0, 4096}; }, "buffer 4096"},
    {"MatmulOverflow", [](P p) { matmul(p).m = matmul(p).k = uint64_t{1} << 33; }, "overflow"},
    {"MatmulZero", [](P p) { matmul(p).k = 0; }, "at least 1"},
    {"MatmulSize", [](P p) { matmul(p).n = 5; }, "must have 20 elements"},
    {"MatmulAlias", [](P p) { matmul(p).dst = matmul(p).a; }, "overlaps a"},
    {"MatmulConstant", [](P p) { matmul(p).dst = 3; }, "constant memory"},
    {"MatmulBias", [](P p) { matmul(p).bias = 1; }, "bias must have 4"},
    {"MatmulStridesCount", [](P p) { setStrides(p).a_strides.pop_back(); },
     "a has 1 strides for 0 batch dimensions, rows and columns"},
    {"MatmulStridesOutside", [](P p) { setStrides(p).b_strides = {8, 1}; },
     "b has strides that do not meet each of its elements once"},
    {"MatmulStridesTwice", [](P p) { setStrides(p).dst_strides = {0, 1}; },
     "dst has strides that do not meet each of its elements once"},
    {"MatmulStridesNegative", [](P p) { setStrides(p).a_strides = {4, -1}; },
     "a has strides that do not meet each of its elements once"},
    {"MatmulStridesBatch",
     [](P p) {
       fb::MatmulT &op = setStrides(p);
       op.batch_sizes = {2};
       for (std::vector<int64_t> *strides : {&op.a_strides, &op.b_strides, &op.dst_strides})
         strides->insert(strides->begin(), 16);
     },
     "the batch is not the product of the batch sizes"},
    {"MatmulStridesTranspose", [](P p) { setStrides(p).transpose_a = true; },
     "strides and transposes are given together"},
    {"MatmulStridesPostOps",
     [](P p) {
       fb::MatmulT &op = setStrides(p);
       op.dst_strides = {1, static_cast<int64_t>(op.m)};
     },
     "need n as the innermost dimension"},
    {"PostOpKind", [](P p) { matmul(p).post_ops[0]->kind = static_cast<fb::PostOpKind>(40); }, "unknown kind"},
    {"GradientPartsOnCpu", [](P p) { gradientParts(p, fb::PostOpKind::Relu), p.target->kind = "cpu"; },
     "is a part of products on GPUs only"},
    {"ReluMaskType", [](P p) { gradientParts(p, fb::PostOpKind::Relu).aux = 0; }, "aux must have 96 elements of U8"},
    {"GeluOperand", [](P p) { gradientParts(p, fb::PostOpKind::GeluTanh).aux = 0; },
     "aux must have 408 elements of BF16"},
    {"GeluOperandIsDst",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::GeluTanh);
       op.aux = static_cast<int32_t>(op.dst);
     },
     "overlaps another result"},
    {"ReluGradientArg", [](P p) { gradientParts(p, fb::PostOpKind::ReluGrad).post_ops[0]->arg = -1; },
     "the argument of a gradient is buffer -1"},
    {"GeluGradientOverDst",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::GeluTanhGrad);
       op.post_ops[0]->arg = static_cast<int32_t>(op.dst);
     },
     "overlaps what it is computed from"},
    {"GradientPartsType",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::Relu);
       for (uint32_t buffer : {op.a, op.b, op.dst})
         p.programs[0]->buffers[buffer]->dtype = fb::DType::F32;
     },
     "for products of f16 and bf16"},
    {"GradientWithBias",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::ReluGrad);
       op.bias = std::exchange(op.bias_gradient, -1);
     },
     "does not go with a bias"},
    {"BiasGradientSize", [](P p) { gradientParts(p, fb::PostOpKind::ReluGrad).bias_gradient = 0; },
     "the gradient of a bias must have 136 elements"},
    {"BiasGradientOfOperand",
     [](P p) { gradientParts(p, fb::PostOpKind::ReluGrad).bias_gradient_of = fb::MatmulValue::B; },
     "that of dst behind ReluGrad or GeluTanhGrad"},
    {"BiasGradientOf",
     [](P p) { gradientParts(p, fb::PostOpKind::ReluGrad).bias_gradient_of = static_cast<fb::MatmulValue>(7); },
     "of an unknown matrix"},
    {"AuxOfTanh", [](P p) { gradientParts(p, fb::PostOpKind::Relu).post_ops[0]->kind = fb::PostOpKind::Tanh; },
     "aux is for the post-ops Relu and GeluTanh"},
    {"AuxOfStrided",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::Relu);
       op.a_strides = {5, 1}, op.b_strides = op.dst_strides = {136, 1}, op.batch_sizes = std::vector<int64_t>();
     },
     "for single products that are not strided"},
    {"PostOpArg", [](P p) { matmul(p).post_ops[0]->kind = fb::PostOpKind::Add; }, "does not exist"},
    {"ConvKind", [](P p) { conv(p).kind = static_cast<fb::ConvKind>(9); }, "unknown kind"},
    {"ConvStrideZero", [](P p) { conv(p).strides = {0, 1}; }, "at least 1"},
    {"ConvPadHuge", [](P p) { conv(p).pad_low = {1ll << 62, 1}; }, "below"},
    {"ConvWindow", [](P p) { conv(p).pad_low = {0, 0}; }, "the window gives 3"},
    {"ConvRank", [](P p) { conv(p).strides = {1}; }, "2 entries"},
    {"ConvOutFirst", [](P p) { conv(p).weights_out_first = true; }, "channels"},
    {"ConvBiasBackward",
     [](P p) {
       conv(p).bias = 0;
       conv(p).kind = fb::ConvKind::BackwardWeights;
     },
     "only Forward takes a bias"},
    {"ConvGroups", [](P p) { conv(p).groups = 2; }, "channels"},
    {"PoolOutput", [](P p) { pool(p).window = {3, 2}; }, "the window gives 1"},
    {"PoolMissing", [](P p) { pool(p).src = -1; }, "does not exist"},
    {"CollectiveId", [](P p) { collective(p).id = 1; }, "not total"},
    {"CollectiveAxis", [](P p) { collective(p).axes = {1}; }, "mesh axis 1"},
    {"CollectiveRange", [](P p) { collective(p).src = 1024; }, "shared arena"},
    {"CollectiveHuge", [](P p) { collective(p).src_count = uint64_t{1} << 62; }, "shared arena"},
    {"CollectivePadding", [](P p) { collective(p).padding = collective(p).src_count + 1; }, "padding"},
    {"CollectiveCounts", [](P p) { collective(p).dst_count = 2; }, "counts"},
    {"CollectiveKind", [](P p) { collective(p).kind = static_cast<fb::CollectiveKind>(9); }, "unknown kind"},
    {"Permutation",
     [](P p) {
       collective(p).kind = fb::CollectiveKind::Permute;
       collective(p).permutation = {1, 1};
     },
     "twice"},
    {"SendAlone",
     [](P p) {
       fb::SendT send;
       send.peer = 1;
       send.buffer = 4;
       addStep(*p.programs[0], std::move(send), "send");
     },
     "no such partner"},
    {"SendPeer",
     [](P p) {
       fb::SendT send;
       send.peer = 2;
       send.buffer = 4;
       addStep(*p.programs[0], std::move(send), "send");
     },
     "world size"},
    {"SendGatheredWithoutGroups",
     [](P p) {
       fb::SendT send;
       send.peer = 0;
       send.buffer = 4;
       send.gathered = true;
       addStep(*p.programs[0], std::move(send), "send");
     },
     "from several workers to one"},
    {"CopySize", [](P p) { action<fb::CopyT>(p, 5).dst = 0; }, "bytes"},
    {"FillTarget", [](P p) { action<fb::FillT>(p, 6).dst = 3; }, "constant"},
};

INSTANTIATE_TEST_SUITE_P(Plan, Check, ::testing::ValuesIn(violations),
                         [](const auto &info) { return std::string(info.param.name); });
} // namespace
