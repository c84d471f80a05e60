// What a run goes on from after the loss of a worker, and what it has ready for that.
#include "runtime/base/Status.h"
#include "runtime/driver/WorkerRun.h"

#include <cstdio>

using namespace dgc;
using namespace dgc::rt;

/// The run ends here, and is to go on in another one.
void WorkerRun::keep() {
  if (progress)
    progress->finish();
  Kept &kept = *context.kept;
  kept.dataset = std::move(dataset);
  kept.jsonLog = std::move(jsonLog);
  kept.board = std::move(board);
}

/// This worker has copies as the rank that it is in this epoch.
absl::Status WorkerRun::enterReplicas() {
  Kept &kept = *context.kept;
  if (!kept.replicas)
    kept.replicas = std::make_unique<Replicas>(
        kept.planOf ? kept.planOf
                    : [plan = &artifact.plan()](uint32_t) -> absl::StatusOr<const artifact::Plan *> { return plan; });
  const bool mayChange = kept.planOf != nullptr;
  return kept.replicas->begin(static_cast<uint32_t>(context.transport.rank()), artifact.plan().world_size(),
                              mayChange && context.loss ? static_cast<uint32_t>(context.loss->number) : 0);
}

/// After a loss: the copies in the memory of the workers, where they are whole; else the newest checkpoint.
absl::Status WorkerRun::findCopies() {
  if (!context.loss)
    return absl::OkStatus();
  options.resume = !options.checkpoint.empty();
  if (options.replicas == 0)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(enterReplicas());
  Replicas &kept = *context.kept->replicas;
  DGC_ASSIGN_OR_RETURN(copies, kept.find(context.gather));
  if (copies)
    return absl::OkStatus();
  kept.forget();
  print(str("no step has copies of all shares any more",
            options.resume ? "" : ", and there is no --checkpoint: the run begins again"));
  return absl::OkStatus();
}

/// Gives the variables their values, and the run its place.
absl::Status WorkerRun::restore() {
  if (copies) {
    DGC_RETURN_IF_ERROR(context.kept->replicas->attach(*executor, context.transport));
    DGC_RETURN_IF_ERROR(context.kept->replicas->restore(*copies));
    state.step = copies->progress.state.step;
    state.cursor = copies->progress.state.cursor;
    isResumed = true;
    options.load = "the copy in memory"; // for messages
    return takeProgress(copies->progress.extra);
  }
  DGC_ASSIGN_OR_RETURN(auto restored,
                       restoreVariables(*executor, artifact.plan(), options, realDisk(), /*isVerified=*/isResumed));
  if (!restored.notice.empty())
    print(restored.notice);
  if (restored.state) {
    state.step = restored.state->step;
    state.cursor = restored.state->cursor;
  }
  began = {state.step, state.cursor};
  return isResumed ? takeProgress(restored.extra) : absl::OkStatus();
}

absl::Status WorkerRun::beginReplicas() {
  if (options.replicas == 0 || !context.kept)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(enterReplicas());
  replicas = context.kept->replicas.get();
  if (!copies)
    DGC_RETURN_IF_ERROR(replicas->attach(*executor, context.transport));
  return absl::OkStatus();
}

absl::Status WorkerRun::takeReplicas(ReportedValues &reported) {
  if (!replicas || !replicas->isDue(state.step + static_cast<int64_t>(running.size()), options.replicateEvery))
    return absl::OkStatus();
  while (!running.empty())
    DGC_RETURN_IF_ERROR(collectStep(reported));
  return replicas->take(progressSoFar());
}

void WorkerRun::sayWhatWasLost() {
  if (!context.loss || !first())
    return;
  const double ms = static_cast<double>(clock.now() - context.loss->at) * 1e-6;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f", ms * 1e-3);
  const std::string workers = context.kept->planOf ? counted(artifact.plan().world_size(), "worker") : "another worker";
  const std::string text = str(context.loss->what, ": the job goes on with ", workers, " from step ", state.step, ", ",
                               copies      ? "by the copies in memory"
                               : isResumed ? str("by ", options.load)
                                           : std::string("its beginning"),
                               ", ", seconds, " s later");
  print(text);
  if (context.status)
    context.status->setRestarts(context.loss->number);
  LogEvent event{"restart"};
  event.step = state.step;
  event.ms = ms;
  event.message = text;
  log(event);
}
