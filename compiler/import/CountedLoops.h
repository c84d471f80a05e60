// Loops of StableHLO whose number of rounds is known.

#ifndef DGC_COMPILER_IMPORT_COUNTEDLOOPS_H
#define DGC_COMPILER_IMPORT_COUNTEDLOOPS_H

#include "compiler/import/Patterns.h"
#include "dialects/dgc/LoopCount.h"

namespace dgc::import {

/// A loop that counts, and the operand that carries the counter.
struct CountedLoop : LoopCount {
  unsigned operand;
};

/// How a loop counts, where first, limit and step are constants.
std::optional<CountedLoop> countOf(stablehlo::WhileOp op);

/// A `dgc.scan` in front of a loop that goes over the slices of tensors: it reads each slice in its turn, from the first or
/// from the last one on, or writes each slice of a result so. Gives the results of the loop, or none where it is not one
/// that does.
SmallVector<Value> buildScan(OpBuilder &builder, stablehlo::WhileOp op, const CountedLoop &count);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_COUNTEDLOOPS_H
