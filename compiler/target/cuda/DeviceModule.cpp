//===- DeviceModule.cpp - LLVM IR of grids to code of a GPU -----------------===//

#include "compiler/target/cuda/DeviceModule.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"
#include <mutex>

using namespace llvm;

namespace dgc {

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// More than 4 KiB of parameters need version 8.1 of PTX, which drivers know from CUDA 12.1 on.
static std::string featuresFor(const Module &module, unsigned architecture) {
  bool isLarge = any_of(module, [](const Function &function) { return function.arg_size() > 512; });
  return isLarge && architecture < 100 ? "+ptx81" : ""; // sm_100 begins at a later one
}

static Expected<std::unique_ptr<TargetMachine>> createMachine(unsigned architecture, const std::string &features) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError(error);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard; // only where the code says so
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(triple, "sm_" + std::to_string(architecture),
                                                                    features, options, std::nullopt, std::nullopt,
                                                                    CodeGenOptLevel::Aggressive));
}

static void optimize(Module &module, TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  PassBuilder builder(&machine, tuning);
  // Accesses of adjacent elements become one before those that two branches end with are made common to both: then they
  // would be no neighbours any more.
  builder.registerScalarOptimizerLateEPCallback(
      [](FunctionPassManager &passes, OptimizationLevel) { passes.addPass(LoadStoreVectorizerPass()); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);
}

/// Quotients of f32 to two units of the last place: to be exact takes twice the instructions. Those by a power of two
/// have become products.
static void divideQuickly(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      if (instruction.getOpcode() != Instruction::FDiv || !instruction.getType()->isFloatTy() ||
          instruction.hasApproxFunc())
        continue;
      IRBuilder<> b(&instruction);
      instruction.replaceAllUsesWith(
          b.CreateIntrinsic(Intrinsic::nvvm_div_full, {instruction.getOperand(0), instruction.getOperand(1)}));
      instruction.eraseFromParent();
    }
}

Expected<std::string> generatePtx(Module &module, unsigned architecture) {
  for (Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      return createStringError("GPUs have no function '" + function.getName() +
                               "': compute in f32 what calls it, or on the CPU");
  auto machine = createMachine(architecture, featuresFor(module, architecture));
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  optimize(module, **machine);
  divideQuickly(module);
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile))
    return createStringError("the target cannot write PTX");
  passes.run(module);
  return text.str().str();
}

//===----------------------------------------------------------------------===//
// The assembler
//===----------------------------------------------------------------------===//

std::string findPtxas() {
  if (auto given = sys::Process::GetEnv("DGC_PTXAS"))
    return *given == "none" ? "" : *given;
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  SmallVector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (auto folder = sys::Process::GetEnv(variable))
      folders.push_back(*folder);
  folders.push_back("/usr/local/cuda");
  for (const std::string &folder : folders) {
    SmallString<128> path(folder);
    sys::path::append(path, "bin", "ptxas");
    if (sys::fs::can_execute(path))
      return path.str().str();
  }
  return "";
}

Expected<std::vector<uint8_t>> assemble(StringRef ptxas, StringRef ptx, unsigned architecture) {
  SmallString<128> input, output, messages;
  auto temporary = [](StringRef suffix, SmallString<128> &path) {
    return sys::fs::createTemporaryFile("dgc-kernels", suffix, path);
  };
  if (temporary("ptx", input) || temporary("cubin", output) || temporary("txt", messages))
    return createStringError("cannot make a temporary file");
  auto remove = make_scope_exit([&] {
    for (auto *path : {&input, &output, &messages})
      (void)sys::fs::remove(*path);
  });
  std::error_code error;
  {
    raw_fd_ostream stream(input, error);
    if (!error)
      stream << ptx;
    stream.close();
    if (stream.has_error())
      error = stream.error();
    stream.clear_error(); // else its destructor aborts
    if (error)
      return createStringError(error, "cannot write " + input.str() + ": " + error.message());
  }
  std::string arch = "--gpu-name=sm_" + std::to_string(architecture);
  StringRef args[] = {ptxas, arch, "-O3", "-o", output, input};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(messages), StringRef(messages)};
  std::string failure;
  int code = sys::ExecuteAndWait(ptxas, args, std::nullopt, redirects, 0, 0, &failure);
  auto said = MemoryBuffer::getFile(messages);
  if (code != 0)
    return createStringError(ptxas + " refused the code for sm_" + std::to_string(architecture) + ": " +
                             (failure.empty() && said ? (*said)->getBuffer().split('\n').first : StringRef(failure)));
  auto buffer = MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError("cannot read " + output.str());
  StringRef bytes = (*buffer)->getBuffer();
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

} // namespace dgc
