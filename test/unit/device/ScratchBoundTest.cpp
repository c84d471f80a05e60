// The scratch memory of library calls: what a plan has for it covers what oneDNN takes, and with less there is another
// way.
#include "runtime/device/cpu/ScratchBound.h"
#include "runtime/device/cpu/GemmOrder.h"
#include "test/unit/device/OneStep.h"

#include <random>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {

/// Where operands are that are not read: what a call takes is known when it is prepared.
alignas(64) std::byte nowhere[64];
/// A program of one library call.
struct Call {
  fb::ProgramT program;
  std::string text;

  template <typename ActionT> void set(ActionT action) { addStep(program, std::move(action), "step"); }
  void add(std::vector<int64_t> shape, fb::DType type) { addBuffer(program, 0, std::move(shape), type); }
};

/// A plan without programs, for devices.
std::unique_ptr<Artifact> emptyPlan() {
  fb::PlanT plan;
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.world_size = 1;
  auto artifact = loadBytes(*finishPlan(std::move(plan)));
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  return *std::move(artifact);
}

/// Prepares the call, for buffers that there are not; gives the scratch memory that it takes.
size_t takenBy(const fb::Program &program, int threads) {
  static const std::unique_ptr<Artifact> plan = emptyPlan();
  auto device = CpuDevice::create(*plan, threads);
  EXPECT_TRUE(device.ok()) << device.status();
  std::vector<Operand> operands;
  for (const fb::Buffer *buffer : *program.buffers())
    operands.push_back({nowhere, toDType(buffer->dtype()), toVector(buffer->shape())});
  const fb::Step &step = *program.steps()->Get(0);
  auto prepared = step.action_as_Matmul() ? (*device)->prepare(*step.action_as_Matmul(), operands)
                                          : (*device)->prepare(*step.action_as_Convolution(), operands);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  return (*device)->scratchBytes();
}

class Shapes {
public:
  explicit Shapes(unsigned seed) : random(seed) {}

  Call product() {
    for (;;) {
      fb::MatmulT op;
      op.m = static_cast<uint64_t>(pick({1, 2, 3, 7, 16, 37, 64, 100, 128, 300, 784, 1024, 2000, 5000}));
      op.n = static_cast<uint64_t>(pick({1, 2, 5, 10, 16, 33, 64, 100, 128, 300, 512, 784, 1024, 3072, 10000}));
      op.k = static_cast<uint64_t>(pick({1, 3, 16, 50, 64, 128, 256, 300, 784, 1024, 2048, 3072, 5000, 20000, 70000}));
      op.batch = static_cast<uint64_t>(pick({1, 1, 1, 2, 8, 48}));
      const double m = op.m, n = op.n, k = op.k, batch = op.batch;
      if (batch * m * n * k > 1e11 || batch * std::max({m * k, n * k, m * n}) > 1e8)
        continue;
      op.transpose_a = pick({0, 1});
      op.transpose_b = pick({0, 1});
      op.b = 1;
      op.dst = 2;
      const auto type = static_cast<fb::DType>(
          pick({int(fb::DType::F32), int(fb::DType::F32), int(fb::DType::BF16), int(fb::DType::F16)}));
      const auto M = int64_t(op.m), N = int64_t(op.n), K = int64_t(op.k), B = int64_t(op.batch);
      Call call;
      call.add(op.transpose_a ? std::vector{B, K, M} : std::vector{B, M, K}, type);
      call.add(op.transpose_b ? std::vector{B, N, K} : std::vector{B, K, N}, type);
      call.add({B, M, N}, type);
      if (pick({0, 0, 1})) {
        call.add({N}, type);
        op.bias = 3;
      }
      call.text = str(fb::EnumNameDType(type), " ", B, " x ", M, "x", N, "x", K, op.transpose_a ? " ta" : "",
                      op.transpose_b ? " tb" : "", op.bias >= 0 ? " bias" : "");
      call.set(op);
      return call;
    }
  }

  Call convolution() {
    for (;;) {
      const int64_t N = pick({1, 1, 3, 16, 64}), H = pick({1, 5, 7, 14, 27, 28, 56, 64}), W = pick({1, H, H, H, 5, 33});
      const int64_t C = pick({1, 2, 3, 16, 17, 32, 64, 100, 256, 512}), R = pick({1, 3, 3, 5, 7});
      const int64_t S = pick({1, 2}), D = pick({1, 1, 1, 2}), G = pick({1, 1, 1, 2, C});
      const int64_t O = G == C ? C * pick({1, 1, 2}) : pick({1, 5, 16, 32, 64, 100, 192, 512});
      const int64_t reach = (R - 1) * D + 1, P = pick({0, reach / 2});
      const int64_t OH = (H + 2 * P - reach) / S + 1, OW = (W + 2 * P - reach) / S + 1;
      const int64_t ofElement = C / G * R * R;
      const double products = double(N) * double(OH * OW * O) * double(ofElement);
      const bool isColumn = W == 1 && R > 1, isWideAndDilated = D > 1 && R > 3; // with which oneDNN may need more
      if (isColumn || isWideAndDilated || C % G || O % G || H + 2 * P < reach || W + 2 * P < reach || products > 1e10 ||
          N * H * W * C > 20'000'000 || N * OH * OW * O > 20'000'000)
        continue;
      const auto type = pick({0, 0, 1}) ? fb::DType::BF16 : fb::DType::F32;
      fb::ConvolutionT op;
      op.kind = static_cast<fb::ConvKind>(pick({0, 1, 2}));
      op.weights = 1;
      op.dst = 2;
      op.groups = static_cast<uint32_t>(G);
      for (int dim = 0; dim < 2; ++dim) {
        op.strides.push_back(S);
        op.dilation.push_back(D);
        op.pad_low.push_back(P);
        op.pad_high.push_back(P);
      }
      Call call;
      call.add({N, H, W, C}, type);
      call.add({R, R, C / G, O}, type);
      call.add({N, OH, OW, O}, type);
      call.text =
          str(fb::EnumNameDType(type), " ", fb::EnumNameConvKind(op.kind), " ", N, "x", H, "x", W, " ", C, " to ", O,
              " channels, window ", R, ", stride ", S, ", dilation ", D, ", groups ", G, ", padding ", P);
      call.set(op);
      return call;
    }
  }

private:
  int64_t pick(std::vector<int64_t> values) { return values[random() % values.size()]; }
  std::mt19937 random;
};

/// Of a plan that is for CPUs as this one, or as oneDNN is told that it is.
CpuNeeds needsOfThisMachine() {
  if (usesGemmForAvx2())
    return {};
  return {static_cast<bool>(__builtin_cpu_supports("avx512bw")),
          static_cast<bool>(__builtin_cpu_supports("avx512bf16"))};
}

/// What is taken of the bound, at most.
template <typename Make> void expectCovered(Make make, int count) {
  int close = 0;
  for (int i = 0; i < count; ++i) {
    Call call = make();
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Program::Pack(builder, &call.program));
    const auto &program = *flatbuffers::GetRoot<fb::Program>(builder.GetBufferPointer());
    for (int threads : {1, 2, 8}) {
      const uint64_t bound = scratchBound(program, threads, {}), taken = takenBy(program, threads);
      EXPECT_LE(taken, bound) << call.text << ", " << threads << " threads";
      EXPECT_LE(taken, scratchBound(program, threads, needsOfThisMachine()))
          << call.text << ", " << threads << " threads, for CPUs as this one";
      close += 4 * taken >= bound;
    }
  }
  EXPECT_GT(close, count / 4) << "the bound is far above most";
}
} // namespace

TEST(ScratchBound, CoversProducts) {
  SKIP_WITH_THREAD_SANITIZER();
  Shapes shapes(11);
  expectCovered([&] { return shapes.product(); }, 400);
}

TEST(ScratchBound, CoversConvolutions) {
  SKIP_WITH_THREAD_SANITIZER();
  Shapes shapes(12);
  expectCovered([&] { return shapes.convolution(); }, 400);
}

/// Runs an action without a limit and with others; expects the same result up to `error`, in no more memory than the
/// limit.
template <typename ActionT>
static void expectSameWithin(OneStep step, Tensor &result, const ActionT &action, size_t limit, int threads,
                             double error) {
  step.run(action, threads);
  const std::vector<double> expected = result.stored();
  EXPECT_GT(step.scratchBytes, limit) << "nothing has to be done otherwise";
  step.run(action, threads, limit);
  EXPECT_LE(step.scratchBytes, limit);
  const std::vector<double> actual = result.stored();
  if (error == 0) {
    EXPECT_EQ(actual, expected);
    return;
  }
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], error) << i;
}

static fb::MatmulT productOf(const Tensor &a, const Tensor &b) {
  fb::MatmulT op;
  op.b = 1;
  op.dst = 2;
  op.m = static_cast<uint64_t>(a.shape[0]);
  op.k = static_cast<uint64_t>(a.shape[1]);
  op.n = static_cast<uint64_t>(b.shape[1]);
  return op;
}

static fb::ConvolutionT convolutionOf(fb::ConvKind kind) {
  fb::ConvolutionT op;
  op.kind = kind;
  op.weights = 1;
  op.dst = 2;
  op.strides = op.dilation = {1, 1};
  op.pad_low = op.pad_high = {1, 1};
  return op;
}

// As many threads as leave a call within the limit give the same bits as more.
TEST(ScratchBound, FewerThreadsWhereAllNeedTooMuch) {
  SKIP_WITH_THREAD_SANITIZER();
  Tensor src({16, 12, 12, 32}, DType::F32, 1), gradient({16, 12, 12, 64}, DType::F32, 2),
      weights({3, 3, 32, 64}, DType::F32);
  OneStep step({&src, &weights, &gradient});
  const fb::ConvolutionT op = convolutionOf(fb::ConvKind::BackwardWeights);
  step.run(op, 2);
  const size_t two = step.scratchBytes;
  step.run(op, 4);
  ASSERT_GT(step.scratchBytes, two);
  expectSameWithin(step, weights, op, two, 4, 0);
  expectSameWithin(step, weights, op, two + 64, 3, 0);
}

// Where there may be no scratch memory at all, plain loops need none.
TEST(ScratchBound, AnotherWayWhereOneThreadNeedsTooMuch) {
  SKIP_WITH_THREAD_SANITIZER();
  for (DType type : {DType::F32, DType::BF16, DType::F16}) {
    Tensor a({3, 5000}, type, 1), b({5000, 4}, type, 2), dst({3, 4}, type);
    if (type != DType::BF16) // whose products need none for AVX-512
      expectSameWithin(OneStep({&a, &b, &dst}), dst, productOf(a, b), 0, 3, type == DType::F32 ? 1e-3 : 0.1);
  }
  Tensor src({2, 9, 9, 20}, DType::F32, 1), weights({3, 3, 20, 24}, DType::F32, 2), dst({2, 9, 9, 24}, DType::F32, 3);
  OneStep step({&src, &weights, &dst});
  expectSameWithin(step, dst, convolutionOf(fb::ConvKind::Forward), 0, 3, 1e-3);
  expectSameWithin(step, src, convolutionOf(fb::ConvKind::BackwardData), 0, 3, 1e-3);
  expectSameWithin(step, weights, convolutionOf(fb::ConvKind::BackwardWeights), 0, 3, 1e-3);
}

// A worker has what its plan says, and with more threads than that is for, what a plan for so many would say.
TEST(ScratchBound, WorkersKeepToTheirPlan) {
  SKIP_WITH_THREAD_SANITIZER();
  fb::PlanT plan;
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.world_size = 1;
  plan.threads = 2;
  auto program = std::make_unique<fb::ProgramT>();
  program->name = "main";
  for (std::vector<int64_t> shape : {std::vector<int64_t>{16, 12, 12, 32}, {3, 3, 32, 64}, {16, 12, 12, 64}}) {
    addBuffer(*program, plan.private_bytes, shape);
    plan.private_bytes += static_cast<uint64_t>(shape[0] * shape[1] * shape[2] * shape[3]) * sizeof(float);
  }
  addStep(*program, convolutionOf(fb::ConvKind::BackwardWeights), "step");
  program->scratch_bytes = 700'000; // as one thread takes
  plan.programs.push_back(std::move(program));
  auto artifact = loadBytes(*finishPlan(std::move(plan)));
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const fb::Program &only = *(*artifact)->plan().programs()->Get(0);
  auto takenWith = [&](int threads) {
    auto device = createCpuDevice(**artifact, threads, 0);
    EXPECT_TRUE(device.ok()) << device.status();
    std::vector<Operand> operands;
    for (const fb::Buffer *buffer : *only.buffers())
      operands.push_back({nowhere, toDType(buffer->dtype()), toVector(buffer->shape())});
    EXPECT_TRUE((*device)->prepare(*only.steps()->Get(0)->action_as_Convolution(), operands).ok());
    return (*device)->scratchBytes();
  };
  const size_t one = takenWith(1);
  EXPECT_LE(one, 700'000u);
  EXPECT_EQ(takenWith(2), one);
  EXPECT_GT(takenWith(4), one);
  EXPECT_LE(takenWith(4), scratchBound(only, 4, {}));
}
