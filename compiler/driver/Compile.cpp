#include "compiler/driver/Compile.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Workspaces.h"
#include "compiler/package/Package.h"
#include "dialects/dist/Hosts.h"
#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "passes/communicate/Passes.h"
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/Task.h"
#include "runtime/servers/Rounds.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;

namespace dgc {

/// Writes the time that something took, where that is wanted.
class PhaseTimer {
public:
  PhaseTimer(Phase phase, llvm::raw_ostream *os) : phase(phase), os(os) {}
  void stop() const {
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (os)
      *os << llvm::formatv("{0,-12} {1,8:f3} s\n", nameOf(phase), seconds.count());
  }

private:
  Phase phase;
  llvm::raw_ostream *os;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Writes the program after a phase to DIRECTORY/NUMBER-PHASE.mlir, with the command that made it of the one before.
static LogicalResult dump(ModuleOp module, const PhaseInfo &phase, const CompilePlan &plan,
                          const CompileReports &reports) {
  auto fileOf = [](Phase each) { return (Twine(static_cast<int>(each)) + "-" + nameOf(each) + ".mlir").str(); };
  llvm::SmallString<128> path(reports.dumpDirectory);
  std::error_code error = llvm::sys::fs::create_directories(reports.dumpDirectory);
  llvm::sys::path::append(path, fileOf(phase.phase));
  if (!error) {
    llvm::raw_fd_ostream out(path, error);
    if (!error) {
      auto before = static_cast<Phase>(static_cast<int>(phase.phase) - 1);
      out << "// " << reports.dgcOpt << " " << commandOf(phase, plan.phases, plan.inserted) << " " << fileOf(before)
          << "\n";
      module.print(out, OpPrintingFlags().elideLargeElementsAttrs(64));
      out.close();
      error = out.error();
      out.clear_error(); // else its destructor aborts
    }
  }
  return error ? module.emitError() << "cannot write '" << path.str() << "': " << error.message() : success();
}

static LogicalResult runPhase(ModuleOp module, const PhaseInfo &phase, const CompilePlan &plan,
                              const CompileReports &reports) {
  PassManager manager(module.getContext());
  // The verifier in which a phase ends verifies all IR. Behind each pass that would take a third of the time of the phases: it is
  // done where the mistakes of a model are found, and where passes of others run.
  manager.enableVerifier(phase.phase == Phase::Model || !plan.inserted.empty());
  if (reports.configure && failed(reports.configure(manager)))
    return failure();
  buildPhase(manager, phase, plan.phases, plan.inserted);
  PhaseTimer timer(phase.phase, reports.timing);
  const rt::Task task(("compiling: phase " + nameOf(phase.phase)).str(), 0, rt::Task::Things);
  if (failed(manager.run(module)))
    return failure();
  timer.stop();
  if (phase.phase == Phase::Communicate && reports.explain)
    explain(module, *reports.explain);
  return reports.dumpDirectory.empty() ? success() : dump(module, phase, plan, reports);
}

LogicalResult runPhases(ModuleOp module, const CompilePlan &plan, const CompileReports &reports) {
  const CompileOptions &options = plan.asked;
  const bool isLimited = options.memoryLimit.bytes >= 0;
  OwningOpRef<ModuleOp> original; // to look for what would fit
  if (isLimited)
    original = module.clone();
  for (const PhaseInfo &phase : phaseTable())
    if (phase.phase > options.from && phase.phase <= options.to && failed(runPhase(module, phase, plan, reports)))
      return failure();
  if (options.to < Phase::Schedule)
    return success();
  if (failed(planWorkspaces(module, plan)) || (isLimited && failed(checkMemoryLimit(module, *original, options))))
    return failure();
  return success();
}

/// The kernels that workers on CPUs, or all others, launch: those of `source` that have their names.
static OwningOpRef<ModuleOp> kernelsOf(ModuleOp module, ModuleOp source, bool onHost) {
  llvm::StringSet<> used;
  for (auto program : module.getOps<exec::ProgramOp>())
    if (isOnHost(module, program.getMeshAttr()) == onHost)
      program.walk([&](exec::LaunchOp launch) { used.insert(launch.getKernel().getLeafReference().getValue()); });
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(source->clone());
  for (auto kernel : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (!used.contains(kernel.getSymName()))
      kernel.erase();
  return copy;
}

FailureOr<CompiledKernels> compileKernelsOf(ModuleOp module, const CompilePlan &plan, CompileKernels compile) {
  auto source = module.lookupSymbol<ModuleOp>("kernels");
  bool hasHosts = llvm::any_of(module.getOps<dist::MeshOp>(), [](auto mesh) { return isOnHost(mesh); });
  if (!hasHosts)
    return source ? compile(source) : FailureOr<CompiledKernels>(CompiledKernels());
  OwningOpRef<ModuleOp> none = ModuleOp::create(module.getLoc());
  if (!source)
    source = *none;
  FailureOr<CompiledKernels> kernels = compile(*kernelsOf(module, source, false));
  if (failed(kernels))
    return failure();
  FailureOr<CompiledKernels> host =
      plan.servers->compileKernels(*kernelsOf(module, source, true), plan.asked.kernelCache.get());
  if (failed(host))
    return failure();
  kernels->host = std::make_shared<CompiledKernels>(*std::move(host));
  return kernels;
}

/// Every kernel of workers and servers as bytecode of the reference; nothing where the code for workers is that.
static FailureOr<std::vector<uint8_t>> semanticsOf(ModuleOp module, const CompilePlan &plan) {
  auto source = module.lookupSymbol<ModuleOp>("kernels");
  const rt::DeviceTraits *device = rt::findDeviceTraits(plan.workers->kind().str());
  if (!source || (device && device->kernels == rt::KernelForm::Bytecode))
    return std::vector<uint8_t>();
  std::string wrong;
  std::unique_ptr<Target> reference = TargetRegistry::builtin().create("reference", wrong);
  if (!reference)
    return module.emitError() << "--with-semantics: " << wrong;
  FailureOr<CompiledKernels> kernels = reference->compileKernels(source, nullptr);
  if (failed(kernels))
    return failure();
  return std::move(kernels->object);
}

static std::optional<artifact::AsynchronousT> asynchronousOf(const CompilePlan &plan) {
  if (!plan.asynchronousWorkers)
    return std::nullopt;
  artifact::AsynchronousT asynchronous;
  asynchronous.workers = static_cast<uint32_t>(plan.asynchronousWorkers);
  const int64_t staleness = plan.asked.staleness.value();
  asynchronous.staleness = staleness == Staleness::kUnlimited ? UINT64_MAX : static_cast<uint64_t>(staleness);
  return asynchronous;
}

FailureOr<Artifact> compile(ModuleOp module, const CompileOptions &options, const CompileReports &reports) {
  FailureOr<CompilePlan> plan = planCompilation(module, options);
  return failed(plan) ? FailureOr<Artifact>() : compile(module, *plan, reports);
}

FailureOr<Artifact> compile(ModuleOp module, const CompilePlan &plan, const CompileReports &reports) {
  if (failed(runPhases(module, plan, reports)))
    return failure();
  PhaseTimer timer(Phase::Artifact, reports.timing);
  FailureOr<CompiledKernels> kernels = compileKernelsOf(module, plan, [&](ModuleOp source) {
    return plan.workers->compileKernels(source, plan.asked.kernelCache.get());
  });
  if (failed(kernels))
    return failure();
  kernels->kind = plan.workers->kind(); // also without a kernel
  if (plan.asked.withSemantics) {
    FailureOr<std::vector<uint8_t>> semantics = semanticsOf(module, plan);
    if (failed(semantics))
      return failure();
    kernels->semantics = *std::move(semantics);
  }
  FailureOr<std::vector<uint8_t>> bytes = packageModule(module, *kernels, {plan.describe(), asynchronousOf(plan)});
  if (failed(bytes))
    return failure();
  // What a worker checks when it loads the plan, before there is a file.
  absl::StatusOr<std::unique_ptr<rt::Artifact>> artifact = rt::loadBytes(*bytes, "the plan");
  if (!artifact.ok())
    return module.emitError() << std::string(artifact.status().message());
  if (plan.asynchronousWorkers)
    if (absl::Status status = rt::checkAsynchronous((*artifact)->plan()); !status.ok())
      return module.emitError() << std::string(status.message()) << "; use parameter-server, or --staleness=0";
  timer.stop();
  return Artifact{*std::move(bytes)};
}

} // namespace dgc
