//===- KernelGraph.h - what a kernel stores and what each store reads ------===//
//
// A kernel in linalg on tensors is seen as a few *roots*, values that are stored: the kernel's results, every
// reduction, and what would be expensive to compute again. All other values are functions of an index and are
// computed where they are used. The functions here say, for an element of a value, which elements of its operands it
// needs; indices are affine expressions over the dimensions of the root's iteration space.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_KERNELGRAPH_H
#define DGC_COMPILER_CODEGEN_KERNELGRAPH_H

#include "dialects/dgc/TensorUtil.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/BitVector.h"
#include <numeric>

namespace dgc {

using Index = llvm::SmallVector<mlir::AffineExpr, 4>;
/// More loops, and more values that are only known at run time, than an index can depend on.
constexpr unsigned kMaxDims = 64, kMaxSymbols = 1 << 16;

/// An expression in its simplest form. Takes the time that its own dimensions and symbols take, not that of the
/// largest.
mlir::AffineExpr simplify(mlir::AffineExpr expr);

/// The number of elements of a shape.
inline int64_t sizeOf(llvm::ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

/// One read of a stored value.
struct Access {
  mlir::Value base;        // an argument of the kernel, a constant or a value of a root
  Index index;             // empty when it is read through a change of shape
  mlir::AffineExpr linear; // index of the element in row-major order
};

/// That an index is in [0, size).
struct Bound {
  mlir::AffineExpr index;
  int64_t size;
};

struct Root {
  mlir::linalg::LinalgOp reduction;         // null: one value, computed element by element
  llvm::SmallVector<mlir::Value, 1> values; // what is stored
  llvm::SmallVector<Index, 1> indices;      // per value: where, over the dimensions of the space
  llvm::SmallVector<int64_t, 4> space;      // sizes of the loops
  llvm::BitVector parallel;                 // per loop
  llvm::SmallVector<Access> accesses;
  llvm::SmallVector<Bound, 2> bounds; // what padding asks of its indices
  llvm::BitVector pinned;             // loops whose own value matters, beyond addresses
  uint64_t flops = 0;                 // per point of the space, estimated
  bool callsFunctions = false;        // of the mathematical library of CPUs
  llvm::SmallVector<unsigned> after;  // roots that must be done before, beyond those that are read

  bool isParallel() const { return parallel.all(); }
  /// Where the loops of a LinalgOp are in the space.
  llvm::SmallVector<unsigned> loopOfDim;
};

class KernelGraph {
public:
  /// Analyses a function on static tensors. Fails, with a diagnostic, on an op that it cannot compute.
  /// `recomputed`: values that are computed wherever they are used, though they are expensive.
  static mlir::FailureOr<KernelGraph> build(mlir::func::FuncOp func,
                                            const llvm::DenseSet<mlir::Value> &recomputed = {});

  mutable mlir::func::FuncOp func; // (its accessors are not const)
  bool fixedArithmetic = false;    // kFixedArithmeticAttr
  std::vector<Root> roots;         // every root after those that it reads
  llvm::DenseMap<mlir::Value, unsigned> rootOf;
  /// For each result of the function the argument that it may overwrite, or -1.
  llvm::SmallVector<int64_t> inplace;

  /// Of the arguments, and the results after them: those that may share memory with another one.
  llvm::BitVector mayAlias() const;

  bool isBase(mlir::Value value) const;
  /// Does root `user` read a value of root `used`?
  bool reads(unsigned user, unsigned used) const;
  /// Does root `user` read a value of `used` only at the very point of the space that it computes?
  bool readsInPlace(unsigned user, unsigned used) const;
  bool readsValueInPlace(unsigned user, mlir::Value value) const;

private:
  mlir::LogicalResult addReduction(mlir::linalg::LinalgOp op);
  mlir::LogicalResult addElementwise(mlir::Value value);
  mlir::LogicalResult collectAll();
  void materialiseShared(const llvm::DenseSet<mlir::Value> &recomputed);
  mlir::LogicalResult order();
};

/// The dimensions of an iteration space as an index; loops of size 1 are the constant 0.
Index pointOf(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> space);

/// Replaces indices of dimensions of size 1 by 0 and simplifies, so that equal elements have equal indices.
Index normalize(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index);

/// Row-major position of `index` in a tensor of this shape.
mlir::AffineExpr linearize(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::AffineExpr> index,
                           mlir::MLIRContext *context);

/// The loops of an all-parallel op at which it computes element `index` of its result; fails where the result map
/// is not a permutation.
mlir::FailureOr<Index> loopsAt(mlir::linalg::LinalgOp op, unsigned result, llvm::ArrayRef<mlir::AffineExpr> index);

/// Applies an indexing map to loops.
Index applyMap(mlir::AffineMap map, llvm::ArrayRef<mlir::AffineExpr> loops);

/// The element of the source of tensor.expand_shape or tensor.collapse_shape that is element `index` of the result.
Index reshapedIndex(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index);

/// Does a bound follow from those that are known?
bool follows(const Bound &bound, llvm::ArrayRef<Bound> known);

/// A value in the body of an op, at a point of its loops, as an expression; null where it is none. Clamping changes
/// nothing in what is `within`.
mlir::AffineExpr indexOf(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> loops, llvm::ArrayRef<Bound> within = {});

/// What an op in such a body asks of an index, if that is its result.
std::optional<Bound> boundOf(mlir::Operation *inner, llvm::ArrayRef<mlir::AffineExpr> loops);

/// Is this an op that computes all elements independently, each at one point of its loops?
bool isPointwise(mlir::Operation *op);

/// If `value` is a change of shape of a stored value (of several, one after the other), that value; else null.
mlir::Value baseThroughReshapes(const KernelGraph &graph, mlir::Value value);

/// The index in the base below `reshape`, and further ones, where they only add and remove dimensions of size 1; else empty.
Index indexBelowReshapes(const KernelGraph &graph, mlir::Operation *reshape, llvm::ArrayRef<mlir::AffineExpr> index);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_KERNELGRAPH_H
