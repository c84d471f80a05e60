//===- ProductOperands.h - the operands of a library's product --------------===//

#ifndef DGC_PASSES_KERNEL_PRODUCTOPERANDS_H
#define DGC_PASSES_KERNEL_PRODUCTOPERANDS_H

#include "dialects/dgc/DGC.h"

namespace dgc {

/// An operand of a product: a value with the numbers of its dimensions that are batch, free (of this operand alone) and
/// contracted, each in the order of the product.
struct Matrix {
  mlir::Value value;
  llvm::SmallVector<int64_t> batch, free, contract;
  bool contractLast = false; // of a dense operand: stored as [batch, free, contract]; else [batch, contract, free]
};

/// The operands of a product as the library reads them: before the transposes that the call does itself.
struct ProductOperands {
  Matrix a, b;
  bool isDense = true; // both are stored as [batch, two groups]; else the call gets strides
};

/// Returns the operands of the library call that computes `dot`, or nullopt where the library has none: it has products
/// of f32, bf16 and f16 whose free and contracted dimensions are each next to each other in memory. `anyOrder`: a batch
/// dimension may be the last one in memory.
std::optional<ProductOperands> operandsOfCall(DotGeneralOp dot, bool anyOrder);

/// The number of elements along `dims`.
int64_t extentOf(mlir::Value value, llvm::ArrayRef<int64_t> dims);

/// Dimensions of a value that are taken together as one: `groups` in the order in which a product has them. They cover
/// the dimensions of the value; those of a group are next to each other.
struct Grouped {
  llvm::SmallVector<int64_t> shape, order; // what is stored, and the dimension of it that each group is
};
std::optional<Grouped> group(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<llvm::SmallVector<int64_t>> groups);

/// Batch dimensions by themselves, then the two others.
llvm::SmallVector<llvm::SmallVector<int64_t>> groupsOf(llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> rows,
                                                       llvm::ArrayRef<int64_t> columns);

} // namespace dgc

#endif // DGC_PASSES_KERNEL_PRODUCTOPERANDS_H
