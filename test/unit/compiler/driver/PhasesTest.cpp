#include "compiler/driver/Compile.h"
#include "compiler/driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace dgc {
namespace {

std::string textOf(mlir::OpPassManager &manager) {
  std::string text;
  llvm::raw_string_ostream os(text);
  manager.printAsTextualPipeline(os);
  return text;
}

struct Phases : ::testing::Test {
  static void SetUpTestSuite() { registerAllPasses(); }
};

constexpr const char *line = R"(
dgc.model @line {
  %x = dgc.input "x" : tensor<8x3xf32>
  %t = dgc.input "t" : tensor<8x1xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<3x1xf32>
  %y = dgc.matmul %x, %w
  %loss = dgc.mean_squared_error %y, %t
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

constexpr const char *images = R"(
dgc.model @images {
  %x = dgc.input "x" : tensor<8x6x6x2xf32>
  %t = dgc.input "t" : tensor<8x4xf32>
  %k = dgc.variable "k" glorot_uniform : tensor<3x3x2x5xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<80x4xf32>
  %c = dgc.conv2d %x, %k
  %r = dgc.relu %c
  %f = dgc.flatten %r
  %y = dgc.matmul %f, %w
  %loss = dgc.mean_squared_error %y, %t
  dgc.loss %loss
  dgc.optimizer adam learning_rate 0.1
}
)";

/// A compilation as dgc-compile would be asked for it.
struct Request {
  const char *model, *target, *mesh, *strategy;
  Precision precision = Precision::F32;
  int64_t threads = 1;
};

using Threading = mlir::MLIRContext::Threading;

/// The artifact of a model; empty, with a failure, when it is refused.
std::vector<uint8_t> compileModel(const Request &request, std::shared_ptr<KernelCache> cache = nullptr,
                                  Threading threading = Threading::DISABLED) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, threading);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(request.model, &context);
  if (!module) {
    ADD_FAILURE() << "the model cannot be parsed";
    return {};
  }
  std::string error;
  CompileOptions options;
  options.target = {request.target};
  options.threads = {request.threads};
  options.kernelCache = std::move(cache);
  options.precision = request.precision;
  options.mesh = MeshShape::parse(request.mesh, error).value();
  options.strategy = StrategyOptions::parse(request.strategy, error).value();
  mlir::FailureOr<Artifact> artifact = compile(*module, options);
  EXPECT_TRUE(mlir::succeeded(artifact));
  return mlir::succeeded(artifact) ? std::move(artifact->bytes) : std::vector<uint8_t>();
}

TEST_F(Phases, EachEndsInItsVerifier) {
  mlir::MLIRContext context;
  PhaseOptions options; // as little as possible
  for (const PhaseInfo &phase : phaseTable()) {
    mlir::PassManager manager(&context, "builtin.module");
    phase.build(manager, options);
    ASSERT_FALSE(manager.empty()) << nameOf(phase.phase).str();
    EXPECT_EQ(std::prev(manager.end())->getArgument(), ("dgc-verify-" + nameOf(phase.phase)).str());
  }
}

TEST_F(Phases, TheTextOfAPhaseBuildsTheSamePasses) {
  mlir::MLIRContext context;
  std::string error;
  PhaseOptions options;
  options.model.precision = Precision::F16;
  options.model.fuseAttention = true;
  options.gradient.keep = {"dgc.gelu"};
  options.gradient.recompute = {{"layer.*", "a"}};
  options.gradient.microbatches = 2;
  options.place.placement = PlacementRules::parse("w[12]=/job:worker/task:1/cpu:0,head.*=task:0", error).value();
  options.shard.mesh = MeshShape::parse("data=2,model=3", error).value();
  options.shard.tensorParallel = options.shard.dataParallel = true;
  options.shard.cut = WeightCuts::parse("w1:1,w2:-1", error).value();
  options.shard.zero = 2;
  options.partition = {.distributed = true, .pipeline = true, .schedule = PipelineScheduleKind::ZeroBubbleH1};
  options.communicate.distributed = true;
  options.communicate.links = LinkModel::parse("data=1us:20GB/s", error).value();
  options.communicate.forbid = {"all_gather", "all_to_all"};
  options.kernel.target = {"cuda:sm_80,sm_90"};
  options.kernel.epilogues = Epilogues::Bias;
  options.schedule.overlap = true;
  for (const PhaseInfo &phase : phaseTable()) {
    mlir::PassManager built(&context, "builtin.module"), parsed(&context, "builtin.module");
    phase.build(built, options);
    std::string text = ("dgc-" + nameOf(phase.phase) + "-pipeline" + phase.text(options)).str();
    ASSERT_TRUE(mlir::succeeded(mlir::parsePassPipeline(text, parsed))) << text;
    EXPECT_EQ(textOf(built), textOf(parsed));
    // And the passes, as they print, are parsed to the same passes.
    mlir::PassManager again(&context, "builtin.module");
    ASSERT_TRUE(mlir::succeeded(mlir::parsePassPipeline(
        llvm::StringRef(textOf(built)).drop_front(strlen("builtin.module(")).drop_back(), again)))
        << textOf(built);
    EXPECT_EQ(textOf(built), textOf(again));
  }
}

TEST_F(Phases, KernelsFromACacheAreThoseThatWouldBeCompiled) {
  const Request v3 = {images, "x86-64-v3", "", ""}, v4 = {images, "x86-64-v4", "", ""};
  const std::vector<uint8_t> alone = compileModel(v3);
  auto cache = std::make_shared<KernelCache>();
  EXPECT_EQ(compileModel(v3, cache, Threading::ENABLED), alone);
  const size_t kernels = cache->size();
  EXPECT_GT(kernels, 1U);
  EXPECT_EQ(compileModel(v3, cache), alone);
  EXPECT_EQ(cache->size(), kernels);
  EXPECT_EQ(compileModel(v4, cache), compileModel(v4));
  EXPECT_EQ(cache->size(), 2 * kernels);
}

TEST_F(Phases, KernelsOfAFolderAreThoseThatWouldBeCompiled) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("kernels-" + std::to_string(getpid()));
  const Request request = {images, "x86-64-v3", "", ""};
  const std::vector<uint8_t> alone = compileModel(request);
  auto opened = [&] { return llvm::cantFail(KernelCache::inFolder((folder / "made").string())); };
  EXPECT_EQ(compileModel(request, opened(), Threading::ENABLED), alone);
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder / "made"))
    if (entry.path().filename().string().starts_with("llvmcache-dgc-"))
      files.push_back(entry.path());
  ASSERT_GT(files.size(), 2U);
  const auto written = std::filesystem::last_write_time(files[0]);
  EXPECT_EQ(compileModel(request, opened()), alone);
  EXPECT_EQ(std::filesystem::last_write_time(files[0]), written); // it was not compiled

  // Damaged ones are compiled again, and written again.
  std::filesystem::resize_file(files[0], std::filesystem::file_size(files[0]) - 1);
  std::filesystem::resize_file(files[1], 7);
  std::fstream(files[2], std::ios::in | std::ios::out | std::ios::binary).write("x", 1);
  EXPECT_EQ(compileModel(request, opened()), alone);
  const auto hashOf = [](const std::filesystem::path &file) {
    const std::string name = file.filename().string();
    return name.substr(name.find("-kernel_") + 1);
  };
  for (size_t i : {0, 1, 2})
    EXPECT_NE(opened()->find(hashOf(files[i])), nullptr) << files[i];

  std::filesystem::remove_all(folder);

  auto refused = KernelCache::inFolder("/dev/null/kernels");
  ASSERT_FALSE(refused);
  EXPECT_NE(llvm::toString(refused.takeError()).find("cannot make the folder '/dev/null/kernels'"), std::string::npos);
}

// Several models with options of their own at a time, for several kinds of targets, give the bytes that they give alone,
// also where they share the code of kernels and each has threads of its own.
TEST_F(Phases, SeveralThreadsMayCompileAtATime) {
  const Request requests[] = {
      {line, "x86-64-v3", "data=2", "zero1"},   {images, "x86-64-v3", "", "", Precision::F32, 3},
      {line, "x86-64-v4", "data=2", "zero3"},   {images, "x86-64-v4", "data=2", "accumulate=2", Precision::BF16, 2},
      {images, "reference", "", "recompute=*"}, {line, "cuda:sm_90", "data=4", ""},
  };
  std::vector<std::vector<uint8_t>> alone, together(2 * std::size(requests));
  for (const Request &request : requests)
    alone.push_back(compileModel(request));
  for (size_t i = 1; i < alone.size(); ++i)
    ASSERT_NE(alone[i - 1], alone[i]) << i;
  auto cache = std::make_shared<KernelCache>();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < together.size(); ++i)
    threads.emplace_back([&, i] {
      together[i] =
          compileModel(requests[i % std::size(requests)], cache, i % 2 ? Threading::ENABLED : Threading::DISABLED);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < together.size(); ++i)
    EXPECT_TRUE(together[i] == alone[i % std::size(requests)]) << "thread " << i;
}

} // namespace
} // namespace dgc
