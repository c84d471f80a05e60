#include "tools/dgc-compile/Compilation.h"
#include "compiler/target/KernelCache.h"
#include "passes/analysis/SizeDecisions.h"
#include "runtime/artifact/Spelling.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace dgc::tool {

static int printOptions(const CompilePlan &plan) {
  for (const PlannedOption &option : plan.describe()) {
    llvm::outs() << rt::optionText(option.name, option.value, option.origin) << "\n";
  }
  return 0;
}

int Compilation::run(CompileOptions options, const MeshRange &range) {
  if (range.isRange) {
    return compileRange(options, range);
  }
  std::vector<uint8_t> bytes;
  const int code = compileOne(model.module(), options, bytes);
  if (code != 0 || !outputs.file) {
    return code;
  }
  const bool isWritten = options.to == Phase::Artifact ? outputs.write(bytes) : outputs.write(model.module());
  return isWritten ? 0 : 2;
}

int Compilation::compileRange(CompileOptions &options, const MeshRange &range) {
  if (options.strategy.asyncParameterServers > 0 && options.staleness.value() != 0) {
    llvm::errs()
        << "dgc-compile: a plan with async-parameter-server is for any number of workers: give --mesh one size, as "
           "in --mesh "
        << options.mesh.text() << "\n";
    return 2;
  }
  if (!options.kernelCache) {
    options.kernelCache = std::make_shared<KernelCache>(); // plans have kernels in common
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::vector<uint8_t>> plans(range.meshes.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    options.mesh = range.meshes[i];
    int64_t workers = 1;
    for (const MeshShape::Axis &axis : options.mesh.axes) {
      workers *= axis.size;
    }
    (outputs.file ? llvm::errs() : llvm::outs())
        << "plan " << i + 1 << " of " << plans.size() << ": " << rt::counted(workers, "worker") << "\n";
    mlir::OwningOpRef<mlir::ModuleOp> module = model.module().clone();
    if (const int code = compileOne(*module, options, plans[i]); code != 0) {
      llvm::errs() << "dgc-compile: nothing is written: there is no plan for --mesh " << options.mesh.text()
                   << ", which is one of " << range.text() << ", as said above; "
                   << (plans.size() > 1 ? "leave that size out, as in --mesh " + range.without(i) + ", or " : "")
                   << "change what it fails for\n";
      return code;
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return !outputs.file || outputs.write(plans, seconds.count()) ? 0 : 2;
}

/// Plans a compilation of the module, and prints its options or compiles: to `bytes`, or to the program of another phase.
int Compilation::compileOne(mlir::ModuleOp module, const CompileOptions &options, std::vector<uint8_t> &bytes) {
  mlir::FailureOr<CompilePlan> plan = planCompilation(module, options);
  if (failed(plan)) {
    return 2;
  }
  if (!outputs.file) {
    return printOptions(*plan);
  }
  return compilePlan(module, *plan, bytes);
}

int Compilation::compilePlan(mlir::ModuleOp module, const CompilePlan &plan, std::vector<uint8_t> &bytes) {
  std::optional<ModelText> compared; // as it is before the compilation, which changes the module
  if (reference) {
    compared = ModelText{reference->module().clone(), text, outputs.areShrunk};
  }
  if (outputs.areShrunk) {
    recordSizeDecisions(module);
  }
  if (plan.asked.to != Phase::Artifact) {
    return failed(runPhases(module, plan, reports)) ? 1 : 0;
  }
  mlir::FailureOr<Artifact> compiled = compile(module, plan, reports);
  if (failed(compiled)) {
    return 1;
  }
  if (outputs.path == "-" && llvm::outs().is_displayed()) {
    llvm::errs() << "dgc-compile: an artifact is binary; name a file with -o\n";
    return 2;
  }
  bytes = std::move(compiled->bytes);
  absl::StatusOr<std::unique_ptr<rt::Artifact>> artifact = rt::loadBytes(bytes, "the compiled plan");
  if (!succeeds(artifact.status())) {
    return 2;
  }
  if (compared) {
    if (const int code = checkCompiled(*compared, plan, module, *artifact, bytes); code != 0) {
      return code;
    }
  }
  return outputs.describe(**artifact) && outputs.sign(bytes) ? 0 : 2;
}

} // namespace dgc::tool
