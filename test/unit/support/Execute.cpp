#include "test/unit/support/Execute.h"

#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Registration.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;

absl::StatusOr<std::vector<uint8_t>> dgc::testing::compileText(const std::string &text, const ExecuteOptions &options) {
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
  compileOptions.threads = options.run.threads;
  std::optional<Phase> from = phaseFromName(options.from);
  if (!from) {
    return absl::InvalidArgumentError("no such phase: " + options.from);
  }
  compileOptions.from = *from;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    return absl::InvalidArgumentError(diagnostics);
  }
  FailureOr<std::vector<uint8_t>> bytes = compile(*module, compileOptions);
  if (failed(bytes)) {
    return absl::InvalidArgumentError(diagnostics);
  }
  return *std::move(bytes);
}

absl::StatusOr<dgc::rt::RunOnceResult> dgc::testing::execute(const std::string &text, const NamedArrays &inputs,
                                                             const ExecuteOptions &options) {
  absl::StatusOr<std::vector<uint8_t>> plan = compileText(text, options);
  return plan.ok() ? rt::runOnce(*plan, inputs, options.run) : absl::StatusOr<rt::RunOnceResult>(plan.status());
}
