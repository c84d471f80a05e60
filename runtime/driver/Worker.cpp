// The run of one worker.
#include "runtime/driver/WorkerRun.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"
#include "runtime/base/Task.h"
#include "runtime/driver/Calls.h"
#include "runtime/driver/Traces.h"
#include "runtime/telemetry/MetricText.h"
#include "runtime/telemetry/PlanGraph.h"

using namespace dgc;
using namespace dgc::rt;

/// The status of writing a file that the command line names.
static absl::Status output(const absl::Status &status, std::string_view flag) {
  return withExitCode(flag.empty() ? status : annotate(status, flag), ExitCode::BadData);
}

/// The names of all programs, for messages.
static std::string programNames(const Executor &executor) {
  std::string names;
  for (const auto &runner : executor.programs())
    names += str(names.empty() ? "" : ", ", runner->name());
  return names;
}

absl::Status WorkerRun::prepare() {
  enter("loading");
  DGC_RETURN_IF_ERROR(openLog());
  DGC_RETURN_IF_ERROR(reserveOutputs());
  DGC_RETURN_IF_ERROR(chooseCheckpoint());
  DGC_ASSIGN_OR_RETURN(state.seed, copies ? copies->progress.state.seed : seedOf(options, realDisk()));
  ExecutorOptions executorOptions;
  executorOptions.threads = options.threads;
  executorOptions.seed = state.seed;
  executorOptions.memoryLimit = options.memoryLimit;
  executorOptions.makeDevice = options.makeDevice;
  executorOptions.figures = context.figures;
  {
    const Task task("preparing the plan", 0, Task::Things);
    if (isAsynchronous() && !first())
      served = std::make_unique<ServerTransport>(context.transport);
    DGC_ASSIGN_OR_RETURN(executor, Executor::create(artifact, served ? *served : context.transport, executorOptions));
  }
  if (!options.trace.empty()) {
    trace = std::make_unique<OpTrace>(size_t{1} << 20);
    executor->setTrace(trace.get());
  }
  DGC_RETURN_IF_ERROR(beginDump());
  DGC_RETURN_IF_ERROR(restore());
  tellFigures();
  if (NumericsWatch::isNeeded(artifact.plan()))
    numerics = std::make_unique<NumericsWatch>(artifact.plan(), context.transport.rank(), context.gather);
  state.planDigest = artifact.digestHex();
  state.producer = artifact.plan().producer() ? artifact.plan().producer()->str() : "";
  if (context.kept)
    dataset = std::exchange(context.kept->dataset, std::nullopt);
  if (!options.data.empty() && !dataset) {
    DGC_ASSIGN_OR_RETURN(dataset, Dataset::open(realDisk(), options.data));
  }
  return absl::OkStatus();
}

absl::Status WorkerRun::openLog() {
  if (!first() || options.logJson.empty())
    return absl::OkStatus();
  if (context.kept && context.kept->jsonLog) {
    jsonLog = std::move(context.kept->jsonLog);
    return absl::OkStatus();
  }
  // Where this process may be replaced, the next one goes on with the log.
  auto opened = JsonLog::open(realDisk(), clock, options.logJson,
                              {.isContinued = context.loss.has_value(), .holdsBack = !context.survives});
  if (!opened.ok())
    return output(opened.status(), "");
  jsonLog = *std::move(opened);
  return absl::OkStatus();
}

/// A training goes on without a recorder where there is no place for it.
void WorkerRun::beginFlight() {
  auto begun = FlightWatch::begin(artifact, *executor, context, realDisk(), options.checkpoint, clock);
  if (begun.ok())
    flight = *std::move(begun);
  else
    print(str("warning: what workers do is not recorded: ", std::string(begun.status().message())));
}

absl::Status WorkerRun::openBoard() {
  if (!first() || options.tensorboard.empty() || totalSteps == 0)
    return absl::OkStatus();
  if (context.kept && context.kept->board) {
    board = std::move(context.kept->board);
    return absl::OkStatus();
  }
  auto opened = TensorBoard::open(realDisk(), clock, options.tensorboard);
  if (!opened.ok())
    return output(opened.status(), "");
  board = *std::move(opened);
  const TensorBoard::Description description = {
      {{"options", describeRun(artifact.plan(), state.planDigest, state.seed)},
       {"plan", describePlan(artifact.plan())}},
      graphOf(artifact.plan())};
  checkBoard(board->begin(state.step, description));
  return absl::OkStatus();
}

/// A full disk ends the event file, not the run.
void WorkerRun::checkBoard(const absl::Status &status) {
  if (status.ok())
    return;
  board.reset();
  const std::string text = str(std::string(status.message()), "; nothing more is written for TensorBoard");
  print(str("warning: ", text));
  LogEvent event{"warning"};
  event.step = state.step;
  event.message = text;
  log(event);
}

void WorkerRun::log(LogEvent event) {
  if (board) // before the log, whose last line is that of the end
    checkBoard(board->add(event));
  if (context.status)
    context.status->add(event);
  if (!jsonLog)
    return;
  event.rank = 0;
  (void)jsonLog->add(event); // a full disk does not end a run before its end
}

/// Before the work, not after it.
absl::Status WorkerRun::reserveOutputs() {
  for (auto [flag, path, file] : {std::tuple("--save", &options.save, &saved),
                                  {"--trace", &options.trace, &traced},
                                  {"--fetch", &options.fetch, &fetched}}) {
    if (!first() || path->empty())
      continue;
    auto reserved = OutputFile::reserve(realDisk(), *path);
    if (!reserved.ok())
      return output(reserved.status(), flag);
    *file = *std::move(reserved);
  }
  if (saved && isOnnxPath(options.save)) {
    auto model = OnnxWeights::open(realDisk(), options.save, variableSpecs(artifact.plan()));
    if (!model.ok())
      return annotate(model.status(), "--save");
    savedModel = *std::move(model);
  }
  return absl::OkStatus();
}

/// Workers that were started with different flags, or see different data, would
/// wait for each other for ever.
absl::Status WorkerRun::compareOptions() {
  std::string mine = str("entry ", entryName(), ", seed ", state.seed, ", shuffle ", options.shuffle ? "on" : "off",
                         ", steps ", totalSteps, ", samples ", training.feed ? training.feed->samples() : 0,
                         ", test samples ", testing.feed ? testing.feed->samples() : 0, ", first step ", state.step,
                         predictions ? ", predictions" : "", options.checkpoint.empty() ? "" : ", with checkpoints",
                         options.replicas ? str(", copies every ", options.replicateEvery) : "",
                         options.tensorboardHistograms ? str(", histograms every ", options.tensorboardHistograms) : "",
                         fed.empty() ? "" : ", arrays ", fed, options.fetch.empty() ? "" : ", fetching");
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> all, context.gather(mine));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return withExitCode(absl::FailedPreconditionError(
                              str("rank ", rank, " was started differently from rank 0: ", printable(all[rank]),
                                  " there, ", printable(all[0]), " here")),
                          ExitCode::Cluster);
  return absl::OkStatus();
}

absl::Status WorkerRun::run() {
  absl::Status status = runAll();
  if (!status.ok() && context.survives && context.survives(status)) {
    keep();
    return status;
  }
  status.Update(writeDump());
  LogEvent last{status.ok() ? "end" : "error"};
  last.step = state.step;
  const std::string message(status.message());
  last.message = message;
  log(last);
  absl::Status logged = jsonLog ? output(jsonLog->flush(), "") : absl::OkStatus();
  status.Update(logged);
  if (flight)
    flight->end(status.ok() ? 0 : static_cast<int>(exitCodeOf(status)));
  return status;
}

absl::Status WorkerRun::runAll() {
  DGC_RETURN_IF_ERROR(prepare());
  std::string entry = entryName();
  if (!executor->program(entry))
    return usageError(
        str("the plan has no program '", entry, "'; it has ", programNames(*executor), ": choose one with --entry"));
  DGC_RETURN_IF_ERROR(!options.feed.empty() ? runCalls(entry) : entry == "train" ? train() : runOther(entry));
  if (!stopped)
    DGC_RETURN_IF_ERROR(save());
  return writeTrace();
}

/// Calls of a plan with one entry need not name it.
std::string WorkerRun::entryName() const {
  if (!options.entry.empty() || options.feed.empty() || executor->program("train") || executor->programs().size() != 1)
    return options.entry.empty() ? "train" : options.entry;
  return std::string(executor->programs()[0]->name());
}

/// One call for each file of --feed.
absl::Status WorkerRun::runCalls(const std::string &entry) {
  DGC_ASSIGN_OR_RETURN(Calls calls, Calls::create(artifact, *executor, *executor->program(entry), options, context));
  fed = calls.digest();
  DGC_RETURN_IF_ERROR(compareOptions());
  Task task("calling", options.feed.size(), Task::Things, "files");
  auto behind = [&](size_t index) -> absl::Status {
    if (numerics)
      numerics->look(*executor->program(entry), static_cast<int64_t>(index), str("call ", index, " of ", entry));
    return compareFindings();
  };
  DGC_RETURN_IF_ERROR(calls.run(state.step, clock, behind, [&](const CallReport &made) {
    task.advance();
    std::string text = formatMeans(made.loss, made.metrics);
    print(str(options.feed[made.index], text.empty() ? "" : "  ", text, formatTables(made.metrics, options.logJson)));
    LogEvent event{"call"};
    event.call = static_cast<int64_t>(made.index);
    event.step = made.step;
    event.loss = made.loss;
    event.metrics = made.metrics;
    event.ms = made.ms;
    event.samplesPerSecond = static_cast<double>(made.examples) / made.ms * 1e3;
    log(event);
    return checkLoss("loss", made.step, made.loss);
  }));
  if (std::string notice = executor->notice(/*atEnd=*/true); !notice.empty())
    print(notice);
  if (options.fetch.empty())
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(output(calls.fetch(fetched ? &*fetched : nullptr), "--fetch"));
  print(str("fetched the results of the last call into ", options.fetch == "-" ? "standard output" : options.fetch));
  return absl::OkStatus();
}

/// A program that is run once over the test data.
absl::Status WorkerRun::runOther(const std::string &entry) {
  if (!options.checkpoint.empty())
    return usageError(str("--checkpoint is for training, not for '", entry, "'"));
  if (options.replicas > 0)
    return usageError(str("--replicas is for training, not for '", entry, "'"));
  if (!options.tensorboard.empty())
    return usageError(str("--tensorboard is for training, not for '", entry, "'"));
  if (options.epochs || options.steps)
    return usageError(str("--epochs and --steps are for training, not for '", entry, "'"));
  if (options.predictions.empty() && !hasMeans(artifact.plan(), entry))
    return usageError(
        str("program '", entry, "' gives predictions and nothing else: say where they go with --predictions DIR"));
  DGC_ASSIGN_OR_RETURN(testing, bind(entry, {.split = "test"}));
  if (!options.predictions.empty()) {
    DGC_ASSIGN_OR_RETURN(predictions, Predictions::create(artifact, *testing.runner, context.transport.rank()));
    DGC_RETURN_IF_ERROR(output(predictions->reserve(realDisk(), options.predictions), "--predictions"));
  }
  DGC_RETURN_IF_ERROR(compareOptions());
  if (!options.follow.empty())
    return follow();
  DGC_RETURN_IF_ERROR(evaluate(testing, "test", std::nullopt));
  return writePredictions();
}

absl::Status WorkerRun::writePredictions() {
  if (!predictions)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(output(predictions->write(context.gather), "--predictions"));
  print(str("predicted ", counted(testing.feed->samples(), "sample"), " into ", options.predictions, ": ",
            predictions->describe()));
  return absl::OkStatus();
}

absl::Status WorkerRun::save() {
  if (options.save.empty())
    return absl::OkStatus();
  enter("saving");
  DGC_RETURN_IF_ERROR(executor->downloadVariables());
  DGC_RETURN_IF_ERROR(output(saveVariables(artifact, *executor, context.transport.rank(), saved ? &*saved : nullptr,
                                           savedModel ? &*savedModel : nullptr, state, context.gather),
                             "--save"));
  print(str("saved ",
            savedModel ? counted(savedModel->size(), "initializer") : counted(countSaved(artifact.plan()), "variable"),
            " to ", options.save == "-" ? "standard output" : options.save));
  return absl::OkStatus();
}

absl::Status WorkerRun::writeTrace() {
  if (!trace)
    return absl::OkStatus();
  return output(writeTraces(artifact, *trace, context, traced ? &*traced : nullptr), "");
}

absl::StatusOr<RunEnd> dgc::rt::runWorker(const Artifact &artifact, const RunOptions &options,
                                          const WorkerContext &context) {
  WorkerRun worker(artifact, options, context);
  const absl::Status status = worker.run();
  if (context.kept && context.kept->replicas)
    context.kept->replicas->detach();
  DGC_RETURN_IF_ERROR(status);
  return worker.end();
}
