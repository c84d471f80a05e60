// Which parameter server holds which variable.

#include "dialects/dgc/TensorUtil.h"
#include "passes/place/Stages.h"

#include "dialects/dgc/States.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
/// What is on one server: a variable, or several, with the optimizer's state that belongs to them.
struct VariableGroup {
  SmallVector<StateOp, 1> variables;
  uint64_t bytes = 0;
  std::optional<int64_t> stage; // where the model places it
};

/// Distributes the states of a module.
class Distribution {
public:
  Distribution(ModuleOp module, int64_t first, int64_t servers) : module(module), first(first), held(servers) {}

  LogicalResult run() {
    for (auto state : module.getOps<StateOp>()) {
      StateOp variable = variableOf(state);
      bytes[variable] += bytesOf(state.getTensorType());
      if (variable != state)
        slots[variable].push_back(state);
    }
    findUnits();
    if (failed(readStages()) || failed(checkOps()))
      return failure();
    uint64_t all = 0;
    for (auto &[key, group] : groups)
      all += group.bytes;
    share = llvm::divideCeil(all, held.size());
    std::vector<VariableGroup *> open, large;
    for (auto &[key, group] : groups)
      if (group.stage)
        held[*group.stage - first] += group.bytes;
      else
        (canSplit(group) ? large : open).push_back(&group);
    auto isLarger = [](const VariableGroup *a, const VariableGroup *b) { return a->bytes > b->bytes; };
    llvm::stable_sort(open, isLarger);
    llvm::stable_sort(large, isLarger);
    for (VariableGroup *group : open)
      place(*group, llvm::min_element(held) - held.begin());
    SmallVector<std::pair<VariableGroup *, SmallVector<RowBlock>>> splits;
    for (VariableGroup *group : large)
      if (SmallVector<RowBlock> blocks = fillUp(*group); blocks.size() > 1)
        splits.push_back({group, std::move(blocks)});
      else
        group->stage = blocks.front().stage;
    forEachArgument([&](func::FuncOp function, unsigned i, StateOp state) {
      if (std::optional<int64_t> stage = groups[keyOf[variableOf(state)]].stage)
        setArgumentStage(function, i, *stage);
    });
    for (auto &[group, blocks] : splits) {
      StateOp variable = group->variables.front();
      splitRows(module, variable, slots[variable], blocks);
    }
    return success();
  }

private:
  void place(VariableGroup &group, int64_t server) {
    group.stage = first + server;
    held[server] += group.bytes;
  }

  /// Whether a group is one variable that is more than what a server would have, and that can be split.
  bool canSplit(VariableGroup &group) {
    return group.bytes > share && group.variables.size() == 1 &&
           canSplitRows(module, group.variables.front(), slots[group.variables.front()]);
  }

  /// Gives the rows of a variable to servers: to those first that have fewest bytes, up to `share`, but none so few
  /// that they are not worth a transfer.
  SmallVector<RowBlock> fillUp(const VariableGroup &group) {
    int64_t rows = StateOp(group.variables.front()).getTensorType().getDimSize(0), done = 0;
    uint64_t bytesPerRow = group.bytes / rows, least = std::max(bytesPerRow, share / 64);
    SmallVector<size_t> servers = llvm::to_vector(llvm::seq<size_t>(0, held.size()));
    llvm::stable_sort(servers, [&](size_t a, size_t b) { return held[a] < held[b]; });
    SmallVector<RowBlock> blocks;
    for (size_t server : servers) {
      uint64_t free = share - std::min(held[server], share);
      int64_t count = std::min<int64_t>(rows - done, (free + bytesPerRow / 2) / bytesPerRow);
      if (free < least || count == 0)
        break;
      blocks.push_back({done, count, first + static_cast<int64_t>(server)});
      held[server] += count * bytesPerRow;
      done += count;
    }
    // What is left is too little for a block of its own.
    if (blocks.empty())
      blocks.push_back({0, 0, first + static_cast<int64_t>(servers.front())});
    blocks.back().count += rows - done;
    held[blocks.back().stage - first] += (rows - done) * bytesPerRow;
    return blocks;
  }

  void forEachArgument(llvm::function_ref<void(func::FuncOp, unsigned, StateOp)> visit) {
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (FlatSymbolRefAttr name = argumentState(function, i))
          if (auto state = module.lookupSymbol<StateOp>(name.getAttr()))
            visit(function, i, state);
  }

  /// Variables of one colocation are one group, others are groups of their own.
  void findUnits() {
    forEachArgument([&](func::FuncOp function, unsigned i, StateOp state) {
      StateOp variable = variableOf(state);
      if (keyOf.contains(variable))
        return;
      auto colocation = function.getArgAttrOfType<StringAttr>(i, kColocateAttr);
      const void *key = colocation ? colocation.getAsOpaquePointer() : variable.getOperation();
      keyOf[variable] = key;
      groups[key].variables.push_back(variable);
      groups[key].bytes += bytes.lookup(variable);
    });
  }

  /// The servers that the model names.
  LogicalResult readStages() {
    LogicalResult result = success();
    forEachArgument([&](func::FuncOp function, unsigned i, StateOp state) {
      std::optional<int64_t> stage = argumentStage(function, i);
      VariableGroup &group = groups[keyOf[variableOf(state)]];
      if (!stage || failed(result))
        return;
      if (*stage < first || *stage >= first + static_cast<int64_t>(held.size()))
        result = state.emitError() << "'" << state.getSymName() << "' cannot be on stage " << *stage
                                   << ": with parameter servers a variable is on one of them; write dist.device = "
                                      "#dist.device<\"/job:ps/task:0\">";
      else if (group.stage && group.stage != stage)
        result = state.emitError() << "'" << state.getSymName() << "' is to be on server " << *stage - first
                                   << ", and what it is colocated with on server " << *group.stage - first;
      else
        group.stage = stage;
    });
    return result;
  }

  /// Ops are on the workers, and so not with variables.
  LogicalResult checkOps() {
    WalkResult result = module.walk([&](Operation *op) -> WalkResult {
      auto name = op->getAttrOfType<StringAttr>(kColocateAttr);
      if (!name || !groups.contains(name.getAsOpaquePointer()))
        return WalkResult::advance();
      return WalkResult(op->emitOpError() << "cannot be colocated with the variables of " << name
                                          << ": parameter servers hold variables; all workers compute the ops");
    });
    return failure(result.wasInterrupted());
  }

  ModuleOp module;
  int64_t first;
  std::vector<uint64_t> held; // bytes, by server
  uint64_t share = 0;         // of a server, if all had the same
  DenseMap<Operation *, uint64_t> bytes;
  DenseMap<Operation *, SmallVector<StateOp, 2>> slots; // of variables
  DenseMap<Operation *, const void *> keyOf;            // of variables
  llvm::MapVector<const void *, VariableGroup> groups;
};
} // namespace

namespace dgc {

LogicalResult placeOnServers(ModuleOp module, int64_t first, int64_t servers) {
  return Distribution(module, first, servers).run();
}

} // namespace dgc
