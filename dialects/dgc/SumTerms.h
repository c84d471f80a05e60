// The terms of a sum that is written as a tree of additions.

#ifndef DGC_DIALECTS_DGC_SUMTERMS_H
#define DGC_DIALECTS_DGC_SUMTERMS_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"

namespace dgc {

/// True for an addition that is not part of a larger sum.
bool isWholeSum(AddOp add);

/// The terms of the sum that `add` is the last op of, from left to right. Additions whose result is used only there are
/// taken apart if `isPart` holds for them.
SmallVector<Value> termsOf(AddOp add, llvm::function_ref<bool(AddOp)> isPart = [](AddOp) { return true; });

/// Adds up one or more values by `add`, in pairs: the rounding error grows with the logarithm of their number.
Value addInPairs(ArrayRef<Value> values, llvm::function_ref<Value(Value, Value)> add);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_SUMTERMS_H
