//===- Declarations.cpp - how buffers, inputs and outputs are written ------===//

#include "compiler/package/Enums.h"
#include "compiler/package/Package.h"
#include "compiler/package/ProgramWriter.h"
#include "dialects/dgc/AttributeNames.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;
namespace fb = dgc::artifact;

/// How the text of a role appears in the artifact.
static std::optional<fb::InputRole> roleOf(exec::InputOp op) {
  return llvm::StringSwitch<std::optional<fb::InputRole>>(op.getRole())
      .Case("data", fb::InputRole::Data)
      .Case("valid_count", fb::InputRole::ValidCount)
      .Case("step", fb::InputRole::Step)
      .Case("seed", fb::InputRole::Seed)
      .Case("axis_index", fb::InputRole::AxisIndex)
      .Default(std::nullopt);
}

static std::optional<fb::OutputRole> roleOf(exec::OutputOp op) {
  return llvm::StringSwitch<std::optional<fb::OutputRole>>(op.getRole())
      .Case("loss", fb::OutputRole::Loss)
      .Case("metric", fb::OutputRole::Metric)
      .Case("prediction", fb::OutputRole::Prediction)
      .Default(std::nullopt);
}

/// What is reported of a metric, as its attribute says.
static FailureOr<fb::MetricFunction> functionOf(exec::OutputOp op) {
  auto name = op->getAttrOfType<StringAttr>("function");
  auto function = llvm::StringSwitch<std::optional<fb::MetricFunction>>(name ? name.getValue() : "")
                      .Case("", fb::MetricFunction::Identity)
                      .Case("exponential", fb::MetricFunction::Exponential)
                      .Case("square_root", fb::MetricFunction::SquareRoot)
                      .Case("last", fb::MetricFunction::Last)
                      .Case("area_under_curve", fb::MetricFunction::AreaUnderCurve)
                      .Default(std::nullopt);
  if (!function)
    return op.emitOpError("is reported as '")
           << name.getValue() << "'; there are exponential, square_root, last and area_under_curve";
  return *function;
}

/// What an input and an output have in common.
template <typename EntryT, typename OpT>
static FailureOr<std::unique_ptr<EntryT>> describeValue(OpT op, const ProgramWriter &writer) {
  auto globalType = cast<RankedTensorType>(op.getGlobalType());
  auto sharding = describeSharding(op, writer.indices, op.getSharding(), globalType.getRank());
  auto role = roleOf(op);
  if (failed(sharding)) {
    return failure();
  }
  if (!role) {
    return op.emitOpError("has an unknown role '") << op.getRole() << "'";
  }
  auto entry = std::make_unique<EntryT>();
  entry->name = op.getName().str();
  entry->role = *role;
  entry->buffer = writer.index(op.getBuffer());
  entry->global_shape = toVector(globalType.getShape());
  entry->sharding = std::move(*sharding);
  entry->batch_dim = static_cast<int32_t>(op.getBatchDim());
  return entry;
}

/// Where the op says that it is among the arguments or the results of the entry point; -1: it does not.
static int32_t positionOf(Operation *op, StringRef attribute) {
  auto position = op->getAttrOfType<IntegerAttr>(attribute);
  return position ? static_cast<int32_t>(position.getInt()) : -1;
}

/// Whether a step of the program writes the buffer, or what is a view of it.
static bool isWritten(Value buffer) {
  return llvm::any_of(buffer.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto view = dyn_cast<ViewOp>(user))
      return isWritten(view.getResult());
    if (auto step = dyn_cast<StepOpInterface>(user))
      return llvm::is_contained(step.getOuts(), use.get());
    if (auto collective = dyn_cast<CollectiveOp>(user))
      return llvm::is_contained(collective.getDst(), use.get());
    auto copy = dyn_cast<CopyOp>(user);
    return isa<ReceiveOp>(user) || (copy && copy.getDst() == use.get());
  });
}

/// The use of a variable by the program; new where there is none yet.
static fb::StateUseT &stateUse(ProgramWriter &writer, StringRef variable) {
  auto &states = writer.program.states;
  auto known = llvm::find_if(states, [&](const auto &state) { return state->variable == variable; });
  if (known != states.end())
    return **known;
  states.push_back(std::make_unique<fb::StateUseT>());
  states.back()->variable = variable.str();
  return *states.back();
}

namespace {

struct Buffer : PackageOpInterface::ExternalModel<Buffer, BufferOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto buffer = cast<BufferOp>(op);
    return writer.addBuffer(buffer, describeBuffer(op, toArtifact(buffer.getSpace()), buffer.getOffset(),
                                                   buffer.getType(), buffer.getName()));
  }
};

struct View : PackageOpInterface::ExternalModel<View, ViewOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto view = cast<ViewOp>(op);
    const fb::BufferT &source = writer.buffer(view.getSource());
    return writer.addBuffer(
        view, describeBuffer(op, source.space, source.offset + view.getOffset(), view.getType(), source.name));
  }
};

struct GetVariable : PackageOpInterface::ExternalModel<GetVariable, GetVariableOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto get = cast<GetVariableOp>(op);
    auto variable = SymbolTable::lookupNearestSymbolFrom<exec::VariableOp>(op->getParentOp(), get.getVariableAttr());
    if (!variable) {
      return op->emitOpError("names a variable that is not there");
    }
    auto block = variable.getState().getAs<DictionaryAttr>(kBlockAttr);
    fb::StateUseT &state = stateUse(writer, block ? block.getAs<StringAttr>("of").getValue() : get.getVariable());
    state.is_written |= isWritten(get.getResult());
    state.argument = std::max(state.argument, positionOf(op, "argument"));
    state.result = std::max(state.result, positionOf(op, "result"));
    return writer.addBuffer(
        get, describeBuffer(op, fb::Space::Private, variable.getOffset(), get.getType(), get.getVariable()));
  }
};

struct Input : PackageOpInterface::ExternalModel<Input, exec::InputOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto entry = describeValue<fb::InputT>(cast<exec::InputOp>(op), writer);
    if (failed(entry)) {
      return failure();
    }
    if (auto limit = op->getAttrOfType<IntegerAttr>("index_limit")) {
      (*entry)->index_limit = limit.getInt();
    }
    (*entry)->argument = positionOf(op, "argument");
    writer.program.inputs.push_back(std::move(*entry));
    return success();
  }
};

struct Output : PackageOpInterface::ExternalModel<Output, exec::OutputOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto entry = describeValue<fb::OutputT>(cast<exec::OutputOp>(op), writer);
    if (failed(entry)) {
      return failure();
    }
    (*entry)->result = positionOf(op, "result");
    auto function = functionOf(cast<exec::OutputOp>(op));
    if (failed(function)) {
      return failure();
    }
    (*entry)->function = *function;
    if (auto over = op->getAttrOfType<StringAttr>("over")) {
      (*entry)->over = over.str();
    }
    writer.program.outputs.push_back(std::move(*entry));
    return success();
  }
};

} // namespace

namespace dgc {

void attachDeclarations(MLIRContext &context) {
  BufferOp::attachInterface<Buffer>(context);
  ViewOp::attachInterface<View>(context);
  GetVariableOp::attachInterface<GetVariable>(context);
  exec::InputOp::attachInterface<Input>(context);
  exec::OutputOp::attachInterface<Output>(context);
}

} // namespace dgc
