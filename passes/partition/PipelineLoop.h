// Software pipelining of a loop over micro-batches that several stages go through.

#ifndef DGC_PASSES_PARTITION_PIPELINELOOP_H
#define DGC_PASSES_PARTITION_PIPELINELOOP_H

#include "dialects/dgc/DGC.h"
#include "passes/partition/PipelineSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {

/// Whether an op contracts operands: has the work of a matrix product or a convolution.
bool isContraction(mlir::Operation *op);

/// Replaces a loop, whose rounds are one micro-batch after the other, by the slots of a schedule: those before its steady
/// state, a loop over that, and those after it; where forward and backward passes have one each, two such loops. What a
/// micro-batch has computed in one round and needs in a later one is carried, and what backward passes need of forward passes
/// of another loop is in arrays with a row for each micro-batch; but for what each slot computes again: what follows from the
/// number of the micro-batch and from what is the same for all, without a gather or a contraction. False, with nothing
/// changed, where an op would come before what it needs.
bool pipelineLoop(mlir::func::FuncOp function, WhileOp loop, const SteadyState &state);

} // namespace dgc

#endif // DGC_PASSES_PARTITION_PIPELINELOOP_H
