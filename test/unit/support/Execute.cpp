#include "test/unit/support/Execute.h"

#include "compiler/driver/Compile.h"
#include "compiler/driver/Registration.h"
#include "compiler/package/Package.h"
#include "dialects/exec/Exec.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/support/EmulatedKernels.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;
using namespace dgc;

using Finish =
    llvm::function_ref<FailureOr<std::vector<uint8_t>>(ModuleOp, const CompileOptions &, const CompileReports &)>;

static FailureOr<CompileOptions> optionsOf(const testing::ExecuteOptions &options, std::string &error) {
  CompileOptions result;
  if (!readOption(options.mesh, result.mesh, error) || !readOption(options.strategy, result.strategy, error) ||
      !readOption(options.links, result.links, error) || !readOption(options.precision, result.precision, error) ||
      !readOption(options.attention, result.attention, error) || !readOption(options.repeats, result.repeats, error) ||
      !readOption(options.epilogues, result.epilogues, error) || !readOption(options.from, result.from, error))
    return failure();
  result.microbatches = {options.microbatches};
  result.batch = {options.batch};
  result.overlap = options.overlap ? Switch::On : Switch::Off;
  result.noPadding = options.noPadding;
  result.withSemantics = options.withSemantics;
  result.threads = {options.run.threads};
  result.target = {options.target};
  result.serverTarget = {options.serverTarget};
  // A model on many meshes is made of few kernels that differ, and most of the time of a test goes into compiling them.
  static const auto kernels = std::make_shared<KernelCache>();
  result.kernelCache = kernels;
  return result;
}

/// A context with all dialects. To load and to take down a context takes as long as a small plan to compile, so that a thread
/// keeps one for some hundred plans, with what they were made of.
static MLIRContext &contextOfThread() {
  static thread_local std::unique_ptr<MLIRContext> context;
  static thread_local int uses = 0;
  if (!context || ++uses == 100) {
    DialectRegistry registry;
    registerAllDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    uses = 0;
  }
  return *context;
}

static absl::StatusOr<std::vector<uint8_t>> compileWith(const std::string &text, const testing::ExecuteOptions &options,
                                                        Finish finish) {
  static std::once_flag once;
  std::call_once(once, registerAllPasses);
  MLIRContext &context = contextOfThread();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(diagnostics) << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return success();
  });
  std::string error;
  FailureOr<CompileOptions> compileOptions = optionsOf(options, error);
  if (failed(compileOptions)) {
    return absl::InvalidArgumentError(error);
  }
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    return absl::InvalidArgumentError(diagnostics);
  }
  std::string explanation;
  llvm::raw_string_ostream explained(explanation);
  CompileReports reports;
  reports.explain = options.explain ? &explained : nullptr;
  FailureOr<std::vector<uint8_t>> bytes = finish(*module, *compileOptions, reports);
  if (options.explain) {
    *options.explain = explanation;
  }
  if (failed(bytes)) {
    return absl::InvalidArgumentError(diagnostics);
  }
  return *std::move(bytes);
}

namespace dgc::testing {

absl::StatusOr<std::vector<uint8_t>> compileText(const std::string &text, const ExecuteOptions &options) {
  return compileWith(text, options,
                     [](ModuleOp module, const CompileOptions &each,
                        const CompileReports &reports) -> FailureOr<std::vector<uint8_t>> {
                       FailureOr<Artifact> artifact = compile(module, each, reports);
                       return failed(artifact) ? FailureOr<std::vector<uint8_t>>() : std::move(artifact->bytes);
                     });
}

absl::StatusOr<std::vector<uint8_t>> compileWithoutCode(const std::string &text, const ExecuteOptions &options) {
  return compileWith(text, options,
                     [](ModuleOp module, const CompileOptions &each,
                        const CompileReports &reports) -> FailureOr<std::vector<uint8_t>> {
                       FailureOr<CompilePlan> plan = planCompilation(module, each);
                       if (failed(plan) || failed(runPhases(module, *plan, reports)))
                         return failure();
                       CompiledKernels kernels;
                       llvm::StringSet<> known;
                       module.walk([&](exec::LaunchOp launch) {
                         StringRef symbol = launch.getKernel().getLeafReference().getValue();
                         if (known.insert(symbol).second) {
                           CompiledKernel &kernel = kernels.kernels.emplace_back();
                           kernel.symbol = symbol.str();
                           kernel.argCount = launch->getNumOperands();
                         }
                       });
                       return packageModule(module, kernels, {});
                     });
}

absl::StatusOr<std::vector<uint8_t>> compileForFakeGpu(const std::string &text, ExecuteOptions options) {
  options.target = "cuda:sm_90";
  return compileWith(text, options,
                     [](ModuleOp module, const CompileOptions &each,
                        const CompileReports &reports) -> FailureOr<std::vector<uint8_t>> {
                       FailureOr<CompilePlan> plan = planCompilation(module, each);
                       if (failed(plan) || failed(runPhases(module, *plan, reports)))
                         return failure();
                       FailureOr<CompiledKernels> kernels =
                           compileKernelsOf(module, *plan, [](ModuleOp source) { return compileForEmulator(source); });
                       if (failed(kernels))
                         return failure();
                       kernels->kind = "cuda";
                       kernels->features = {"sm_90"};
                       if (!kernels->object.empty())
                         kernels->deviceCode.push_back({90, true, std::move(kernels->object)});
                       kernels->object.clear();
                       return packageModule(module, *kernels, {});
                     });
}

absl::StatusOr<rt::RunOnceResult> execute(const std::string &text, const NamedArrays &inputs,
                                          const ExecuteOptions &options) {
  absl::StatusOr<std::vector<uint8_t>> plan = compileText(text, options);
  return plan.ok() ? rt::runOnce(*plan, inputs, options.run) : absl::StatusOr<rt::RunOnceResult>(plan.status());
}

} // namespace dgc::testing
