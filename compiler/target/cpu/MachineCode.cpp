//===- MachineCode.cpp ----------------------------------------------------===//

#include "compiler/target/cpu/MachineCode.h"
#include "lld/Common/Driver.h"
#include "runtime/base/Limits.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
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

static llvm::Expected<std::vector<uint8_t>> link(llvm::StringRef object) {
  auto input = temporary("o");
  if (!input)
    return input.takeError();
  auto removeInput = llvm::make_scope_exit([&] { removeTemporary(*input); });
  auto output = temporary("so");
  if (!output)
    return output.takeError();
  auto removeOutput = llvm::make_scope_exit([&] { removeTemporary(*output); });
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(*input, error);
    if (!error)
      stream << object;
    stream.close();
    if (stream.has_error())
      error = stream.error();
    stream.clear_error(); // else its destructor aborts
    if (error)
      return llvm::createStringError(error, "cannot write " + *input + ": " + describe(error));
  }
  const char *args[] = {"ld.lld",      "-shared", "--hash-style=sysv", "--build-id=none", "-z", "noexecstack",
                        "--threads=1", "-o",      output->c_str(),     input->c_str()};
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

llvm::Expected<std::vector<uint8_t>> generateSharedObject(llvm::Module &module, const CpuTarget &target) {
  auto machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  setTarget(module, target, **machine);
  optimize(module, **machine);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("the target cannot write object files");
  passes.run(module);
  return link(llvm::StringRef(object.data(), object.size()));
}

} // namespace dgc
