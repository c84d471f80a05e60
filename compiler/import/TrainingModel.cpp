// A forward function that was imported as a model that is trained.

#include "compiler/import/TrainingModel.h"
#include "compiler/import/EntrySignature.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
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
  FailureOr<Target> findTarget();
  std::string textOf(const Target &target);
  LogicalResult readPatterns();
  LogicalResult checkInputs();
  bool isFrozen(StateOp state) const;
  Value addInput(OpBuilder &builder, BlockArgument argument);
  void moveBody(ModelOp model, const Target &target);
  void addResults(ModelOp model, const Target &target);
  LogicalResult settleVariables(ModelOp model);

  ModuleOp module;
  const Training &training;
  func::FuncOp function;
  EntrySignature signature;
  SmallVector<llvm::GlobPattern> frozen;
};

} // namespace

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
    if (!isUnknown && !output.empty() && signature.resultNames[i] == output) {
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
    outputs += (i ? ", " : "") + signature.resultNames[i];
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

StateOp declaredState(func::FuncOp function, unsigned argument) {
  auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(argument, kStateAttr);
  return symbol ? SymbolTable::lookupNearestSymbolFrom<StateOp>(function, symbol) : StateOp();
}

bool isFixed(StateOp state) {
  return state.getRole() != StateRole::Weight || !isa<FloatType>(state.getType().getElementType()) ||
         hasInfinite(state.getInit().getElements());
}

bool ModelBuilder::isFrozen(StateOp state) const {
  return !state || isFixed(state) ||
         llvm::any_of(frozen, [&](const llvm::GlobPattern &pattern) { return pattern.match(state.getSymName()); });
}

/// A sharding that the program gives an argument is that of the input or variable.
static void takeSharding(func::FuncOp function, BlockArgument argument, Operation *member) {
  if (Attribute sharding = function.getArgAttr(argument.getArgNumber(), dist::kShardingAttr))
    member->setAttr(dist::kShardingAttr, sharding);
}

VariableOp createVariable(OpBuilder &builder, func::FuncOp function, const EntrySignature &signature, unsigned argument,
                          bool isFrozen) {
  BlockArgument value = function.getArgument(argument);
  StateOp state = declaredState(function, argument);
  auto init = state ? state.getInit() : InitAttr::get(builder.getContext(), InitKind::Zeros);
  auto variable =
      VariableOp::create(builder, value.getLoc(), value.getType(), signature.argumentNames[argument], init,
                         isFrozen && signature.resultOf[argument] < 0, cast<RankedTensorType>(value.getType()));
  takeSharding(function, value, variable);
  return variable;
}

Value ModelBuilder::addInput(OpBuilder &builder, BlockArgument argument) {
  const unsigned i = argument.getArgNumber();
  auto type = cast<RankedTensorType>(argument.getType());
  const int64_t batch = signature.batchDims[i];
  auto input = InputOp::create(builder, argument.getLoc(), type, builder.getStringAttr(signature.argumentNames[i]),
                               batch > 0 ? builder.getI64IntegerAttr(batch) : IntegerAttr(), TypeAttr::get(type));
  takeSharding(function, argument, input);
  return input.getResult();
}

/// Moves the ops of the function in front of what the model has already.
void ModelBuilder::moveBody(ModelOp model, const Target &target) {
  Block &body = model.getBody().front(), &from = function.getBody().front();
  auto first = cast<InputOp>(body.front());
  OpBuilder builder(first);
  for (BlockArgument argument : from.getArguments()) {
    const bool isState = signature.isState[argument.getArgNumber()];
    if (isState) {
      const unsigned number = argument.getArgNumber();
      const bool frozen = isFrozen(declaredState(function, number));
      argument.replaceAllUsesWith(createVariable(builder, function, signature, number, frozen).getResult());
    } else {
      argument.replaceAllUsesWith(addInput(builder, argument));
    }
  }
  for (Operation &op : llvm::make_early_inc_range(from.without_terminator()))
    op.moveBefore(first);
  first.getResult().replaceAllUsesWith(from.getTerminator()->getOperand(target.result));
  first.erase();
}

/// Results that are new values are assigned, others are outputs of the model, but for the loss.
void ModelBuilder::addResults(ModelOp model, const Target &target) {
  Block &body = model.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  llvm::StringMap<Value> variables;
  for (VariableOp variable : body.getOps<VariableOp>())
    variables[variable.getName()] = variable.getResult();
  for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
    if (const int64_t argument = signature.argumentOf[i]; argument >= 0)
      AssignOp::create(builder, function.getLoc(), variables[signature.argumentNames[argument]], value);
    else if (target.loss || i != target.result)
      OutputOp::create(builder, function.getLoc(), builder.getStringAttr(signature.resultNames[i]), value);
  }
}

/// Whether no gradient goes through the op: its result is not of floats, or changes in steps.
static bool stopsGradients(Operation *op) {
  auto isFloat = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || isa<FloatType>(tensor.getElementType());
  };
  return isa<RoundNearestEvenOp, RoundNearestAfzOp, FloorOp, CeilOp, SignOp>(op) ||
         llvm::none_of(op->getResultTypes(), isFloat);
}

/// What losses depend on, through ops that gradients go through or, `all`, through every one.
static llvm::SetVector<Operation *> dependences(ModelOp model, bool all) {
  llvm::SetVector<Operation *> reached;
  for (LossOp loss : model.getBody().getOps<LossOp>())
    reached.insert(loss);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (!all && stopsGradients(reached[i]) && !isa<LossOp>(reached[i]))
      continue;
    reached[i]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *definition = operand.getDefiningOp())
          reached.insert(definition);
    });
  }
  return reached;
}

/// Freezes what the loss does not depend on, or in steps alone, and removes what nothing does. An error where nothing is left to
/// train.
LogicalResult ModelBuilder::settleVariables(ModelOp model) {
  const llvm::SetVector<Operation *> reached = dependences(model, /*all=*/true);
  const llvm::SetVector<Operation *> sloped = dependences(model, /*all=*/false);
  std::string rounded;
  bool isTrained = false;
  for (VariableOp variable : llvm::make_early_inc_range(model.getBody().getOps<VariableOp>())) {
    const bool isAssigned = llvm::any_of(variable->getUsers(), llvm::IsaPred<AssignOp>);
    if (variable->use_empty()) {
      variable.erase();
    } else if (!sloped.contains(variable) && !isAssigned) {
      if (reached.contains(variable) && !variable.getFrozen())
        rounded += (rounded.empty() ? "'" : ", '") + variable.getName().str() + "'";
      variable.setFrozen(true);
    } else {
      isTrained |= !variable.getFrozen() && !isAssigned;
    }
  }
  if (!rounded.empty())
    function.emitWarning() << "'--loss " << training.loss << "': " << rounded
                           << " remain as they are: the loss depends on what they are rounded to alone, as by "
                              "QuantizeLinear, and has no gradient. Export the model before it is quantized";
  if (isTrained)
    return success();
  return error() << "'--loss " << training.loss
                 << "': the loss depends on no weight. Weights are initializers of floats of an "
                 << "ONNX model, and arguments of floats of another program that --signature gives an initial value";
}

/// In a model each input has examples.
LogicalResult ModelBuilder::checkInputs() {
  for (BlockArgument argument : function.getArguments()) {
    const unsigned i = argument.getArgNumber();
    if (!signature.isState[i] && signature.batchDims[i] < 0)
      return error() << "'--loss " << training.loss << "': input '" << signature.argumentNames[i] << "', "
                     << argument.getType() << ", has no dimension that is the batch of all inputs: --signature says "
                     << "which dimension it is, or gives a weight its initial value";
  }
  return success();
}

LogicalResult ModelBuilder::run() {
  FailureOr<EntrySignature> read = signatureOf(function);
  if (failed(read))
    return failure();
  signature = *std::move(read);
  FailureOr<Target> target = findTarget();
  if (failed(target) || failed(readPatterns()) || failed(checkInputs()))
    return failure();
  // Its places are named by the flag, not by a file.
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(
      textOf(*target), ParserConfig(module.getContext(), /*verifyAfterParse=*/false), "--optimizer");
  if (!parsed)
    return error() << "'--optimizer \"" << training.optimizer << "\"' is none of the model language: write it as in a "
                   << "model, for example \"sgd learning_rate 0.1\" or \"adamw learning_rate 1e-3 weight_decay 0.01\"";
  auto model = cast<ModelOp>(parsed->getBody()->front());
  moveBody(model, *target);
  addResults(model, *target);
  if (failed(settleVariables(model)))
    return failure();
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
