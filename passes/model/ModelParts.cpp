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
    bool isFrozen = variable.getFrozen() || (model.optimizer && model.optimizer.freezes(variable.getName()));
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

LogicalResult dgc::chooseOptimizers(ModelParts &model) {
  OptimizerOp optimizer = model.optimizer;
  if (!optimizer)
    return success();
  if (failed(checkGroups(optimizer,
                         llvm::map_to_vector(model.variables, [](VariableParts &v) { return v.op.getName(); }))))
    return failure();
  for (VariableParts &variable : model.variables) {
    if (!variable.trained)
      continue;
    variable.optimizer = chooseOptimizer(optimizer, variable.op);
    if (!variable.optimizer)
      return failure();
    variable.fields =
        ownFields(findOptimizer(variable.optimizer, optimizer), optimizer.fieldsFor(variable.op.getName()));
  }
  return success();
}

/// What a variable is for.
static StateRole roleOf(const VariableParts &variable) {
  if (!variable.assigned)
    return StateRole::Weight;
  return variable.writtenIn == EntryKind::Evaluate ? StateRole::Total : StateRole::Statistic;
}

LogicalResult dgc::createStates(ModelParts &model) {
  OpBuilder builder(model.op);
  llvm::StringMap<Operation *> names;
  auto create = [&](VariableOp variable, const Twine &suffix, StateRole role, InitAttr init, int64_t rngId,
                    RankedTensorType type) -> StateOp {
    std::string name = (variable.getName() + suffix).str();
    if (!names.try_emplace(name, variable).second) {
      variable.emitError() << "the name \"" << name << "\" is taken: it is that of an optimizer's state";
      return {};
    }
    auto state = StateOp::create(builder, variable.getLoc(), name, role, init, rngId, type, StringAttr());
    state->setDiscardableAttrs(variable->getDiscardableAttrDictionary());
    if (type != variable.getDeclared()) // what is said of dimensions is of others
      for (StringRef name : {StringRef(dist::kShardingAttr), StringRef("dims")})
        state->removeDiscardableAttr(name);
    return state;
  };
  int64_t rngId = 0;
  for (VariableParts &variable : model.variables) {
    const StateRole role = roleOf(variable);
    // A running sum draws nothing: with it, all else has the random numbers that it has without.
    const int64_t id = role == StateRole::Total ? 0 : rngId++;
    variable.state = create(variable.op, "", role, variable.op.getInit(), id, variable.op.getDeclared());
    if (!variable.state)
      return failure();
  }
  for (VariableParts &variable : model.variables) {
    if (!variable.trained)
      continue;
    OptimizerDefOp optimizer = findOptimizer(variable.optimizer, model.optimizer);
    for (OptimizerStateAttr slot : statesOf(optimizer, variable.fields)) {
      InitAttr init = initOf(slot, optimizer, variable.fields);
      StateOp state = create(variable.op, "." + slot.getName().getValue(), StateRole::Slot, init, rngId++,
                             slot.typeFor(variable.op.getDeclared()));
      if (!state)
        return failure();
      variable.slots.push_back(state);
    }
    if (OptimizerOp(model.optimizer).getAverageAttr()) {
      StateOp weight = variable.state;
      variable.average =
          create(variable.op, ".average", StateRole::Slot, weight.getInit(), weight.getRngId(), weight.getTensorType());
      if (!variable.average)
        return failure();
      variable.average.setBeginsAs(weight.getSymName());
      variable.slots.push_back(variable.average);
    }
  }
  for (Operation &op : model.op.getBody().getOps())
    if (auto moded = dyn_cast<ModeOpInterface>(op); moded && moded.drawsRandomNumbers())
      model.rngIds[&op] = rngId++;
  return success();
}
