// Reads programs of other frameworks.

#include "compiler/import/Import.h"
#include "compiler/import/Passes.h"
#include "compiler/import/Sdy.h"
#include "compiler/import/Vhlo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cerrno>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace dgc::import {

/// What reading bytecode may take, beside a part that grows with its size.
static constexpr rlim_t kMemoryOfReader = rlim_t{1} << 30, kSecondsOfReader = 10;

/// Whether the text has an op of the dialect outside of comments.
static bool mentions(StringRef text, StringRef dialect) {
  for (size_t at = text.find(dialect); at != StringRef::npos; at = text.find(dialect, at + 1)) {
    bool isWhole = at == 0 || StringRef(" \t\r\n\"(=").contains(text[at - 1]);
    StringRef before = text.slice(text.rfind('\n', at) + 1, at); // on its line; npos + 1 is 0
    if (isWhole && !before.contains("//"))
      return true;
  }
  return false;
}

Format formatOf(StringRef content) {
  if (content.starts_with("ML\xEFR"))
    return content.contains("vhlo") ? Format::PortableArtifact : Format::StableHLO;
  if (mentions(content, "stablehlo.") || mentions(content, "chlo."))
    return Format::StableHLO;
  return Format::Dgc;
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<stablehlo::StableHLODialect, chlo::ChloDialect, func::FuncDialect>();
  registerSdy(registry);
  registerVhlo(registry);
}

void buildPipeline(OpPassManager &manager) {
  manager.addPass(createInlineImportedPass());
  manager.addPass(createStableHLOToDGCPass());
  manager.addPass(createBuildImportedEntryPass());
}

/// Whether a process of its own can read the bytecode, with an error or without: on some damaged files MLIR's reader accesses
/// memory that is not there, or asks for more and more of it.
static bool canBeRead(llvm::SourceMgr &sources, MLIRContext *context) {
  const size_t bytes = sources.getMemoryBuffer(sources.getMainFileID())->getBufferSize();
  const pid_t child = fork();
  if (child < 0)
    return true; // the system starts no more processes
  if (child == 0) {
    for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
      std::signal(signal, SIG_DFL);
    const rlimit memory{kMemoryOfReader + 64 * bytes, kMemoryOfReader + 64 * bytes}, none{0, 0},
        seconds{kSecondsOfReader + (bytes >> 20), kSecondsOfReader + (bytes >> 20)};
    setrlimit(RLIMIT_DATA, &memory);
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &none);
    close(STDERR_FILENO); // errors are said when it is read once more
    ScopedDiagnosticHandler silence(context, [](Diagnostic &) { return success(); });
    (void)parseSourceFile<ModuleOp>(sources, ParserConfig(context, /*verifyAfterParse=*/false)).release();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static OwningOpRef<ModuleOp> parseBytecode(llvm::SourceMgr &sources, MLIRContext *context) {
  if (canBeRead(sources, context))
    return parseSourceFile<ModuleOp>(sources, ParserConfig(context, /*verifyAfterParse=*/false));
  emitError(FileLineColLoc::get(context, sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier(), 0, 0))
      << "the bytecode is damaged: copy it again, or export the program again";
  return {};
}

/// Reads StableHLO. Frameworks write attributes of their own dialects.
static OwningOpRef<ModuleOp> readStableHLO(llvm::SourceMgr &sources, MLIRContext *context, Format format) {
  const bool allowed = context->allowsUnregisteredDialects();
  context->allowUnregisteredDialects();
  OwningOpRef<ModuleOp> module;
  if (format == Format::PortableArtifact) {
    module = parseBytecode(sources, context);
    if (module)
      module = convertVhlo(*module);
    if (module && failed(verify(*module)))
      module = {};
  } else {
    module = parseSourceFile<ModuleOp>(sources, context);
  }
  if (module) {
    PassManager manager(context);
    buildPipeline(manager);
    if (failed(manager.run(*module)))
      module = {};
  }
  context->allowUnregisteredDialects(allowed);
  return module;
}

OwningOpRef<ModuleOp> readModel(llvm::SourceMgr &sources, MLIRContext *context) {
  Format format = formatOf(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer());
  if (format == Format::Dgc)
    return parseSourceFile<ModuleOp>(sources, context);
  DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  return readStableHLO(sources, context, format);
}

} // namespace dgc::import
