//===- MemoryLimit.cpp - refuse plans that need too much memory ------------===//

#include "compiler/pipeline/MemoryLimit.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc {

/// A strategy more, and what a worker then needs.
struct Alternative {
  std::string strategy;
  uint64_t bytes;
};

std::optional<MemoryPeak> planWith(ModuleOp original, CompileOptions options, const std::string &strategy,
                                   size_t count) {
  OwningOpRef<ModuleOp> copy = original.clone();
  ScopedDiagnosticHandler silent(original.getContext(), [](Diagnostic &) { return success(); });
  options.strategy = strategy;
  options.memoryLimit = -1;
  options.to = Phase::Schedule;
  options.dumpDirectory.clear();
  options.explain = options.timing = nullptr;
  if (failed(runPhases(*copy, options)))
    return std::nullopt;
  return findMemoryPeak(*copy, count);
}

/// What could be added to the strategies, from what changes little to what changes most. Of each line the first that
/// fits is of interest.
static std::vector<std::vector<std::string>> additions(const CompileOptions &options) {
  bool distributed = !options.mesh.empty();
  std::vector<std::vector<std::string>> lines;
  if (distributed)
    lines.push_back({"zero1", "zero2", "zero3"});
  lines.push_back({"recompute=*"});
  lines.push_back({"accumulate=2", "accumulate=4", "accumulate=8", "accumulate=16"});
  if (distributed)
    lines.push_back({"zero3,accumulate=4", "zero3,accumulate=16"});
  return lines;
}

static std::vector<Alternative> findAlternatives(ModuleOp original, const CompileOptions &options) {
  std::vector<Alternative> found;
  for (const std::vector<std::string> &line : additions(options))
    for (const std::string &addition : line) {
      std::string strategy = options.strategy.empty() ? addition : options.strategy + "," + addition;
      std::optional<MemoryPeak> peak = planWith(original, options, strategy, 0);
      if (peak && peak->bytes <= static_cast<uint64_t>(options.memoryLimit)) {
        found.push_back({strategy, peak->bytes});
        break;
      }
    }
  return found;
}

LogicalResult checkMemoryLimit(ModuleOp planned, ModuleOp original, const CompileOptions &options) {
  MemoryPeak peak = findMemoryPeak(planned, 5);
  if (options.memoryLimit < 0 || peak.bytes <= static_cast<uint64_t>(options.memoryLimit))
    return success();
  std::vector<Alternative> fitting = findAlternatives(original, options);
  InFlightDiagnostic error = planned.emitError();
  error << "each worker needs " << formatBytes(peak.bytes) << " (" << peak.bytes << " bytes), of which variables take "
        << formatBytes(peak.variables) << ": more than the limit of " << formatBytes(options.memoryLimit);
  if (!fitting.empty()) {
    error << "; what would fit: ";
    llvm::interleaveComma(fitting, error, [&](const Alternative &each) {
      error << "--strategy " << each.strategy << " (" << formatBytes(each.bytes) << ")";
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
