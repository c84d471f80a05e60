// Loops that stay loops.

#ifndef DGC_COMPILER_IMPORT_ONNX_LOOPS_H
#define DGC_COMPILER_IMPORT_ONNX_LOOPS_H

#include "compiler/import/onnx/Node.h"

namespace dgc::import {

/// Gives the regions of `loop` what they use from outside as operands and as arguments at their ends; constants are copied. What
/// is the same in all rounds of its last region moves out.
void isolate(Operation *loop, MutableOperandRange invariants);

/// A node Loop whose number of rounds is not known, or is one of many, as a dgc.while: what it carries keeps its type, and no
/// round has a result of its own. Fails with a diagnostic.
LogicalResult buildWhile(Node &n);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_ONNX_LOOPS_H
