//===- States.h - variables and the optimizer's state -----------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_STATES_H
#define DGC_DIALECTS_DGC_STATES_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"

namespace dgc {

/// The variable that `state` is or, for a slot of the optimizer (`w.momentum`), belongs to (`w`). A slot without its
/// variable is its own.
StateOp variableOf(StateOp state);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_STATES_H
