// The strategies that `--strategy` takes: a comma-separated list of names, some with an argument after `=`.

#ifndef DGC_COMPILER_DRIVER_STRATEGIES_H
#define DGC_COMPILER_DRIVER_STRATEGIES_H

#include "mlir/Support/LLVM.h"
#include "passes/analysis/OptionTypes.h"

namespace dgc {

/// What a list of strategies asks for.
struct StrategyOptions {
  int64_t accumulate = 0;                // micro-batches, one after the other; 0: none
  std::optional<NamePatterns> recompute; // values computed again; without patterns: as --memory-limit asks for
  int64_t parameterServers = 0, asyncParameterServers = 0;
  bool centralStorage = false;
  std::optional<PipelineScheduleKind> pipeline;
  bool zero1 = false, zero2 = false, zero3 = false;
  std::optional<WeightCuts> tensorParallel; // without cuts: heads and mlp
  bool dataParallel = false, sequenceParallel = false;

  /// The list, in the order of the table; empty for none.
  std::string text() const;
  static std::optional<StrategyOptions> parse(llvm::StringRef list, std::string &error);

  /// True for `recompute` without a pattern: --memory-limit decides.
  bool leavesRecomputeOpen() const { return recompute && recompute->patterns.empty(); }
  /// The processes that are not workers.
  int64_t servers() const { return centralStorage ? 1 : parameterServers + asyncParameterServers; }
  /// The stage of ZeRO, 0 for none.
  int64_t zeroStage() const { return zero3 ? 3 : zero2 ? 2 : zero1 ? 1 : 0; }
};

/// A strategy of the table.
struct Strategy {
  llvm::StringRef name;
  llvm::StringRef summary;
  /// Whether it is asked for, and its argument.
  std::optional<std::string> (*print)(const StrategyOptions &);
  /// Asks for it; fails with what is wrong with the argument.
  bool (*set)(StrategyOptions &, llvm::StringRef argument, std::string &error);
  /// What it is called elsewhere.
  llvm::ArrayRef<llvm::StringRef> aliases;
  /// The argument after `=` as messages name it ("K"); empty: no argument.
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
};

/// All strategies.
llvm::ArrayRef<Strategy> getStrategies();

/// Names with arguments and summaries, one per line, for `--help`.
std::string describeStrategies();

/// What is asked for with what that includes. With a mesh that has more than stages and nothing that distributes over
/// it, data parallelism is added, unless the model is `annotated`: says itself how its values are cut. Fails with a
/// message that says what does not go together or with the mesh, and what would be accepted.
std::optional<StrategyOptions> completeStrategies(StrategyOptions options, const MeshShape &mesh, bool annotated,
                                                  std::string &error);

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_STRATEGIES_H
