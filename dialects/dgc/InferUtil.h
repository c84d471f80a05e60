//===- InferUtil.h - checks for type inference ------------------*- C++ -*-===//
//
// inferTypes runs before the operand types are verified, so it must look before
// it casts.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_INFERUTIL_H
#define DGC_DIALECTS_DGC_INFERUTIL_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"

namespace dgc {

/// The type of an operand as a tensor of static shape; else an error at
/// `location`. `what` names the operand.
inline FailureOr<RankedTensorType> staticTensor(std::optional<Location> location, StringRef opName, StringRef what,
                                                Value operand) {
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (type && type.hasStaticShape())
    return withoutEncoding(type);
  return emitOptionalError(location, "'", opName, "' op ", what, " must be a tensor of static shape, but is ",
                           operand.getType());
}

/// Checks that each of `dims` is in [0, rank) and occurs once.
inline LogicalResult checkDims(std::optional<Location> location, StringRef opName, StringRef what,
                               ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return emitOptionalError(location, "'", opName, "' op ", what, " has dimension ", dim,
                               ", but the tensor has rank ", rank);
    if (!seen.insert(dim).second)
      return emitOptionalError(location, "'", opName, "' op ", what, " has dimension ", dim, " twice");
  }
  return success();
}

} // namespace dgc

#endif // DGC_DIALECTS_DGC_INFERUTIL_H
