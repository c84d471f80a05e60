// dgc-unroll-scans: writes scans out, round after round.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "passes/gradient/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_UNROLLSCANSPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

/// The slice of a round, in the shape that it has in the scan.
static Value sliceAt(CompositeBuilder &b, Value whole, int64_t dim, int64_t place, Value inside) {
  SmallVector<int64_t> limits(shapeOf(whole)), starts(limits.size(), 0);
  starts[dim] = place;
  limits[dim] = place + 1;
  return b.reshape(b.slice(whole, starts, limits), shapeOf(inside));
}

/// Computes all rounds in front of the scan, and gives its results.
static SmallVector<Value> unroll(ScanOp scan) {
  OpBuilder builder(scan);
  CompositeBuilder b(builder, scan.getLoc());
  const auto dim = static_cast<int64_t>(scan.getDimension());
  const int64_t rounds = scan.getNumRounds();
  SmallVector<Value> carried(scan.getCarried());
  SmallVector<SmallVector<Value>> given(scan.getNumResults() - carried.size(), SmallVector<Value>(rounds));
  for (int64_t round = 0; round < rounds; ++round) {
    const int64_t place = scan.getReverse() ? rounds - 1 - round : round;
    IRMapping mapping;
    mapping.map(scan.carriedInside(), carried);
    mapping.map(scan.invariantsInside(), scan.getInvariants());
    for (auto [inside, whole] : llvm::zip_equal(scan.scannedInside(), scan.getScanned()))
      mapping.map(inside, sliceAt(b, whole, dim, place, inside));
    for (Operation &op : scan.getBody().front().without_terminator())
      builder.clone(op, mapping);
    carried = llvm::map_to_vector(scan.carriedOn(), [&](Value value) { return mapping.lookup(value); });
    for (auto [slices, slice] : llvm::zip_equal(given, scan.slicesGiven())) {
      SmallVector<int64_t> shape(shapeOf(slice));
      shape.insert(shape.begin() + dim, 1);
      slices[place] = b.reshape(mapping.lookup(slice), shape);
    }
  }
  for (const SmallVector<Value> &slices : given)
    carried.push_back(ConcatenateOp::create(builder, scan.getLoc(), slices, dim));
  return carried;
}

namespace {
struct UnrollScansPass : dgc::impl::UnrollScansPassBase<UnrollScansPass> {
  using UnrollScansPassBase::UnrollScansPassBase;

  void runOnOperation() override {
    SmallVector<ScanOp> scans; // those inside of others first
    getOperation()->walk([&](ScanOp scan) { scans.push_back(scan); });
    for (ScanOp scan : scans) {
      if (scan->hasAttr(kUnrollDisableAttr))
        continue;
      int64_t ops = 0;
      scan.getBody().walk([&](Operation *) { ++ops; });
      if (ops * scan.getNumRounds() > maxOps)
        continue;
      scan.replaceAllUsesWith(unroll(scan));
      scan.erase();
      ++numUnrolled;
    }
  }
};
} // namespace
