// dgc-hoist-sums: adds up what the rounds of a scan give behind it.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/Decompose.h"
#include "dialects/dgc/Definition.h"
#include "dialects/dgc/OpSupport.h"
#include "dialects/dgc/RegionDims.h"
#include "mlir/IR/IRMapping.h"
#include "passes/gradient/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-hoist-sums"

namespace dgc {
#define GEN_PASS_DEF_HOISTSUMSPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

/// Elements of an addend that is kept for all rounds as it is.
constexpr int64_t mostKeptElements = 1024;

/// Dimensions of a slice as those of the whole.
SmallVector<int64_t> inWhole(ArrayRef<int64_t> dims, int64_t at) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return dim + (dim >= at ? 1 : 0); });
}

/// `dims` and `at`, ascending.
SmallVector<int64_t> inWholeWith(ArrayRef<int64_t> dims, int64_t at) {
  SmallVector<int64_t> all = inWhole(dims, at);
  all.push_back(at);
  llvm::sort(all);
  return all;
}

/// Is the sum over all rounds that of what the op gives for the sum of its one operand?
bool passesSums(Operation *op) { return isa_and_nonnull<TransposeOp, ReshapeOp, NegateOp>(op); }

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Takes sums out of one branch: what they are made of becomes a result, which is zero where the other branch was taken. Then
/// they can be taken out of a scan around it, too.
class BranchHoister {
public:
  explicit BranchHoister(IfOp branch) : branch(branch) {}

  unsigned run() {
    SmallVector<unsigned> sums;
    for (unsigned i = 0; i < branch.getNumResults(); ++i)
      if (llvm::any_of(branch.getRegions(), [&](Region *region) { return isSum(given(*region, i)); }))
        sums.push_back(i);
    if (sums.empty())
      return 0;
    SmallVector<Operation *> built;
    InsertedOps listener(built);
    OpBuilder builder(branch, &listener);
    SmallVector<Type> types(branch.getResultTypes());
    for (auto [which, region] : llvm::enumerate(branch.getRegions()))
      for (unsigned i : sums)
        keepParts(given(*region, i), which, types);
    auto fresh = IfOp::create(builder, branch.getLoc(), types, branch.getPredicate(), branch.getInputs());
    for (auto [which, pair] : llvm::enumerate(llvm::zip_equal(branch.getRegions(), fresh.getRegions()))) {
      auto [from, to] = pair;
      IRMapping mapping;
      from->cloneInto(to, mapping);
      Operation *yield = to->front().getTerminator();
      OpBuilder inside(yield);
      CompositeBuilder b(inside, branch.getLoc());
      for (auto &[value, part] : parts)
        yield->insertOperands(yield->getNumOperands(),
                              part.branch == which ? mapping.lookup(value) : b.splat(0, value));
    }
    CompositeBuilder b(builder, branch.getLoc());
    SmallVector<Value> results(fresh.getResults().take_front(branch.getNumResults()));
    for (unsigned i : sums) {
      Value total;
      for (Region *region : branch.getRegions())
        if (Value value = given(*region, i); !isSplatOf(value, 0)) {
          Value sum = outside(b, value, fresh);
          total = total ? b.add(total, sum) : sum;
        }
      results[i] = total;
    }
    for (Operation *op : built)
      inheritPlacement(branch, op);
    branch->replaceAllUsesWith(results);
    branch.erase();
    // The sums are no results any more.
    for (unsigned i : llvm::reverse(sums))
      dropped.push_back(i);
    drop(fresh);
    return sums.size();
  }

private:
  struct Part {
    size_t branch;
    unsigned result;
  };

  static Value given(Region &region, unsigned i) { return region.front().getTerminator()->getOperand(i); }

  static bool isSum(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto reduce = dyn_cast_or_null<ReduceOp>(op))
      return reduce.getKind() == ReductionKind::Sum;
    if (isa_and_nonnull<DotGeneralOp>(op))
      return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType());
    return passesSums(op) && isSum(op->getOperand(0));
  }

  void keepPart(Value value, size_t which, SmallVectorImpl<Type> &types) {
    if (parts.try_emplace(value, Part{which, static_cast<unsigned>(types.size())}).second)
      types.push_back(value.getType());
  }

  void keepParts(Value value, size_t which, SmallVectorImpl<Type> &types) {
    if (isSplatOf(value, 0))
      return;
    if (!isSum(value)) {
      keepPart(value, which, types);
      return;
    }
    if (passesSums(value.getDefiningOp())) {
      keepParts(value.getDefiningOp()->getOperand(0), which, types);
      return;
    }
    for (Value operand : value.getDefiningOp()->getOperands())
      keepPart(operand, which, types);
  }

  /// The value behind the branch.
  Value outside(CompositeBuilder &b, Value value, IfOp fresh) {
    if (!isSum(value))
      return fresh.getResult(parts.lookup(value).result);
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, passesSums(op) ? outside(b, operand, fresh) : fresh.getResult(parts.lookup(operand).result));
    return b.builder.clone(*op, mapping)->getResult(0);
  }

  /// Leaves out the results that were replaced, and what only they needed.
  void drop(IfOp fresh) {
    OpBuilder builder(fresh);
    SmallVector<Type> types;
    SmallVector<unsigned> kept;
    for (unsigned i = 0; i < fresh.getNumResults(); ++i)
      if (!llvm::is_contained(dropped, i)) {
        types.push_back(fresh.getResult(i).getType());
        kept.push_back(i);
      }
    auto last = IfOp::create(builder, fresh.getLoc(), types, fresh.getPredicate(), fresh.getInputs());
    last->setDiscardableAttrs(fresh->getDiscardableAttrDictionary());
    for (auto [from, to] : llvm::zip_equal(fresh.getRegions(), last.getRegions())) {
      to->takeBody(*from);
      Operation *yield = to->front().getTerminator();
      for (unsigned i : dropped)
        yield->eraseOperand(i);
      eraseDead(to->front());
    }
    for (auto [i, result] : llvm::zip_equal(kept, last.getResults()))
      fresh.getResult(i).replaceAllUsesWith(result);
    fresh.erase();
  }

  IfOp branch;
  llvm::MapVector<Value, Part> parts; // by a value inside
  SmallVector<unsigned> dropped;      // descending
};

/// Takes the sums out of one scan.
class Hoister {
public:
  explicit Hoister(ScanOp scan) : scan(scan), at(scan.getDimension()) {}

  unsigned run() {
    SmallVector<std::pair<unsigned, Value>> sums; // of what is carried, with the addend
    for (auto [i, argument, next] : llvm::enumerate(scan.carriedInside(), scan.carriedOn()))
      if (Value addend = addendOf(argument, next); addend && canHoist(addend))
        sums.push_back({i, addend});
    if (sums.empty())
      return 0;
    for (auto &[i, addend] : sums)
      collect(addend);
    rebuild(sums);
    return sums.size();
  }

private:
  /// What a round adds to a carried value that is used for nothing else; null for others.
  static Value addendOf(BlockArgument argument, Value next) {
    auto add = next.getDefiningOp<AddOp>();
    if (!add || !argument.hasOneUse() || !next.hasOneUse() || *argument.user_begin() != add)
      return {};
    return add.getLhs() == argument ? add.getRhs() : add.getLhs();
  }

  bool isInvariant(Value value) { return llvm::is_contained(scan.invariantsInside(), value); }

  bool canHoist(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto add = dyn_cast_or_null<AddOp>(op))
      return canHoist(add.getLhs()) && canHoist(add.getRhs());
    if (passesSums(op))
      return canHoist(op->getOperand(0));
    if (auto reduce = dyn_cast_or_null<ReduceOp>(op); reduce && reduce.getKind() == ReductionKind::Sum)
      return hasSlices(reduce.getOperand());
    if (auto dot = dyn_cast_or_null<DotGeneralOp>(op))
      return hasSlices(dot.getLhs()) && hasSlices(dot.getRhs());
    if (auto scatter = dyn_cast_or_null<ScatterAddOp>(op))
      return !scatter.getOffset() && hasSlices(scatter.getIndices()) && hasSlices(scatter.getUpdates());
    return hasSlices(value) && cast<RankedTensorType>(value.getType()).getNumElements() <= mostKeptElements;
  }

  /// Can all slices be made a result, or are they one that the scan goes over?
  bool hasSlices(Value value) { return !isInvariant(value) && cast<RankedTensorType>(value.getType()).getRank() >= at; }

  /// The values inside that the sum is made of.
  void collect(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto add = dyn_cast_or_null<AddOp>(op)) {
      collect(add.getLhs());
      collect(add.getRhs());
    } else if (passesSums(op)) {
      collect(op->getOperand(0));
    } else if (auto reduce = dyn_cast_or_null<ReduceOp>(op); reduce && reduce.getKind() == ReductionKind::Sum) {
      keep(reduce.getOperand());
    } else if (auto dot = dyn_cast_or_null<DotGeneralOp>(op)) {
      keep(dot.getLhs());
      keep(dot.getRhs());
    } else if (auto scatter = dyn_cast_or_null<ScatterAddOp>(op)) {
      keep(scatter.getIndices());
      keep(scatter.getUpdates());
    } else {
      keep(value);
    }
  }

  void keep(Value value) {
    if (wholes.contains(value))
      return;
    auto inside = llvm::find(scan.scannedInside(), value);
    if (inside != scan.scannedInside().end()) {
      wholes[value] = scan.getScanned()[inside - scan.scannedInside().begin()];
      return;
    }
    for (auto [i, slice] : llvm::enumerate(scan.slicesGiven()))
      if (slice == value) {
        results[value] = scan.getCarried().size() + i;
        wholes[value] = Value();
        return;
      }
    results[value] = -1;
    wholes[value] = Value();
    further.push_back(value);
  }

  /// The sum over all rounds, behind the scan.
  Value sumOf(CompositeBuilder &b, Value value) {
    Operation *op = value.getDefiningOp();
    if (auto add = dyn_cast_or_null<AddOp>(op))
      return b.add(sumOf(b, add.getLhs()), sumOf(b, add.getRhs()));
    if (passesSums(op)) {
      IRMapping mapping;
      mapping.map(op->getOperand(0), sumOf(b, op->getOperand(0)));
      return b.builder.clone(*op, mapping)->getResult(0);
    }
    if (auto reduce = dyn_cast_or_null<ReduceOp>(op); reduce && reduce.getKind() == ReductionKind::Sum)
      return b.sum(wholes.lookup(reduce.getOperand()), inWholeWith(reduce.getDims(), at));
    if (auto dot = dyn_cast_or_null<DotGeneralOp>(op))
      return sumOfProducts(b, dot);
    if (auto scatter = dyn_cast_or_null<ScatterAddOp>(op))
      return sumOfSlices(b, scatter);
    return b.sum(wholes.lookup(value), {at});
  }

  Value sumOfProducts(CompositeBuilder &b, DotGeneralOp dot) {
    // In the order of the left operand, as libraries take dimensions that lie beside each other for one.
    SmallVector<std::pair<int64_t, int64_t>> contracted{{at, at}};
    for (auto [left, right] : llvm::zip_equal(inWhole(dot.getLhsContract(), at), inWhole(dot.getRhsContract(), at)))
      contracted.push_back({left, right});
    llvm::sort(contracted);
    SmallVector<int64_t> left(llvm::make_first_range(contracted)), right(llvm::make_second_range(contracted));
    return b.dot(wholes.lookup(dot.getLhs()), wholes.lookup(dot.getRhs()), inWhole(dot.getLhsBatch(), at),
                 inWhole(dot.getRhsBatch(), at), left, right);
  }

  /// The rounds are one more dimension of the indices, the first one.
  Value sumOfSlices(CompositeBuilder &b, ScatterAddOp scatter) {
    auto moved = [&](Value whole, int64_t to) {
      SmallVector<int64_t> order;
      for (int64_t dim = 0; dim < cast<RankedTensorType>(whole.getType()).getRank(); ++dim)
        if (dim != at)
          order.push_back(dim);
      order.insert(order.begin() + to, at);
      return b.transpose(whole, order);
    };
    const int64_t dim = scatter.getDimension();
    return ScatterAddOp::create(b.builder, scatter.getLoc(), moved(wholes.lookup(scatter.getIndices()), 0),
                                moved(wholes.lookup(scatter.getUpdates()), dim), Value(), dim, scatter.getSize());
  }

  /// The scan without the sums and with the further results; behind it, the sums.
  void rebuild(ArrayRef<std::pair<unsigned, Value>> sums) {
    SmallVector<Operation *> built;
    InsertedOps listener(built);
    OpBuilder builder(scan, &listener);
    builder.setInsertionPointAfter(scan);
    CompositeBuilder b(builder, scan.getLoc());
    BitVector isSum(scan.getCarried().size());
    for (auto &[i, addend] : sums)
      isSum.set(i);
    SmallVector<Value> carried;
    SmallVector<Type> types;
    for (auto [i, value] : llvm::enumerate(scan.getCarried()))
      if (!isSum[i]) {
        carried.push_back(value);
        types.push_back(value.getType());
      }
    llvm::append_range(types, scan.getResults().drop_front(scan.getCarried().size()).getTypes());
    for (Value value : further)
      types.push_back(stackedType(value.getType(), at, scan.getNumRounds()));
    const size_t numSums = sums.size(), numOld = scan.getNumResults();
    ScanOp fresh;
    if (!types.empty()) {
      fresh = ScanOp::create(builder, scan.getLoc(), types, carried, scan.getScanned(), scan.getInvariants(), at,
                             scan.getReverse(), scan.getCountAttr(), scan.getSaves(), /*saved=*/0);
      copyUnrollDisable(scan, fresh);
      IRMapping mapping;
      scan.getBody().cloneInto(&fresh.getBody(), mapping);
      Block &body = fresh.getBody().front();
      Operation *yield = body.getTerminator();
      for (Value value : further)
        yield->insertOperands(yield->getNumOperands(), mapping.lookup(value));
      for (auto &[i, addend] : llvm::reverse(sums)) {
        Operation *add = yield->getOperand(i).getDefiningOp();
        yield->eraseOperand(i);
        add->erase();
        body.eraseArgument(i);
      }
    }
    if (fresh)
      eraseDead(fresh.getBody().front());
    for (auto &[value, number] : results) {
      const unsigned index = number < 0 ? numOld + static_cast<unsigned>(llvm::find(further, value) - further.begin())
                                        : static_cast<unsigned>(number);
      wholes[value] = fresh.getResult(index - numSums);
    }
    SmallVector<Value> replacements(numOld);
    for (auto &[i, addend] : sums) {
      Value sum = sumOf(b, addend), start = scan.getCarried()[i];
      replacements[i] = isSplatOf(start, 0) ? sum : b.add(start, sum);
    }
    for (unsigned i = 0, next = 0; i < numOld; ++i)
      if (i >= isSum.size() || !isSum[i])
        replacements[i] = fresh.getResult(next++);
    for (Operation *op : built)
      inheritPlacement(scan, op);
    scan->replaceAllUsesWith(replacements);
    scan.erase();
  }

  ScanOp scan;
  int64_t at;
  DenseMap<Value, Value> wholes;           // by a value inside, all its slices
  llvm::MapVector<Value, int64_t> results; // of those that are results of the scan, its number; -1: a further one
  SmallVector<Value> further;
};

struct HoistSumsPass : dgc::impl::HoistSumsPassBase<HoistSumsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops; // those inside of others first
    getOperation()->walk([&](Operation *op) {
      if (isa<ScanOp, IfOp>(op) && !isInDefinition(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (auto branch = dyn_cast<IfOp>(op))
        numSums += BranchHoister(branch).run();
      else if (cast<ScanOp>(op).getRecomputes())
        LDBG() << "what all rounds add would be kept of a scan that recomputes: " << *op;
      else
        numSums += Hoister(cast<ScanOp>(op)).run();
  }
};

} // namespace
