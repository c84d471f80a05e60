//===- RegionDims.h - the dimensions that an op with regions passes through ------===//

#ifndef DGC_DIALECTS_DGC_REGIONDIMS_H
#define DGC_DIALECTS_DGC_REGIONDIMS_H

#include "dialects/dgc/DGC.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"

namespace dgc {

/// True when `op` may be applied to its partial operands, which `partial` lists
/// (not empty), as they are: it is linear in the only one, or in all of them
/// together. Operands of other element types than the result do not count.
bool isLinearIn(Operation *op, llvm::ArrayRef<unsigned> partial);

/// Whether the gradient of a scan keeps what an op of a round gives: it is costlier to compute it again.
bool isKeptByScans(mlir::Operation *op);

/// The dimensions of the values of an op with isolated regions, operands and results included, in classes: two are in one
/// class when they must be cut in the same way. Of a dimension that an op inside sees as several factors that is the first
/// one. A class that some op inside does not pass through, whatever it does with it instead, is mixed and cannot be cut;
/// but for sums over it that a loop carries from zero on and does nothing with but add to them: each device has an addend
/// of such a result.
class RegionDims {
public:
  /// `isCut`: devices are to have parts of the classes, so that a dimension along which an op depends on its place is mixed.
  explicit RegionDims(RegionTiesOpInterface op, bool isCut = true);

  /// Each class that is not mixed is a factor of the op.
  ShardingRule rule();

  /// The operands and results have local types by now: makes those of all values inside local as well.
  LogicalResult localize(TypeRange globalOperands, TypeRange globalResults);

private:
  /// Dimension by dimension, both values are cut alike.
  void tie(Value a, Value b);
  /// The same for a tensor and its slices, which are without dimension `dim`; that dimension is not cut.
  void tieSlice(Value whole, Value slice, int64_t dim);
  unsigned first(Value value) const { return firstDim.lookup(value); }
  void add(Value value);
  void relate(Operation *inner);
  void mixAll(Value value);
  void mix(unsigned dim) { mixed[dim] = true; }
  void join(unsigned a, unsigned b) { joined.push_back({a, b}); }
  void settle();
  bool isCut(Value value, unsigned one) const;
  llvm::DenseSet<Value> addends(unsigned one) const;
  bool sumsUp(unsigned one) const;

  Operation *op;
  RegionTies ties;
  bool dependsOnPlace;
  llvm::SmallVector<std::pair<Operation *, unsigned>> sums; // an op inside, and a dimension that it adds up
  llvm::SmallVector<int64_t> major;                         // by dimension, then by class: the size of what may be cut
  llvm::DenseSet<unsigned> summed;                          // classes that are added up
  llvm::DenseSet<unsigned> larger;                          // classes of which some values have a multiple of the size
  llvm::DenseMap<Value, unsigned> firstDim;                 // by value, the number of its first dimension
  llvm::SmallVector<Value> values;
  llvm::SmallVector<bool> mixed; // by dimension, then by class
  llvm::SmallVector<std::pair<unsigned, unsigned>> joined;
  llvm::IntEqClasses classes;
};

/// The value that ops of `dist` say of how it is spread over devices.
Value behindShardings(Value value);

/// True for a constant of zeros, however it is spread.
bool isZeros(Value value);

/// The type of a slice of a tensor along `dim`, without that dimension. Fails where it has no such dimension; what is no tensor
/// is its own slice.
llvm::FailureOr<mlir::Type> sliceType(mlir::Type type, int64_t dim);

/// Lets `to`, which is made of `from`, stay a loop where that does (`dgc.unroll_disable`).
void copyUnrollDisable(mlir::Operation *from, mlir::Operation *to);

/// The type of the tensor with `count` slices of this type along `dim`, which is at most its rank.
mlir::RankedTensorType stackedType(mlir::Type slice, int64_t dim, int64_t count);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_REGIONDIMS_H
