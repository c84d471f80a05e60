// Kernels in linalg as bytecode of runtime/device/reference.

#ifndef DGC_COMPILER_TARGET_REFERENCE_KERNELWRITER_H
#define DGC_COMPILER_TARGET_REFERENCE_KERNELWRITER_H

#include "compiler/codegen/CompiledKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/device/reference/Bytecode.h"

namespace dgc {

/// The bytecode of a function in linalg on tensors with signless elements: a nest for each op, and one for each result,
/// which come last. Every value is in a buffer of its own. `locations` gets, for each nest, that of its op. Fails with a
/// diagnostic.
mlir::FailureOr<std::unique_ptr<reference::KernelT>> writeKernel(mlir::func::FuncOp func,
                                                                 llvm::SmallVectorImpl<mlir::Location> *locations = {});

/// The bytes of a section of an artifact.
std::vector<uint8_t> finishKernels(const reference::KernelsT &kernels);

/// What the artifact says about a kernel.
CompiledKernel describeKernel(const reference::KernelT &kernel);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_REFERENCE_KERNELWRITER_H
