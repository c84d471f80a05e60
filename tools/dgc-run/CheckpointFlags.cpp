// The flags for checkpoints, and for what is run again from them.
#include "tools/dgc-run/FlagGroups.h"

#include <charconv>
#include <cmath>

using namespace dgc;
using namespace dgc::tool;

/// "500" or "10m": steps or a time.
static void parseEvery(const std::string &text, rt::RunOptions &run) {
  double number = 0;
  const char *last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, number);
  const std::string unit(end, last);
  const double seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  const bool isCount = unit.empty() && number == std::floor(number);
  if (error != std::errc() || !(number > 0) || number > 1e9 || (seconds == 0 && !isCount))
    throw CLI::ValidationError("--checkpoint-every: '" + text +
                               "' is neither a number of steps, as 500, nor a time, as 30s, 10m or 1.5h");
  run.checkpointSteps = isCount && seconds == 0 ? static_cast<int64_t>(number) : 0;
  run.checkpointPeriod = static_cast<int64_t>(number * seconds * 1e9);
}

/// "accuracy", "loss", "error:min".
static void parseBest(const std::string &text, rt::RunOptions &run) {
  const size_t colon = text.rfind(':');
  const std::string how = colon == std::string::npos ? "" : text.substr(colon + 1);
  run.keepBest = text.substr(0, colon);
  if (run.keepBest.empty() || (colon != std::string::npos && how != "min" && how != "max"))
    throw CLI::ValidationError("--keep-best: '" + text +
                               "' is not a metric, as accuracy, loss or NAME:min or NAME:max");
  run.isLargerBetter = how.empty() ? run.keepBest.find("loss") == std::string::npos &&
                                         run.keepBest.find("error") == std::string::npos && run.keepBest != "perplexity"
                                   : how == "max";
}

/// OP or OP@RANK.
static void parseOp(const std::string &text, rt::RunOptions &run) {
  const size_t at = text.find('@');
  const std::string op = text.substr(0, at), rank = at == std::string::npos ? "0" : text.substr(at + 1);
  auto isNumber = [](const std::string &digits) {
    return !digits.empty() && digits.size() < 9 && digits.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!isNumber(op) || !isNumber(rank))
    throw CLI::ValidationError("--dump-op: '" + text + "' is no number of an op, as 11, or of one on a rank, as 11@2");
  run.dumpOp = static_cast<uint32_t>(std::stoul(op));
  run.dumpRank = static_cast<uint32_t>(std::stoul(rank));
}

void dgc::tool::addCheckpointFlags(CLI::App &app, Flags &flags) {
  rt::RunOptions &run = flags.run;
  const std::string group = "Checkpoints";
  auto *folder = app.add_option("--checkpoint", run.checkpoint,
                                "Save checkpoints in this folder while it trains, and at the end; a signal (Ctrl-C, "
                                "SIGTERM, SIGUSR1) then saves one before it ends the job. All workers need the folder")
                     ->type_name("DIR")
                     ->group(group);
  app.add_option_function<std::string>(
         "--checkpoint-every", [&run](const std::string &text) { parseEvery(text, run); },
         "After so many steps, as 500, or so much time, as 10m")
      ->type_name("STEPS|TIME")
      ->needs(folder)
      ->group(group);
  app.add_option("--keep", run.checkpointKeep, "The newest checkpoints that stay; 0: all")
      ->check(wholeNumber(0))
      ->type_name("N")
      ->capture_default_str()
      ->needs(folder)
      ->group(group);
  app.add_option_function<std::string>(
         "--keep-best", [&run](const std::string &text) { parseBest(text, run); },
         "Save one after each evaluation that is better than all before in this metric, and keep the best: "
         "accuracy, loss, or NAME:min, NAME:max")
      ->type_name("METRIC")
      ->needs(folder)
      ->group(group);
  app.add_option(
         "--stop-after", run.stopAfter,
         "End the training after so many evaluations without a better value of the metric of --keep-best, or of "
         "the loss")
      ->check(wholeNumber(1))
      ->type_name("N")
      ->group(group);
  app.add_flag("--resume", run.resume,
               "Go on from the newest checkpoint of the folder that is whole, if there is one, with any number of "
               "workers; --steps and --epochs count from where the run began")
      ->needs(folder)
      ->excludes(app.get_option("--load"))
      ->excludes(app.get_option("--load-weights"))
      ->group(group);
  app.add_option(
         "--follow", run.follow,
         "Evaluate each checkpoint that another job saves in this folder, as it appears, until that job has ended")
      ->type_name("DIR")
      ->excludes(folder)
      ->excludes(app.get_option("--load"))
      ->excludes(app.get_option("--load-weights"))
      ->excludes(app.get_option("--predictions"))
      ->group(group);
  auto *replay = app.add_option("--replay", run.replay,
                                "Run a step of a job again in this process, from a checkpoint in its folder, with the "
                                "same bits; otherwise the command of the job")
                     ->type_name("DIR")
                     ->excludes(folder)
                     ->excludes(app.get_option("--load"))
                     ->excludes(app.get_option("--load-weights"))
                     ->group(group);
  auto *step = app.add_option("--step", run.replayStep, "Of --replay: the step, as errors say it")
                   ->check(wholeNumber(0))
                   ->type_name("N")
                   ->needs(replay)
                   ->group(group);
  replay->needs(step);
  auto *dump = app.add_option("--dump", run.dump, "Of --replay: write what an op works on, before and behind it")
                   ->type_name("FILE.npz")
                   ->needs(replay)
                   ->group(group);
  dump->needs(app.add_option_function<std::string>(
                     "--dump-op", [&run](const std::string &text) { parseOp(text, run); },
                     "The op of --dump, as errors say it, and on which rank (default: 0)")
                  ->type_name("OP[@RANK]")
                  ->needs(dump)
                  ->group(group));
  app.add_option_function<std::string>(
         "--elastic",
         [&flags](const std::string &text) {
           const size_t colon = text.find(':');
           int least = 0, most = 0;
           if (colon == std::string::npos || !CLI::detail::lexical_cast(text.substr(0, colon), least) ||
               !CLI::detail::lexical_cast(text.substr(colon + 1), most) || least < 1 || most < least || most > 1024)
             throw CLI::ValidationError("--elastic: '" + text +
                                        "' is not two numbers of workers, the fewest and the most, as in 2:8");
           flags.elastic = {least, most};
         },
         "Go on with fewer workers when some are lost, and with more when some join, from the copies of --replicas or "
         "the newest checkpoint; there have to be plans for these numbers (dgc-compile --mesh data=MIN:MAX). A worker "
         "joins with this flag and --coordinator, without --rank; local ones that die are replaced while "
         "--max-restarts lasts")
      ->type_name("MIN:MAX")
      ->group(group);
  app.add_option("--max-restarts", flags.maxRestarts,
                 "When a worker dies, the others keep what they have, another one takes its place, and the job goes on "
                 "from the copies of --replicas or the newest checkpoint; at most so often")
      ->check(wholeNumber(0, 1'000'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  auto *replicas =
      app.add_option("--replicas", run.replicas,
                     "How many other workers have a copy of each worker's share of the variables in memory, "
                     "for --max-restarts and --elastic: 0 or 1")
          ->check(CLI::Range(0, 1))
          ->type_name("N")
          ->capture_default_str()
          ->group(group);
  app.add_option("--replicate-every", run.replicateEvery, "Make these copies before every so many steps")
      ->check(wholeNumber(1))
      ->type_name("STEPS")
      ->capture_default_str()
      ->needs(replicas)
      ->group(group);
  app.get_option("--replicas")->excludes(app.get_option("--feed"));
  app.get_option("--feed")->excludes(folder);
}
