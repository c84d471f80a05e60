// Kernels for CPUs: machine code of our own, and oneDNN for products, convolutions and pools.

#include "compiler/target/Target.h"
#include "compiler/codegen/Lowering.h"
#include "compiler/target/cpu/Codegen.h"
#include "compiler/target/cpu/CpuKernelPlan.h"
#include "compiler/target/cpu/Lowering.h"
#include "passes/kernel/Passes.h"
#include "runtime/device/cpu/ScratchBound.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc {

namespace {
class Cpu final : public Target {
public:
  explicit Cpu(CpuTarget target) : target(std::move(target)) {}

  StringRef kind() const override { return "cpu"; }

  const TargetTraits &traits() const override {
    static const TargetTraits traits;
    return traits;
  }

  std::string features() const override { return target.cpu + " " + llvm::join(target.features, " "); }

  void buildKernelPhase(OpPassManager &manager, const KernelOptions &options) const override {
    manager.addPass(createExpandAttention());
    manager.addPass(createSelectLibraryCalls());
    FormKernelsOptions form;
    form.rematerializeFlops = 8;
    form.fixedArithmetic = options.fixedArithmetic;
    manager.addPass(createFormKernels(form));
  }

  FailureOr<CompiledKernels> compileKernels(ModuleOp kernels, KernelCache *cache) const override {
    return dgc::compileKernels(kernels, target, cache);
  }

  LoopLowering loopLowering() const override {
    return [](func::FuncOp kernel) { return success(succeeded(lowerKernelToLoops(kernel))); };
  }

  LogicalResult printKernelPlans(ModuleOp kernels, llvm::raw_ostream &out) const override {
    return forEachKernel(kernels, [&](func::FuncOp func) -> LogicalResult {
      FailureOr<KernelGraph> graph = KernelGraph::build(func);
      if (failed(graph))
        return failure();
      CpuKernelPlan(*std::move(graph)).print(out);
      return success();
    });
  }

  uint64_t workspaceBytes(const artifact::Program &program, int64_t threads) const override {
    return rt::scratchBound(program, static_cast<int>(threads),
                            {.avx512 = target.has("avx512f"), .bf16 = target.has("avx512bf16")});
  }

private:
  CpuTarget target;
};
} // namespace

void addCpuTarget(TargetRegistry &registry) {
  registry.add("cpu", {"cpu", "x86-64-v3", "x86-64-v4"}, "cpu (this machine), x86-64-v3, x86-64-v4",
               [](StringRef spec, std::string &error) -> std::unique_ptr<Target> {
                 std::optional<CpuTarget> target = CpuTarget::parse(spec, error);
                 return !target ? nullptr : std::make_unique<Cpu>(*std::move(target));
               });
}

} // namespace dgc
