// Reads programs of other frameworks.

#include "compiler/import/ChildProcess.h"
#include "compiler/import/EntrySignature.h"
#include "compiler/import/Passes.h"
#include "compiler/import/Readers.h"
#include "compiler/import/Sdy.h"
#include "compiler/import/SignatureFile.h"
#include "compiler/import/TrainingModel.h"
#include "compiler/import/Vhlo.h"
#include "dialects/dgc/DGC.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>

using namespace mlir;

namespace dgc::import {

/// `dgcReadOnnx` of libdgc-onnx: a module with the function @main of dgc ops, or null.
using OnnxReadFunction = const void *(const llvm::MemoryBufferRef *file, MLIRContext *context, bool hasWeights,
                                      bool findsAll, const ArrayRef<std::string> *inputShapes);

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

/// The error on bytecode of which nothing more is known.
static InFlightDiagnostic refuseDamaged(llvm::SourceMgr &sources, MLIRContext *context) {
  StringRef name = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  return emitError(FileLineColLoc::get(context, name, 0, 0))
         << "the bytecode is damaged: copy it again, or export the program again";
}

/// Parses bytecode, some of which MLIR's reader refuses without a word.
static OwningOpRef<ModuleOp> parseAny(llvm::SourceMgr &sources, MLIRContext *context) {
  bool isSaid = false;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler listener(context, [&](Diagnostic &diagnostic) {
      isSaid |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure(); // others report it
    });
    module = parseSourceFile<ModuleOp>(sources, ParserConfig(context, /*verifyAfterParse=*/false));
  }
  if (!module && !isSaid)
    refuseDamaged(sources, context);
  return module;
}

/// An error for arguments whose sizes are open, as those that jax.export calls symbolic. The module is not verified yet: a
/// function may lack its name and its type.
static LogicalResult checkSizes(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    StringAttr visibility = function.getSymVisibilityAttr();
    if (visibility && visibility != "public")
      continue;
    for (BlockArgument argument : function.getBody().getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType()); type && !type.hasStaticShape())
        return emitError(function.getLoc()) << "argument " << argument.getArgNumber() << " has the type " << type
                                            << ", with open sizes, as symbolic dimensions are; export the program with "
                                               "the sizes that it is to run with";
  }
  return success();
}

/// Places in the file for what says none: bytecode has no lines, and names of arguments are in the place of theirs.
static void addLocations(ModuleOp module, StringRef file) {
  auto place = FileLineColLoc::get(module.getContext(), file, 0, 0);
  auto add = [&](Operation *op) {
    if (isa<UnknownLoc>(op->getLoc()))
      op->setLoc(place);
  };
  add(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    add(function);
    for (BlockArgument argument : function.getBody().getArguments())
      if (auto name = dyn_cast<NameLoc>(argument.getLoc()); name && isa<UnknownLoc>(name.getChildLoc()))
        argument.setLoc(NameLoc::get(name.getName(), place));
  }
}

/// The first look at what was parsed. Sizes come before the verifier, which speaks of each op that has them.
static OwningOpRef<ModuleOp> verified(OwningOpRef<ModuleOp> module, llvm::SourceMgr &sources) {
  if (module)
    addLocations(*module, sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier());
  return module && succeeded(checkSizes(*module)) && succeeded(verify(*module)) ? std::move(module)
                                                                                : OwningOpRef<ModuleOp>();
}

/// Parses bytecode, and makes StableHLO of it.
static OwningOpRef<ModuleOp> parseUnprotected(llvm::SourceMgr &sources, MLIRContext *context, Format format) {
  OwningOpRef<ModuleOp> module = parseAny(sources, context);
  if (module && format == Format::PortableArtifact)
    module = convertVhlo(*module);
  return verified(std::move(module), sources);
}

/// Parses what a child wrote, which is sound.
static OwningOpRef<ModuleOp> parseWritten(StringRef bytes, MLIRContext *context) {
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(bytes.size(), "", llvm::Align(64));
  llvm::copy(bytes, buffer->getBufferStart());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, ParserConfig(context));
}

/// The file is read by a child alone, which hands over what it read: a second reading could end in another way.
static OwningOpRef<ModuleOp> parseBytecode(llvm::SourceMgr &sources, MLIRContext *context, Format format) {
  const llvm::MemoryBuffer &file = *sources.getMemoryBuffer(sources.getMainFileID());
  auto read = [&](llvm::raw_ostream &output) {
    OwningOpRef<ModuleOp> module = parseUnprotected(sources, context, format);
    return module && succeeded(writeBytecodeToFile(*module, output));
  };
  std::string output;
  const ChildEnd end = runInChild(file.getBufferSize(), /*seconds=*/1, context, read, output);
  if (end == ChildEnd::NotStarted)
    return parseUnprotected(sources, context, format);
  if (end == ChildEnd::Done)
    return parseWritten(output, context);
  if (end == ChildEnd::Refused && !output.empty())
    emitError(FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0)) << output;
  else
    refuseDamaged(sources, context);
  return {};
}

/// Whether `source` comes before the user, or before the op of its region that the user is in.
static bool isBefore(Operation *source, Operation *user) {
  Region *region = source->getParentRegion();
  user = region->findAncestorOpInRegion(*user);
  if (user && user->getBlock() == source->getBlock())
    return source->isBeforeInBlock(user);
  return user && llvm::any_of(llvm::make_range(std::next(source->getBlock()->getIterator()), region->end()),
                              [&](Block &later) { return &later == user->getBlock(); });
}

/// In a module, in an op that is not registered, as the collectives of StableHLO are not, and in blocks that nothing goes to MLIR
/// lets ops use what comes behind them, and themselves. No program computes so.
static LogicalResult checkOrder(ModuleOp module) {
  DominanceInfo dominance;
  auto isChecked = [&](Block *block) {
    return dominance.hasSSADominance(block) && dominance.isReachableFromEntry(block);
  };
  auto check = [&](Operation *op) -> WalkResult {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && !isChecked(source->getBlock()) && !isBefore(source, op))
        return op->emitOpError("uses a value before it is defined");
    return WalkResult::advance();
  };
  return failure(module.walk(check).wasInterrupted());
}

OwningOpRef<ModuleOp> parseStableHLO(llvm::SourceMgr &sources, MLIRContext *context, Format format) {
  if (format == Format::JaxExport) {
    StringRef name = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
    emitError(FileLineColLoc::get(context, name, 0, 0))
        << "this was written by serialize() of jax.export, for Python; write the program: "
        << "exported.mlir_module_serialized";
    return {};
  }
  const bool isWritten = isBytecode(sources.getMemoryBuffer(sources.getMainFileID())->getMemBufferRef());
  OwningOpRef<ModuleOp> module =
      isWritten
          ? parseBytecode(sources, context, format)
          : verified(parseSourceFile<ModuleOp>(sources, ParserConfig(context, /*verifyAfterParse=*/false)), sources);
  return module && succeeded(checkOrder(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

LogicalResult completeModel(ModuleOp module, const Training &training) {
  if (!training.loss.empty())
    return buildTrainingModel(module, training);
  PassManager manager(module.getContext());
  manager.addPass(createBuildImportedEntryPass());
  return manager.run(module);
}

LogicalResult applyOptions(ModuleOp module, const ImportOptions &options) {
  FailureOr<func::FuncOp> entry = findEntry(module);
  if (failed(entry))
    return failure();
  pairStateByPaths(*entry, /*warns=*/options.signature.empty());
  return options.signature.empty() ? success() : applySignature(*entry, options.signature);
}

static OwningOpRef<ModuleOp> readStableHLO(llvm::SourceMgr &sources, MLIRContext *context, Format format,
                                           const ImportOptions &options) {
  AllowUnregistered allow(context);
  OwningOpRef<ModuleOp> module = parseStableHLO(sources, context, format);
  if (!module || failed(applyOptions(*module, options)))
    return {};
  PassManager manager(context);
  buildConversion(manager);
  return succeeded(manager.run(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
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

static OwningOpRef<ModuleOp> readOnnx(llvm::SourceMgr &sources, MLIRContext *context, const ImportOptions &options,
                                      bool hasWeights) {
  const llvm::MemoryBufferRef file = sources.getMemoryBuffer(sources.getMainFileID())->getMemBufferRef();
  auto *read = reinterpret_cast<OnnxReadFunction *>(
      findInOnnxLibrary("dgcReadOnnx", FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0)));
  if (!read)
    return {};
  context->loadDialect<DGCDialect, func::FuncDialect>();
  const ArrayRef<std::string> inputShapes = options.inputShapes;
  std::string reason;
  auto tryRead = [&](llvm::raw_ostream &) {
    (void)read(&file, context, hasWeights, options.findsAll, &inputShapes); // with an error or without
    return true;
  };
  if (runInChild(file.getBufferSize(), /*seconds=*/10, context, tryRead, reason) == ChildEnd::Died) {
    if (options.findsAll) // what is behind an error may fit together even less
      return readOnnx(sources, context, {options.training, options.inputShapes, options.signature, {}}, hasWeights);
    emitError(FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0))
        << "the model is damaged, or its nodes do not fit together" << (reason.empty() ? "" : ": ") << reason;
    return {};
  }
  const void *pointer = read(&file, context, hasWeights, options.findsAll, &inputShapes);
  OwningOpRef<ModuleOp> module(pointer ? ModuleOp::getFromOpaquePointer(pointer) : ModuleOp());
  return module && succeeded(applyOptions(*module, options)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

OwningOpRef<ModuleOp> readFunction(llvm::SourceMgr &sources, MLIRContext *context, Format format,
                                   const ImportOptions &options, bool hasWeights) {
  DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  return format == Format::Onnx ? readOnnx(sources, context, options, hasWeights)
                                : readStableHLO(sources, context, format, options);
}

/// A model of dgc, with the programs that it calls.
static OwningOpRef<ModuleOp> readDgc(llvm::SourceMgr &sources, MLIRContext *context, const ImportOptions &options) {
  if (options.blocks.empty())
    return parseSourceFile<ModuleOp>(sources, context);
  // What it calls is not there yet.
  auto module = parseSourceFile<ModuleOp>(sources, ParserConfig(context, /*verifyAfterParse=*/false));
  const bool isWhole = module && llvm::all_of(options.blocks, [&](StringRef block) {
                         return succeeded(importBlock(*module, block, options));
                       });
  return isWhole && succeeded(verify(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

LogicalResult checkOptions(Location location, Format format, const ImportOptions &options) {
  if (format != Format::Onnx && !options.inputShapes.empty() && options.blocks.empty())
    return emitError(location) << "--input-shape=" << options.inputShapes.front()
                               << ": this is no ONNX model, whose inputs may have open sizes";
  if (format != Format::Dgc && !options.blocks.empty())
    return emitError(location) << "--import=" << options.blocks.front()
                               << ": a model of dgc calls what is imported, and this is none";
  if (format != Format::Dgc && options.batch)
    return emitError(location)
           << "--batch=" << options.batch
           << ": a program of another framework has the batch that it was exported with; export it with "
           << options.batch << " examples, or leave --batch out";
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
    return readDgc(sources, context, options);
  OwningOpRef<ModuleOp> module =
      readFunction(sources, context, format, options, /*hasWeights=*/!options.training.loss.empty());
  return module && succeeded(completeModel(*module, options.training)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

} // namespace dgc::import
