//===- MemoryLimit.cpp - refuse plans that need too much memory ------------===//

#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Compile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc {

/// A strategy more, and what a worker then needs.
struct Alternative {
  StrategyOptions strategy;
  uint64_t bytes;
};

std::optional<MemoryPeak> planWith(ModuleOp original, CompileOptions options, const StrategyOptions &strategy,
                                   size_t count) {
  OwningOpRef<ModuleOp> copy = original.clone();
  ScopedDiagnosticHandler silent(original.getContext(), [](Diagnostic &) { return success(); });
  options.strategy = strategy;
  options.memoryLimit = {};
  options.to = Phase::Schedule;
  FailureOr<CompilePlan> plan = planCompilation(*copy, options);
  if (failed(plan) || failed(runPhases(*copy, *plan)))
    return std::nullopt;
  return findMemoryPeak(*copy, count);
}

/// What could be added to the strategies, from what changes little to what changes most. Of each line the first that
/// fits is of interest.
static std::vector<std::vector<StrategyOptions>> additions(const CompileOptions &options) {
  const StrategyOptions &asked = options.strategy;
  auto zero = [&](int stage, int64_t accumulate) {
    StrategyOptions with = asked;
    (stage == 1 ? with.zero1 : stage == 2 ? with.zero2 : with.zero3) = true;
    if (accumulate)
      with.accumulate = accumulate;
    return with;
  };
  auto accumulating = [&](int64_t count) {
    StrategyOptions with = asked;
    with.accumulate = count;
    return with;
  };
  const bool isDistributed = !options.mesh.empty(), hasZero = asked.zeroStage() != 0;
  std::vector<std::vector<StrategyOptions>> lines;
  if (isDistributed && !hasZero)
    lines.push_back({zero(1, 0), zero(2, 0), zero(3, 0)});
  if (!asked.recompute)
    lines.push_back({asked}), lines.back().front().recompute = NamePatterns{{"*"}};
  if (!asked.accumulate)
    lines.push_back({accumulating(2), accumulating(4), accumulating(8), accumulating(16)});
  if (isDistributed && !hasZero && !asked.accumulate)
    lines.push_back({zero(3, 4), zero(3, 16)});
  return lines;
}

static std::vector<Alternative> findAlternatives(ModuleOp original, const CompileOptions &options) {
  std::vector<Alternative> found;
  for (const std::vector<StrategyOptions> &line : additions(options))
    for (const StrategyOptions &strategy : line) {
      std::optional<MemoryPeak> peak = planWith(original, options, strategy, 0);
      if (peak && peak->bytes <= static_cast<uint64_t>(options.memoryLimit.bytes)) {
        found.push_back({strategy, peak->bytes});
        break;
      }
    }
  return found;
}

LogicalResult checkMemoryLimit(ModuleOp planned, ModuleOp original, const CompileOptions &options) {
  MemoryPeak peak = findMemoryPeak(planned, 5);
  if (peak.bytes <= static_cast<uint64_t>(options.memoryLimit.bytes))
    return success();
  std::vector<Alternative> fitting = findAlternatives(original, options);
  InFlightDiagnostic error = planned.emitError();
  error << "each worker needs " << formatBytes(peak.bytes) << " (" << peak.bytes << " bytes), of which variables take "
        << formatBytes(peak.variables) << ": more than the limit of " << formatBytes(options.memoryLimit.bytes);
  if (!fitting.empty()) {
    error << "; what would fit: ";
    llvm::interleaveComma(fitting, error, [&](const Alternative &each) {
      error << "--strategy " << each.strategy.text() << " (" << formatBytes(each.bytes) << ")";
    });
  } else {
    error << "; use more workers, a smaller batch, or a larger limit";
  }
  for (const HeldValue &value : peak.largest)
    error.attachNote(value.location) << formatBytes(value.bytes) << ": " << value.name << ", held at the worst step of "
                                     << peak.program;
  return failure();
}

} // namespace dgc
