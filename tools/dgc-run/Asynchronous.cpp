#include "tools/dgc-run/Asynchronous.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/driver/PoolWorker.h"
#include "runtime/net/Address.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// What dgc-run tells the processes that it starts: where the chief listens for workers, and the secret of these.
constexpr const char *kAddressVariable = "DGC_WORKERS_AT", *kSecretVariable = "DGC_WORKERS_SECRET";
/// A chief that dgc-run has started waits so long for workers that it has started as well.
constexpr double kLocalJoinSeconds = 30;

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Where the chief listens for workers: what dgc-run has chosen, or the port behind that of the coordinator.
absl::StatusOr<Address> chiefAddress(const std::string &coordinator) {
  if (const std::string chosen = variable(kAddressVariable); !chosen.empty())
    return parseAddress(chosen, kAddressVariable);
  if (coordinator.empty())
    return usageError("the workers of asynchronous parameter servers have to know where the job meets: give all "
                      "processes --coordinator HOST:PORT; the chief, rank 0, listens for them at the port behind that");
  DGC_ASSIGN_OR_RETURN(Address address, parseAddress(coordinator, "--coordinator"));
  ++address.port;
  return address;
}

absl::StatusOr<FrameSecurity> securityFor(const tool::Flags &flags, const Credentials &credentials,
                                          const Address &chief) {
  FrameSecurity security;
  const std::string local = variable(kSecretVariable);
  const std::string &secret = local.empty() ? credentials.secret : local;
  security.key = deriveKey("asynchronous updates", secret);
  if (local.empty())
    DGC_RETURN_IF_ERROR(checkExposure(chief, "--coordinator", credentials.areGiven() || flags.insecure));
  // Certificates alone are shown in TLS.
  const bool isWanted = flags.dataEncryption == "on" || (credentials.certificates && secret.empty()) ||
                        (flags.dataEncryption == "auto" && !isLoopback(chief.host) && credentials.areGiven());
  if (!isWanted)
    return security;
  if (credentials.certificates) {
    security.tls = credentials.certificates;
  } else if (!secret.empty()) {
    DGC_ASSIGN_OR_RETURN(security.tls, TlsIdentity::ofSecret(deriveKey("asynchronous updates, TLS", secret)));
  } else {
    return usageError("--data-encryption=on needs certificates or a secret of the job: --tls-cert, --tls-key and "
                      "--tls-ca, or --job-secret");
  }
  return security;
}

/// Starts a worker; in the process that watches over them.
pid_t startWorker(const std::vector<std::string> &command) {
  const pid_t parent = getpid(), pid = fork();
  if (pid != 0)
    return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(127);
  std::vector<char *> arguments;
  for (const std::string &each : command)
    arguments.push_back(const_cast<char *>(each.c_str()));
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

std::string describeEnd(int status) {
  return WIFSIGNALED(status) ? str("was killed by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")")
                             : str("ended with code ", WEXITSTATUS(status));
}

/// Until all workers have ended. The other processes of the job stop them, not signals to the group.
[[noreturn]] void superviseWorkers(int workers, int restarts, const std::vector<std::string> &command) {
  for (int each : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    std::signal(each, SIG_IGN);
  int alive = 0;
  for (int i = 0; i < workers; ++i)
    alive += startWorker(command) > 0;
  while (alive > 0) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0)
      continue;
    --alive;
    if (status == 0)
      continue;
    const bool isStartedAgain = restarts > 0 && WIFSIGNALED(status);
    std::fprintf(stderr, "dgc-run: worker %d %s; %s\n", static_cast<int>(pid), describeEnd(status).c_str(),
                 isStartedAgain ? "another one is started"
                 : alive > 0    ? "the others go on"
                                : "no worker is left");
    if (!isStartedAgain)
      continue;
    --restarts;
    alive += startWorker(command) > 0;
  }
  _exit(0);
}
} // namespace

absl::Status dgc::tool::takeRoleOf(Identity &identity, const artifact::Plan &plan, Flags &flags) {
  if (!plan.asynchronous() || identity.source != "TF_CONFIG" || identity.isEvaluator)
    return absl::OkStatus();
  if (identity.chiefs != 1 || identity.servers + 1 != static_cast<int>(plan.world_size()))
    return usageError(str("TF_CONFIG lists ", identity.chiefs, " chiefs and ", identity.servers,
                          " parameter servers, but the plan has one chief and ", plan.world_size() - 1,
                          " servers, which serve any number of workers"));
  const int firstServer = identity.worldSize - identity.servers;
  identity.worldSize = static_cast<int>(plan.world_size());
  if (identity.rank >= firstServer)
    identity.rank += 1 - firstServer;
  else if (identity.rank > 0)
    flags.role = "worker";
  flags.coordinator = identity.coordinator;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<ServingEnd>> dgc::tool::servingEndOf(const Artifact &artifact, const Flags &flags,
                                                                  const Identity &identity,
                                                                  const Credentials &credentials, Notice notice) {
  if (!artifact.plan().asynchronous())
    return std::nullopt;
  DGC_ASSIGN_OR_RETURN(const Address chief, chiefAddress(identity.coordinator));
  ServingEnd end;
  DGC_ASSIGN_OR_RETURN(end.security, securityFor(flags, credentials, chief));
  end.notice = std::move(notice);
  const bool isLocal = !variable(kAddressVariable).empty();
  end.joinSeconds = isLocal ? std::min(kLocalJoinSeconds, flags.joinTimeout) : flags.joinTimeout;
  Address own = chief;
  if (identity.rank == 0 && !flags.listen.empty()) {
    DGC_ASSIGN_OR_RETURN(own, parseAddress(flags.listen, "--listen", 0));
    own.port = chief.port;
  } else if (identity.rank != 0) {
    own = {isLoopback(chief.host) ? chief.host : sourceAddressTowards(chief.host), 0};
    if (!flags.dataAddress.empty()) {
      DGC_ASSIGN_OR_RETURN(own, parseAddress(flags.dataAddress, "--data-address", 0));
    }
  }
  constexpr int backlog = 256;
  auto listening = listenAt(own.host, own.port, backlog);
  if (!listening.ok())
    return withExitCode(annotate(listening.status(), "for workers"), ExitCode::Cluster);
  DGC_ASSIGN_OR_RETURN(const SocketAddress bound, boundAddress(*listening));
  end.listening = *std::move(listening);
  end.address = identity.rank == 0 ? chief.text() : Address{own.host, bound.port()}.text();
  return end;
}

absl::Status dgc::tool::runAsWorker(const Artifact &artifact, const Flags &flags, Notice notice) {
  if (!artifact.plan().asynchronous())
    return usageError("--role worker: the plan has no asynchronous parameter servers; compile it with --strategy "
                      "async-parameter-server=P, or give each process its --rank");
  DGC_ASSIGN_OR_RETURN(const Address chief, chiefAddress(flags.coordinator.value_or("")));
  DGC_ASSIGN_OR_RETURN(const Credentials credentials, readCredentials(flags.credentials, processEnvironment()));
  PoolWorkerOptions options;
  DGC_ASSIGN_OR_RETURN(options.security, securityFor(flags, credentials, chief));
  options.chief = chief;
  options.joinSeconds = flags.joinTimeout;
  options.notice = std::move(notice);
  return runPoolWorker(artifact, flags.run, options);
}

absl::StatusOr<std::unique_ptr<tool::WorkerProcesses>>
dgc::tool::WorkerProcesses::start(int workers, int maxRestarts, std::vector<std::string> command) {
  {
    DGC_ASSIGN_OR_RETURN(const Socket free, listenAt("127.0.0.1", 0, 1));
    DGC_ASSIGN_OR_RETURN(const SocketAddress address, boundAddress(free));
    ::setenv(kAddressVariable, address.text().c_str(), 1);
  }
  ::setenv(kSecretVariable, makeJobSecret().c_str(), 1);
  command.insert(command.end(), {"--role", "worker"});
  std::fflush(nullptr);
  const pid_t parent = getpid(), pid = fork();
  if (pid < 0)
    return errnoStatus(errno, "cannot start workers");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(127);
    superviseWorkers(workers, maxRestarts, command);
  }
  return std::unique_ptr<WorkerProcesses>(new WorkerProcesses(pid));
}

void dgc::tool::WorkerProcesses::wait() {
  for (int i = 0; supervisor > 0 && i < 500; ++i) {
    if (waitpid(supervisor, nullptr, WNOHANG) == supervisor)
      supervisor = -1;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

dgc::tool::WorkerProcesses::~WorkerProcesses() {
  if (supervisor <= 0)
    return;
  kill(supervisor, SIGKILL); // and with it the workers
  waitpid(supervisor, nullptr, 0);
}
