// One worker's run, in the files Worker.cpp and Train.cpp.
#pragma once

#include "runtime/base/OutputFile.h"
#include "runtime/driver/Asynchronous.h"
#include "runtime/driver/Checkpoints.h"
#include "runtime/driver/FlightWatch.h"
#include "runtime/driver/Inputs.h"
#include "runtime/driver/Kept.h"
#include "runtime/driver/NumericsWatch.h"
#include "runtime/driver/Predictions.h"
#include "runtime/driver/RunLog.h"
#include "runtime/driver/State.h"
#include "runtime/driver/Worker.h"
#include "runtime/telemetry/JobStatus.h"

#include <deque>

namespace dgc::rt {

class WorkerRun {
public:
  WorkerRun(const Artifact &artifact, RunOptions options, const WorkerContext &context)
      : artifact(artifact), options(std::move(options)), context(context) {}

  /// Runs, and says in the log how it ended.
  absl::Status run();
  RunEnd end() const { return {stopped}; }

private:
  absl::Status runAll();
  absl::Status prepare();
  absl::Status openLog();
  absl::Status reserveOutputs();
  absl::Status chooseCheckpoint();
  absl::Status enterReplicas();
  absl::Status findCopies();
  absl::Status restore();
  void keep();
  absl::Status beginReplicas();
  absl::Status takeReplicas(ReportedValues &reported);
  void sayWhatWasLost();
  absl::Status takeProgress(const std::map<std::string, std::string> &extra);
  RunProgress progressSoFar() const;
  std::string orderOfSamples() const;
  absl::Status compareOrder() const;
  absl::Status compareOptions();
  absl::StatusOr<FedProgram> bind(std::string_view program, const BindOptions &options) {
    return bindInputs(artifact.plan(), *executor->program(program), dataset ? &*dataset : nullptr, options);
  }
  std::string entryName() const;
  absl::Status runOther(const std::string &entry);
  absl::Status runCalls(const std::string &entry);
  absl::Status follow();
  absl::StatusOr<std::string> newestCheckpoint(const std::string &before);
  absl::StatusOr<bool> takeCheckpoint(const std::string &path);
  void beginFlight();
  absl::Status beginDump();
  absl::Status writeDump();
  void endReplay(std::optional<double> loss);
  absl::Status train();
  absl::Status trainSteps();
  absl::Status addHistograms();
  int64_t stepsLeft() const;
  absl::StatusOr<bool> beforeStep(ReportedValues &reported);
  absl::StatusOr<bool> afterEvaluation();
  absl::Status endCheckpoints();
  void printNews();
  bool isAsynchronous() const { return artifact.plan().asynchronous() && context.serving && options.replay.empty(); }
  absl::Status beginAsynchronous();
  void endAsynchronous();
  size_t depth() const { return asynchronous ? asynchronous->depth() : training.runner->depth(); }
  absl::Status saveCheckpoint(bool isBest);
  absl::Status submitStep();
  absl::Status collectStep(ReportedValues &reported);
  absl::Status look(const ProgramRunner &runner, int64_t number, const std::string &run);
  absl::Status askToCompare();
  absl::Status compareFindings();
  absl::Status checkLoss(std::string_view of, int64_t step, std::optional<double> loss);
  absl::StatusOr<bool> endEpoch(int64_t epoch);
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
  void log(LogEvent event);
  bool isLogged() const { return jsonLog || board || context.status; }
  /// Says to those who watch the job what it does now.
  void enter(std::string_view phase) const {
    if (context.status)
      context.status->enter(phase);
  }
  void tellFigures() const {
    if (context.figures)
      context.figures->useDevice(executor->deviceBytes());
  }
  absl::Status openBoard();
  void checkBoard(const absl::Status &status);

  const Artifact &artifact;
  RunOptions options;
  const WorkerContext &context;
  Clock &clock = realClock();
  std::unique_ptr<ServerTransport> served; // of a server of asynchronous workers: the executor's
  std::unique_ptr<Executor> executor;
  std::optional<Dataset> dataset;
  std::unique_ptr<JsonLog> jsonLog;                 // rank 0
  std::unique_ptr<TensorBoard> board;               // rank 0, while it trains; null after an error
  std::optional<OutputFile> saved, traced, fetched; // rank 0, from the beginning: no other job writes them meanwhile
  std::optional<OnnxWeights> savedModel;            // rank 0: what --save puts the weights into, where that is a model
  std::unique_ptr<Progress> progress;               // rank 0, while it trains
  std::unique_ptr<OpTrace> trace;
  std::unique_ptr<OpProbe> probe;   // on the rank of --dump-op
  std::optional<OutputFile> dumped; // there: where it goes
  FedProgram training, testing;
  std::unique_ptr<AsynchronousSteps> asynchronous; // null: the ranks compute the steps
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
  /// Where --steps and --epochs count from: where the run began that a checkpoint of --resume is of.
  struct {
    int64_t step = 0;
    Cursor cursor;
  } began;
  bool isResumed = false;
  std::string resumedOrder;              // orderOfSamples() of the run that is resumed
  Replicas *replicas = nullptr;          // in context.kept, while it trains
  std::optional<Replicas::Found> copies; // that the run goes on from, after a loss
  std::unique_ptr<Checkpoints> checkpoints;
  std::unique_ptr<FlightWatch> flight;
  bool isCheckpointRequested = false; // on rank 0: by the clock
  std::optional<StepEvent> stopped;   // what the job was stopped by
  bool hasTrainingEnded = false;      // of this run, or of the one that is followed
  /// Of the last evaluation, on rank 0.
  std::optional<double> evaluatedLoss;
  std::vector<Metric> evaluated;
  std::optional<double> bestValue; // of --keep-best
  int64_t bestStep = -1, evaluationsSinceBest = 0;
  int64_t totalSteps = 0;                  // of this run
  TimeNs epochBegan = 0, collected = 0;    // when the last step was
  bool lossIsFinite = true;                // of the step or evaluation before
  std::unique_ptr<NumericsWatch> numerics; // of a plan that checks values, until it has warned
  absl::Status lossError; // that of the loss, until it is known whether a value before it is not finite
};

} // namespace dgc::rt
