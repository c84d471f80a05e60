// One violation each: a valid plan with one field changed, and the parts of the message that must name it.
#include "SamplePlan.h"

#include "runtime/artifact/Reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>
#include <utility>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::ContainsRegex;

namespace {
struct Violation {
  const char *name;
  std::function<void(fb::PlanT &)> change;
  const char *where; // the step, kernel, buffer or other thing of the plan that it is in; "" for the plan itself
  const char *what;  // a pattern
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
  EXPECT_THAT(std::string(s.message()), ContainsRegex(std::string(GetParam().where) + ".*" + GetParam().what));
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
fb::StateUseT &state(P p, const char *variable) {
  p.programs[0]->states.push_back(std::make_unique<fb::StateUseT>());
  p.programs[0]->states.back()->variable = variable;
  return *p.programs[0]->states.back();
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
    {"AttentionQuery", [](P p) { attention(p).query = 99; }, "'attention'", "query is .*does not exist"},
    {"AttentionRank", [](P p) { operand(p, attention(p).key).shape = {2, 40}; }, "'attention'",
     "the key is no buffer of rank 3"},
    {"AttentionType", [](P p) { operand(p, attention(p).query).dtype = fb::DType::F32; }, "'attention'",
     "the query must be of f16 or bf16"},
    {"AttentionOtherType", [](P p) { operand(p, attention(p).value).dtype = fb::DType::F16; }, "'attention'",
     "the value.*type and shape"},
    {"AttentionLogSum", [](P p) { operand(p, attention(p).log_sum).dtype = fb::DType::BF16; }, "'attention'",
     "the log_sum.*type and shape"},
    {"AttentionPlaces", [](P p) { operand(p, attention(p).value).shape = {2, 4, 4}; }, "'attention'",
     "the value.*type and shape"},
    {"AttentionEmpty", [](P p) { operand(p, attention(p).query).shape = {2, 0, 8}; }, "'attention'",
     "sizes must be at least 1"},
    {"AttentionNoHeads", [](P p) { attention(p).heads = 0; }, "'attention'", "0 heads do not divide"},
    {"AttentionHeads", [](P p) { attention(p).heads = 3; }, "'attention'", "3 heads do not divide"},
    {"AttentionManyHeads", [](P p) { attention(p).heads = ~0ull; }, "'attention'", "heads do not divide"},
    {"AttentionCausal", [](P p) { attention(p).causal = true; }, "'attention'", "it is causal"},
    {"AttentionScale", [](P p) { attention(p).scale = NAN; }, "'attention'", "the scale is not finite"},
    {"AttentionGradients", [](P p) { attention(p).key_gradient = 0; }, "'attention'", "only `backward` has gradients"},
    {"AttentionNoGradient", [](P p) { attention(p, true).result_gradient = -1; }, "'attention'",
     "result_gradient is .*does not exist"},
    {"AttentionGradientShape", [](P p) { operand(p, attention(p, true).key_gradient).shape = {2, 8, 5}; },
     "'attention'", "the key_gradient.*type and shape"},
    {"AttentionOverlap", [](P p) { operand(p, attention(p, true).value_gradient).offset = 4096; }, "'attention'",
     "value_gradient overlaps the query"},
    {"AttentionConstant",
     [](P p) {
       fb::BufferT &result = operand(p, attention(p).result);
       result.space = fb::Space::Constant;
       result.offset = 64;
     },
     "'attention'", "result is in constant memory"},
    {"GridBlocks", [](P p) { forGpus(p), p.kernels[0]->launches[0]->grid = 0; }, "'kernel_0'", "has 0 blocks"},
    {"GridThreads", [](P p) { forGpus(p), p.kernels[0]->launches[0]->block = 40; }, "'kernel_0'",
     "blocks of 40 threads"},
    {"GridManyThreads", [](P p) { forGpus(p), p.kernels[0]->launches[0]->block = 2048; }, "'kernel_0'",
     "blocks of 2048 threads"},
    {"GridSymbol", [](P p) { forGpus(p), p.kernels[0]->launches[0]->symbol = "a;b"; }, "'kernel_0'",
     "not an identifier"},
    {"Workspace", [](P p) { forGpus(p), p.kernels[0]->workspace_bytes = ~0ull; }, "'kernel_0'",
     "workspace of more than"},
    {"DeviceCodeSection", [](P p) { forGpus(p), p.device_code[0]->section = 9; }, "", "section 9 does not exist"},
    {"NoDeviceCode", [](P p) { forGpus(p), p.device_code.clear(); }, "", "no code"},
    {"DeviceCodeForCpu", [](P p) { forGpus(p), p.target->kind = "cpu"; }, "", "code for GPUs"},
    {"UnknownDevice", [](P p) { p.target->kind = "abacus"; }, "", "'abacus' devices.* 'cpu'"},
    {"UnknownHost",
     [](P p) {
       p.host_target = std::make_unique<fb::TargetT>();
       p.host_target->kind = "abacus";
     },
     "", "'abacus' devices"},
    {"WorldSize", [](P p) { p.world_size = 3; }, "", "world_size is 3"},
    {"MeshZero", [](P p) { p.mesh[0]->size = 0; }, "'data'", "has size 0"},
    {"MeshAxes",
     [](P p) {
       for (int i = 0; i < 64; ++i) {
         p.mesh.push_back(std::make_unique<fb::MeshAxisT>(*p.mesh[0]));
         p.mesh.back()->name += std::to_string(i);
         p.mesh.back()->size = 1;
       }
     },
     "", "65 axes"},
    {"MeshHuge", [](P p) { p.mesh[0]->size = 1u << 31; }, "", "the mesh has more than"},
    {"ArenaHuge", [](P p) { p.private_bytes = ~0ull; }, "", "arena of more than"},
    {"ObjectSection", [](P p) { p.object_section = 2; }, "", "section does not exist"},
    {"ConstantSection", [](P p) { p.constant_section = -2; }, "", "section does not exist"},
    {"SemanticsSection", [](P p) { p.semantics_section = 2; }, "", "section does not exist"},
    {"SemanticsSectionNegative", [](P p) { p.semantics_section = -2; }, "", "section does not exist"},
    {"Symbol", [](P p) { p.kernels[0]->symbol = "a;b"; }, "", "not an identifier"},
    {"Extent", [](P p) { p.kernels[0]->extent = 0; }, "'kernel_0'", "extent is 0"},
    {"Dtype", [](P p) { buffer(p, 1).dtype = static_cast<fb::DType>(99); }, "'b1'", "unknown element type 99"},
    {"Space", [](P p) { buffer(p, 1).space = static_cast<fb::Space>(9); }, "'b1'", "unknown memory space 9"},
    {"NegativeExtent", [](P p) { buffer(p, 1).shape = {-2, -4}; }, "'b1'", "extent -2 .*negative"},
    {"ShapeOverflow", [](P p) { buffer(p, 1).shape = {1ll << 40, 1ll << 40}; }, "'b1'", "overflows"},
    {"Rank", [](P p) { buffer(p, 1).shape.assign(17, 1); }, "'b1'", "rank 17"},
    {"OutsideArena", [](P p) { buffer(p, 1).offset = 8192; }, "'b1'", "outside of its space"},
    {"OffsetWraps", [](P p) { buffer(p, 1).offset = ~63ull; }, "'b1'", "outside of its space"},
    {"Misaligned", [](P p) { buffer(p, 1).offset = 4; }, "'b1'", "not a multiple of 64"},
    {"NoConstants", [](P p) { p.constant_section = -1; }, "'b3'", "outside of its space"},
    {"VariableBuffer", [](P p) { p.variables[0]->buffer = 5; }, "'w'", "buffer 5 does not exist"},
    {"VariableInit", [](P p) { p.variables[0]->init = static_cast<fb::InitKind>(50); }, "'w'", "unknown .*initializer"},
    {"VariableFile",
     [](P p) {
       p.variables[0]->init = fb::InitKind::File;
       p.variables[0]->file = "a/../../etc/passwd";
     },
     "'w'", "initializer's file"},
    {"VariableTwice", [](P p) { p.variables.push_back(std::make_unique<fb::VariableT>(*p.variables[0])); }, "'w'",
     "second variable of this name"},
    {"KernelOnHostOfCpus", [](P p) { p.kernels[0]->on_host = true; }, "'kernel_0'", "for the host"},
    {"KernelOnHostCalledByGpus",
     [](P p) {
       forGpus(p);
       p.kernels[0]->launches.clear();
       p.kernels[0]->on_host = true;
     },
     "'kernel_0'", "for workers on the host"},
    {"GroupOnHostOfCpus",
     [](P p) {
       auto group = std::make_unique<fb::GroupT>();
       group->name = "ps0";
       group->rank_count = 1;
       group->on_host = true;
       p.groups.push_back(std::move(group));
     },
     "'ps0'", "on the host"},
    {"BlockOfNoGroup", [](P p) { p.variables[0]->row_count = 1; }, "'w'", "no block that a group holds"},
    {"BlockOfNothing", [](P p) { p.variables[0]->first_row = 1; }, "'w'", "no block that a group holds"},
    {"VariablesOverlap",
     [](P p) {
       p.variables.push_back(std::make_unique<fb::VariableT>(*p.variables[0]));
       p.variables[1]->name = "v";
     },
     "", "'v' and 'w' overlap"},
    {"ShardingRank", [](P p) { p.programs[0]->inputs[0]->sharding = sharding({{0}}); }, "'x'",
     "sharding has 1 dimensions"},
    {"ShardingAxis", [](P p) { p.programs[0]->inputs[0]->sharding = sharding({{3}, {}}); }, "'x'",
     "mesh axis 3, which does not exist"},
    {"ShardingTwice", [](P p) { p.programs[0]->inputs[0]->sharding = sharding({{0}, {0}}); }, "'x'",
     "mesh axis 0 a second time"},
    {"ShardingOrigins",
     [](P p) {
       p.programs[0]->inputs[0]->sharding = sharding({{0}, {}});
       p.programs[0]->inputs[0]->sharding->dims[0]->origins = {"user", "user"};
     },
     "'x'", "2 origins for 1 axes"},
    {"PaddedLocalShape", [](P p) { p.programs[0]->inputs[0]->global_shape = {5, 4}; }, "'x'", "not one worker's part"},
    {"LocalShape", [](P p) { p.programs[0]->inputs[0]->global_shape = {8, 4}; }, "'x'", "not one worker's part"},
    {"BatchDim", [](P p) { p.programs[0]->inputs[0]->batch_dim = 2; }, "'x'", "batch dimension 2"},
    {"AxisIndex",
     [](P p) {
       fb::InputT &input = *p.programs[0]->inputs[1];
       input.role = fb::InputRole::AxisIndex;
       input.name = "data,model";
       buffer(p, 5).dtype = fb::DType::I64;
     },
     "'data,model'", "names no axes of the mesh"},
    {"InputTwice",
     [](P p) { p.programs[0]->inputs.push_back(std::make_unique<fb::InputT>(*p.programs[0]->inputs[0])); }, "'x'",
     "second input of this name"},
    {"CountType", [](P p) { buffer(p, 5).dtype = fb::DType::F32; }, "'count'", "scalar of type i32"},
    {"ArgumentTwice", [](P p) { p.programs[0]->inputs[0]->argument = p.programs[0]->inputs[1]->argument = 2; },
     "program", "'count' is the second argument 2"},
    {"ArgumentNegative", [](P p) { p.programs[0]->inputs[0]->argument = -2; }, "program", "'x' is argument -2"},
    {"ResultHuge", [](P p) { p.programs[0]->outputs[0]->result = 1 << 30; }, "program", "'loss' is result 1073741824"},
    {"StateUnknown", [](P p) { state(p, "v"); }, "program", "the variable 'v', which the plan does not have"},
    {"StateTwice", [](P p) { state(p, "w"), state(p, "w"); }, "program", "a second use of the variable 'w'"},
    {"StateArgument", [](P p) { state(p, "w").argument = p.programs[0]->inputs[0]->argument = 0; }, "program",
     "'w' is the second argument 0"},
    {"StateResult", [](P p) { state(p, "w").result = p.programs[0]->outputs[0]->result = 7; }, "program",
     "'w' is the second result 7"},
    {"OutputBuffer", [](P p) { p.programs[0]->outputs[0]->buffer = 99; }, "'loss'", "buffer 99 does not exist"},
    {"Queue", [](P p) { p.programs[0]->steps[0]->queue = 16; }, "'matmul'", "queue 16"},
    {"Waits", [](P p) { p.programs[0]->steps[0]->waits = {0}; }, "'matmul'", "waits for step 0"},
    {"StoredNowhere", [](P p) { p.variables[0]->init = fb::InitKind::Stored; }, "variable 'w'", "there is no section"},
    {"StoredOutside",
     [](P p) {
       p.variables[0]->init = fb::InitKind::Stored;
       p.variables[0]->stored = 201;
       p.initial_section = 1; // 256 bytes, of which w takes 64
     },
     "variable 'w'", "bytes 201 . 64, is outside of its section of 256 bytes"},
    {"OverlapOfCompute", [](P p) { p.programs[0]->steps[0]->queue = 1; }, "'matmul'",
     "only a collective is asynchronous"},
    {"OverlapAwaited", [](P p) { p.programs[0]->steps[5]->waits = {4}; }, "", "step 5 waits for step 4.*not under way"},
    {"OverlapTwice",
     [](P p) {
       p.programs[0]->steps[4]->queue = 1;
       p.programs[0]->steps[5]->waits = p.programs[0]->steps[6]->waits = {4};
     },
     "", "step 6 waits for step 4.*not under way"},
    {"OverlapTouched",
     [](P p) {
       p.programs[0]->steps[4]->queue = 1;
       fb::FillT fill; // of what is reduced
       fill.dst = call(p).args[1];
       p.programs[0]->steps[5]->action.Set(std::move(fill));
     },
     "", "step 5 uses memory that step 4"},
    {"CollectiveRanges",
     [](P p) {
       collective(p).kind = fb::CollectiveKind::Broadcast;
       collective(p).more.push_back(std::make_unique<fb::CollectiveRangeT>());
     },
     "'all_reduce'", "several ranges"},
    {"CollectiveRangeOutside",
     [](P p) {
       collective(p).more.push_back(std::make_unique<fb::CollectiveRangeT>());
       collective(p).more[0]->src = 1 << 20;
       collective(p).more[0]->src_count = collective(p).more[0]->dst_count = 1;
     },
     "'all_reduce'", "src lies outside"},
    {"Kernel", [](P p) { call(p).kernel = 1; }, "'kernel'", "kernel 1 does not exist"},
    {"ArgCount", [](P p) { call(p).args = {0}; }, "'kernel_0'", "takes 2 arguments"},
    {"ResultsNumber", [](P p) { p.kernels[0]->inplace = {-1, -1, -1}; }, "'kernel_0'", "3 results among 2 arguments"},
    {"InPlaceOfNothing", [](P p) { p.kernels[0]->inplace = {1}; }, "'kernel_0'", "operand 1, which does not exist"},
    {"InPlaceOfOneTwice", [](P p) { p.kernels[0]->arg_count = 3, p.kernels[0]->inplace = {0, 0}; }, "'kernel_0'",
     "two results take the place of operand 0"},
    {"InPlaceUnasked",
     [](P p) {
       p.kernels[0]->inplace = {-1};
       call(p).args[1] = call(p).args[0];
     },
     "'kernel'", "result 0 overlaps argument 0 "},
    {"InPlaceOfAnother",
     [](P p) {
       p.kernels[0]->arg_count = 3;
       p.kernels[0]->inplace = {1};
       call(p).args = {call(p).args[0], call(p).args[1], call(p).args[0]};
     },
     "'kernel'", "result 0 overlaps argument 0 "},
    {"InPlaceInPart",
     [](P p) {
       p.kernels[0]->inplace = {0};
       call(p).args = {1, 0}; // 32 bytes of 64
       buffer(p, 0).offset = buffer(p, 1).offset;
     },
     "'kernel'", "result 0 overlaps argument 0 "},
    {"ResultsOverlap",
     [](P p) {
       p.kernels[0]->inplace = {-1, -1};
       call(p).args[1] = call(p).args[0];
     },
     "'kernel'", "result 1 overlaps argument 0 "},
    {"ArgIndex", [](P p) { call(p).args = {0, 4096}; }, "'kernel'", "argument is .*does not exist"},
    {"MatmulOverflow", [](P p) { matmul(p).m = matmul(p).k = uint64_t{1} << 33; }, "'matmul'", "sizes overflow"},
    {"MatmulZero", [](P p) { matmul(p).k = 0; }, "'matmul'", "must be at least 1"},
    {"MatmulSize", [](P p) { matmul(p).n = 5; }, "'matmul'", "b must have .* elements"},
    {"MatmulAlias", [](P p) { matmul(p).dst = matmul(p).a; }, "'matmul'", "result overlaps a "},
    {"MatmulConstant", [](P p) { matmul(p).dst = 3; }, "'matmul'", "dst is in constant memory"},
    {"MatmulBias", [](P p) { matmul(p).bias = 1; }, "'matmul'", "bias must have .* elements"},
    {"MatmulStridesCount", [](P p) { setStrides(p).a_strides.pop_back(); }, "'matmul'", "a has 1 strides"},
    {"MatmulStridesOutside", [](P p) { setStrides(p).b_strides = {8, 1}; }, "'matmul'", "b has strides"},
    {"MatmulStridesTwice", [](P p) { setStrides(p).dst_strides = {0, 1}; }, "'matmul'", "dst has strides"},
    {"MatmulStridesNegative", [](P p) { setStrides(p).a_strides = {4, -1}; }, "'matmul'", "a has strides"},
    {"MatmulStridesBatch",
     [](P p) {
       fb::MatmulT &op = setStrides(p);
       op.batch_sizes = {2};
       for (std::vector<int64_t> *strides : {&op.a_strides, &op.b_strides, &op.dst_strides})
         strides->insert(strides->begin(), 16);
     },
     "'matmul'", "the batch is not the product of the batch sizes"},
    {"MatmulStridesTranspose", [](P p) { setStrides(p).transpose_a = true; }, "'matmul'",
     "strides and transposes are given together"},
    {"MatmulStridesPostOps",
     [](P p) {
       fb::MatmulT &op = setStrides(p);
       op.dst_strides = {1, static_cast<int64_t>(op.m)};
     },
     "'matmul'", "need n as the innermost dimension"},
    {"PostOpKind", [](P p) { matmul(p).post_ops[0]->kind = static_cast<fb::PostOpKind>(40); }, "'matmul'",
     "post-op.* unknown kind"},
    {"GradientPartsOnCpu", [](P p) { gradientParts(p, fb::PostOpKind::Relu), p.target->kind = "cpu"; }, "'matmul'",
     "on GPUs only"},
    {"ReluMaskType", [](P p) { gradientParts(p, fb::PostOpKind::Relu).aux = 0; }, "'matmul'", "aux must have .* of U8"},
    {"GeluOperand", [](P p) { gradientParts(p, fb::PostOpKind::GeluTanh).aux = 0; }, "'matmul'",
     "aux must have .* of BF16"},
    {"GeluOperandIsDst",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::GeluTanh);
       op.aux = static_cast<int32_t>(op.dst);
     },
     "'matmul'", "result overlaps another result"},
    {"ReluGradientArg", [](P p) { gradientParts(p, fb::PostOpKind::ReluGrad).post_ops[0]->arg = -1; }, "'matmul'",
     "argument of a gradient is .*does not exist"},
    {"GeluGradientOverDst",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::GeluTanhGrad);
       op.post_ops[0]->arg = static_cast<int32_t>(op.dst);
     },
     "'matmul'", "result overlaps what it is computed from"},
    {"GradientPartsType",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::Relu);
       for (uint32_t buffer : {op.a, op.b, op.dst})
         p.programs[0]->buffers[buffer]->dtype = fb::DType::F32;
     },
     "'matmul'", "for products of f16 and bf16"},
    {"GradientWithBias",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::ReluGrad);
       op.bias = std::exchange(op.bias_gradient, -1);
     },
     "'matmul'", "does not go with a bias"},
    {"BiasGradientSize", [](P p) { gradientParts(p, fb::PostOpKind::ReluGrad).bias_gradient = 0; }, "'matmul'",
     "gradient of a bias must have .* elements"},
    {"BiasGradientOfOperand",
     [](P p) { gradientParts(p, fb::PostOpKind::ReluGrad).bias_gradient_of = fb::MatmulValue::B; }, "'matmul'",
     "gradient of a bias is that of dst"},
    {"BiasGradientOf",
     [](P p) { gradientParts(p, fb::PostOpKind::ReluGrad).bias_gradient_of = static_cast<fb::MatmulValue>(7); },
     "'matmul'", "gradient of a bias is of an unknown matrix"},
    {"AuxOfTanh", [](P p) { gradientParts(p, fb::PostOpKind::Relu).post_ops[0]->kind = fb::PostOpKind::Tanh; },
     "'matmul'", "aux is for the post-ops Relu and GeluTanh"},
    {"AuxOfStrided",
     [](P p) {
       fb::MatmulT &op = gradientParts(p, fb::PostOpKind::Relu);
       op.a_strides = {5, 1}, op.b_strides = op.dst_strides = {136, 1}, op.batch_sizes = std::vector<int64_t>();
     },
     "'matmul'", "for single products that are not strided"},
    {"PostOpArg", [](P p) { matmul(p).post_ops[0]->kind = fb::PostOpKind::Add; }, "'matmul'",
     "argument of a post-op is .*does not exist"},
    {"ConvKind", [](P p) { conv(p).kind = static_cast<fb::ConvKind>(9); }, "'conv'", "unknown kind of convolution"},
    {"ConvStrideZero", [](P p) { conv(p).strides = {0, 1}; }, "'conv'", "strides.* at least 1"},
    {"ConvPadHuge", [](P p) { conv(p).pad_low = {1ll << 62, 1}; }, "'conv'", "paddings must be"},
    {"ConvWindow", [](P p) { conv(p).pad_low = {0, 0}; }, "'conv'", "output extent.* the window gives 3"},
    {"ConvRank", [](P p) { conv(p).strides = {1}; }, "'conv'", "strides.* must have 2 entries"},
    {"ConvOutFirst", [](P p) { conv(p).weights_out_first = true; }, "'conv'", "channels .*do not fit"},
    {"ConvBiasBackward",
     [](P p) {
       conv(p).bias = 0;
       conv(p).kind = fb::ConvKind::BackwardWeights;
     },
     "'conv'", "only Forward takes a bias"},
    {"ConvGroups", [](P p) { conv(p).groups = 2; }, "'conv'", "channels .*do not fit"},
    {"PoolOutput", [](P p) { pool(p).window = {3, 2}; }, "'pool'", "output extent.* the window gives 1"},
    {"PoolMissing", [](P p) { pool(p).src = -1; }, "'pool'", "src is .*does not exist"},
    {"CollectiveId", [](P p) { collective(p).id = 1; }, "AllReduce", "order of communication is not total"},
    {"CollectiveAxis", [](P p) { collective(p).axes = {1}; }, "'all_reduce'", "mesh axis 1 does not exist"},
    {"CollectiveRange", [](P p) { collective(p).src = 1024; }, "'all_reduce'", "src lies outside"},
    {"CollectiveHuge", [](P p) { collective(p).src_count = uint64_t{1} << 62; }, "'all_reduce'", "src lies outside"},
    {"CollectivePadding", [](P p) { collective(p).padding = collective(p).src_count + 1; }, "'all_reduce'",
     "padding of 2 elements"},
    {"CollectiveCounts", [](P p) { collective(p).dst_count = 2; }, "'all_reduce'", "counts .*do not fit"},
    {"CollectiveKind", [](P p) { collective(p).kind = static_cast<fb::CollectiveKind>(9); }, "'all_reduce'",
     "unknown kind"},
    {"Permutation",
     [](P p) {
       collective(p).kind = fb::CollectiveKind::Permute;
       collective(p).permutation = {1, 1};
     },
     "'all_reduce'", "member 1 .*twice"},
    {"SendAlone",
     [](P p) {
       fb::SendT send;
       send.peer = 1;
       send.buffer = 4;
       addStep(*p.programs[0], std::move(send), "send");
     },
     "step 7 of 'train'", "no such partner"},
    {"SendPeer",
     [](P p) {
       fb::SendT send;
       send.peer = 2;
       send.buffer = 4;
       addStep(*p.programs[0], std::move(send), "send");
     },
     "'send'", "peer 2 is not below the world size"},
    {"SendGatheredWithoutGroups",
     [](P p) {
       fb::SendT send;
       send.peer = 0;
       send.buffer = 4;
       send.gathered = true;
       addStep(*p.programs[0], std::move(send), "send");
     },
     "'send'", "from several workers to one"},
    {"CopySize", [](P p) { action<fb::CopyT>(p, 5).dst = 0; }, "'copy'", "src has .* bytes, dst"},
    {"FillTarget", [](P p) { action<fb::FillT>(p, 6).dst = 3; }, "'fill'", "dst is in constant memory"},
};

INSTANTIATE_TEST_SUITE_P(Plan, Check, ::testing::ValuesIn(violations),
                         [](const auto &info) { return std::string(info.param.name); });
} // namespace
