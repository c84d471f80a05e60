//===- LowerToPrograms.cpp - entry functions to exec programs --------------===//

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/ProgramBuilder.h"
#include "llvm/ADT/StringExtras.h"

namespace dgc {
#define GEN_PASS_DEF_LOWERTOPROGRAMSPASS
#include "passes/schedule/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;

namespace dgc::schedule {

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Emits the step on buffers. A result takes over the memory of an operand where the step allows it and the operand
/// is dead, owns private memory, and is no input or variable. One that begins as a constant is filled with that.
void ProgramBuilder::lowerStep(StepOpInterface op) {
  for (Value operand : op->getOperands()) {
    bufferOf(operand);
  }
  SmallVector<Value> outs;
  DenseSet<Value> taken;
  IRMapping filled = mapping;
  for (OpResult result : op->getResults()) {
    int64_t operand = op.getInplaceOperand(result.getResultNumber());
    Value old = operand >= 0 ? rootOf(op->getOperand(operand)) : Value();
    bool reuse = old && !slices.contains(result) && !slices.contains(old) && old.getDefiningOp<StepOpInterface>() &&
                 deadAfter(old, op) && byteSize(old.getType()) == byteSize(result.getType()) &&
                 llvm::count_if(op->getOperands(), [&](Value v) { return rootOf(v) == old; }) == 1 &&
                 taken.insert(old).second;
    if (reuse) {
      slices[result] = {bufferOf(old)};
      ++inPlace;
    }
    outs.push_back(bufferOf(result));
    if (std::optional<double> number = old ? splatOf(old) : std::nullopt;
        number && llvm::count(op->getOperands(), old) == 1) {
      FillOp::create(steps, op->getLoc(), outs.back(), APFloat(*number));
      filled.map(old, outs.back());
    }
  }
  op.cloneOnBuffers(steps, filled, outs);
  for (auto [result, target] : copiesAfter.lookup(op)) {
    copy(bufferOf(result), target, op->getLoc());
  }
}

/// The causes of a collective or a transfer as the text that people see.
static std::string textOf(ArrayAttr origins) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (origins)
    llvm::interleave(origins.getAsRange<StringAttr>(), os, [&](StringAttr origin) { os << origin.getValue(); }, " | ");
  return text;
}

LogicalResult ProgramBuilder::lowerCollective(dist::CollectiveOpInterface op) {
  dist::CollectiveDescription description = op.describe();
  for (int64_t dim : description.dims) {
    if (dim != 0) {
      return op->emitOpError("works on dimension ")
             << dim << "; the executor moves whole ranges of memory, so it must be 0";
    }
  }
  if (description.root != 0) {
    return op->emitOpError("has the root ") << description.root << "; in an artifact the first member is the root";
  }
  auto mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(op, op.getMeshAttr());
  SmallVector<int64_t> axes;
  for (auto axis : op.getAxes().getAsRange<StringAttr>()) {
    axes.push_back(mesh.getMesh().getAxisIndex(axis.getValue()));
  }
  auto order = op->getAttrOfType<IntegerAttr>(dist::kOrderAttr);
  if (!order) {
    return op->emitOpError("has no place in the order of communication; dgc-order-collectives gives it one");
  }
  int64_t position = order.getInt();
  std::string origin = textOf(op.getOriginsAttr());
  SmallVector<Value> src = exchanges.lookup(op);
  // In place all values are in one buffer, one after the other; else each has its own.
  auto layout = [&](ValueRange values, ArrayRef<Value> exchange, bool copyIn) {
    uint64_t offset = 0;
    for (auto [i, value] : llvm::enumerate(values)) {
      BufferSlice slice = description.inPlace ? BufferSlice{exchange[0], offset} : BufferSlice{exchange[i], 0};
      Value view = viewOf(slice, bufferType(value.getType()), op->getLoc());
      auto it = slices.find(rootOf(value));
      bool placed = it != slices.end() && it->second.buffer == slice.buffer;
      if (copyIn && !placed) {
        copy(bufferOf(value), view, op->getLoc());
      } else if (!copyIn) {
        mapping.map(value, view);
        slices[value] = slice;
      }
      offset = llvm::alignTo(offset + byteSize(value.getType()), bufferAlignment);
    }
  };
  layout(op->getOperands(), src, /*copyIn=*/true);
  int64_t padding = 0; // of the one buffer of all values
  if (description.inPlace) {
    padding = cast<ShapedType>(src[0].getType()).getNumElements();
    for (Type type : op->getOperandTypes()) {
      padding -= cast<ShapedType>(type).getNumElements();
    }
  }
  SmallVector<Value> dst = src;
  if (!description.inPlace) {
    dst.clear();
    for (Value result : op->getResults()) {
      auto type = cast<ShapedType>(result.getType());
      dst.push_back(makeBuffer(Space::Shared, MemRefType::get({type.getNumElements()}, type.getElementType()),
                               "received" + std::to_string(counter++), op->getLoc()));
    }
  }
  CollectiveOp::create(steps, op->getLoc(), description.kind, description.reduction.value_or(dist::Reduction::Sum),
                       axes, position, src, dst, padding,
                       description.permutation.empty() ? DenseI64ArrayAttr()
                                                       : steps.getDenseI64ArrayAttr(description.permutation),
                       origin, llvm::any_of(op->getUsers(), llvm::IsaPred<dist::DoneOp>));
  layout(op->getResults(), dst, /*copyIn=*/false);
  if (dst != src) {
    src.append(dst);
  }
  exchanges[op] = src; // all that is in use until it has ended
  return success();
}

/// The results of a collective are in the buffers that it was given; from here on they may be used.
void ProgramBuilder::lowerDone(dist::DoneOp op) {
  Operation *collective = op.getInputs()[0].getDefiningOp();
  WaitOp::create(steps, op.getLoc(), collective->getAttrOfType<IntegerAttr>(dist::kOrderAttr).getInt(),
                 exchanges.lookup(collective));
  for (auto [begun, ended] : llvm::zip_equal(op.getInputs(), op.getResults())) {
    mapping.map(ended, bufferOf(begun));
    slices[ended] = slices.lookup(begun);
  }
}

/// Whether a buffer of the program, or what it is a view of, is in the shared arena.
static bool isShared(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    buffer = view.getSource();
  }
  auto owner = buffer.getDefiningOp<BufferOp>();
  return owner && owner.getSpace() == Space::Shared;
}

void ProgramBuilder::lowerSend(dist::SendOp op) {
  Value buffer = bufferOf(op.getInput());
  if (!isShared(buffer)) {
    Value fresh =
        makeBuffer(Space::Shared, cast<MemRefType>(buffer.getType()), "sent" + std::to_string(counter++), op->getLoc());
    copy(buffer, fresh, op->getLoc());
    buffer = fresh;
  }
  SendOp::create(steps, op->getLoc(), op.getChannel(), op.getTarget(), buffer, textOf(op.getOriginsAttr()),
                 op.getGathered());
}

void ProgramBuilder::lowerReceive(dist::RecvOp op) {
  ReceiveOp::create(steps, op->getLoc(), op.getChannel(), op.getSource(), bufferOf(op.getResult()),
                    textOf(op.getOriginsAttr()), op.getGathered());
}

void ProgramBuilder::lowerReturn(func::ReturnOp op) {
  // First the outputs and new values that live elsewhere; a variable may be the new value of another one.
  SmallVector<std::pair<Value, Value>> assignments;
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    Value buffer = bufferOf(value);
    if (auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(index, kStateAttr)) {
      auto variable = llvm::find_if(variables, [&](auto &v) { return v.second == state.getAttr(); });
      Value target = variable != variables.end()
                         ? mapping.lookup(variable->first)
                         : GetVariableOp::create(buffers, op.getLoc(), bufferType(value.getType()), state).getResult();
      if (Attribute place = function.getResultAttr(index, kResultAttr)) {
        target.getDefiningOp()->setAttr("result", place);
      }
      auto slice = slices.find(rootOf(value));
      if (buffer == target || (slice != slices.end() && slice->second.buffer == target)) {
        continue;
      }
      if (isa<BlockArgument>(rootOf(value))) { // the old value of a variable or an input
        Value fresh = makeBuffer(Space::Private, cast<MemRefType>(target.getType()), "old", op.getLoc());
        copy(buffer, fresh, op.getLoc());
        buffer = fresh;
      }
      assignments.push_back({buffer, target});
      continue;
    }
    if (isa<BlockArgument>(rootOf(value))) { // outlives the update of the variable, or the next input
      Value fresh = makeBuffer(Space::Private, bufferType(value.getType()), "output", op.getLoc());
      copy(buffer, fresh, op.getLoc());
      buffer = fresh;
    }
    auto name = function.getResultAttrOfType<StringAttr>(index, kOutputAttr);
    auto role = function.getResultAttrOfType<StringAttr>(index, kRoleAttr);
    auto batchDim = function.getResultAttrOfType<IntegerAttr>(index, kBatchDimAttr);
    auto globalType = function.getResultAttrOfType<TypeAttr>(index, dist::kGlobalTypeAttr);
    auto output = exec::OutputOp::create(steps, op.getLoc(), name ? name : steps.getStringAttr("result" + Twine(index)),
                                         role ? role : steps.getStringAttr("prediction"), buffer,
                                         globalType ? globalType : TypeAttr::get(value.getType()),
                                         steps.getI64IntegerAttr(batchDim ? batchDim.getInt() : -1),
                                         function.getResultAttr(index, dist::kShardingAttr));
    if (Attribute place = function.getResultAttr(index, kResultAttr)) {
      output->setAttr("result", place);
    }
    if (Attribute over = function.getResultAttr(index, kOverAttr))
      output->setAttr("over", over);
    if (Attribute reported = function.getResultAttr(index, kFunctionAttr))
      output->setAttr("function", reported);
  }
  for (auto [from, to] : assignments) {
    copy(from, to, op.getLoc());
  }
}

LogicalResult ProgramBuilder::lowerOp(Operation &op) {
  if (auto step = dyn_cast<StepOpInterface>(op)) {
    lowerStep(step);
  } else if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op)) {
    return lowerCollective(collective);
  } else if (auto done = dyn_cast<dist::DoneOp>(op)) {
    lowerDone(done);
  } else if (auto send = dyn_cast<dist::SendOp>(op)) {
    lowerSend(send);
  } else if (auto receive = dyn_cast<dist::RecvOp>(op)) {
    lowerReceive(receive);
  } else if (auto returned = dyn_cast<func::ReturnOp>(op)) {
    lowerReturn(returned);
  } else if (auto index = dyn_cast<dist::AxisIndexOp>(op)) {
    auto names = llvm::map_range(index.getAxes().getAsRange<StringAttr>(), [](StringAttr a) { return a.getValue(); });
    std::string axes = llvm::join(names, ",");
    Value buffer = makeBuffer(Space::Private, bufferType(index.getType()), "index." + axes, op.getLoc());
    mapping.map(index.getResult(), buffer);
    exec::InputOp::create(buffers, op.getLoc(), buffers.getStringAttr(axes), buffers.getStringAttr("axis_index"),
                          buffer, TypeAttr::get(index.getType()), buffers.getI64IntegerAttr(-1), Attribute());
  } else if (auto loop = dyn_cast<dgc::WhileOp>(op)) {
    return lowerWhile(loop);
  } else if (auto branch = dyn_cast<dgc::IfOp>(op)) {
    return lowerIf(branch);
  } else if (auto constant = dyn_cast<ConstantOp>(op)) {
    mapping.map(constant.getResult(),
                BufferOp::create(buffers, op.getLoc(), bufferType(constant.getType()), Space::Constant, -1,
                                 nameOf(constant, counter++), cast<ElementsAttr>(constant.getValue()))
                    .getResult());
  } else if (!isa<ReshapeOp>(op)) {
    return op.emitOpError("is left in an entry function when it is scheduled; dgc-form-kernels turns everything but "
                          "collectives, reshapes and constants into steps");
  }
  return success();
}

LogicalResult ProgramBuilder::lowerBlock(Block &block) {
  for (Operation &op : block) {
    if (!isa<ConditionOp, YieldOp>(op) && failed(lowerOp(op))) {
      return failure();
    }
  }
  return success();
}

LogicalResult ProgramBuilder::run() {
  auto program = ProgramOp::create(buffers, function.getLoc(), function.getSymNameAttr(),
                                   function->getAttrOfType<StringAttr>(dist::kStepAttr),
                                   function->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr));
  Block &block = program.getBody().emplaceBlock();
  // Buffers go before this marker, steps after it.
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  auto marker = BufferOp::create(inside, function.getLoc(), MemRefType::get({1}, inside.getI8Type()), Space::Private,
                                 -1, "marker", ElementsAttr());
  buffers.setInsertionPoint(marker);
  steps.setInsertionPointToEnd(&block);

  findUses(function.getBody().front());
  lowerArguments();
  placeVariables();
  WalkResult placed =
      function.walk([&](dist::CollectiveOpInterface collective) -> WalkResult { return placeCollective(collective); });
  if (placed.wasInterrupted()) {
    return failure();
  }
  function.walk([&](dist::SendOp send) { placeSend(send); });
  if (failed(lowerBlock(function.getBody().front()))) {
    return failure();
  }
  marker.erase();
  // Constants that nothing reads in the end, as loops fill what they carry with them.
  for (auto buffer : llvm::make_early_inc_range(block.getOps<BufferOp>())) {
    if (buffer.getSpace() == Space::Constant && buffer->use_empty()) {
      buffer.erase();
    }
  }
  function.erase();
  return success();
}

} // namespace dgc::schedule

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Turns the declarations of state into variables of the local type that the entry functions use.
static LogicalResult lowerStates(ModuleOp module) {
  for (auto state : llvm::make_early_inc_range(module.getOps<StateOp>())) {
    auto globalType = cast<RankedTensorType>(state.getType());
    Type local = globalType;
    Attribute sharding;
    FlatSymbolRefAttr mesh; // of the workers that hold it: those of the functions that take or give it
    auto isState = [&](Attribute symbol) { return symbol == FlatSymbolRefAttr::get(state.getSymNameAttr()); };
    auto holdAs = [&](Type type, Attribute how, func::FuncOp function) {
      local = dist::dropEncoding(cast<RankedTensorType>(type));
      sharding = how;
      mesh = function->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr);
    };
    bool isTaken = false;
    for (auto function : module.getOps<func::FuncOp>()) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (isState(function.getArgAttr(i, kStateAttr))) {
          holdAs(function.getArgument(i).getType(), function.getArgAttr(i, dist::kShardingAttr), function);
          isTaken = true;
        }
      for (unsigned i = 0; i < function.getNumResults() && !isTaken; ++i)
        if (isState(function.getResultAttr(i, kStateAttr)))
          holdAs(function.getResultTypes()[i], function.getResultAttr(i, dist::kShardingAttr), function);
    }
    OpBuilder builder(state);
    NamedAttrList attributes(state->getAttrs());
    attributes.erase(SymbolTable::getSymbolAttrName());
    attributes.erase(state.getTypeAttrName());
    if (auto block = state->getAttrOfType<DictionaryAttr>(kBlockAttr)) {
      globalType = cast<RankedTensorType>(block.getAs<TypeAttr>("type").getValue());
      state.setType(globalType); // fans are those of the whole
    }
    auto [fanIn, fanOut] = state.getFans();
    attributes.set("fans", builder.getDenseI64ArrayAttr({fanIn, fanOut}));
    exec::VariableOp::create(builder, state.getLoc(), state.getSymNameAttr(), builder.getI64IntegerAttr(-1),
                             TypeAttr::get(schedule::bufferType(local)), TypeAttr::get(globalType), sharding, mesh,
                             attributes.getDictionary(module.getContext()));
    state.erase();
  }
  return success();
}

namespace {
struct LowerToPrograms : dgc::impl::LowerToProgramsPassBase<LowerToPrograms> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function.isExternal()) { // nothing calls it
        function.erase();
      }
    }
    if (failed(lowerStates(module))) {
      return signalPassFailure();
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      schedule::ProgramBuilder lowering(function);
      if (failed(lowering.run())) {
        return signalPassFailure();
      }
      copies += lowering.copies;
      inPlace += lowering.inPlace;
    }
  }
};
} // namespace
