#include "compiler/verify/ShrunkPlan.h"
#include "compiler/driver/Compile.h"
#include "passes/analysis/SizeDecisions.h"
#include "passes/place/Stages.h"
#include "runtime/verify/Schedule.h"

using namespace mlir;

namespace dgc {

/// The least sizes that are tried, each twice the one before.
static constexpr int64_t kLeast = 2, kMostLeast = 256;

/// What the smaller model is compiled with. What the sizes of the model decided is asked for.
static CompileOptions optionsOf(const CompilePlan &plan, int64_t batch) {
  CompileOptions options = plan.asked;
  options.batch.value = batch;
  options.strategy = plan.strategies;
  options.memoryLimit = {};
  options.maxReplicatedBytes = {};
  options.withSemantics = true;
  return options;
}

/// Where a solver cuts the model of a plan into stages; empty where none does.
static FailureOr<std::vector<int64_t>> cutsOf(ModuleOp model, const CompilePlan &plan) {
  if (plan.phases.place.stages <= 1 || plan.phases.place.servers > 0)
    return std::vector<int64_t>();
  OwningOpRef<ModuleOp> placed = model.clone();
  CompilePlan upToPlace = plan;
  upToPlace.asked.to = Phase::Place;
  upToPlace.asked.memoryLimit = {};
  if (failed(runPhases(*placed, upToPlace)))
    return failure();
  return stageCuts(*placed);
}

/// Compiles a model, cut into stages there; nothing, with the first error, where it is refused.
static std::unique_ptr<rt::Artifact> compileQuietly(ModuleOp module, const CompileOptions &options,
                                                    const std::vector<int64_t> &cuts, std::string &error) {
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
    return success();
  });
  FailureOr<CompilePlan> plan = planCompilation(module, options);
  if (failed(plan))
    return nullptr;
  plan->phases.place.cuts = cuts;
  FailureOr<Artifact> compiled = compile(module, *plan);
  if (failed(compiled))
    return nullptr;
  absl::StatusOr<std::unique_ptr<rt::Artifact>> loaded = rt::loadBytes(compiled->bytes, "the smaller plan");
  if (loaded.ok())
    return *std::move(loaded);
  error = std::string(loaded.status().message());
  return nullptr;
}

/// What the smaller plan differs in, in which it may not. What it differs in besides is said in `plan`.
static absl::StatusOr<std::string> compare(const rt::Artifact &artifact, ShrunkPlan &plan) {
  using verify::SchedulePart;
  for (auto [part, otherwise] : {std::pair(SchedulePart::Values, ""),
                                 {SchedulePart::Communication, "communication is merged or ordered otherwise"},
                                 {SchedulePart::All, "kernels are formed otherwise"}}) {
    absl::StatusOr<std::string> found = verify::differenceOfSchedules(artifact, *plan.artifact, part);
    if (!found.ok() || (!found->empty() && part == SchedulePart::Values))
      return found;
    if (!found->empty()) {
      plan.otherwise = otherwise + (", first in " + *found);
      break;
    }
  }
  return "";
}

FailureOr<ShrunkPlan> shrinkPlan(ModuleOp model, const CompilePlan &plan, ModuleOp compiled,
                                 const rt::Artifact &artifact) {
  FailureOr<std::unique_ptr<Shrinker>> shrinker = Shrinker::create(model, plan);
  FailureOr<std::vector<int64_t>> cuts = cutsOf(model, plan);
  if (failed(shrinker) || failed(cuts))
    return failure();
  std::string difference, sizes;
  std::optional<ShrunkPlan> nearest; // the first one whose kernels or collectives are formed otherwise
  for (int64_t least = kLeast; least <= kMostLeast; least *= 2) {
    FailureOr<ShrunkModel> smaller = (*shrinker)->shrink(least);
    if (failed(smaller))
      return failure();
    if (!smaller->isSmaller() && least == kLeast)
      return ShrunkPlan{*std::move(smaller), nullptr, ""};
    if (!smaller->isSmaller())
      break;
    if (smaller->sizes == sizes)
      continue;
    sizes = smaller->sizes;
    ShrunkPlan result{*std::move(smaller), nullptr, ""};
    std::string error;
    OwningOpRef<ModuleOp> module = result.model.module->clone();
    takeSizeDecisions(*module, compiled);
    result.artifact = compileQuietly(*module, optionsOf(plan, result.model.batch), *cuts, error);
    if (!result.artifact) {
      difference = "it is refused: " + error;
      continue;
    }
    absl::StatusOr<std::string> found = compare(artifact, result);
    if (!found.ok())
      return model.emitError() << std::string(found.status().message()), failure();
    if (found->empty() && result.otherwise.empty())
      return result;
    if (found->empty() && !nearest)
      nearest = std::move(result);
    difference = "it differs in " + *found;
  }
  if (nearest)
    return *std::move(nearest);
  return model.emitError() << "no smaller model has the schedule of this one; with " << sizes << ", " << difference,
         failure();
}

} // namespace dgc
