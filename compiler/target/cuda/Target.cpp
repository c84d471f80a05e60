// Kernels for NVIDIA GPUs: PTX and cubins of our own; cuBLASLt and cuDNN for products, convolutions and attention.

#include "compiler/target/Target.h"
#include "compiler/codegen/Lowering.h"
#include "compiler/target/cuda/Codegen.h"
#include "compiler/target/cuda/CudaKernelPlan.h"
#include "mlir/Transforms/Passes.h"
#include "passes/gradient/Passes.h"
#include "passes/kernel/Passes.h"
#include "runtime/artifact/GpuSizes.h"
#include "runtime/artifact/dgcx_generated.h"
#include "runtime/base/DType.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace fb = dgc::artifact;

namespace dgc {

static uint64_t bytesOf(const fb::Program &program, uint32_t index) {
  const fb::Buffer &buffer = *program.buffers()->Get(index);
  uint64_t bytes = rt::sizeOf(static_cast<rt::DType>(buffer.dtype()));
  for (int64_t extent : *buffer.shape())
    bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

namespace {
class Cuda final : public Target {
public:
  explicit Cuda(CudaTarget target) : target(std::move(target)) {}

  StringRef kind() const override { return "cuda"; }

  const TargetTraits &traits() const override {
    static const TargetTraits traits{.device = DeviceKind::Gpu,
                                     .fusesAttention = true,
                                     .attentionElements = {FloatKind::BF16, FloatKind::F16},
                                     .attentionMultiple = 8,
                                     .attentionMost = 128,
                                     .keptOps = {"dgc.gelu", "dgc.gelu_grad"},
                                     .mostUnrolledOps = 10'000,
                                     .takesHostServers = true};
    return traits;
  }

  std::string features() const override {
    return llvm::join(llvm::map_range(target.architectures, [](unsigned each) { return "sm_" + llvm::utostr(each); }),
                      " ");
  }

  void buildKernelPhase(OpPassManager &manager, const KernelOptions &options) const override {
    ExpandAttentionOptions attention;
    attention.library = LibraryKind::Nvidia;
    SelectLibraryCallsOptions calls;
    calls.library = LibraryKind::Nvidia;
    calls.epilogues = options.epilogues;
    FormKernelsOptions form;
    form.rematerializeFlops = 64;
    form.shareLaunches = true;
    manager.addPass(createExpandAttention(attention));
    manager.addPass(createPadProducts());
    manager.addPass(createSplitLongProducts());
    manager.addPass(createCSEPass());
    manager.addPass(createSelectLibraryCalls(calls));
    manager.addPass(createDecomposePass());
    manager.addPass(createCSEPass());
    manager.addPass(createFormKernels(form));
  }

  FailureOr<CompiledKernels> compileKernels(ModuleOp kernels, KernelCache *) const override {
    return dgc::compileKernels(kernels, target);
  }

  LogicalResult printKernelPlans(ModuleOp kernels, llvm::raw_ostream &out) const override {
    return forEachKernel(kernels, [&](func::FuncOp func) -> LogicalResult {
      FailureOr<CudaKernelPlan> plan = CudaKernelPlan::make(func);
      if (failed(plan))
        return failure();
      plan->print(out);
      return success();
    });
  }

  /// Of library calls alone: what kernels need between grids is known when there is code for them.
  uint64_t workspaceBytes(const fb::Program &program, int64_t) const override {
    uint64_t most = 0;
    for (uint32_t i = 0; program.steps() && i < program.steps()->size(); ++i) {
      const fb::Step &step = *program.steps()->Get(i);
      if (step.action_type() == fb::Action::Matmul)
        most = std::max(most, rt::gpu::productWorkspaceBytes);
      if (const fb::Convolution *op = step.action_as_Convolution()) {
        uint64_t bytes = bytesOf(program, op->src()) + bytesOf(program, op->weights()) + bytesOf(program, op->dst());
        most = std::max(most, rt::gpu::convolutionWorkspaceBytes(bytes));
      }
      if (const fb::Attention *op = step.action_as_Attention()) {
        const auto &query = *program.buffers()->Get(op->query())->shape();
        most = std::max(most, rt::gpu::attentionWorkspaceBytes(query[0], op->heads(), query[1], query[2] / op->heads(),
                                                               op->backward()));
      }
      if (const fb::ScatterAdd *op = step.action_as_ScatterAdd()) {
        const uint64_t count = std::max<uint64_t>(op->count(), 1);
        most = std::max(most, rt::gpu::scatterWorkspaceBytes(op->count(), bytesOf(program, op->updates()) / count));
      }
    }
    return most;
  }

private:
  CudaTarget target;
};
} // namespace

void addCudaTarget(TargetRegistry &registry) {
  registry.add("cuda", {"cuda"}, "cuda:sm_90 (GPUs)",
               [](StringRef spec, std::string &error) -> std::unique_ptr<Target> {
                 std::optional<CudaTarget> target = CudaTarget::parse(spec, error);
                 return !target ? nullptr : std::make_unique<Cuda>(*std::move(target));
               });
}

} // namespace dgc
