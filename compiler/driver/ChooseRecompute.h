//===- ChooseRecompute.h - what to compute again so that a plan fits -------===//

#ifndef DGC_COMPILER_DRIVER_CHOOSERECOMPUTE_H
#define DGC_COMPILER_DRIVER_CHOOSERECOMPUTE_H

#include "compiler/driver/CompileOptions.h"

namespace dgc {

/// What to compute again; nothing where nothing has to be. The fewest blocks (or values of no block) with which a plan
/// for `original`, the module before the phases, keeps the limit, those first that hold most; all of them where even
/// that does not fit. A remark says what was chosen.
std::optional<NamePatterns> chooseRecompute(mlir::ModuleOp original, const CompileOptions &options);

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_CHOOSERECOMPUTE_H
