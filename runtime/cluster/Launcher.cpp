// Starts local workers, passes on what they print, and sees to it that they all
// end.
#include "runtime/cluster/Launcher.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/Coordinator.h"
#include "runtime/cluster/Signals.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

/// Workers end by themselves within 0.7 s of the first error; this is for those
/// that are still being started.
constexpr TimeNs kKillAfter = 900_ms;

/// What stops a job; comes to the launcher, or to its whole process group.
constexpr int kStopping[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

/// Where one stream of a worker goes, line by line.
struct OutputPipe {
  int from = -1; ///< what the worker writes comes here
  int to = -1;
  std::string prefix;
  std::string line; ///< not complete yet

  /// Whether there is something to read, or the end.
  bool hasMore() const {
    pollfd at{from, POLLIN, 0};
    return poll(&at, 1, 0) > 0;
  }

  /// Passes on complete lines. Returns false at the end.
  bool pass() {
    char buffer[4096];
    ssize_t n = read(from, buffer, sizeof(buffer));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      return true;
    if (n <= 0) {
      if (!line.empty())
        print(line + "\n");
      line.clear();
      return false;
    }
    for (char c : std::string_view(buffer, n)) {
      line += c;
      if (c == '\n') {
        print(line);
        line.clear();
      }
    }
    return true;
  }
  void print(const std::string &text) const {
    std::string out = prefix + text;
    for (size_t done = 0; done < out.size();) {
      ssize_t n = write(to, out.data() + done, out.size() - done);
      if (n <= 0 && errno != EINTR)
        return;
      done += std::max<ssize_t>(n, 0);
    }
  }
};

struct Worker {
  pid_t pid = -1;
  int pidfd = -1;
  bool ended = false;
  bool isLost = false; ///< to be replaced once it has ended
  int code = 0, signal = 0;
  std::vector<OutputPipe> pipes;
};

/// Everything that the child of a fork needs, made before: it may only make
/// system calls.
struct ChildPlan {
  std::vector<std::string> arguments, environment;
  std::vector<char *> argv, envp;

  void seal() {
    for (std::string &s : arguments)
      argv.push_back(s.data());
    argv.push_back(nullptr);
    for (std::string &s : environment)
      envp.push_back(s.data());
    envp.push_back(nullptr);
  }
};

class Launch {
public:
  explicit Launch(const LauncherOptions &options) : options(options) {}
  ~Launch();
  int run();

private:
  absl::Status start();
  /// The worker gets its rank when it joins where `isMore`.
  absl::Status startWorker(int rank, bool isMore = false);
  void reap(int rank);
  void replaceLost();
  absl::Status replace(int rank);
  void watch();
  int outcome();
  std::string message();

  const LauncherOptions &options;
  std::string program; ///< path
  std::string secret, coordinatorAddress;
  int replaced = 0;
  std::unique_ptr<Coordinator> coordinator;
  std::vector<Worker> workers;
  std::optional<int> firstFailed; ///< the first worker to end with an error
  std::optional<TimeNs> killAt;
  sigset_t signalsBefore = {}; ///< that were blocked when the launcher began
};

absl::Status Launch::start() {
  secret = makeJobSecret();
  CoordinatorCore::Options o;
  o.worldSize = options.worldSize;
  o.planDigest = options.planDigest;
  o.joinTimeout = static_cast<TimeNs>(options.joinTimeoutSeconds * 1e9);
  o.silence = static_cast<TimeNs>(options.silenceSeconds * 1e9);
  o.stallTimeout = static_cast<TimeNs>(options.stallTimeoutSeconds * 1e9);
  o.stragglers.factor = options.stragglerFactor;
  o.exitReportGrace = 250_ms;
  o.restarts = options.restarts;
  o.elastic = options.elastic;
  // Until all workers are started this process has one thread: fork() then meets no lock that another thread holds. Who
  // connects meanwhile waits in the listening socket.
  DGC_ASSIGN_OR_RETURN(Socket listening, listenAt("127.0.0.1", 0, options.worldSize + 128));
  DGC_ASSIGN_OR_RETURN(SocketAddress address, boundAddress(listening));
  coordinatorAddress = address.text();
  // The link leads to another file in the child.
  char path[4096];
  ssize_t n = readlink(options.program.c_str(), path, sizeof(path) - 1);
  program = n > 0 ? std::string(path, n) : options.program;
  workers.resize(options.worldSize);
  for (int r = 0; r < options.worldSize; ++r)
    if (absl::Status s = startWorker(r); !s.ok())
      return s;
  auto started = Coordinator::start(std::move(o), std::move(listening), {secret, nullptr}, grpcNetwork(), realClock());
  if (!started.ok())
    return started.status();
  coordinator = std::move(*started);
  return absl::OkStatus();
}

absl::Status Launch::startWorker(int rank, bool isMore) {
  ChildPlan plan;
  plan.arguments = options.command;
  plan.arguments.insert(plan.arguments.end(), {"--coordinator", coordinatorAddress});
  if (!isMore)
    plan.arguments.insert(plan.arguments.end(),
                          {"--rank", absl::StrCat(rank), "--world-size", absl::StrCat(options.worldSize)});
  for (char **e = environ; *e; ++e)
    if (!absl::StartsWith(*e, "DGC_JOB_SECRET=") && !absl::StartsWith(*e, "DGC_LAUNCHED="))
      plan.environment.emplace_back(*e);
  // Not on the command line, which everybody can read; the environment only this user can.
  plan.environment.push_back("DGC_JOB_SECRET=" + secret);
  plan.environment.emplace_back("DGC_LAUNCHED=1");
  plan.seal();

  Worker &worker = workers[rank];
  int ends[2][2] = {{-1, -1}, {-1, -1}};
  if (rank != 0) // rank 0 has the terminal
    for (int i = 0; i < 2; ++i) {
      if (pipe2(ends[i], O_CLOEXEC) != 0)
        return errnoStatus(errno, "cannot make a pipe");
      fcntl(ends[i][0], F_SETFL, O_NONBLOCK);
      worker.pipes.push_back({ends[i][0], i == 0 ? STDOUT_FILENO : STDERR_FILENO,
                              absl::StrCat(options.elastic ? "[worker " : "[rank ", rank, "] "), ""});
    }

  const pid_t parent = getpid();
  const char *path = program.c_str();
  const bool stopsAtSteps = options.stopsAtSteps;
  pid_t pid = fork();
  if (pid == 0) {
    // System calls only: other threads of the parent may have held locks.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(127);
    for (int each : kStopping) // the launcher stops the workers
      if (each != SIGUSR1 || stopsAtSteps)
        signal(each, SIG_IGN);
    sigprocmask(SIG_SETMASK, &signalsBefore, nullptr);
    for (int i = 0; i < 2; ++i)
      if (ends[i][1] >= 0)
        dup2(ends[i][1], i == 0 ? STDOUT_FILENO : STDERR_FILENO);
    execve(path, plan.argv.data(), plan.envp.data());
    _exit(127);
  }
  for (auto &end : ends)
    if (end[1] >= 0)
      close(end[1]);
  if (pid < 0)
    return startStatus(errno, absl::StrCat("cannot start worker ", rank));
  worker.pid = pid;
  worker.pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (worker.pidfd < 0)
    return errnoStatus(errno, absl::StrCat("cannot watch worker ", rank));
  return absl::OkStatus();
}

void Launch::reap(int rank) {
  Worker &w = workers[rank];
  int status;
  if (waitpid(w.pid, &status, WNOHANG) != w.pid)
    return;
  w.ended = true;
  w.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  w.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (!w.isLost)
    coordinator->processEnded(rank, w.code, w.signal, static_cast<uint64_t>(w.pid));
  replaceLost();
  // Of an elastic job each may end while the others go on.
  if (!firstFailed && !w.isLost && w.ended && (w.code || w.signal) && (!options.elastic || coordinator->error()))
    firstFailed = rank;
}

/// Starts others in place of the workers that the coordinator has lost, once their processes have ended.
void Launch::replaceLost() {
  for (const CoordinatorCore::Lost &each : coordinator->takeLost())
    if (!options.elastic)
      workers[each.rank].isLost = true;
    else
      for (Worker &w : workers)
        w.isLost = w.isLost || static_cast<uint64_t>(w.pid) == each.pid;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    if (!workers[rank].isLost || coordinator->error())
      continue;
    if (!workers[rank].ended) // it is stopped, or hangs
      kill(workers[rank].pid, SIGKILL);
    else if (options.elastic && replaced == options.restarts)
      continue; // the others go on without
    else if (absl::Status s = replace(static_cast<int>(rank)); !s.ok())
      coordinator->fail({s.code(), ExitCode::Machine, -1, std::nullopt, std::string(s.message()), {}});
  }
}

absl::Status Launch::replace(int rank) {
  Worker &w = workers[rank];
  if (w.pidfd >= 0)
    close(w.pidfd);
  for (OutputPipe &p : w.pipes)
    if (p.from >= 0) {
      while (p.pass() && p.hasMore()) {
      }
      close(p.from);
    }
  w = Worker();
  ++replaced;
  if (options.restarting)
    options.restarting(rank, replaced);
  absl::Status started = startWorker(rank, /*isMore=*/options.elastic.has_value());
  if (started.ok())
    return started;
  if (w.pid > 0) {
    kill(w.pid, SIGKILL);
    waitpid(w.pid, nullptr, 0);
  }
  w.ended = true;
  return started;
}

void Launch::watch() {
  Clock &clock = realClock();
  for (;;) {
    std::vector<pollfd> fds;
    std::vector<int> ranks; // of the first entries
    std::vector<OutputPipe *> pipes;
    bool alive = false;
    for (size_t r = 0; r < workers.size(); ++r)
      if (!workers[r].ended) {
        fds.push_back({workers[r].pidfd, POLLIN, 0});
        ranks.push_back(static_cast<int>(r));
        alive = true;
      }
    for (Worker &w : workers)
      for (OutputPipe &p : w.pipes)
        if (p.from >= 0) {
          fds.push_back({p.from, POLLIN, 0});
          pipes.push_back(&p);
        }
    // What the dead have written is in the pipes already; a grandchild that
    // keeps one open is not waited for.
    int ready = poll(fds.data(), fds.size(), alive ? 50 : 0);
    for (size_t i = 0; i < pipes.size(); ++i)
      if (fds[ranks.size() + i].revents && !pipes[i]->pass()) {
        close(pipes[i]->from);
        pipes[i]->from = -1;
      }
    if (!alive && ready <= 0)
      return;
    for (size_t i = 0; i < ranks.size(); ++i)
      if (fds[i].revents)
        reap(ranks[i]);
    replaceLost(); // what the coordinator has not heard of for long
    if (!killAt && coordinator->error())
      killAt = clock.now() + kKillAfter;
    if (killAt && clock.now() >= *killAt)
      for (Worker &w : workers)
        if (!w.ended)
          kill(w.pid, SIGKILL);
  }
}

int Launch::outcome() {
  std::optional<JobError> error = coordinator->error();
  if (!error && !firstFailed)
    return 0;
  // A worker has reported the error, unless all of them were killed or had ended before.
  bool said =
      std::any_of(workers.begin(), workers.end(), [](const Worker &w) { return w.ended && !w.signal && w.code != 0; });
  if (!said && error)
    fprintf(stderr, "dgc-run: error: %s\n", std::string(jobStatus(*error, nullptr).message()).c_str());
  if (error && error->exitCode == ExitCode::Interrupted)
    return static_cast<int>(ExitCode::Interrupted);
  // Ranks of an elastic job are not those that its workers began with.
  int culprit = error && error->rank >= 0 && !options.elastic ? error->rank : firstFailed.value_or(-1);
  if (culprit >= 0 && !workers[culprit].signal && workers[culprit].code)
    return workers[culprit].code;
  return static_cast<int>(error ? error->exitCode : ExitCode::PeerFailed);
}

std::string Launch::message() {
  if (std::optional<JobError> error = coordinator->error())
    return std::string(jobStatus(*error, nullptr).message());
  return absl::StrCat("worker ", firstFailed.value_or(0), " ended with an error");
}

int Launch::run() {
  // A signal that comes while the workers are started waits until they can be stopped.
  sigset_t stopping;
  sigemptyset(&stopping);
  for (int signal : kStopping)
    sigaddset(&stopping, signal);
  sigprocmask(SIG_BLOCK, &stopping, &signalsBefore);
  if (absl::Status s = start(); !s.ok()) {
    fprintf(stderr, "dgc-run: error: %s\n", std::string(s.message()).c_str());
    if (options.failed)
      options.failed(std::string(s.message()));
    return static_cast<int>(ExitCode::Machine);
  }
  SignalWatcher signals(
      [this](int signal) {
        if (options.stopsAtSteps)
          coordinator->request({StepEvent::Stop, signal});
        else
          coordinator->fail(interruptionError(signal));
      },
      options.stopsAtSteps ? SignalWatcher::AlsoUser1 : SignalWatcher::Ending);
  sigprocmask(SIG_SETMASK, &signalsBefore, nullptr);
  watch();
  int code = outcome();
  if (code != 0 && options.failed)
    options.failed(message());
  return code;
}

Launch::~Launch() {
  for (Worker &w : workers) {
    if (w.pid > 0 && !w.ended) {
      kill(w.pid, SIGKILL);
      waitpid(w.pid, nullptr, 0);
    }
    if (w.pidfd >= 0)
      close(w.pidfd);
    for (OutputPipe &p : w.pipes)
      if (p.from >= 0)
        close(p.from);
  }
}

} // namespace

int runLauncher(const LauncherOptions &options) { return Launch(options).run(); }

} // namespace dgc::rt
