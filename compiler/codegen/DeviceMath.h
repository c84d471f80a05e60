//===- DeviceMath.h - functions of f32 for GPUs -----------------------------===//

#ifndef DGC_COMPILER_CODEGEN_DEVICEMATH_H
#define DGC_COMPILER_CODEGEN_DEVICEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace dgc {

/// exp, tanh, tan, sin, cos, atan2 and cbrt of f32 as what GPUs have instructions for.
void populateDeviceMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_DEVICEMATH_H
