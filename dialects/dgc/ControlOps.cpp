// Loops and branches that are decided when the program runs.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ControlOps.cpp.inc"

namespace dgc {
void registerControlOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ControlOps.cpp.inc"
      >();
}
} // namespace dgc

FailureOr<Type> dgc::sliceType(Type type, int64_t dim) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  if (dim < 0 || dim >= tensor.getRank())
    return failure();
  SmallVector<int64_t> shape(tensor.getShape());
  shape.erase(shape.begin() + dim);
  return Type(RankedTensorType::get(shape, tensor.getElementType()));
}

void dgc::copyUnrollDisable(Operation *from, Operation *to) {
  if (Attribute mark = from->getAttr(kUnrollDisableAttr))
    to->setAttr(kUnrollDisableAttr, mark);
}

RankedTensorType dgc::stackedType(Type slice, int64_t dim, int64_t count) {
  auto type = cast<RankedTensorType>(slice);
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + dim, count);
  return RankedTensorType::get(shape, type.getElementType());
}

//===----------------------------------------------------------------------===//
// Constraints and types
//===----------------------------------------------------------------------===//

static bool isPredicate(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return isa<UntypedType>(type) || (tensor && tensor.getRank() == 0 && tensor.getElementType().isInteger(1));
}

/// Refuses ops that have to know of the entry point that they are in; but for random numbers in scans, of which each round has
/// its own.
static LogicalResult checkInside(Operation *op) {
  WalkResult result = op->walk([&](ModeOpInterface inner) -> WalkResult {
    if (isa<ScanOp>(op) && inner.drawsRandomNumbers())
      return WalkResult::advance();
    return inner->emitOpError() << "cannot be in a " << op->getName()
                                << ": what differs between training and evaluating goes before or after it";
  });
  return failure(result.wasInterrupted());
}

/// Gives the arguments of the regions the types of the operands.
static LogicalResult typeArguments(Operation *op, ValueRange operands) {
  if (failed(checkInside(op)))
    return failure();
  for (Region &region : op->getRegions())
    for (auto [argument, operand] : llvm::zip_equal(region.getArguments(), operands))
      argument.setType(operand.getType());
  return success();
}

/// Checks that the arguments of a region are the operands.
static LogicalResult verifyArguments(Operation *op, Region &region, ValueRange operands) {
  if (equalUpToEncoding(region.getArgumentTypes(), operands.getTypes()))
    return success();
  return op->emitOpError() << "has a region with arguments of types (" << region.getArgumentTypes()
                           << "), and is given (" << operands.getTypes() << ")";
}

template <typename Terminator> static Terminator endOf(Region &region) {
  return dyn_cast<Terminator>(region.front().back());
}

LogicalResult WhileOp::verifyRegions() {
  if (getCarried().empty())
    return emitOpError("carries nothing: write (%inside = %before), and %inside is what a round works on");
  for (Region *region : getRegions())
    if (failed(verifyArguments(*this, *region, getOperands())))
      return failure();
  auto condition = endOf<ConditionOp>(getCondition());
  auto yield = endOf<YieldOp>(getBody());
  if (!condition || !yield)
    return emitOpError("needs a dgc.condition at the end of its first region and a dgc.yield at that of the second");
  if (!isPredicate(condition.getPredicate().getType()))
    return condition.emitOpError() << "is given " << condition.getPredicate().getType()
                                   << ": whether a loop goes on is one i1, tensor<i1>";
  if (yield.getValues().size() != getCarried().size())
    return yield.emitOpError() << "gives " << yield.getValues().size() << " values, and the loop carries "
                               << getCarried().size() << ": give the next value of each";
  for (auto [i, next, now, result] :
       llvm::enumerate(yield.getOperandTypes(), getCarried().getTypes(), getResultTypes()))
    if (!equalUpToEncoding(TypeRange(next), TypeRange(now)) || !equalUpToEncoding(TypeRange(result), TypeRange(now)))
      return emitOpError() << "carries value " << i << " as " << now << " into a round, " << next
                           << " out of it and gives " << result << ": these must be the same";
  return success();
}

LogicalResult WhileOp::inferTypesInside() { return typeArguments(*this, getOperands()); }

LogicalResult WhileOp::inferResultTypes() {
  for (auto [result, operand] : llvm::zip_equal(getResults(), getCarried()))
    result.setType(operand.getType());
  return verifyRegions();
}

LogicalResult IfOp::verifyRegions() {
  if (!isPredicate(getPredicate().getType()))
    return emitOpError() << "is decided by " << getPredicate().getType() << ": it must be one i1, tensor<i1>; "
                         << "dgc.select chooses element by element";
  if (getNumResults() == 0)
    return emitOpError("gives nothing: a branch without results computes nothing that is used");
  for (Region *region : getRegions()) {
    auto yield = endOf<YieldOp>(*region);
    if (!yield)
      return emitOpError("needs a dgc.yield at the end of both regions");
    if (failed(verifyArguments(*this, *region, getInputs())))
      return failure();
    if (!equalUpToEncoding(yield.getOperandTypes(), getResultTypes()))
      return yield.emitOpError() << "gives (" << yield.getOperandTypes() << "), and the dgc.if gives ("
                                 << getResultTypes() << "): both branches give the same types";
  }
  return success();
}

LogicalResult IfOp::inferTypesInside() { return typeArguments(*this, getInputs()); }

LogicalResult IfOp::inferResultTypes() {
  for (auto [result, value] : llvm::zip_equal(getResults(), endOf<YieldOp>(getThenRegion()).getValues()))
    result.setType(value.getType());
  return verifyRegions();
}

int64_t ScanOp::getNumRounds() {
  if (getScanned().empty())
    return static_cast<int64_t>(getCount().value_or(0));
  return cast<RankedTensorType>(getScanned().front().getType()).getDimSize(getDimension());
}

OperandRange ScanOp::carriedOn() {
  return getBody().front().getTerminator()->getOperands().take_front(getCarried().size());
}

OperandRange ScanOp::slicesGiven() {
  return getBody().front().getTerminator()->getOperands().drop_front(getCarried().size());
}

/// Checks what has slices, and that they are as many everywhere.
static LogicalResult verifyScanned(ScanOp op) {
  const int64_t dim = op.getDimension();
  if (op.getScanned().empty()) {
    if (!op.getCount())
      return op.emitOpError("has no number of rounds: write `count 10`, or what it goes over: over (%slice = %tensor)");
  } else if (op.getCount()) {
    return op.emitOpError("has as many rounds as what it goes over has slices: `count` is for scans over nothing");
  }
  for (auto [i, value, argument] : llvm::enumerate(op.getScanned(), op.scannedInside())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    FailureOr<Type> slice = sliceType(type, dim);
    if (failed(slice))
      return op.emitOpError() << "goes along dimension " << dim << ", which " << type << " does not have";
    if (type.getDimSize(dim) != op.getNumRounds())
      return op.emitOpError() << "goes over " << op.getNumRounds() << " slices of the first tensor, and " << type
                              << " has " << type.getDimSize(dim) << ": all must have as many";
    if (!equalUpToEncoding(TypeRange(argument.getType()), TypeRange(*slice)))
      return op.emitOpError() << "has slices of type " << *slice << ", and an argument for them of type "
                              << argument.getType();
  }
  return success();
}

LogicalResult ScanOp::verifyRegions() {
  const size_t numCarried = getCarried().size(), numScanned = getScanned().size();
  if (getBody().getNumArguments() != getNumOperands())
    return emitOpError() << "has a region with " << getBody().getNumArguments() << " arguments for " << getNumOperands()
                         << " operands";
  auto yield = endOf<YieldOp>(getBody());
  if (!yield)
    return emitOpError("needs a dgc.yield at the end of its region");
  if (yield.getValues().size() != getNumResults() || getNumResults() < numCarried)
    return yield.emitOpError()
           << "gives " << yield.getValues().size() << " values, and the dgc.scan has " << getNumResults()
           << " results and carries " << numCarried
           << ": give the next value of each that is carried, and then a slice of each other result";
  if (getNumResults() == 0)
    return emitOpError("gives nothing");
  if (getSaved() > getNumResults() - numCarried || (getSaved() != 0 && !getSaves()))
    return emitOpError() << "keeps " << getSaved()
                         << " of its results for its gradient: these are at most all that are "
                         << "not carried, of a scan that `saves`";
  if (failed(verifyScanned(*this)))
    return failure();
  for (auto [i, argument, operand] : llvm::enumerate(getBody().getArguments(), getOperands())) {
    const bool isSlice = i >= numCarried && i < numCarried + numScanned;
    if (!isSlice && !equalUpToEncoding(TypeRange(argument.getType()), TypeRange(operand.getType())))
      return emitOpError() << "has an argument of type " << argument.getType() << " for an operand of type "
                           << operand.getType();
  }
  for (auto [i, next, result] : llvm::enumerate(yield.getOperandTypes(), getResultTypes())) {
    if (i < numCarried) {
      Type now = getCarried()[i].getType();
      if (!equalUpToEncoding(TypeRange(next), TypeRange(now)) || !equalUpToEncoding(TypeRange(result), TypeRange(now)))
        return emitOpError() << "carries value " << i << " as " << now << " into a round, " << next
                             << " out of it and gives " << result << ": these must be the same";
      continue;
    }
    FailureOr<Type> slice = sliceType(result, getDimension());
    auto type = dyn_cast<RankedTensorType>(result);
    if (failed(slice) || !equalUpToEncoding(TypeRange(next), TypeRange(*slice)) ||
        (type && type.getDimSize(getDimension()) != getNumRounds()))
      return emitOpError() << "gives " << result << " as result " << i << ", of which " << getNumRounds() << " slices "
                           << "along dimension " << getDimension() << " are " << next;
  }
  return success();
}

LogicalResult ScanOp::inferTypesInside() {
  if (failed(checkInside(*this)))
    return failure();
  const size_t first = getCarried().size(), last = first + getScanned().size();
  for (auto [i, argument, operand] : llvm::enumerate(getBody().getArguments(), getOperands())) {
    FailureOr<Type> type =
        i >= first && i < last ? sliceType(operand.getType(), getDimension()) : FailureOr<Type>(operand.getType());
    if (failed(type))
      return emitOpError() << "goes along dimension " << getDimension() << ", which " << operand.getType()
                           << " does not have";
    argument.setType(*type);
  }
  return success();
}

LogicalResult ScanOp::inferResultTypes() {
  auto yield = endOf<YieldOp>(getBody());
  if (!yield || yield.getValues().size() != getNumResults())
    return verifyRegions();
  for (auto [i, result, value] : llvm::enumerate(getResults(), yield.getValues())) {
    if (i < getCarried().size()) {
      result.setType(getCarried()[i].getType());
      continue;
    }
    auto slice = cast<RankedTensorType>(value.getType());
    if (static_cast<int64_t>(getDimension()) > slice.getRank())
      return emitOpError() << "has slices of type " << slice << " for result " << i << ", which cannot be put along "
                           << "dimension " << getDimension();
    result.setType(stackedType(slice, getDimension(), getNumRounds()));
  }
  return verifyRegions();
}

//===----------------------------------------------------------------------===//
// Simplifications
//===----------------------------------------------------------------------===//

/// Marks the arguments of the region that `value` is computed from.
static void markArguments(Value value, Region &region, BitVector &marked, DenseSet<Value> &seen) {
  SmallVector<Value> left{value};
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next))
      marked.set(argument.getArgNumber());
    else
      llvm::append_range(left, next.getDefiningOp()->getOperands());
  }
}

/// The operands that the condition or a used result of a loop depends on.
static BitVector neededBy(WhileOp op) {
  BitVector needed(op->getNumOperands());
  DenseSet<Value> seen, seenBefore;
  markArguments(op.getCondition().front().getTerminator()->getOperand(0), op.getCondition(), needed, seenBefore);
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (!result.use_empty())
      needed.set(i);
  Operation *yield = op.getBody().front().getTerminator();
  for (BitVector before(needed.size()); before != needed;) {
    before = needed;
    for (unsigned i = 0; i < op.getCarried().size(); ++i)
      if (needed[i])
        markArguments(yield->getOperand(i), op.getBody(), needed, seen);
  }
  return needed;
}

/// Leaves out what nothing needs, and makes what every round passes on as it is an invariant.
LogicalResult WhileOp::canonicalize(WhileOp op, PatternRewriter &rewriter) {
  const BitVector needed = neededBy(op);
  Operation *yield = op.getBody().front().getTerminator();
  const unsigned numCarried = op.getCarried().size();
  SmallVector<unsigned> carried, invariants; // operands of op
  for (unsigned i = 0; i < numCarried; ++i)
    if (needed[i])
      (yield->getOperand(i) == op.getBody().getArgument(i) ? invariants : carried).push_back(i);
  if (carried.empty() && !invariants.empty()) { // a loop carries something
    carried.push_back(invariants.front());
    invariants.erase(invariants.begin());
  }
  for (unsigned i = numCarried; i < op->getNumOperands(); ++i)
    if (needed[i])
      invariants.push_back(i);
  if (carried.empty() || (carried.size() == numCarried && invariants.size() == op.getInvariants().size()))
    return failure();

  auto operandsOf = [&](ArrayRef<unsigned> which) {
    return llvm::map_to_vector(which, [&](unsigned i) -> Value { return op->getOperand(i); });
  };
  SmallVector<Value> carriedValues = operandsOf(carried);
  auto types = llvm::map_to_vector(carried, [&](unsigned i) { return op.getResult(i).getType(); });
  auto loop = create(rewriter, op.getLoc(), types, carriedValues, operandsOf(invariants), op.getRoundsAttr());
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  recordEncodings(loop);
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), loop.getRegions())) {
    Block *block = rewriter.createBlock(to);
    IRMapping mapping;
    for (unsigned i : llvm::concat<const unsigned>(carried, invariants))
      mapping.map(from->getArgument(i), block->addArgument(from->getArgument(i).getType(), op.getLoc()));
    // What depends on an argument that is gone, nothing needs.
    DenseSet<Value> used;
    BitVector ignored(op->getNumOperands());
    Operation *end = from->front().getTerminator();
    SmallVector<Value> given;
    if (from == &op.getCondition())
      given.push_back(end->getOperand(0));
    else
      for (unsigned i : carried)
        given.push_back(end->getOperand(i));
    for (Value value : given)
      markArguments(value, *from, ignored, used);
    for (Operation &inner : from->front().without_terminator())
      if (llvm::any_of(inner.getResults(), [&](Value result) { return used.contains(result); }))
        rewriter.clone(inner, mapping);
    SmallVector<Value> values = llvm::map_to_vector(given, [&](Value value) { return mapping.lookup(value); });
    if (from == &op.getCondition())
      ConditionOp::create(rewriter, end->getLoc(), values[0]);
    else
      YieldOp::create(rewriter, end->getLoc(), values);
  }
  SmallVector<Value> results(op.getCarried());
  for (auto [i, result] : llvm::zip_equal(carried, loop.getResults()))
    results[i] = result;
  rewriter.replaceOp(op, results);
  return success();
}

//===----------------------------------------------------------------------===//
// Devices and cost
//===----------------------------------------------------------------------===//

RegionTies WhileOp::getRegionTies() {
  RegionTies ties;
  ties.deciders.push_back(getCondition().front().getTerminator()->getOperand(0));
  Operation *end = getBody().front().getTerminator();
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    Value condition = getCondition().getArgument(i), body = getBody().getArgument(i);
    if (i < getCarried().size()) {
      ties.carried.push_back({unsigned(i), operand, {condition, body}, end->getOperand(i), getResult(i)});
    } else {
      ties.same.push_back({operand, condition, int64_t(i)});
      ties.same.push_back({operand, body, int64_t(i)});
    }
  }
  return ties;
}

RegionTies IfOp::getRegionTies() {
  RegionTies ties;
  ties.deciders.push_back(getPredicate());
  for (Region *region : getRegions()) {
    for (auto [i, operand, argument] : llvm::enumerate(getInputs(), region->getArguments()))
      ties.same.push_back({operand, argument, int64_t(i) + 1});
    for (auto [result, value] : llvm::zip_equal(getResults(), region->front().getTerminator()->getOperands()))
      ties.same.push_back({result, value});
  }
  return ties;
}

RegionTies ScanOp::getRegionTies() {
  RegionTies ties;
  const auto dim = static_cast<int64_t>(getDimension());
  const size_t numCarried = getCarried().size(), firstInvariant = numCarried + getScanned().size();
  for (auto [i, operand, argument] : llvm::enumerate(getOperands(), getBody().getArguments())) {
    if (i < numCarried)
      ties.carried.push_back({unsigned(i), operand, {argument}, carriedOn()[i], getResult(i)});
    else if (i < firstInvariant)
      ties.sliced.push_back({operand, argument, dim, int64_t(i)});
    else
      ties.same.push_back({operand, argument, int64_t(i)});
  }
  for (auto [slice, result] : llvm::zip_equal(slicesGiven(), getResults().drop_front(numCarried)))
    ties.sliced.push_back({result, slice, dim});
  return ties;
}

static void addArguments(Operation *op, Value value) {
  for (Region &region : op->getRegions())
    region.addArgument(value.getType(), value.getLoc());
}

bool WhileOp::addInvariant(Value value) {
  getInvariantsMutable().append(value);
  addArguments(*this, value);
  return true;
}

bool ScanOp::addInvariant(Value value) {
  getInvariantsMutable().append(value);
  addArguments(*this, value);
  return true;
}

std::optional<int64_t> WhileOp::getNumRuns(Region &region) {
  std::optional<uint64_t> rounds = getRounds();
  if (!rounds)
    return std::nullopt;
  const auto number = static_cast<int64_t>(*rounds);
  const bool isOnceMore = &region == &getCondition() && number != std::numeric_limits<int64_t>::max();
  return isOnceMore ? number + 1 : number;
}

std::optional<int64_t> ScanOp::getNumRuns(Region & /*body*/) { return getNumRounds(); }

ShardingRule ScanOp::getShardingRule() { return RegionDims(*this).rule(); }
ShardingRule WhileOp::getShardingRule() { return RegionDims(*this).rule(); }
ShardingRule IfOp::getShardingRule() { return RegionDims(*this).rule(); }

LogicalResult ScanOp::localize(TypeRange globalOperands, TypeRange globalResults) {
  return RegionDims(*this).localize(globalOperands, globalResults);
}

LogicalResult WhileOp::localize(TypeRange globalOperands, TypeRange globalResults) {
  return RegionDims(*this).localize(globalOperands, globalResults);
}

LogicalResult IfOp::localize(TypeRange globalOperands, TypeRange globalResults) {
  return RegionDims(*this).localize(globalOperands, globalResults);
}

/// The cost of all ops in the region.
static OpCost costOf(Region &region) {
  OpCost cost;
  for (Operation &op : region.getOps())
    if (auto inner = dyn_cast<CostOpInterface>(op)) {
      OpCost more = inner.getCost();
      cost.flops += more.flops;
      cost.bytesRead += more.bytesRead;
      cost.bytesWritten += more.bytesWritten;
    }
  return cost;
}

static OpCost timesOf(const OpCost &cost, uint64_t times) {
  return {cost.flops * times, cost.bytesRead * times, cost.bytesWritten * times};
}

// Where the number of rounds is not known, that of one.
OpCost WhileOp::getCost() {
  OpCost cost = costOf(getCondition()), body = costOf(getBody());
  return timesOf({cost.flops + body.flops, cost.bytesRead + body.bytesRead, cost.bytesWritten + body.bytesWritten},
                 getRounds().value_or(1));
}

// The dearer branch.
OpCost IfOp::getCost() {
  OpCost first = costOf(getThenRegion()), second = costOf(getElseRegion());
  return first.flops + first.bytesRead > second.flops + second.bytesRead ? first : second;
}

OpCost ScanOp::getCost() { return timesOf(costOf(getBody()), static_cast<uint64_t>(getNumRounds())); }
