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
//   | an axis that is not delayed against one that | that which is not        |
//   |   is, in one round                           |                          |
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
// What is decided stays: axes are only added, after those of a dimension.
// Ops that only pass dimensions through (elementwise) are brought to a fixed
// point before others (contractions) may propose. A dimension of several factors
// (attention heads that are split or merged) passes an axis on as long as the
// factors before are cut to single elements: it stays with the major factor.

#ifndef DGC_PASSES_SHARD_PROPAGATION_H
#define DGC_PASSES_SHARD_PROPAGATION_H

#include "passes/analysis/Layout.h"

namespace dgc {

class Propagation {
public:
  explicit Propagation(const MeshRef &mesh) : mesh(mesh) {}

  /// Adds a tensor of which nothing is known; all its dimensions are open.
  unsigned addTensor(mlir::RankedTensorType type);
  /// Says what is known of a tensor. Closed dimensions stay as they are.
  void annotate(unsigned tensor, dist::ShardingAttr sharding);
  /// Relates tensors: those of an op, operands first.
  void relate(ShardingRule rule, llvm::ArrayRef<unsigned> tensors);
  /// Relates tensors of one shape that are to be cut alike.
  void tie(llvm::ArrayRef<unsigned> tensors);

  /// Lets a tensor say those of its annotated axes that are in `axes` (bits, by number) only after all of the same
  /// round that is not delayed has come to a fixed point.
  void delay(unsigned tensor, uint64_t axes);

  void run();

  /// The axes (bits, by number) that could not go where they were proposed: another axis was there, or they cut
  /// another dimension.
  uint64_t getContested() const { return contested; }
  const DimAxes &getDims(unsigned tensor) const { return tensors[tensor].dims; }

private:
  struct Tensor {
    int64_t bytes;
    DimAxes dims;
    llvm::SmallVector<bool> open;
    llvm::SmallVector<int64_t> round;
    uint64_t used = 0;    // axes that cut it or along which it must be replicated
    uint64_t delayed = 0; // axes that it says late
    llvm::SmallVector<unsigned> relations;
  };
  struct Relation {
    llvm::SmallVector<Factor> factors;
    llvm::SmallVector<TensorFactors> shapes;
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
    bool delayed; // the second part of the round
    int origin;
  };

  bool maySay(const Tensor &tensor, unsigned dim, AxisUse use, Stage stage) const;
  void propose(const Relation &relation, Stage stage, llvm::SmallVectorImpl<Proposal> &proposals);
  AxisList agree(const Relation &relation, unsigned factor, llvm::ArrayRef<llvm::SmallVector<AxisList>> known,
                 llvm::SmallVectorImpl<Rank> &ranks);
  void decide(llvm::SmallVectorImpl<Proposal> &proposals);
  void touch(unsigned tensor);
  void fixedPoint(Stage stage);

  const MeshRef &mesh;
  std::vector<Tensor> tensors;
  std::vector<Relation> relations;
  llvm::SmallVector<unsigned> dirty[2]; // relations that pass through; others
  uint64_t contested = 0;
  bool anyDelayed = false;
};

} // namespace dgc

#endif // DGC_PASSES_SHARD_PROPAGATION_H
