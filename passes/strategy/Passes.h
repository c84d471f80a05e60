// Strategies: passes that write annotations. They move no data and insert no
// communication.

#ifndef DGC_PASSES_STRATEGY_PASSES_H
#define DGC_PASSES_STRATEGY_PASSES_H

#include "dialects/dist/Dist.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/strategy/Passes.h.inc"

/// A strategy by the name that `--strategy` takes.
struct Strategy {
  llvm::StringRef name;
  llvm::StringRef summary;
  std::unique_ptr<mlir::Pass> (*create)();
};

/// All strategies, by name.
llvm::ArrayRef<Strategy> getStrategies();

/// Adds the passes of a comma-separated list of strategies, in that order.
/// Fails with a message that lists what there is when a name is not known.
llvm::LogicalResult addStrategies(mlir::OpPassManager &manager, llvm::StringRef list, std::string &error);

} // namespace dgc

#endif // DGC_PASSES_STRATEGY_PASSES_H
