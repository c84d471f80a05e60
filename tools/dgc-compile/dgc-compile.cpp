// dgc-compile: from a model to an artifact.

#include "compiler/driver/MeshRange.h"
#include "compiler/driver/ParsedModel.h"
#include "compiler/driver/Plugin.h"
#include "compiler/driver/Registration.h"
#include "compiler/import/ProgramSummary.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/Status.h"
#include "runtime/base/Version.h"
#include "runtime/telemetry/TaskLine.h"
#include "tools/dgc-compile/Compilation.h"
#include "tools/dgc-compile/Outputs.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"

#include <optional>

namespace cl = llvm::cl;
using dgc::tool::Compilation;
using dgc::tool::Outputs;
using dgc::tool::succeeds;

static cl::OptionCategory category("dgc-compile options");

static cl::opt<std::string> input(cl::Positional, cl::desc("MODEL"), cl::init("-"), cl::cat(category));
static cl::opt<std::string> output("o",
                                   cl::desc("Where to write the artifact or, with --compile-to, the text; - is stdout"),
                                   cl::value_desc("PLAN"), cl::init("-"), cl::cat(category));
static cl::opt<std::string> loss("loss",
                                 cl::desc("Of a program of another framework: train it with this loss, one of the "
                                          "model language, of an output and an input \"label\" "
                                          "or \"target\"; or with an output that is the loss"),
                                 cl::value_desc("NAME [OUTPUT]"), cl::cat(category));
static cl::opt<std::string> optimizer("optimizer",
                                      cl::desc("With --loss: the optimizer, as in a model: \"sgd learning_rate 0.1\""),
                                      cl::value_desc("OPTIMIZER"), cl::cat(category));
static cl::opt<std::string> freeze("freeze",
                                   cl::desc("With --loss: weights that remain as they are, as in \"embed*,*.bias\""),
                                   cl::value_desc("PATTERNS"), cl::cat(category));
static cl::opt<std::string> signature("signature",
                                      cl::desc("Of a program of another framework: names, state, initial values and "
                                               "the batch of its arguments, as JSON"),
                                      cl::value_desc("FILE.json"), cl::cat(category));
static cl::opt<bool> inspects("inspect",
                              cl::desc("Print what is in a program of another framework and what of it is not "
                                       "supported, and do no more"),
                              cl::cat(category));
static cl::opt<bool> json("json", cl::desc("With --inspect: as JSON"), cl::cat(category));
/// --placement, which reads a file.
class PlacementParser : public cl::parser<dgc::PlacementRules> {
public:
  using parser::parser;
  bool parse(cl::Option &option, llvm::StringRef, llvm::StringRef text, dgc::PlacementRules &value) {
    std::string error;
    std::optional<dgc::PlacementRules> read = dgc::CompileOptions::readPlacement(text, error);
    if (!read) {
      return option.error(error);
    }
    value = *std::move(read);
    return false;
  }
};

/// The options that shape the plan, as CompileOptions lists them: parsed into it.
class PlanFlags {
public:
  PlanFlags() {
    dgc::CompileOptions::bind(options, [&](const char *name, auto &field, const char *value, const char *help) {
      add(name, field, value, help);
    });
  }

  dgc::CompileOptions options; // with the first of the meshes
  dgc::MeshRange meshes;

private:
  template <class T> struct ParserOf {
    using Type = cl::parser<T>;
  };
  template <class T> void add(const char *name, T &field, const char *value, const char *help) {
    flags.push_back(std::make_unique<cl::opt<T, /*ExternalStorage=*/true, typename ParserOf<T>::Type>>(
        llvm::StringRef(name), cl::desc(help), cl::value_desc(value), cl::location(field), cl::cat(category)));
  }
  void add(const char *name, dgc::MeshShape &, const char *value, const char *help) { add(name, meshes, value, help); }
  void add(const char *name, std::vector<std::string> &field, const char *value, const char *help) {
    flags.push_back(std::make_unique<cl::list<std::string, std::vector<std::string>>>(
        llvm::StringRef(name), cl::desc(help), cl::value_desc(value), cl::location(field), cl::CommaSeparated,
        cl::cat(category)));
  }
  std::vector<std::unique_ptr<cl::Option>> flags;
};
template <> struct PlanFlags::ParserOf<dgc::PlacementRules> {
  using Type = PlacementParser;
};

static PlanFlags planFlags;
static cl::list<std::string> plugins("load-pass-plugin",
                                     cl::desc("Load a plug-in: its passes, for --insert-pass, and its dialects"),
                                     cl::value_desc("FILE"), cl::cat(category));
static cl::opt<std::string> dumpPhasesTo("dump-phases-to",
                                         cl::desc("Write the program behind each phase to a file in DIR"),
                                         cl::value_desc("DIR"), cl::cat(category));
static cl::opt<bool> explain("explain", cl::desc("Print each collective: op, axes, bytes, cause (stderr)"),
                             cl::cat(category));
static cl::opt<std::string> report("report",
                                   cl::desc("Write a page for a browser: schedule, memory, communication, variables"),
                                   cl::value_desc("FILE.html"), cl::cat(category));
static cl::opt<bool>
    verifies("verify",
             cl::desc("Write the plan only if the exact check finds it equal to MODEL, with a record of "
                      "that; turns --with-semantics on"),
             cl::cat(category));
static cl::opt<bool> shrink("shrink",
                            cl::desc("With --verify: check a plan of MODEL with smaller dimensions, whose schedule is "
                                     "the same but for sizes; there is no record then"),
                            cl::cat(category));
static cl::opt<std::string> signKey("sign",
                                    cl::desc("Sign the plan with this private key of Ed25519, for dgc-run "
                                             "--require-signature"),
                                    cl::value_desc("KEY.pem"), cl::cat(category));
static cl::opt<std::string> against("against",
                                    cl::desc("For --verify: compare with this model, which is for one device, in place "
                                             "of MODEL"),
                                    cl::value_desc("MODEL.mlir"), cl::cat(category));
static cl::opt<std::string>
    kernelCache("kernel-cache",
                cl::desc("Keep the machine code of kernels for CPUs in DIR for later runs (or: $DGC_KERNEL_CACHE)"),
                cl::value_desc("DIR"), cl::cat(category));
static cl::opt<bool> timing("timing", cl::desc("Print the seconds of each phase (stderr)"), cl::cat(category));

static constexpr const char *overview = R"(dgc compiler: from a model to a distributed program

  dgc-compile examples/mnist_mlp.mlir --mesh data=2 -o mnist.dgcx
  dgc-run mnist.dgcx --data examples/data/mnist --epochs 5

PHASE is one of input, model, place, gradient, shard, partition, communicate, kernel, schedule, artifact.
Exit status: 0 done; 1 the model was refused, or what the options ask of it; 2 an option is wrong in itself, or a file
cannot be read or written; 7 memory runs out, or a limit (ulimit) is too low; 10 --verify: the plan computes something else.
)";

/// The flag --print-options, in place of that of LLVM, which prints options of LLVM.
static cl::opt<bool> &printOptionsFlag() {
  static cl::opt<bool> *flag = [] {
    if (cl::Option *other = cl::getRegisteredOptions().lookup("print-options")) {
      other->removeArgument();
    }
    return new cl::opt<bool>("print-options",
                             cl::desc("Print what shapes the plan of MODEL, also what was left open, and do no more"),
                             cl::cat(category));
  }();
  return *flag;
}

/// Loads the plug-ins; the commands in dumped phases load them, too. False, with a message, when one cannot be loaded.
static bool loadPlugins(mlir::DialectRegistry &registry, dgc::CompileReports &reports) {
  for (const std::string &plugin : plugins) {
    std::string error;
    if (!dgc::loadPlugin(plugin, registry, error)) {
      llvm::errs() << "dgc-compile: --load-pass-plugin=" << plugin << ": " << error << "\n";
      return false;
    }
    reports.dgcOpt += " --load-pass-plugin=" + plugin;
  }
  return true;
}

static dgc::CompileReports reportsOfFlags() {
  dgc::CompileReports reports;
  reports.dumpDirectory = dumpPhasesTo;
  reports.explain = explain ? &llvm::errs() : nullptr;
  reports.timing = timing ? &llvm::errs() : nullptr;
  reports.configure = mlir::applyPassManagerCLOptions;
  return reports;
}

/// Reserves what is written, so that no work is done for a file that cannot be, and reads the key of --sign; reports what
/// fails.
static bool openOutputs(Outputs &outputs, const std::string &reportPath, const std::string &keyPath) {
  if (!outputs.open(reportPath, {{input, "the model itself"},
                                 {against, "the model of --against"},
                                 {planFlags.options.placement.file, "the file of --placement"},
                                 {signature, "the file of --signature"},
                                 {keyPath, "the key of --sign"}})) {
    return false;
  }
  if (!keyPath.empty()) {
    absl::StatusOr<dgc::rt::PlanSigner> signer = dgc::rt::PlanSigner::read(dgc::rt::realDisk(), keyPath);
    if (!succeeds(dgc::rt::annotate(signer.status(), "--sign"))) {
      return false;
    }
    outputs.signer = *std::move(signer);
  }
  return dumpPhasesTo.empty() || dgc::tool::makeDumpFolder(dumpPhasesTo);
}

/// What --verify and --report ask of the phases. False, with a message, where they are not met.
static bool checkPhases(const dgc::CompileOptions &options) {
  if (json && !inspects) {
    llvm::errs() << "dgc-compile: --json says how --inspect prints: add --inspect\n";
    return false;
  }
  if (!report.empty() && options.to != dgc::Phase::Artifact) {
    llvm::errs() << "dgc-compile: --report shows a whole plan; leave --compile-to away\n";
    return false;
  }
  if (!signKey.empty() && options.to != dgc::Phase::Artifact) {
    llvm::errs() << "dgc-compile: --sign signs a whole plan; leave --compile-to away\n";
    return false;
  }
  if (verifies && options.to != dgc::Phase::Artifact) {
    llvm::errs() << "dgc-compile: --verify checks a whole plan; leave --compile-to away\n";
    return false;
  }
  if (shrink && !verifies) {
    llvm::errs() << "dgc-compile: --shrink says how to check a plan: add --verify\n";
    return false;
  }
  if (shrink && !against.empty()) {
    llvm::errs()
        << "dgc-compile: --shrink compiles MODEL again with smaller dimensions, and --against names another model; "
           "leave one of them away\n";
    return false;
  }
  if (verifies && options.from != dgc::Phase::Input && against.empty()) {
    llvm::errs()
        << "dgc-compile: --verify compares with a model, and the input of --compile-from is none; name the model "
           "with --against MODEL.mlir\n";
    return false;
  }
  if (!verifies && !against.empty()) {
    llvm::errs() << "dgc-compile: --against names what --verify compares with; add --verify\n";
    return false;
  }
  return true;
}

/// A range is one artifact; what else is written is of one plan. False, with a message, where it is asked for.
static bool checkRange(const dgc::MeshRange &range, const dgc::CompileOptions &options) {
  const char *flag = options.to != dgc::Phase::Artifact ? "--compile-to writes the program"
                     : !report.empty()                  ? "--report shows the schedule"
                     : !dumpPhasesTo.empty()            ? "--dump-phases-to writes the programs"
                                                        : nullptr;
  if (range.isRange && flag) {
    llvm::errs() << "dgc-compile: " << flag << " of one plan, and --mesh " << range.text()
                 << " has several: give one, as in --mesh " << options.mesh.text() << "\n";
    return false;
  }
  return true;
}

/// Null, with a message, where it cannot be read.
static std::unique_ptr<llvm::MemoryBuffer> openInput(const std::string &path) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(path, &error);
  if (!file) {
    llvm::errs() << "dgc-compile: " << error << "\n";
  }
  return file;
}

/// What is said of a program; --loss and --optimizer need each other.
static std::optional<dgc::import::ImportOptions> importOptionsOfFlags(const dgc::CompileOptions &options) {
  if (loss.empty() != optimizer.empty()) {
    llvm::errs() << "dgc-compile: --loss and --optimizer go together: what is trained needs both\n";
    return std::nullopt;
  }
  if (loss.empty() && !freeze.empty()) {
    llvm::errs() << "dgc-compile: --freeze is for a model that is trained, with --loss\n";
    return std::nullopt;
  }
  // It is read once, as it may be a pipe.
  if (std::error_code missing;
      !signature.empty() && (missing = llvm::sys::fs::access(signature, llvm::sys::fs::AccessMode::Exist))) {
    llvm::errs() << "dgc-compile: --signature: cannot open input file '" << signature << "': " << missing.message()
                 << "\n";
    return std::nullopt;
  }
  return {{{loss, optimizer, freeze}, options.inputShape, signature, options.blocks, options.batch.value}};
}

/// --inspect. Gives the exit status: 1 where something is not supported.
static int inspect(const dgc::import::ImportOptions &imports) {
  std::unique_ptr<llvm::MemoryBuffer> file = openInput(input);
  if (!file) {
    return 2;
  }
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  const dgc::import::ProgramSummary summary = dgc::import::describeProgram(sources, &context, imports);
  llvm::outs() << (json ? summary.json() : summary.text());
  return summary.refusals.empty() ? 0 : 1;
}

/// The folder of kernels that were compiled before, if one is named. False, with a message, when it cannot be made.
static bool openKernelCache(dgc::CompileOptions &options) {
  const std::string folder =
      kernelCache.empty() ? llvm::sys::Process::GetEnv("DGC_KERNEL_CACHE").value_or("") : kernelCache.getValue();
  if (folder.empty()) {
    return true;
  }
  auto cache = dgc::KernelCache::inFolder(folder);
  if (!cache) {
    llvm::errs() << "dgc-compile: --kernel-cache: " << llvm::toString(cache.takeError()) << "\n";
    return false;
  }
  options.kernelCache = *std::move(cache);
  return true;
}

static int run() {
  Outputs outputs;
  outputs.path = output; // linking resets the options of the command line
  dgc::CompileOptions options = planFlags.options;
  const dgc::MeshRange range = planFlags.meshes;
  if (!range.meshes.empty()) {
    options.mesh = range.meshes.front();
  }
  const bool isVerified = verifies, onlyPrints = printOptionsFlag();
  const std::string reportPath = report, otherPath = against, keyPath = signKey;
  options.withSemantics |= isVerified;
  outputs.areShrunk = shrink;
  const std::optional<dgc::import::ImportOptions> imports = importOptionsOfFlags(options);
  if (!imports || !checkPhases(options) || !checkRange(range, options)) {
    return 2;
  }
  if (inspects) {
    return inspect(*imports);
  }
  std::unique_ptr<llvm::MemoryBuffer> file = openInput(input);
  std::unique_ptr<llvm::MemoryBuffer> other = file && !otherPath.empty() ? openInput(otherPath) : nullptr;
  if (!file || (!other && !otherPath.empty()) ||
      (!onlyPrints && (!openOutputs(outputs, reportPath, keyPath) || !openKernelCache(options)))) {
    return 2;
  }
  const llvm::StringRef text = (other ? other : file)->getBuffer(); // lives as long as the parsed model
  dgc::CompileReports reports = reportsOfFlags();
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  if (!loadPlugins(registry, reports)) {
    return 2;
  }
  auto read = [&](llvm::SourceMgr &sources, mlir::MLIRContext *context) {
    return dgc::import::readModel(sources, context, *imports);
  };
  dgc::ParsedModel model(registry, std::move(file), read);
  if (!model.module()) {
    return 1;
  }
  Compilation compilation{outputs, model, reports, isVerified ? &model : nullptr, text};
  if (!other) {
    return compilation.run(options, range);
  }
  dgc::ParsedModel reference(registry, std::move(other), [&](llvm::SourceMgr &sources, mlir::MLIRContext *context) {
    return dgc::import::readModel(sources, context, {imports->training, {}, imports->signature, imports->blocks});
  });
  compilation.reference = &reference;
  return reference.module() ? compilation.run(options, range) : 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  dgc::rt::prepareForLimits("dgc-compile"); // behind LLVM's handlers
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { dgc::rt::endForLackOfMemory(); }); // not abort
  // The least that a compilation takes; not everything in LLVM looks whether it got its memory.
  if (absl::Status lacks = dgc::rt::checkResources({.addressSpace = uint64_t{64} << 20}); !lacks.ok()) {
    llvm::errs() << "dgc-compile: error: " << std::string(lacks.message()) << "\n";
    return static_cast<int>(dgc::rt::exitCodeOf(lacks));
  }
  dgc::registerAllPasses();
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  printOptionsFlag();
  cl::HideUnrelatedOptions(category); // --help-hidden has those of MLIR and LLVM
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "dgc-compile " DGC_VERSION "\n"; });
  const std::string about = overview + ("\nStrategies:\n" + dgc::describeStrategies());
  if (!cl::ParseCommandLineOptions(argc, argv, about, &llvm::errs())) {
    return 2;
  }
  const auto tasks = dgc::rt::TaskLine::onTerminal(2);
  const int code = run();
  return code != 0 && dgc::rt::isLimitNamed() ? static_cast<int>(dgc::rt::ExitCode::Machine) : code;
}
