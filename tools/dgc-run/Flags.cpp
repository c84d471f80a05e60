// The command line of dgc-run.
#include "tools/dgc-run/Flags.h"

#include "tools/dgc-run/FlagGroups.h"

#include "CLI/CLI.hpp"
#include "runtime/base/Bytes.h"
#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Version.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <sstream>

using namespace dgc;
using namespace dgc::tool;

static constexpr char footer[] = R"(Example:
  dgc-compile mnist_mlp.mlir --mesh data=2 -o mnist_mlp.dgcx
  dgc-run mnist_mlp.dgcx --data examples/data/mnist --epochs 5

The same on arrays of NumPy, with no data set: two steps on two batches, whose
inputs are called image and label, and what the second one gives:
  dgc-run mnist_mlp.dgcx --feed a.npz b.npz --fetch out.npz --save weights

Without --rank (and without an identity in the environment) it starts as many
local workers as the plan has. With it, it is one of them:
  dgc-run mnist_mlp.dgcx --data DIR --rank 0 --world-size 2 --coordinator 127.0.0.1:4711
  dgc-run mnist_mlp.dgcx --data DIR --rank 1 --world-size 2 --coordinator 127.0.0.1:4711

Exit codes:
  0    done
  1    internal error
  2    wrong use of the command line
  3    the plan is damaged or fails a check
  4    a data file or checkpoint is missing, damaged or does not fit the plan,
       or a file cannot be written
  5    the workers did not come together (world size, duplicate rank, other
       plan, missing workers)
  6    another worker died or reported an error
  7    this machine lacks what the plan needs, or a limit (ulimit) is too low
  8    the loss, or a value that the plan checks, is infinite or no number (see
       --on-nan)
  9    workers cannot exchange data: a connection is lost or blocked
  75   stopped by a signal, and saved: the same command with --resume goes on
  130  interrupted)";

CLI::Validator dgc::tool::wholeNumber(int64_t least, int64_t most) {
  return CLI::Validator(
      [=](std::string &text) {
        int64_t value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
          return std::string();
        std::string range = "a whole number of at least " + std::to_string(least);
        if (most != std::numeric_limits<int64_t>::max())
          range = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        return "'" + text + "' is not " + range;
      },
      "");
}

/// Accepts numbers above 0.
static CLI::Validator positive() {
  return CLI::Validator(
      [](std::string &text) {
        double value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool accepted = error == std::errc() && end == text.data() + text.size() && value > 0 && value < 1e9;
        return accepted ? std::string() : "'" + text + "' is not a number of seconds above 0";
      },
      "");
}

/// Folders that are there, separated by ':'.
static CLI::Validator folders() {
  return CLI::Validator(
      [](const std::string &text) {
        std::istringstream list(text);
        for (std::string folder; std::getline(list, folder, ':');)
          if (std::string error = CLI::ExistingDirectory(folder); !error.empty())
            return error;
        return std::string();
      },
      "");
}

/// Accepts some words.
static CLI::Validator oneOf(std::vector<std::string> words) {
  std::string list;
  for (const std::string &word : words)
    list += (list.empty() ? "" : word == words.back() ? " or " : ", ") + word;
  return CLI::Validator(
      [words = std::move(words), list](std::string &text) {
        bool known = std::find(words.begin(), words.end(), text) != words.end();
        return known ? std::string() : "'" + text + "' is not " + list;
      },
      "");
}

/// Adds a flag that takes on or off.
static void addOnOff(CLI::App &app, const std::string &name, bool &value, const std::string &help) {
  app.add_option_function<std::string>(
         name, [&value](const std::string &text) { value = text == "on"; }, help)
      ->check(oneOf({"on", "off"}))
      ->default_str(value ? "on" : "off");
}

/// What other frameworks' training scripts take as flags, and a plan has in it.
static void addForeignFlags(CLI::App &app) {
  static constexpr char inOptimizer[] = "is in the model, as in 'dgc.optimizer sgd learning_rate 0.1 momentum 0.9': "
                                        "change that line, and compile the model "
                                        "again with dgc-compile";
  static constexpr char inBatch[] = "is part of the plan: compile it with dgc-compile --batch N";
  static constexpr struct {
    const char *flag, *name, *where;
  } kForeign[] = {{"--lr", "the learning rate", inOptimizer},    {"--learning-rate", "the learning rate", inOptimizer},
                  {"--momentum", "the momentum", inOptimizer},   {"--weight-decay", "the weight decay", inOptimizer},
                  {"--optimizer", "the optimizer", inOptimizer}, {"--batch", "the batch", inBatch},
                  {"--batch-size", "the batch", inBatch}};
  for (const auto &foreign : kForeign)
    app.add_option_function<std::string>(
           foreign.flag,
           [foreign](const std::string &) {
             throw CLI::ValidationError(std::string(foreign.flag) + ": " + foreign.name + " " + foreign.where);
           },
           "")
        ->expected(0, 1)
        ->group("");
}

static void addRunFlags(CLI::App &app, Flags &flags) {
  rt::RunOptions &run = flags.run;
  app.add_option("plan", run.plan,
                 "The artifact that dgc-compile wrote; - is "
                 "standard input")
      ->required()
      ->type_name("PLAN");
  app.add_option("--data", run.data, "Folder of the data set")->type_name("DIR");
  app.add_option("--entry", run.entry,
                 "Program to run: train (the default), evaluate, or another "
                 "that the plan has, once over the test data")
      ->type_name("NAME");
  app.add_option(
         "--predictions", run.predictions,
         "With --entry predict: write each output to NAME.npy in this folder, a row for each sample of the test "
         "data in their order")
      ->type_name("DIR");
  auto *feed = app.add_option("--feed", run.feed,
                              "Run the entry once on the arrays of each of these files, without a data set: by name, "
                              "or in0, in1 ... in the order of the inputs; variables keep their values")
                   ->type_name("FILE.npz");
  app.add_option("--fetch", run.fetch,
                 "With --feed: write the results of the last call, as out0, out1 ... and by name; - is standard output")
      ->type_name("FILE.npz")
      ->needs(feed);
  auto *epochs = app.add_option("--epochs", run.epochs,
                                "Train for so many epochs from where the run is (default "
                                "1); a checkpoint taken inside an epoch continues there")
                     ->check(wholeNumber(0))
                     ->type_name("N");
  app.add_option("--steps", run.steps,
                 "Train for so many steps; 0 with --save writes the initial "
                 "weights")
      ->check(wholeNumber(0))
      ->type_name("N")
      ->excludes(epochs);
  app.add_option("--seed", run.seed,
                 "Seed of initial weights, order of the data and random ops "
                 "(default: that of the checkpoint with --load, else 0)")
      ->check(wholeNumber(0))
      ->type_name("N");
  addOnOff(app, "--shuffle", run.shuffle, "Another order in every epoch");
  app.add_option_function<std::string>(
         "--last-batch",
         [&run](const std::string &text) {
           run.lastBatch = text == "drop" ? rt::LastBatch::Drop : rt::LastBatch::Weight;
         },
         "The samples that do not fill a batch at the end of an epoch: left "
         "out, or trained on with their true weight")
      ->check(oneOf({"drop", "weight"}))
      ->default_str("drop");
  app.add_option_function<std::string>(
         "--on-nan",
         [&run](const std::string &text) { run.onNan = text == "stop" ? rt::OnNan::Stop : rt::OnNan::Warn; },
         "A loss, or a value that the plan checks, that is infinite or no number: stop ends the job with code 8 and "
         "saves nothing, warn says so and goes "
         "on")
      ->check(oneOf({"stop", "warn"}))
      ->default_str("stop");
  addOnOff(app, "--evaluate", run.evaluate, "Evaluate on the test data after each epoch");
  app.add_option("--evaluate-every", run.evaluateEvery,
                 "Evaluate after so many steps of training as well, and at the end")
      ->check(wholeNumber(1))
      ->type_name("N");
  app.add_option("--threads", flags.threads,
                 "Threads of each worker (default: the cores of this machine, "
                 "shared among its workers, or the CPUs that Slurm has given it)")
      ->check(wholeNumber(1, 1024))
      ->type_name("N");
  app.add_option_function<std::string>(
         "--memory-limit",
         [&run](const std::string &text) {
           std::optional<int64_t> bytes = rt::parseBytes(text);
           if (!bytes || *bytes == 0)
             throw CLI::ValidationError("--memory-limit: '" + text + "' is not " + std::string(rt::kBytesSyntax));
           run.memoryLimit = static_cast<uint64_t>(*bytes);
         },
         "Refuse to run where a worker would take more memory of its device, as in 800MiB, 8GiB or 10GB")
      ->type_name("BYTES");
  auto *load = app.add_option("--load", run.load, "Start from this checkpoint, or these weights (safetensors)")
                   ->type_name("FILE");
  app.add_option("--load-weights", run.loadWeights,
                 "Start a new run from the weights of this checkpoint: the state of its optimizer and where it was are "
                 "left out")
      ->type_name("FILE")
      ->excludes(load);
  app.add_option(
         "--save", run.save,
         "Write the weights and the state of the optimizer at the end (safetensors); - is standard output. Into "
         "MODEL.onnx, a copy of the model that the plan was compiled from, go the weights: its graph is kept")
      ->type_name("FILE");
  app.add_option("--log-json", run.logJson,
                 "Write a line of JSON for each step, epoch and evaluation; - "
                 "is standard output, and text for people standard error")
      ->type_name("FILE");
  app.add_option(
         "--tensorboard", run.tensorboard,
         "Write losses and metrics into this folder while it trains, for TensorBoard: an event file for each run")
      ->type_name("DIR");
  app.add_option("--trace", run.trace,
                 "Write what ran when, for chrome://tracing or ui.perfetto.dev; - is standard output")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--cuda-libs", [](const std::string &folders) { ::setenv("DGC_CUDA_LIBS", folders.c_str(), 1); },
         "Look for libraries of NVIDIA in these folders first, and in what pip has installed below them")
      ->check(folders())
      ->type_name("DIR[:DIR]..");
  app.add_flag_callback(
      "--tune", [] { ::setenv("DGC_TUNE", "1", 1); },
      "Measure which algorithms are the fastest for the products of the plan on this GPU, and, in the first steps of "
      "training, whether collectives of NCCL belong into graphs; keep that in PLAN.tuning.json, which later runs read");
  app.add_flag("--dry-run", flags.dryRun,
               "Print the plan: workers, memory, collectives and bytes per "
               "step. Runs nothing");
  for (const char *flag :
       {"--epochs", "--steps", "--predictions", "--evaluate-every", "--tensorboard"}) // of runs over a data set
    feed->excludes(app.get_option(flag));
}

static void addWorkerFlags(CLI::App &app, Flags &flags) {
  const std::string group = "Workers";
  app.add_option("--transport", flags.transport,
                 "How workers exchange tensors; in-process: all of them as "
                 "threads of this process")
      ->check(oneOf({"auto", "in-process", "shared-memory", "tcp", "ucx"}))
      ->capture_default_str()
      ->group(group);
  auto *nproc = app.add_option("--nproc", flags.nproc,
                               "Start so many local workers; must be what the "
                               "plan has. Also where a cluster's manager has started this one process")
                    ->check(wholeNumber(1))
                    ->type_name("N")
                    ->group(group);
  app.add_option("--rank", flags.rank, "This process is worker R, from 0")
      ->check(wholeNumber(0))
      ->type_name("R")
      ->excludes(nproc)
      ->group(group);
  app.add_option("--world-size", flags.worldSize, "There are W workers")
      ->check(wholeNumber(1))
      ->type_name("W")
      ->excludes(nproc)
      ->group(group);
  app.add_option("--coordinator", flags.coordinator, "Where the workers meet: an address of rank 0")
      ->type_name("HOST:PORT")
      ->excludes(nproc)
      ->group(group);
  app.add_option("--role", flags.role,
                 "Of a plan with asynchronous parameter servers: this process is a worker, which computes steps of the "
                 "job that meets at --coordinator. Any number may come and go")
      ->check(CLI::IsMember({"worker"}))
      ->excludes(nproc)
      ->group(group);
  app.add_option("--workers", flags.workers,
                 "Of a plan with asynchronous parameter servers: start so many workers; by default as many as the plan "
                 "was compiled for")
      ->check(wholeNumber(0, 256))
      ->type_name("N")
      ->group(group);
  app.add_option("--listen", flags.listen, "Address that rank 0 listens on, when it is another")
      ->type_name("ADDRESS[:PORT]")
      ->group(group);
  app.add_option("--join-timeout", flags.joinTimeout, "Seconds to wait for workers that are missing")
      ->check(positive())
      ->type_name("S")
      ->capture_default_str()
      ->group(group);
  app.add_option("--data-address", flags.dataAddress,
                 "Address of this machine at which other machines connect to exchange tensors, when it is not the one "
                 "that it has towards the coordinator")
      ->type_name("ADDRESS[:PORT]")
      ->group(group);
  app.add_option("--stall-timeout", flags.stallTimeout,
                 "End the job when workers have waited for each other for so many seconds and none of them advances")
      ->check(positive())
      ->type_name("S")
      ->capture_default_str()
      ->group(group);
  app.add_option("--straggler-factor", flags.stragglerFactor,
                 "Name a worker that computes so much longer than the median of the others for a minute; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->type_name("F")
      ->capture_default_str()
      ->group(group);
}

/// What the flags ask of standard input and output that cannot be; empty: nothing.
static std::string contradiction(const Flags &flags) {
  const rt::RunOptions &run = flags.run;
  if (flags.elastic)
    for (auto [flag, path] : {std::pair("--save", &run.save), {"--log-json", &run.logJson}, {"--trace", &run.trace}})
      if (*path == "-")
        return std::string(flag) + ": another worker of an elastic job may come to write it, and cannot write to "
                                   "standard output of this process: give a file";
  if (flags.elastic && !run.feed.empty())
    return "--elastic: a run on --feed is one call; leave it out";
  if (run.replicas > 0 && flags.maxRestarts == 0 && !flags.elastic)
    return "--replicas: a job goes on from copies after a loss: give --max-restarts N or --elastic MIN:MAX as well";
  if ((flags.maxRestarts > 0 || flags.elastic) && run.checkpoint.empty() && run.replicas == 0)
    return std::string(flags.elastic ? "--elastic" : "--max-restarts") +
           ": a job goes on from a checkpoint or from copies in memory: give --checkpoint DIR or "
           "--replicas 1";
  if (run.load == "-" || run.loadWeights == "-")
    return std::string(run.load == "-" ? "--load" : "--load-weights") +
           ": weights are not read from standard input, as each worker reads its own part: give a file";
  std::string first;
  for (auto [flag, path] : {std::pair("--save", &run.save),
                            {"--log-json", &run.logJson},
                            {"--trace", &run.trace},
                            {"--fetch", &run.fetch}}) {
    if (*path != "-")
      continue;
    if (!first.empty())
      return first + " and " + flag + " cannot both be standard output: give one of them a file";
    first = flag;
  }
  return "";
}

std::optional<int> dgc::tool::parseFlags(int argc, char **argv, Flags &flags) {
  CLI::App app{"Runs a plan of dgc-compile: trains, evaluates or predicts on "
               "one or several workers.",
               "dgc-run"};
  app.set_version_flag("--version", "dgc-run " DGC_VERSION);
  app.get_formatter()->column_width(34);
  app.footer(footer);
  addRunFlags(app, flags);
  addCheckpointFlags(app, flags);
  addWorkerFlags(app, flags);
  addWatchFlags(app, flags);
  addSecurityFlags(app, flags);
  addForeignFlags(app);
  // For those who work on dgc: one program once, every rank a thread. Not in --help.
  app.add_option("--call", flags.call, "")->group("");
  app.add_option("--input", flags.inputs, "")->group("");
  app.add_option("--output-dir", flags.outputDir, "")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      std::cout.flush();
      if (std::cout.good())
        return 0;
      std::fprintf(stderr, "dgc-run: error: cannot write standard output\n");
      return static_cast<int>(rt::ExitCode::BadData);
    }
    std::fprintf(stderr, "dgc-run: error: %s; see dgc-run --help\n", error.what());
    return static_cast<int>(rt::ExitCode::Usage);
  }
  for (std::string *path : {&flags.run.save, &flags.run.logJson, &flags.run.trace, &flags.run.fetch})
    if (rt::isStandardOutput(*path))
      *path = "-";
  if (!flags.run.replay.empty()) {
    flags.transport = "in-process";
    flags.run.evaluate = false;
  }
  if (!flags.run.follow.empty() && flags.run.entry.empty())
    flags.run.entry = "evaluate";
  if (flags.run.plan != "-")
    ::setenv("DGC_TUNING_FILE", (flags.run.plan + ".tuning.json").c_str(), 1);
  std::string wrong = contradiction(flags);
  if (wrong.empty())
    return std::nullopt;
  std::fprintf(stderr, "dgc-run: error: %s\n", wrong.c_str());
  return static_cast<int>(rt::ExitCode::Usage);
}
