// Takes a model apart.

#include "passes/model/ModelParts.h"
#include "dialects/dgc/OptimizerDefinition.h"
#include "dialects/dist/AttributeNames.h"
#include "passes/model/RunningSums.h"
#include "passes/model/WeightGroups.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Taking the model apart
//===----------------------------------------------------------------------===//

llvm::SetVector<Operation *> dgc::dependences(ArrayRef<Value> values) {
  llvm::SetVector<Operation *> ops;
  for (Value value : values)
    ops.insert(value.getDefiningOp());
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands())
      ops.insert(operand.getDefiningOp());
  return ops;
}

FailureOr<ModelParts> dgc::takeApart(ModelOp op, int64_t batch) {
  FailureOr<RunningSums> sums = replaceRunningSums(op);
  if (failed(sums))
    return failure();
  ModelParts model;
  model.lastValues = std::move(sums->metrics);
  model.op = op;
  model.batch = batch;
  Block &body = op.getBody().front();
  llvm::append_range(model.inputs, body.getOps<InputOp>());
  llvm::append_range(model.metrics, body.getOps<MetricOp>());
  llvm::append_range(model.outputs, body.getOps<OutputOp>());
  for (LossOp loss : body.getOps<LossOp>())
    model.loss = loss;
  for (OptimizerOp optimizer : body.getOps<OptimizerOp>())
    model.optimizer = optimizer;

  llvm::DenseMap<Value, AssignOp> assigned;
  for (AssignOp assign : body.getOps<AssignOp>())
    assigned[assign.getVariable()] = assign;
  llvm::SetVector<Operation *> reached;
  if (model.loss)
    reached = dependences(model.loss.getValue());
  for (VariableOp variable : body.getOps<VariableOp>()) {
    AssignOp assign = assigned.lookup(variable.getResult());
    bool isFrozen = variable.getFrozen() || (model.optimizer && model.optimizer.freezes(variable.getPartName()));
    bool trained = !assign && !isFrozen && reached.contains(variable);
    VariableParts &parts = model.variables.emplace_back();
    parts.op = variable;
    parts.trained = trained;
    if (Value sum = sums->valueOf.lookup(variable.getOperation())) {
      parts.assigned = sum;
      parts.writtenIn = EntryKind::Evaluate;
    } else if (assign) {
      parts.assigned = assign.getValue();
      parts.writtenIn = assign.getInPredict() ? EntryKind::Predict : EntryKind::Train;
    }
  }
  return model;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// The names under which a variable is known: of a stacked one those of its parts.
static void appendNames(VariableOp variable, SmallVectorImpl<std::string> &names) {
  SmallVector<std::string> found{variable.getName().str()};
  for (int64_t size : variable.getDeclared().getShape().take_front(variable.getStacked())) {
    SmallVector<std::string> next;
    for (const std::string &name : found)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(std::string(name).replace(name.find('*'), 1, std::to_string(i)));
    found = std::move(next);
  }
  llvm::append_range(names, found);
}

LogicalResult dgc::chooseOptimizers(ModelParts &model) {
  OptimizerOp optimizer = model.optimizer;
  if (!optimizer)
    return success();
  SmallVector<std::string> names;
  for (VariableParts &variable : model.variables)
    appendNames(variable.op, names);
  if (failed(checkGroups(optimizer, llvm::to_vector_of<StringRef>(names))))
    return failure();
  for (VariableParts &variable : model.variables) {
    if (!variable.trained)
      continue;
    variable.optimizer = chooseOptimizer(optimizer, variable.op);
    if (!variable.optimizer)
      return failure();
    variable.fields =
        ownFields(findOptimizer(variable.optimizer, optimizer), optimizer.fieldsFor(variable.op.getPartName()));
  }
  return success();
}

/// What a variable is for.
static StateRole roleOf(const VariableParts &variable) {
  if (!variable.assigned)
    return StateRole::Weight;
  return variable.writtenIn == EntryKind::Evaluate ? StateRole::Total : StateRole::Statistic;
}

namespace {
/// Numbers the random numbers of variables: in the order of the model as it is with all repeats written out.
class RngIds {
public:
  struct Ids {
    int64_t first = 0;
    SmallVector<int64_t> strides;
  };

  /// Those of variables that begin with `next`, by variable.
  llvm::DenseMap<Operation *, Ids> number(ArrayRef<VariableOp> variables, int64_t &next) {
    next = number(variables, next, {});
    return std::move(ids);
  }

  /// How many variables a stacked one is without its first `depth` dimensions.
  static int64_t countOf(VariableOp variable, int64_t depth = 0) {
    return ShapedType::getNumElements(
        variable.getDeclared().getShape().slice(depth, static_cast<int64_t>(variable.getStacked()) - depth));
  }

private:
  /// `strides`: of the repeats that the variables are in. Returns the number after the last one.
  int64_t number(ArrayRef<VariableOp> variables, int64_t next, const SmallVector<int64_t> &strides) {
    const auto depth = static_cast<int64_t>(strides.size());
    while (!variables.empty()) {
      VariableOp first = variables.front();
      if (static_cast<int64_t>(first.getStacked()) == depth) {
        ids[first] = {next++, strides};
        variables = variables.drop_front();
        continue;
      }
      ArrayRef<VariableOp> together =
          variables.take_while([&](VariableOp each) { return areInOneRepeat(first, each, depth); });
      int64_t each = 0;
      for (VariableOp variable : together)
        each += countOf(variable, depth + 1);
      SmallVector<int64_t> inner(strides);
      inner.push_back(each);
      number(together, next, inner);
      next += each * first.getDeclared().getDimSize(depth);
      variables = variables.drop_front(together.size());
    }
    return next;
  }

  /// Whether the names agree up to the `*` of the dimension `depth`.
  static bool areInOneRepeat(VariableOp a, VariableOp b, int64_t depth) {
    if (static_cast<int64_t>(b.getStacked()) <= depth ||
        a.getDeclared().getDimSize(depth) != b.getDeclared().getDimSize(depth))
      return false;
    size_t end = 0;
    for (int64_t i = 0; i <= depth; ++i)
      end = a.getName().find('*', end) + 1;
    return a.getName().take_front(end) == b.getName().take_front(end);
  }

  llvm::DenseMap<Operation *, Ids> ids;
};
} // namespace

/// Numbers the ops of a region that draw random numbers, those of the rounds of a scan one after the other. Returns the
/// number after the last one.
static int64_t numberDraws(Region &region, ModelParts &model, int64_t next) {
  for (Operation &op : region.getOps()) {
    if (auto moded = dyn_cast<ModeOpInterface>(op); moded && moded.drawsRandomNumbers())
      model.rngIds[&op] = next++;
    auto scan = dyn_cast<ScanOp>(op);
    if (!scan)
      continue;
    const int64_t each = numberDraws(scan.getBody(), model, next) - next;
    if (each > 0)
      model.rngStrides[&op] = each;
    next += each * scan.getNumRounds();
  }
  return next;
}

LogicalResult dgc::createStates(ModelParts &model) {
  OpBuilder builder(model.op);
  llvm::StringMap<Operation *> names;
  auto create = [&](VariableOp variable, const Twine &suffix, StateRole role, InitAttr init, const RngIds::Ids &ids,
                    RankedTensorType type) -> StateOp {
    std::string name = (variable.getName() + suffix).str();
    if (!names.try_emplace(name, variable).second) {
      variable.emitError() << "the name \"" << name << "\" is taken: it is that of an optimizer's state";
      return {};
    }
    auto state = StateOp::create(builder, variable.getLoc(), name, role, init, ids.first, type, StringAttr());
    if (!ids.strides.empty())
      state.setRngStrides(ids.strides);
    state->setDiscardableAttrs(variable->getDiscardableAttrDictionary());
    if (type != variable.getDeclared()) // what is said of dimensions is of others
      for (StringRef name : {StringRef(dist::kShardingAttr), StringRef("dims")})
        state->removeDiscardableAttr(name);
    return state;
  };
  int64_t rngId = 0;
  SmallVector<VariableOp> drawing; // a running sum draws nothing: with it, all else draws what it draws without
  for (VariableParts &variable : model.variables)
    if (roleOf(variable) != StateRole::Total)
      drawing.push_back(variable.op);
  llvm::DenseMap<Operation *, RngIds::Ids> ids = RngIds().number(drawing, rngId);
  for (VariableParts &variable : model.variables) {
    variable.state = create(variable.op, "", roleOf(variable), variable.op.getInit(), ids.lookup(variable.op),
                            variable.op.getDeclared());
    if (!variable.state)
      return failure();
  }
  /// Those of one more state of a variable.
  auto take = [&](VariableOp variable) {
    RngIds::Ids next{rngId, {}};
    for (int64_t i = 0; i < static_cast<int64_t>(variable.getStacked()); ++i)
      next.strides.push_back(RngIds::countOf(variable, i + 1));
    rngId += RngIds::countOf(variable);
    return next;
  };
  for (VariableParts &variable : model.variables) {
    if (!variable.trained)
      continue;
    OptimizerDefOp optimizer = findOptimizer(variable.optimizer, model.optimizer);
    for (OptimizerStateAttr slot : statesOf(optimizer, variable.fields)) {
      InitAttr init = initOf(slot, optimizer, variable.fields);
      RankedTensorType part = slot.typeFor(variable.op.getPartType());
      SmallVector<int64_t> shape(variable.op.getDeclared().getShape().take_front(variable.op.getStacked()));
      llvm::append_range(shape, part.getShape());
      StateOp state = create(variable.op, "." + slot.getName().getValue(), StateRole::Slot, init, take(variable.op),
                             part.clone(shape));
      if (!state)
        return failure();
      variable.slots.push_back(state);
    }
    if (OptimizerOp(model.optimizer).getAverageAttr()) {
      StateOp weight = variable.state;
      variable.average = create(variable.op, ".average", StateRole::Slot, weight.getInit(), ids.lookup(variable.op),
                                weight.getTensorType());
      if (!variable.average)
        return failure();
      variable.average.setBeginsAs(weight.getSymName());
      variable.slots.push_back(variable.average);
    }
  }
  numberDraws(model.op.getBody(), model, rngId);
  return success();
}
