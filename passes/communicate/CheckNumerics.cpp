// dgc-check-numerics: programs look for numbers that are not finite.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "passes/analysis/Checks.h"
#include "passes/analysis/Layout.h"
#include "passes/communicate/CheckedValues.h"
#include "passes/communicate/NumericsCopies.h"
#include "passes/communicate/NumericsOrder.h"
#include "passes/communicate/NumericsRows.h"
#include "passes/communicate/Passes.h"
#include "runtime/artifact/Numerics.h"

namespace dgc {
#define GEN_PASS_DEF_CHECKNUMERICSPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {

/// The rows of some values, [n, 3], and what they are about. Without values there is no tensor.
struct Table {
  Value rows;
  std::vector<rt::CheckedValue> checks;
  std::vector<bool> isScaled; // whether it depends on the scale of the loss
};

/// What is new goes with the op that it is about, to its micro-batch and slot of a pipeline, but into kernels of its own.
struct SameSlot : OpBuilder::Listener {
  explicit SameSlot(Operation *like) : like(like) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    for (StringRef name : {StringRef(kSlotAttr), StringRef(kMicrobatchAttr), StringRef(kRecomputeAttr)})
      if (Attribute value = like ? like->getDiscardableAttr(name) : Attribute())
        op->setAttr(name, value);
    markCheck(op);
  }
  Operation *like;
};

/// Checks the values of one function.
class Checker {
public:
  Checker(func::FuncOp function, NumericsChecks kind, const llvm::DenseMap<Operation *, int64_t> &numbers)
      : function(function), kind(kind), numbers(numbers) {
    if (kind == NumericsChecks::EveryOp) {
      copies.emplace(function, this->numbers);
      values = findValuesOfAllOps(
          function, [&](Operation *op) { return copies->contains(op) || isa<CollectiveOpInterface>(op); });
    } else {
      values = findResults(function);
    }
    findScaled();
  }

  /// The number of values.
  size_t run() {
    Table table = checkBlock(function.getBody().front(), 0);
    if (table.rows)
      addResult(table);
    if (copies)
      copies->eraseUnused();
    return table.checks.size();
  }

private:
  Value current(Value value) const {
    auto it = replaced.find(value);
    return it == replaced.end() ? value : it->second;
  }

  //===--------------------------------------------------------------------===//
  // One value
  //===--------------------------------------------------------------------===//

  static void insertAfter(OpBuilder &builder, Value value) {
    if (Operation *op = value.getDefiningOp())
      builder.setInsertionPointAfter(op);
    else
      builder.setInsertionPointToStart(value.getParentBlock());
  }

  /// Sets where the row of a value is built: behind it and the masks of its elements.
  void insertBehind(OpBuilder &builder, Value value, const CountedElements &counted) const {
    Value last = value;
    for (const auto &literals : counted)
      for (const MaskLiteral &literal : literals)
        if (Operation *op = current(literal.mask).getDefiningOp();
            op && (!last.getDefiningOp() || last.getDefiningOp()->isBeforeInBlock(op)))
          last = current(literal.mask);
    insertAfter(builder, last);
  }

  /// Whether a value has a NaN, and whether all of it is finite: i1 scalars.
  struct Summary {
    Value hasNaN, isFinite;
  };
  Summary summaryOf(Value value) {
    auto [it, isNew] = summaries.try_emplace(value);
    if (!isNew)
      return it->second;
    SameSlot slot(value.getDefiningOp());
    OpBuilder builder(function.getContext(), &slot);
    insertAfter(builder, value);
    CompositeBuilder b(builder, value.getLoc());
    SmallVector<int64_t> dims = allDims(tensorOf(value).getRank());
    const Summary made{b.reduce(ReductionKind::Or, isNaN(b, value), dims),
                       b.reduce(ReductionKind::And, isFinite(b, value), dims)};
    return summaries[value] = made;
  }

  /// Where a value is wrong that others are looked at where it is.
  const WrongRows &wrongRowsOf(Value value) {
    auto [it, isNew] = wrongRows.try_emplace(value);
    if (isNew) {
      SameSlot slot(value.getDefiningOp());
      OpBuilder builder(function.getContext(), &slot);
      insertAfter(builder, value);
      CompositeBuilder b(builder, value.getLoc());
      it->second = findWrongRows(b, value);
    }
    return it->second;
  }

  /// The operands that a result is computed from.
  static SmallVector<Value> operandsOf(OpResult result) {
    Operation *op = result.getOwner();
    SmallVector<Value> operands(op->getOperands());
    if (isa<CollectiveOpInterface>(op) && op->getNumOperands() == op->getNumResults())
      operands = {op->getOperand(result.getResultNumber())};
    llvm::erase_if(operands, [](Value operand) { return !isFloatTensor(operand); });
    return operands;
  }

  /// The elements for which the op is at fault. What it asks of whole operands has been built before.
  Value faults(CompositeBuilder &b, Value value) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return isNaN(b, value);
    Value hasNaN, areFinite;
    const bool isElementwise = isa<ElementwiseOpInterface>(result.getOwner());
    for (Value operand : operandsOf(result)) {
      Value nan, finite;
      if (isElementwise) {
        nan = isNaN(b, operand);
        finite = isFinite(b, operand);
      } else {
        const Summary summary = summaryOf(operand);
        nan = b.broadcastScalar(summary.hasNaN, shapeOf(value));
        finite = b.broadcastScalar(summary.isFinite, shapeOf(value));
      }
      hasNaN = hasNaN ? either(b, hasNaN, nan) : nan;
      areFinite = areFinite ? both(b, areFinite, finite) : finite;
    }
    Value isWrong = negated(b, isFinite(b, value));
    if (!hasNaN)
      return isWrong;
    // A NaN where no operand is one, or an infinity of finite operands.
    return both(b, isWrong, either(b, areFinite, both(b, isNaN(b, value), negated(b, hasNaN))));
  }

  Value maskOf(CompositeBuilder &b, const CountedElements &counted) const {
    Value any;
    for (const auto &literals : counted) {
      Value all;
      for (const MaskLiteral &literal : literals) {
        Value mask = current(literal.mask);
        mask = literal.isTrue ? mask : negated(b, mask);
        all = all ? both(b, all, mask) : mask;
      }
      any = any ? either(b, any, all) : all;
    }
    return any;
  }

  /// Adds the row of a value to the parts of a table.
  void check(Value value, const ValueToCheck &info, int64_t scope, Table &table, SmallVector<Value> &parts) {
    Operation *op = value.getDefiningOp();
    if (op && kind == NumericsChecks::EveryOp && !isa<ElementwiseOpInterface>(op))
      for (Value operand : operandsOf(cast<OpResult>(value)))
        summaryOf(operand);
    SameSlot slot(op);
    OpBuilder builder(function.getContext(), &slot);
    insertBehind(builder, value, info.counted);
    CompositeBuilder b(builder, value.getLoc());
    NumericsRow row;
    Value shownBy = info.shownBy && rowLengthOf(value) ? current(info.shownBy) : Value();
    if (kind == NumericsChecks::Results && info.counted.empty() && rowLengthOf(value)) {
      const WrongRows rows = wrongRowsOf(shownBy ? shownBy : value);
      builder.setInsertionPointAfter(rows.first.getDefiningOp());
      row = buildRowOfFirst(b, value, rows, /*isItself=*/!shownBy);
    } else if (kind == NumericsChecks::Results && info.counted.empty()) {
      row = buildRowOfNotFinite(b, value);
    } else {
      Value isWrong = kind == NumericsChecks::Results ? negated(b, isFinite(b, value)) : faults(b, value);
      Value mask = maskOf(b, info.counted);
      row = buildRow(b, value, mask ? both(b, isWrong, mask) : isWrong);
    }
    parts.push_back(joined(
        b, {b.reshape(row.count, {1, 1}), b.reshape(row.first, {1, 1}), b.splat(0, {1, 1}, builder.getI64Type())}, 1));
    addCheck(value, info, scope, table);
    table.checks.back().isLeast = static_cast<bool>(shownBy);
  }

  /// What a loop or a branch gives is there behind all that is in it.
  static Operation *lastIn(Operation *op) { return op->getNumRegions() ? &op->getRegions().back().back().back() : op; }

  /// The op that computes it; in a loop, where that is the last round's.
  static Operation *computingOp(Value value) {
    Operation *op = value.getDefiningOp();
    auto loop = dyn_cast<WhileOp>(op);
    Value last =
        loop ? loop.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()) : Value();
    return last && last.getDefiningOp() ? computingOp(last) : op;
  }

  void addCheck(Value value, const ValueToCheck &info, int64_t scope, Table &table) {
    Operation *op = value.getDefiningOp();
    rt::CheckedValue check;
    check.name = op ? describe(computingOp(value)) : info.what;
    check.what = op ? info.what : "";
    if (auto microbatch = op ? op->getAttrOfType<IntegerAttr>(kMicrobatchAttr) : IntegerAttr())
      check.what += (check.what.empty() ? "" : ", ") + ("micro-batch " + std::to_string(microbatch.getInt()));
    llvm::raw_string_ostream(check.dtype) << elementOf(value);
    check.shape.assign(shapeOf(value).begin(), shapeOf(value).end());
    check.order = op ? numbers.lookup(lastIn(op)) : 0;
    check.scope = scope ? scope : check.order;
    table.checks.push_back(std::move(check));
    table.isScaled.push_back(op && scaled.contains(op));
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// `scope`: the number of the outermost loop around it; 0: there is none. The table is built at the end of the block.
  Table checkBlock(Block &block, int64_t scope) {
    Table table;
    SmallVector<Value> parts;
    for (BlockArgument argument : block.getArguments())
      if (auto it = values.find(argument); it != values.end())
        check(argument, it->second, scope, table, parts);
    SmallVector<Operation *> ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : ops) {
      SmallVector<Value> results(op->getResults());
      if (isa<WhileOp, IfOp>(op)) {
        const int64_t number = numbers.lookup(op);
        Table inside = isa<WhileOp>(op) ? checkLoop(cast<WhileOp>(op), scope ? scope : number)
                                        : checkBranches(cast<IfOp>(op), scope);
        if (inside.rows)
          parts.push_back(inside.rows);
        llvm::append_range(table.checks, inside.checks);
        llvm::append_range(table.isScaled, inside.isScaled);
      }
      for (Value result : results)
        if (auto it = values.find(result); it != values.end())
          check(current(result), it->second, scope, table, parts);
    }
    if (parts.empty())
      return table;
    SameSlot slot(nullptr);
    OpBuilder builder(block.getTerminator(), &slot);
    CompositeBuilder b(builder, block.getParentOp()->getLoc());
    table.rows = joined(b, parts);
    return table;
  }

  /// Replaces a loop or branch by one with more results at the end.
  void replace(Operation *op, Operation *by) {
    by->setDiscardableAttrs(op->getDiscardableAttrDictionary()); // it is no check
    recordEncodings(by);
    if (auto it = numbers.find(op); it != numbers.end())
      numbers[by] = it->second;
    if (scaled.contains(op))
      scaled.insert(by);
    for (auto [before, after] : llvm::zip(op->getResults(), by->getResults())) {
      replaced[before] = after;
      before.replaceAllUsesWith(after);
    }
    dead.push_back(op);
  }

  /// What of rounds is known, for values in a loop; the number of rounds of the loops in it.
  static int64_t addLoop(WhileOp loop, rt::CheckedValue &check, bool isOutermost) {
    int64_t inside = 1;
    for (int64_t rounds : check.loops)
      inside *= rounds;
    const int64_t rounds = loop.getRounds().value_or(0);
    if (rounds == 0 && !isOutermost)
      return 0;
    check.loops.insert(check.loops.begin(), rounds);
    return inside;
  }

  /// A row is that of the first round that has something in it, which the loop carries.
  Table checkLoop(WhileOp loop, int64_t scope) {
    Table table = checkBlock(loop.getBody().front(), scope);
    if (!table.rows)
      return table;
    const bool isOutermost = loop->getParentOp() == function.getOperation();
    const int64_t n = table.checks.size();
    std::vector<double> radix;
    for (rt::CheckedValue &check : table.checks)
      radix.insert(radix.end(), {0, 0, double(addLoop(loop, check, isOutermost))});
    SameSlot slot(nullptr);
    OpBuilder builder(loop, &slot);
    CompositeBuilder b(builder, loop.getLoc());
    Type i64 = builder.getI64Type();
    SmallVector<Value> carried(loop.getCarried());
    const unsigned at = carried.size();
    carried.push_back(b.splat(0, {n, kColumns}, i64));
    carried.push_back(b.splat(0, ArrayRef<int64_t>(), i64));
    auto own = WhileOp::create(builder, loop.getLoc(), TypeRange(ValueRange(carried)), carried, loop.getInvariants(),
                               loop.getRoundsAttr());
    own.getCondition().takeBody(loop.getCondition());
    own.getBody().takeBody(loop.getBody());
    for (Region *region : own.getRegions())
      for (unsigned i = at; i < carried.size(); ++i)
        region->insertArgument(i, carried[i].getType(), loop.getLoc());
    Operation *end = own.getBody().front().getTerminator();
    builder.setInsertionPoint(end);
    Value before = own.getBody().getArgument(at), round = own.getBody().getArgument(at + 1);
    Value rounds = b.multiply(b.broadcastScalar(round, {n, kColumns}), b.constant({n, kColumns}, i64, radix));
    Value count = b.slice(before, {0, rt::kCountColumn}, {n, rt::kCountColumn + 1});
    Value isFound = b.compare(ComparisonDirection::GT, count, b.splat(0, count));
    isFound = b.broadcast(b.reshape(isFound, {n}), {n, kColumns}, {0});
    Value next[] = {b.select(isFound, before, b.add(table.rows, rounds)), b.add(round, b.splat(1, round))};
    end->insertOperands(at, next);
    table.rows = own.getResult(at);
    replace(loop, own);
    return table;
  }

  /// The rows of both branches; those of the one that is not taken have found nothing.
  Table checkBranches(IfOp branch, int64_t scope) {
    Table first = checkBlock(branch.getThenRegion().front(), scope),
          second = checkBlock(branch.getElseRegion().front(), scope);
    const int64_t counts[] = {int64_t(first.checks.size()), int64_t(second.checks.size())};
    if (counts[0] + counts[1] == 0)
      return first;
    SameSlot slot(nullptr);
    OpBuilder builder(branch, &slot);
    SmallVector<Type> types(branch.getResultTypes());
    types.push_back(RankedTensorType::get({counts[0] + counts[1], kColumns}, builder.getI64Type()));
    auto own = IfOp::create(builder, branch.getLoc(), types, branch.getPredicate(), branch.getInputs());
    own.getThenRegion().takeBody(branch.getThenRegion());
    own.getElseRegion().takeBody(branch.getElseRegion());
    for (auto [i, region] : llvm::enumerate(own.getRegions())) {
      Operation *end = region->front().getTerminator();
      builder.setInsertionPoint(end);
      CompositeBuilder b(builder, branch.getLoc());
      SmallVector<Value> parts{first.rows, second.rows};
      if (counts[1 - i])
        parts[1 - i] = b.splat(0, {counts[1 - i], kColumns}, builder.getI64Type());
      llvm::erase(parts, Value());
      end->insertOperands(end->getNumOperands(), joined(b, parts));
    }
    first.rows = own->getResults().back();
    llvm::append_range(first.checks, second.checks);
    llvm::append_range(first.isScaled, second.isScaled);
    replace(branch, own);
    return first;
  }

  //===--------------------------------------------------------------------===//
  // The scale of the loss
  //===--------------------------------------------------------------------===//

  bool isScale(FlatSymbolRefAttr name) {
    StateOp state = name ? SymbolTable::lookupNearestSymbolFrom<StateOp>(function, name) : StateOp();
    return state && state->hasAttr(kLossScaleAttr) && !state.getSymName().contains('.');
  }

  /// Finds the scale of the loss, and what is computed from it.
  void findScaled() {
    for (BlockArgument argument : function.getArguments())
      if (isScale(function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), kStateAttr)))
        scale = argument;
    if (!scale)
      return;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (isScale(function.getResultAttrOfType<FlatSymbolRefAttr>(i, kStateAttr)))
        nextScale = function.getBody().front().getTerminator()->getOperand(i);
    for (Operation &op : function.getBody().front())
      if (llvm::any_of(op.getOperands(), [&](Value operand) {
            return operand == scale || (operand.getDefiningOp() && scaled.contains(operand.getDefiningOp()));
          }))
        op.walk([&](Operation *inside) { scaled.insert(inside); });
  }

  /// Rows of zeros where the value depends on the scale of the loss, and the step makes that smaller.
  Value withoutSkipped(CompositeBuilder &b, const Table &table) {
    if (!llvm::is_contained(table.isScaled, true))
      return table.rows;
    const int64_t n = table.checks.size();
    Type i64 = b.builder.getI64Type();
    SmallVector<double> mask;
    for (bool isScaled : table.isScaled)
      mask.append(kColumns, isScaled);
    Value isSkipped = b.constant({n, kColumns}, i64, mask);
    if (nextScale) {
      Value isSmaller = b.convert(b.compare(ComparisonDirection::LT, current(nextScale), scale), i64);
      isSkipped = b.multiply(isSkipped, b.broadcastScalar(isSmaller, {n, kColumns}));
    }
    return b.multiply(table.rows, b.subtract(b.splat(1, isSkipped), isSkipped));
  }

  /// Gives back the rows, with what they are about. Each device has its own.
  void addResult(const Table &table) {
    Operation *end = function.getBody().front().getTerminator();
    SameSlot slot(nullptr);
    OpBuilder builder(end, &slot);
    CompositeBuilder b(builder, function.getLoc());
    Value rows = withoutSkipped(b, table);
    SmallVector<NamedAttribute> attributes;
    auto set = [&](StringRef name, Attribute value) { attributes.push_back(builder.getNamedAttr(name, value)); };
    set(kOutputAttr, builder.getStringAttr(rt::kNumericsOutput));
    set(kRoleAttr, builder.getStringAttr("prediction"));
    set(kOverAttr, builder.getStringAttr(rt::describeChecks(table.checks)));
    (void)function.insertResult(function.getNumResults(), rows.getType(), builder.getDictionaryAttr(attributes));
    end->insertOperands(end->getNumOperands(), rows);
    for (Operation *op : dead)
      op->erase();
  }

  static constexpr int64_t kColumns = rt::kNumericsColumns;
  func::FuncOp function;
  NumericsChecks kind;
  llvm::DenseMap<Operation *, int64_t> numbers;
  std::optional<NumericsCopies> copies; // where every op is checked
  ValuesToCheck values;
  llvm::DenseMap<Value, Value> replaced; // results of loops and branches
  llvm::DenseMap<Value, Summary> summaries;
  llvm::DenseMap<Value, WrongRows> wrongRows;
  SmallVector<Operation *> dead;
  Value scale, nextScale; // of the loss, before and after the step; null: there is none
  llvm::DenseSet<Operation *> scaled;
};

struct CheckNumerics : dgc::impl::CheckNumericsPassBase<CheckNumerics> {
  using CheckNumericsPassBase::CheckNumericsPassBase;

  void runOnOperation() override {
    llvm::MapVector<StringRef, SmallVector<func::FuncOp>> steps; // functions of one step run at the same time
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (auto name = function.getResultAttrOfType<StringAttr>(i, kOutputAttr);
            name && name.getValue() == StringRef(rt::kNumericsOutput)) {
          function.emitError() << "has an output \"" << name.getValue()
                               << "\", which is the name of what --check-numerics "
                               << "finds: give it another name, or compile without that option";
          return signalPassFailure();
        }
      auto step = function->getAttrOfType<StringAttr>(kStepAttr);
      steps[step ? step.getValue() : function.getSymName()].push_back(function);
    }
    for (auto &[name, functions] : steps) {
      const llvm::DenseMap<Operation *, int64_t> numbers = numberOps(functions);
      for (func::FuncOp function : functions)
        numChecked += Checker(function, values, numbers).run();
    }
  }
};
} // namespace
