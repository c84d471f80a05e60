//===- CudaTarget.h - the GPUs that kernels are compiled for ----------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_CUDATARGET_H
#define DGC_COMPILER_TARGET_CUDA_CUDATARGET_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <vector>

namespace dgc {

/// What `--target=cuda:..` names.
struct CudaTarget {
  std::vector<unsigned> architectures; // 90 for sm_90; ascending, at least one

  /// `cuda:sm_90` or several, as in `cuda:sm_80,sm_90`. Anything else is an error.
  static std::optional<CudaTarget> parse(llvm::StringRef name, std::string &error);
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_CUDATARGET_H
