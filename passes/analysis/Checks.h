// Ops that look at what others compute, and compute nothing of the program (dgc-check-numerics).

#ifndef DGC_PASSES_ANALYSIS_CHECKS_H
#define DGC_PASSES_ANALYSIS_CHECKS_H

#include "dialects/dgc/AttributeNames.h"
#include "mlir/IR/Builders.h"

namespace dgc {

inline constexpr llvm::StringLiteral kCheckUse = "check";

/// Makes an op one of those. Kernels have none of them beside other ops, so that these are computed as without checks; and it
/// is not shared with an equal op of the program.
inline void markCheck(mlir::Operation *op) {
  op->setAttr(kUseAttr, mlir::StringAttr::get(op->getContext(), kCheckUse));
}

inline bool isCheck(mlir::Operation *op) {
  auto use = op->getAttrOfType<mlir::StringAttr>(kUseAttr);
  return use && use.getValue() == kCheckUse;
}

} // namespace dgc

#endif // DGC_PASSES_ANALYSIS_CHECKS_H
