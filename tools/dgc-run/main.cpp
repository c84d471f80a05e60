// dgc-run: runs a plan. See docs/exit-codes.md for what it returns.
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/Cluster.h"
#include "runtime/cluster/Identity.h"
#include "runtime/cluster/Launcher.h"
#include "runtime/cluster/MeetingPoint.h"
#include "runtime/cluster/Signals.h"
#include "runtime/device/Plugin.h"
#include "runtime/device/cpu/ProductRate.h"
#include "runtime/driver/Kept.h"
#include "runtime/driver/Outputs.h"
#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"
#include "runtime/telemetry/JsonLog.h"
#include "runtime/telemetry/PlanSummary.h"
#include "runtime/telemetry/TaskLine.h"
#include "tools/dgc-run/Asynchronous.h"
#include "tools/dgc-run/Call.h"
#include "tools/dgc-run/Flags.h"
#include "tools/dgc-run/JobLog.h"
#include "tools/dgc-run/Plans.h"
#include "tools/dgc-run/Security.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::tool;

/// The error of the first write to standard output that failed; 0: none.
static std::atomic<int> lostOutput = 0;

/// What shows tasks that take long, if anything does: of workers with a terminal.
static std::unique_ptr<TaskLine> taskLine;

static void clearTaskLine() {
  if (taskLine)
    taskLine->clear();
}

static void toStdout(std::string_view text) {
  clearTaskLine();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    int none = 0;
    lostOutput.compare_exchange_strong(none, errno);
  }
}

static void toStderr(std::string_view text) {
  clearTaskLine();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Tells people on standard error; called by any thread.
static void notice(std::string_view line) { toStderr(str("dgc-run: ", line, "\n")); }

/// Whether standard output is a file of the run: then text for people goes to standard error.
static bool isStdoutTaken(const RunOptions &run) {
  return run.logJson == "-" || run.save == "-" || run.trace == "-" || run.fetch == "-";
}

static WorkerContext::Print printer(const RunOptions &run) { return isStdoutTaken(run) ? toStderr : toStdout; }

static int terminalOf(const RunOptions &run) { return isStdoutTaken(run) ? STDERR_FILENO : STDOUT_FILENO; }

/// Threads of each of `workers` that share this machine.
static int shareOfCores(int workers) {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / workers);
}

/// What gRPC and UCX take in a process that meets others; they abort where they do not get it. `peers` are those that
/// it starts itself, or 1.
static absl::Status checkClusterResources(int peers, int threads, uint64_t sharedBytes) {
  ResourceNeed need;
  need.files = 32 + 8 * peers;
  need.threads = 24 + threads;
  need.addressSpace = (uint64_t{768} << 20) + sharedBytes;
  return checkResources(need);
}

/// The exit code of a run that met no error.
static int exitCodeOf(const RunEnd &end) {
  if (!end.stopped)
    return 0;
  return static_cast<int>(end.stopped->signal == SIGINT ? ExitCode::Interrupted : ExitCode::Again);
}

/// Fills in where the workers of this machine meet, and the secret of the job where it has none. Rank 0 answers the
/// others as long as the result lives.
static absl::StatusOr<std::optional<MeetingPoint>> meet(Identity &identity, Credentials &credentials,
                                                        double joinTimeout) {
  if (!identity.coordinator.empty() || identity.localJob.empty())
    return std::nullopt;
  std::optional<MeetingPoint> point;
  Meeting meeting;
  if (identity.rank == 0) {
    DGC_ASSIGN_OR_RETURN(point, MeetingPoint::announce(identity.localJob));
    meeting = point->meeting();
  } else {
    DGC_ASSIGN_OR_RETURN(meeting, findMeeting(identity.localJob, joinTimeout));
  }
  identity.coordinator = meeting.coordinator;
  if (credentials.secret.empty())
    credentials.secret = meeting.secret;
  return point;
}

/// What rank 0 serves of the job; null where it is not asked for.
static absl::StatusOr<std::unique_ptr<Monitor>> startMonitor(const Flags &flags, const Artifact &artifact) {
  if (!flags.monitor.isAskedFor())
    return nullptr;
  JobFacts facts = factsOf(artifact.plan(), artifact.digestHex());
  return Monitor::start(flags.monitor, std::move(facts), notice);
}

/// The workers that compute the steps of a job: neither its servers nor a chief.
static int workersOf(const Flags &flags, const artifact::Plan &plan) {
  if (const artifact::Asynchronous *asynchronous = plan.asynchronous())
    return flags.workers.value_or(static_cast<int>(asynchronous->workers()));
  uint32_t workers = plan.groups() ? 0 : plan.world_size();
  for (uint32_t group = 0; plan.groups() && group < plan.groups()->size(); ++group)
    if (isFull(plan, static_cast<int32_t>(group)))
      workers += plan.groups()->Get(group)->rank_count();
  return static_cast<int>(workers);
}

/// What the rate of the job is compared with: that of large products on the CPU of this process, for each worker. To be called
/// in the sandbox, as it starts threads.
static void measurePeak(Monitor *monitor, const Artifact &artifact, const Flags &flags) {
  const artifact::Plan &plan = artifact.plan();
  if (monitor && !traitsOf(plan, groupOf(plan, 0)).hasOwnMemory)
    monitor->status().setPeak(measureProductRate(flags.run.threads) * workersOf(flags, plan));
}

/// Brings what the coordinator knows of the workers to those who watch.
static void watchWorkers(ClusterOptions &options, JobStatus &status) {
  options.reports = [&status](const std::vector<WorkerReport> &reports) {
    std::vector<WorkerState> workers;
    for (const WorkerReport &each : reports)
      workers.push_back({each.isPresent, static_cast<int64_t>(each.last.position.step), each.last.awaited,
                         each.last.memory, each.last.resident, each.last.exposed, each.last.moved, each.heartbeats,
                         each.waits});
    status.setWorkers(std::move(workers));
  };
  options.straggler = [&status](const StragglerMessage &named) { status.name(named.rank, named.busy, named.median); };
}

/// One worker of several: joins the others, runs, leaves.
static absl::StatusOr<int> runMember(Flags &flags, Identity identity, const Artifact &artifact, Plans &plans) {
  const artifact::Plan &plan = artifact.plan();
  const bool isOneMore = identity.rank == ClusterOptions::kNoRankYet;
  if (!isOneMore && identity.worldSize != static_cast<int>(plan.world_size()))
    return withExitCode(absl::InvalidArgumentError(str("the plan is for ", plan.world_size(), " workers, but ",
                                                       identity.source == "--rank" ? "--world-size" : identity.source,
                                                       " says ", identity.worldSize, ": compile the model for ",
                                                       identity.worldSize, " (--mesh data=", identity.worldSize,
                                                       "), or start ", plan.world_size(), " workers",
                                                       identity.worldSize == 1 && identity.source != "--rank"
                                                           ? str(", in this process with --nproc ", plan.world_size())
                                                           : "")),
                        ExitCode::Cluster);
  std::unique_ptr<Monitor> monitor; // behind all that writes into it
  if (identity.rank == 0) {
    DGC_ASSIGN_OR_RETURN(monitor, startMonitor(flags, artifact));
  }
  WorkerFigures figures;
  // Of an elastic job any worker may come to be the first.
  DGC_RETURN_IF_ERROR(sandboxFor(artifact, flags, identity.rank == 0 || flags.elastic));
  ClusterOptions options;
  DGC_ASSIGN_OR_RETURN(options.credentials, readCredentials(flags.credentials, processEnvironment()));
  DGC_ASSIGN_OR_RETURN(std::optional<MeetingPoint> meeting, meet(identity, options.credentials, flags.joinTimeout));
  const Credentials credentials = options.credentials;
  // Before the network is dropped.
  auto serve = [&] { return servingEndOf(artifact, flags, identity, credentials, notice); };
  DGC_ASSIGN_OR_RETURN(std::optional<ServingEnd> serving, serve());
  options.rank = identity.rank;
  options.worldSize = identity.worldSize;
  options.coordinator = identity.coordinator;
  options.listen = flags.listen;
  options.insecure = flags.insecure;
  using Encryption = ClusterOptions::Encryption;
  options.dataEncryption = flags.dataEncryption == "on"    ? Encryption::On
                           : flags.dataEncryption == "off" ? Encryption::Off
                                                           : Encryption::Auto;
  options.dataAddress = flags.dataAddress;
  options.joinTimeoutSeconds = flags.joinTimeout;
  options.stallTimeoutSeconds = flags.stallTimeout;
  options.stragglerFactor = flags.stragglerFactor;
  options.planDigest = plans.digest();
  options.producer = plan.producer() ? plan.producer()->str() : "";
  const auto sharedBytesOf = [&](int workers) -> absl::StatusOr<uint64_t> {
    DGC_ASSIGN_OR_RETURN(const Artifact *of, plans.of(static_cast<uint32_t>(workers)));
    return of->plan().shared_bytes() + (flags.run.replicas > 0 ? Replicas::stagingBytes(of->plan()) : 0);
  };
  options.sharedBytes = sharedBytesOf;
  if (flags.run.replicas > 0)
    options.transport.channels = Replicas::kChannel + 1;
  options.restarts = flags.maxRestarts;
  if (flags.elastic)
    options.elastic = plans.elasticSizes(flags);
  options.transportName = flags.transport;
  options.stopsAtSteps = !flags.run.checkpoint.empty();
  options.notice = notice;
  std::atomic<const artifact::Plan *> described = &plan; // of this epoch
  options.describeOp = [&](uint32_t op) { return describeOp(*described.load(), op); };
  options.figures = &figures;
  measurePeak(monitor.get(), artifact, flags);
  if (monitor)
    watchWorkers(options, monitor->status());
  if (isOneMore && !options.launched)
    toStderr(str("dgc-run: one more worker of the job at ", identity.coordinator, "\n"));
  else if (!options.launched)
    toStderr(str("dgc-run: rank ", identity.rank, " of ", identity.worldSize, ", from ", identity.source,
                 "; the workers meet at ", identity.coordinator, "\n"));
  DGC_ASSIGN_OR_RETURN(const uint64_t sharedBytes, sharedBytesOf(static_cast<int>(plan.world_size())));
  DGC_RETURN_IF_ERROR(checkClusterResources(1, flags.run.threads, plan.world_size() * sharedBytes));
  taskLine = TaskLine::onTerminal(STDERR_FILENO); // before other threads write
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<Cluster> cluster, Cluster::join(std::move(options)));
  meeting.reset();
  Kept kept;
  if (flags.elastic)
    kept.planOf = [&](uint32_t workers) -> absl::StatusOr<const artifact::Plan *> {
      DGC_ASSIGN_OR_RETURN(const Artifact *of, plans.of(workers));
      return &of->plan();
    };
  const bool maySurvive = flags.maxRestarts > 0 || flags.elastic;
  flags.ran = true;
  for (;;) { // once more after each loss of a worker that the job survives
    if (cluster->isOver()) {
      notice("the job has ended while this worker waited for more, with whom it would have had a plan");
      return 0;
    }
    const std::optional<Cluster::Loss> loss = cluster->loss(); // its op is of the plan before
    const absl::StatusOr<const Artifact *> current = plans.of(static_cast<uint32_t>(cluster->worldSize()));
    if (!current.ok())
      return cluster->fail(current.status());
    described = &(*current)->plan();
    WorkerContext context{cluster->transport(), cluster->abort(), nullptr, printer(flags.run), terminalOf(flags.run)};
    context.gather = [&](const std::string &bytes) { return cluster->gather(bytes); };
    context.gate = &cluster->gate();
    context.request = [&](StepEvent event) { cluster->request(event); };
    context.clockOffset = [&] { return cluster->clockOffset(); };
    context.figures = &figures;
    context.status = monitor ? &monitor->status() : nullptr;
    context.kept = &kept;
    context.serving = serving ? &*serving : nullptr;
    if (maySurvive)
      context.survives = [&](const absl::Status &error) { return cluster->survives(error); };
    if (loss)
      context.loss = WorkerLoss{loss->what, loss->at, loss->number};
    absl::StatusOr<RunEnd> end = catchExhaustion([&]() -> absl::StatusOr<RunEnd> {
      if (!maySurvive) // else connections to other workers may be needed later
        DGC_RETURN_IF_ERROR(dropNetwork(artifact, flags));
      return runWorker(**current, flags.run, context);
    });
    const absl::Status status = end.ok() ? cluster->leave() : end.status();
    if (status.ok())
      return exitCodeOf(*end);
    if (!cluster->survives(status))
      return end.ok() ? status : cluster->fail(status);
    if (absl::Status regrouped = cluster->regroup(); !regrouped.ok())
      return cluster->fail(std::move(regrouped));
    DGC_ASSIGN_OR_RETURN(serving, serve());
  }
}

/// The command line of a worker: this one without --nproc.
static std::vector<std::string> workerCommand(int argc, char **argv) {
  std::vector<std::string> command;
  for (int i = 0; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--nproc")
      ++i;
    else if (!argument.starts_with("--nproc="))
      command.emplace_back(argument);
  }
  return command;
}

/// Removes what killed workers have left next to the files that they were to write.
static void removeLeftoversOf(const artifact::Plan &plan, const RunOptions &run) {
  for (const std::string &path : outputFiles(plan, run, realDisk()))
    OutputFile::reserve(realDisk(), path).status().IgnoreError(); // another job may write it by now
}

static absl::StatusOr<int> launch(Flags &flags, const Artifact &artifact, const Plans &plans, int argc, char **argv) {
  if (flags.run.plan == "-")
    return usageError("a plan from standard input cannot be given to several "
                      "processes; write it to a file, or use "
                      "--transport=in-process");
  LauncherOptions options;
  options.worldSize = static_cast<int>(artifact.plan().world_size());
  options.command = workerCommand(argc, argv);
  options.planDigest = plans.digest();
  options.joinTimeoutSeconds = flags.joinTimeout;
  options.stallTimeoutSeconds = flags.stallTimeout;
  options.stragglerFactor = flags.stragglerFactor;
  options.stopsAtSteps = !flags.run.checkpoint.empty();
  options.restarts = flags.maxRestarts;
  if (flags.elastic)
    options.elastic = plans.elasticSizes(flags);
  options.restarting = [&](int rank, int number) {
    toStderr(str("dgc-run: restart ", number, " of ", flags.maxRestarts, ": ",
                 flags.elastic ? std::string("another worker is to join")
                               : str("another process takes the place of rank ", rank),
                 "\n"));
  };
  options.failed = [&](const std::string &message) { endLog(flags.run.logJson, message, notice); };
  DGC_RETURN_IF_ERROR(checkClusterResources(options.worldSize, 0, 0));
  emptyLog(flags.run.logJson);
  flags.ran = true;
  std::unique_ptr<WorkerProcesses> workers;
  if (artifact.plan().asynchronous()) {
    DGC_ASSIGN_OR_RETURN(workers,
                         WorkerProcesses::start(workersOf(flags, artifact.plan()), flags.maxRestarts, options.command));
  }
  const int code = runLauncher(options);
  if (code == 0 && workers)
    workers->wait();
  if (code != 0)
    removeLeftoversOf(artifact.plan(), flags.run);
  return code;
}

/// Whether the workers of this job share this machine, as far as one can see.
static bool isLocal(const Identity &identity) {
  return ClusterOptions::isLaunched() || !identity.localJob.empty() || identity.coordinator.starts_with("127.") ||
         identity.coordinator.starts_with("localhost:") || identity.coordinator.starts_with("[::1]");
}

/// Threads of a worker that others have started, of which several may share this machine.
static int threadsOf(const Identity &identity) {
  if (identity.cpus > 0)
    return std::min(identity.cpus, shareOfCores(1));
  return shareOfCores(isLocal(identity) ? identity.worldSize : std::max(1, identity.localWorkers));
}

/// The evaluator of TF_CONFIG has the command line of the workers: it follows the checkpoints that they save, in one process.
static absl::Status becomeEvaluator(Flags &flags) {
  rt::RunOptions &run = flags.run;
  if (run.follow.empty())
    run.follow = std::exchange(run.checkpoint, "");
  if (run.follow.empty())
    return usageError(
        "TF_CONFIG makes this process an evaluator, which follows checkpoints: say where the workers save them, with "
        "--checkpoint DIR as for these, or --follow DIR");
  run.entry = "evaluate";
  run.resume = false;
  run.epochs.reset();
  run.steps.reset();
  run.save.clear();
  run.stopAfter = 0;
  flags.transport = "in-process";
  return absl::OkStatus();
}

static absl::StatusOr<int> runPlan(Flags &flags, int argc, char **argv) {
  flags.mayReplaceLog = mayReplaceLog(flags.run, realDisk());
  DGC_ASSIGN_OR_RETURN(const Signers signers, signersOf(flags));
  DGC_ASSIGN_OR_RETURN(Plans plans, Plans::open(flags, signers));
  DGC_ASSIGN_OR_RETURN(std::optional<Identity> identity, identityOf(flags));
  DGC_ASSIGN_OR_RETURN(const uint32_t workers, plans.beginsWith(flags, identity));
  DGC_RETURN_IF_ERROR(plans.checkElastic(flags, static_cast<int>(workers)));
  DGC_ASSIGN_OR_RETURN(const Artifact *artifact, plans.of(workers));
  const absl::Status outputs = checkOutputs(artifact->plan(), flags.run, realDisk());
  flags.mayReplaceLog = outputs.ok();
  const int world = static_cast<int>(artifact->plan().world_size());
  if (flags.nproc && *flags.nproc != world)
    return usageError(str("--nproc is ", *flags.nproc, ", but the plan is for ", world,
                          " workers: compile the model with --mesh data=", *flags.nproc));
  if (flags.dryRun) {
    toStdout(summarize(artifact->plan()));
    toStdout(describeDevice(*artifact));
    return 0;
  }
  if (identity && flags.nproc && !identity->isEvaluator) {
    if (identity->worldSize > 1)
      return usageError(str("--nproc starts all workers of the job here, but ", identity->source,
                            " makes this process one of ", identity->worldSize,
                            ": leave out --nproc, or start one process"));
    identity.reset();
  }
  if (identity && identity->isEvaluator) {
    DGC_RETURN_IF_ERROR(becomeEvaluator(flags));
    identity.reset();
  }
  if (flags.transport == "in-process" && identity && identity->worldSize > 1)
    return usageError(str("--transport=in-process runs all workers as threads of "
                          "one process, but ",
                          identity->source, " makes this process one of ", identity->worldSize));
  if (identity)
    DGC_RETURN_IF_ERROR(takeRoleOf(*identity, artifact->plan(), flags));
  if (!flags.role.empty()) {
    flags.isFirst = false;
    flags.run.threads = flags.threads.value_or(shareOfCores(std::max(1, workersOf(flags, artifact->plan()))));
    DGC_RETURN_IF_ERROR(sandboxFor(*artifact, flags, /*isFirst=*/false));
    DGC_RETURN_IF_ERROR(runAsWorker(*artifact, flags, notice));
    return 0;
  }
  flags.isFirst = !identity || identity->rank == 0;
  if (flags.isFirst)
    DGC_RETURN_IF_ERROR(outputs);
  if (flags.run.replicas > 0 && (world == 1 || flags.transport == "in-process"))
    return usageError(world == 1 ? "--replicas: the plan is for one worker, so no other can have a copy"
                                 : "--replicas: with --transport=in-process all workers are lost with the process");
  if (flags.run.replicas > 0 && artifact->plan().asynchronous())
    return usageError("--replicas: the workers of the plan do not take each step together, so there is no step to have "
                      "copies of: give --checkpoint");
  if (identity && (identity->worldSize > 1 || world > 1)) {
    flags.run.threads = flags.threads.value_or(threadsOf(*identity));
    return runMember(flags, *identity, *artifact, plans);
  }
  if (world > 1 && flags.transport != "in-process")
    return launch(flags, *artifact, plans, argc, argv);
  flags.run.threads = flags.threads.value_or(shareOfCores(world));
  // What the loader, libgomp and oneDNN take, which do not all look whether they got it.
  DGC_RETURN_IF_ERROR(
      checkResources({.files = 8, .threads = world * flags.run.threads + 1, .addressSpace = uint64_t{64} << 20}));
  DGC_ASSIGN_OR_RETURN(const std::unique_ptr<Monitor> monitor, startMonitor(flags, *artifact));
  DGC_RETURN_IF_ERROR(sandboxFor(*artifact, flags, /*isFirst=*/true));
  DGC_RETURN_IF_ERROR(dropNetwork(*artifact, flags));
  measurePeak(monitor.get(), *artifact, flags);
  flags.ran = true;
  taskLine = TaskLine::onTerminal(STDERR_FILENO);
  DGC_ASSIGN_OR_RETURN(const RunEnd end, runInProcess(*artifact, flags.run, printer(flags.run), terminalOf(flags.run),
                                                      monitor ? &monitor->status() : nullptr));
  return exitCodeOf(end);
}

static int report(const absl::Status &status) {
  std::fprintf(stderr, "dgc-run: error: %s\n", std::string(status.message()).c_str());
  return static_cast<int>(exitCodeOf(status));
}

int main(int argc, char **argv) {
  removeHandlersOfLibraries();
  prepareForLimits("dgc-run");
  Flags flags;
  if (std::optional<int> code = parseFlags(argc, argv, flags))
    return *code;
  if (!flags.call.empty()) {
    absl::Status status = catchExhaustion([&] { return callProgram(flags); });
    return status.ok() ? 0 : report(status);
  }
  absl::StatusOr<int> code = catchExhaustion([&] { return runPlan(flags, argc, argv); });
  taskLine.reset();
  if (!code.ok()) {
    if (flags.isFirst && !flags.ran && flags.mayReplaceLog && !flags.run.logJson.empty())
      writeLog(flags.run.logJson, "", std::string(code.status().message()), notice);
    return report(code.status());
  }
  if (*code == 0 && lostOutput)
    return report(withExitCode(errnoStatus(lostOutput, "cannot write standard output"), ExitCode::BadData));
  return *code;
}
