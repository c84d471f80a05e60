// Reads programs of other frameworks.

#include "compiler/import/EntrySignature.h"
#include "compiler/import/Passes.h"
#include "compiler/import/Readers.h"
#include "compiler/import/Sdy.h"
#include "compiler/import/SignatureFile.h"
#include "compiler/import/TrainingModel.h"
#include "compiler/import/Vhlo.h"
#include "dialects/dgc/DGC.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <csignal>
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace dgc::import {

/// `dgcReadOnnx` of libdgc-onnx: a module with the function @main of dgc ops, or null.
using OnnxReadFunction = const void *(const llvm::MemoryBufferRef *file, MLIRContext *context, bool hasWeights,
                                      const ArrayRef<std::string> *inputShapes);

/// What reading bytecode may take, beside a part that grows with its size.
static constexpr rlim_t kMemoryOfReader = rlim_t{1} << 30, kSecondsOfReader = 10;

void registerDialects(DialectRegistry &registry) {
  registry.insert<stablehlo::StableHLODialect, chlo::ChloDialect, func::FuncDialect>();
  registerSdy(registry);
  registerVhlo(registry);
}

/// From StableHLO to a function of dgc ops.
static void buildConversion(OpPassManager &manager) {
  manager.addPass(createInlineImportedPass());
  manager.addPass(createMhloShardingsToSdyPass());
  manager.addPass(createTakeShardingsPass());
  manager.addPass(createStableHLOToDGCPass());
  manager.addPass(createRaiseImportedPass());
}

/// The last error in a child process, and where it goes when the process ends.
struct ChildError {
  std::string text;
  int pipe = -1;
};

/// LLVM calls it where it would abort.
static void sendError(void *error, const char *, bool) {
  auto *last = static_cast<ChildError *>(error);
  (void)!write(last->pipe, last->text.data(), last->text.size());
  _exit(1);
}

/// Ends the process: with 0 where `read` returns, with an error or without.
[[noreturn]] static void readInChild(size_t bytes, MLIRContext *context, llvm::function_ref<void()> read, int pipe) {
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
    std::signal(signal, SIG_DFL);
  const rlimit none{0, 0};
  // A reader may ask for more, where a file that it names has more bytes.
  for (auto [resource, most] : {std::pair(RLIMIT_DATA, kMemoryOfReader + 64 * bytes),
                                std::pair(RLIMIT_CPU, kSecondsOfReader + (bytes >> 20))}) {
    rlimit limit{};
    getrlimit(resource, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, most);
    setrlimit(resource, &limit);
  }
  setrlimit(RLIMIT_CORE, &none);
  close(STDERR_FILENO); // errors are said when it is read once more
  ChildError error{{}, pipe};
  ScopedDiagnosticHandler silence(context, [&](Diagnostic &diagnostic) {
    auto named = dyn_cast<NameLoc>(diagnostic.getLocation());
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error.text = (named ? "node '" + named.getName().str() + "': " : "") + diagnostic.str();
    return success();
  });
  llvm::remove_fatal_error_handler();
  llvm::install_fatal_error_handler(sendError, &error);
  read();
  _exit(0);
}

/// Whether a process of its own can read a file of so many bytes, with an error or without; else `reason` may say why not. On
/// some damaged files MLIR's reader accesses memory that is not there, or asks for more and more of it, and what makes ops ends
/// the process where types do not fit.
static bool canBeRead(size_t bytes, MLIRContext *context, llvm::function_ref<void()> read, std::string &reason) {
  int ends[2];
  if (pipe(ends) != 0)
    return true; // the system has no more of them
  const pid_t child = fork();
  if (child == 0)
    readInChild(bytes, context, read, ends[1]);
  close(ends[1]);
  char piece[512];
  for (ssize_t count = 0; child > 0 && (count = ::read(ends[0], piece, sizeof piece)) != 0;) {
    if (count > 0)
      reason.append(piece, static_cast<size_t>(count));
    else if (errno != EINTR)
      break;
  }
  close(ends[0]);
  if (child < 0)
    return true; // the system starts no more processes
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static OwningOpRef<ModuleOp> parseBytecode(llvm::SourceMgr &sources, MLIRContext *context) {
  const size_t bytes = sources.getMemoryBuffer(sources.getMainFileID())->getBufferSize();
  std::string reason;
  auto read = [&] {
    (void)parseSourceFile<ModuleOp>(sources, ParserConfig(context, /*verifyAfterParse=*/false)).release();
  };
  if (canBeRead(bytes, context, read, reason))
    return parseSourceFile<ModuleOp>(sources, ParserConfig(context, /*verifyAfterParse=*/false));
  emitError(FileLineColLoc::get(context, sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier(), 0, 0))
      << "the bytecode is damaged: copy it again, or export the program again";
  return {};
}

OwningOpRef<ModuleOp> parseStableHLO(llvm::SourceMgr &sources, MLIRContext *context, Format format) {
  if (format != Format::PortableArtifact)
    return parseSourceFile<ModuleOp>(sources, context);
  OwningOpRef<ModuleOp> module = parseBytecode(sources, context);
  if (module)
    module = convertVhlo(*module);
  return module && succeeded(verify(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

LogicalResult completeModel(ModuleOp module, const Training &training) {
  if (!training.loss.empty())
    return buildTrainingModel(module, training);
  PassManager manager(module.getContext());
  manager.addPass(createBuildImportedEntryPass());
  return manager.run(module);
}

LogicalResult applyOptions(ModuleOp module, const ImportOptions &options) {
  if (options.signature.empty())
    return success();
  FailureOr<func::FuncOp> entry = findEntry(module);
  return failed(entry) ? failure() : applySignature(*entry, options.signature);
}

static OwningOpRef<ModuleOp> readStableHLO(llvm::SourceMgr &sources, MLIRContext *context, Format format,
                                           const ImportOptions &options) {
  AllowUnregistered allow(context);
  OwningOpRef<ModuleOp> module = parseStableHLO(sources, context, format);
  if (!module || failed(applyOptions(*module, options)))
    return {};
  PassManager manager(context);
  buildConversion(manager);
  const bool isRead = succeeded(manager.run(*module)) && succeeded(completeModel(*module, options.training));
  return isRead ? std::move(module) : OwningOpRef<ModuleOp>();
}

void *findInOnnxLibrary(const char *symbol, Location location) {
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&findInOnnxLibrary), &self) == 0) {
    emitError(location) << "the library that reads ONNX cannot be found";
    return nullptr;
  }
  llvm::SmallString<256> path(llvm::sys::path::parent_path(self.dli_fname));
  llvm::sys::path::append(path, "libdgc-onnx.so");
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *function = library ? dlsym(library, symbol) : nullptr;
  if (!function)
    emitError(location) << "this is an ONNX model, and the library that reads these cannot be loaded: " << dlerror();
  return function;
}

static OwningOpRef<ModuleOp> readOnnx(llvm::SourceMgr &sources, MLIRContext *context, const ImportOptions &options) {
  const llvm::MemoryBufferRef file = sources.getMemoryBuffer(sources.getMainFileID())->getMemBufferRef();
  auto *read = reinterpret_cast<OnnxReadFunction *>(
      findInOnnxLibrary("dgcReadOnnx", FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0)));
  if (!read)
    return {};
  context->loadDialect<DGCDialect, func::FuncDialect>();
  const bool trains = !options.training.loss.empty();
  const ArrayRef<std::string> inputShapes = options.inputShapes;
  std::string reason;
  if (!canBeRead(file.getBufferSize(), context, [&] { (void)read(&file, context, trains, &inputShapes); }, reason)) {
    emitError(FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0))
        << "the model is damaged, or its nodes do not fit together" << (reason.empty() ? "" : ": ") << reason;
    return {};
  }
  const void *pointer = read(&file, context, trains, &inputShapes);
  OwningOpRef<ModuleOp> module(pointer ? ModuleOp::getFromOpaquePointer(pointer) : ModuleOp());
  const bool isRead =
      module && succeeded(applyOptions(*module, options)) && succeeded(completeModel(*module, options.training));
  return isRead ? std::move(module) : OwningOpRef<ModuleOp>();
}

LogicalResult checkOptions(Location location, Format format, const ImportOptions &options) {
  if (format != Format::Onnx && !options.inputShapes.empty())
    return emitError(location) << "--input-shape=" << options.inputShapes.front()
                               << ": this is no ONNX model, whose inputs may have open sizes";
  if (format != Format::Dgc)
    return success();
  if (!options.training.loss.empty())
    return emitError(location) << "--loss is for programs of other frameworks: a model of dgc has its loss and its "
                                  "optimizer written in it";
  if (!options.signature.empty())
    return emitError(location)
           << "--signature is for programs of other frameworks: a model of dgc says itself what its "
              "inputs and variables are";
  return success();
}

OwningOpRef<ModuleOp> readModel(llvm::SourceMgr &sources, MLIRContext *context, const ImportOptions &options) {
  const llvm::MemoryBuffer &file = *sources.getMemoryBuffer(sources.getMainFileID());
  const Format format = formatOf(file.getBuffer());
  if (failed(checkOptions(FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0), format, options)))
    return {};
  if (format == Format::Dgc)
    return parseSourceFile<ModuleOp>(sources, context);
  DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  return format == Format::Onnx ? readOnnx(sources, context, options)
                                : readStableHLO(sources, context, format, options);
}

} // namespace dgc::import
