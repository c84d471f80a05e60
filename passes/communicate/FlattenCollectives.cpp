// dgc-flatten-collectives: makes collectives work on whole ranges of memory.

#include "dialects/dgc/TensorUtil.h"
#include "passes/communicate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {
#define GEN_PASS_DEF_FLATTENCOLLECTIVESPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
/// Reshapes and transposes that keep the encoding of their operand.
class Mover {
public:
  Mover(OpBuilder &builder, Location location) : builder(builder), location(location) {}

  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == shape)
      return value;
    return keep(type, ReshapeOp::create(builder, location, value, shape));
  }

  /// Moves dimension `from` to the place `to`.
  Value move(Value value, int64_t from, int64_t to) {
    auto type = cast<RankedTensorType>(value.getType());
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    permutation.erase(permutation.begin() + from);
    permutation.insert(permutation.begin() + to, from);
    if (llvm::is_sorted(permutation))
      return value;
    return keep(type, TransposeOp::create(builder, location, value, permutation));
  }

private:
  Value keep(RankedTensorType like, Value result) {
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(RankedTensorType::get(type.getShape(), type.getElementType(), like.getEncoding()));
    recordEncodings(result.getDefiningOp());
    return result;
  }

  OpBuilder &builder;
  Location location;
};
} // namespace

/// The shape with dimension `dim` as two: `parts` and what is left of it.
static SmallVector<int64_t> splitDim(ArrayRef<int64_t> shape, int64_t dim, int64_t parts) {
  SmallVector<int64_t> split(shape);
  split[dim] /= parts;
  split.insert(split.begin() + dim, parts);
  return split;
}

/// The shape with dimensions 0 and 1 as one.
static SmallVector<int64_t> mergeFirst(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> merged(shape.drop_front());
  merged[0] *= shape[0];
  return merged;
}

/// The type of `like` with another shape.
static RankedTensorType withShape(Value like, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(like.getType());
  return RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
}

static int64_t groupSize(CollectiveOpInterface op) {
  return getGroupSize(lookupMesh(op, op.getMeshAttr()), op.getAxes());
}

/// Gathers along dimension 0, and then moves the number of the member, which is
/// the major part of that, in front of `dim`.
static void flatten(AllGatherOp op, OpBuilder &builder) {
  Mover mover(builder, op.getLoc());
  int64_t members = groupSize(op), dim = op.getDim();
  SmallVector<Type> types;
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults())) {
    SmallVector<int64_t> gathered(shapeOf(input));
    gathered[0] *= members;
    types.push_back(withShape(result, gathered));
  }
  auto gather = AllGatherOp::create(builder, op.getLoc(), types, op.getInputs(), 0, op.getMesh(), op.getAxes(),
                                    op.getOriginsAttr());
  gather->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [gathered, result] : llvm::zip_equal(gather.getResults(), op.getResults())) {
    Value value = mover.move(mover.reshape(gathered, splitDim(shapeOf(gathered), 0, members)), 0, dim);
    result.replaceAllUsesWith(mover.reshape(value, shapeOf(result)));
  }
}

/// Moves the number of the member that a part is for to the front.
static void flatten(ReduceScatterOp op, OpBuilder &builder) {
  Mover mover(builder, op.getLoc());
  int64_t members = groupSize(op), dim = op.getDim();
  SmallVector<Value> inputs;
  for (Value input : op.getInputs()) {
    Value value = mover.reshape(input, splitDim(shapeOf(input), dim, members));
    value = mover.move(value, dim, 0);
    inputs.push_back(mover.reshape(value, mergeFirst(shapeOf(value))));
  }
  auto scatter = ReduceScatterOp::create(builder, op.getLoc(), op.getResultTypes(), inputs, op.getKind(), 0,
                                         op.getMesh(), op.getAxes(), op.getOriginsAttr());
  scatter->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(scatter.getResults());
}

/// Moves the number of the member that a part is for to the front, exchanges,
/// and moves the number of the member that a part is from in front of `concat`.
static void flatten(AllToAllOp op, OpBuilder &builder) {
  Mover mover(builder, op.getLoc());
  int64_t members = groupSize(op);
  Value value = mover.reshape(op.getInput(), splitDim(shapeOf(op.getInput()), op.getSplit(), members));
  value = mover.move(value, op.getSplit(), 0);
  SmallVector<int64_t> parts(shapeOf(value));
  SmallVector<int64_t> flat = mergeFirst(parts);
  value = mover.reshape(value, flat);
  value = AllToAllOp::create(builder, op.getLoc(), withShape(value, flat), value, 0, 0, op.getMesh(), op.getAxes(),
                             op.getOriginsAttr());
  value = mover.move(mover.reshape(value, parts), 0, op.getConcat());
  op->replaceAllUsesWith(ValueRange(mover.reshape(value, shapeOf(op.getResult()))));
}

namespace {
struct FlattenCollectives : dgc::impl::FlattenCollectivesPassBase<FlattenCollectives> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (auto gather = dyn_cast<AllGatherOp>(op); gather && gather.getDim() != 0)
        found.push_back(op);
      if (auto scatter = dyn_cast<ReduceScatterOp>(op); scatter && scatter.getDim() != 0)
        found.push_back(op);
      if (auto exchange = dyn_cast<AllToAllOp>(op); exchange && (exchange.getSplit() != 0 || exchange.getConcat() != 0))
        found.push_back(op);
    });
    for (Operation *op : found) {
      OpBuilder builder(op);
      if (auto gather = dyn_cast<AllGatherOp>(op))
        flatten(gather, builder);
      else if (auto scatter = dyn_cast<ReduceScatterOp>(op))
        flatten(scatter, builder);
      else
        flatten(cast<AllToAllOp>(op), builder);
      op->erase();
      ++numFlattened;
    }
  }
};
} // namespace
