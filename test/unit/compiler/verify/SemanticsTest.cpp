// The section of --with-semantics: every call of a kernel finds there a kernel for its arguments.
#include "compiler/driver/Compile.h"
#include "compiler/driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "runtime/artifact/Reader.h"
#include "runtime/device/reference/Bytecode.h"
#include "gtest/gtest.h"

#include <map>

namespace dgc {
namespace {

struct Case {
  const char *name, *model, *target, *strategy;
  bool asks = true;
};
void PrintTo(const Case &each, std::ostream *os) { *os << each.name; }

class Semantics : public ::testing::TestWithParam<Case> {};

std::unique_ptr<rt::Artifact> compiled(const Case &how) {
  CompileOptions options;
  std::string error;
  EXPECT_TRUE(readOption(how.target, options.target, error)) << error;
  EXPECT_TRUE(readOption(how.strategy, options.strategy, error)) << error;
  EXPECT_TRUE(readOption("data=2", options.mesh, error)) << error;
  options.withSemantics = how.asks;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module =
      mlir::parseSourceFile<mlir::ModuleOp>(DGC_SOURCE_DIR "/examples/" + std::string(how.model) + ".mlir", &context);
  mlir::FailureOr<Artifact> artifact = module ? compile(*module, options) : mlir::FailureOr<Artifact>();
  if (failed(artifact))
    return nullptr;
  auto loaded = rt::loadBytes(artifact->bytes);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

std::map<std::string, const reference::Kernel *> semanticsOf(const rt::Artifact &artifact) {
  absl::StatusOr<const reference::Kernels *> kernels = reference::readKernels(artifact.semantics());
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  std::map<std::string, const reference::Kernel *> bySymbol;
  for (const reference::Kernel *kernel : *(*kernels)->kernels())
    bySymbol[kernel->symbol()->str()] = kernel;
  return bySymbol;
}

uint64_t elementsOf(const artifact::Buffer &buffer) {
  uint64_t count = 1;
  for (uint32_t i = 0; buffer.shape() && i < buffer.shape()->size(); ++i)
    count *= buffer.shape()->Get(i);
  return count;
}

void expectFits(const artifact::Program &program, const artifact::KernelCall &call, const reference::Kernel &kernel) {
  ASSERT_EQ(kernel.inputs() + kernel.results(), call.args()->size());
  for (uint32_t i = 0; i < call.args()->size(); ++i) {
    const artifact::Buffer &buffer = *program.buffers()->Get(call.args()->Get(i));
    EXPECT_EQ(kernel.buffers()->Get(i)->count(), elementsOf(buffer)) << kernel.symbol()->str() << " argument " << i;
    EXPECT_EQ(kernel.buffers()->Get(i)->type(), reference::typeOf(static_cast<rt::DType>(buffer.dtype())))
        << kernel.symbol()->str() << " argument " << i;
  }
}

TEST_P(Semantics, HaveEachCall) {
  std::unique_ptr<rt::Artifact> artifact = compiled(GetParam());
  ASSERT_TRUE(artifact);
  const artifact::Plan &plan = artifact->plan();
  auto kernels = semanticsOf(*artifact);
  size_t calls = 0;
  for (const artifact::Program *program : *plan.programs())
    for (const artifact::Step *step : *program->steps())
      if (const artifact::KernelCall *call = step->action_as_KernelCall()) {
        const std::string symbol = plan.kernels()->Get(call->kernel())->symbol()->str();
        ASSERT_TRUE(kernels.contains(symbol)) << symbol;
        expectFits(*program, *call, *kernels[symbol]);
        ++calls;
      }
  EXPECT_GT(calls, 0u);
}

const Case cases[] = {
    {"Cpu", "gpt_char", "x86-64-v3", "data-parallel"},
    {"Gpu", "mnist_cnn", "cuda:sm_90", "zero1"},
    {"ServersOnTheHost", "mnist_mlp", "cuda:sm_90", "parameter-server=2"},
    {"Reference", "mnist_mlp", "reference", "data-parallel"},
    {"ReferenceUnasked", "mnist_mlp", "reference", "data-parallel", false},
};
INSTANTIATE_TEST_SUITE_P(All, Semantics, ::testing::ValuesIn(cases), [](const auto &each) { return each.param.name; });

TEST(SemanticsUnasked, AreAbsent) {
  std::unique_ptr<rt::Artifact> artifact = compiled({"", "linear_regression", "x86-64-v3", "data-parallel", false});
  ASSERT_TRUE(artifact);
  EXPECT_TRUE(artifact->semantics().empty());
  EXPECT_EQ(artifact->plan().semantics_section(), -1);
}

} // namespace
} // namespace dgc
