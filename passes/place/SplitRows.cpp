// Variables in blocks of rows, which are states of their own.

#include "dialects/dgc/AttributeNames.h"
#include "passes/place/Stages.h"

#include "dialects/dgc/DGC.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dgc;

static bool isOneOf(FlatSymbolRefAttr name, ArrayRef<StateOp> states) {
  return name && llvm::any_of(states, [&](StateOp state) { return state.getSymNameAttr() == name.getAttr(); });
}

static RankedTensorType withRows(RankedTensorType type, int64_t rows) {
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = rows;
  return type.clone(shape);
}

static SmallVector<StateOp> withVariable(StateOp variable, ArrayRef<StateOp> slots) {
  SmallVector<StateOp> states{variable};
  llvm::append_range(states, slots);
  return states;
}

namespace {
/// Replaces the states of one variable in one function.
class Splitter {
public:
  /// `parts` has, for each of `states`, its blocks.
  Splitter(func::FuncOp function, ArrayRef<StateOp> states, ArrayRef<SmallVector<StateOp>> parts,
           ArrayRef<RowBlock> blocks)
      : function(function), states(states), parts(parts), blocks(blocks), body(function.getBody().front()) {}

  void run() {
    findUpdates();
    replaceArguments();
    replaceUpdates();
    eraseReplaced();
  }

private:
  int64_t indexOf(FlatSymbolRefAttr name) const {
    auto it = llvm::find_if(states, [&](StateOp state) { return name && state.getSymNameAttr() == name.getAttr(); });
    return it == states.end() ? -1 : it - states.begin();
  }

  void findUpdates() {
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (int64_t state = indexOf(resultState(function, i)); state >= 0)
        results.push_back({static_cast<unsigned>(i), state, cast<OpResult>(value)});
  }

  /// The blocks replace the argument, inserted after it; uses other than updates get them concatenated.
  void replaceArguments() {
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      int64_t state = indexOf(argumentState(function, i));
      if (state < 0)
        continue;
      BlockArgument whole = function.getArgument(i);
      SmallVector<Value> pieces;
      for (auto [part, block] : llvm::zip_equal(SmallVector<StateOp>(parts[state]), blocks)) {
        unsigned at = i + 1 + pieces.size();
        auto attributes =
            builder.getDictionaryAttr(builder.getNamedAttr(kStateAttr, FlatSymbolRefAttr::get(part.getSymNameAttr())));
        (void)function.insertArgument(at, part.getTensorType(), attributes, whole.getLoc());
        setArgumentStage(function, at, block.stage);
        pieces.push_back(function.getArgument(at));
      }
      i += pieces.size();
      piecesOf[whole] = pieces;
      auto isUpdate = [&](OpOperand &use) {
        return llvm::any_of(results, [&](const Result &r) { return r.value.getOwner() == use.getOwner(); });
      };
      if (llvm::all_of(whole.getUses(), isUpdate))
        continue;
      auto joined =
          ConcatenateOp::create(builder, whole.getLoc(), whole.getType(), pieces, builder.getI64IntegerAttr(0));
      setStage(joined, 0);
      whole.replaceUsesWithIf(joined.getResult(), [&](OpOperand &use) { return !isUpdate(use); });
    }
  }

  /// The rows of a block of an operand of an update.
  Value rowsOf(OpBuilder &builder, Value value, size_t block) {
    if (auto it = piecesOf.find(value); it != piecesOf.end())
      return it->second[block];
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 0)
      return value;
    SmallVector<int64_t> begin(type.getRank(), 0), end(type.getShape());
    begin[0] = blocks[block].first;
    end[0] = begin[0] + blocks[block].count;
    auto slice = SliceOp::create(builder, value.getLoc(), withRows(type, blocks[block].count), value,
                                 builder.getDenseI64ArrayAttr(begin), builder.getDenseI64ArrayAttr(end),
                                 builder.getDenseI64ArrayAttr({}));
    setStage(slice, 0); // of a gradient only these rows are sent
    return slice;
  }

  Operation *updateOf(Operation *whole, size_t block) {
    Operation *&update = updates[{whole, block}];
    if (update)
      return update;
    OpBuilder builder(whole);
    IRMapping mapping;
    for (Value operand : whole->getOperands())
      mapping.map(operand, rowsOf(builder, operand, block));
    update = builder.clone(*whole, mapping);
    for (Value result : update->getResults())
      result.setType(withRows(cast<RankedTensorType>(result.getType()), blocks[block].count));
    return update;
  }

  void replaceUpdates() {
    Operation *terminator = body.getTerminator();
    SmallVector<Value> values;
    SmallVector<Attribute> attributes;
    OpBuilder builder(terminator);
    auto next = results.begin();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      if (next == results.end() || next->index != i) {
        values.push_back(value);
        DictionaryAttr dictionary = function.getResultAttrDict(i);
        attributes.push_back(dictionary ? dictionary : builder.getDictionaryAttr({}));
        continue;
      }
      for (size_t block = 0; block < blocks.size(); ++block) {
        values.push_back(updateOf(next->value.getOwner(), block)->getResult(next->value.getResultNumber()));
        attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
            kStateAttr, FlatSymbolRefAttr::get(StateOp(parts[next->state][block]).getSymNameAttr()))));
      }
      ++next;
    }
    terminator->setOperands(values);
    function.setFunctionType(
        builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(terminator->getOperands()))));
    function.setAllResultAttrs(attributes);
  }

  void eraseReplaced() {
    llvm::SetVector<Operation *> replaced;
    for (const Result &result : results)
      replaced.insert(result.value.getOwner());
    for (Operation *update : replaced)
      update->erase();
    BitVector gone(function.getNumArguments());
    for (BlockArgument argument : function.getArguments())
      if (piecesOf.contains(argument))
        gone.set(argument.getArgNumber());
    (void)function.eraseArguments(gone);
  }

  struct Result {
    unsigned index;
    int64_t state;
    OpResult value;
  };

  func::FuncOp function;
  ArrayRef<StateOp> states;
  ArrayRef<SmallVector<StateOp>> parts;
  ArrayRef<RowBlock> blocks;
  Block &body;
  SmallVector<Result> results; // of the function, that are new values of the states
  DenseMap<Value, SmallVector<Value>> piecesOf;
  DenseMap<std::pair<Operation *, size_t>, Operation *> updates;
};
} // namespace

/// Whether an op computes each element of new states from those at the same place of operands of their shape, and from
/// scalars.
static bool isElementwiseUpdate(Operation *op) {
  auto update = dyn_cast<ApplyOptimizerOp>(op);
  return update && update.isElementwise();
}

namespace dgc {

bool canSplitRows(ModuleOp module, StateOp variable, ArrayRef<StateOp> slots) {
  SmallVector<StateOp> states = withVariable(variable, slots);
  if (variable.getRole() != StateRole::Weight || variable.getTensorType().getRank() == 0 ||
      llvm::any_of(slots, [&](StateOp slot) { return slot.getTensorType() != variable.getTensorType(); }))
    return false;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
      if (!isOneOf(resultState(function, i), states))
        continue;
      Operation *update = value.getDefiningOp();
      if (!update || !isElementwiseUpdate(update) || !value.hasOneUse())
        return false;
      for (Value operand : update->getOperands()) // scalars but for the gradient and the states
        if (auto type = cast<RankedTensorType>(operand.getType());
            type.getRank() > 0 && type != variable.getTensorType())
          return false;
    }
  }
  return true;
}

void splitRows(ModuleOp module, StateOp variable, ArrayRef<StateOp> slots, ArrayRef<RowBlock> blocks) {
  SmallVector<StateOp> states = withVariable(variable, slots);
  SmallVector<SmallVector<StateOp>> parts;
  std::string stem = variable.getSymName().str();
  for (StateOp state : states) {
    OpBuilder builder(state);
    parts.emplace_back();
    for (auto [i, block] : llvm::enumerate(blocks)) {
      StateOp part = cast<StateOp>(builder.clone(*state));
      // `w#1.momentum` belongs to `w#1`.
      part.setSymName(stem + "#" + std::to_string(i) + state.getSymName().drop_front(stem.size()).str());
      part.setType(withRows(state.getTensorType(), block.count));
      part->setAttr(kBlockAttr,
                    builder.getDictionaryAttr({builder.getNamedAttr("of", state.getSymNameAttr()),
                                               builder.getNamedAttr("first", builder.getI64IntegerAttr(block.first)),
                                               builder.getNamedAttr("type", TypeAttr::get(state.getTensorType()))}));
      parts.back().push_back(part);
    }
  }
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      Splitter(function, states, parts, blocks).run();
  for (StateOp state : states)
    state.erase();
}

} // namespace dgc
