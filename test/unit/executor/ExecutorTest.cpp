// Whole plans, made by hand, through the loader, the executor and the
// in-process transport.
#include "runtime/executor/Executor.h"
#include "runtime/executor/RunOnce.h"

#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "test/unit/artifact/SamplePlan.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace dgc::rt;
using namespace dgc::rt::test;

using fb::Space;

namespace {
/// A plan for `world` workers on one axis, with the kernels of kernels.c.
fb::PlanT basePlan(uint32_t world) {
  fb::PlanT plan;
  plan.producer = "test";
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  auto axis = std::make_unique<fb::MeshAxisT>();
  axis->name = "data";
  axis->size = world;
  plan.mesh.push_back(std::move(axis));
  plan.world_size = world;
  plan.private_bytes = 65536;
  plan.shared_bytes = 4096;
  auto section = std::make_unique<fb::SectionT>();
  section->name = "object";
  std::string object = *readFile(realDisk(), DGC_TEST_KERNELS);
  section->data.assign(object.begin(), object.end());
  plan.sections.push_back(std::move(section));
  plan.object_section = 0;
  auto kernel = [&](const char *symbol, uint32_t args, int64_t extent) {
    auto k = std::make_unique<fb::KernelT>();
    k->symbol = symbol;
    k->arg_count = args;
    k->extent = extent;
    k->cost_ns = 1000000;
    plan.kernels.push_back(std::move(k));
  };
  kernel("add_parts", 3, 4);
  kernel("sum8", 2, 1);
  kernel("update", 3, 1);
  auto program = std::make_unique<fb::ProgramT>();
  program->name = "main";
  plan.programs.push_back(std::move(program));
  return plan;
}

void input(fb::ProgramT &p, const char *name, uint32_t buffer, std::vector<int64_t> shape,
           std::unique_ptr<fb::ShardingT> sharding, fb::InputRole role = fb::InputRole::Data) {
  auto in = std::make_unique<fb::InputT>();
  in->name = name;
  in->buffer = buffer;
  in->role = role;
  in->global_shape = std::move(shape);
  in->sharding = std::move(sharding);
  p.inputs.push_back(std::move(in));
}

void output(fb::ProgramT &p, const char *name, uint32_t buffer, std::vector<int64_t> shape,
            std::unique_ptr<fb::ShardingT> sharding = nullptr) {
  auto out = std::make_unique<fb::OutputT>();
  out->name = name;
  out->buffer = buffer;
  out->global_shape = std::move(shape);
  out->sharding = std::move(sharding);
  p.outputs.push_back(std::move(out));
}

fb::KernelCallT call(uint32_t kernel, std::vector<uint32_t> args) {
  fb::KernelCallT c;
  c.kernel = kernel;
  c.args = std::move(args);
  return c;
}

std::vector<float> iota(size_t n, float first = 0) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

// y = x w on rows of x cut over the workers; total = all-reduce of y's sum.
fb::PlanT matmulPlan(uint32_t world) {
  fb::PlanT plan = basePlan(world);
  fb::ProgramT &p = *plan.programs[0];
  uint32_t x = addBuffer(p, 0, {4, 3});
  uint32_t w = addBuffer(p, 64, {3, 2});
  uint32_t y = addBuffer(p, 128, {4, 2});
  uint32_t sum = addBuffer(p, 0, {}, fb::DType::F32, Space::Shared);
  int64_t rows = 4 * int64_t{world};
  input(p, "x", x, {rows, 3}, sharding({{0}, {}}));
  input(p, "w", w, {3, 2}, nullptr);
  output(p, "y", y, {rows, 2}, sharding({{0}, {}}));
  output(p, "total", sum, {});
  fb::MatmulT matmul;
  matmul.a = x;
  matmul.b = w;
  matmul.dst = y;
  matmul.m = 4;
  matmul.n = 2;
  matmul.k = 3;
  addStep(p, std::move(matmul), "matmul");
  addStep(p, call(1, {y, sum}), "sum");
  fb::CollectiveT reduce;
  reduce.axes = {0};
  reduce.dtype = fb::DType::F32;
  reduce.src_count = reduce.dst_count = 1;
  addStep(p, std::move(reduce), "all_reduce");
  return plan;
}

TEST(Executor, MatmulKernelAndAllReduceOnAnyNumberOfWorkers) {
  for (uint32_t world : {1u, 2u, 3u, 4u}) {
    size_t rows = 4 * world;
    std::vector<float> x = iota(rows * 3), w = {1, 2, 3, 4, 5, 6};
    auto result = runOnce(*finishPlan(matmulPlan(world)),
                          {{"x", HostArray::of({int64_t(rows), 3}, x)}, {"w", HostArray::of({3, 2}, w)}});
    ASSERT_TRUE(result.ok()) << result.status();
    std::vector<float> y = result->outputs.at("y").as<float>();
    float total = 0;
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < 2; ++c) {
        float expected = x[3 * r] * w[c] + x[3 * r + 1] * w[2 + c] + x[3 * r + 2] * w[4 + c];
        EXPECT_EQ(y[2 * r + c], expected);
        total += expected;
      }
    EXPECT_EQ(result->outputs.at("total").as<float>()[0], total);
  }
}

// As long as `more` is true: a round, in which a branch decides what is copied to y and `more` becomes what it is told.
fb::PlanT loopPlan() {
  fb::PlanT plan = basePlan(1);
  fb::ProgramT &p = *plan.programs[0];
  auto flag = [&](uint64_t offset) { return addBuffer(p, offset, {}, fb::DType::I1); };
  const uint32_t more = flag(0), next = flag(64), which = flag(128), test = flag(192);
  const uint32_t a = addBuffer(p, 256, {4}), b = addBuffer(p, 320, {4}), y = addBuffer(p, 384, {4});
  input(p, "more", more, {}, nullptr);
  input(p, "next", next, {}, nullptr);
  input(p, "which", which, {}, nullptr);
  input(p, "a", a, {4}, nullptr);
  input(p, "b", b, {4}, nullptr);
  input(p, "y", y, {4}, nullptr);
  output(p, "y", y, {4});
  auto copy = [&](uint32_t from, uint32_t to) {
    fb::CopyT op;
    op.src = from;
    op.dst = to;
    addStep(p, op, "copy");
  };
  fb::WhileT loop;
  loop.predicate = test;
  loop.test_steps = 1;
  loop.body_steps = 5;
  addStep(p, loop, "while");
  copy(more, test);
  fb::IfT branch;
  branch.predicate = which;
  branch.then_steps = 1;
  branch.else_steps = 1;
  addStep(p, branch, "if");
  copy(a, y);
  copy(b, y);
  copy(next, more);
  copy(y, a);
  return plan;
}

TEST(Executor, LoopsAndBranchesAreDecidedByWhatIsComputed) {
  auto run = [](bool more, bool which) {
    auto flag = [](bool value) { return HostArray::of<uint8_t>({}, {static_cast<uint8_t>(value)}, DType::I1); };
    auto result = runOnce(*finishPlan(loopPlan()), {{"more", flag(more)},
                                                    {"next", flag(false)},
                                                    {"which", flag(which)},
                                                    {"a", HostArray::of({4}, iota(4, 1))},
                                                    {"b", HostArray::of({4}, iota(4, 11))},
                                                    {"y", HostArray::of({4}, iota(4, 21))}});
    return result.ok() ? result->outputs.at("y").as<float>() : std::vector<float>();
  };
  EXPECT_EQ(run(false, true), iota(4, 21)); // no round
  EXPECT_EQ(run(true, true), iota(4, 1));
  EXPECT_EQ(run(true, false), iota(4, 11));
}

// The all-reduce goes on until a step waits for it, or to the end.
TEST(Executor, CollectivesGoOnBesideSteps) {
  for (bool awaited : {true, false})
    for (uint32_t world : {1u, 2u, 4u}) {
      fb::PlanT plan = matmulPlan(world);
      fb::ProgramT &p = *plan.programs[0];
      p.steps.back()->queue = 1;
      uint32_t other = addBuffer(p, 256, {4});
      fb::FillT fill;
      fill.dst = other;
      addStep(p, std::move(fill), "meanwhile");
      if (awaited) {
        fb::CopyT copy;
        copy.src = p.outputs.back()->buffer;
        copy.dst = addBuffer(p, 512, {});
        p.outputs.back()->buffer = copy.dst;
        addStep(p, std::move(copy), "afterwards");
        p.steps.back()->waits = {2};
      }
      std::vector<float> x = iota(12 * world), w = {1, 2, 3, 4, 5, 6};
      RunOnceOptions options;
      options.steps = 3;
      auto result =
          runOnce(*finishPlan(std::move(plan)),
                  {{"x", HostArray::of({4 * int64_t(world), 3}, x)}, {"w", HostArray::of({3, 2}, w)}}, options);
      ASSERT_TRUE(result.ok()) << result.status();
      float total = 0;
      for (float y : result->outputs.at("y").as<float>())
        total += y;
      EXPECT_EQ(result->outputs.at("total").as<float>()[0], total);
    }
}

// An element of an input that chooses no row: one error, that says which and what would do.
TEST(Executor, IndicesOutsideAreRefused) {
  fb::PlanT plan = basePlan(2);
  fb::ProgramT &p = *plan.programs[0];
  uint32_t tokens = addBuffer(p, 0, {2, 3}, fb::DType::I32);
  input(p, "tokens", tokens, {4, 3}, sharding({{0}, {}}));
  p.inputs[0]->index_limit = 65;
  output(p, "out", tokens, {4, 3}, sharding({{0}, {}}));
  fb::FillT fill;
  fill.dst = addBuffer(p, 64, {1});
  addStep(p, std::move(fill), "fill");
  std::vector<uint8_t> bytes = *finishPlan(std::move(plan));
  std::vector<int32_t> values(12, 64);
  EXPECT_TRUE(runOnce(bytes, {{"tokens", HostArray::of({4, 3}, values)}}).ok());
  for (int32_t wrong : {65, -1}) {
    values[10] = wrong;
    absl::Status s = runOnce(bytes, {{"tokens", HostArray::of({4, 3}, values)}}).status();
    EXPECT_NE(std::string(s.message())
                  .find("input 'tokens' is " + std::to_string(wrong) +
                        " at [3, 1], and chooses one of 65: 0 to 64 are accepted"),
              std::string::npos)
        << s;
  }
}

// Without the all-reduce each worker has its own sum: the check of replicas
// says so.
TEST(Executor, ReplicasThatDifferAreFound) {
  fb::PlanT plan = matmulPlan(2);
  plan.programs[0]->steps.pop_back();
  absl::Status s = runOnce(*finishPlan(std::move(plan)),
                           {{"x", HostArray::of({8, 3}, iota(24))}, {"w", HostArray::of({3, 2}, iota(6))}})
                       .status();
  EXPECT_NE(std::string(s.message()).find("'total' differs"), std::string::npos) << s;
}

TEST(Executor, KernelsAreSplitOverThreads) {
  fb::PlanT plan = basePlan(1);
  fb::ProgramT &p = *plan.programs[0];
  uint32_t a = addBuffer(p, 0, {256}), b = addBuffer(p, 1024, {256});
  uint32_t c = addBuffer(p, 2048, {256}), d = addBuffer(p, 3072, {256});
  input(p, "a", a, {256}, nullptr);
  output(p, "d", d, {256});
  fb::FillT fill;
  fill.dst = b;
  fill.value = 2.5;
  addStep(p, std::move(fill), "fill");
  addStep(p, call(0, {a, b, c}), "add");
  fb::CopyT copy;
  copy.src = c;
  copy.dst = d;
  addStep(p, std::move(copy), "copy");
  std::vector<uint8_t> bytes = *finishPlan(std::move(plan));
  for (int threads : {1, 3}) {
    RunOnceOptions options;
    options.threads = threads;
    auto result = runOnce(bytes, {{"a", HostArray::of({256}, iota(256))}}, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->outputs.at("d").as<float>(), iota(256, 2.5f));
  }
}

fb::PlanT updatePlan() {
  fb::PlanT plan = basePlan(1);
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->shape = {8};
  buffer->dtype = fb::DType::F32;
  plan.variable_buffers.push_back(std::move(buffer));
  auto variable = std::make_unique<fb::VariableT>();
  variable->name = "w";
  variable->global_shape = {8};
  variable->init = fb::InitKind::Constant;
  variable->a = 3;
  plan.variables.push_back(std::move(variable));
  fb::ProgramT &p = *plan.programs[0];
  uint32_t w = addBuffer(p, 0, {8}), x = addBuffer(p, 64, {8});
  uint32_t out = addBuffer(p, 128, {2}, fb::DType::I64);
  uint32_t step = addBuffer(p, 192, {}, fb::DType::I64);
  uint32_t seed = addBuffer(p, 256, {}, fb::DType::I64);
  uint32_t valid = addBuffer(p, 320, {}, fb::DType::I32);
  input(p, "x", x, {8}, nullptr);
  input(p, "step", step, {}, nullptr, fb::InputRole::Step);
  input(p, "seed", seed, {}, nullptr, fb::InputRole::Seed);
  input(p, "valid", valid, {}, nullptr, fb::InputRole::ValidCount);
  output(p, "abi", out, {2});
  output(p, "step_out", step, {});
  output(p, "seed_out", seed, {});
  output(p, "valid_out", valid, {});
  addStep(p, call(2, {w, x, out}), "update");
  plan.global_batch = 17;
  return plan;
}

TEST(Executor, VariablesOutliveStepsAndStepSeedAndCountArrive) {
  RunOnceOptions options;
  options.seed = 11;
  options.firstStep = 5;
  options.steps = 3;
  options.inputsOfStep = [](int i) { return NamedArrays{{"x", HostArray::of({8}, std::vector<float>(8, float(i)))}}; };
  auto result = runOnce(*finishPlan(updatePlan()), {}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  // 3 - 0.5 * (0 + 1 + 2)
  EXPECT_EQ(result->variables.at("w").as<float>(), std::vector<float>(8, 1.5f));
  EXPECT_EQ(result->outputs.at("abi").as<int64_t>(), (std::vector<int64_t>{11, 7}));
  EXPECT_EQ(result->outputs.at("step_out").as<int64_t>()[0], 7);
  EXPECT_EQ(result->outputs.at("seed_out").as<int64_t>()[0], 11);
  EXPECT_EQ(result->outputs.at("valid_out").as<int32_t>()[0], 17);
  ASSERT_EQ(result->outputsOfStep.size(), 3u);
  EXPECT_EQ(result->outputsOfStep[0].at("abi").as<int64_t>()[1], 5);
  options.variables = {{"w", HostArray::of({8}, iota(8))}};
  options.steps = 1;
  options.validCount = 4;
  result = runOnce(*finishPlan(updatePlan()), {}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->variables.at("w").as<float>(), iota(8));
  EXPECT_EQ(result->outputs.at("valid_out").as<int32_t>()[0], 4);
}

TEST(Executor, ErrorsSayWhatIsWrong) {
  std::vector<uint8_t> bytes = *finishPlan(matmulPlan(2));
  auto message = [&](const NamedArrays &inputs, const RunOnceOptions &options = {}) {
    return std::string(runOnce(bytes, inputs, options).status().message());
  };
  HostArray x = HostArray::of({8, 3}, iota(24));
  HostArray w = HostArray::of({3, 2}, iota(6));
  EXPECT_NE(message({{"x", x}}).find("input 'w' is not given"), std::string::npos);
  EXPECT_NE(message({{"x", w}, {"w", w}}).find("'x' must be f32 [8x3]"), std::string::npos);
  EXPECT_NE(message({{"x", x}, {"w", w}, {"z", w}}).find("no input 'z'"), std::string::npos);
  RunOnceOptions options;
  options.program = "train";
  EXPECT_NE(message({}, options).find("it has main"), std::string::npos);
  options = {};
  options.worldSize = 3;
  EXPECT_NE(message({}, options).find("for 2 workers"), std::string::npos);
}

TEST(Executor, MissingSymbolAndUnusableObject) {
  fb::PlanT plan = updatePlan();
  plan.kernels[2]->symbol = "nothing";
  absl::Status s = runOnce(*finishPlan(std::move(plan)), {}).status();
  EXPECT_NE(std::string(s.message()).find("no kernel 'nothing'"), std::string::npos);
  EXPECT_EQ(exitCodeOf(s), ExitCode::BadArtifact);
  plan = updatePlan();
  plan.sections[0]->data.assign(1000, 7);
  s = runOnce(*finishPlan(std::move(plan)), {}).status();
  EXPECT_NE(std::string(s.message()).find("cannot load the kernels"), std::string::npos);
  plan = updatePlan();
  plan.target->features = {"+sse2", "amx-of-the-future"};
  s = runOnce(*finishPlan(std::move(plan)), {}).status();
  EXPECT_NE(std::string(s.message()).find("lacks: amx-of-the-future;"), std::string::npos) << s;
  EXPECT_EQ(exitCodeOf(s), ExitCode::Machine);
}

TEST(Executor, TimesEveryOp) {
  auto artifact = loadBytes(*finishPlan(matmulPlan(1)));
  ASSERT_TRUE(artifact.ok());
  Abort abort;
  TransportOptions options;
  options.sharedBytes = 4096;
  auto transports = createInProcessTransports(1, options, abort);
  auto executor = Executor::create(**artifact, *(*transports)[0], {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  OpTrace trace(5);
  (*executor)->setTrace(&trace);
  ProgramRunner &runner = *(*executor)->program("main");
  ASSERT_TRUE(runner.run(0).ok());
  ASSERT_TRUE(runner.run(1).ok());
  ASSERT_EQ(trace.timings.size(), 5u);
  EXPECT_EQ(trace.dropped, 1u);
  for (size_t i = 1; i < 3; ++i)
    EXPECT_GE(trace.timings[i].begin, trace.timings[i - 1].begin);
  EXPECT_EQ(trace.timings[1].op->name()->str(), "sum");
  EXPECT_EQ(trace.timings[4].step, 1u);
}
} // namespace
