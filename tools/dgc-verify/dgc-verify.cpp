// dgc-verify: whether a plan computes its model.

#include "compiler/driver/Registration.h"
#include "compiler/driver/SourceErrors.h"
#include "compiler/verify/Model.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/Status.h"
#include "runtime/base/Version.h"
#include "runtime/verify/Check.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/Threading.h"

#include <chrono>

namespace cl = llvm::cl;

static cl::OptionCategory category("dgc-verify options");

static cl::opt<std::string> plan(cl::Positional, cl::desc("PLAN"), cl::Required, cl::cat(category));
static cl::opt<std::string> against("against", cl::desc("The model that the plan was compiled from"),
                                    cl::value_desc("MODEL.mlir"), cl::Required, cl::cat(category));
static cl::opt<int> runs("runs", cl::desc("How often each program is run, every other time with a batch that is not full"),
                         cl::value_desc("N"), cl::init(2), cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::desc("Chooses the values, and the order in which workers go on"),
                              cl::value_desc("N"), cl::init(0), cl::cat(category));
static cl::opt<int> threads("threads", cl::desc("Threads to work with (default: the cores of this machine)"),
                            cl::value_desc("N"), cl::init(0), cl::cat(category));
static cl::opt<bool> quiet("quiet", cl::desc("Print the verdict alone, no progress"), cl::cat(category));

static constexpr const char *overview = R"(Checks that a plan computes its model, in exact arithmetic

  dgc-compile model.mlir --mesh data=3 --strategy data-parallel --with-semantics -o plan.dgcx
  dgc-verify plan.dgcx --against model.mlir

The model, as it is for one device, and the plan, with all its workers, their collectives and the planned places in
memory, are run on the same random numbers of two finite fields, in which sums and products are exact. What differs then
differs for nearly all numbers; docs/design/exact-verification.md says what is proved and what is not.
Exit status: 0 the plan is equal to the model; 1 that cannot be decided, or the model was refused; 2 wrong use of the
command line; 3 the plan is damaged; 10 the plan computes something else.
)";

static int fail(const absl::Status &status) {
  llvm::errs() << "dgc-verify: error: " << std::string(status.message()) << "\n";
  return static_cast<int>(dgc::rt::exitCodeOf(status));
}

/// The model for one device, with the options that the plan was compiled with. Nothing, with diagnostics, where it is
/// refused.
static std::optional<dgc::verify::Model> readModel(const dgc::artifact::Plan &compiled) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(against, &error);
  if (!file) {
    llvm::errs() << "dgc-verify: error: " << error << "\n";
    return std::nullopt;
  }
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  dgc::SourceErrorHandler diagnostics(sources, &context);
  context.printOpOnDiagnostic(false);
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module) {
    return std::nullopt;
  }
  std::optional<dgc::CompileOptions> options = dgc::optionsFor(compiled, error);
  if (!options) {
    llvm::errs() << "dgc-verify: error: " << plan << ": " << error << "\n";
    return std::nullopt;
  }
  mlir::FailureOr<dgc::verify::Model> model = dgc::modelOf(*module, *options);
  return succeeded(model) ? std::optional(*std::move(model)) : std::nullopt;
}

static void print(const dgc::verify::Verdict &verdict, double seconds) {
  llvm::raw_ostream &os = llvm::outs();
  if (!verdict.isEqual()) {
    os << "not equal: " << verdict.difference << "\n";
    return;
  }
  os << llvm::formatv("equal: a difference is missed with a probability below 2^-{0:f1}\n", verdict.bits);
  for (const dgc::verify::Verdict::Program &program : verdict.programs) {
    os << "  " << program.name << ": " << dgc::rt::counted(program.runs, "run") << " with ";
    llvm::interleaveComma(program.validCounts, os);
    os << " examples\n";
  }
  os << "  " << dgc::rt::counted(verdict.workers, "worker") << ", " << verdict.values << " values compared, of degree "
     << verdict.degree << " at most\n";
  os << "  " << verdict.functions << " values of functions that are random here, " << verdict.exponentials
     << " of them exponentials, for which no such bound is known\n";
  os << llvm::formatv("  {0:f2} s\n", seconds);
}

static int run() {
  if (runs < 1) {
    llvm::errs() << "dgc-verify: error: --runs is at least 1\n";
    return static_cast<int>(dgc::rt::ExitCode::Usage);
  }
  absl::StatusOr<std::unique_ptr<dgc::rt::Artifact>> artifact = dgc::rt::load(plan);
  if (!artifact.ok()) {
    return fail(artifact.status());
  }
  std::optional<dgc::verify::Model> model = readModel((*artifact)->plan());
  if (!model) {
    return 1;
  }
  dgc::verify::CheckOptions options;
  options.runs = runs;
  options.seed = seed;
  options.threads = threads > 0 ? threads : static_cast<int>(llvm::hardware_concurrency().compute_thread_count());
  if (!quiet && llvm::errs().is_displayed()) {
    options.progress = [](const std::string &what) { llvm::errs() << "dgc-verify: " << what << "\n"; };
  }
  const auto begin = std::chrono::steady_clock::now();
  absl::StatusOr<dgc::verify::Verdict> verdict = dgc::verify::check(**artifact, *model, options);
  if (!verdict.ok()) {
    return fail(verdict.status());
  }
  print(*verdict, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return static_cast<int>(verdict->isEqual() ? dgc::rt::ExitCode::Ok : dgc::rt::ExitCode::Different);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  dgc::rt::prepareForLimits("dgc-verify");
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "dgc-verify " DGC_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs())) {
    return 2;
  }
  return run();
}
