// Which dimensions of a model have to have the same size.

#ifndef DGC_COMPILER_VERIFY_DIMENSIONCLASSES_H
#define DGC_COMPILER_VERIFY_DIMENSIONCLASSES_H

#include "dialects/dgc/DGC.h"
#include "llvm/ADT/DenseMap.h"

namespace dgc {

/// A dimension is a product of parts, major to minor; parts that sharding rules say are the same are one. What nothing
/// splits is one part. Parts of size 1 are left out.
class DimensionClasses {
public:
  /// The number of a part.
  using Part = unsigned;
  using Product = llvm::SmallVector<Part>;
  /// New sizes of parts; others keep theirs.
  using Sizes = llvm::DenseMap<Part, int64_t>;
  struct Dim {
    mlir::Value value;
    int64_t dim;
  };

  /// From the sharding rules of the operations of a model that has its types, and of those that they are decomposed into.
  /// Leaves decompositions in the model, which nothing uses. `batch` are dimensions that are the same, too. Where a window
  /// slides over a dimension, the part behind it follows from the one before. A part is fixed where an operation has no rule,
  /// where elements move along it otherwise, and where an operation would not have the sizes that follow from it, as where an
  /// attribute says them.
  DimensionClasses(ModelOp model, llvm::ArrayRef<Dim> batch);

  Product partsOf(Dim dim);
  int64_t sizeOf(Part part) const { return nodes[part].size; }
  bool isFixed(Part part) const { return nodes[sourceOf(part)].isFixed; }
  /// The part that it follows from, over any number of windows; itself where there is none.
  Part sourceOf(Part part) const;
  /// True where windows slide over what follows from a part.
  bool hasWindows(Part part) const {
    return llvm::any_of(slides, [&](const Slide &each) { return isOf(each, part); });
  }
  /// True where every window over what follows from a part slides as before: it begins and ends in the same way.
  bool slidesAlike(Part part, const Sizes &sizes) const;
  int64_t sizeOf(llvm::ArrayRef<Part> product, const Sizes &sizes) const;

  mlir::RankedTensorType typeWith(mlir::Value value, const Sizes &sizes);

  /// The attributes of an operation whose operands and results have other sizes. None where it cannot have them.
  std::optional<mlir::DictionaryAttr> attributesWith(mlir::Operation *op, const Sizes &sizes);

private:
  struct Node {
    int64_t size;
    bool isFixed = false;
    Product is;       // the part that it is the same as, or those that it was split into
    int follows = -1; // the number of the window that it follows from
  };
  /// A window that slides over a dimension, and gives another. Once settled, `input` is one part and `output` one or none.
  struct Slide {
    WindowDim window;
    Product input, output;
  };

  Part add(int64_t size);
  void appendLeaves(Part part, Product &to) const;
  Product leaves(llvm::ArrayRef<Part> product) const;
  int64_t sizeOfLeaf(Part part, const Sizes &sizes) const;
  bool isOf(const Slide &slide, Part source) const;
  void fix(llvm::ArrayRef<Part> product);
  void fix(mlir::Value value);
  void unify(llvm::ArrayRef<Part> a, llvm::ArrayRef<Part> b);
  void unify(mlir::Value a, mlir::Value b);
  llvm::SmallVector<Part> &dimsOf(mlir::Value value);

  void relate(mlir::Operation *op);
  void relateByRule(ShardingRuleOpInterface op);
  void relateByWindow(mlir::Operation *op, const SlidingWindow &sliding);
  void settleWindows();
  bool hasRuleWith(mlir::Operation *copy, mlir::Operation *op, const Sizes &sizes) const;
  bool isDecomposedWith(mlir::Operation *copy, mlir::Operation *op, const Sizes &sizes);
  std::optional<int64_t> otherSize(Part part) const;
  void test(mlir::Operation *op);

  llvm::SmallVector<Node> nodes;
  llvm::SmallVector<Slide> slides;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Part>> dims;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Part>> factors;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> decompositions;
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_DIMENSIONCLASSES_H
