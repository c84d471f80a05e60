// Which parameter server holds which variable.

#include "passes/place/Stages.h"

#include "dialects/dgc/DGC.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;
using mlir::dgc::StateOp;
using mlir::dgc::StateRole;

namespace {
/// What is on one server: a variable, or several, with the optimizer's state that belongs to them.
struct Unit {
  uint64_t bytes = 0;
  std::optional<int64_t> stage; // that somebody wants
};
} // namespace

static uint64_t bytesOf(RankedTensorType type) {
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// The variable that a state is, or belongs to.
static StateOp variableOf(StateOp state) {
  if (state.getRole() != StateRole::Slot)
    return state;
  auto variable = SymbolTable::lookupNearestSymbolFrom<StateOp>(
      state->getParentOp(), StringAttr::get(state.getContext(), state.getSymName().rsplit('.').first));
  return variable ? variable : state;
}

namespace {
/// Distributes the states of a module.
class Distribution {
public:
  Distribution(ModuleOp module, int64_t first, int64_t servers) : module(module), first(first), held(servers) {}

  LogicalResult run() {
    for (auto state : module.getOps<StateOp>())
      bytes[variableOf(state)] += bytesOf(state.getTensorType());
    findUnits();
    if (failed(readStages()) || failed(checkOps()))
      return failure();
    std::vector<Unit *> open;
    for (auto &[key, unit] : units)
      if (unit.stage)
        held[*unit.stage - first] += unit.bytes;
      else
        open.push_back(&unit);
    llvm::stable_sort(open, [](const Unit *a, const Unit *b) { return a->bytes > b->bytes; });
    for (Unit *unit : open) {
      auto least = llvm::min_element(held);
      unit->stage = first + (least - held.begin());
      *least += unit->bytes;
    }
    forEachArgument([&](func::FuncOp function, unsigned i, StateOp state) {
      ::dgc::setArgumentStage(function, i, *units[keyOf[variableOf(state)]].stage);
    });
    return success();
  }

private:
  void forEachArgument(llvm::function_ref<void(func::FuncOp, unsigned, StateOp)> visit) {
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (FlatSymbolRefAttr name = ::dgc::argumentState(function, i))
          if (auto state = module.lookupSymbol<StateOp>(name.getAttr()))
            visit(function, i, state);
  }

  /// Variables of one colocation are one unit, others are units of their own.
  void findUnits() {
    forEachArgument([&](func::FuncOp function, unsigned i, StateOp state) {
      StateOp variable = variableOf(state);
      if (keyOf.count(variable))
        return;
      auto colocation = function.getArgAttrOfType<StringAttr>(i, kColocateAttr);
      const void *key = colocation ? colocation.getAsOpaquePointer() : variable.getOperation();
      keyOf[variable] = key;
      units[key].bytes += bytes.lookup(variable);
    });
  }

  /// The servers that somebody wants.
  LogicalResult readStages() {
    LogicalResult result = success();
    forEachArgument([&](func::FuncOp function, unsigned i, StateOp state) {
      std::optional<int64_t> stage = ::dgc::argumentStage(function, i);
      Unit &unit = units[keyOf[variableOf(state)]];
      if (!stage || failed(result))
        return;
      if (*stage < first || *stage >= first + static_cast<int64_t>(held.size()))
        result = state.emitError() << "'" << state.getSymName() << "' cannot be on stage " << *stage
                                   << ": with parameter servers a variable is on one of them; write dist.device = "
                                      "#dist.device<\"/job:ps/task:0\">";
      else if (unit.stage && unit.stage != stage)
        result = state.emitError() << "'" << state.getSymName() << "' is to be on server " << *stage - first
                                   << ", and what it is colocated with on server " << *unit.stage - first;
      else
        unit.stage = stage;
    });
    return result;
  }

  /// Ops are on the workers, and so not with variables.
  LogicalResult checkOps() {
    WalkResult result = module.walk([&](Operation *op) -> WalkResult {
      auto name = op->getAttrOfType<StringAttr>(kColocateAttr);
      if (!name || !units.count(name.getAsOpaquePointer()))
        return WalkResult::advance();
      return WalkResult(op->emitOpError() << "cannot be colocated with the variables of " << name
                                          << ": parameter servers hold variables; all workers compute the ops");
    });
    return failure(result.wasInterrupted());
  }

  ModuleOp module;
  int64_t first;
  std::vector<uint64_t> held; // bytes, by server
  DenseMap<Operation *, uint64_t> bytes;
  DenseMap<Operation *, const void *> keyOf; // of variables
  llvm::MapVector<const void *, Unit> units;
};
} // namespace

namespace dgc {

LogicalResult placeOnServers(ModuleOp module, int64_t first, int64_t servers) {
  return Distribution(module, first, servers).run();
}

} // namespace dgc
