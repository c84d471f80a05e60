// The run of one worker.
#include "runtime/driver/Worker.h"

#include "runtime/artifact/Groups.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/data/Feed.h"
#include "runtime/driver/Report.h"
#include "runtime/driver/State.h"
#include "runtime/telemetry/Trace.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

using namespace dgc;
using namespace dgc::rt;

static absl::Status usage(std::string message) {
  return withExitCode(absl::InvalidArgumentError(message), ExitCode::Usage);
}

/// The status of writing a file that the command line names.
static absl::Status output(const absl::Status &status, std::string_view flag) {
  return withExitCode(flag.empty() ? status : annotate(status, flag), ExitCode::BadData);
}

/// The data inputs of a program, as a feed wants them; then, with no rows, those that only workers of other groups
/// read, so that all workers see the same data set.
static std::vector<InputSpec> inputSpecs(const artifact::Plan &plan, const ProgramRunner &runner) {
  std::vector<InputSpec> specs;
  for (const InputView &view : runner.inputs())
    if (view.role == artifact::InputRole::Data)
      specs.push_back({view.name, view.dtype, view.globalShape, view.batchDim, view.slice.offsets,
                       view.slice.sizes, view.slice.block});
  for (const artifact::Program *program : *plan.programs()) {
    if (program->name()->string_view() != runner.name() || !program->inputs())
      continue;
    for (const artifact::Input *input : *program->inputs()) {
      auto known = [&](const InputSpec &spec) { return spec.name == input->name()->str(); };
      if (input->role() != artifact::InputRole::Data || input->batch_dim() < 0 ||
          std::any_of(specs.begin(), specs.end(), known))
        continue;
      std::vector<int64_t> shape = toVector(input->global_shape()), none = shape;
      none[static_cast<size_t>(input->batch_dim())] = 0;
      specs.push_back({input->name()->str(), toDType(program->buffers()->Get(input->buffer())->dtype()), shape,
                       input->batch_dim(), std::vector<int64_t>(shape.size(), 0), none});
    }
  }
  return specs;
}

/// Where the feed puts the inputs of these specs; null for those without rows.
static std::vector<std::byte *> destinations(const ProgramRunner &runner, size_t specs) {
  std::vector<std::byte *> pointers;
  for (const InputView &view : runner.inputs())
    if (view.role == artifact::InputRole::Data)
      pointers.push_back(view.memory.data());
  pointers.resize(specs, nullptr);
  return pointers;
}

/// Whether the programs of this name, one of each group, are told how many examples are real.
static bool takesValidCount(const artifact::Plan &plan, const ProgramRunner &runner) {
  for (const artifact::Program *program : *plan.programs())
    if (program->name()->string_view() == runner.name() && program->inputs())
      for (const artifact::Input *input : *program->inputs())
        if (input->role() == artifact::InputRole::ValidCount)
          return true;
  return false;
}

namespace {
/// A program with the data that it reads.
struct FedProgram {
  ProgramRunner *runner = nullptr;
  std::optional<Feed> feed;
  std::vector<std::byte *> inputs;

  /// The next batch; returns how many of its samples are real.
  int64_t next() {
    int64_t valid = feed->next(inputs);
    runner->setValidCount(static_cast<int32_t>(valid));
    return valid;
  }
};

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
  absl::Status compareOptions();
  absl::StatusOr<FedProgram> bind(std::string_view program, std::string_view split, LastBatch lastBatch, bool shuffle);
  absl::Status train();
  absl::Status trainStep(Scalars &scalars);
  absl::Status endEpoch(int64_t epoch);
  absl::Status evaluate(FedProgram &program, std::string_view split, std::optional<int64_t> epoch);
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
    (void)jsonLog->add(event); // a full disk does not end a run
  }

  const Artifact &artifact;
  const RunOptions &options;
  const WorkerContext &context;
  Clock &clock = realClock();
  std::unique_ptr<Executor> executor;
  std::optional<Dataset> dataset;
  std::unique_ptr<JsonLog> jsonLog;   // rank 0
  std::unique_ptr<Progress> progress; // rank 0, while it trains
  std::unique_ptr<OpTrace> trace;
  FedProgram training, testing;
  WeightedMeans epochMeans;
  RunState state;
  int64_t totalSteps = 0; // of this run
  TimeNs began = 0, epochBegan = 0;
};
} // namespace

absl::StatusOr<FedProgram> Worker::bind(std::string_view name, std::string_view split, LastBatch lastBatch,
                                        bool shuffle) {
  FedProgram program;
  program.runner = executor->program(name);
  if (!dataset)
    return usage(str("program '", name, "' reads data: give the folder with --data DIR"));
  FeedOptions feed;
  feed.globalBatch = static_cast<int64_t>(artifact.plan().global_batch());
  feed.seed = state.seed;
  feed.shuffle = shuffle;
  feed.lastBatch = lastBatch;
  std::vector<InputSpec> specs = inputSpecs(artifact.plan(), *program.runner);
  DGC_ASSIGN_OR_RETURN(Feed bound, Feed::create(*dataset, split, specs, feed));
  if (lastBatch == LastBatch::Weight && !takesValidCount(artifact.plan(), *program.runner) &&
      bound.samples() % feed.globalBatch)
    return usage(str("program '", name, "' takes whole batches of ", feed.globalBatch, " only, and the ", split,
                     " data has ", bound.samples(),
                     " samples: use --last-batch=drop, or a batch size that "
                     "divides it"));
  program.feed = std::move(bound);
  program.inputs = destinations(*program.runner, specs.size());
  return program;
}

/// The names of all programs, for messages.
static std::string programNames(const Executor &executor) {
  std::string names;
  for (const auto &runner : executor.programs())
    names += str(names.empty() ? "" : ", ", runner->name());
  return names;
}

absl::Status Worker::prepare() {
  DGC_ASSIGN_OR_RETURN(state.seed, seedOf(options, realDisk()));
  ExecutorOptions executorOptions;
  executorOptions.threads = options.threads;
  executorOptions.seed = state.seed;
  DGC_ASSIGN_OR_RETURN(executor, Executor::create(artifact, context.transport, executorOptions));
  if (!options.trace.empty()) {
    trace = std::make_unique<OpTrace>(size_t{1} << 20);
    executor->setTrace(trace.get());
  }
  if (first()) // before the work, not after it
    for (const std::string &path : {options.save, options.trace})
      if (!path.empty())
        DGC_RETURN_IF_ERROR(output(checkReplaceable(realDisk(), path), path == options.save ? "--save" : "--trace"));
  DGC_ASSIGN_OR_RETURN(auto restored, restoreVariables(*executor, artifact.plan(), options, realDisk()));
  if (restored) {
    state.step = restored->step;
    state.cursor = restored->cursor;
  }
  state.planDigest = artifact.digestHex();
  state.producer = artifact.plan().producer() ? artifact.plan().producer()->str() : "";
  if (!options.data.empty()) {
    DGC_ASSIGN_OR_RETURN(dataset, Dataset::open(realDisk(), options.data));
  }
  return openLog();
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

/// Workers that were started with different flags, or see different data, would
/// wait for each other for ever.
absl::Status Worker::compareOptions() {
  std::string mine = str("entry ", options.entry.empty() ? "train" : options.entry, ", seed ", state.seed, ", shuffle ", options.shuffle ? "on" : "off",
                         ", steps ", totalSteps, ", samples ", training.feed ? training.feed->samples() : 0,
                         ", test samples ", testing.feed ? testing.feed->samples() : 0, ", first step ", state.step);
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> all, context.gather(mine));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return withExitCode(absl::FailedPreconditionError(str("rank ", rank, " was started differently from rank 0: ",
                                                            all[rank], " there, ", all[0], " here")),
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
  if (jsonLog)
    if (absl::Status s = jsonLog->flush(); !s.ok())
      print(str("warning: ", std::string(s.message())));
  return status;
}

absl::Status Worker::runAll() {
  DGC_RETURN_IF_ERROR(prepare());
  std::string entry = options.entry.empty() ? "train" : options.entry;
  if (!executor->program(entry))
    return usage(
        str("the plan has no program '", entry, "'; it has ", programNames(*executor), ": choose one with --entry"));
  if (entry == "train") {
    DGC_RETURN_IF_ERROR(train());
  } else {
    if (options.epochs || options.steps)
      return usage(str("--epochs and --steps are for training, not for '", entry, "'"));
    DGC_ASSIGN_OR_RETURN(testing, bind(entry, "test", LastBatch::Weight, false));
    DGC_RETURN_IF_ERROR(compareOptions());
    DGC_RETURN_IF_ERROR(evaluate(testing, "test", std::nullopt));
  }
  DGC_RETURN_IF_ERROR(save());
  return writeTrace();
}

absl::Status Worker::train() {
  if (options.steps == 0) { // the initial values are wanted, no data
    return compareOptions();
  }
  DGC_ASSIGN_OR_RETURN(training, bind("train", "train", options.lastBatch, options.shuffle));
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
  if (options.evaluate && executor->program("evaluate")) {
    bool has = true;
    for (const InputSpec &spec : inputSpecs(artifact.plan(), *executor->program("evaluate")))
      has &= dataset->has("test", spec.name);
    if (has) {
      DGC_ASSIGN_OR_RETURN(testing, bind("evaluate", "test", LastBatch::Weight, false));
    }
  }
  DGC_RETURN_IF_ERROR(compareOptions());
  if (first() && context.print) {
    ProgressOptions progressOptions = progressOptionsFor(context.terminal);
    progressOptions.epochs = options.steps ? 0 : feed.cursor().epoch + epochs;
    progressOptions.stepsPerEpoch = perEpoch;
    progressOptions.totalSteps = totalSteps;
    progress = std::make_unique<Progress>(context.print, clock, progressOptions);
    progress->start();
  }
  Scalars scalars(*training.runner);
  began = epochBegan = clock.now();
  for (int64_t done = 0; done < totalSteps; ++done) {
    if (context.abort.raised())
      return context.abort.status();
    int64_t epoch = feed.cursor().epoch;
    DGC_RETURN_IF_ERROR(trainStep(scalars));
    bool isDue = options.evaluateEvery > 0 && (state.step % options.evaluateEvery == 0 || done + 1 == totalSteps);
    if (feed.cursor().epoch != epoch)
      DGC_RETURN_IF_ERROR(endEpoch(epoch));
    else if (isDue && testing.runner)
      DGC_RETURN_IF_ERROR(evaluate(testing, "test", epoch));
  }
  if (progress) {
    if (epochMeans.weight() > 0) // the run ends inside an epoch
      progress->endEpoch();
    progress->finish();
  }
  progress.reset();
  return absl::OkStatus();
}

absl::Status Worker::trainStep(Scalars &scalars) {
  Cursor at = training.feed->cursor();
  TimeNs begin = clock.now();
  int64_t valid = training.next();
  DGC_RETURN_IF_ERROR(training.runner->run(static_cast<uint64_t>(state.step)));
  int64_t step = state.step++;
  state.cursor = training.feed->cursor();
  if (!first())
    return absl::OkStatus();
  scalars.read();
  epochMeans.add(scalars, static_cast<double>(valid));
  if (progress)
    progress->step({at.epoch, at.step, valid, scalars.loss().value_or(0), scalars.metrics()});
  if (jsonLog) {
    double ms = static_cast<double>(clock.now() - begin) * 1e-6;
    LogEvent event{"step"};
    event.step = step;
    event.epoch = at.epoch;
    event.loss = scalars.loss();
    event.metrics = scalars.metrics();
    event.ms = ms;
    event.samplesPerSecond = static_cast<double>(valid) / ms * 1e3;
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
  Scalars scalars(*program.runner);
  WeightedMeans means;
  TimeNs begin = clock.now();
  for (int64_t i = 0; i < feed.stepsPerEpoch(); ++i) {
    if (context.abort.raised())
      return context.abort.status();
    int64_t valid = program.next();
    DGC_RETURN_IF_ERROR(program.runner->run(static_cast<uint64_t>(state.step)));
    scalars.read();
    means.add(scalars, static_cast<double>(valid));
  }
  if (!first())
    return absl::OkStatus();
  double ms = static_cast<double>(clock.now() - begin) * 1e-6;
  print(str(split, "  ", formatMeans(means.loss(), means.metrics()), "  (", feed.samples(), " samples)"));
  LogEvent event{"evaluate"};
  event.step = state.step;
  event.epoch = epoch;
  event.loss = means.loss();
  event.metrics = means.metrics();
  event.ms = ms;
  event.samplesPerSecond = means.weight() / ms * 1e3;
  log(event);
  return absl::OkStatus();
}

absl::Status Worker::save() {
  if (options.save.empty())
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(output(saveVariables(artifact, *executor, context.transport.rank(), options, state,
                                           context.gather, realDisk()),
                             "--save"));
  print(str("saved ", artifact.plan().variables() ? artifact.plan().variables()->size() : 0, " variables to ",
            options.save));
  return absl::OkStatus();
}

absl::Status Worker::writeTrace() {
  if (!trace)
    return absl::OkStatus();
  TraceBuffer buffer(trace->timings.size());
  std::vector<TraceName> names;
  std::map<const artifact::Step *, uint32_t> index;
  for (const auto &runner : executor->programs()) {
    const artifact::Program *program =
        programOf(artifact.plan(), runner->name(), static_cast<uint32_t>(context.transport.rank()));
    for (uint32_t i = 0; program->steps() && i < program->steps()->size(); ++i) {
      const artifact::Step *step = program->steps()->Get(i);
      index[step] = static_cast<uint32_t>(names.size());
      names.push_back({step->name() ? step->name()->str() : EnumNameAction(step->action_type()),
                       std::string(runner->name()), step->location() ? step->location()->str() : ""});
    }
  }
  for (const OpTiming &timing : trace->timings)
    buffer.add({timing.begin, timing.end, static_cast<int64_t>(timing.step), index[timing.op], timing.op->queue()});
  // The trace begins where the first worker began.
  std::string first = trace->timings.empty() ? "" : std::to_string(trace->timings.front().begin);
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> begins, context.gather(first));
  TimeNs origin = std::numeric_limits<TimeNs>::max();
  for (const std::string &text : begins)
    if (!text.empty())
      origin = std::min<TimeNs>(origin, std::atoll(text.c_str()));
  int rank = context.transport.rank();
  DGC_RETURN_IF_ERROR(
      output(writeTracePart(realDisk(), options.trace, rank, formatTrace(buffer, rank, names, origin)), ""));
  // Rank 0 joins the parts when all are written.
  DGC_RETURN_IF_ERROR(context.gather("traced").status());
  if (rank != 0)
    return absl::OkStatus();
  return output(mergeTraceParts(realDisk(), options.trace, context.transport.worldSize()), "");
}

absl::Status dgc::rt::runWorker(const Artifact &artifact, const RunOptions &options, const WorkerContext &context) {
  return Worker(artifact, options, context).run();
}
