// The model itself: what goes in, what is trained, what comes out.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/ModelBody.h"
#include "dialects/dgc/Names.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// `tensor<?x4xf32>`, and once types are inferred `tensor<?x4xf32> -> tensor<8x4xf32>`.
static ParseResult parseDeclaredType(OpAsmParser &parser, TypeAttr &declared, Type &result) {
  Type type;
  SMLoc location = parser.getCurrentLocation();
  if (failed(parser.parseType(type)))
    return failure();
  if (!isa<RankedTensorType>(type))
    return parser.emitError(location) << "expected a tensor type such as tensor<?x28x28xf32>, not " << type;
  Type element = cast<RankedTensorType>(type).getElementType();
  bool known = isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element) ||
               (isa<IntegerType>(element) && !element.isSignedInteger() &&
                llvm::is_contained({8u, 16u, 32u, 64u}, element.getIntOrFloatBitWidth())) ||
               element.isSignlessInteger(1);
  if (!known)
    return parser.emitError(location) << "there are no elements of type " << element
                                      << " in a model; there are f16, bf16, f32, f64, i8 to i64, ui8 to ui64 and i1";
  declared = TypeAttr::get(type);
  result = UntypedType::get(parser.getContext());
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(result);
  return success();
}

static void printDeclaredType(OpAsmPrinter &printer, Operation *, TypeAttr declared, Type result) {
  printer << declared.getValue();
  if (!isa<UntypedType>(result))
    printer << " -> " << result;
}

#define GET_OP_CLASSES
#include "dialects/dgc/ModelOps.cpp.inc"

namespace dgc {
void registerModelOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ModelOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// ModelOp
//===----------------------------------------------------------------------===//

LogicalResult dgc::checkUniqueNames(Block &body) {
  llvm::StringMap<Operation *> inputs, variables, results;
  auto insert = [](llvm::StringMap<Operation *> &names, StringRef kind, StringRef name, Operation *op) {
    auto [entry, isNew] = names.try_emplace(name, op);
    if (isNew)
      return success();
    InFlightDiagnostic error = op->emitOpError() << "uses the name \"" << name << "\" again: every " << kind
                                                 << " of a model needs a name of its own";
    error.attachNote(entry->second->getLoc()) << "first used here";
    return LogicalResult(error);
  };
  auto insertMetric = [&](MetricOp metric) {
    LogicalResult result = insert(results, "metric and output", metric.getName(), metric);
    return failed(result) || !metric.getSecond() ? result
                                                 : insert(results, "metric and output", metric.getSecondName(), metric);
  };
  for (Operation &op : body) {
    LogicalResult result = success();
    if (auto input = dyn_cast<InputOp>(op))
      result = insert(inputs, "input", input.getName(), &op);
    else if (auto variable = dyn_cast<VariableOp>(op))
      result = insert(variables, "variable", variable.getName(), &op);
    else if (auto sum = dyn_cast<RunningSumOp>(op))
      result = insert(variables, "variable and running sum", sum.getName(), &op);
    else if (auto metric = dyn_cast<MetricOp>(op))
      result = insertMetric(metric);
    else if (auto output = dyn_cast<OutputOp>(op))
      result = insert(results, "metric and output", output.getName(), &op);
    if (failed(result))
      return failure();
  }
  return success();
}

/// The only op of a kind in a model, null when there is none; reports a second one.
template <typename OpT> static FailureOr<OpT> findSingle(Block &body, StringRef hint) {
  OpT first;
  for (OpT op : body.getOps<OpT>()) {
    if (!first) {
      first = op;
      continue;
    }
    InFlightDiagnostic error = op.emitOpError() << "is the second one of this model, which may have one: " << hint;
    error.attachNote(first.getLoc()) << "the first one is here";
    return failure();
  }
  return first;
}

/// The ops that a value depends on, or only those that its gradient reaches; of a repeat, everything that its body
/// uses.
static llvm::SetVector<Operation *> collectDependences(Value value, bool throughGradient) {
  llvm::SetVector<Operation *> ops;
  if (Operation *op = value.getDefiningOp())
    ops.insert(op);
  for (size_t i = 0; i < ops.size(); ++i)
    ops[i]->walk([&](Operation *inner) {
      if (throughGradient && isa<StopGradientOp>(inner))
        return;
      for (Value operand : inner->getOperands())
        if (Operation *op = operand.getDefiningOp())
          ops.insert(op);
    });
  return ops;
}

/// Reports running statistics that training leaves as they were initialized although the model does not freeze them.
static LogicalResult checkStatistics(ModeOpInterface op, const DenseSet<Value> &assigned) {
  for (auto [value, result] : op.getRunningStatistics()) {
    auto variable = value.getDefiningOp<VariableOp>();
    if (!variable || variable.getFrozen() || assigned.contains(value))
      continue;
    // In a block the variable has the block's name before its own: l.0.mean.
    StringRef own = variable.getName().substr(variable.getName().rfind('.') + 1);
    InFlightDiagnostic error =
        op->emitOpError() << "leaves the running statistic \"" << variable.getName()
                          << "\" as it was initialized, which evaluate and predict would normalize with: give it "
                          << "the new value, result " << result << " of this op (counted from 0), as in 'dgc.assign %"
                          << own << ", %next', or write 'frozen' after its initializer to keep it";
    error.attachNote(variable.getLoc()) << "the variable is here";
    return error;
  }
  return success();
}

/// Reports a variable that stays as it was initialized although the model does not freeze it.
static LogicalResult checkTrained(Block &body, LossOp loss, OptimizerOp optimizer) {
  llvm::SetVector<Operation *> used = collectDependences(loss.getValue(), /*throughGradient=*/false);
  llvm::SetVector<Operation *> reached = collectDependences(loss.getValue(), /*throughGradient=*/true);
  DenseSet<Value> assigned, assignedInTraining;
  for (AssignOp assign : body.getOps<AssignOp>()) {
    assigned.insert(assign.getVariable());
    if (!assign.getInPredict())
      assignedInTraining.insert(assign.getVariable());
  }
  for (Operation &op : body)
    if (auto moded = dyn_cast<ModeOpInterface>(op); moded && failed(checkStatistics(moded, assignedInTraining)))
      return failure();
  for (VariableOp variable : body.getOps<VariableOp>()) {
    if (variable.getFrozen() || assigned.contains(variable.getResult()) || optimizer.freezes(variable.getPartName()))
      continue;
    if (used.contains(variable) && !reached.contains(variable))
      return variable.emitOpError()
             << "is not trained: the loss depends on \"" << variable.getName()
             << "\" through dgc.stop_gradient alone; write 'frozen' after its initializer to keep "
                "it as it is, or let a dgc.assign write it";
    if (!reached.contains(variable))
      return variable.emitOpError() << "is not trained: the loss does not depend on \"" << variable.getName()
                                    << "\" and no dgc.assign writes it; use it, remove it, or write 'frozen' after "
                                       "its initializer to keep it as it is";
    if (!isa<FloatType>(variable.getDeclared().getElementType()))
      return variable.emitOpError() << "cannot be trained, as its elements are "
                                    << variable.getDeclared().getElementType()
                                    << ": use f16, bf16, f32 or f64, or write 'frozen' after its initializer";
  }
  return success();
}

/// Reports what is to be assigned in predict where there is none.
static LogicalResult checkAssignedInPredict(Block &body) {
  if (!body.getOps<OutputOp>().empty())
    return success();
  for (AssignOp assign : body.getOps<AssignOp>())
    if (assign.getInPredict())
      return assign.emitOpError("is done in predict, which the model does not have: add a dgc.output");
  return success();
}

LogicalResult ModelOp::verifyRegions() {
  auto computesNothing = [&] {
    return emitOpError("computes nothing: it needs a dgc.loss (with a dgc.optimizer), a dgc.metric or a dgc.output");
  };
  if (getBody().empty())
    return computesNothing();
  Block &body = getBody().front();
  if (failed(checkUniqueNames(body)))
    return failure();
  FailureOr<LossOp> loss = findSingle<LossOp>(body, "add the losses with dgc.add and give their sum to one dgc.loss");
  FailureOr<OptimizerOp> optimizer = findSingle<OptimizerOp>(body, "keep one of them");
  if (failed(loss) || failed(optimizer))
    return failure();
  if (*loss && !*optimizer)
    return loss->emitOpError("needs an optimizer: add a line such as 'dgc.optimizer sgd learning_rate 0.1' to the "
                             "model, or make this a dgc.metric to evaluate it only");
  if (*optimizer && !*loss)
    return optimizer->emitOpError("has nothing to make small: add 'dgc.loss %value' to the model, or remove the "
                                  "optimizer to have predict only");
  if (!*loss && body.getOps<MetricOp>().empty() && body.getOps<OutputOp>().empty())
    return computesNothing();
  if (failed(checkAssignedInPredict(body)))
    return failure();
  return *loss ? checkTrained(body, *loss, *optimizer) : success();
}

//===----------------------------------------------------------------------===//
// InputOp, VariableOp, StateOp
//===----------------------------------------------------------------------===//

/// The inferred type of an input or a variable is its declared one, `?` replaced by a number.
static LogicalResult checkResultType(Operation *op, RankedTensorType declared) {
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!result)
    return success();
  bool fits = result.getElementType() == declared.getElementType() &&
              succeeded(verifyCompatibleShape(result.getShape(), declared.getShape()));
  // The batch dimension is a matter of the compiler's command line.
  if (auto input = dyn_cast<InputOp>(op); !fits && input && result.getRank() == declared.getRank()) {
    fits = result.getElementType() == declared.getElementType();
    for (auto [i, sizes] : llvm::enumerate(llvm::zip_equal(result.getShape(), declared.getShape())))
      fits &= std::get<0>(sizes) == std::get<1>(sizes) || int64_t(i) == input.getBatchDim();
  }
  if (!fits)
    return op->emitOpError() << "has a result of type " << result << ", which is not the declared " << declared;
  return success();
}

RankedTensorType InputOp::getDeclared() { return cast<RankedTensorType>(getDeclaredType()); }

/// The type without the first `count` dimensions.
static RankedTensorType dropDims(RankedTensorType type, int64_t count) {
  return type.clone(type.getShape().drop_front(std::min(count, type.getRank())));
}

/// The name of the first part of a stacked variable.
static std::string firstPartOf(StringRef name, int64_t stacked) {
  std::string part = name.str();
  if (stacked > 0)
    std::replace(part.begin(), part.end(), '*', '0');
  return part;
}

/// There is a `*` for each dimension that is stacked, and there are such dimensions.
static LogicalResult checkStacked(Operation *op, StringRef name, int64_t stacked, RankedTensorType type) {
  if (stacked == 0)
    return success();
  if (static_cast<int64_t>(name.count('*')) != stacked)
    return op->emitOpError() << "is stacked along " << stacked
                             << " dimensions, so that there are as many '*' in its name, "
                             << "and not " << name.count('*') << " as in \"" << name << "\"";
  if (type.getRank() < stacked || llvm::is_contained(type.getShape().take_front(stacked), 0))
    return op->emitOpError() << "is stacked along " << stacked << " dimensions, which " << type
                             << " does not have, or which are 0";
  return success();
}

RankedTensorType VariableOp::getPartType() { return dropDims(getDeclared(), getStacked()); }

std::string VariableOp::getPartName() { return firstPartOf(getName(), getStacked()); }

std::string StateOp::getPartName() { return firstPartOf(getSymName(), getNumStacked()); }

RankedTensorType VariableOp::getDeclared() { return cast<RankedTensorType>(getDeclaredType()); }

std::optional<int64_t> InputOp::getBatchDim() {
  RankedTensorType type = getDeclared();
  if (getBatch())
    return *getBatch();
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      return i;
  return type.getRank() > 0 ? std::optional<int64_t>(0) : std::nullopt;
}

LogicalResult InputOp::verify() {
  RankedTensorType type = getDeclared();
  if (getName().empty())
    return emitOpError("needs a name: that of its data in the data set");
  if (type.getNumDynamicDims() > 1)
    return emitOpError() << "has more than one '?' in " << type << ": only the batch dimension is left open";
  if (std::optional<int64_t> batch = getBatch()) {
    if (*batch < 0 || *batch >= type.getRank())
      return emitOpError() << "has no dimension " << *batch << ": 'batch' takes a dimension of " << type
                           << ", counted from 0";
    if (type.getNumDynamicDims() == 1 && !type.isDynamicDim(*batch))
      return emitOpError() << "says that dimension " << *batch << " is the batch, but another one is '?'";
  }
  return checkResultType(*this, type);
}

/// What holds for the type and the initializer of everything that is kept between steps.
static LogicalResult checkInit(Operation *op, InitAttr init, RankedTensorType type) {
  if (!type.hasStaticShape())
    return op->emitOpError() << "has the type " << type << ": the shape of a variable is written in numbers, as its "
                             << "size cannot depend on the batch";
  InitKind kind = init.getKind();
  bool scaled = kind == InitKind::GlorotUniform || kind == InitKind::GlorotNormal || kind == InitKind::HeUniform ||
                kind == InitKind::HeNormal;
  if (scaled && type.getRank() < 2)
    return op->emitOpError() << "cannot be initialized by " << stringifyInitKind(kind) << ": " << type
                             << " has no fan in and fan out, for which weights need two dimensions or more; zeros is "
                                "usual for a bias";
  bool random = scaled || kind == InitKind::Uniform || kind == InitKind::Normal || kind == InitKind::TruncatedNormal;
  if (random && !isa<FloatType>(type.getElementType()))
    return op->emitOpError() << "cannot be initialized by " << stringifyInitKind(kind) << ", as its elements are "
                             << type.getElementType() << ": use zeros, constant or file";
  if (kind == InitKind::Uniform && !(init.getA() < init.getB()))
    return op->emitOpError() << "needs a lower bound below the upper one in 'uniform LOW HIGH'";
  if ((kind == InitKind::Normal || kind == InitKind::TruncatedNormal) && !(init.getB() > 0))
    return op->emitOpError() << "needs a standard deviation above 0 in '" << stringifyInitKind(kind) << " MEAN STD'";
  if (kind == InitKind::File && (!init.getFile() || init.getFile().empty()))
    return op->emitOpError("needs the path of a .npy or .safetensors file: file \"PATH\"");
  if (kind == InitKind::Stored && (!init.getElements() || init.getElements().getShapedType() != type))
    return op->emitOpError() << "has the type " << type << ", and its initial value "
                             << (init.getElements() ? init.getElements().getShapedType() : Type());
  return success();
}

LogicalResult VariableOp::verify() {
  if (getName().empty())
    return emitOpError("needs a name: that under which it is saved");
  if (failed(checkStacked(*this, getName(), getStacked(), getDeclared())) ||
      failed(checkInit(*this, getInit(), getPartType())))
    return failure();
  return checkResultType(*this, getDeclared());
}

LogicalResult StateOp::verify() {
  RankedTensorType type = getTensorType();
  if (auto block = (*this)->getAttrOfType<DictionaryAttr>(kBlockAttr)) // its rows of the initial value of the whole
    if (auto whole = dyn_cast_or_null<TypeAttr>(block.get("type")))
      type = dyn_cast<RankedTensorType>(whole.getValue());
  if (!type)
    type = getTensorType();
  if (auto strides = getRngStrides();
      strides && (strides->empty() || llvm::any_of(*strides, [](int64_t stride) { return stride < 0; })))
    return emitOpError("has a number for each dimension that is stacked, of which none is below 0: stacked [5]");
  if (failed(checkStacked(*this, getSymName(), getNumStacked(), type)))
    return failure();
  return checkInit(*this, getInit(), dropDims(type, getNumStacked()));
}

std::pair<int64_t, int64_t> StateOp::getFans() {
  ArrayRef<int64_t> shape = getTensorType().getShape().drop_front(getNumStacked());
  if (shape.empty())
    return {1, 1};
  if (shape.size() == 1)
    return {shape[0], shape[0]};
  int64_t receptive = 1;
  for (int64_t size : shape.drop_back(2))
    receptive *= size;
  return {receptive * shape[shape.size() - 2], receptive * shape.back()};
}

//===----------------------------------------------------------------------===//
// AssignOp, LossOp, MetricOp, RunningSumOp
//===----------------------------------------------------------------------===//

LogicalResult AssignOp::verify() {
  auto variable = getVariable().getDefiningOp<VariableOp>();
  if (!variable)
    return emitOpError("assigns to what is not a variable: its first operand must be the result of a dgc.variable");
  if (variable.getFrozen())
    return emitOpError() << "assigns to \"" << variable.getName() << "\", which is frozen";
  for (Operation *user : getVariable().getUsers())
    if (auto other = dyn_cast<AssignOp>(user);
        other && other != *this && other->getBlock() == (*this)->getBlock() && other->isBeforeInBlock(*this))
      return emitOpError() << "assigns to \"" << variable.getName() << "\" a second time";
  Type target = getVariable().getType(), value = getValue().getType();
  if (!isa<UntypedType>(target) && !isa<UntypedType>(value) && target != value)
    return emitOpError() << "assigns a value of type " << value << " to \"" << variable.getName() << "\" of type "
                         << target;
  return success();
}

static LogicalResult checkScalar(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getRank() != 0)
    return op->emitOpError() << "takes a scalar, but its operand is a " << tensor
                             << ": take the mean over the batch, as dgc.cross_entropy and dgc.mean_squared_error do";
  return success();
}

/// No metric has more elements; runtime/artifact/CheckStates.cpp checks the same of artifacts.
static constexpr int64_t kMostReported = 4096;

/// Reports a metric that is too large to be read.
static LogicalResult checkSize(MetricOp op) {
  auto tensor = dyn_cast<RankedTensorType>(op.getValue().getType());
  if (!tensor || !tensor.hasStaticShape() || (tensor.getNumElements() > 0 && tensor.getNumElements() <= kMostReported))
    return success();
  return op.emitOpError() << "reports \"" << op.getName() << "\", a " << tensor << " of " << tensor.getNumElements()
                          << " elements, and takes from 1 to " << kMostReported
                          << ": report a part of it (dgc.slice) or a sum or mean over it (dgc.reduce), or make it a "
                             "dgc.output, which dgc-run writes with --predictions";
}

/// The shape of a tensor; nothing where the type is not known yet.
static std::optional<ArrayRef<int64_t>> knownShape(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? std::optional(tensor.getShape()) : std::nullopt;
}

static LogicalResult checkQuotient(MetricOp op) {
  auto shape = knownShape(op.getValue()), over = knownShape(op.getOver());
  if (!shape || !over || *shape == *over)
    return success();
  return op.emitOpError() << "is a quotient of a " << op.getValue().getType() << " and a " << op.getOver().getType()
                          << ", which must have one shape: take sums over the batch, as dgc.precision and dgc.reduce "
                             "sum do";
}

static LogicalResult checkAreaUnderCurve(MetricOp op) {
  if (!op.getLabels())
    return op.emitOpError("is an area under a curve, and has no labels: write 'area_under_curve %logits labels "
                          "%labels'");
  if (op.getExp() || op.getSqrt() || op.getOver())
    return op.emitOpError("is an area under a curve, which is reported without 'exp', 'sqrt' and 'over'");
  auto shape = knownShape(op.getValue()), labels = knownShape(op.getLabels());
  if (!shape || !labels || (*shape == *labels && !shape->empty()))
    return success();
  return op.emitOpError() << "has labels of type " << op.getLabels().getType() << " for logits of type "
                          << op.getValue().getType() << ": there is a label for each logit, [batch, ..]";
}

LogicalResult LossOp::verify() { return checkScalar(*this, getValue().getType()); }

Value MetricOp::getSecond() { return getOver() ? Value(getOver()) : Value(getLabels()); }

LogicalResult MetricOp::verify() {
  if (getName() == "loss")
    return emitOpError("cannot be called \"loss\": that is the name of what dgc.loss reports");
  if (getExp() && getSqrt())
    return emitOpError("is reported as exp or sqrt of its mean, not both");
  if (getAreaUnderCurve())
    return checkAreaUnderCurve(*this);
  if (getLabels())
    return emitOpError("has labels, which only an area under a curve has: write 'area_under_curve' before the logits");
  if (getOver() && failed(checkQuotient(*this)))
    return failure();
  return checkSize(*this);
}

LogicalResult RunningSumOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType type = withoutEncoding(cast<RankedTensorType>(adaptor.getValue().getType()));
  types.push_back(type);
  Type element = type.getElementType();
  if (element.isF32() || element.isF64())
    return success();
  return emitOptionalError(location, "'dgc.running_sum' adds up elements of type ", element,
                           ", and takes f32 or f64: convert them first, as in 'dgc.convert %x to f32'");
}

LogicalResult RunningSumOp::verify() {
  if (getName().empty())
    return emitOpError("needs a name, which no variable has");
  return success();
}
