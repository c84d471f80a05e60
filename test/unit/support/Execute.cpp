#include "test/unit/support/Execute.h"

#include "compiler/codegen/cuda/Codegen.h"
#include "compiler/package/Package.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Registration.h"
#include "dialects/exec/Exec.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;

using Finish = llvm::function_ref<FailureOr<std::vector<uint8_t>>(ModuleOp, const dgc::CompileOptions &)>;

static absl::StatusOr<std::vector<uint8_t>> compileWith(const std::string &text,
                                                        const dgc::testing::ExecuteOptions &options, Finish finish) {
  using namespace dgc;
  static std::once_flag once;
  std::call_once(once, [] {
    registerAllPasses();
    registerPassManagerCLOptions(); // without them the pass managers of the phases cannot be set up
  });
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(diagnostics) << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return success();
  });
  CompileOptions compileOptions;
  compileOptions.mesh = options.mesh;
  compileOptions.strategy = options.strategy;
  compileOptions.links = options.links;
  compileOptions.microbatches = options.microbatches;
  compileOptions.batch = options.batch;
  compileOptions.overlap = options.overlap;
  compileOptions.noPadding = options.noPadding;
  compileOptions.precision = options.precision;
  compileOptions.attention = options.attention;
  compileOptions.epilogues = options.epilogues;
  compileOptions.threads = options.run.threads;
  compileOptions.target = options.target;
  compileOptions.serverTarget = options.serverTarget;
  std::optional<Phase> from = phaseFromName(options.from);
  if (!from) {
    return absl::InvalidArgumentError("no such phase: " + options.from);
  }
  compileOptions.from = *from;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    return absl::InvalidArgumentError(diagnostics);
  }
  std::string explanation;
  llvm::raw_string_ostream explained(explanation);
  if (options.explain) {
    compileOptions.explain = &explained;
  }
  FailureOr<std::vector<uint8_t>> bytes = finish(*module, compileOptions);
  if (options.explain) {
    *options.explain = explanation;
  }
  if (failed(bytes)) {
    return absl::InvalidArgumentError(diagnostics);
  }
  return *std::move(bytes);
}

absl::StatusOr<std::vector<uint8_t>> dgc::testing::compileText(const std::string &text, const ExecuteOptions &options) {
  return compileWith(text, options, [](ModuleOp module, const CompileOptions &each) { return compile(module, each); });
}

absl::StatusOr<std::vector<uint8_t>> dgc::testing::compileWithoutCode(const std::string &text,
                                                                      const ExecuteOptions &options) {
  return compileWith(text, options, [](ModuleOp module, const CompileOptions &each) -> FailureOr<std::vector<uint8_t>> {
    if (failed(runPhases(module, each)))
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

absl::StatusOr<std::vector<uint8_t>> dgc::testing::compileForFakeGpu(const std::string &text, ExecuteOptions options) {
  options.target = "cuda:sm_90";
  return compileWith(text, options, [](ModuleOp module, const CompileOptions &each) -> FailureOr<std::vector<uint8_t>> {
    if (failed(runPhases(module, each)))
      return failure();
    FailureOr<CompiledKernels> kernels =
        compileKernelsOf(module, each, [](ModuleOp source) { return compileForEmulator(source); });
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

absl::StatusOr<dgc::rt::RunOnceResult> dgc::testing::execute(const std::string &text, const NamedArrays &inputs,
                                                             const ExecuteOptions &options) {
  absl::StatusOr<std::vector<uint8_t>> plan = compileText(text, options);
  return plan.ok() ? rt::runOnce(*plan, inputs, options.run) : absl::StatusOr<rt::RunOnceResult>(plan.status());
}
