// A forward function that was imported as a model that is trained.

#include "compiler/import/TrainingModel.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace dgc::import {

/// What a loss compares an output with.
enum class Against { Classes, Values };

struct LossRow {
  llvm::StringLiteral name;
  Against against;
};

/// The losses of dgc of an output and an input of their own.
static constexpr LossRow losses[] = {
    {"cross_entropy", Against::Classes},       {"mean_squared_error", Against::Values},
    {"mean_absolute_error", Against::Values},  {"huber_loss", Against::Values},
    {"binary_cross_entropy", Against::Values}, {"kl_divergence", Against::Values},
};

namespace {

/// The result of the function that the loss is taken of, or that is the loss.
struct Target {
  const LossRow *loss = nullptr; // null: the output is the loss
  unsigned result = 0;
};

class ModelBuilder {
public:
  ModelBuilder(ModuleOp module, const Training &training)
      : module(module), training(training), function(*module.getOps<func::FuncOp>().begin()) {}

  LogicalResult run();

private:
  InFlightDiagnostic error() { return function.emitError(); }
  StringRef nameOf(unsigned result);
  FailureOr<Target> findTarget();
  std::string textOf(const Target &target);
  LogicalResult readPatterns();
  bool isFrozen(StateOp state) const;
  Value addVariable(OpBuilder &builder, BlockArgument argument, StateOp state);
  void moveBody(ModelOp model, const Target &target);

  ModuleOp module;
  const Training &training;
  func::FuncOp function;
  SmallVector<llvm::GlobPattern> frozen;
};

} // namespace

/// The name of the result, as the framework has it.
StringRef ModelBuilder::nameOf(unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, "jax.result_info");
  return name ? name.getValue() : StringRef();
}

/// `NAME`, `NAME OUTPUT` or `OUTPUT`.
FailureOr<Target> ModelBuilder::findTarget() {
  auto [first, output] = StringRef(training.loss).trim().split(' ');
  output = output.trim();
  Target target;
  for (const LossRow &row : losses)
    if (first == row.name)
      target.loss = &row;
  const bool isUnknown = !target.loss && !output.empty();
  if (!target.loss && output.empty())
    output = first;
  const unsigned results = function.getNumResults();
  if (target.loss && output.empty() && results == 1)
    return target;
  for (unsigned i = 0; i < results; ++i)
    if (!isUnknown && !output.empty() && nameOf(i) == output) {
      target.result = i;
      if (!target.loss && cast<RankedTensorType>(function.getResultTypes()[i]).getRank() != 0)
        return error() << "'--loss " << training.loss << "': output '" << output << "' is "
                       << function.getResultTypes()[i] << ", and a loss is one number";
      return target;
    }
  InFlightDiagnostic diagnostic = error() << "'--loss " << training.loss << "': ";
  if (isUnknown)
    diagnostic << "there is no loss '" << first << "'";
  else if (output.empty())
    diagnostic << "the model has " << results << " outputs: write which one, as in '--loss \"" << first << " OUTPUT\"'";
  else
    diagnostic << "there is no output '" << output << "'" << (target.loss ? "" : " and no loss of this name");
  std::string names;
  for (const LossRow &row : losses)
    names += (names.empty() ? "" : ", ") + row.name.str();
  std::string outputs;
  for (unsigned i = 0; i < results; ++i)
    outputs += (i ? ", " : "") + nameOf(i).str();
  diagnostic.attachNote() << "losses: " << names << "; outputs: " << outputs;
  return diagnostic;
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// What the model has beside the function, in the model language.
std::string ModelBuilder::textOf(const Target &target) {
  auto type = cast<RankedTensorType>(function.getResultTypes()[target.result]);
  std::string text = "dgc.model @model {\n%y = dgc.input \"y\" : " + import::textOf(type) + "\n";
  if (!target.loss) {
    text += "dgc.loss %y\n";
  } else {
    RankedTensorType other = type;
    const bool isOfClasses = target.loss->against == Against::Classes;
    if (isOfClasses && type.getRank() > 0)
      other = RankedTensorType::get(type.getShape().drop_back(), IntegerType::get(type.getContext(), 32));
    text +=
        "%t = dgc.input \"" + std::string(isOfClasses ? "label" : "target") + "\" : " + import::textOf(other) + "\n";
    text += "%loss = dgc." + target.loss->name.str() + " %y, %t\ndgc.loss %loss\n";
    if (isOfClasses)
      text += "%accuracy = dgc.accuracy %y, %t\ndgc.metric \"accuracy\" %accuracy\n";
  }
  return text + "dgc.optimizer " + training.optimizer + "\n}\n";
}

LogicalResult ModelBuilder::readPatterns() {
  for (StringRef text : llvm::split(training.frozen, ',')) {
    if (text.trim().empty())
      continue;
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(text.trim());
    if (!pattern)
      return error() << "'--freeze " << training.frozen << "': " << llvm::toString(pattern.takeError());
    if (llvm::none_of(module.getOps<StateOp>(), [&](StateOp state) { return pattern->match(state.getSymName()); }))
      return error() << "'--freeze " << training.frozen << "': no weight is called '" << text.trim() << "'";
    frozen.push_back(*std::move(pattern));
  }
  return success();
}

/// Whether it has an element that no weight has: masks do, which are added to scores.
static bool hasInfinite(ElementsAttr elements) {
  auto values = elements.tryGetValues<APFloat>();
  return values && llvm::any_of(*values, [](const APFloat &value) {
           return !value.isFinite() || abs(value).convertToDouble() >= 1e30 || value.isLargest();
         });
}

bool ModelBuilder::isFrozen(StateOp state) const {
  return state.getRole() != StateRole::Weight || hasInfinite(state.getInit().getElements()) ||
         llvm::any_of(frozen, [&](const llvm::GlobPattern &pattern) { return pattern.match(state.getSymName()); });
}

Value ModelBuilder::addVariable(OpBuilder &builder, BlockArgument argument, StateOp state) {
  auto variable = VariableOp::create(builder, argument.getLoc(), argument.getType(), state.getSymName(),
                                     state.getInit(), isFrozen(state), cast<RankedTensorType>(argument.getType()));
  return variable.getResult();
}

/// Moves the ops of the function in front of what the model has already.
void ModelBuilder::moveBody(ModelOp model, const Target &target) {
  Block &body = model.getBody().front(), &from = function.getBody().front();
  auto first = cast<InputOp>(body.front());
  Operation *end = from.getTerminator();
  OpBuilder builder(first);
  for (BlockArgument argument : from.getArguments()) {
    auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), kStateAttr);
    if (symbol) {
      auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(function, symbol);
      argument.replaceAllUsesWith(addVariable(builder, argument, state));
      continue;
    }
    auto name = dyn_cast<NameLoc>(argument.getLoc());
    auto type = cast<RankedTensorType>(argument.getType());
    auto input = InputOp::create(builder, argument.getLoc(), type,
                                 name ? name.getName() : builder.getStringAttr("in" + Twine(argument.getArgNumber())),
                                 /*batch=*/IntegerAttr(), TypeAttr::get(type));
    argument.replaceAllUsesWith(input.getResult());
  }
  for (Operation &op : llvm::make_early_inc_range(from.without_terminator()))
    op.moveBefore(first);
  first.getResult().replaceAllUsesWith(end->getOperand(target.result));
  first.erase();
  builder.setInsertionPointToEnd(&body);
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    if (target.loss || i != target.result)
      OutputOp::create(builder, function.getLoc(), builder.getStringAttr(nameOf(i)), value);
}

/// Freezes what the loss does not depend on, and removes what nothing does.
static void settleVariables(ModelOp model) {
  llvm::SetVector<Operation *> reached;
  for (LossOp loss : model.getBody().getOps<LossOp>())
    reached.insert(loss);
  for (size_t i = 0; i < reached.size(); ++i)
    for (Value operand : reached[i]->getOperands())
      reached.insert(operand.getDefiningOp());
  for (VariableOp variable : llvm::make_early_inc_range(model.getBody().getOps<VariableOp>())) {
    if (variable->use_empty())
      variable.erase();
    else if (!reached.contains(variable))
      variable.setFrozen(true);
  }
}

LogicalResult ModelBuilder::run() {
  FailureOr<Target> target = findTarget();
  if (failed(target) || failed(readPatterns()))
    return failure();
  // Its places are named by the flag, not by a file.
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(
      textOf(*target), ParserConfig(module.getContext(), /*verifyAfterParse=*/false), "--optimizer");
  if (!parsed)
    return error() << "'--optimizer \"" << training.optimizer << "\"' is none of the model language: write it as in a "
                   << "model, for example \"sgd learning_rate 0.1\" or \"adamw learning_rate 1e-3 weight_decay 0.01\"";
  auto model = cast<ModelOp>(parsed->getBody()->front());
  moveBody(model, *target);
  settleVariables(model);
  model->moveBefore(function);
  function.erase();
  for (StateOp state : llvm::make_early_inc_range(module.getOps<StateOp>()))
    state.erase();
  return verify(module);
}

LogicalResult buildTrainingModel(ModuleOp module, const Training &training) {
  return ModelBuilder(module, training).run();
}

} // namespace dgc::import
