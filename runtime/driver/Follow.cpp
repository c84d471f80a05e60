// --follow: evaluates the checkpoints of a job that trains, as they appear.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"
#include "runtime/driver/WorkerRun.h"

#include <thread>

using namespace dgc;
using namespace dgc::rt;

/// The newest checkpoint, if it is another one than before: what rank 0 sees, on all ranks. Waits for none.
absl::StatusOr<std::string> WorkerRun::newestCheckpoint(const std::string &before) {
  std::string mine;
  if (first()) {
    DGC_ASSIGN_OR_RETURN(std::vector<FoundCheckpoint> found, listCheckpoints(realDisk(), options.follow));
    if (!found.empty() && found[0].path != before)
      mine = found[0].path;
  }
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> all, context.gather(mine));
  return all[0];
}

/// Takes the weights of a checkpoint. False where a worker could not: it may have been removed meanwhile, or is damaged.
absl::StatusOr<bool> WorkerRun::takeCheckpoint(const std::string &path) {
  options.loadWeights = path;
  auto saved = readRunState(realDisk(), path);
  auto restored = saved.ok() ? restoreVariables(*executor, artifact.plan(), options, realDisk()) : saved.status();
  const std::string mine(restored.ok() ? "" : restored.status().message());
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> all, context.gather(mine));
  for (const std::string &wrong : all)
    if (!wrong.empty()) {
      print(str("warning: passing over a checkpoint: ", printable(wrong)));
      return false;
    }
  state.step = *saved ? (*saved)->step : 0;
  const auto ended = restored->extra.find("ended");
  hasTrainingEnded = ended != restored->extra.end() && ended->second == "1";
  return true;
}

absl::Status WorkerRun::follow() {
  using namespace std::chrono_literals;
  for (std::string last; !hasTrainingEnded;) {
    if (context.abort.raised())
      return context.abort.status();
    DGC_ASSIGN_OR_RETURN(const std::string path, newestCheckpoint(last));
    if (path.empty()) {
      std::this_thread::sleep_for(200ms);
      continue;
    }
    last = path;
    DGC_ASSIGN_OR_RETURN(const bool isTaken, takeCheckpoint(path));
    if (!isTaken)
      continue;
    print(str("checkpoint of step ", state.step));
    DGC_RETURN_IF_ERROR(evaluate(testing, "test", std::nullopt));
  }
  print(str("the training in ", options.follow, " has ended"));
  return absl::OkStatus();
}
