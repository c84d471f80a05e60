// Layouts of tensors in a form to compute with: axes by number, factors of
// dimensions, and the conversions from and to #dist.sharding.

#ifndef DGC_PASSES_ANALYSIS_LAYOUT_H
#define DGC_PASSES_ANALYSIS_LAYOUT_H

#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorUtil.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/analysis/ReshardPlan.h"

namespace dgc {

/// An axis of the mesh by its index, and the origin of the cut.
struct AxisUse {
  int axis;
  dist::OriginAttr origin;
  bool operator==(const AxisUse &other) const { return axis == other.axis; }
};

/// Axes that cut a dimension or a factor, major to minor. Lists are equal when
/// their axes are; origins do not count.
using AxisList = llvm::SmallVector<AxisUse, 2>;

/// Per dimension the axes that cut it.
using DimAxes = llvm::SmallVector<AxisList, 4>;

/// True when `list` begins with `prefix`.
bool startsWith(llvm::ArrayRef<AxisUse> list, llvm::ArrayRef<AxisUse> prefix);

/// The one mesh that the shardings of a module name. A module has none as long
/// as nothing is cut.
struct MeshRef {
  mlir::FlatSymbolRefAttr name;
  dist::MeshAttr mesh;

  explicit operator bool() const { return bool(mesh); }
  int64_t sizeOf(int axis) const { return mesh.getAxes()[axis].getSize(); }
  /// The number of parts that the axes make.
  int64_t parts(llvm::ArrayRef<AxisUse> axes) const;
  /// True when they cut a dimension of `size` into equal parts.
  bool isEven(int64_t size, llvm::ArrayRef<AxisUse> axes) const { return size % parts(axes) == 0; }
  /// The size of the blocks, padding included.
  int64_t blockOf(int64_t size, llvm::ArrayRef<AxisUse> axes) const { return llvm::divideCeil(size, parts(axes)); }
  DimAxes dimsOf(dist::ShardingAttr sharding) const;
  /// The same by numbers alone, and the sizes of the axes by number: for ReshardPlan.h.
  ValueLayout layoutOf(dist::ShardingAttr sharding) const;
  llvm::SmallVector<int64_t> sizes() const;
  AxisList axesOf(llvm::ArrayRef<dist::AxisRefAttr> axes) const;
  llvm::SmallVector<dist::AxisRefAttr> refsOf(llvm::ArrayRef<AxisUse> axes) const;
  /// A closed sharding; `unreduced` in any order.
  dist::ShardingAttr shardingOf(const DimAxes &dims, dist::Reduction kind = dist::Reduction::Sum,
                                llvm::ArrayRef<AxisUse> unreduced = {}) const;
};

/// The mesh that the functions of `module` are distributed over: the first one that
/// a sharding names, else the only one of the module. Fails with a diagnostic
/// when shardings name several. Null when there is none.
mlir::FailureOr<MeshRef> findMesh(mlir::ModuleOp module);

/// The axes of each factor, from those of the dimensions of one tensor. Fails
/// where an axis cuts across factors: a factor that is cut must be divided, and
/// those before it in its dimension must be cut down to single elements.
llvm::LogicalResult factorsFromDims(const TensorFactors &tensor, llvm::ArrayRef<Factor> factors, const DimAxes &dims,
                                    const MeshRef &mesh,
                                    llvm::function_ref<void(unsigned factor, llvm::ArrayRef<AxisUse>)> give);

/// The axes of each dimension of one tensor, from those of the factors. A
/// factor after one that is not cut down to single elements contributes
/// nothing; if there is one that should, `*lost` is set to it.
DimAxes dimsFromFactors(const TensorFactors &tensor, llvm::ArrayRef<Factor> factors, llvm::ArrayRef<AxisList> axes,
                        const MeshRef &mesh, std::optional<unsigned> *lost = nullptr);

/// The sharding of a value as its op, or the function or loop that it is an argument of, declares it; whole when
/// nothing is declared. `value` has a ranked tensor type.
dist::ShardingAttr declaredSharding(mlir::Value value, const MeshRef &mesh);

/// Says how the arguments of the regions of a loop or branch are sharded; nothing where all are whole.
void declareArguments(mlir::Operation *op, llvm::ArrayRef<dist::ShardingAttr> shardings);

/// "dgc.add at model.mlir:3:4", for messages.
std::string describe(mlir::Operation *op);

/// The origin of axes that `op` introduced.
dist::OriginAttr originOf(mlir::Operation *op);

/// The kind of a partial result, if devices can combine such: `and` and `or`
/// only of booleans.
std::optional<dist::Reduction> partialKind(ReductionKind kind, mlir::Type element);

} // namespace dgc

#endif // DGC_PASSES_ANALYSIS_LAYOUT_H
