// Training and evaluation.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/base/Task.h"
#include "runtime/driver/AreaUnderCurve.h"
#include "runtime/driver/Histograms.h"
#include "runtime/driver/WorkerRun.h"
#include "runtime/telemetry/MetricText.h"

#include <cmath>

using namespace dgc;
using namespace dgc::rt;

/// Steps from where the run is to its end.
int64_t WorkerRun::stepsLeft() const {
  const int64_t perEpoch = training.feed->stepsPerEpoch();
  const Cursor &now = state.cursor;
  if (!options.replay.empty())
    return std::max<int64_t>(0, options.replayStep + 1 - state.step);
  const int64_t left = options.steps
                           ? began.step + *options.steps - state.step
                           : (began.cursor.epoch + options.epochs.value_or(1) - now.epoch) * perEpoch - now.step;
  return std::max<int64_t>(0, left);
}

absl::Status WorkerRun::train() {
  if (!options.predictions.empty())
    return usageError("--predictions is for programs that predict: choose one with --entry, e.g. --entry predict");
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
  DGC_RETURN_IF_ERROR(compareOrder());
  feed.seek(state.cursor);
  int64_t perEpoch = feed.stepsPerEpoch();
  int64_t epochs = options.epochs.value_or(1);
  totalSteps = stepsLeft();
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
  if (!options.keepBest.empty() && !testing.runner)
    return usageError(str("--keep-best ", options.keepBest, ": nothing is evaluated, so there is no best checkpoint"));
  DGC_RETURN_IF_ERROR(openBoard());
  if (!options.checkpoint.empty()) {
    DGC_ASSIGN_OR_RETURN(checkpoints, Checkpoints::create(artifact, *executor, options, context, realDisk()));
    checkpoints->beginsAt(state.step, bestStep);
    beginFlight();
  }
  DGC_RETURN_IF_ERROR(beginReplicas());
  if (isAsynchronous() && totalSteps > 0)
    DGC_RETURN_IF_ERROR(beginAsynchronous());
  if (totalSteps == 0 && isResumed)
    print("the run has come to its end before: nothing is left to do");
  if (first() && context.print) {
    ProgressOptions progressOptions = progressOptionsFor(context.terminal);
    progressOptions.epochs = options.steps ? 0 : began.cursor.epoch + epochs;
    progressOptions.stepsPerEpoch = perEpoch;
    progressOptions.totalSteps = totalSteps;
    progressOptions.log = options.logJson;
    progress = std::make_unique<Progress>(context.print, clock, progressOptions);
    progress->start();
    epochMeans.continueIn(*progress);
  }
  if (context.status)
    context.status->beginsAt(state.step, state.step + totalSteps, tokensPerSample(artifact.plan(), "train"));
  enter("training");
  sayWhatWasLost();
  DGC_RETURN_IF_ERROR(trainSteps());
  endAsynchronous();
  enter("finishing");
  DGC_RETURN_IF_ERROR(endCheckpoints());
  if (progress && epochMeans.weight() > 0) // the run ends inside an epoch
    progress->endEpoch();
  if (progress)
    progress->finish();
  progress.reset();
  return absl::OkStatus();
}

/// On a device that can do that, a step computes while the host prepares the next one. Where something else comes
/// after a step, it is waited for.
absl::Status WorkerRun::trainSteps() {
  Feed &feed = *training.feed;
  ReportedValues reported(*training.runner);
  if (options.tensorboardHistograms > 0 && state.step == 0)
    DGC_RETURN_IF_ERROR(addHistograms());
  epochBegan = clock.now();
  for (int64_t done = 1; done <= totalSteps; ++done) {
    if (context.abort.raised())
      return context.abort.status();
    DGC_ASSIGN_OR_RETURN(const bool isStopped, beforeStep(reported));
    if (isStopped)
      break;
    DGC_RETURN_IF_ERROR(takeReplicas(reported));
    int64_t epoch = feed.cursor().epoch;
    DGC_RETURN_IF_ERROR(submitStep());
    const int64_t step = state.step + static_cast<int64_t>(running.size());
    const bool endsEpoch = feed.cursor().epoch != epoch;
    const bool isDue = options.evaluateEvery > 0 && (step % options.evaluateEvery == 0 || done == totalSteps);
    const bool isCounted = options.tensorboardHistograms > 0 && step % options.tensorboardHistograms == 0;
    while (running.size() >= (endsEpoch || isDue || isCounted || done == totalSteps ? 1 : depth()))
      DGC_RETURN_IF_ERROR(collectStep(reported));
    if (isCounted)
      DGC_RETURN_IF_ERROR(addHistograms());
    bool hasNoGain = false;
    if (endsEpoch) {
      DGC_ASSIGN_OR_RETURN(hasNoGain, endEpoch(epoch));
    } else if (isDue && testing.runner) {
      DGC_RETURN_IF_ERROR(evaluate(testing, "test", epoch));
      enter("training");
      DGC_ASSIGN_OR_RETURN(hasNoGain, afterEvaluation());
    }
    if (hasNoGain)
      break;
  }
  DGC_RETURN_IF_ERROR(compareFindings());
  if (std::string notice = executor->notice(/*atEnd=*/true); !notice.empty())
    print(notice);
  endReplay(reported.loss());
  return absl::OkStatus();
}

/// After the steps so far. All workers count, though rank 0 may not be able to write any more.
absl::Status WorkerRun::addHistograms() {
  DGC_ASSIGN_OR_RETURN(const auto histograms, variableHistograms(artifact, *executor, context));
  if (board)
    checkBoard(board->add(state.step, histograms));
  return absl::OkStatus();
}

/// What all workers do before the step that is submitted next: save a checkpoint, stop. True where they stop.
absl::StatusOr<bool> WorkerRun::beforeStep(ReportedValues &reported) {
  const int64_t next = state.step + static_cast<int64_t>(running.size());
  if (asynchronous && next < asynchronous->firstCut())
    return false;
  StepEvent event;
  if (context.gate) {
    DGC_ASSIGN_OR_RETURN(event, context.gate->pass(next, context.abort));
  }
  if (numerics && (event.kind != StepEvent::None || (checkpoints && checkpoints->isDue(next)))) {
    while (!running.empty())
      DGC_RETURN_IF_ERROR(collectStep(reported));
    DGC_RETURN_IF_ERROR(compareFindings());
  }
  if (!checkpoints)
    return false;
  if (first() && !isCheckpointRequested && context.request && checkpoints->isTimeUp()) {
    isCheckpointRequested = true;
    context.request({StepEvent::Checkpoint});
  }
  if (event.kind >= StepEvent::Checkpoint || checkpoints->isDue(next)) {
    while (!running.empty())
      DGC_RETURN_IF_ERROR(collectStep(reported));
    if (!checkpoints->has(next))
      DGC_RETURN_IF_ERROR(saveCheckpoint(/*isBest=*/false));
    isCheckpointRequested &= event.kind < StepEvent::Checkpoint;
  }
  printNews();
  if (event.kind == StepEvent::Stop)
    stopped = event;
  return stopped.has_value();
}

/// Keeps the checkpoint of the best evaluation. True where the training is over, as none was better for so many evaluations.
absl::StatusOr<bool> WorkerRun::afterEvaluation() {
  if (options.keepBest.empty() && options.stopAfter == 0)
    return false;
  bool isBest = false;
  if (first()) {
    const std::string &name = options.keepBest.empty() ? "loss" : options.keepBest;
    std::optional<double> value = name == "loss" ? evaluatedLoss : std::nullopt;
    for (const Metric &metric : evaluated)
      if (metric.name == name && metric.shape.empty())
        value = metric.reported();
    if (!value)
      return usageError(str("--keep-best ", name, ": the evaluation gives no such number"));
    isBest = !bestValue || (options.isLargerBetter ? *value > *bestValue : *value < *bestValue);
    if (isBest)
      bestValue = value;
  }
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> all, context.gather(isBest ? "best" : ""));
  isBest = !all[0].empty();
  evaluationsSinceBest = isBest ? 0 : evaluationsSinceBest + 1;
  if (isBest)
    bestStep = state.step;
  if (isBest && checkpoints)
    DGC_RETURN_IF_ERROR(saveCheckpoint(/*isBest=*/true));
  if (options.stopAfter == 0 || evaluationsSinceBest < options.stopAfter)
    return false;
  print(str("no better evaluation than that of step ", bestStep, " for ", counted(options.stopAfter, "evaluation"),
            ": the training ends"));
  return true;
}

absl::Status WorkerRun::saveCheckpoint(bool isBest) {
  if (asynchronous && state.step < asynchronous->firstCut())
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(isBest ? checkpoints->saveBest(progressSoFar()) : checkpoints->save(progressSoFar()));
  return asynchronous ? asynchronous->cut(state.step) : absl::OkStatus();
}

/// What the job has at its end, or where it is stopped, is in a checkpoint.
absl::Status WorkerRun::endCheckpoints() {
  if (!checkpoints)
    return absl::OkStatus();
  hasTrainingEnded = !stopped;
  if (totalSteps > 0 && (hasTrainingEnded || !checkpoints->has(state.step)))
    DGC_RETURN_IF_ERROR(saveCheckpoint(/*isBest=*/false));
  const absl::Status finished = checkpoints->finish();
  printNews();
  DGC_RETURN_IF_ERROR(finished);
  if (asynchronous)
    DGC_RETURN_IF_ERROR(asynchronous->removeLogs());
  if (stopped)
    print(str("stopped before step ", state.step, ": the same command with --resume goes on from there"));
  checkpoints.reset();
  return absl::OkStatus();
}

void WorkerRun::printNews() {
  for (const CheckpointNews &news : checkpoints->takeNews()) {
    print(news.line);
    LogEvent event{news.line.starts_with("warning: ") ? "warning" : "checkpoint"};
    event.step = news.step;
    event.ms = news.ms;
    event.message = news.line;
    event.isLostCheckpoint = news.isLost;
    log(event);
  }
}

/// The ranks give the steps to workers.
absl::Status WorkerRun::beginAsynchronous() {
  AsynchronousSteps::Begin begin;
  begin.step = state.step;
  begin.seed = state.seed;
  begin.order = orderOfSamples();
  begin.isNew = !options.resume;
  begin.disk = &realDisk();
  DGC_ASSIGN_OR_RETURN(
      asynchronous, AsynchronousSteps::create(artifact, *executor, served.get(), options, context, std::move(begin)));
  return absl::OkStatus();
}

void WorkerRun::endAsynchronous() {
  if (!asynchronous)
    return;
  asynchronous->finish();
  const std::string staleness = asynchronous->staleness();
  if (staleness.empty())
    return;
  print(str("updates by their staleness: ", staleness));
  LogEvent event{"staleness"};
  event.step = state.step;
  event.message = staleness;
  log(event);
}

absl::Status WorkerRun::submitStep() {
  Running step{training.feed->cursor(), {}, 0, clock.now()};
  step.valid = training.next();
  step.behind = training.feed->cursor();
  const int64_t number = state.step + static_cast<int64_t>(running.size());
  DGC_RETURN_IF_ERROR(asynchronous ? asynchronous->submit(number, step.at)
                                   : training.runner->submit(static_cast<uint64_t>(number)));
  running.push_back(step);
  return absl::OkStatus();
}

absl::Status WorkerRun::collectStep(ReportedValues &reported) {
  DGC_RETURN_IF_ERROR(asynchronous ? asynchronous->collect(state.step) : training.runner->collect());
  const Running done = running.front();
  running.pop_front();
  int64_t step = state.step++;
  state.cursor = done.behind;
  DGC_RETURN_IF_ERROR(look(*training.runner, step, str("step ", step, " of ", training.runner->name())));
  if (!first())
    return absl::OkStatus();
  if (std::string notice = executor->notice(/*atEnd=*/false); !notice.empty())
    print(notice);
  reported.read();
  epochMeans.add(reported, static_cast<double>(done.valid));
  if (progress)
    progress->step({done.at.epoch, done.at.step, done.valid, reported.loss().value_or(0), reported.metrics()});
  TimeNs now = clock.now();
  if (isLogged()) {
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
  absl::Status loss = checkLoss("loss", step, reported.loss());
  if (loss.ok() || !numerics)
    return loss;
  if (!std::exchange(lossError, loss).ok())
    return absl::OkStatus();
  return askToCompare();
}

/// Looks at what a run has found of the values that the plan checks. What is found first ends the job where all workers
/// compare it: before a step that none of them has begun.
absl::Status WorkerRun::look(const ProgramRunner &runner, int64_t number, const std::string &run) {
  return numerics && numerics->look(runner, number, run) ? askToCompare() : absl::OkStatus();
}

absl::Status WorkerRun::askToCompare() {
  if (artifact.plan().world_size() <= 1)
    return compareFindings();
  if (context.gate && context.request)
    context.request({StepEvent::Compare});
  return absl::OkStatus();
}

/// Every worker calls it at the same place. The one that was first to find a value that is not finite fails with that; the
/// others with the error by which the job ends then.
absl::Status WorkerRun::compareFindings() {
  if (!numerics)
    return absl::OkStatus();
  DGC_ASSIGN_OR_RETURN(std::optional<NumericsWatch::First> found, numerics->compare());
  if (!found)
    return std::exchange(lossError, absl::OkStatus());
  if (options.onNan == OnNan::Warn) {
    print(str("warning: ", found->message));
    LogEvent event{"warning"};
    event.step = state.step;
    event.message = found->message;
    log(event);
    numerics.reset(); // it was the first
    return absl::OkStatus();
  }
  if (found->rank != context.transport.rank())
    DGC_RETURN_IF_ERROR(context.gather("").status()); // that worker does not come
  return withExitCode(absl::OutOfRangeError(str(found->message, "; ", options.save.empty() ? "" : "nothing is saved; ",
                                                "lower the learning rate, look at the data, or continue with "
                                                "--on-nan=warn")),
                      ExitCode::NotFinite);
}

/// Reports a loss that is not finite, on rank 0: as an error, or as a warning for the first one after a finite one.
absl::Status WorkerRun::checkLoss(std::string_view of, int64_t step, std::optional<double> loss) {
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

absl::StatusOr<bool> WorkerRun::endEpoch(int64_t epoch) {
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
  bool hasNoGain = false;
  if (testing.runner) {
    DGC_RETURN_IF_ERROR(evaluate(testing, "test", epoch));
    enter("training");
    DGC_ASSIGN_OR_RETURN(hasNoGain, afterEvaluation());
  }
  tellFigures();
  epochBegan = clock.now();
  return hasNoGain;
}

absl::Status WorkerRun::evaluate(FedProgram &program, std::string_view split, std::optional<int64_t> epoch) {
  Feed &feed = *program.feed;
  enter("evaluating");
  feed.seek({0, 0});
  DGC_RETURN_IF_ERROR(compareFindings()); // of the training so far
  DGC_RETURN_IF_ERROR(executor->resetTotals());
  ReportedValues reported(*program.runner);
  int64_t collectedRuns = 0;
  AreaMetrics areas(artifact.plan(), *program.runner, context.transport.rank());
  WeightedMeans means;
  TimeNs begin = clock.now();
  Task task("evaluating", static_cast<uint64_t>(feed.stepsPerEpoch()), Task::Things, "batches");
  std::deque<int64_t> valid; // of runs that are submitted and not collected
  for (int64_t i = 1; i <= feed.stepsPerEpoch(); ++i) {
    if (context.abort.raised())
      return context.abort.status();
    valid.push_back(program.next());
    // Random numbers that are drawn here, too, are others for each batch.
    DGC_RETURN_IF_ERROR(program.runner->submit(static_cast<uint64_t>(state.step + i - 1)));
    while (valid.size() >= (i == feed.stepsPerEpoch() ? 1 : program.runner->depth())) {
      DGC_RETURN_IF_ERROR(program.runner->collect());
      if (numerics) // compared at the end
        numerics->look(*program.runner, collectedRuns, str("batch ", collectedRuns, " of ", program.runner->name()));
      ++collectedRuns;
      reported.read();
      means.add(reported, static_cast<double>(valid.front()));
      areas.add(valid.front());
      if (predictions)
        predictions->add(valid.front());
      valid.pop_front();
      task.advance();
    }
  }
  DGC_RETURN_IF_ERROR(compareFindings());
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
  evaluatedLoss = means.loss();
  evaluated = std::move(metrics);
  return checkLoss(str(split, " loss"), state.step, means.loss());
}
