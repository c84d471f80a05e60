// The reference: kernels as bytecode that the runtime interprets, and no library calls. What it computes is what the
// lowering to linalg says, and so it judges the other targets.

#include "compiler/target/Target.h"
#include "compiler/codegen/Lowering.h"
#include "compiler/target/reference/KernelWriter.h"
#include "passes/kernel/Passes.h"

using namespace mlir;

namespace dgc {

namespace {
class Reference final : public Target {
public:
  StringRef kind() const override { return "reference"; }

  const TargetTraits &traits() const override {
    static const TargetTraits traits;
    return traits;
  }

  std::string features() const override { return ""; }

  void buildKernelPhase(OpPassManager &manager, const KernelOptions &) const override {
    manager.addPass(createExpandAttention());
    manager.addPass(createFormKernels());
  }

  FailureOr<CompiledKernels> compileKernels(ModuleOp kernels, KernelCache *) const override {
    loadKernelDialects(*kernels.getContext());
    CompiledKernels result;
    reference::KernelsT bytecode;
    OwningOpRef<ModuleOp> module = cast<ModuleOp>(kernels->clone());
    for (func::FuncOp func : module->getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      if (failed(lowerKernelToLinalg(func)))
        return failure();
      FailureOr<std::unique_ptr<reference::KernelT>> kernel = writeKernel(func);
      if (failed(kernel))
        return failure();
      result.kernels.push_back(describeKernel(**kernel));
      result.kernels.back().inplace = inplaceOf(func);
      bytecode.kernels.push_back(*std::move(kernel));
    }
    if (result.kernels.empty())
      return result;
    result.object = finishKernels(bytecode);
    return result;
  }

  /// There are no library calls.
  uint64_t workspaceBytes(const artifact::Program &, int64_t) const override { return 0; }
};
} // namespace

void addReferenceTarget(TargetRegistry &registry) {
  registry.add("reference", {"reference"}, "reference (interpreted)",
               [](StringRef spec, std::string &error) -> std::unique_ptr<Target> {
                 if (spec == "reference")
                   return std::make_unique<Reference>();
                 error = "target '" + spec.str() + "': reference has nothing to choose";
                 return nullptr;
               });
}

} // namespace dgc
