// dgc-block-scans: lets the gradients of scans compute the rounds again, block by block.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/Decompose.h"
#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/StrategyUtil.h"
#include "passes/gradient/Passes.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/GlobPattern.h"

#define DEBUG_TYPE "dgc-block-scans"

namespace dgc {
#define GEN_PASS_DEF_BLOCKSCANSPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

/// The rounds of a block: the largest divisor of `rounds` that is at most its square root, where it is at least half of
/// that; else the root, rounded down. 1 where blocks would keep no less.
static int64_t roundsOfBlock(int64_t rounds) {
  int64_t root = 1;
  while ((root + 1) * (root + 1) <= rounds)
    ++root;
  for (int64_t size = root; 4 * size * size >= rounds; --size)
    if (rounds % size == 0)
      return size;
  return root;
}

/// Whether less is kept where each round is computed again by itself than with blocks of `rounds`: so it is where a round
/// computes much more than it carries on, as a layer of a network does.
static bool areRoundsSmaller(ScanOp scan, int64_t rounds) {
  const int64_t count = scan.getNumRounds(), carried = bytesOf(scan.getCarried().getTypes());
  int64_t kept = 0; // of a round, where a block is computed again
  for (Operation &op : scan.getBody().front().without_terminator())
    kept += isKeptByScans(&op) ? bytesOf(op.getResultTypes()) : 0;
  return count * carried + kept <= (count + rounds - 1) / rounds * carried + rounds * (carried + kept);
}

/// The ops of the block that the loss of `gradient` depends on, and that depend on a value that it is differentiated by.
static void addOpsOfGradient(GradientOp gradient, llvm::SetVector<Operation *> &ops) {
  DenseSet<Value> reached(llvm::from_range, gradient.getWrt()), needed{gradient.getLoss()};
  auto before = llvm::make_range(gradient->getBlock()->begin(), gradient->getIterator());
  auto takes = [&](Operation &op, const DenseSet<Value> &values) {
    return op
        .walk([&](Operation *nested) {
          const bool takesOne = llvm::any_of(nested->getOperands(), [&](Value v) { return values.contains(v); });
          return takesOne ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (Operation &op : before)
    if (takes(op, reached))
      reached.insert_range(op.getResults());
  for (Operation &op : llvm::reverse(before)) {
    if (llvm::none_of(op.getResults(), [&](Value value) { return needed.contains(value); }) || !takes(op, reached))
      continue;
    ops.insert(&op);
    op.walk([&](Operation *nested) { needed.insert_range(nested->getOperands()); });
  }
}

/// A scan like `scan` over `rounds` slices of other operands, which gives slices of types `slices`. It has no body yet.
static ScanOp createLike(OpBuilder &builder, ScanOp scan, int64_t rounds, ValueRange carried, ValueRange scanned,
                         ValueRange invariants, TypeRange slices, bool recomputes) {
  const auto dim = static_cast<int64_t>(scan.getDimension());
  SmallVector<Type> types(carried.getTypes());
  for (Type slice : slices)
    types.push_back(stackedType(slice, dim, rounds));
  IntegerAttr count = scanned.empty() ? builder.getI64IntegerAttr(rounds) : IntegerAttr();
  auto made = ScanOp::create(builder, scan.getLoc(), types, carried, scanned, invariants, dim, scan.getReverse(), count,
                             /*saves=*/false, /*saved=*/0, recomputes);
  copyUnrollDisable(scan, made);
  return made;
}

/// Gives `to` a copy of the body of `from`.
static void copyBody(ScanOp from, ScanOp to) {
  IRMapping mapping;
  from.getBody().cloneInto(&to.getBody(), mapping);
}

/// The slices of `values` along `dim` from number `first` on.
static SmallVector<Value> slicesOf(CompositeBuilder &b, ValueRange values, int64_t dim, int64_t first, int64_t count) {
  return llvm::map_to_vector(values, [&](Value value) {
    SmallVector<int64_t> limits(shapeOf(value)), starts(limits.size(), 0);
    if (limits[dim] == count)
      return value;
    starts[dim] = first;
    limits[dim] = first + count;
    return b.slice(value, starts, limits);
  });
}

/// A scan over blocks in place of the first `blocks * rounds` rounds of `scan`, of whose slices the first one has the number
/// `first`. A round of it is a scan over the rounds of a block. Gives a value for each result.
static SmallVector<Value> buildBlocks(OpBuilder &builder, ScanOp scan, int64_t blocks, int64_t rounds, int64_t first) {
  CompositeBuilder b(builder, scan.getLoc());
  const auto dim = static_cast<int64_t>(scan.getDimension());
  const size_t numCarried = scan.getCarried().size();
  SmallVector<Value> scanned = slicesOf(b, scan.getScanned(), dim, first, blocks * rounds);
  for (Value &value : scanned) {
    SmallVector<int64_t> shape(shapeOf(value));
    shape[dim] = rounds;
    shape.insert(shape.begin() + dim, blocks);
    value = b.reshape(value, shape);
  }
  SmallVector<Type> slices(scan.slicesGiven().getTypes()), ofBlocks;
  for (Type slice : slices)
    ofBlocks.push_back(stackedType(slice, dim, rounds));
  ScanOp outer = createLike(builder, scan, blocks, scan.getCarried(), scanned, scan.getInvariants(), ofBlocks,
                            /*recomputes=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&outer.getBody());
    for (Value value : outer.getCarried())
      block->addArgument(value.getType(), scan.getLoc());
    for (Value value : outer.getScanned())
      block->addArgument(*sliceType(value.getType(), dim), scan.getLoc());
    for (Value value : outer.getInvariants())
      block->addArgument(value.getType(), scan.getLoc());
    ScanOp inner = createLike(builder, scan, rounds, outer.carriedInside(), outer.scannedInside(),
                              outer.invariantsInside(), slices, /*recomputes=*/false);
    copyBody(scan, inner);
    YieldOp::create(builder, scan.getLoc(), inner.getResults());
  }
  SmallVector<Value> results(outer.getResults());
  for (Value &value : MutableArrayRef(results).drop_front(numCarried)) {
    SmallVector<int64_t> shape(shapeOf(value));
    shape.erase(shape.begin() + dim);
    shape[dim] = blocks * rounds;
    value = b.reshape(value, shape);
  }
  return results;
}

/// The scan in blocks of `rounds` rounds, and those that are left over in a scan behind them: their values are needed first
/// in the backward pass, and are no more than those of a block. Gives a value for each result.
static SmallVector<Value> buildNest(OpBuilder &builder, ScanOp scan, int64_t rounds) {
  CompositeBuilder b(builder, scan.getLoc());
  const auto dim = static_cast<int64_t>(scan.getDimension());
  const int64_t blocks = scan.getNumRounds() / rounds, rest = scan.getNumRounds() % rounds;
  const size_t numCarried = scan.getCarried().size();
  const bool isReverse = scan.getReverse(); // then the last rounds are those of the first slices
  SmallVector<Value> results = buildBlocks(builder, scan, blocks, rounds, isReverse ? rest : 0);
  if (rest == 0)
    return results;
  ScanOp behind = createLike(builder, scan, rest, ArrayRef(results).take_front(numCarried),
                             slicesOf(b, scan.getScanned(), dim, isReverse ? 0 : blocks * rounds, rest),
                             scan.getInvariants(), scan.slicesGiven().getTypes(), /*recomputes=*/false);
  copyBody(scan, behind);
  for (auto [i, result, last] : llvm::enumerate(results, behind.getResults()))
    if (i < numCarried)
      result = last;
    else
      result = ConcatenateOp::create(builder, scan.getLoc(),
                                     isReverse ? ValueRange{last, result} : ValueRange{result, last}, dim);
  return results;
}

namespace {
struct BlockScansPass : dgc::impl::BlockScansPassBase<BlockScansPass> {
  using BlockScansPassBase::BlockScansPassBase;

  void runOnOperation() override {
    SmallVector<llvm::GlobPattern> patterns;
    for (const std::string &text : values.patterns)
      patterns.push_back(llvm::cantFail(llvm::GlobPattern::create(text)));
    llvm::SetVector<Operation *> ops;
    getOperation()->walk([&](GradientOp gradient) { addOpsOfGradient(gradient, ops); });
    SmallVector<ScanOp> scans;
    for (Operation *op : ops) {
      StringRef name = nameInModel(op);
      if (!name.empty() && llvm::any_of(patterns, [&](const llvm::GlobPattern &each) { return each.match(name); }) &&
          failed(addScansOf(op, scans)))
        return signalPassFailure();
    }
    for (ScanOp scan : scans)
      if ((!unrollDisabledOnly || scan->hasAttr(kUnrollDisableAttr)) && failed(writeInBlocks(scan)))
        return signalPassFailure();
  }

  /// Adds the op, or the scan that the gradient would decompose it to.
  LogicalResult addScansOf(Operation *op, SmallVectorImpl<ScanOp> &scans) {
    if (auto scan = dyn_cast<ScanOp>(op)) {
      scans.push_back(scan);
      return success();
    }
    if (unrollDisabledOnly || !op->hasTrait<DecomposesIntoScan>())
      return success();
    Block *block = op->getBlock();
    SmallVector<Operation *> built;
    if (failed(decomposeInPlace(cast<DecomposableOpInterface>(op), built)))
      return failure();
    for (Operation *part : built)
      if (auto scan = dyn_cast<ScanOp>(part); scan && scan->getBlock() == block)
        scans.push_back(scan);
    return success();
  }

  LogicalResult writeInBlocks(ScanOp scan) {
    const int64_t count = scan.getNumRounds(), rounds = roundsOfBlock(count);
    const bool recomputesEach = count > 1 && areRoundsSmaller(scan, rounds == 1 ? count : rounds);
    if (scan.getSaves() || scan.getRecomputes() || (rounds == 1 && !recomputesEach)) {
      LDBG() << "stays, as blocks would keep no less: " << *scan;
      return success();
    }
    if (auto function = scan->getParentOfType<func::FuncOp>())
      function->setAttr(kBlockedScansAttr, UnitAttr::get(&getContext()));
    ++numBlocked;
    if (recomputesEach) {
      scan.setRecomputes(true);
      return success();
    }
    SmallVector<Operation *> built;
    return decomposeInPlace(scan, built, [&](OpBuilder &builder) -> FailureOr<SmallVector<Value>> {
      return buildNest(builder, scan, rounds);
    });
  }
};
} // namespace
