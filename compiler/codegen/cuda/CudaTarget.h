//===- CudaTarget.h - the GPUs that kernels are compiled for ----------------===//

#ifndef DGC_COMPILER_CODEGEN_CUDA_CUDATARGET_H
#define DGC_COMPILER_CODEGEN_CUDA_CUDATARGET_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include <vector>

namespace dgc {

/// What `--target=cuda:..` names.
struct CudaTarget {
  std::vector<unsigned> architectures; // 90 for sm_90; ascending, at least one

  static bool isCuda(llvm::StringRef name) { return name == "cuda" || name.starts_with("cuda:"); }
  /// `cuda:sm_90` or several, as in `cuda:sm_80,sm_90`. Anything else is an error at `location` that says so.
  static mlir::FailureOr<CudaTarget> parse(llvm::StringRef name, mlir::Location location);
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_CUDA_CUDATARGET_H
