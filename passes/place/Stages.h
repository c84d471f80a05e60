// Stages: the group of devices that computes an op.

#ifndef DGC_PASSES_PLACE_STAGES_H
#define DGC_PASSES_PLACE_STAGES_H

#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/analysis/OptionTypes.h"
#include "passes/place/PlacementRules.h"

namespace dgc {

/// The stage in the attribute of an op; none without one.
std::optional<int64_t> stageOf(mlir::Operation *op);
void setStage(mlir::Operation *op, int64_t stage);

/// The stage of an argument or a result in the attributes of the function.
std::optional<int64_t> argumentStage(mlir::func::FuncOp function, unsigned index);
void setArgumentStage(mlir::func::FuncOp function, unsigned index, int64_t stage);
std::optional<int64_t> resultStage(mlir::func::FuncOp function, unsigned index);

/// A loop over micro-batches that several stages go through: the ops in it have stages, and it has none.
bool isAcrossStages(mlir::Operation *op);

/// What a result, or an argument in the body, of such a loop is: what its body yields, what goes into it, or one after the
/// other. Empty for other values.
llvm::SmallVector<mlir::Value, 2> sourcesOf(mlir::Value value);

/// Calls `see` for each op that uses a value; in place of a loop across stages, and of the end of its body, for those that
/// use what it hands on.
void forEachUser(mlir::Value value, llvm::function_ref<void(mlir::Operation *)> see);

/// The ops of a function in order, those in loops across stages included; without terminators.
llvm::SmallVector<mlir::Operation *> opsOnStages(mlir::func::FuncOp function);

/// Values that are uniform: every device can compute them alike without communication. These are constants, iotas,
/// scalars that the runtime gives to all workers, and what is computed from these alone.
class UniformValues {
public:
  explicit UniformValues(mlir::func::FuncOp function);
  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool contains(mlir::Value value) const { return values.contains(value); }

private:
  void visit(mlir::Block &block);
  void visitLoop(WhileOp loop);

  llvm::DenseSet<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> values;
};

/// The ops that loss, metrics and outputs depend on, those in loops across stages included.
llvm::DenseSet<mlir::Operation *> forwardOps(mlir::func::FuncOp function);

/// The ops of a function that follow from a gradient with respect to arguments.
llvm::DenseSet<mlir::Operation *> backwardOps(mlir::func::FuncOp function);

/// The forward ops that follow from a variable, in order: the ones to be placed. What follows from data alone is near its
/// users.
llvm::SmallVector<mlir::Operation *> opsToPlace(mlir::func::FuncOp function,
                                                const llvm::DenseSet<mlir::Operation *> &backward);

/// True when the runtime fills the argument from the data set, on any worker that asks for it.
bool isDataInput(mlir::func::FuncOp function, unsigned index);

/// The state that an argument or result of a function is; null when it is none.
mlir::FlatSymbolRefAttr argumentState(mlir::func::FuncOp function, unsigned index);
mlir::FlatSymbolRefAttr resultState(mlir::func::FuncOp function, unsigned index);

/// The number and kind of the groups of devices.
struct DeviceGroups {
  int64_t stages, servers;      // the last `servers` stages are parameter servers
  llvm::StringRef kind = "cpu"; // the device of each worker, or of each server where there are such: cpu or gpu
};

/// Turns the devices of ops and variables into their stages, and those of the rules, each of which must name something.
mlir::LogicalResult readDevices(mlir::ModuleOp module, const PlacementRules &placement, const DeviceGroups &groups);

/// Rows of a variable, and of the optimizer's state that belongs to it, that are on one stage.
struct RowBlock {
  int64_t first, count, stage;
};

/// Whether rows of a variable can be apart: nothing but the updates of an optimizer, which work element by element,
/// gives it or its state new values.
bool canSplitRows(mlir::ModuleOp module, StateOp variable, llvm::ArrayRef<StateOp> slots);

/// Replaces a variable that can be split, and its state, by blocks, which are states of their own on their stages. Ops
/// get the blocks put together, on stage 0; each block is updated by itself, with its rows of the gradient, which are
/// taken on stage 0.
void splitRows(mlir::ModuleOp module, StateOp variable, llvm::ArrayRef<StateOp> slots, llvm::ArrayRef<RowBlock> blocks);

/// Gives the states of a module that have no stage one of `first` to `first + servers - 1`: each the next largest
/// variable, with the optimizer's state that belongs to it and what it is colocated with, where fewest bytes are so
/// far. A variable that is larger than what each server would have of all bytes is split last: its rows fill up those
/// servers that have less.
mlir::LogicalResult placeOnServers(mlir::ModuleOp module, int64_t first, int64_t servers);

/// What a worker can hold and do, for the choice of stages.
struct StageCosts {
  uint64_t capacity = UINT64_MAX;
  double flopsPerSecond = 5e10, bytesPerSecond = 5e9;
};

/// Chooses a stage for each of `ops`, forward ops of `function` in order, by a solver of Placement.h: chain, greedy or
/// exact. Fails with a diagnostic when there is no placement.
mlir::LogicalResult solveStages(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Operation *> ops, int64_t stages,
                                StageSolver solver, const StageCosts &costs);

/// How many of the ops to be placed are on each stage, in the first function of a module with stages that has such ops.
/// Empty where these are no ranges of them in order.
std::vector<int64_t> stageCuts(mlir::ModuleOp module);

/// Puts the first cuts[0] of `ops` on stage 0, the next cuts[1] on stage 1, and so on. Fails with a diagnostic where that is
/// not at least one op for each of `stages`, and all ops together.
mlir::LogicalResult cutStages(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Operation *> ops, int64_t stages,
                              llvm::ArrayRef<int64_t> cuts);

} // namespace dgc

#endif // DGC_PASSES_PLACE_STAGES_H
