//===- RegionTies.h - the values of an op with regions that are one value ---------===//

#ifndef DGC_DIALECTS_DGC_REGIONTIES_H
#define DGC_DIALECTS_DGC_REGIONTIES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace dgc {

/// How the operands and results of a loop or branch are the values in its regions. What a region gives, its terminator has.
struct RegionTies {
  /// Operand `operand` in a region, or (-1) what a region gives and the result that it is: the same value.
  struct Same {
    mlir::Value outside, inside;
    int64_t operand = -1;
  };
  /// What a loop carries: operand `operand` into the arguments `inside`, one of each region, then `next` out of a round to the
  /// next one and to `result` in the end.
  struct Carried {
    unsigned operand;
    mlir::Value first;
    llvm::SmallVector<mlir::Value, 2> inside;
    mlir::Value next, result;
  };
  /// A tensor, operand `operand` or (-1) a result, and in the region its slices, which are without dimension `dim`.
  struct Sliced {
    mlir::Value whole, slice;
    int64_t dim;
    int64_t operand = -1;
  };
  llvm::SmallVector<Same> same;
  llvm::SmallVector<Carried> carried;
  llvm::SmallVector<Sliced> sliced;
  /// The i1 scalars by which it is decided whether there is another round, or which region is taken.
  llvm::SmallVector<mlir::Value, 1> deciders;
};

} // namespace dgc

#endif // DGC_DIALECTS_DGC_REGIONTIES_H
