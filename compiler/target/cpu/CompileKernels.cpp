//===- CompileKernels.cpp -------------------------------------------------===//

#include "compiler/target/cpu/Codegen.h"
#include "compiler/target/cpu/Lowering.h"
#include "compiler/target/cpu/MachineCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/base/Task.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/BLAKE3.h"

using namespace mlir;

namespace dgc {

namespace {
/// What one object file is made from.
struct KernelCode {
  std::string hash; // also the name of its function
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
  KernelCache::Object object;
};
} // namespace

/// The function and all that it uses, in the LLVM dialect, as a module of their own.
static OwningOpRef<ModuleOp> isolate(LLVM::LLVMFuncOp kernel, const SymbolTable &symbols) {
  llvm::SetVector<Operation *> needed;
  needed.insert(kernel);
  for (size_t i = 0; i < needed.size(); ++i)
    if (std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(needed[i]))
      for (SymbolTable::SymbolUse use : *uses)
        if (Operation *used = symbols.lookup(use.getSymbolRef().getRootReference()))
          needed.insert(used);
  OwningOpRef<ModuleOp> result = ModuleOp::create(kernel.getLoc());
  (*result)->setAttrs(symbols.getOp()->getAttrs());
  OpBuilder builder = OpBuilder::atBlockBegin(result->getBody());
  for (Operation *op : needed)
    builder.clone(*op);
  return result;
}

/// Gives what the module defines names that tell nothing of where it comes from, and its function the hash of all of it.
static void nameByContent(KernelCode &kernel, const CpuTarget &target) {
  llvm::Function *entry = nullptr;
  for (llvm::GlobalValue &value : kernel.code->global_values()) {
    if (value.isDeclaration())
      continue;
    if (!value.hasLocalLinkage())
      entry = cast<llvm::Function>(&value);
    value.setName(value.hasLocalLinkage() ? "part" : "kernel");
  }
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*kernel.code, stream);
  llvm::BLAKE3 hash;
  hash.update(target.triple + " " + target.cpu + " " + target.featureString() + "\n");
  hash.update(llvm::StringRef(bitcode.data(), bitcode.size()));
  kernel.hash = "kernel_" + llvm::toHex(hash.final<16>(), /*LowerCase=*/true);
  entry->setName(kernel.hash);
  entry->setVisibility(llvm::GlobalValue::HiddenVisibility); // the aliases of its kernels are seen
}

/// One shared object with the code of every kernel in the module, which is in the LLVM dialect. Kernels that are alike
/// have the same code; kernels are compiled on the threads of the context.
static FailureOr<std::vector<uint8_t>> compileModule(ModuleOp module, ArrayRef<CompiledKernel> kernels,
                                                     const CpuTarget &target, KernelCache &cache) {
  std::vector<std::unique_ptr<KernelCode>> distinct;
  std::vector<SymbolAlias> aliases;
  llvm::StringSet<> known;
  const SymbolTable symbols(module);
  for (const CompiledKernel &info : kernels) {
    auto kernel = std::make_unique<KernelCode>();
    kernel->code = translateModuleToLLVMIR(*isolate(symbols.lookup<LLVM::LLVMFuncOp>(info.symbol), symbols),
                                           kernel->context, "kernel");
    if (!kernel->code)
      return module.emitError() << "kernel '" << info.symbol << "' could not be translated to LLVM IR";
    nameByContent(*kernel, target);
    aliases.push_back({info.symbol, kernel->hash});
    if (!known.insert(kernel->hash).second)
      continue;
    kernel->object = cache.find(kernel->hash);
    if (kernel->object)
      kernel->code.reset();
    distinct.push_back(std::move(kernel));
  }
  rt::Task task("compiling", distinct.size(), rt::Task::Things, "kernels");
  LogicalResult compiled = failableParallelForEach(
      module.getContext(), distinct, [&](const std::unique_ptr<KernelCode> &kernel) -> LogicalResult {
        if (kernel->object) {
          task.advance();
          return success();
        }
        llvm::Expected<ObjectFile> object = generateObject(*kernel->code, target);
        if (!object)
          return module.emitError("a kernel could not be compiled: ") << llvm::toString(object.takeError());
        kernel->object = std::make_shared<const ObjectFile>(std::move(*object));
        kernel->code.reset();
        cache.insert(kernel->hash, kernel->object);
        task.advance();
        return success();
      });
  if (failed(compiled))
    return failure();
  SmallVector<const ObjectFile *> objects;
  for (const std::unique_ptr<KernelCode> &kernel : distinct)
    objects.push_back(kernel->object.get());
  llvm::Expected<std::vector<uint8_t>> library = linkObjects(objects, aliases);
  if (!library)
    return module.emitError("the kernels could not be linked: ") << llvm::toString(library.takeError());
  return std::move(*library);
}

FailureOr<CompiledKernels> compileKernels(ModuleOp kernels, const CpuTarget &target, KernelCache *cache) {
  CompiledKernels result;
  result.triple = target.triple;
  result.cpu = target.cpu;
  result.features = target.features;
  MLIRContext *context = kernels.getContext();
  loadKernelDialects(*context);
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);

  OwningOpRef<ModuleOp> module = cast<ModuleOp>(kernels->clone());
  for (func::FuncOp func : llvm::make_early_inc_range(module->getOps<func::FuncOp>())) {
    if (func.isExternal() || func.getName().ends_with("_body"))
      continue;
    if (failed(lowerKernelToLinalg(func)))
      return failure();
    FailureOr<CompiledKernel> kernel = lowerKernelToLoops(func);
    if (failed(kernel))
      return failure();
    result.kernels.push_back(std::move(*kernel));
  }
  if (result.kernels.empty())
    return result;
  PassManager pm(context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  addLoopsToLLVM(pm);
  if (failed(pm.run(*module)))
    return failure();
  KernelCache ofThisCompilation;
  FailureOr<std::vector<uint8_t>> object =
      compileModule(*module, result.kernels, target, cache ? *cache : ofThisCompilation);
  if (failed(object))
    return failure();
  result.object = *std::move(object);
  return result;
}

} // namespace dgc
