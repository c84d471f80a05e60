//===- ProgramBuilder.cpp - the memory of a program's values --------------===//

#include "passes/schedule/ProgramBuilder.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"

using namespace mlir;
using namespace dgc::exec;

namespace dgc::schedule {

MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

uint64_t byteSize(Type type) {
  auto shaped = cast<ShapedType>(type);
  return storageBytes(shaped.getElementType()) * shaped.getNumElements();
}

std::string nameOf(Value value, unsigned index) {
  if (auto loc = value.getLoc()->findInstanceOf<NameLoc>()) {
    return loc.getName().str();
  }
  if (auto result = dyn_cast<OpResult>(value)) {
    return (result.getOwner()->getName().stripDialect() + "." + Twine(index)).str();
  }
  return "arg" + std::to_string(index);
}

Value rootOf(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    value = reshape->getOperand(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value ProgramBuilder::makeBuffer(Space space, MemRefType type, StringRef name, Location loc) {
  return BufferOp::create(buffers, loc, type, space, /*offset=*/-1, name, ElementsAttr());
}

Value ProgramBuilder::viewOf(const BufferSlice &slice, MemRefType type, Location loc) {
  if (slice.offset == 0 && slice.buffer.getType() == type) {
    return slice.buffer;
  }
  Value &view = views[{slice.buffer, {slice.offset, type}}];
  if (!view) {
    view = ViewOp::create(buffers, loc, type, slice.buffer, slice.offset);
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
  } else if (auto it = slices.find(value); it != slices.end()) {
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

std::optional<double> ProgramBuilder::splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat()) {
    return std::nullopt;
  }
  if (auto type = dyn_cast<FloatType>(elements.getElementType())) {
    auto number = elements.getSplatValue<APFloat>();
    return type.getWidth() <= 32 || number.isPosZero() ? std::optional(number.convertToDouble()) : std::nullopt;
  }
  auto number = elements.getSplatValue<APInt>();
  return number.isZero() ? std::optional(0.0) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Numbers the ops and finds the last use of each root. What is returned is in use until the end.
void ProgramBuilder::findUses(Block &block) {
  for (Operation &op : block) {
    position[&op] = ++numbered;
    if (!isa<ReshapeOp>(op)) {
      for (Value operand : op.getOperands()) {
        lastUse[rootOf(operand)] = numbered;
      }
    }
    for (Region &region : op.getRegions()) {
      findUses(region.front());
    }
  }
}

void ProgramBuilder::lowerArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    MemRefType type = bufferType(argument.getType());
    if (auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(index, kStateAttr)) {
      variables.push_back({argument, state.getAttr()});
      auto variable = GetVariableOp::create(buffers, argument.getLoc(), type, state);
      if (Attribute position = function.getArgAttr(index, kArgumentAttr))
        variable->setAttr("argument", position);
      mapping.map(argument, variable.getResult());
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(index, kInputAttr);
    auto role = function.getArgAttrOfType<StringAttr>(index, kRoleAttr);
    auto batchDim = function.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr);
    auto globalType = function.getArgAttrOfType<TypeAttr>(index, dist::kGlobalTypeAttr);
    std::string inputName = name ? name.str() : "arg" + std::to_string(index);
    Value buffer = makeBuffer(Space::Private, type, inputName, argument.getLoc());
    mapping.map(argument, buffer);
    auto input = exec::InputOp::create(
        buffers, argument.getLoc(), buffers.getStringAttr(inputName), role ? role : buffers.getStringAttr("data"),
        buffer, globalType ? globalType : TypeAttr::get(argument.getType()),
        buffers.getI64IntegerAttr(batchDim ? batchDim.getInt() : -1), function.getArgAttr(index, dist::kShardingAttr));
    if (Attribute limit = function.getArgAttr(index, kIndexLimitAttr)) {
      input->setAttr("index_limit", limit);
    }
    if (Attribute position = function.getArgAttr(index, kArgumentAttr)) {
      input->setAttr("argument", position);
    }
  }
}

/// Lets the step that computes a root write it to `target`, a buffer that holds `old` (null: nothing) so far, where it comes
/// after the last use of that, or is the last one and may overwrite it; of steps that overwrite each the result of the one
/// before, all, where the first one may. False, with nothing placed, for others.
bool ProgramBuilder::placeStep(Value root, Value target, Value old) {
  auto step = root.getDefiningOp<StepOpInterface>();
  if (!step || slices.contains(root)) {
    return false;
  }
  const int64_t operand = step.getInplaceOperand(cast<OpResult>(root).getResultNumber()), here = position.lookup(step);
  Value overwritten = operand >= 0 ? rootOf(step->getOperand(operand)) : Value();
  const bool overwrites =
      overwritten && llvm::count_if(step->getOperands(), [&](Value v) { return rootOf(v) == overwritten; }) == 1;
  const int64_t last = old ? lastUse.lookup(old) : 0;
  const bool isFirst = overwrites && overwritten == old;
  const bool isNext = overwrites && !isFirst && lastUse.lookup(overwritten) == here &&
                      overwritten.getParentBlock() == root.getParentBlock() && placeStep(overwritten, target, old);
  if (!isNext && last >= here && !(last == here && isFirst)) {
    return false;
  }
  slices[root] = {target};
  ++inPlace;
  return true;
}

/// Lets the step that computes `value` write it to `target`, where it may. In a loop, one that is the last use of `old` and may
/// not overwrite it is followed by the copy at once, so that its result does not need memory until the end of the round.
void ProgramBuilder::placeResult(Value value, Value target, Value old) {
  Value root = rootOf(value);
  auto step = root.getDefiningOp<StepOpInterface>();
  if (!step || slices.contains(root) || placeStep(root, target, old)) {
    return;
  }
  const int64_t last = old ? lastUse.lookup(old) : 0;
  if (last == position.lookup(step) && step->getParentOp() != function && rootOf(value) == value) {
    copiesAfter[step].push_back({root, target});
  }
}

/// Places the results that can be written straight into the variable that they are the new value of.
void ProgramBuilder::placeVariables() {
  auto returned = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(returned.getOperands())) {
    auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(index, kStateAttr);
    auto variable = llvm::find_if(variables, [&](auto &v) { return state && v.second == state.getAttr(); });
    if (variable != variables.end()) {
      placeResult(value, mapping.lookup(variable->first), variable->first);
    }
  }
}

/// Gives the operands of a collective their places in the shared arena: one after the other where the collective
/// works in place, else each in a buffer of its own. An operand that is no result
/// of a step, is placed already, or is needed after the collective keeps a buffer of its own and is copied.
LogicalResult ProgramBuilder::placeCollective(dist::CollectiveOpInterface op) {
  Type element = cast<ShapedType>(op->getOperand(0).getType()).getElementType();
  SmallVector<BufferSlice> members;
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
      bytes = llvm::alignTo(bytes, bufferAlignment);
    }
  }
  std::string name = "exchange" + std::to_string(exchanges.size());
  SmallVector<Value> &mine = exchanges[op];
  if (op.describe().inPlace) {
    auto type = MemRefType::get({static_cast<int64_t>(bytes / storageBytes(element))}, element);
    mine.push_back(makeBuffer(Space::Shared, type, name, op->getLoc()));
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    BufferSlice slice{mine.empty() ? Value() : mine[0], members[i].offset};
    if (!op.describe().inPlace) {
      auto type = MemRefType::get({cast<ShapedType>(operand.getType()).getNumElements()}, element);
      mine.push_back(makeBuffer(Space::Shared, type, i ? name + "." + std::to_string(i) : name, op->getLoc()));
      slice = {mine[i], 0};
    }
    Value root = rootOf(operand);
    bool once = llvm::count_if(op->getOperands(), [&](Value v) { return rootOf(v) == root; }) == 1;
    if (root.getDefiningOp<StepOpInterface>() && !slices.contains(root) && once && deadAfter(root, op)) {
      slices[root] = slice;
    }
  }
  return success();
}

/// What is sent is written into the shared arena by its producer, if that is a step and the value has no other memory.
void ProgramBuilder::placeSend(dist::SendOp op) {
  Value root = rootOf(op.getInput());
  if (root.getDefiningOp<StepOpInterface>() && !slices.contains(root)) {
    slices[root] = {
        makeBuffer(Space::Shared, bufferType(root.getType()), "sent" + std::to_string(counter++), op->getLoc())};
  }
}

} // namespace dgc::schedule
