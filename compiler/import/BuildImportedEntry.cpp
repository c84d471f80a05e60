// dgc-build-imported-entry: makes the function of an imported program an entry point.

#include "compiler/import/EntrySignature.h"
#include "compiler/import/Passes.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dist/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {
#define GEN_PASS_DEF_BUILDIMPORTEDENTRYPASS
#include "compiler/import/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

/// Makes the attributes of an entry point.
class EntryBuilder {
public:
  EntryBuilder(func::FuncOp function, import::EntrySignature signature)
      : function(function), signature(std::move(signature)), builder(function) {}

  void run();
  int64_t states = 0;

private:
  void addState(unsigned argument);
  void nameRoles();
  DictionaryAttr attributesOfArgument(unsigned argument);
  DictionaryAttr attributesOfResult(unsigned result);
  void addKeys();
  void completeModule();
  Attribute shardingOf(int64_t argument, int64_t result);

  NamedAttribute attribute(StringRef name, Attribute value) { return builder.getNamedAttr(name, value); }
  NamedAttribute attribute(StringRef name, StringRef value) { return attribute(name, builder.getStringAttr(value)); }

  NamedAttribute position(StringRef name, size_t number) {
    return attribute(name, builder.getI64IntegerAttr(static_cast<int64_t>(number)));
  }

  func::FuncOp function;
  import::EntrySignature signature;
  OpBuilder builder;
};

} // namespace

/// That of an argument or of a result; of state, which has both, that of the argument where it says one. -1: there is none.
Attribute EntryBuilder::shardingOf(int64_t argument, int64_t result) {
  Attribute sharding = argument < 0 ? Attribute() : function.getArgAttr(argument, dist::kShardingAttr);
  return sharding || result < 0 ? sharding : function.getResultAttr(result, dist::kShardingAttr);
}

/// Declares the state of an argument, unless its reader has.
void EntryBuilder::addState(unsigned argument) {
  ++states;
  if (function.getArgAttr(argument, kStateAttr))
    return;
  auto zeros = InitAttr::get(builder.getContext(), InitKind::Zeros);
  StateOp::create(builder, function.getArgument(argument).getLoc(), signature.argumentNames[argument],
                  StateRole::Statistic, zeros, /*rng_id=*/argument,
                  cast<RankedTensorType>(function.getArgumentTypes()[argument]), /*begins_as=*/StringAttr());
}

/// The arguments of a function that the value depends on, besides those that are in `seen`.
static void addDependences(Value value, llvm::SetVector<BlockArgument> &arguments, DenseSet<Value> &seen) {
  SmallVector<Value> left{value};
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(next);
      if (isa<func::FuncOp>(argument.getOwner()->getParentOp()))
        arguments.insert(argument);
      continue;
    }
    op->walk([&](Operation *inner) { llvm::append_range(left, inner->getOperands()); });
  }
}

/// State that is updated has the roles that strategies know: what outputs depend on are weights, and what only new values of
/// state depend on belongs to an optimizer, if they are tensors of floats. Without outputs nothing tells them apart.
void EntryBuilder::nameRoles() {
  llvm::SetVector<BlockArgument> used;
  DenseSet<Value> seen;
  bool hasOutput = false;
  for (auto [result, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
    if (signature.argumentOf[result] >= 0)
      continue;
    hasOutput = true;
    addDependences(value, used, seen);
  }
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  for (BlockArgument argument : function.getArguments()) {
    const unsigned number = argument.getArgNumber();
    if (!hasOutput || !signature.isState[number] || signature.resultOf[number] < 0)
      continue;
    auto state = symbols.lookup<StateOp>(signature.argumentNames[number]);
    if (!isa<FloatType>(state.getTensorType().getElementType()) || state.getTensorType().getRank() == 0)
      continue;
    state.setRole(used.contains(argument) ? StateRole::Weight : StateRole::Slot);
  }
}

DictionaryAttr EntryBuilder::attributesOfArgument(unsigned argument) {
  StringRef name = signature.argumentNames[argument];
  SmallVector<NamedAttribute> attributes{position(kArgumentAttr, argument)};
  if (signature.isState[argument])
    attributes.push_back(attribute(kStateAttr, FlatSymbolRefAttr::get(builder.getContext(), name)));
  else
    attributes.append({attribute(kInputAttr, name), attribute(kRoleAttr, "data")});
  if (const int64_t dim = signature.batchDims[argument]; dim >= 0)
    attributes.push_back(position(kBatchDimAttr, dim));
  if (Attribute sharding = shardingOf(argument, signature.resultOf[argument]))
    attributes.push_back(attribute(dist::kShardingAttr, sharding));
  return builder.getDictionaryAttr(attributes);
}

DictionaryAttr EntryBuilder::attributesOfResult(unsigned result) {
  const int64_t argument = signature.argumentOf[result];
  SmallVector<NamedAttribute> attributes{position(kResultAttr, result)};
  if (argument >= 0)
    attributes.push_back(
        attribute(kStateAttr, FlatSymbolRefAttr::get(builder.getContext(), signature.argumentNames[argument])));
  else
    attributes.append({attribute(kOutputAttr, signature.resultNames[result]), attribute(kRoleAttr, "prediction")});
  if (Attribute sharding = shardingOf(argument, result))
    attributes.push_back(attribute(dist::kShardingAttr, sharding));
  return builder.getDictionaryAttr(attributes);
}

/// What draws random numbers takes the step and the seed of the run, further arguments, and has a number of its own, behind
/// those of the states.
void EntryBuilder::addKeys() {
  SmallVector<ModeOpInterface> draws;
  function.walk([&](ModeOpInterface op) {
    if (op.drawsRandomNumbers())
      draws.push_back(op);
  });
  if (draws.empty())
    return;
  const unsigned first = function.getNumArguments();
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  SmallVector<Value> keys;
  for (StringRef role : {"step", "seed"}) {
    std::string name = role.str();
    while (llvm::is_contained(signature.argumentNames, name))
      name += "_";
    auto attributes = builder.getDictionaryAttr({attribute(kInputAttr, name), attribute(kRoleAttr, role)});
    const unsigned number = function.getNumArguments();
    if (failed(function.insertArgument(number, scalar, attributes, function.getLoc())))
      llvm_unreachable("a function takes arguments");
    keys.push_back(function.getArgument(number));
  }
  for (auto [i, draw] : llvm::enumerate(draws)) {
    draw.setMode(/*training=*/true, /*seed=*/keys[1], /*step=*/keys[0], static_cast<int64_t>(first + i));
    draw->removeAttr(kDrawAttr);
  }
}

void EntryBuilder::completeModule() {
  auto module = function->getParentOfType<ModuleOp>();
  if (signature.batch)
    module->setAttr(kGlobalBatchAttr, builder.getI64IntegerAttr(*signature.batch));
  module->setAttr(kWholeBatchesAttr,
                  builder.getDictionaryAttr(attribute(function.getSymName(), "it was imported for this size alone")));
  // What frameworks write on a module says nothing to dgc.
  for (NamedAttribute attribute : llvm::to_vector(module->getDiscardableAttrs()))
    if (!isa_and_nonnull<DGCDialect>(attribute.getNameDialect()))
      module->removeDiscardableAttr(attribute.getName());
}

void EntryBuilder::run() {
  SmallVector<DictionaryAttr> arguments, results;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (signature.isState[i])
      addState(i);
    arguments.push_back(attributesOfArgument(i));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    results.push_back(attributesOfResult(i));
  nameRoles();
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
  addKeys();
  function.setPublic();
  function->removeAttr(function.getSymVisibilityAttrName());
  completeModule();
}

static LogicalResult checkTypes(func::FuncOp function) {
  for (TypeRange types : {TypeRange(function.getArgumentTypes()), TypeRange(function.getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
        return function.emitError() << "has an argument or result of the type " << type
                                    << "; an entry point has tensors of static shape";
  return success();
}

namespace {
struct BuildImportedEntry : dgc::impl::BuildImportedEntryPassBase<BuildImportedEntry> {
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (functions.size() != 1 || functions.front().isExternal()) {
      getOperation().emitError() << "has " << functions.size() << " functions; an entry point is made of one";
      return signalPassFailure();
    }
    FailureOr<import::EntrySignature> signature = failure();
    if (succeeded(checkTypes(functions.front())))
      signature = import::signatureOf(functions.front());
    if (failed(signature))
      return signalPassFailure();
    EntryBuilder entry(functions.front(), *std::move(signature));
    entry.run();
    numStates += entry.states;
  }
};
} // namespace
