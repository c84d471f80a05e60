// The run of one worker.
#include "runtime/driver/Worker.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"
#include "runtime/driver/AreaUnderCurve.h"
#include "runtime/driver/Calls.h"
#include "runtime/driver/Inputs.h"
#include "runtime/driver/Predictions.h"
#include "runtime/driver/RunLog.h"
#include "runtime/driver/State.h"
#include "runtime/driver/Traces.h"
#include "runtime/telemetry/MetricText.h"

#include <algorithm>
#include <cmath>
#include <deque>

using namespace dgc;
using namespace dgc::rt;

static absl::Status usage(const std::string &message) {
  return withExitCode(absl::InvalidArgumentError(message), ExitCode::Usage);
}

/// The status of writing a file that the command line names.
static absl::Status output(const absl::Status &status, std::string_view flag) {
  return withExitCode(flag.empty() ? status : annotate(status, flag), ExitCode::BadData);
}

namespace {
class Worker {
public:
  Worker(const Artifact &artifact, const RunOptions &options, const WorkerContext &context)
      : artifact(artifact), options(options), context(context) {}

  /// Runs, and says in the log how it ended.
  absl::Status run();

private:
  absl::Status runAll();
  absl::Status prepare();
  absl::Status openLog();
  absl::Status reserveOutputs();
  absl::Status compareOptions();
  absl::StatusOr<FedProgram> bind(std::string_view program, const BindOptions &options) {
    return bindInputs(artifact.plan(), *executor->program(program), dataset ? &*dataset : nullptr, options);
  }
  std::string entryName() const;
  absl::Status runOther(const std::string &entry);
  absl::Status runCalls(const std::string &entry);
  absl::Status train();
  absl::Status trainSteps();
  absl::Status submitStep();
  absl::Status collectStep(ReportedValues &reported);
  absl::Status checkLoss(std::string_view of, int64_t step, std::optional<double> loss);
  absl::Status endEpoch(int64_t epoch);
  absl::Status evaluate(FedProgram &program, std::string_view split, std::optional<int64_t> epoch);
  absl::Status writePredictions();
  absl::Status save();
  absl::Status writeTrace();

  bool first() const { return context.transport.rank() == 0; }
  void print(std::string_view line) {
    if (progress)
      progress->line(line);
    else if (first() && context.print)
      context.print(str(line, "\n"));
  }
  void log(LogEvent event) {
    if (!jsonLog)
      return;
    event.rank = 0;
    (void)jsonLog->add(event); // a full disk does not end a run before its end
  }

  const Artifact &artifact;
  const RunOptions &options;
  const WorkerContext &context;
  Clock &clock = realClock();
  std::unique_ptr<Executor> executor;
  std::optional<Dataset> dataset;
  std::unique_ptr<JsonLog> jsonLog;                 // rank 0
  std::optional<OutputFile> saved, traced, fetched; // rank 0, from the beginning: no other job writes them meanwhile
  std::optional<OnnxWeights> savedModel;            // rank 0: what --save puts the weights into, where that is a model
  std::unique_ptr<Progress> progress;               // rank 0, while it trains
  std::unique_ptr<OpTrace> trace;
  FedProgram training, testing;
  /// A step that is submitted and not collected.
  struct Running {
    Cursor at, behind;
    int64_t valid;
    TimeNs begin;
  };
  std::deque<Running> running;
  std::optional<Predictions> predictions;
  std::string fed; // what the files of --feed hold
  WeightedMeans epochMeans;
  RunState state;
  int64_t totalSteps = 0;               // of this run
  TimeNs epochBegan = 0, collected = 0; // when the last step was
  bool lossIsFinite = true;             // of the step or evaluation before
};
} // namespace

/// The names of all programs, for messages.
static std::string programNames(const Executor &executor) {
  std::string names;
  for (const auto &runner : executor.programs())
    names += str(names.empty() ? "" : ", ", runner->name());
  return names;
}

absl::Status Worker::prepare() {
  DGC_RETURN_IF_ERROR(openLog());
  DGC_RETURN_IF_ERROR(reserveOutputs());
  DGC_ASSIGN_OR_RETURN(state.seed, seedOf(options, realDisk()));
  ExecutorOptions executorOptions;
  executorOptions.threads = options.threads;
  executorOptions.seed = state.seed;
  executorOptions.memoryLimit = options.memoryLimit;
  executorOptions.makeDevice = options.makeDevice;
  DGC_ASSIGN_OR_RETURN(executor, Executor::create(artifact, context.transport, executorOptions));
  if (!options.trace.empty()) {
    trace = std::make_unique<OpTrace>(size_t{1} << 20);
    executor->setTrace(trace.get());
  }
  DGC_ASSIGN_OR_RETURN(auto restored, restoreVariables(*executor, artifact.plan(), options, realDisk()));
  if (!restored.notice.empty())
    print(restored.notice);
  if (restored.state) {
    state.step = restored.state->step;
    state.cursor = restored.state->cursor;
  }
  state.planDigest = artifact.digestHex();
  state.producer = artifact.plan().producer() ? artifact.plan().producer()->str() : "";
  if (!options.data.empty()) {
    DGC_ASSIGN_OR_RETURN(dataset, Dataset::open(realDisk(), options.data));
  }
  return absl::OkStatus();
}

absl::Status Worker::openLog() {
  if (!first() || options.logJson.empty())
    return absl::OkStatus();
  auto opened = JsonLog::open(realDisk(), clock, options.logJson);
  if (!opened.ok())
    return output(opened.status(), "");
  jsonLog = *std::move(opened);
  return absl::OkStatus();
}

/// Before the work, not after it.
absl::Status Worker::reserveOutputs() {
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
absl::Status Worker::compareOptions() {
  std::string mine =
      str("entry ", entryName(), ", seed ", state.seed, ", shuffle ", options.shuffle ? "on" : "off", ", steps ",
          totalSteps, ", samples ", training.feed ? training.feed->samples() : 0, ", test samples ",
          testing.feed ? testing.feed->samples() : 0, ", first step ", state.step, predictions ? ", predictions" : "",
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

absl::Status Worker::run() {
  absl::Status status = runAll();
  LogEvent last{status.ok() ? "end" : "error"};
  last.step = state.step;
  const std::string message(status.message());
  last.message = message;
  log(last);
  absl::Status logged = jsonLog ? output(jsonLog->flush(), "") : absl::OkStatus();
  return status.ok() ? logged : status;
}

absl::Status Worker::runAll() {
  DGC_RETURN_IF_ERROR(prepare());
  std::string entry = entryName();
  if (!executor->program(entry))
    return usage(
        str("the plan has no program '", entry, "'; it has ", programNames(*executor), ": choose one with --entry"));
  DGC_RETURN_IF_ERROR(!options.feed.empty() ? runCalls(entry) : entry == "train" ? train() : runOther(entry));
  DGC_RETURN_IF_ERROR(save());
  return writeTrace();
}

/// Calls of a plan with one entry need not name it.
std::string Worker::entryName() const {
  if (!options.entry.empty() || options.feed.empty() || executor->program("train") || executor->programs().size() != 1)
    return options.entry.empty() ? "train" : options.entry;
  return std::string(executor->programs()[0]->name());
}

/// One call for each file of --feed.
absl::Status Worker::runCalls(const std::string &entry) {
  DGC_ASSIGN_OR_RETURN(Calls calls, Calls::create(artifact, *executor, *executor->program(entry), options, context));
  fed = calls.digest();
  DGC_RETURN_IF_ERROR(compareOptions());
  DGC_RETURN_IF_ERROR(calls.run(state.step, clock, [&](const CallReport &made) {
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
absl::Status Worker::runOther(const std::string &entry) {
  if (options.epochs || options.steps)
    return usage(str("--epochs and --steps are for training, not for '", entry, "'"));
  if (options.predictions.empty() && !hasMeans(artifact.plan(), entry))
    return usage(
        str("program '", entry, "' gives predictions and nothing else: say where they go with --predictions DIR"));
  DGC_ASSIGN_OR_RETURN(testing, bind(entry, {.split = "test"}));
  if (!options.predictions.empty()) {
    DGC_ASSIGN_OR_RETURN(predictions, Predictions::create(artifact, *testing.runner, context.transport.rank()));
    DGC_RETURN_IF_ERROR(output(predictions->reserve(realDisk(), options.predictions), "--predictions"));
  }
  DGC_RETURN_IF_ERROR(compareOptions());
  DGC_RETURN_IF_ERROR(evaluate(testing, "test", std::nullopt));
  return writePredictions();
}

absl::Status Worker::writePredictions() {
  if (!predictions)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(output(predictions->write(context.gather), "--predictions"));
  print(str("predicted ", counted(testing.feed->samples(), "sample"), " into ", options.predictions, ": ",
            predictions->describe()));
  return absl::OkStatus();
}

absl::Status Worker::train() {
  if (!options.predictions.empty())
    return usage("--predictions is for programs that predict: choose one with --entry, e.g. --entry predict");
  if (options.steps == 0) { // the initial values are wanted, no data
    return compareOptions();
  }
  DGC_ASSIGN_OR_RETURN(
      training, bind("train", {"train", options.lastBatch, options.shuffle, state.seed, "use --last-batch=drop, "}));
  Feed &feed = *training.feed;
  if (feed.stepsPerEpoch() == 0)
    return withExitCode(absl::InvalidArgumentError(
                            str("the training data has ", feed.samples(), " samples, fewer than one global batch of ",
                                artifact.plan().global_batch(), "; use --last-batch=weight or a smaller batch")),
                        ExitCode::BadData);
  feed.seek(state.cursor);
  int64_t perEpoch = feed.stepsPerEpoch();
  int64_t epochs = options.epochs.value_or(1);
  totalSteps = options.steps ? *options.steps : epochs * perEpoch - feed.cursor().step;
  std::string noTest;
  if (options.evaluate && executor->program("evaluate")) {
    std::string missing;
    for (const InputSpec &spec : inputSpecs(artifact.plan(), *executor->program("evaluate")))
      if (missing.empty() && !dataset->has("test", spec.name))
        missing = spec.name;
    if (missing.empty()) {
      DGC_ASSIGN_OR_RETURN(testing, bind("evaluate", {.split = "test", .wayOut = "use --evaluate=off, "}));
    } else {
      noTest = str("no evaluation: ", options.data, " has no '", missing, "' of the test split");
    }
  }
  DGC_RETURN_IF_ERROR(compareOptions());
  if (!noTest.empty())
    print(noTest);
  if (first() && context.print) {
    ProgressOptions progressOptions = progressOptionsFor(context.terminal);
    progressOptions.epochs = options.steps ? 0 : feed.cursor().epoch + epochs;
    progressOptions.stepsPerEpoch = perEpoch;
    progressOptions.totalSteps = totalSteps;
    progressOptions.log = options.logJson;
    progress = std::make_unique<Progress>(context.print, clock, progressOptions);
    progress->start();
  }
  DGC_RETURN_IF_ERROR(trainSteps());
  if (progress && epochMeans.weight() > 0) // the run ends inside an epoch
    progress->endEpoch();
  if (progress)
    progress->finish();
  progress.reset();
  return absl::OkStatus();
}

/// On a device that can do that, a step computes while the host prepares the next one. Where something else comes
/// after a step, it is waited for.
absl::Status Worker::trainSteps() {
  Feed &feed = *training.feed;
  ReportedValues reported(*training.runner);
  epochBegan = clock.now();
  for (int64_t done = 1; done <= totalSteps; ++done) {
    if (context.abort.raised())
      return context.abort.status();
    int64_t epoch = feed.cursor().epoch;
    DGC_RETURN_IF_ERROR(submitStep());
    const int64_t step = state.step + static_cast<int64_t>(running.size());
    const bool endsEpoch = feed.cursor().epoch != epoch;
    const bool isDue = options.evaluateEvery > 0 && (step % options.evaluateEvery == 0 || done == totalSteps);
    while (running.size() >= (endsEpoch || isDue || done == totalSteps ? 1 : training.runner->depth()))
      DGC_RETURN_IF_ERROR(collectStep(reported));
    if (endsEpoch)
      DGC_RETURN_IF_ERROR(endEpoch(epoch));
    else if (isDue && testing.runner)
      DGC_RETURN_IF_ERROR(evaluate(testing, "test", epoch));
  }
  if (std::string notice = executor->notice(/*atEnd=*/true); !notice.empty())
    print(notice);
  return absl::OkStatus();
}

absl::Status Worker::submitStep() {
  Running step{training.feed->cursor(), {}, 0, clock.now()};
  step.valid = training.next();
  step.behind = training.feed->cursor();
  DGC_RETURN_IF_ERROR(training.runner->submit(static_cast<uint64_t>(state.step) + running.size()));
  running.push_back(step);
  return absl::OkStatus();
}

absl::Status Worker::collectStep(ReportedValues &reported) {
  DGC_RETURN_IF_ERROR(training.runner->collect());
  const Running done = running.front();
  running.pop_front();
  int64_t step = state.step++;
  state.cursor = done.behind;
  if (!first())
    return absl::OkStatus();
  if (std::string notice = executor->notice(/*atEnd=*/false); !notice.empty())
    print(notice);
  reported.read();
  epochMeans.add(reported, static_cast<double>(done.valid));
  if (progress)
    progress->step({done.at.epoch, done.at.step, done.valid, reported.loss().value_or(0), reported.metrics()});
  TimeNs now = clock.now();
  if (jsonLog) {
    double ms = static_cast<double>(now - std::max(done.begin, collected)) * 1e-6;
    LogEvent event{"step"};
    event.step = step;
    event.epoch = done.at.epoch;
    event.loss = reported.loss();
    event.metrics = reported.metrics();
    event.ms = ms;
    event.samplesPerSecond = static_cast<double>(done.valid) / ms * 1e3;
    log(event);
  }
  collected = now;
  return checkLoss("loss", step, reported.loss());
}

/// Reports a loss that is not finite, on rank 0: as an error, or as a warning for the first one after a finite one.
absl::Status Worker::checkLoss(std::string_view of, int64_t step, std::optional<double> loss) {
  const bool isFinite = !loss || std::isfinite(*loss);
  const bool wasFinite = std::exchange(lossIsFinite, isFinite);
  if (isFinite)
    return absl::OkStatus();
  std::string text = str("the ", of, " is ", *loss, " at step ", step);
  if (options.onNan == OnNan::Stop)
    return withExitCode(absl::OutOfRangeError(str(text, options.save.empty() ? "" : "; nothing is saved",
                                                  "; lower the learning rate, look at the data, or continue with "
                                                  "--on-nan=warn")),
                        ExitCode::NotFinite);
  if (wasFinite) {
    print(str("warning: ", text));
    LogEvent event{"warning"};
    event.step = step;
    event.message = text;
    log(event);
  }
  return absl::OkStatus();
}

absl::Status Worker::endEpoch(int64_t epoch) {
  if (progress)
    progress->endEpoch();
  double ms = static_cast<double>(clock.now() - epochBegan) * 1e-6;
  LogEvent event{"epoch"};
  event.step = state.step;
  event.epoch = epoch;
  event.loss = epochMeans.loss();
  event.metrics = epochMeans.metrics();
  event.ms = ms;
  event.samplesPerSecond = epochMeans.weight() / ms * 1e3;
  log(event);
  epochMeans.clear();
  if (testing.runner)
    DGC_RETURN_IF_ERROR(evaluate(testing, "test", epoch));
  epochBegan = clock.now();
  return absl::OkStatus();
}

absl::Status Worker::evaluate(FedProgram &program, std::string_view split, std::optional<int64_t> epoch) {
  Feed &feed = *program.feed;
  feed.seek({0, 0});
  DGC_RETURN_IF_ERROR(executor->resetTotals());
  ReportedValues reported(*program.runner);
  AreaMetrics areas(artifact.plan(), *program.runner, context.transport.rank());
  WeightedMeans means;
  TimeNs begin = clock.now();
  std::deque<int64_t> valid; // of runs that are submitted and not collected
  for (int64_t i = 1; i <= feed.stepsPerEpoch(); ++i) {
    if (context.abort.raised())
      return context.abort.status();
    valid.push_back(program.next());
    // Random numbers that are drawn here, too, are others for each batch.
    DGC_RETURN_IF_ERROR(program.runner->submit(static_cast<uint64_t>(state.step + i - 1)));
    while (valid.size() >= (i == feed.stepsPerEpoch() ? 1 : program.runner->depth())) {
      DGC_RETURN_IF_ERROR(program.runner->collect());
      reported.read();
      means.add(reported, static_cast<double>(valid.front()));
      areas.add(valid.front());
      if (predictions)
        predictions->add(valid.front());
      valid.pop_front();
    }
  }
  DGC_ASSIGN_OR_RETURN(std::vector<Metric> ofAll, areas.gather(context.gather));
  if (!first())
    return absl::OkStatus();
  std::vector<Metric> metrics(means.metrics().begin(), means.metrics().end());
  metrics.insert(metrics.end(), ofAll.begin(), ofAll.end());
  double ms = static_cast<double>(clock.now() - begin) * 1e-6;
  const std::string text = formatMeans(means.loss(), metrics), tables = formatTables(metrics, options.logJson);
  if (!text.empty() || !tables.empty())
    print(str(split, text.empty() ? "" : "  ", text, "  (", counted(feed.samples(), "sample"), ")", tables));
  LogEvent event{"evaluate"};
  event.step = state.step;
  event.epoch = epoch;
  event.loss = means.loss();
  event.metrics = metrics;
  event.ms = ms;
  event.samplesPerSecond = means.weight() / ms * 1e3;
  log(event);
  return checkLoss(str(split, " loss"), state.step, means.loss());
}

absl::Status Worker::save() {
  if (options.save.empty())
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(executor->downloadVariables());
  DGC_RETURN_IF_ERROR(output(saveVariables(artifact, *executor, context.transport.rank(), saved ? &*saved : nullptr,
                                           savedModel ? &*savedModel : nullptr, state, context.gather),
                             "--save"));
  print(str("saved ",
            savedModel ? counted(savedModel->size(), "initializer") : counted(countSaved(artifact.plan()), "variable"),
            " to ", options.save == "-" ? "standard output" : options.save));
  return absl::OkStatus();
}

absl::Status Worker::writeTrace() {
  if (!trace)
    return absl::OkStatus();
  return output(writeTraces(artifact, *executor, *trace, context, traced ? &*traced : nullptr), "");
}

absl::Status dgc::rt::runWorker(const Artifact &artifact, const RunOptions &options, const WorkerContext &context) {
  return Worker(artifact, options, context).run();
}
