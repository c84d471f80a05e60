// Propagation over the values of a module.

#ifndef DGC_PASSES_SHARD_MODULEPROPAGATION_H
#define DGC_PASSES_SHARD_MODULEPROPAGATION_H

#include "passes/shard/Propagation.h"

#include "dialects/dgc/States.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {

/// Annotations that agree in what they annotate: the type of the values, their sharding, and whether they are
/// variables, inputs of functions, or values in between. The layers of a model share them.
struct AnnotationGroup {
  enum Kind { Variable, Argument, Value };
  Kind kind;
  mlir::RankedTensorType type;
  dist::ShardingAttr sharding;
  llvm::SmallVector<unsigned> tensors;
  uint64_t axes = 0; // that the sharding names, by number
};

/// The values of a module as tensors of a propagation. A variable is one tensor: its arguments and results in all
/// functions are the same value, and so is a slot of the optimizer that is annotated as its variable or not at all.
class ModulePropagation {
public:
  ModulePropagation(mlir::ModuleOp module, const MeshRef &mesh) : module(module), mesh(mesh), related(mesh) {}

  /// Relates the values as their ops do. Fails with a diagnostic for functions with control flow, and for a variable
  /// with two annotations.
  mlir::LogicalResult build();

  /// The annotations, in the order of the module.
  llvm::ArrayRef<AnnotationGroup> getGroups() const { return groups; }

  /// Propagates to a fixed point and writes `dist.sharding` and `dist.shardings`. Group i says what `delays[i]` has of
  /// its axes (bits, by number) after all that is not delayed; nothing is delayed where `delays` is empty. Returns the
  /// axes that several dimensions or tensors competed for.
  uint64_t apply(llvm::ArrayRef<uint64_t> delays);

  /// The values that are cut, as the last `apply` wrote them.
  unsigned numCut = 0;

private:
  struct State {
    dist::ShardingAttr sharding;
    unsigned tensor = ~0u;
  };

  mlir::LogicalResult collectStates();
  mlir::LogicalResult collectState(mlir::func::FuncOp function, mlir::DictionaryAttr attributes);
  State &stateOf(mlir::FlatSymbolRefAttr name, mlir::RankedTensorType type);
  std::optional<unsigned> tensorOf(mlir::Value value);
  llvm::SmallVector<unsigned> tensorsOf(mlir::ValueRange values);
  unsigned addBoundary(mlir::RankedTensorType type, mlir::DictionaryAttr attributes, AnnotationGroup::Kind kind);
  mlir::LogicalResult addFunction(mlir::func::FuncOp function);
  void addOp(mlir::Operation *op);
  void addManual(dist::ManualOp op);
  void addRegions(RegionTiesOpInterface op);
  void annotate(unsigned tensor, mlir::Type type, dist::ShardingAttr sharding, AnnotationGroup::Kind kind);
  void write(mlir::func::FuncOp function);
  void writeOp(mlir::Operation *op);
  void writeRegions(RegionTiesOpInterface op);
  dist::ShardingAttr shardingOf(unsigned tensor) const { return mesh.shardingOf(settled->getDims(tensor)); }

  mlir::ModuleOp module;
  const MeshRef &mesh;
  Propagation related;                // before the fixed point
  std::optional<Propagation> settled; // at the fixed point of the last `apply`
  llvm::DenseMap<mlir::Value, unsigned> tensors;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned>> results; // of functions; ~0: not a tensor
  llvm::MapVector<mlir::StringAttr, State> states;
  llvm::SmallVector<AnnotationGroup> groups;
  llvm::DenseMap<std::tuple<int, mlir::Type, mlir::Attribute>, unsigned> groupNumbers;
};

} // namespace dgc

#endif // DGC_PASSES_SHARD_MODULEPROPAGATION_H
