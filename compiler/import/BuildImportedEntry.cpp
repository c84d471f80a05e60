// dgc-build-imported-entry: makes the function of an imported program an entry point.

#include "compiler/import/Passes.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dist/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace dgc {
#define GEN_PASS_DEF_BUILDIMPORTEDENTRYPASS
#include "compiler/import/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

/// What frameworks write on arguments and results.
static constexpr llvm::StringLiteral kAliasingAttr = "tf.aliasing_output";
static constexpr llvm::StringLiteral kDonorAttr = "jax.buffer_donor";
static constexpr llvm::StringLiteral kResultInfoAttr = "jax.result_info";

namespace {

/// Makes the attributes of an entry point.
class EntryBuilder {
public:
  explicit EntryBuilder(func::FuncOp function) : function(function), builder(function) {}

  LogicalResult run();
  int64_t states = 0;

private:
  LogicalResult pairState();
  LogicalResult pair(unsigned argument, int64_t result);
  void pairDonors();
  void nameAll();
  std::optional<int64_t> findBatch();
  Attribute shardingOf(int64_t argument, int64_t result);

  NamedAttribute attribute(StringRef name, Attribute value) { return builder.getNamedAttr(name, value); }
  NamedAttribute attribute(StringRef name, StringRef value) { return attribute(name, builder.getStringAttr(value)); }

  NamedAttribute position(StringRef name, size_t number) {
    return attribute(name, builder.getI64IntegerAttr(static_cast<int64_t>(number)));
  }

  func::FuncOp function;
  OpBuilder builder;
  SmallVector<int64_t> resultOf;   // of each argument: the result that is its next value, or -1
  SmallVector<int64_t> argumentOf; // of each result: the argument that it is the next value of, or -1
  SmallVector<std::string> argumentNames, resultNames;
};

} // namespace

LogicalResult EntryBuilder::pair(unsigned argument, int64_t result) {
  if (result < 0 || result >= static_cast<int64_t>(function.getNumResults()))
    return function.emitError() << "argument " << argument << " becomes result " << result << ", which there is not";
  if (argumentOf[result] >= 0)
    return function.emitError() << "result " << result << " is the next value of two arguments, " << argumentOf[result]
                                << " and " << argument;
  if (function.getArgumentTypes()[argument] != function.getResultTypes()[result])
    return function.emitError() << "argument " << argument << " has the type " << function.getArgumentTypes()[argument]
                                << ", and the result " << result << " that is its next value has "
                                << function.getResultTypes()[result];
  resultOf[argument] = result;
  argumentOf[result] = argument;
  ++states;
  return success();
}

LogicalResult EntryBuilder::pairState() {
  resultOf.assign(function.getNumArguments(), -1);
  argumentOf.assign(function.getNumResults(), -1);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto result = function.getArgAttrOfType<IntegerAttr>(i, kAliasingAttr))
      if (failed(pair(i, result.getValue().getLimitedValue(std::numeric_limits<int32_t>::max()))))
        return failure();
  pairDonors();
  return success();
}

/// A donated argument without a result of its own becomes the first result of its type that is left.
void EntryBuilder::pairDonors() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto donor = function.getArgAttrOfType<BoolAttr>(i, kDonorAttr);
    if (!donor || !donor.getValue() || resultOf[i] >= 0)
      continue;
    for (unsigned result = 0; result < function.getNumResults(); ++result)
      if (argumentOf[result] < 0 && function.getResultTypes()[result] == function.getArgumentTypes()[i]) {
        resultOf[i] = result;
        argumentOf[result] = i;
        ++states;
        break;
      }
  }
}

/// The name that a location gives a value; empty where it gives none.
static StringRef nameOf(Location location) {
  auto named = dyn_cast<NameLoc>(location);
  return named ? named.getName().getValue() : StringRef();
}

/// The names as they are where each is there and different, else by position.
static SmallVector<std::string> uniqueNames(ArrayRef<StringRef> wanted, StringRef prefix) {
  llvm::StringSet<> seen;
  bool areUnique = llvm::all_of(wanted, [&](StringRef name) { return !name.empty() && seen.insert(name).second; });
  SmallVector<std::string> names;
  for (auto [i, name] : llvm::enumerate(wanted))
    names.push_back(areUnique ? name.str() : (prefix + Twine(i)).str());
  return names;
}

void EntryBuilder::nameAll() {
  SmallVector<StringRef> wanted;
  for (BlockArgument argument : function.getArguments())
    wanted.push_back(nameOf(argument.getLoc()));
  argumentNames = uniqueNames(wanted, "in");
  wanted.clear();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto info = function.getResultAttrOfType<StringAttr>(i, kResultInfoAttr);
    wanted.push_back(info ? info.getValue() : StringRef());
  }
  resultNames = uniqueNames(wanted, "out");
}

/// The size of dimension 0 of all inputs that have one, where it is the same.
std::optional<int64_t> EntryBuilder::findBatch() {
  std::optional<int64_t> batch;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (resultOf[i] >= 0 || type.getRank() == 0)
      continue;
    if (batch && *batch != type.getDimSize(0))
      return std::nullopt;
    batch = type.getDimSize(0);
  }
  return batch;
}

/// That of an argument or of a result; of state, which has both, that of the argument where it says one. -1: there is none.
Attribute EntryBuilder::shardingOf(int64_t argument, int64_t result) {
  Attribute sharding = argument < 0 ? Attribute() : function.getArgAttr(argument, dist::kShardingAttr);
  return sharding || result < 0 ? sharding : function.getResultAttr(result, dist::kShardingAttr);
}

LogicalResult EntryBuilder::run() {
  for (TypeRange types : {TypeRange(function.getArgumentTypes()), TypeRange(function.getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
        return function.emitError() << "has an argument or result of the type " << type
                                    << "; an entry point has tensors of static shape";
  if (failed(pairState()))
    return failure();
  nameAll();
  std::optional<int64_t> batch = findBatch();
  SmallVector<DictionaryAttr> arguments, results;
  auto zeros = InitAttr::get(builder.getContext(), InitKind::Zeros);
  int64_t rngId = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    SmallVector<NamedAttribute> attributes{position(kArgumentAttr, i)};
    if (resultOf[i] >= 0) {
      StateOp::create(builder, function.getArgument(i).getLoc(), argumentNames[i], StateRole::Statistic, zeros, rngId++,
                      type);
      attributes.push_back(attribute(kStateAttr, FlatSymbolRefAttr::get(builder.getContext(), argumentNames[i])));
    } else {
      attributes.append({attribute(kInputAttr, argumentNames[i]), attribute(kRoleAttr, "data")});
      if (batch && type.getRank() > 0)
        attributes.push_back(attribute(kBatchDimAttr, builder.getI64IntegerAttr(0)));
    }
    if (Attribute sharding = shardingOf(i, resultOf[i]))
      attributes.push_back(attribute(dist::kShardingAttr, sharding));
    arguments.push_back(builder.getDictionaryAttr(attributes));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    SmallVector<NamedAttribute> attributes{position(kResultAttr, i)};
    if (argumentOf[i] >= 0)
      attributes.push_back(
          attribute(kStateAttr, FlatSymbolRefAttr::get(builder.getContext(), argumentNames[argumentOf[i]])));
    else
      attributes.append({attribute(kOutputAttr, resultNames[i]), attribute(kRoleAttr, "prediction")});
    if (Attribute sharding = shardingOf(argumentOf[i], i))
      attributes.push_back(attribute(dist::kShardingAttr, sharding));
    results.push_back(builder.getDictionaryAttr(attributes));
  }
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
  function.setPublic();
  function->removeAttr(function.getSymVisibilityAttrName());
  auto module = function->getParentOfType<ModuleOp>();
  if (batch)
    module->setAttr(kGlobalBatchAttr, builder.getI64IntegerAttr(*batch));
  module->setAttr(kWholeBatchesAttr,
                  builder.getDictionaryAttr(attribute(function.getSymName(), "it was imported for this size alone")));
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
    EntryBuilder entry(functions.front());
    if (failed(entry.run()))
      return signalPassFailure();
    numStates += entry.states;
    // What frameworks write on a module says nothing to dgc.
    for (NamedAttribute attribute : llvm::to_vector(getOperation()->getDiscardableAttrs()))
      if (!isa_and_nonnull<DGCDialect>(attribute.getNameDialect()))
        getOperation()->removeDiscardableAttr(attribute.getName());
  }
};
} // namespace
