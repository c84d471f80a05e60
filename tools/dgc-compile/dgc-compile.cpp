// dgc-compile: from a model to an artifact.

#include "compiler/pipeline/MemoryLimit.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Registration.h"
#include "compiler/pipeline/SourceErrors.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "passes/strategy/Registry.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/Bytes.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/OutputFile.h"
#include "runtime/executor/PlannedMemory.h"
#include "runtime/telemetry/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/Threading.h"

#include <optional>

namespace cl = llvm::cl;

static cl::OptionCategory category("dgc-compile options");

static cl::opt<std::string> input(cl::Positional, cl::desc("MODEL"), cl::init("-"), cl::cat(category));
static cl::opt<std::string> output("o",
                                   cl::desc("Where to write the artifact or, with --compile-to, the text; - is stdout"),
                                   cl::value_desc("PLAN"), cl::init("-"), cl::cat(category));
static cl::opt<std::string> target(
    "target",
    cl::desc("cpu (the features of this machine), x86-64-v3, x86-64-v4; cuda:sm_90 or several: cuda:sm_80,sm_90"),
    cl::init("cpu"), cl::cat(category));
static cl::opt<std::string>
    serverTarget("server-target",
                 cl::desc("What parameter servers run on beside workers with GPUs: cpu (default), "
                          "x86-64-v3, x86-64-v4, or the target"),
                 cl::value_desc("TARGET"), cl::cat(category));
static cl::opt<int64_t> batch("batch", cl::desc("The global batch: in place of ? or of the number in the model"),
                              cl::value_desc("N"), cl::init(0), cl::cat(category));
static cl::opt<std::string> mesh("mesh", cl::desc("Axes of the mesh and their sizes, as in data=2"),
                                 cl::value_desc("AXIS=N,.."), cl::cat(category));
static cl::opt<std::string> strategy("strategy", cl::desc("How to distribute over the mesh: a list of those below"),
                                     cl::value_desc("NAME[=ARG],.."), cl::cat(category));
static cl::opt<std::string> links("links", cl::desc("How fast the links along axes are: data=5us:10GB/s"),
                                  cl::value_desc("AXIS=LATENCY:BANDWIDTH,.."), cl::cat(category));
static cl::list<std::string> forbid("forbid",
                                    cl::desc("Refuse a plan that needs this collective: all_gather, ..; repeatable"),
                                    cl::value_desc("COLLECTIVE,.."), cl::CommaSeparated, cl::cat(category));
static cl::opt<int64_t> maxReplicatedBytes("max-replicated-bytes",
                                           cl::desc("Refuse a plan that makes a larger value whole on every device"),
                                           cl::value_desc("N"), cl::init(-1), cl::cat(category));
static cl::opt<std::string> placement("placement",
                                      cl::desc("Lines `PATTERN DEVICE`: where variables are, as in w1 task:0"),
                                      cl::value_desc("FILE"), cl::cat(category));
static cl::opt<int64_t> microbatches("microbatches", cl::desc("In how many parts a pipeline works on the batch"),
                                     cl::value_desc("M"), cl::init(0), cl::cat(category));
static cl::opt<std::string>
    memoryLimit("memory-limit", cl::desc("Refuse a plan that needs more on a worker, as in 512MiB, and say what fits"),
                cl::value_desc("BYTES"), cl::cat(category));
static cl::opt<std::string> overlap("overlap", cl::desc("on: collectives go on beside work that does not need them"),
                                    cl::value_desc("on|off"), cl::init("off"), cl::cat(category));
static cl::opt<int64_t> threads("worker-threads",
                                cl::desc("Threads of a worker, for the memory that it needs; as --threads of dgc-run"),
                                cl::value_desc("N"), cl::init(0), cl::cat(category));
static cl::opt<std::string> precision("precision",
                                      cl::desc("What products are computed in: f32; tf32, where GPUs may round "
                                               "to 10 bits; bf16; f16, with a scaled loss. Variables and all else stay "
                                               "in f32"),
                                      cl::value_desc("TYPE"), cl::init("f32"), cl::cat(category));
static cl::opt<std::string>
    attention("attention",
              cl::desc("fused: dgc.attention keeps no scores; expanded: it is products and a softmax, with scores that "
                       "its gradient uses; auto: fused for GPUs, where cuDNN has it"),
              cl::value_desc("HOW"), cl::init("auto"), cl::cat(category));
static cl::opt<std::string> epilogues(
    "epilogues",
    cl::desc("What cuBLASLt computes with products of 16 bits: all, gelu and the gradients of activations and "
             "biases, too; bias, no more than a bias and relu"),
    cl::value_desc("all|bias"), cl::init("all"), cl::cat(category));
static cl::opt<bool> noPadding("no-padding", cl::desc("Refuse a dimension that its mesh axes do not divide"),
                               cl::cat(category));
static cl::opt<std::string> compileTo("compile-to", cl::desc("Stop behind this phase and write the program as text"),
                                      cl::value_desc("PHASE"), cl::init("artifact"), cl::cat(category));
static cl::opt<std::string> compileFrom("compile-from",
                                        cl::desc("The input is a program that has been through this phase"),
                                        cl::value_desc("PHASE"), cl::init("input"), cl::cat(category));
static cl::opt<std::string> dumpPhasesTo("dump-phases-to",
                                         cl::desc("Write the program behind each phase to a file in DIR"),
                                         cl::value_desc("DIR"), cl::cat(category));
static cl::opt<bool> explain("explain", cl::desc("Print each collective: op, axes, bytes, cause (stderr)"),
                             cl::cat(category));
static cl::opt<std::string> report("report",
                                   cl::desc("Write a page for a browser: schedule, memory, communication, variables"),
                                   cl::value_desc("FILE.html"), cl::cat(category));
static cl::opt<bool> timing("timing", cl::desc("Print the seconds of each phase (stderr)"), cl::cat(category));

static constexpr const char *overview = R"(dgc compiler: from a model to a distributed program

  dgc-compile examples/mnist_mlp.mlir --mesh data=2 -o mnist.dgcx
  dgc-run mnist.dgcx --data examples/data/mnist --epochs 5

PHASE is one of input, model, gradient, place, shard, partition, communicate, kernel, schedule, artifact.
Exit status: 0 done; 1 the model was refused, or what the options ask of it; 2 an option is wrong in itself, or a file
cannot be read or written; 7 memory runs out, or a limit (ulimit) is too low.
)";

/// The phase that an option names; ends the program with what would be accepted when there is none.
static dgc::Phase phaseOf(const cl::opt<std::string> &option) {
  if (std::optional<dgc::Phase> phase = dgc::phaseFromName(option)) {
    return *phase;
  }
  llvm::errs() << "dgc-compile: --" << option.ArgStr << "=" << option << " is no phase; one of "
               << llvm::join(dgc::phaseNames(), ", ") << " is\n";
  std::exit(2);
}

/// Prints what workers need and, with a file, writes the page about a plan. False, with a message, when it cannot.
static bool describe(const std::vector<uint8_t> &plan, std::optional<dgc::rt::OutputFile> &page) {
  absl::StatusOr<std::unique_ptr<dgc::rt::Artifact>> artifact = dgc::rt::loadBytes(plan, "the compiled plan");
  absl::Status status = artifact.status();
  if (status.ok()) {
    llvm::errs() << dgc::rt::describeMemory((*artifact)->plan());
  }
  if (status.ok() && page) {
    const std::string html = dgc::rt::reportAsHtml(**artifact);
    status = page->replace([&](dgc::rt::WritableFile &file) { return file.write(html); });
  }
  if (!status.ok()) {
    llvm::errs() << "dgc-compile: " << std::string(status.message()) << "\n";
  }
  return status.ok();
}

/// Everything of the command line that shapes the plan.
static std::vector<std::pair<std::string, std::string>> attributes() {
  std::vector<std::pair<std::string, std::string>> result{{"target", target}};
  if (!mesh.empty()) {
    result.push_back({"mesh", mesh});
  }
  if (!strategy.empty()) {
    result.push_back({"strategy", strategy});
  }
  if (!serverTarget.empty()) {
    result.push_back({"server-target", serverTarget});
  }
  if (precision != "f32") {
    result.push_back({"precision", precision});
  }
  if (attention != "auto") {
    result.push_back({"attention", attention});
  }
  if (epilogues != "all") {
    result.push_back({"epilogues", epilogues});
  }
  if (microbatches) {
    result.push_back({"microbatches", std::to_string(microbatches)});
  }
  return result;
}

/// Whether each output has a file of its own that nothing else is read from. Says which has not.
static bool checkOutputs(const std::string &outputPath, const std::string &reportPath) {
  dgc::rt::Disk &disk = dgc::rt::realDisk();
  auto isTaken = [&](const char *flag, const std::string &path, const std::string &other, const char *what) {
    const bool isFile = !path.empty() && path != "-" && !other.empty() && other != "-" && disk.isReplaceable(path);
    const bool isTaken = isFile && disk.isSame(path, other);
    if (isTaken) {
      llvm::errs() << "dgc-compile: " << flag << " " << path << " is " << what << "; name another file\n";
    }
    return isTaken;
  };
  for (auto [flag, path] : {std::pair("-o", &outputPath), {"--report", &reportPath}}) {
    if (isTaken(flag, *path, input, "the model itself") || isTaken(flag, *path, placement, "the file of --placement")) {
      return false;
    }
  }
  return !isTaken("--report", reportPath, outputPath, "the file of -o as well");
}

/// Reserves an output before the work; nothing, with a message, when it cannot be written.
static std::optional<dgc::rt::OutputFile> reserve(const std::string &path) {
  absl::StatusOr<dgc::rt::OutputFile> file = dgc::rt::OutputFile::reserve(dgc::rt::realDisk(), path);
  if (file.ok()) {
    return *std::move(file);
  }
  llvm::errs() << "dgc-compile: " << std::string(file.status().message()) << "\n";
  return std::nullopt;
}

/// Replaces the output by a plan or, without one, by the text of the program; as a whole or not at all.
static bool writeOutput(dgc::rt::OutputFile &output, const std::vector<uint8_t> *plan, mlir::ModuleOp module) {
  std::string text;
  if (!plan) {
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    stream << "\n";
  }
  std::span<const std::byte> bytes =
      plan ? std::as_bytes(std::span(*plan)) : std::as_bytes(std::span(text.data(), text.size()));
  absl::Status status = output.replace([&](dgc::rt::WritableFile &file) { return file.write(bytes); });
  if (!status.ok()) {
    llvm::errs() << "dgc-compile: " << std::string(status.message()) << "\n";
  }
  return status.ok();
}

static int run() {
  const std::string outputPath = output; // linking resets the options of the command line
  dgc::CompileOptions options;
  options.batch = batch;
  options.mesh = mesh;
  options.strategy = strategy;
  options.microbatches = microbatches;
  options.placement = placement;
  options.noPadding = noPadding;
  options.precision = precision;
  options.attention = attention;
  options.epilogues = epilogues;
  options.target = target;
  options.serverTarget = serverTarget;
  options.threads = threads;
  options.from = phaseOf(compileFrom);
  options.to = phaseOf(compileTo);
  options.links = links;
  options.overlap = overlap == "on";
  options.forbid.assign(forbid.begin(), forbid.end());
  options.maxReplicatedBytes = maxReplicatedBytes;
  options.dumpDirectory = dumpPhasesTo;
  if (std::optional<int64_t> bytes = dgc::rt::parseBytes(memoryLimit.getValue())) {
    options.memoryLimit = *bytes;
  } else if (memoryLimit.getNumOccurrences()) {
    llvm::errs() << "dgc-compile: --memory-limit=" << memoryLimit << ": expected " << dgc::rt::kBytesSyntax << "\n";
    return 2;
  }
  options.explain = explain ? &llvm::errs() : nullptr;
  options.timing = timing ? &llvm::errs() : nullptr;
  options.attributes = attributes();
  if (batch.getNumOccurrences() && batch <= 0) {
    llvm::errs() << "dgc-compile: --batch=" << batch << ": a batch has at least one example\n";
    return 2;
  }
  if (overlap != "on" && overlap != "off") {
    llvm::errs() << "dgc-compile: --overlap=" << overlap << ": on or off is needed\n";
    return 2;
  }
  if (threads.getNumOccurrences() && (threads <= 0 || threads > 4096)) {
    llvm::errs() << "dgc-compile: --worker-threads=" << threads << ": a number from 1 to 4096 is needed\n";
    return 2;
  }
  if (maxReplicatedBytes.getNumOccurrences() && maxReplicatedBytes < 0) {
    llvm::errs() << "dgc-compile: --max-replicated-bytes=" << maxReplicatedBytes << ": at least 0 is needed\n";
    return 2;
  }
  if (options.from > options.to) {
    llvm::errs() << "dgc-compile: --compile-from=" << compileFrom << " is behind --compile-to=" << compileTo << "\n";
    return 2;
  }

  const std::string reportPath = report;
  if (!reportPath.empty() && options.to != dgc::Phase::Artifact) {
    llvm::errs() << "dgc-compile: --report shows a whole plan; leave --compile-to away\n";
    return 2;
  }

  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(input, &error);
  if (!file) {
    llvm::errs() << "dgc-compile: " << error << "\n";
    return 2;
  }
  if (!checkOutputs(outputPath, reportPath)) {
    return 2;
  }
  std::optional<dgc::rt::OutputFile> outputFile = reserve(outputPath), page;
  if (!outputFile || (!reportPath.empty() && !(page = reserve(reportPath)))) {
    return 2;
  }
  if (!dumpPhasesTo.empty()) {
    std::error_code failure = llvm::sys::fs::create_directories(dumpPhasesTo);
    if (!failure && !llvm::sys::fs::is_directory(dumpPhasesTo)) {
      failure = std::make_error_code(std::errc::not_a_directory);
    }
    if (failure) {
      llvm::errs() << "dgc-compile: --dump-phases-to: cannot make the folder '" << dumpPhasesTo
                   << "': " << failure.message() << "\n";
      return 2;
    }
  }
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  const bool hasThreads =
      dgc::rt::checkResources({.threads = static_cast<int>(llvm::hardware_concurrency().compute_thread_count())}).ok();
  using Threading = mlir::MLIRContext::Threading;
  mlir::MLIRContext context(registry, hasThreads ? Threading::ENABLED : Threading::DISABLED);
  context.printOpOnDiagnostic(false); // a message and its place; not the function around it
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  dgc::SourceErrorHandler diagnostics(sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module) {
    return 1;
  }

  if (failed(dgc::checkOptions(*module, options))) {
    return 2;
  }
  std::vector<uint8_t> bytes;
  if (options.to == dgc::Phase::Artifact) {
    mlir::FailureOr<std::vector<uint8_t>> compiled = dgc::compile(*module, options);
    if (failed(compiled)) {
      return 1;
    }
    bytes = *std::move(compiled);
    if (outputPath == "-" && llvm::outs().is_displayed()) {
      llvm::errs() << "dgc-compile: an artifact is binary; name a file with -o\n";
      return 2;
    }
    if (!describe(bytes, page)) {
      return 2;
    }
  } else if (failed(dgc::runPhases(*module, options))) {
    return 1;
  }
  return writeOutput(*outputFile, options.to == dgc::Phase::Artifact ? &bytes : nullptr, *module) ? 0 : 2;
}

/// LLVM calls it where it would abort.
static void onBadAlloc(void *, const char *, bool) { dgc::rt::endForLackOfMemory(); }

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  dgc::rt::prepareForLimits("dgc-compile"); // behind LLVM's handlers
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  // The least that a compilation takes; not everything in LLVM looks whether it got its memory.
  if (absl::Status lacks = dgc::rt::checkResources({.addressSpace = uint64_t{64} << 20}); !lacks.ok()) {
    llvm::errs() << "dgc-compile: error: " << std::string(lacks.message()) << "\n";
    return static_cast<int>(dgc::rt::exitCodeOf(lacks));
  }
  dgc::registerAllPasses();
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  cl::HideUnrelatedOptions(category); // --help-hidden has those of MLIR and LLVM
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "dgc-compile " DGC_VERSION "\n"; });
  const std::string about = overview + ("\nStrategies:\n" + dgc::describeStrategies());
  if (!cl::ParseCommandLineOptions(argc, argv, about, &llvm::errs())) {
    return 2;
  }
  const int code = run();
  return code != 0 && dgc::rt::isLimitNamed() ? static_cast<int>(dgc::rt::ExitCode::Machine) : code;
}
