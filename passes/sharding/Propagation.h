// Propagation of shardings over factors, to a fixed point.
//
// Values are tensors; ops relate tensors through their sharding rule. In each
// round every op that saw a change proposes, for each of its factors, the axes
// that some of its tensors have to the others; then all proposals are decided
// at once. So the outcome does not depend on the order of the ops in the file.
//
// Where proposals conflict:
//
//   | conflict                                     | wins                     |
//   |----------------------------------------------|--------------------------|
//   | the user's axis against a strategy's         | the user's               |
//   | an axis of round 0 against one of round 1    | that of round 0          |
//   | an axis that came over fewer ops against one | the nearer one           |
//   |   that came over more                        |                          |
//   | {a} from tensors of more bytes together,     | {a}                      |
//   |   {b} from tensors of fewer                  |                          |
//   | {a, b} and {a}                               | {a, b}: no conflict      |
//   | both equal in all of that                    | the axis that the mesh   |
//   |                                              | names first, then the    |
//   |                                              | first dimension          |
//   | an axis in two dimensions of a tensor        | by the same order        |
//
// What is decided stays: axes are only ever added, behind those of a dimension.
// Ops that only pass dimensions through (elementwise) are brought to a fixed
// point before others (contractions) may propose. A dimension of several factors
// (attention heads that are split or merged) passes an axis on as long as the
// factors before are cut to single elements: it stays with the major factor.

#ifndef DGC_PASSES_SHARDING_PROPAGATION_H
#define DGC_PASSES_SHARDING_PROPAGATION_H

#include "passes/sharding/Layout.h"

namespace dgc {

class Propagation {
public:
  explicit Propagation(const MeshRef &mesh) : mesh(mesh) {}

  /// Adds a tensor of which nothing is known; all its dimensions are open.
  unsigned addTensor(mlir::RankedTensorType type);
  /// Says what is known of a tensor. Closed dimensions stay as they are.
  void annotate(unsigned tensor, mlir::dist::ShardingAttr sharding);
  /// Relates tensors: those of an op, operands first.
  void relate(mlir::dgc::ShardingRule rule, llvm::ArrayRef<unsigned> tensors);
  /// Relates tensors of one shape that are to be cut alike.
  void tie(llvm::ArrayRef<unsigned> tensors);

  void run();

  const DimAxes &getDims(unsigned tensor) const { return tensors[tensor].dims; }

private:
  struct Tensor {
    int64_t bytes;
    DimAxes dims;
    llvm::SmallVector<bool> open;
    llvm::SmallVector<int64_t> round;
    uint64_t used = 0; // axes that cut it or along which it must be replicated
    llvm::SmallVector<unsigned> relations;
  };
  struct Relation {
    llvm::SmallVector<mlir::dgc::Factor> factors;
    llvm::SmallVector<mlir::dgc::TensorFactors> shapes;
    llvm::SmallVector<unsigned> tensors;
    bool passesThrough;
    bool dirty = false;
  };
  /// Why an axis is proposed; smaller is better.
  struct Rank {
    int origin;
    int64_t negativeBytes;
    int axis;
    auto operator<=>(const Rank &) const = default;
  };
  struct Proposal {
    unsigned tensor, dim;
    size_t position; // the dimension has that many axes already
    AxisList axes;   // to add
    Rank rank;       // of the first of them
  };
  struct Stage {
    int64_t round;
    int origin;
  };

  void propose(const Relation &relation, Stage stage, llvm::SmallVectorImpl<Proposal> &proposals) const;
  AxisList agree(const Relation &relation, unsigned factor, llvm::ArrayRef<llvm::SmallVector<AxisList>> known,
                 llvm::SmallVectorImpl<Rank> &ranks) const;
  void decide(llvm::SmallVectorImpl<Proposal> &proposals);
  void touch(unsigned tensor);
  void fixedPoint(Stage stage);

  const MeshRef &mesh;
  std::vector<Tensor> tensors;
  std::vector<Relation> relations;
  llvm::SmallVector<unsigned> dirty[2]; // relations that pass through; others
};

} // namespace dgc

#endif // DGC_PASSES_SHARDING_PROPAGATION_H
