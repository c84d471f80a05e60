// dgc-build-entry-points: makes functions of a model.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dgc/OptimizerDefinition.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/model/ModelParts.h"
#include "passes/model/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace dgc {
#define GEN_PASS_DEF_BUILDENTRYPOINTSPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

/// Where the arguments of an entry point are, in this order.
struct Arguments {
  size_t states, slots, inputs, validCount, step, seed;
};

/// A result of an entry point with its attributes.
struct Result {
  Value value;
  DictionaryAttr attributes;
};

/// Builds one function from the part of the model that it needs.
class EntryPoint {
public:
  EntryPoint(ModelParts &model, StringRef name, bool training) : model(model), training(training), builder(model.op) {
    createFunction(name);
  }

  void copyForward(ArrayRef<Value> roots);
  void train();
  void assign(EntryKind entry);
  void addResult(Value value, StringRef name, StringRef role, Operation *member = nullptr);
  void addResultOfExamples(Value value, StringRef name, StringRef role, Operation *member = nullptr);
  void addMetric(MetricOp metric);
  func::FuncOp finish();

private:
  void createFunction(StringRef name);
  void addArgument(Type type, Location location, ArrayRef<NamedAttribute> attributes);
  void addStateResult(Value value, StateOp state);
  void setMode(Operation *original, Operation *copy, Value seed, Value step);
  void setModes(ScanOp original, ScanOp copy, Value seed, Value step);
  SmallVector<Value> computeGradients(ArrayRef<VariableParts *> trained);
  SmallVector<Value> apply(VariableParts &variable, ValueRange changing, Value rate, Value step, int64_t stacked);
  Value rateFor(VariableParts &variable, Value rate);
  void update(VariableParts &variable, size_t firstSlot, Value gradient, Value rate);
  Value average(Value before, Value weight);

  StringRef functionOf(MetricOp metric) const;
  void set(Result &result, StringRef name, Attribute value) {
    NamedAttrList attributes(result.attributes);
    attributes.set(name, value);
    result.attributes = attributes.getDictionary(builder.getContext());
  }

  NamedAttribute attribute(StringRef name, Attribute value) { return builder.getNamedAttr(name, value); }
  NamedAttribute attribute(StringRef name, StringRef value) { return attribute(name, builder.getStringAttr(value)); }
  Value argument(size_t index) { return function.getArgument(index); }

  ModelParts &model;
  bool training;
  OpBuilder builder;
  func::FuncOp function;
  SmallVector<Type> argumentTypes;
  SmallVector<Location> argumentLocations;
  SmallVector<DictionaryAttr> argumentAttributes;
  Arguments at;
  IRMapping mapping;
  SmallVector<Result> results;
};

} // namespace

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// The attributes of other dialects on a member of the model are copied to the arguments and results that replace it.
static void addAnnotations(Operation *member, SmallVectorImpl<NamedAttribute> &attributes) {
  for (NamedAttribute attribute : member->getDiscardableAttrs())
    if (attribute.getNameDialect() && !isa<DGCDialect>(attribute.getNameDialect()))
      attributes.push_back(attribute);
}

void EntryPoint::addArgument(Type type, Location location, ArrayRef<NamedAttribute> attributes) {
  argumentTypes.push_back(type);
  argumentLocations.push_back(location);
  argumentAttributes.push_back(builder.getDictionaryAttr(attributes));
}

/// Makes a function that takes everything; `finish` removes what is not used.
void EntryPoint::createFunction(StringRef name) {
  Location location = model.op.getLoc();
  auto addState = [&](StateOp state) {
    SmallVector<NamedAttribute> attributes{attribute(kStateAttr, FlatSymbolRefAttr::get(state.getSymNameAttr()))};
    addAnnotations(state, attributes);
    addArgument(state.getTensorType(), state.getLoc(), attributes);
  };
  at.states = 0;
  for (VariableParts &variable : model.variables)
    addState(variable.state);
  at.slots = argumentTypes.size();
  for (VariableParts &variable : model.variables)
    for (StateOp slot : variable.slots)
      addState(slot);
  at.inputs = argumentTypes.size();
  for (InputOp input : model.inputs) {
    SmallVector<NamedAttribute> attributes{attribute(kInputAttr, input.getName()), attribute(kRoleAttr, "data")};
    if (std::optional<int64_t> dim = input.getBatchDim())
      attributes.push_back(attribute(kBatchDimAttr, builder.getI64IntegerAttr(*dim)));
    addAnnotations(input, attributes);
    addArgument(input.getType(), input.getLoc(), attributes);
  }
  auto addScalar = [&](StringRef role, unsigned width) {
    addArgument(RankedTensorType::get({}, builder.getIntegerType(width)), location,
                {attribute(kInputAttr, role), attribute(kRoleAttr, role)});
    return argumentTypes.size() - 1;
  };
  at.validCount = addScalar("valid_count", 32);
  at.step = addScalar("step", 64);
  at.seed = addScalar("seed", 64);

  function = func::FuncOp::create(builder, location, name, builder.getFunctionType(argumentTypes, {}));
  Block *entry = builder.createBlock(&function.getBody(), {}, argumentTypes, argumentLocations);
  builder.setInsertionPointToStart(entry);
  size_t slotsEnd = at.slots;
  for (auto [i, variable] : llvm::enumerate(model.variables)) {
    slotsEnd += variable.slots.size();
    const bool usesAverage = variable.average && !training;
    mapping.map(variable.op->getResult(0), argument(usesAverage ? slotsEnd - 1 : at.states + i));
  }
  for (auto [i, input] : llvm::enumerate(model.inputs))
    mapping.map(input->getResult(0), argument(at.inputs + i));
}

/// Tells a copied op what depends on the entry point: whether it trains, and the keys of random numbers.
void EntryPoint::setMode(Operation *original, Operation *copy, Value seed, Value step) {
  if (auto moded = dyn_cast<ModeOpInterface>(copy)) {
    moded.setMode(training, seed, step, model.rngIds.lookup(original));
    copy->removeAttr(kDrawAttr);
  }
  if (model.rngStrides.contains(original))
    setModes(cast<ScanOp>(original), cast<ScanOp>(copy), seed, step);
}

/// Tells the ops in a scan, which takes what they need as further operands. A round has ids that are larger by a constant
/// than those of the round before. As the step is added to 2^40 times the id where random bits are made, this is a step that
/// is larger by 2^40 times the constant.
void EntryPoint::setModes(ScanOp original, ScanOp copy, Value seed, Value step) {
  Block &body = copy.getBody().front();
  Location location = copy.getLoc();
  const unsigned at = copy.getCarried().size() + copy.getScanned().size();
  // The steps are a tensor with the dimension that the scan goes along as its last one.
  const auto dim = static_cast<int64_t>(copy.getDimension());
  const SmallVector<int64_t> ones(dim, 1);
  Value seedInside = body.addArgument(seed.getType(), location);
  Value slice = body.insertArgument(at, RankedTensorType::get(ones, builder.getI64Type()), location);
  {
    OpBuilder::InsertionGuard guard(builder);
    auto originals = llvm::to_vector(llvm::make_pointer_range(original.getBody().getOps()));
    auto copies = llvm::to_vector(llvm::make_pointer_range(body));
    builder.setInsertionPointToStart(&body);
    Value stepInside = CompositeBuilder(builder, location).reshape(slice, {});
    for (auto [op, copied] : llvm::zip_equal(originals, copies))
      setMode(op, copied, seedInside, stepInside);
    if (Operation *reshape = stepInside.getDefiningOp(); reshape && stepInside.use_empty())
      reshape->erase();
  }
  if (seedInside.use_empty()) { // as outside of training
    body.eraseArgument(cast<BlockArgument>(seedInside).getArgNumber());
    body.eraseArgument(cast<BlockArgument>(slice).getArgNumber());
    return;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(copy);
  CompositeBuilder b(builder, location);
  const int64_t rounds = copy.getNumRounds();
  const double stride = std::ldexp(static_cast<double>(model.rngStrides.lookup(original)), 40);
  Value round = b.iota({rounds}, builder.getI64Type(), 0);
  Value steps = b.add(b.multiply(round, stride), b.broadcastScalar(step, {rounds}));
  SmallVector<int64_t> shape(ones);
  shape.push_back(rounds);
  copy.getScannedMutable().append(b.reshape(steps, shape));
  copy.getInvariantsMutable().append(seed);
  copy.removeCountAttr();
}

/// The location of an op, with a name for what it computes: `relu`, and `features.relu` in the block `features`. An op
/// is in the block that its attribute or, in the round of a repeat, its location names.
static Location namedLocation(Operation *op) {
  SmallVector<std::string> names;
  Location location = op->getLoc();
  if (auto round = dyn_cast<NameLoc>(location)) {
    names.push_back(round.getName().str());
    location = round.getChildLoc();
  }
  if (auto block = op->getAttrOfType<StringAttr>("block"))
    names.push_back(block.str());
  names.push_back(op->getName().stripDialect().str());
  return NameLoc::get(StringAttr::get(op->getContext(), llvm::join(names, ".")), location);
}

/// Copies the ops of the model that the roots depend on, in their order.
void EntryPoint::copyForward(ArrayRef<Value> roots) {
  llvm::SetVector<Operation *> needed = dependences(roots);
  for (Operation &op : model.op.getBody().getOps())
    if (needed.contains(&op) && !isa<InputOp, VariableOp>(op)) {
      Operation *copy = builder.clone(op, mapping);
      copy->walk([](Operation *each) { // and what is in a loop or branch
        each->setLoc(namedLocation(each));
        each->removeAttr("block");
      });
      setMode(&op, copy, argument(at.seed), argument(at.step));
    }
}

void EntryPoint::addResult(Value value, StringRef name, StringRef role, Operation *member) {
  SmallVector<NamedAttribute> attributes{attribute(kOutputAttr, name), attribute(kRoleAttr, role)};
  if (member)
    addAnnotations(member, attributes);
  results.push_back({mapping.lookup(value), builder.getDictionaryAttr(attributes)});
}

/// A result that may have a row for each example; dgc-mask-padding knows better, where it runs.
void EntryPoint::addResultOfExamples(Value value, StringRef name, StringRef role, Operation *member) {
  addResult(value, name, role, member);
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() > 0 && model.batch > 0 && type.getDimSize(0) == model.batch)
    set(results.back(), kBatchDimAttr, builder.getI64IntegerAttr(0));
}

/// A quotient is two results: the runtime divides them once they are added up over all batches. Of an area it gets the
/// logits and labels of each batch.
void EntryPoint::addMetric(MetricOp metric) {
  auto add = metric.getAreaUnderCurve() ? &EntryPoint::addResultOfExamples : &EntryPoint::addResult;
  (this->*add)(metric.getValue(), metric.getName(), "metric", nullptr);
  if (StringRef function = functionOf(metric); !function.empty())
    set(results.back(), kFunctionAttr, builder.getStringAttr(function));
  if (!metric.getSecond())
    return;
  set(results.back(), kOverAttr, builder.getStringAttr(metric.getSecondName()));
  (this->*add)(metric.getSecond(), metric.getSecondName(), "metric", nullptr);
}

/// What is reported of a metric; empty: its mean or quotient.
StringRef EntryPoint::functionOf(MetricOp metric) const {
  if (metric.getAreaUnderCurve())
    return "area_under_curve";
  if (model.lastValues.contains(metric.getOperation()))
    return "last";
  return metric.getExp() ? "exponential" : metric.getSqrt() ? "square_root" : "";
}

void EntryPoint::addStateResult(Value value, StateOp state) {
  SmallVector<NamedAttribute> attributes{attribute(kStateAttr, FlatSymbolRefAttr::get(state.getSymNameAttr()))};
  addAnnotations(state, attributes);
  results.push_back({value, builder.getDictionaryAttr(attributes)});
}

/// The gradients of the loss, clipped if the optimizer says so.
SmallVector<Value> EntryPoint::computeGradients(ArrayRef<VariableParts *> trained) {
  SmallVector<Value> weights;
  for (VariableParts *variable : trained)
    weights.push_back(mapping.lookup(variable->op->getResult(0)));
  Location location = model.loss.getLoc();
  auto gradient = GradientOp::create(builder, location, mapping.lookup(model.loss.getValue()), weights);
  SmallVector<Value> gradients(gradient.getResults());
  OptimizerOp optimizer = model.optimizer;
  if (FloatAttr max = optimizer.getClipGlobalNormAttr()) {
    auto clip = ClipByGlobalNormOp::create(builder, optimizer.getLoc(), gradients, max);
    gradients.assign(clip.getResults().begin(), clip.getResults().end());
  }
  return gradients;
}

/// The moving average of a weight with its new value. In the first steps it is the mean of all values.
Value EntryPoint::average(Value before, Value weight) {
  OptimizerOp optimizer = model.optimizer;
  CompositeBuilder b(builder, optimizer.getLoc());
  Type f32 = builder.getF32Type();
  Value step = b.convert(argument(at.step), f32);
  Value decay = b.minimum(b.scalar(optimizer.getAverageAttr().getValueAsDouble(), f32),
                          b.divide(step, b.add(step, b.scalar(1, f32))));
  RankedTensorType type = tensorOf(weight);
  Type compute = computeType(type.getElementType());
  Value kept = b.broadcastScalar(b.convert(decay, compute), type.getShape());
  Value old = b.convert(before, compute), now = b.convert(weight, compute);
  return b.convert(b.add(now, b.multiply(kept, b.subtract(old, now))), type.getElementType());
}

/// The new weight and the new states. `changing`: the weight, its gradient and its states. An optimizer that looks at a
/// weight as a whole looks at each part of a stacked one, of which `stacked` dimensions are left.
SmallVector<Value> EntryPoint::apply(VariableParts &variable, ValueRange changing, Value rate, Value step,
                                     int64_t stacked) {
  Location location = OptimizerOp(model.optimizer).getLoc();
  if (stacked == 0 || findOptimizer(variable.optimizer, model.optimizer).isElementwise())
    return llvm::to_vector_of<Value>(ApplyOptimizerOp::create(builder, location, variable.optimizer, variable.fields,
                                                              changing[0], changing[1], rate, step,
                                                              changing.drop_front(2))
                                         ->getResults());
  SmallVector<Type> types{changing[0].getType()};
  llvm::append_range(types, changing.drop_front(2).getTypes());
  auto scan = ScanOp::create(builder, location, types, ValueRange(), changing, ValueRange{step}, /*dimension=*/0,
                             /*reverse=*/false, /*count=*/IntegerAttr(), /*saves=*/false, /*saved=*/0,
                             /*recomputes=*/false);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&scan.getBody());
  for (Value value : changing) {
    RankedTensorType type = tensorOf(value);
    body->addArgument(type.clone(type.getShape().drop_front()), location);
  }
  // The rate anew: a constant one is folded with what the optimizer multiplies it by, as it is outside of a loop.
  Value stepInside = body->addArgument(step.getType(), location);
  rate = rateFor(variable,
                 LearningRateOp::create(builder, location, stepInside, OptimizerOp(model.optimizer).getLearningRate()));
  YieldOp::create(builder, location, apply(variable, scan.scannedInside(), rate, stepInside, stacked - 1));
  return llvm::to_vector_of<Value>(scan->getResults());
}

/// The learning rate of a variable, from that of the optimizer.
Value EntryPoint::rateFor(VariableParts &variable, Value rate) {
  WeightGroupAttr group = OptimizerOp(model.optimizer).groupOf(variable.op.getPartName());
  if (!group || !group.getRateFactor())
    return rate;
  return CompositeBuilder(builder, rate.getLoc()).multiply(rate, group.getRateFactor().getValueAsDouble());
}

/// Applies the optimizer to one weight.
void EntryPoint::update(VariableParts &variable, size_t firstSlot, Value gradient, Value rate) {
  Value weight = mapping.lookup(variable.op->getResult(0));
  rate = rateFor(variable, rate);
  SmallVector<Value> slots;
  for (size_t i = 0; i < variable.slots.size() - (variable.average ? 1 : 0); ++i)
    slots.push_back(argument(firstSlot + i));
  SmallVector<Value> changing{weight, gradient};
  llvm::append_range(changing, slots);
  SmallVector<Value> applied = apply(variable, changing, rate, argument(at.step), variable.op.getStacked());
  addStateResult(applied.front(), variable.state);
  for (auto [slot, value] : llvm::zip(variable.slots, llvm::drop_begin(applied)))
    addStateResult(value, slot);
  if (variable.average)
    addStateResult(average(argument(firstSlot + slots.size()), applied.front()), variable.average);
}

/// Adds gradient, update and assignments; their results come first.
void EntryPoint::train() {
  SmallVector<VariableParts *> trained;
  for (VariableParts &variable : model.variables)
    if (variable.trained)
      trained.push_back(&variable);
  if (!trained.empty()) {
    SmallVector<Value> gradients = computeGradients(trained);
    OptimizerOp optimizer = model.optimizer;
    Value rate = LearningRateOp::create(builder, optimizer.getLoc(), argument(at.step), optimizer.getLearningRate());
    size_t slot = at.slots;
    for (auto [variable, gradient] : llvm::zip_equal(trained, gradients)) {
      update(*variable, slot, gradient, rate);
      slot += variable->slots.size();
    }
  }
  assign(EntryKind::Train);
}

/// Adds the new values of the variables that this entry point writes.
void EntryPoint::assign(EntryKind entry) {
  for (VariableParts &variable : model.variables)
    if (variable.assigned && variable.writtenIn == entry)
      addStateResult(mapping.lookup(variable.assigned), variable.state);
}

/// Ends the function, and takes away the arguments that it does not use. The count of real examples stays:
/// dgc-mask-padding uses it, or takes it away.
func::FuncOp EntryPoint::finish() {
  SmallVector<Value> values;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (const Result &result : results) {
    values.push_back(result.value);
    types.push_back(result.value.getType());
    attributes.push_back(result.attributes);
  }
  func::ReturnOp::create(builder, model.op.getLoc(), values);
  function.setFunctionType(builder.getFunctionType(argumentTypes, types));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(attributes);
  BitVector unused(argumentTypes.size());
  for (BlockArgument each : function.getArguments())
    unused[each.getArgNumber()] = each.use_empty() && each.getArgNumber() != at.validCount;
  (void)function.eraseArguments(unused);
  function->setAttr(kPaddedAttr, builder.getUnitAttr());
  return function;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Reports what this pass cannot start from.
static LogicalResult checkInput(ModuleOp module, ArrayRef<ModelOp> models) {
  if (models.size() > 1) {
    InFlightDiagnostic error = models[1]->emitError("a module holds one model: put this one in a file of its own");
    error.attachNote(models[0]->getLoc()) << "the first one is here";
    return failure();
  }
  for (StringRef name : {"train", "evaluate", "predict"})
    if (Operation *op = module.lookupSymbol(name))
      return op->emitError() << "the name @" << name << " is that of an entry point of the model @"
                             << ModelOp(models[0]).getSymName() << ": choose another";
  for (Operation &op : ModelOp(models[0]).getBody().getOps())
    if (anyUntyped(op.getOperands()) || anyUntyped(op.getResults()))
      return op.emitError("this op is not typed yet: run dgc-infer-types first");
  return success();
}

namespace {
struct BuildEntryPointsPass : dgc::impl::BuildEntryPointsPassBase<BuildEntryPointsPass> {
  void runOnOperation() override {
    auto models = llvm::to_vector(getOperation().getOps<ModelOp>());
    if (models.empty())
      return;
    if (failed(checkInput(getOperation(), models)))
      return signalPassFailure();
    auto batch = getOperation()->getAttrOfType<IntegerAttr>(kGlobalBatchAttr);
    FailureOr<ModelParts> model = takeApart(models[0], batch ? batch.getInt() : 0);
    if (failed(model) || failed(chooseOptimizers(*model)) || failed(createStates(*model)))
      return signalPassFailure();
    buildEntryPoints(*model);
    getOperation().setSymNameAttr(model->op.getSymNameAttr());
    model->op.erase();
    numStates += llvm::range_size(getOperation().getOps<StateOp>());
  }

  void buildEntryPoints(ModelParts &model) {
    SmallVector<Value> reported, last, written, predicted; // `last`: of evaluate alone
    if (model.loss)
      reported.push_back(LossOp(model.loss).getValue());
    for (MetricOp metric : model.metrics)
      llvm::append_range(model.isOfEvaluation(metric) ? last : reported, metric->getOperands());
    for (OutputOp output : model.outputs)
      predicted.push_back(output.getValue());
    for (VariableParts &variable : model.variables)
      if (variable.assigned)
        (variable.writtenIn == EntryKind::Train      ? written
         : variable.writtenIn == EntryKind::Evaluate ? last
                                                     : predicted)
            .push_back(variable.assigned);

    auto addReports = [&](EntryPoint &entry, bool evaluates) {
      if (model.loss)
        entry.addResult(LossOp(model.loss).getValue(), "loss", "loss");
      for (MetricOp metric : model.metrics)
        if (evaluates || !model.isOfEvaluation(metric))
          entry.addMetric(metric);
      entry.finish();
      ++numEntryPoints;
    };
    if (model.loss) {
      EntryPoint entry(model, "train", /*training=*/true);
      SmallVector<Value> roots = reported;
      llvm::append_range(roots, written);
      entry.copyForward(roots);
      entry.train();
      addReports(entry, /*evaluates=*/false);
    }
    llvm::append_range(reported, last);
    if (!reported.empty()) {
      EntryPoint entry(model, "evaluate", /*training=*/false);
      entry.copyForward(reported);
      entry.assign(EntryKind::Evaluate);
      addReports(entry, /*evaluates=*/true);
    }
    if (!predicted.empty()) {
      EntryPoint entry(model, "predict", /*training=*/false);
      entry.copyForward(predicted);
      entry.assign(EntryKind::Predict);
      for (OutputOp output : model.outputs)
        entry.addResultOfExamples(output.getValue(), output.getName(), "prediction", output);
      entry.finish();
      ++numEntryPoints;
    }
  }
};
} // namespace
