// Which values of a function are checked for numbers that are not finite, and which of their elements count.

#ifndef DGC_PASSES_COMMUNICATE_CHECKEDVALUES_H
#define DGC_PASSES_COMMUNICATE_CHECKEDVALUES_H

#include "dialects/MLIR.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {

/// An i1 tensor of the shape of a value, and whether the elements count for which it is true or the others.
struct MaskLiteral {
  mlir::Value mask;
  bool isTrue;
};

/// The elements of a value that count: those for which all literals of one of the lists hold. An empty list: all elements.
using CountedElements = llvm::SmallVector<llvm::SmallVector<MaskLiteral, 2>, 1>;

struct ValueToCheck {
  std::string what;        // it is to the model; may be empty
  CountedElements counted; // a list of none: all count
  /// A value of the same shape that is computed from this one. It is not finite where this one is not, so this one is looked
  /// at where that is wrong. Null: there is none.
  mlir::Value shownBy;
};
using ValuesToCheck = llvm::MapVector<mlir::Value, ValueToCheck>;

/// What a function gives, and what of that is computed before it is combined, or before variables are updated; and what is
/// sent. Builds masks of what is padding at the beginning of the function.
ValuesToCheck findResults(mlir::func::FuncOp function);

/// The results of those ops that compute, and the arguments. Elements that select leaves out again do not count.
ValuesToCheck findValuesOfAllOps(mlir::func::FuncOp function, llvm::function_ref<bool(mlir::Operation *)> isWanted);

/// Whether the values of an op can only be those of its operands, or numbers that are written in the program.
bool computesNothing(mlir::Operation *op);

bool isFloatTensor(mlir::Value value);

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_CHECKEDVALUES_H
