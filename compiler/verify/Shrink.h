// The same model with smaller dimensions, of which the compiler makes the same plan but for sizes.

#ifndef DGC_COMPILER_VERIFY_SHRINK_H
#define DGC_COMPILER_VERIFY_SHRINK_H

#include "compiler/driver/CompileOptions.h"
#include "compiler/verify/DimensionClasses.h"

#include <map>
#include <set>
#include <vector>

namespace dgc {

struct ShrunkModel {
  mlir::OwningOpRef<mlir::ModuleOp> module; // as the phase `model` has yet to see it
  int64_t batch = 0;                        // the global batch; 0: the model has none
  std::string sizes;                        // what changed, for people: "batch 64 -> 16, 768 -> 24"; empty: nothing
  bool isSmaller() const { return !sizes.empty(); }
};

class Shrinker {
public:
  /// For the plan that the module, which the phase `model` has yet to see, is compiled by. Fails with a diagnostic, as where it
  /// is no dgc.model.
  static mlir::FailureOr<std::unique_ptr<Shrinker>> create(mlir::ModuleOp module, const CompilePlan &plan);

  /// The smallest model in which
  ///   - dimensions are the same that are so in the model, as by the sharding rules of its operations,
  ///   - a dimension is divided by the axes of the mesh but `stage`, the number of servers and, if it is of the batch, that of
  ///     micro-batches that divide it, and by no other of these, and leaves as many workers without an element of it,
  ///   - 1 is 1, more than 1 is more than 1, and of two dimensions the larger one is larger, but for those that windows slide
  ///     over,
  ///   - windows slide as before: several or one of them, of which one is without padding or none is, with as many elements left
  ///     out at the end,
  ///   - what is smaller is at least `least`.
  mlir::FailureOr<ShrunkModel> shrink(int64_t least);

private:
  using Sizes = DimensionClasses::Sizes;
  using Part = DimensionClasses::Part;
  /// Different products of parts that declared dimensions are, by each part that they follow from and that is not fixed.
  using Uses = std::map<Part, std::set<std::vector<Part>>>;
  Shrinker() = default;
  void findUses();
  void findModuli(const CompilePlan &plan);
  mlir::LogicalResult inferTypes(int64_t batch);
  bool behaves(const std::vector<Part> &product, int64_t size) const;
  Sizes choose(int64_t least);
  int64_t largestOf(Part part, const Sizes &sizes);
  int64_t sizeFor(Part part, const Sizes &sizes, int64_t least, int64_t above);

  mlir::OwningOpRef<mlir::ModuleOp> flat, typed; // without repeats and calls; the same with types
  llvm::SmallVector<std::pair<DeclaredTypeOpInterface, mlir::Operation *>> declared; // in both
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::Operation *>> adapting;       // in both: those with sizes
  llvm::SmallVector<DimensionClasses::Dim> batchDims;
  std::unique_ptr<DimensionClasses> classes;
  Uses uses;
  std::set<Part> batchParts;
  llvm::SmallVector<int64_t> moduli, batchModuli; // of any dimension; of those of the batch
};

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_SHRINK_H
