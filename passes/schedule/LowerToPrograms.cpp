//===- LowerToPrograms.cpp - entry functions to exec programs --------------===//

#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/schedule/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_LOWERTOPROGRAMSPASS
#include "passes/schedule/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::exec;

static constexpr uint64_t alignment = 64;

/// The buffer type of a local tensor: encodings (partial sums) are dropped.
static MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

static uint64_t byteSize(Type type) {
  auto shaped = cast<ShapedType>(type);
  return storageBytes(shaped.getElementType()) * shaped.getNumElements();
}

/// The value whose memory `value` is: reshapes are views.
static Value rootOf(Value value) {
  while (auto reshape = value.getDefiningOp<mlir::dgc::ReshapeOp>()) {
    value = reshape->getOperand(0);
  }
  return value;
}

/// A name for people: that of the source location, or of the op that computes the value.
static std::string nameOf(Value value, unsigned index) {
  if (auto loc = value.getLoc()->findInstanceOf<NameLoc>()) {
    return loc.getName().str();
  }
  if (auto result = dyn_cast<OpResult>(value)) {
    return (result.getOwner()->getName().stripDialect() + "." + Twine(index)).str();
  }
  return "arg" + std::to_string(index);
}

namespace {

/// A collective as the runtime sees it: on contiguous memory, dimension 0 of the tensors being the major one.
struct CollectiveDescription {
  CollectiveKind kind;
  Reduction reduction = Reduction::Sum;
  bool inPlace = false;
  int64_t dim = 0; // the dimension that is cut or put together; must be 0
  SmallVector<int64_t> permutation;
};

/// Where the memory of a root value lies when it is not a buffer of its own.
struct Place {
  Value buffer;        // a buffer of the program
  uint64_t offset = 0; // in bytes
};

/// Lowers one entry function. Roots are values that own memory; every other value is a view of one.
class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp function) : function(function), buffers(function), steps(function) {}

  LogicalResult run();
  unsigned copies = 0, inPlace = 0;

private:
  void findUses();
  void lowerArguments();
  void placeVariables();
  LogicalResult placeCollective(dist::CollectiveOpInterface op);
  void placeSend(dist::SendOp op);
  LogicalResult lowerOp(Operation &op);
  void lowerStep(StepOpInterface op);
  LogicalResult lowerCollective(dist::CollectiveOpInterface op);
  void lowerSend(dist::SendOp op);
  void lowerReceive(dist::RecvOp op);
  void lowerReturn(func::ReturnOp op);

  Value makeBuffer(Space space, MemRefType type, StringRef name, Location loc);
  Value viewOf(const Place &place, MemRefType type, Location loc);
  Value bufferOf(Value value);
  void copy(Value from, Value to, Location loc);
  bool deadAfter(Value root, Operation *op) { return lastUse.lookup(root) <= position.lookup(op); }

  func::FuncOp function;
  OpBuilder buffers, steps; // the two parts of the program
  DenseMap<Operation *, int64_t> position;
  DenseMap<Value, int64_t> lastUse;                    // of a root, through its views
  DenseMap<Value, Place> places;                       // of roots that do not own their memory
  DenseMap<Operation *, Value> exchanges;              // collective -> its buffer in the shared arena
  SmallVector<std::pair<Value, StringAttr>> variables; // arguments that are variables
  DenseMap<std::pair<Value, std::pair<uint64_t, Type>>, Value> views;
  IRMapping mapping; // tensor value -> buffer
  unsigned counter = 0;
};

} // namespace

static FailureOr<CollectiveDescription> describe(Operation *op) {
  using Result = FailureOr<CollectiveDescription>;
  return TypeSwitch<Operation *, Result>(op)
      .Case([](dist::AllReduceOp op) -> Result {
        return CollectiveDescription{CollectiveKind::AllReduce, static_cast<Reduction>(op.getKind()), true, 0, {}};
      })
      .Case([](dist::AllGatherOp op) -> Result {
        return CollectiveDescription{CollectiveKind::AllGather, {}, false, static_cast<int64_t>(op.getDim()), {}};
      })
      .Case([](dist::ReduceScatterOp op) -> Result {
        return CollectiveDescription{CollectiveKind::ReduceScatter,
                                     static_cast<Reduction>(op.getKind()),
                                     false,
                                     static_cast<int64_t>(op.getDim()),
                                     {}};
      })
      .Case([](dist::AllToAllOp op) -> Result {
        return CollectiveDescription{
            CollectiveKind::AllToAll, {}, false, static_cast<int64_t>(std::max(op.getSplit(), op.getConcat())), {}};
      })
      .Case([](dist::PermuteOp op) -> Result {
        return CollectiveDescription{CollectiveKind::Permute, {}, false, 0, llvm::to_vector(op.getTargets())};
      })
      .Default([](Operation *op) -> Result {
        return op->emitOpError("cannot be scheduled: the executor has no such collective");
      });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value ProgramBuilder::makeBuffer(Space space, MemRefType type, StringRef name, Location loc) {
  return BufferOp::create(buffers, loc, type, space, /*offset=*/-1, name, ElementsAttr());
}

Value ProgramBuilder::viewOf(const Place &place, MemRefType type, Location loc) {
  if (place.offset == 0 && place.buffer.getType() == type) {
    return place.buffer;
  }
  Value &view = views[{place.buffer, {place.offset, type}}];
  if (!view) {
    view = ViewOp::create(buffers, loc, type, place.buffer, place.offset);
  }
  return view;
}

/// The buffer of `value`, made when it is asked for first.
Value ProgramBuilder::bufferOf(Value value) {
  if (Value known = mapping.lookupOrNull(value)) {
    return known;
  }
  Value root = rootOf(value);
  MemRefType type = bufferType(value.getType());
  Value buffer;
  if (root != value) {
    buffer = viewOf({bufferOf(root)}, type, value.getLoc());
  } else if (auto it = places.find(value); it != places.end()) {
    buffer = viewOf(it->second, type, value.getLoc());
  } else {
    buffer = makeBuffer(Space::Private, type, nameOf(value, counter), value.getLoc());
    ++counter;
  }
  mapping.map(value, buffer);
  return buffer;
}

void ProgramBuilder::copy(Value from, Value to, Location loc) {
  if (from.getType() != to.getType()) {
    from = viewOf({from}, cast<MemRefType>(to.getType()), loc);
  }
  CopyOp::create(steps, loc, from, to);
  ++copies;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Numbers the ops and finds the last use of each root. What is returned is in use until the end.
void ProgramBuilder::findUses() {
  int64_t index = 0;
  for (Operation &op : function.getBody().front()) {
    position[&op] = ++index;
    if (!isa<mlir::dgc::ReshapeOp>(op)) {
      for (Value operand : op.getOperands()) {
        lastUse[rootOf(operand)] = index;
      }
    }
  }
}

void ProgramBuilder::lowerArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    MemRefType type = bufferType(argument.getType());
    if (auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(index, "dgc.state")) {
      variables.push_back({argument, state.getAttr()});
      mapping.map(argument, GetVariableOp::create(buffers, argument.getLoc(), type, state).getResult());
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(index, "dgc.input");
    auto role = function.getArgAttrOfType<StringAttr>(index, "dgc.role");
    auto batchDim = function.getArgAttrOfType<IntegerAttr>(index, "dgc.batch_dim");
    auto globalType = function.getArgAttrOfType<TypeAttr>(index, "dist.global_type");
    std::string inputName = name ? name.str() : "arg" + std::to_string(index);
    Value buffer = makeBuffer(Space::Private, type, inputName, argument.getLoc());
    mapping.map(argument, buffer);
    InputOp::create(
        buffers, argument.getLoc(), buffers.getStringAttr(inputName), role ? role : buffers.getStringAttr("data"),
        buffer, globalType ? globalType : TypeAttr::get(argument.getType()),
        buffers.getI64IntegerAttr(batchDim ? batchDim.getInt() : -1), function.getArgAttr(index, "dist.sharding"));
  }
}

/// Places the results that can be written straight into the variable that they are the new value of: those of
/// steps behind the last use of the old value, or at it where the step may overwrite it.
void ProgramBuilder::placeVariables() {
  auto returned = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(returned.getOperands())) {
    auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(index, "dgc.state");
    auto variable = llvm::find_if(variables, [&](auto &v) { return state && v.second == state.getAttr(); });
    Value root = rootOf(value);
    auto step = root.getDefiningOp<StepOpInterface>();
    if (variable == variables.end() || !step || places.count(root)) {
      continue;
    }
    Value old = variable->first;
    int64_t operand = step.getInplaceOperand(cast<OpResult>(root).getResultNumber());
    auto reads = llvm::count_if(step->getOperands(), [&](Value v) { return rootOf(v) == old; });
    bool overwrites = operand >= 0 && rootOf(step->getOperand(operand)) == old && reads == 1;
    int64_t last = lastUse.lookup(old), here = position.lookup(step);
    if (last < here || (last == here && overwrites)) {
      places[root] = {mapping.lookup(old)};
      ++inPlace;
    }
  }
}

/// Gives the operands of a collective their places in one buffer of the shared arena. An operand that is no result
/// of a step, is placed already, or is needed after the collective keeps a buffer of its own and is copied.
LogicalResult ProgramBuilder::placeCollective(dist::CollectiveOpInterface op) {
  Type element = cast<ShapedType>(op->getOperand(0).getType()).getElementType();
  SmallVector<Place> members;
  uint64_t bytes = 0;
  for (Value operand : op->getOperands()) {
    if (cast<ShapedType>(operand.getType()).getElementType() != element) {
      return op->emitOpError("combines element types ")
             << element << " and " << cast<ShapedType>(operand.getType()).getElementType()
             << "; dgc-combine-collectives keeps them apart";
    }
    // Members are aligned, and the padding between them takes part; a lone member has none.
    members.push_back({Value(), bytes});
    bytes += byteSize(operand.getType());
    if (op->getNumOperands() > 1) {
      bytes = llvm::alignTo(bytes, alignment);
    }
  }
  auto type = MemRefType::get({static_cast<int64_t>(bytes / storageBytes(element))}, element);
  Value exchange = makeBuffer(Space::Shared, type, "exchange" + std::to_string(exchanges.size()), op->getLoc());
  exchanges[op] = exchange;
  for (auto [operand, member] : llvm::zip_equal(op->getOperands(), members)) {
    Value root = rootOf(operand);
    bool once = llvm::count_if(op->getOperands(), [&](Value v) { return rootOf(v) == root; }) == 1;
    if (root.getDefiningOp<StepOpInterface>() && !places.count(root) && once && deadAfter(root, op)) {
      places[root] = {exchange, member.offset};
    }
  }
  return success();
}

/// What is sent is written into the shared arena by its producer, if that is a step and the value has no other place.
void ProgramBuilder::placeSend(dist::SendOp op) {
  Value root = rootOf(op.getInput());
  if (root.getDefiningOp<StepOpInterface>() && !places.count(root)) {
    places[root] = {
        makeBuffer(Space::Shared, bufferType(root.getType()), "sent" + std::to_string(counter++), op->getLoc())};
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Emits the step on buffers. A result takes over the memory of an operand where the step allows it and the operand
/// is dead, owns private memory, and is no input or variable.
void ProgramBuilder::lowerStep(StepOpInterface op) {
  for (Value operand : op->getOperands()) {
    bufferOf(operand);
  }
  SmallVector<Value> outs;
  DenseSet<Value> taken;
  for (OpResult result : op->getResults()) {
    int64_t operand = op.getInplaceOperand(result.getResultNumber());
    Value old = operand >= 0 ? rootOf(op->getOperand(operand)) : Value();
    bool reuse = old && !places.count(result) && !places.count(old) && old.getDefiningOp<StepOpInterface>() &&
                 deadAfter(old, op) && byteSize(old.getType()) == byteSize(result.getType()) &&
                 llvm::count_if(op->getOperands(), [&](Value v) { return rootOf(v) == old; }) == 1 &&
                 taken.insert(old).second;
    if (reuse) {
      places[result] = {bufferOf(old)};
      ++inPlace;
    }
    outs.push_back(bufferOf(result));
  }
  op.cloneOnBuffers(steps, mapping, outs);
}

LogicalResult ProgramBuilder::lowerCollective(dist::CollectiveOpInterface op) {
  FailureOr<CollectiveDescription> description = describe(op);
  if (failed(description)) {
    return failure();
  }
  if (description->dim != 0) {
    return op->emitOpError("works on dimension ")
           << description->dim << "; the executor moves whole ranges of memory, so it must be 0";
  }
  auto mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(op, op.getMeshAttr());
  SmallVector<int64_t> axes;
  for (auto axis : op.getAxes().getAsRange<StringAttr>()) {
    axes.push_back(mesh.getMesh().getAxisIndex(axis.getValue()));
  }
  auto order = op->getAttrOfType<IntegerAttr>("dist.order");
  if (!order) {
    return op->emitOpError("has no place in the order of communication; dgc-order-collectives gives it one");
  }
  int64_t position = order.getInt();
  StringRef origin = op.getOriginAttr() ? op.getOriginAttr().getValue() : "";
  Value src = exchanges.lookup(op);
  auto layout = [&](ValueRange values, Value exchange, bool copyIn) {
    uint64_t offset = 0;
    for (Value value : values) {
      Value view = viewOf({exchange, offset}, bufferType(value.getType()), op->getLoc());
      auto it = places.find(rootOf(value));
      bool placed = it != places.end() && it->second.buffer == exchange;
      if (copyIn && !placed) {
        copy(bufferOf(value), view, op->getLoc());
      } else if (!copyIn) {
        mapping.map(value, view);
        places[value] = {exchange, offset};
      }
      offset = values.size() > 1 ? llvm::alignTo(offset + byteSize(value.getType()), alignment)
                                 : offset + byteSize(value.getType());
    }
    return offset;
  };
  layout(op->getOperands(), src, /*copyIn=*/true);
  Value dst = src;
  if (!description->inPlace) {
    Type element = cast<ShapedType>(op->getResult(0).getType()).getElementType();
    uint64_t bytes = 0;
    for (Value result : op->getResults()) {
      bytes = op->getNumResults() > 1 ? llvm::alignTo(bytes + byteSize(result.getType()), alignment)
                                      : byteSize(result.getType());
    }
    auto type = MemRefType::get({static_cast<int64_t>(bytes / storageBytes(element))}, element);
    dst = makeBuffer(Space::Shared, type, "received" + std::to_string(counter++), op->getLoc());
  }
  CollectiveOp::create(steps, op->getLoc(), description->kind, description->reduction, axes, position, src, dst,
                       description->permutation.empty() ? DenseI64ArrayAttr()
                                                        : steps.getDenseI64ArrayAttr(description->permutation),
                       origin);
  layout(op->getResults(), dst, /*copyIn=*/false);
  return success();
}

/// Whether a buffer of the program, or what it is a view of, lies in the shared arena.
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
  SendOp::create(steps, op->getLoc(), op.getChannel(), op.getTarget(), buffer, op.getOrigin().value_or(""));
}

void ProgramBuilder::lowerReceive(dist::RecvOp op) {
  ReceiveOp::create(steps, op->getLoc(), op.getChannel(), op.getSource(), bufferOf(op.getResult()),
                    op.getOrigin().value_or(""));
}

void ProgramBuilder::lowerReturn(func::ReturnOp op) {
  // First the outputs and new values that live elsewhere; a variable may be the new value of another one.
  SmallVector<std::pair<Value, Value>> assignments;
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    Value buffer = bufferOf(value);
    if (auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(index, "dgc.state")) {
      auto variable = llvm::find_if(variables, [&](auto &v) { return v.second == state.getAttr(); });
      Value target = variable != variables.end()
                         ? mapping.lookup(variable->first)
                         : GetVariableOp::create(buffers, op.getLoc(), bufferType(value.getType()), state).getResult();
      auto place = places.find(rootOf(value));
      if (buffer == target || (place != places.end() && place->second.buffer == target)) {
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
    auto name = function.getResultAttrOfType<StringAttr>(index, "dgc.output");
    auto role = function.getResultAttrOfType<StringAttr>(index, "dgc.role");
    auto batchDim = function.getResultAttrOfType<IntegerAttr>(index, "dgc.batch_dim");
    auto globalType = function.getResultAttrOfType<TypeAttr>(index, "dist.global_type");
    OutputOp::create(steps, op.getLoc(), name ? name : steps.getStringAttr("result" + Twine(index)),
                     role ? role : steps.getStringAttr("prediction"), buffer,
                     globalType ? globalType : TypeAttr::get(value.getType()),
                     steps.getI64IntegerAttr(batchDim ? batchDim.getInt() : -1),
                     function.getResultAttr(index, "dist.sharding"));
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
  } else if (auto send = dyn_cast<dist::SendOp>(op)) {
    lowerSend(send);
  } else if (auto receive = dyn_cast<dist::RecvOp>(op)) {
    lowerReceive(receive);
  } else if (auto returned = dyn_cast<func::ReturnOp>(op)) {
    lowerReturn(returned);
  } else if (auto index = dyn_cast<dist::AxisIndexOp>(op)) {
    std::string axes = llvm::join(
        llvm::map_range(index.getAxes().getAsRange<StringAttr>(), [](StringAttr axis) { return axis.getValue(); }),
        ",");
    Value buffer = makeBuffer(Space::Private, bufferType(index.getType()), "index." + axes, op.getLoc());
    mapping.map(index.getResult(), buffer);
    InputOp::create(buffers, op.getLoc(), buffers.getStringAttr(axes), buffers.getStringAttr("axis_index"), buffer,
                    TypeAttr::get(index.getType()), buffers.getI64IntegerAttr(-1), Attribute());
  } else if (auto constant = dyn_cast<mlir::dgc::ConstantOp>(op)) {
    mapping.map(constant.getResult(),
                BufferOp::create(buffers, op.getLoc(), bufferType(constant.getType()), Space::Constant, -1,
                                 nameOf(constant, counter++), cast<ElementsAttr>(constant.getValue()))
                    .getResult());
  } else if (!isa<mlir::dgc::ReshapeOp>(op)) {
    return op.emitOpError("is left in an entry function when it is scheduled; dgc-form-kernels turns everything but "
                          "collectives, reshapes and constants into steps");
  }
  return success();
}

LogicalResult ProgramBuilder::run() {
  auto program = ProgramOp::create(buffers, function.getLoc(), function.getSymNameAttr(),
                                   function->getAttrOfType<StringAttr>(dist::kStepAttr),
                                   function->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr));
  Block &block = program.getBody().emplaceBlock();
  // Buffers go before this marker, steps behind it.
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  auto marker = BufferOp::create(inside, function.getLoc(), MemRefType::get({1}, inside.getI8Type()), Space::Private,
                                 -1, "marker", ElementsAttr());
  buffers.setInsertionPoint(marker);
  steps.setInsertionPointToEnd(&block);

  findUses();
  lowerArguments();
  placeVariables();
  for (auto collective : function.getOps<dist::CollectiveOpInterface>()) {
    if (failed(placeCollective(collective))) {
      return failure();
    }
  }
  for (auto send : function.getOps<dist::SendOp>()) {
    placeSend(send);
  }
  for (Operation &op : function.getBody().front()) {
    if (failed(lowerOp(op))) {
      return failure();
    }
  }
  marker.erase();
  function.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Turns the declarations of state into variables of the local type that the entry functions use.
static LogicalResult lowerStates(ModuleOp module) {
  for (auto state : llvm::make_early_inc_range(module.getOps<mlir::dgc::StateOp>())) {
    auto globalType = cast<RankedTensorType>(state.getType());
    Type local = globalType;
    Attribute sharding;
    FlatSymbolRefAttr mesh; // of the workers that hold it: those of the functions that take or give it
    for (auto function : module.getOps<func::FuncOp>()) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(i, "dgc.state");
        if (symbol && symbol.getAttr() == state.getSymNameAttr()) {
          local = function.getArgument(i).getType();
          sharding = function.getArgAttr(i, "dist.sharding");
          mesh = function->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr);
        }
      }
    }
    OpBuilder builder(state);
    NamedAttrList attributes(state->getAttrs());
    attributes.erase(SymbolTable::getSymbolAttrName());
    attributes.erase(state.getTypeAttrName());
    auto [fanIn, fanOut] = state.getFans();
    attributes.set("fans", builder.getDenseI64ArrayAttr({fanIn, fanOut}));
    VariableOp::create(builder, state.getLoc(), state.getSymNameAttr(), builder.getI64IntegerAttr(-1),
                       TypeAttr::get(bufferType(local)), TypeAttr::get(globalType), sharding, mesh,
                       attributes.getDictionary(module.getContext()));
    state.erase();
  }
  return success();
}

namespace {
struct LowerToPrograms : ::dgc::impl::LowerToProgramsPassBase<LowerToPrograms> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(lowerStates(module))) {
      return signalPassFailure();
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      ProgramBuilder lowering(function);
      if (failed(lowering.run())) {
        return signalPassFailure();
      }
      copies += lowering.copies;
      inPlace += lowering.inPlace;
    }
  }
};
} // namespace
