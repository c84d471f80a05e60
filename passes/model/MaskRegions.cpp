// The padding in loops and branches: examples are followed into regions and from round to round, and are masked there.

#include "passes/model/Masker.h"
#include <algorithm>

using namespace mlir;
using namespace dgc;

/// Follows examples through the regions, and masks what has to be masked in them. The composites in there end as what they
/// are made of.
LogicalResult Masker::visitRegions(RegionTiesOpInterface op) {
  const bool outerProbing = std::exchange(probing, true), outerNeeded = std::exchange(needed, false);
  LogicalResult status = followRounds(op);
  const bool mustChange = needed;
  probing = outerProbing;
  needed = outerNeeded || mustChange;
  if (succeeded(status) && !probing && mustChange)
    status = maskInside(op);
  forgetInside(op);
  if (failed(status))
    return failure();
  return probing ? success() : decomposeInside(op);
}

/// Where a slice without dimension `dim` has examples. Fails where the slices are those of examples.
static FailureOr<BatchDims> dimsOfSlice(BatchDims dims, int64_t dim) {
  for (BatchDim &at : dims) {
    if (int64_t(at.dim) == dim)
      return failure();
    at.dim -= int64_t(at.dim) > dim ? 1 : 0;
  }
  return dims;
}

/// Finds where the values in the regions and the results have examples, without a change. What a loop carries has them in
/// one place in all rounds: where it has them in one, it has them in those before, too.
LogicalResult Masker::followRounds(RegionTiesOpInterface op) {
  const RegionTies ties = op.getRegionTies();
  for (const RegionTies::Same &each : ties.same)
    if (each.operand >= 0)
      setDims(each.inside, dimsOf.lookup(each.outside));
  for (const RegionTies::Sliced &each : ties.sliced)
    if (each.operand >= 0) {
      FailureOr<BatchDims> dims = dimsOfSlice(dimsOf.lookup(each.whole), each.dim);
      if (failed(dims))
        return refuse("it goes over the batch dimension of its operand " + Twine(each.operand));
      setDims(each.slice, *dims);
    }
  for (const RegionTies::Carried &each : ties.carried)
    for (Value inside : each.inside)
      setDims(inside, dimsOf.lookup(each.first));

  for (bool isKnown = false; !isKnown;) {
    isKnown = true;
    for (Region &region : op->getRegions())
      if (failed(visitRegion(region)))
        return failure();
    for (const RegionTies::Carried &each : ties.carried)
      for (Value inside : each.inside) {
        const bool isNew = !dimsOf.contains(inside);
        if (failed(addDims(inside, dimsOf.lookup(each.next))))
          return failure();
        isKnown &= !isNew || !dimsOf.contains(inside);
      }
  }
  for (const RegionTies::Carried &each : ties.carried)
    setDims(each.result, dimsOf.lookup(each.inside.front()));
  for (const RegionTies::Same &each : ties.same)
    if (each.operand < 0 && failed(addDims(each.outside, dimsOf.lookup(each.inside))))
      return failure();
  for (const RegionTies::Sliced &each : ties.sliced)
    if (each.operand < 0) {
      BatchDims dims = dimsOf.lookup(each.slice);
      for (BatchDim &at : dims)
        at.dim += int64_t(at.dim) >= each.dim ? 1 : 0;
      setDims(each.whole, dims);
    }
  return success();
}

/// The value has examples here, too: it must not have them elsewhere.
LogicalResult Masker::addDims(Value value, const BatchDims &dims) {
  auto [known, isNew] = dimsOf.try_emplace(value, dims);
  if (dims.empty()) {
    if (isNew)
      dimsOf.erase(value);
    return success();
  }
  const bool isSame = std::is_permutation(known->second.begin(), known->second.end(), dims.begin(), dims.end());
  return isSame ? success() : refuse("its rounds, or branches, have the examples in different places");
}

LogicalResult Masker::visitRegion(Region &region) {
  Operation *outer = current;
  // What is wrong in the decomposition of a composite is said of that.
  const bool isWritten = current == region.getParentOp();
  SmallVector<Operation *> inside =
      llvm::map_to_vector(region.front().without_terminator(), [](Operation &inner) { return &inner; });
  for (Operation *inner : inside)
    for (Value result : inner->getResults())
      dimsOf.erase(result);
  readWrittenBatches(region.front());
  for (Operation *inner : inside) {
    current = isWritten ? inner : outer;
    if (failed(visit(inner)))
      return failure();
  }
  current = outer;
  return success();
}

/// Masks padding in the regions, which are given the count of what is real. The values in them have their examples where
/// followRounds found them.
LogicalResult Masker::maskInside(RegionTiesOpInterface op) {
  if (!op.addInvariant(valid)) { // a branch
    op->insertOperands(op->getNumOperands(), valid);
    for (Region &region : op->getRegions())
      region.addArgument(valid.getType(), valid.getLoc());
  }
  Value outer = valid;
  LogicalResult status = success();
  for (Region &region : op->getRegions()) {
    valid = region.getArguments().back();
    if (succeeded(status))
      status = visitRegion(region);
  }
  valid = outer;
  return status;
}

/// Nothing is known any more of the values in the regions, which may be erased.
void Masker::forgetInside(Operation *op) {
  auto forget = [&](Value value) {
    dimsOf.erase(value);
    known.erase(value);
  };
  for (Region &region : op->getRegions())
    region.walk([&](Block *block) {
      llvm::for_each(block->getArguments(), forget);
      for (Operation &inner : *block)
        llvm::for_each(inner.getResults(), forget);
    });
}
