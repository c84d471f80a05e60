//===- Geometry.cpp - how threads share a segment of a kernel ---------------===//

#include "compiler/codegen/cuda/Geometry.h"
#include "compiler/codegen/cuda/Sparse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Fewer points than this inside the outer loops are not worth a team.
static constexpr int64_t kTeamWork = 32;
/// From so many columns on a thread for each keeps a GPU busy.
static constexpr int64_t kManyColumns = 1 << 16;

static int64_t tripsOf(const Pass &pass, ArrayRef<unsigned> loops) {
  int64_t trips = 1;
  for (unsigned dim : loops)
    trips *= pass.trips[dim];
  return trips;
}

Pass without(const Pass &pass, ArrayRef<unsigned> loops) {
  Pass result = pass;
  llvm::erase_if(result.loops, [&](unsigned dim) { return llvm::is_contained(loops, dim); });
  return result;
}

SmallVector<unsigned> commonParallel(const KernelGraph &graph, const Pass &pass) {
  SmallVector<unsigned> common;
  for (unsigned dim : pass.loops)
    if (llvm::all_of(pass.roots, [&](unsigned root) { return graph.roots[root].parallel.test(dim); }))
      common.push_back(dim);
  return common;
}

Operation *combinerOf(linalg::LinalgOp op, unsigned number) {
  Operation *combiner = op.getBlock()->getTerminator()->getOperand(number).getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp, arith::AddIOp, arith::MulIOp,
                       arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp,
                       arith::XOrIOp>(combiner))
    return nullptr;
  Value running = op.getMatchingBlockArgument(op.getDpsInitOperand(number));
  bool isOperand = running == combiner->getOperand(0) || running == combiner->getOperand(1);
  return isOperand && running.hasOneUse() ? combiner : nullptr;
}

TypedAttr identityOf(Operation *combiner) {
  Type type = combiner->getResult(0).getType();
  Builder b(combiner->getContext());
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    return TypeSwitch<Operation *, TypedAttr>(combiner)
        .Case<arith::AddFOp>([&](auto) { return b.getFloatAttr(type, 0.0); })
        .Case<arith::MulFOp>([&](auto) { return b.getFloatAttr(type, 1.0); })
        .Case<arith::MaximumFOp>([&](auto) { return b.getFloatAttr(type, APFloat::getInf(semantics, true)); })
        .Default([&](Operation *) { return b.getFloatAttr(type, APFloat::getInf(semantics)); });
  }
  unsigned width = type.getIntOrFloatBitWidth();
  return TypeSwitch<Operation *, TypedAttr>(combiner)
      .Case<arith::MulIOp>([&](auto) { return b.getIntegerAttr(type, APInt(width, 1)); })
      .Case<arith::MaxSIOp>([&](auto) { return b.getIntegerAttr(type, APInt::getSignedMinValue(width)); })
      .Case<arith::MinSIOp>([&](auto) { return b.getIntegerAttr(type, APInt::getSignedMaxValue(width)); })
      .Case<arith::MinUIOp, arith::AndIOp>([&](auto) { return b.getIntegerAttr(type, APInt::getAllOnes(width)); })
      .Default([&](Operation *) { return b.getIntegerAttr(type, APInt::getZero(width)); });
}

bool cooperates(const KernelGraph &graph, const Pass &pass) {
  return llvm::all_of(pass.roots, [&](unsigned number) {
    const Root &root = graph.roots[number];
    if (!root.reduction)
      return true;
    for (unsigned value = 0; value < root.values.size(); ++value)
      if (!combinerOf(root.reduction, value))
        return false;
    return llvm::none_of(pass.loops, [&](unsigned dim) { return root.parallel.test(dim); });
  });
}

int64_t vectorOf(const KernelGraph &graph, const Pass &pass, unsigned dim, int64_t trips) {
  int64_t widest = 1;
  bool contiguous = false;
  auto look = [&](Value value, AffineExpr linear) {
    llvm::BitVector entangled(pass.space.size());
    SmallVector<int64_t> strides = stridesOf(linear, pass.space.size(), entangled);
    if (strides[dim] == 0 && !entangled.test(dim))
      return;
    contiguous |= strides[dim] == 1;
    widest = std::max<int64_t>(widest, llvm::divideCeil(elementOf(value).getIntOrFloatBitWidth(), 8));
  };
  for (unsigned number : pass.roots) {
    const Root &root = graph.roots[number];
    for (const Access &access : root.accesses)
      look(access.base, access.linear);
    if (!root.reduction)
      look(root.values.front(), linearize(shapeOf(root.values.front()), root.indices.front(), graph.func.getContext()));
  }
  if (!contiguous)
    return 1;
  int64_t vector = std::min<int64_t>(16 / widest, 8);
  while (vector > 1 && trips % vector != 0)
    vector /= 2;
  return std::max<int64_t>(vector, 1);
}

static int64_t teamFor(int64_t work) { return work <= 1024 ? kWarp : work <= 16384 ? kBlock : 1024; }

/// Rows of several passes: a team for each.
static void chooseRows(const KernelGraph &graph, const Segment &segment, Geometry &geometry) {
  int64_t work = 1;
  for (const Pass &pass : segment.passes)
    work = std::max(work, tripsOf(pass, pass.loops));
  for (unsigned dim = 0; dim < segment.rowDims; ++dim) {
    geometry.outer.push_back(dim);
    geometry.trips.push_back(segment.rowShape[dim]);
  }
  geometry.team = teamFor(work);
}

/// A sum of few addends, such as a scatter-add: a block looks for them, and its threads add them to an element each.
static bool chooseSparse(const KernelGraph &graph, const Pass &pass, Geometry &geometry) {
  if (pass.roots.size() != 1)
    return false;
  std::optional<SparseSum> sum = sparseSumOf(graph, pass.roots.front());
  if (!sum)
    return false;
  int64_t elements = 1, addends = 1;
  Geometry chosen;
  for (unsigned dim : pass.loops) {
    if (!graph.roots[pass.roots.front()].parallel.test(dim)) {
      addends *= pass.trips[dim];
    } else if (sum->chooses.test(dim)) {
      chosen.outer.push_back(dim);
      chosen.trips.push_back(pass.trips[dim]);
    } else {
      chosen.inner.push_back(dim);
      chosen.innerTrips.push_back(pass.trips[dim]);
      elements *= pass.trips[dim];
    }
  }
  if (addends < 2 * kWarp || elements < kWarp / 2)
    return false;
  chosen.sparse = true;
  chosen.team = std::clamp<int64_t>(llvm::alignTo(elements, kWarp), 2 * kWarp, 1024);
  chosen.tiles = llvm::divideCeil(elements, chosen.team);
  geometry = chosen;
  return true;
}

/// The only pass of a segment.
static void choosePass(const KernelGraph &graph, const Pass &pass, Geometry &geometry) {
  if (chooseSparse(graph, pass, geometry))
    return;
  geometry.outer = commonParallel(graph, pass);
  for (unsigned dim : geometry.outer)
    geometry.trips.push_back(pass.trips[dim]);
  Pass inner = without(pass, geometry.outer);
  int64_t work = tripsOf(inner, inner.loops), outside = tripsOf(pass, geometry.outer);
  if (inner.loops.empty()) {
    bool reduces = llvm::any_of(pass.roots, [&](unsigned root) { return bool(graph.roots[root].reduction); });
    if (!reduces && !geometry.outer.empty())
      geometry.vector = vectorOf(graph, pass, geometry.outer.back(), geometry.trips.back());
    return;
  }
  if (work < kTeamWork || !cooperates(graph, inner))
    return;
  if (pass.loops.back() == inner.loops.back()) {
    geometry.team = teamFor(work);
  } else if (outside < kManyColumns) {
    geometry.columns = true;
    geometry.team = work >= 1024 ? 32 : 8;
  }
}

Geometry chooseGeometry(const KernelGraph &graph, const Segment &segment) {
  Geometry geometry;
  if (segment.rowDims > 0)
    chooseRows(graph, segment, geometry);
  else
    choosePass(graph, segment.passes.front(), geometry);
  for (int64_t trips : geometry.trips)
    geometry.points *= trips;
  geometry.block = geometry.columns  ? kWarp * geometry.team
                   : geometry.sparse ? geometry.team
                                     : std::max(kBlock, geometry.team);
  geometry.grid = llvm::divideCeil(geometry.points / geometry.vector, geometry.teamsPerBlock()) * geometry.tiles;
  return geometry;
}

} // namespace dgc
