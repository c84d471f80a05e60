// Loops of StableHLO whose number of rounds is known: how they count, and those over slices as scans.

#include "compiler/import/CountedLoops.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

/// The index of a slice is computed for each round of at most so many.
static constexpr int64_t kMostRounds = 1 << 16;

/// The integer that the value is, where it is one constant.
static std::optional<int64_t> integerOf(Value value) {
  DenseElementsAttr constant;
  if (auto own = value.getDefiningOp<stablehlo::ConstantOp>())
    constant = dyn_cast<DenseElementsAttr>(own.getValue());
  else
    constant = constantOf(value);
  auto type = dyn_cast<IntegerType>(elementOf(value));
  if (!constant || !type || tensorOf(value).getRank() != 0)
    return std::nullopt;
  return loopNumber(constant.getValues<APInt>()[0], type);
}

std::optional<CountedLoop> import::countOf(stablehlo::WhileOp op) {
  auto compare = op.getCond().front().back().getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare || compare.getComparisonDirection() != stablehlo::ComparisonDirection::LT)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  if (!counter || counter.getOwner() != &op.getCond().front())
    return std::nullopt;
  unsigned operand = counter.getArgNumber();
  auto next = op.getBody().front().back().getOperand(operand).getDefiningOp<stablehlo::AddOp>();
  if (!next || next.getLhs() != op.getBody().getArgument(operand))
    return std::nullopt;
  // The limit may be a value that the loop carries without changing it.
  Value limitValue = compare.getRhs();
  if (auto carried = dyn_cast<BlockArgument>(limitValue); carried && carried.getOwner() == &op.getCond().front()) {
    unsigned number = carried.getArgNumber();
    if (op.getBody().front().back().getOperand(number) != op.getBody().getArgument(number))
      return std::nullopt;
    limitValue = op.getInputs()[number];
  }
  std::optional<LoopCount> count =
      loopCount(integerOf(op.getInputs()[operand]), integerOf(limitValue), integerOf(next.getRhs()),
                dyn_cast<IntegerType>(elementOf(op.getInputs()[operand])));
  return count ? std::optional(CountedLoop{*count, operand}) : std::nullopt;
}

namespace {

/// In which rounds a loop takes the slices of a dimension.
enum class Order { Forward, Reverse };

class Scan {
public:
  Scan(stablehlo::WhileOp op, const CountedLoop &count)
      : op(op), count(count), body(op.getBody().front()), end(*body.getTerminator()) {}

  SmallVector<Value> build(OpBuilder &builder);

private:
  enum class Role { Counter, Invariant, Stacked, Carried };

  std::optional<int64_t> evaluate(Value value, int64_t counter);
  std::optional<Order> orderOf(Value index);
  bool isInTurn(ArrayRef<int64_t> whole, ArrayRef<int64_t> slice, ValueRange indices);
  Value outside(Value value);
  void findRoles();
  void findNeeded();
  Value inside(OpBuilder &builder, Value value);
  void buildBody(OpBuilder &builder, Block *block);
  RankedTensorType sliceType(Value whole) const;
  void useSlice(OpBuilder &builder, Operation *read, Value slice);
  Value sliceOf(OpBuilder &builder, stablehlo::DynamicUpdateSliceOp update);

  stablehlo::WhileOp op;
  CountedLoop count;
  Block &body;
  Operation &end;
  int64_t dim = -1; // of the slices
  Order order = Order::Forward;
  SmallVector<Role> roles;                         // of what the loop carries
  llvm::MapVector<Operation *, unsigned> slices;   // ops that read one, with the number of its tensor
  SmallVector<Value> carried, scanned, invariants; // operands of the scan
  llvm::SmallPtrSet<Operation *, 16> needed;       // ops of the body
  bool needsCounter = false;
  IRMapping mapping;
  Block *block = nullptr;
};

} // namespace

/// The integer scalar in a round with this number in the counter; none where it depends on more than that.
std::optional<int64_t> Scan::evaluate(Value value, int64_t counter) {
  if (value == body.getArgument(count.operand))
    return counter;
  if (value.getParentBlock() != &body)
    return integerOf(value);
  Operation *def = value.getDefiningOp();
  if (!def) {
    Value first = outside(value);
    return first ? integerOf(first) : std::nullopt;
  }
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(def))
    return integerOf(constant);
  if (auto select = dyn_cast<stablehlo::SelectOp>(def)) {
    std::optional<int64_t> which = evaluate(select.getPred(), counter);
    if (!which)
      return std::nullopt;
    return evaluate(*which != 0 ? select.getOnTrue() : select.getOnFalse(), counter);
  }
  if (isa<stablehlo::ConvertOp, stablehlo::ReshapeOp>(def))
    return isa<IntegerType>(elementOf(def->getOperand(0))) && tensorOf(def->getOperand(0)).getRank() == 0
               ? evaluate(def->getOperand(0), counter)
               : std::nullopt;
  if (def->getNumOperands() != 2)
    return std::nullopt;
  std::optional<int64_t> x = evaluate(def->getOperand(0), counter), y = evaluate(def->getOperand(1), counter);
  if (!x || !y)
    return std::nullopt;
  int64_t result = 0;
  if (isa<stablehlo::AddOp>(def))
    return llvm::AddOverflow(*x, *y, result) ? std::nullopt : std::optional(result);
  if (isa<stablehlo::SubtractOp>(def))
    return llvm::SubOverflow(*x, *y, result) ? std::nullopt : std::optional(result);
  if (isa<stablehlo::MaximumOp>(def))
    return std::max(*x, *y);
  if (isa<stablehlo::MinimumOp>(def))
    return std::min(*x, *y);
  if (auto compare = dyn_cast<stablehlo::CompareOp>(def))
    switch (compare.getComparisonDirection()) {
    case stablehlo::ComparisonDirection::EQ:
      return *x == *y;
    case stablehlo::ComparisonDirection::NE:
      return *x != *y;
    case stablehlo::ComparisonDirection::GE:
      return *x >= *y;
    case stablehlo::ComparisonDirection::GT:
      return *x > *y;
    case stablehlo::ComparisonDirection::LE:
      return *x <= *y;
    case stablehlo::ComparisonDirection::LT:
      return *x < *y;
    }
  return std::nullopt;
}

/// The order in which an index goes through all rounds.
std::optional<Order> Scan::orderOf(Value index) {
  const int64_t rounds = count.rounds();
  bool isForward = true, isReverse = true;
  for (int64_t round = 0; round < rounds && (isForward || isReverse); ++round) {
    std::optional<int64_t> at = evaluate(index, count.first + round * count.step);
    isForward &= at == round;
    isReverse &= at == rounds - 1 - round;
  }
  if (!isForward && !isReverse)
    return std::nullopt;
  return isForward ? Order::Forward : Order::Reverse;
}

/// Whether each round takes its slice of a tensor of the shape `whole`, in the dimension and order of the scan, which the
/// first such slice decides.
bool Scan::isInTurn(ArrayRef<int64_t> whole, ArrayRef<int64_t> slice, ValueRange indices) {
  int64_t at = -1;
  for (auto [i, size, part] : llvm::enumerate(whole, slice)) {
    if (size == part)
      continue; // its index is 0, whatever it is
    if (at != -1 || part != 1 || size != count.rounds())
      return false;
    at = static_cast<int64_t>(i);
  }
  if (at == -1 || (dim != -1 && dim != at))
    return false;
  std::optional<Order> found = orderOf(indices[at]);
  if (!found || (dim != -1 && *found != order))
    return false;
  dim = at;
  order = *found;
  return true;
}

/// What the value is outside of the loop, where it is the same in all rounds; else null.
Value Scan::outside(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == &body) {
    const unsigned number = argument.getArgNumber();
    return end.getOperand(number) == value ? op.getInputs()[number] : Value();
  }
  return op.getBody().isAncestor(value.getParentRegion()) ? Value() : value;
}

/// Finds what is a slice of its round.
void Scan::findRoles() {
  for (auto slice : body.getOps<stablehlo::DynamicSliceOp>()) {
    Value whole = outside(slice.getOperand());
    if (!whole || !isInTurn(tensorOf(whole).getShape(), slice.getSliceSizes(), slice.getStartIndices()))
      continue;
    slices[slice] = static_cast<unsigned>(scanned.size());
    scanned.push_back(whole);
  }
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    Value next = end.getOperand(i);
    auto update = next.getDefiningOp<stablehlo::DynamicUpdateSliceOp>();
    if (i == count.operand)
      roles.push_back(Role::Counter);
    else if (next == argument)
      roles.push_back(Role::Invariant);
    else if (update && update.getOperand() == argument && argument.hasOneUse() && next.hasOneUse() &&
             isInTurn(tensorOf(argument).getShape(), tensorOf(update.getUpdate()).getShape(), update.getStartIndices()))
      roles.push_back(Role::Stacked);
    else
      roles.push_back(Role::Carried);
  }
}

/// Finds the ops that compute what is carried, and slices of results.
void Scan::findNeeded() {
  SmallVector<Value> worklist;
  for (auto [i, role] : llvm::enumerate(roles))
    if (role == Role::Carried)
      worklist.push_back(end.getOperand(i));
    else if (role == Role::Stacked)
      worklist.push_back(end.getOperand(i).getDefiningOp<stablehlo::DynamicUpdateSliceOp>().getUpdate());
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (value == body.getArgument(count.operand) && !needsCounter) {
      needsCounter = true;
      worklist.push_back(end.getOperand(count.operand));
    }
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != &body || !needed.insert(def).second || slices.contains(def))
      continue;
    llvm::append_range(worklist, def->getOperands());
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(def->getRegions(), used);
    llvm::append_range(worklist, used);
  }
}

/// The value in the region of the scan, of which it becomes an operand where it comes from outside; constants are copied.
Value Scan::inside(OpBuilder &builder, Value value) {
  if (Value mapped = mapping.lookupOrNull(value))
    return mapped;
  Value from = outside(value);
  Operation *def = from.getDefiningOp();
  if (def && def->hasTrait<OpTrait::ConstantLike>()) {
    mapping.map(value, builder.clone(*def)->getResult(0));
    return mapping.lookup(value);
  }
  invariants.push_back(from);
  mapping.map(value, block->addArgument(from.getType(), from.getLoc()));
  return mapping.lookup(value);
}

/// The type of slices, which lack the dimension of the scan, of a tensor or of what is written into it.
RankedTensorType Scan::sliceType(Value whole) const {
  SmallVector<int64_t> shape(tensorOf(whole).getShape());
  shape.erase(shape.begin() + dim);
  return tensorOf(whole).clone(shape);
}

/// Maps an op of the loop that reads a slice, and those that only drop its dimension, to the slice.
void Scan::useSlice(OpBuilder &builder, Operation *read, Value slice) {
  Value part = read->getResult(0);
  for (Operation *user : part.getUsers())
    if (isa<stablehlo::ReshapeOp>(user) && user->getResult(0).getType() == slice.getType())
      mapping.map(user->getResult(0), slice);
  if (llvm::any_of(part.getUsers(), [&](Operation *user) { return !mapping.contains(user->getResult(0)); }))
    mapping.map(part, stablehlo::ReshapeOp::create(builder, read->getLoc(), part.getType(), slice).getResult());
}

/// What an update of the loop writes, without the dimension of the scan.
Value Scan::sliceOf(OpBuilder &builder, stablehlo::DynamicUpdateSliceOp update) {
  Value part = update.getUpdate();
  Operation *def = part.getDefiningOp();
  auto dims = dyn_cast_or_null<stablehlo::BroadcastInDimOp>(def);
  SmallVector<int64_t> others = firstNumbers(tensorOf(part).getRank());
  others.erase(others.begin() + dim);
  if ((isa_and_nonnull<stablehlo::ReshapeOp>(def) || (dims && dims.getBroadcastDimensions() == ArrayRef(others))) &&
      def->getOperand(0).getType() == sliceType(part))
    return inside(builder, def->getOperand(0));
  return stablehlo::ReshapeOp::create(builder, part.getLoc(), sliceType(part), inside(builder, part));
}

void Scan::buildBody(OpBuilder &builder, Block *into) {
  block = into;
  for (auto [i, role] : llvm::enumerate(roles))
    if (role == Role::Carried || (role == Role::Counter && needsCounter)) {
      carried.push_back(op.getInputs()[i]);
      mapping.map(body.getArgument(i), block->addArgument(carried.back().getType(), op.getLoc()));
    }
  for (Value whole : scanned)
    block->addArgument(sliceType(whole), whole.getLoc());
  for (Operation &each : body.without_terminator()) {
    if (!needed.contains(&each) || (each.getNumResults() == 1 && mapping.contains(each.getResult(0))))
      continue;
    if (auto it = slices.find(&each); it != slices.end()) {
      useSlice(builder, &each, block->getArgument(carried.size() + it->second));
      continue;
    }
    llvm::SetVector<Value> used(each.operand_begin(), each.operand_end());
    getUsedValuesDefinedAbove(each.getRegions(), used);
    for (Value value : used)
      inside(builder, value);
    builder.clone(each, mapping);
  }
  SmallVector<Value> given;
  for (auto [i, role] : llvm::enumerate(roles))
    if (role == Role::Carried || (role == Role::Counter && needsCounter))
      given.push_back(inside(builder, end.getOperand(i)));
  for (auto [i, role] : llvm::enumerate(roles))
    if (role == Role::Stacked)
      given.push_back(sliceOf(builder, end.getOperand(i).getDefiningOp<stablehlo::DynamicUpdateSliceOp>()));
  YieldOp::create(builder, op.getLoc(), given);
}

SmallVector<Value> Scan::build(OpBuilder &builder) {
  if (count.rounds() < 2 || count.rounds() > kMostRounds)
    return {};
  findRoles();
  if (dim == -1)
    return {};
  findNeeded();
  Region region;
  {
    OpBuilder::InsertionGuard guard(builder);
    buildBody(builder, builder.createBlock(&region));
  }
  SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
  for (auto [i, role] : llvm::enumerate(roles))
    if (role == Role::Stacked)
      types.push_back(op.getInputs()[i].getType());
  auto rounds = scanned.empty() ? builder.getI64IntegerAttr(count.rounds()) : IntegerAttr();
  auto scan =
      ScanOp::create(builder, op.getLoc(), types, carried, scanned, invariants, dim, order == Order::Reverse, rounds);
  scan.getBody().takeBody(region);

  // Results of the scan are what is carried, in the order of the loop, and then what is stacked.
  SmallVector<Value> results;
  unsigned nextCarried = 0, nextStacked = static_cast<unsigned>(carried.size());
  for (auto [i, role] : llvm::enumerate(roles)) {
    Value first = op.getInputs()[i];
    switch (role) {
    case Role::Counter: {
      APInt last(tensorOf(first).getElementTypeBitWidth(), count.first + count.rounds() * count.step, false, true);
      results.push_back(ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(tensorOf(first), last)));
      nextCarried += needsCounter ? 1 : 0;
      break;
    }
    case Role::Invariant:
      results.push_back(first);
      break;
    case Role::Stacked:
      results.push_back(scan.getResult(nextStacked++));
      break;
    case Role::Carried:
      results.push_back(scan.getResult(nextCarried++));
      break;
    }
  }
  return results;
}

SmallVector<Value> import::buildScan(OpBuilder &builder, stablehlo::WhileOp op, const CountedLoop &count) {
  return Scan(op, count).build(builder);
}
