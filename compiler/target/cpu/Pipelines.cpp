//===- Pipelines.cpp - the passes for CPUs, as a pipeline -------------------===//

#include "compiler/codegen/Lowering.h"
#include "compiler/codegen/Passes.h"
#include "compiler/target/cpu/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace dgc {

void registerCodegenCPUPipelines() {
  PassPipelineRegistration<>("dgc-lower-kernels-to-llvm", "Lower kernels from dgc ops to the LLVM dialect",
                             [](OpPassManager &pm) {
                               pm.addPass(createLowerKernelsToLinalg());
                               pm.addPass(createLowerKernelsToLoops());
                               addLoopsToLLVM(pm);
                             });
}

} // namespace dgc
