// The strategies that `--strategy` takes: a comma-separated list of names, some with an argument behind `=`.

#ifndef DGC_PASSES_STRATEGY_REGISTRY_H
#define DGC_PASSES_STRATEGY_REGISTRY_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace dgc {

/// Where in the compiler a strategy has its pass.
enum class StrategyStage {
  Gradient, // after the gradients, on global shapes: what is computed when
  Shard,    // before shardings are propagated: where values are
  Refine,   // after that, when it is known where everything is
};

struct Strategy {
  llvm::StringRef name;
  llvm::StringRef summary;
  /// What it is called elsewhere.
  llvm::ArrayRef<llvm::StringRef> aliases;
  /// What stands behind `=`, for people ("K"); empty: no argument.
  llvm::StringRef argument;
  bool argumentOptional = false;
  /// The axes of the mesh that it distributes over; none: it needs no mesh.
  llvm::ArrayRef<llvm::StringRef> axes;
  /// Strategies that it includes: they are added where the list does not have them.
  llvm::ArrayRef<llvm::StringRef> includes;
  /// Strategies that must be in the list as well.
  llvm::ArrayRef<llvm::StringRef> needs;
  /// Strategies that it cannot be combined with, each with the reason.
  llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> excludes;
  StrategyStage stage = StrategyStage::Shard;
  /// The pass, with the option that takes the argument; empty: other passes look at the list themselves.
  llvm::StringRef pass, option;
};

/// A strategy of a list with its argument.
struct ChosenStrategy {
  const Strategy *strategy;
  std::string argument;
};

/// All strategies, in the order in which their passes run. What one has annotated the next leaves alone.
llvm::ArrayRef<Strategy> getStrategies();

/// Names with arguments and summaries, one per line, for `--help`.
std::string describeStrategies();

/// The strategies of a list, those included added, in the order in which their passes run: it does not depend on the
/// order of the list. With a mesh that has more than stages and nothing that distributes over it, data parallelism is
/// added, unless the model is `annotated`: says itself how its values are spread. `axes` are those of the mesh. Fails
/// with a message that says what is wrong, and what would be accepted.
llvm::FailureOr<std::vector<ChosenStrategy>> parseStrategies(llvm::StringRef list, llvm::ArrayRef<llvm::StringRef> axes,
                                                             bool annotated, std::string &error);

/// The passes of one stage as text for a pass pipeline, each with a comma behind.
std::string strategyPasses(llvm::ArrayRef<ChosenStrategy> strategies, StrategyStage stage);

} // namespace dgc

#endif // DGC_PASSES_STRATEGY_REGISTRY_H
