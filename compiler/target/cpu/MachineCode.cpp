//===- MachineCode.cpp ----------------------------------------------------===//

#include "compiler/target/cpu/MachineCode.h"
#include "lld/Common/Driver.h"
#include "runtime/base/Limits.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace dgc {

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(const CpuTarget &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple(target.triple);
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return llvm::createStringError(error);
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, "x86-64", target.featureString(), llvm::TargetOptions(), llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// Every function uses the target's features, and is scheduled for its model.
static void setTarget(llvm::Module &module, const CpuTarget &target, llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", "x86-64");
    function.addFnAttr("target-features", target.featureString());
    if (!llvm::StringRef(target.cpu).starts_with("x86-64"))
      function.addFnAttr("tune-cpu", target.cpu);
    if (target.has("avx512vl"))
      function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

/// What went wrong with a file, and the limit that caused it.
static std::string describe(std::error_code error) { return error.message() + rt::limitBehind(error.value()); }

/// A unique file name in the folder for temporary files; a signal that ends the process removes the file.
static llvm::Expected<std::string> temporary(llvm::StringRef suffix) {
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("dgc-kernels", suffix, path))
    return llvm::createStringError(error, "cannot make a temporary file: " + describe(error));
  llvm::sys::RemoveFileOnSignal(path);
  return path.str().str();
}

static void removeTemporary(const std::string &path) {
  (void)llvm::sys::fs::remove(path);
  llvm::sys::DontRemoveFileOnSignal(path);
}

/// The objects as one archive, which is one file to write whatever their number.
static std::error_code writeArchive(llvm::ArrayRef<const ObjectFile *> objects, const std::string &path) {
  std::vector<llvm::NewArchiveMember> members;
  for (const ObjectFile *object : objects)
    members.emplace_back(llvm::MemoryBufferRef(llvm::StringRef(object->data(), object->size()), "kernel.o"));
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU,
                                            /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return llvm::errorToErrorCode(archive.takeError());
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error)
    stream << (*archive)->getBuffer();
  stream.close();
  if (stream.has_error())
    error = stream.error();
  stream.clear_error(); // else its destructor aborts
  return error;
}

llvm::Expected<std::vector<uint8_t>> linkObjects(llvm::ArrayRef<const ObjectFile *> objects,
                                                 llvm::ArrayRef<SymbolAlias> aliases) {
  auto input = temporary("a");
  if (!input)
    return input.takeError();
  auto removeInput = llvm::make_scope_exit([&] { removeTemporary(*input); });
  auto output = temporary("so");
  if (!output)
    return output.takeError();
  auto removeOutput = llvm::make_scope_exit([&] { removeTemporary(*output); });
  if (std::error_code error = writeArchive(objects, *input))
    return llvm::createStringError(error, "cannot write " + *input + ": " + describe(error));
  std::vector<const char *> args = {
      "ld.lld",      "-shared", "--hash-style=sysv", "--build-id=none", "-z",          "noexecstack",
      "--threads=1", "-o",      output->c_str(),     "--whole-archive", input->c_str()};
  std::vector<std::string> definitions;
  for (const SymbolAlias &alias : aliases)
    definitions.push_back("--defsym=" + alias.name + "=" + alias.of);
  for (const std::string &definition : definitions)
    args.push_back(definition.c_str());
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  static std::mutex oneAtATime;
  std::scoped_lock lock(oneAtATime);
  lld::Result result = lld::lldMain(args, llvm::nulls(), errors, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) {
    for (std::errc error : {std::errc::file_too_large, std::errc::too_many_files_open})
      if (std::string text = std::make_error_code(error).message(); messages.find(text) != std::string::npos)
        messages += rt::limitBehind(static_cast<int>(error));
    return llvm::createStringError("the linker failed: " + messages);
  }
  auto buffer = llvm::MemoryBuffer::getFile(*output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "cannot read " + *output + ": " + describe(buffer.getError()));
  llvm::StringRef bytes = (*buffer)->getBuffer();
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

llvm::Expected<ObjectFile> generateObject(llvm::Module &module, const CpuTarget &target) {
  auto machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  setTarget(module, target, **machine);
  optimize(module, **machine);
  ObjectFile object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("the target cannot write object files");
  passes.run(module);
  return object;
}

} // namespace dgc
