// --resume: which checkpoint a run goes on from, and what it takes from there beside variables.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"
#include "runtime/driver/WorkerRun.h"

#include "absl/strings/numbers.h"

#include <cstdlib>

using namespace dgc;
using namespace dgc::rt;

/// Whether a checkpoint fits the plan, and this worker's share of its files is what was written.
static absl::Status verifyShare(const artifact::Plan &plan, const std::string &path, size_t rank) {
  DGC_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                       Checkpoint::open(realDisk(), path, variableSpecs(plan), Restore::All, Verify::Manifest));
  for (size_t i = rank; i < checkpoint.numShards(); i += plan.world_size())
    DGC_RETURN_IF_ERROR(checkpoint.verifyShard(i));
  return absl::OkStatus();
}

/// Makes the newest checkpoint that all workers find whole the one of --load.
absl::Status WorkerRun::chooseCheckpoint() {
  const bool isReplay = !options.replay.empty();
  DGC_RETURN_IF_ERROR(findCopies());
  if (copies || (!options.resume && !isReplay))
    return absl::OkStatus();
  const std::string &folder = isReplay ? options.replay : options.checkpoint;
  if (isReplay && !realDisk().exists(folder))
    return badData(str("--replay ", folder, ": there is no such folder"));
  const auto rank = static_cast<size_t>(context.transport.rank());
  std::string mine; // the steps that there are, newest first
  if (rank == 0) {
    DGC_ASSIGN_OR_RETURN(std::vector<FoundCheckpoint> found, listCheckpoints(realDisk(), folder));
    for (const FoundCheckpoint &each : found)
      if (!isReplay || each.step <= options.replayStep)
        mine += str(each.path, "\n");
  }
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> lists, context.gather(mine));
  std::string damaged;
  for (size_t at = 0; at < lists[0].size();) {
    const std::string path = lists[0].substr(at, lists[0].find('\n', at) - at);
    at += path.size() + 1;
    const absl::Status verified = verifyShare(artifact.plan(), path, rank);
    DGC_ASSIGN_OR_RETURN(std::vector<std::string> verdicts,
                         context.gather(verified.ok() ? "" : std::string(verified.message())));
    std::string wrong;
    for (size_t each = 0; each < verdicts.size(); ++each)
      if (wrong.empty() && !verdicts[each].empty())
        wrong = str(verdicts.size() > 1 ? str("rank ", each, ": ") : std::string(), printable(verdicts[each]));
    if (wrong.empty()) {
      options.load = path;
      isResumed = true;
      print(str(isReplay ? "replaying from " : "resuming from ", path));
      return absl::OkStatus();
    }
    print(str("warning: passing over a checkpoint: ", wrong));
    damaged = damaged.empty() ? wrong : damaged;
  }
  if (!damaged.empty())
    return badData(str(isReplay ? "--replay" : "--resume", ": no checkpoint in ", folder,
                       " can be taken. The newest one: ", damaged,
                       isReplay ? "" : ". Give another --checkpoint folder to begin anew"));
  print(isReplay ? str("no checkpoint in ", folder, " of step ", options.replayStep,
                       " or before: the replay begins with step 0")
                 : str("no checkpoint in ", folder, " yet: the run begins"));
  return absl::OkStatus();
}

std::string WorkerRun::orderOfSamples() const {
  return describeOrder(*training.feed, artifact.plan(), options, state.seed);
}

/// A run goes on exactly with the samples that it would have had.
absl::Status WorkerRun::compareOrder() const {
  const std::string order = orderOfSamples();
  if (!isResumed || order == resumedOrder)
    return absl::OkStatus();
  return badData(str(options.replay.empty() ? "--resume: " : "--replay: ", options.load, " is of a run with ",
                     printable(resumedOrder), ", and this one has ", order,
                     ": give it the same data and flags, or begin a new run from its weights with "
                     "--load-weights ",
                     options.load));
}

RunProgress WorkerRun::progressSoFar() const {
  RunProgress progress{state, {}};
  std::map<std::string, std::string> &extra = progress.extra;
  extra["began_step"] = str(began.step);
  extra["began_epoch"] = str(began.cursor.epoch);
  extra["began_epoch_step"] = str(began.cursor.step);
  extra["ended"] = hasTrainingEnded ? "1" : "0";
  extra["order"] = orderOfSamples();
  extra["epoch_means"] = epochMeans.text();
  if (bestValue) {
    extra["best_value"] = exactText(*bestValue);
    extra["best_step"] = str(bestStep);
  }
  extra["evaluations_since_best"] = str(evaluationsSinceBest);
  return progress;
}

absl::Status WorkerRun::takeProgress(const std::map<std::string, std::string> &extra) {
  auto wrong = [&](const std::string &key) {
    return badData(str(options.load, ": '", key, "' in the manifest is missing, or no number"));
  };
  auto textOf = [&](const std::string &key) {
    const auto found = extra.find(key);
    return found == extra.end() ? std::string() : found->second;
  };
  for (auto [key, value] : {std::pair("began_step", &began.step),
                            {"began_epoch", &began.cursor.epoch},
                            {"began_epoch_step", &began.cursor.step},
                            {"evaluations_since_best", &evaluationsSinceBest}})
    if (!absl::SimpleAtoi(textOf(key), value) || *value < 0)
      return wrong(key);
  resumedOrder = textOf("order");
  if (!epochMeans.restore(textOf("epoch_means")))
    return wrong("epoch_means");
  if (const std::string best = textOf("best_value"); !best.empty()) {
    char *end = nullptr;
    bestValue = std::strtod(best.c_str(), &end);
    if (*end != 0 || !absl::SimpleAtoi(textOf("best_step"), &bestStep))
      return wrong("best_value");
  }
  return absl::OkStatus();
}
