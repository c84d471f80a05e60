// Gradients of loops and branches, and what a scan is as a loop.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dgc/RegionDims.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace dgc;

static bool isContinuous(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

/// Copies the ops of a region whose arguments are mapped; returns what it yields.
static SmallVector<Value> copyInto(OpBuilder &builder, Region &region, IRMapping &mapping) {
  for (Operation &op : region.front().without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(region.front().getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookup(value); });
}

/// The sum of values times gradients: its gradient is what these gradients of the values give. Null without any.
static Value weightedSum(CompositeBuilder &b, ValueRange values, ValueRange gradients) {
  Value total;
  for (auto [value, gradient] : llvm::zip_equal(values, gradients)) {
    if (!gradient)
      continue;
    Value sum = b.multiply(value, gradient);
    sum = b.sum(sum, allDims(cast<RankedTensorType>(sum.getType()).getRank()));
    sum = b.convert(sum, b.builder.getF32Type());
    total = total ? b.add(total, sum) : sum;
  }
  return total;
}

/// The gradients of `loss` with respect to arguments: a dgc.gradient, which is expanded after that of the op.
static SmallVector<Value> gradientsIn(OpBuilder &builder, Location location, Value loss, ArrayRef<Value> arguments) {
  if (arguments.empty())
    return {};
  SmallVector<Type> types = llvm::map_to_vector(arguments, [](Value value) { return value.getType(); });
  return llvm::to_vector_of<Value>(GradientOp::create(builder, location, types, loss, arguments).getResults());
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

// A branch with the same predicate, each of which computes again what the branch did and goes back from there.
SmallVector<Value> IfOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &wanted) {
  SmallVector<Value> inputs(getInputs()), results(getNumOperands());
  SmallVector<unsigned> active; // inputs
  SmallVector<Type> types;
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (wanted[i + 1] && isContinuous(input)) {
      active.push_back(i);
      types.push_back(input.getType());
    }
  for (Value gradient : gradients)
    if (gradient)
      inputs.push_back(gradient);
  auto back = IfOp::create(builder, getLoc(), types, getPredicate(), inputs);
  for (auto [from, to] : llvm::zip_equal(getRegions(), back.getRegions())) {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(to);
    for (Value input : inputs)
      block->addArgument(input.getType(), getLoc());
    IRMapping mapping;
    mapping.map(from->getArguments(), block->getArguments().take_front(getInputs().size()));
    SmallVector<Value> values = copyInto(builder, *from, mapping), inside(gradients.size()), by;
    for (unsigned i = 0, next = getInputs().size(); i < gradients.size(); ++i)
      if (gradients[i])
        inside[i] = block->getArgument(next++);
    for (unsigned i : active)
      by.push_back(block->getArgument(i));
    CompositeBuilder b(builder, getLoc());
    YieldOp::create(builder, getLoc(), gradientsIn(builder, getLoc(), weightedSum(b, values, inside), by));
  }
  for (auto [i, gradient] : llvm::zip_equal(active, back.getResults()))
    results[i + 1] = gradient;
  return results;
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

SmallVector<Value> SavedOp::buildGradients(OpBuilder &, ValueRange gradients, const BitVector &) {
  return {Value(), gradients[0]};
}

bool dgc::isKeptByScans(Operation *op) {
  auto priced = dyn_cast<CostOpInterface>(op);
  if (!priced || op->getNumRegions() != 0)
    return true;
  uint64_t elements = 0;
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      elements += static_cast<uint64_t>(type.getNumElements());
  return priced.getCost().flops > 64 * elements;
}

bool ScanOp::keepForGradient() { return getSaves(); }

/// The value that a saved slice is: one with too few dimensions for the scan has leading ones of size 1 there.
static Value savedValue(Value slice) {
  auto reshape = slice.getDefiningOp<ReshapeOp>();
  return reshape ? reshape.getOperand() : slice;
}

static SmallVector<int64_t> savedShape(Value value, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(value));
  while (static_cast<int64_t>(shape.size()) < dim)
    shape.insert(shape.begin(), 1);
  return shape;
}

/// The same scan with further results: what its gradient needs of each round. All but what is carried is computed again
/// where the scan `recomputes`.
static ScanOp withSaved(ScanOp op, OpBuilder &builder) {
  const auto dim = static_cast<int64_t>(op.getDimension());
  SmallVector<Value> saved(op.carriedInside());
  for (Operation &inner : op.getBody().front().without_terminator())
    if (!op.getRecomputes() && isKeptByScans(&inner))
      llvm::append_range(saved, inner.getResults());
  SmallVector<Type> types(op.getResultTypes());
  for (Value value : saved)
    types.push_back(
        stackedType(cast<RankedTensorType>(value.getType()).clone(savedShape(value, dim)), dim, op.getNumRounds()));
  auto result = ScanOp::create(builder, op.getLoc(), types, op.getCarried(), op.getScanned(), op.getInvariants(),
                               op.getDimension(), op.getReverse(), op.getCountAttr(), /*saves=*/true, saved.size(),
                               op.getRecomputes());
  copyUnrollDisable(op, result);
  IRMapping mapping;
  op.getBody().cloneInto(&result.getBody(), mapping);
  Operation *yield = result.getBody().front().getTerminator();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(yield);
  CompositeBuilder b(builder, op.getLoc());
  for (Value value : saved)
    yield->insertOperands(yield->getNumOperands(), b.reshape(mapping.lookup(value), savedShape(value, dim)));
  return result;
}

/// Writes a saving scan as a loop: what it goes over is gathered slice by slice, and what it gives is put in place.
static SmallVector<Value> asLoop(ScanOp op, OpBuilder &builder) {
  CompositeBuilder b(builder, op.getLoc());
  const int64_t dim = op.getDimension(), rounds = op.getNumRounds();
  const size_t numCarried = op.getCarried().size();
  Type i32 = builder.getI32Type();
  SmallVector<Value> carried{b.scalar(0, i32)}, invariants;
  llvm::append_range(carried, op.getCarried());
  for (Value result : op.getResults().drop_front(numCarried))
    carried.push_back(b.splat(0, cast<RankedTensorType>(result.getType())));
  for (Value value : op.getScanned()) // booleans are numbers where they are gathered
    invariants.push_back(elementOf(value).isInteger(1) ? b.convert(value, builder.getI8Type()) : value);
  llvm::append_range(invariants, op.getInvariants());
  SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
  auto loop = WhileOp::create(builder, op.getLoc(), types, carried, invariants,
                              rounds > 0 ? builder.getI64IntegerAttr(rounds) : IntegerAttr());
  if (rounds > 0)
    loop->setAttr(kCountedAttr, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  for (Region *region : loop.getRegions()) {
    Block *block = builder.createBlock(region);
    for (Value operand : loop->getOperands())
      block->addArgument(operand.getType(), op.getLoc());
  }
  auto i32Of = [&](double value) { return b.scalar(value, i32); };
  builder.setInsertionPointToStart(&loop.getCondition().front());
  ConditionOp::create(
      builder, op.getLoc(),
      b.compare(ComparisonDirection::LT, loop.getCondition().getArgument(0), i32Of(static_cast<double>(rounds))));

  builder.setInsertionPointToStart(&loop.getBody().front());
  auto arguments = loop.getBody().getArguments();
  Value round = arguments[0];
  Value place = op.getReverse() ? b.subtract(i32Of(static_cast<double>(rounds - 1)), round) : round;
  IRMapping mapping;
  mapping.map(op.carriedInside(), arguments.slice(1, numCarried));
  auto inside = arguments.drop_front(carried.size());
  for (auto [slice, whole] : llvm::zip_equal(op.scannedInside(), inside.take_front(op.getScanned().size()))) {
    Value one = GatherOp::create(builder, op.getLoc(), whole, b.reshape(place, {1}), Value(), dim);
    mapping.map(slice, b.convert(b.reshape(one, shapeOf(slice)), elementOf(slice)));
  }
  mapping.map(op.invariantsInside(), inside.drop_front(op.getScanned().size()));
  SmallVector<Value> given = copyInto(builder, op.getBody(), mapping);
  SmallVector<Value> next{b.add(round, i32Of(1))};
  llvm::append_range(next, ArrayRef(given).take_front(numCarried));
  for (auto [whole, slice] : llvm::zip_equal(arguments.slice(1 + numCarried, given.size() - numCarried),
                                             ArrayRef(given).drop_front(numCarried))) {
    Value one = b.reshape(slice, stackedType(slice.getType(), dim, 1).getShape());
    next.push_back(DynamicUpdateSliceOp::create(builder, op.getLoc(), whole, one, place, dim));
  }
  YieldOp::create(builder, op.getLoc(), next);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front());
}

// First what a gradient needs is made a result. What of it nothing needs in the end is no result of the loop.
FailureOr<SmallVector<Value>> ScanOp::decompose(OpBuilder &builder) {
  if (getSaves())
    return asLoop(*this, builder);
  ScanOp saving = withSaved(*this, builder);
  return llvm::to_vector_of<Value>(saving.getResults().take_front(getNumResults()));
}

// A scan the other way. A round has the values of the same round of this scan, and gives the gradients of what was carried
// into it, of its slices, and of the invariants, which are added up.
SmallVector<Value> ScanOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &wanted) {
  CompositeBuilder b(builder, getLoc());
  const size_t numCarried = getCarried().size(), numScanned = getScanned().size(), numResults = getNumResults();
  const size_t numSaved = getSaved(), firstSaved = numResults - numSaved;
  auto zeros = [&](Value like) { return b.splat(0, like); };

  // Carried: the gradients of what this scan carries, and the sums of those of invariants.
  SmallVector<Value> carried, scanned(getResults().drop_front(firstSaved)), results(getNumOperands());
  SmallVector<unsigned> active, slices, invariants; // of what is carried, gone over, and of the others
  for (auto [i, value] : llvm::enumerate(getCarried()))
    if (isContinuous(value)) {
      active.push_back(i);
      carried.push_back(gradients[i] ? gradients[i] : zeros(value));
    }
  for (auto [i, value] : llvm::enumerate(getScanned()))
    if (wanted[numCarried + i] && isContinuous(value))
      slices.push_back(i);
  for (auto [i, value] : llvm::enumerate(getInvariants()))
    if (wanted[numCarried + numScanned + i] && isContinuous(value)) {
      invariants.push_back(i);
      carried.push_back(zeros(value));
    }
  llvm::append_range(scanned, getScanned());
  for (size_t i = numCarried; i < firstSaved; ++i)
    if (gradients[i])
      scanned.push_back(gradients[i]);
  SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
  for (unsigned i : slices)
    types.push_back(getScanned()[i].getType());
  auto count = scanned.empty() ? builder.getI64IntegerAttr(getNumRounds()) : IntegerAttr();
  auto back = ScanOp::create(builder, getLoc(), types, carried, scanned, getInvariants(), getDimension(), !getReverse(),
                             count, /*saves=*/true, /*saved=*/0, getRecomputes());
  copyUnrollDisable(*this, back);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&back.getBody());
    for (Value value : carried)
      block->addArgument(value.getType(), getLoc());
    for (Value value : getResults().drop_front(firstSaved))
      block->addArgument(
          getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()).getType(), getLoc());
    for (Value value : scannedInside())
      block->addArgument(value.getType(), getLoc());
    for (size_t i = numCarried; i < firstSaved; ++i)
      if (gradients[i])
        block->addArgument(slicesGiven()[i - numCarried].getType(), getLoc());
    for (Value value : getInvariants())
      block->addArgument(value.getType(), getLoc());

    auto carriedBack = back.carriedInside();
    auto kept = back.scannedInside().take_front(numSaved);
    auto slicesInside = back.scannedInside().slice(numSaved, numScanned);
    auto resultGradients = back.scannedInside().drop_front(numSaved + numScanned);
    // The round once more, with what was kept in place of what was computed.
    IRMapping mapping;
    CompositeBuilder inner(builder, getLoc());
    for (auto [argument, slice] : llvm::zip_equal(carriedInside(), kept.take_front(numCarried)))
      mapping.map(argument, inner.reshape(slice, shapeOf(argument)));
    mapping.map(scannedInside(), slicesInside);
    mapping.map(invariantsInside(), back.invariantsInside());
    DenseMap<Value, Value> keptOf;
    for (auto [value, slice] : llvm::zip_equal(slicesGiven().drop_front(firstSaved - numCarried), kept))
      keptOf[savedValue(value)] = slice;
    for (Operation &op : getBody().front().without_terminator()) {
      builder.clone(op, mapping);
      for (Value result : op.getResults())
        if (Value slice = keptOf.lookup(result)) {
          Value before = inner.reshape(slice, shapeOf(result));
          mapping.map(result, SavedOp::create(builder, op.getLoc(), before, mapping.lookup(result)).getResult());
        }
    }
    SmallVector<Value> values, weights, by;
    for (auto [i, which] : llvm::enumerate(active)) {
      values.push_back(mapping.lookup(carriedOn()[which]));
      weights.push_back(carriedBack[i]);
      by.push_back(mapping.lookup(carriedInside()[which]));
    }
    size_t next = 0;
    for (size_t i = numCarried; i < firstSaved; ++i)
      if (gradients[i]) {
        values.push_back(mapping.lookup(slicesGiven()[i - numCarried]));
        weights.push_back(resultGradients[next++]);
      }
    for (unsigned i : invariants)
      by.push_back(back.invariantsInside()[i]);
    for (unsigned i : slices)
      by.push_back(slicesInside[i]);
    SmallVector<Value> found = gradientsIn(builder, getLoc(), weightedSum(inner, values, weights), by);
    for (size_t i = 0; i < invariants.size(); ++i)
      found[active.size() + i] = inner.add(carriedBack[active.size() + i], found[active.size() + i]);
    YieldOp::create(builder, getLoc(), found);
  }
  for (auto [i, which] : llvm::enumerate(active))
    results[which] = back.getResult(i);
  for (auto [i, which] : llvm::enumerate(invariants))
    results[numCarried + numScanned + which] = back.getResult(active.size() + i);
  for (auto [i, which] : llvm::enumerate(slices))
    results[numCarried + which] = back.getResult(active.size() + invariants.size() + i);
  return results;
}
