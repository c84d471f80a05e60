// Who may join a job: by certificates, by a secret, or everybody; and what is said on both sides of who may not.
#include "../collective/TwoHosts.h"
#include "../net/TestAuthority.h"
#include "JobProcess.h"

#include "runtime/cluster/Credentials.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include <poll.h>
#include <sys/stat.h>

namespace dgc::rt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace test;

const std::string kSecret = "0123456789abcdef0123456789abcdef";
constexpr int kClusterCode = static_cast<int>(ExitCode::Cluster);

/// What a worker is given.
struct Given {
  std::vector<std::string> flags, environment;
};
Given with(const TlsFiles &files) {
  return {{"--tls-cert", files.certificate, "--tls-key", files.key, "--tls-ca", files.authority}, {}};
}
Given with(const std::string &secret) { return {{}, {"DGC_JOB_SECRET=" + secret}}; }

/// The workers of a job of two, started one by one.
class SecureJob : public ::testing::Test {
protected:
  Process start(int rank, const Given &given, std::vector<std::string> more = {}, const std::string &at = {}) {
    std::vector<std::string> arguments = {"--rank", absl::StrCat(rank), "--world-size",
                                          "2",      "--coordinator",    at.empty() ? coordinator : at};
    arguments.insert(arguments.end(), given.flags.begin(), given.flags.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Process(arguments, given.environment);
  }
  /// A wrong worker 1 is refused, says this, and makes worker 0 say that; the right one completes the job.
  void refuses(const Given &right, const Given &wrong, const std::string &says, const std::string &ofIt) {
    Process first = start(0, right), refused = start(1, wrong);
    EXPECT_EQ(refused.wait(), kClusterCode);
    EXPECT_THAT(refused.output(), HasSubstr("the coordinator at " + coordinator + " " + says));
    EXPECT_TRUE(first.printed(ofIt)) << first.output();
    EXPECT_THAT(first.output(), HasSubstr("turned away: a process at 127.0.0.1:"));
    Process second = start(1, right);
    EXPECT_EQ(second.wait(), 0) << second.output();
    EXPECT_EQ(first.wait(), 0) << first.output();
  }

  const std::string coordinator = absl::StrCat("127.0.0.1:", freePort());
  TestAuthority mine{"Mine"}, other{"Other"};
};

TEST_F(SecureJob, ACertificateOfAnotherAuthorityIsRefused) {
  TlsFiles worker = other.sign("worker");
  worker.authority = other.together(mine);
  refuses(with(mine.sign("rank")), with(worker), "does not accept the certificate of this process: ",
          "has a certificate of '/CN=worker', issued by '/CN=Other', which --tls-ca does not accept");
}

TEST_F(SecureJob, ACoordinatorOfAnotherAuthorityIsRefused) {
  refuses(with(mine.sign("rank")), with(other.sign("worker")),
          "has a certificate of '/CN=rank', issued by '/CN=Mine', which --tls-ca does not accept",
          "does not accept the certificate of this process: ");
}

TEST_F(SecureJob, WhoHasNoCertificateIsRefused) {
  refuses(with(mine.sign("rank")), {},
          "was started with certificates (--tls-cert), and this process without certificates and without a job secret: "
          "give all workers the same",
          "was started without certificates and without a job secret, and this process with certificates (--tls-cert)");
}

TEST_F(SecureJob, WhoHasASecretWhereCertificatesAreAskedForIsRefused) {
  refuses(with(mine.sign("rank")), with(kSecret),
          "was started with certificates (--tls-cert), and this process with a job secret",
          "was started with a job secret (--job-secret or DGC_JOB_SECRET), and this process with certificates");
}

TEST_F(SecureJob, WhoHasCertificatesIsNotMetByOneWithout) {
  refuses({}, with(mine.sign("worker")),
          "was started without certificates and without a job secret, and this process with certificates",
          "was started with certificates (--tls-cert), and this process without");
}

// Both, where both are given.
TEST_F(SecureJob, CertificatesAndASecretBothHaveToHold) {
  Given both = with(mine.sign("rank")), onlyOne = both;
  both.environment = with(kSecret).environment;
  refuses(both, onlyOne, "belongs to a job with another secret", "has another job secret");
}

TEST_F(SecureJob, ASecretMayBeInAFile) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/dgc-secret-", getpid());
  std::ofstream(path) << kSecret << "\n";
  Process first = start(0, {{"--job-secret", path}, {}}), second = start(1, with(kSecret));
  EXPECT_EQ(second.wait(), 0) << second.output();
  EXPECT_EQ(first.wait(), 0) << first.output();
  std::remove(path.c_str());
}

/// Passes on connections to an address, and keeps what goes through.
class Listener {
public:
  explicit Listener(int target) : target(target), listening(*listenAt("127.0.0.1", 0, 8)) {
    thread = std::thread([this] { run(); });
  }
  std::string stop() {
    stopping = true;
    thread.join();
    return heard;
  }
  std::string address() const { return boundAddress(listening)->text(); }

private:
  void run() {
    Socket client;
    while (!client && !stopping && usleep(1000) == 0)
      client = Socket(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    const SocketAddress to = resolveHost("127.0.0.1", target)->front();
    Socket server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    while (connect(server.fd(), to.get(), to.length) != 0 && !stopping && usleep(1000) == 0)
      server = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int ends[] = {client.fd(), server.fd()};
    while (!stopping) {
      pollfd entries[] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
      poll(entries, 2, 20);
      for (int i : {0, 1}) {
        char buffer[4096];
        if (!entries[i].revents)
          continue;
        const ssize_t n = recv(ends[i], buffer, sizeof(buffer), 0);
        if (n <= 0 || send(ends[1 - i], buffer, n, MSG_NOSIGNAL) != n)
          return;
        heard.append(buffer, n);
      }
    }
  }

  const int target;
  Socket listening;
  std::atomic<bool> stopping = false;
  std::string heard;
  std::thread thread;
};

// What is said in a job: the digest of the plan, among other things. Who listens reads it only where there is no TLS.
TEST_F(SecureJob, WhoListensHearsNothing) {
  const std::vector<std::string> more = {"--digest", "what the workers have to say"};
  for (const Given &given : {Given{}, with(kSecret), with(mine.sign("rank"))}) {
    const std::string address = absl::StrCat("127.0.0.1:", freePort());
    Listener listener(std::stoi(address.substr(address.find(':') + 1)));
    Process first = start(0, given, more, address), second = start(1, given, more, listener.address());
    EXPECT_EQ(second.wait(), 0) << second.output();
    EXPECT_EQ(first.wait(), 0) << first.output();
    const std::string heard = listener.stop();
    EXPECT_GT(heard.size(), 300u);
    const bool isOpen = given.flags.empty() && given.environment.empty();
    EXPECT_EQ(heard.find("what the workers have to say") != std::string::npos, isOpen);
    EXPECT_EQ(heard.find(kSecret), std::string::npos);
  }
}

TEST_F(SecureJob, OtherMachinesNeedOneOfThreeWays) {
  Process refused({"--rank", "0", "--world-size", "2", "--coordinator", "10.1.2.3:29400"});
  EXPECT_EQ(refused.wait(), static_cast<int>(ExitCode::Usage));
  EXPECT_THAT(refused.output(), AllOf(HasSubstr("--tls-cert, --tls-key and --tls-ca"), HasSubstr("--job-secret FILE"),
                                      HasSubstr("--insecure")));
  TwoHosts hosts;
  if (!hosts.usable)
    GTEST_SKIP() << TwoHosts::skipReason();
  for (const Given &given : {with(kSecret), with(mine.sign("rank")), Given{{"--insecure"}, {}}}) {
    std::vector<Process> workers;
    for (int r : {0, 1}) {
      std::vector<std::string> arguments = {"--rank", absl::StrCat(r), "--world-size",
                                            "2",      "--coordinator", TwoHosts::address(0) + ":29400"};
      arguments.insert(arguments.end(), given.flags.begin(), given.flags.end());
      workers.emplace_back(arguments, given.environment, [&hosts, r] { return hosts.enter(r); });
    }
    for (Process &each : workers)
      EXPECT_EQ(each.wait(), 0) << each.output();
  }
}

// The launcher gives its secret to the workers where only this user can read it.
TEST(LaunchedJob, ItsSecretIsOnNoCommandLine) {
  Process job({"--nproc", "2", "--steps", "1000000000", "--step-us", "50"}, {"DGC_JOB_SECRET=" + kSecret});
  ASSERT_TRUE(job.printed("first step done")) << job.output();
  auto read = [](pid_t pid, const char *file) {
    std::ifstream in(absl::StrCat("/proc/", pid, "/", file), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::map<int, pid_t> workers = workersOf(job.pid);
  ASSERT_EQ(workers.size(), 2u);
  for (auto &[rank, pid] : workers) {
    const std::string environment = read(pid, "environ"), name = "DGC_JOB_SECRET=";
    const size_t at = environment.find(name);
    ASSERT_NE(at, std::string::npos);
    const std::string secret = environment.substr(at + name.size(), 64);
    EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos) << secret;
    EXPECT_EQ(environment.find(kSecret), std::string::npos) << "each job has its own";
    EXPECT_THAT(read(pid, "cmdline"), Not(HasSubstr(secret)));
    EXPECT_THAT(read(job.pid, "cmdline"), Not(HasSubstr(secret)));
    struct stat status = {};
    ASSERT_EQ(stat(absl::StrCat("/proc/", pid, "/environ").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0400u);
  }
}

// What workers share has no name in any file system and is this user's alone; so nothing is left when all are killed.
TEST(LaunchedJob, WhatItSharesHasNoNameAndOneUser) {
  Process job({"--nproc", "2", "--steps", "1000000000", "--step-us", "50"});
  ASSERT_TRUE(job.printed("first step done")) << job.output();
  std::map<int, pid_t> workers = workersOf(job.pid);
  ASSERT_EQ(workers.size(), 2u);
  int segments = 0, sockets = 0;
  std::error_code error;
  for (auto &[rank, pid] : workers)
    for (auto &entry : std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
      const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
      sockets += target.starts_with("socket:");
      EXPECT_FALSE(target.starts_with("/dev/shm")) << target;
      struct stat status = {};
      if (!target.starts_with("/memfd:dgc") || stat(entry.path().c_str(), &status) != 0)
        continue;
      ++segments;
      EXPECT_EQ(status.st_mode & 0777, 0600u) << target;
      EXPECT_EQ(status.st_uid, geteuid()) << target;
    }
  EXPECT_GE(segments, 2); // one of each, at least
  EXPECT_GE(sockets, 2);
  for (auto &[rank, pid] : workers) {
    std::ifstream maps(absl::StrCat("/proc/", pid, "/maps"));
    for (std::string line; std::getline(maps, line);)
      if (const size_t at = line.find(" rw-s "); at != std::string::npos)
        EXPECT_THAT(line, HasSubstr("/memfd:dgc")) << line;
  }
  kill(job.pid, SIGKILL);
  EXPECT_EQ(job.wait(), -SIGKILL);
  for (auto &[rank, pid] : workers) {
    for (double end = now() + 30; runs(pid) && now() < end;)
      usleep(1000);
    EXPECT_FALSE(runs(pid)) << "rank " << rank;
  }
}

Environment variables(std::map<std::string, std::string> values) {
  auto kept = std::make_shared<std::map<std::string, std::string>>(std::move(values));
  return [kept](const char *name) {
    auto found = kept->find(name);
    return found == kept->end() ? nullptr : found->second.c_str();
  };
}

TEST(Credentials, FlagsAndEnvironment) {
  TestAuthority authority("Authority");
  const TlsFiles files = authority.sign("worker");
  const std::string path = absl::StrCat(::testing::TempDir(), "/dgc-secret-", getpid());
  std::ofstream(path) << "  " << std::string(40, 'f') << "\n";
  EXPECT_FALSE(readCredentials({}, variables({}))->areGiven());
  EXPECT_EQ(readCredentials({}, variables({{"DGC_JOB_SECRET", kSecret + "\n"}}))->secret, kSecret);
  EXPECT_EQ(readCredentials({{}, path}, variables({{"DGC_JOB_SECRET", kSecret}}))->secret, std::string(40, 'f'));
  EXPECT_NE(readCredentials({files, {}}, variables({}))->certificates, nullptr);
  // A worker that the launcher started has what the launcher gave it.
  const Environment launched = variables({{"DGC_JOB_SECRET", kSecret}, {"DGC_LAUNCHED", "1"}});
  EXPECT_EQ(readCredentials({files, path}, launched)->secret, kSecret);
  EXPECT_EQ(readCredentials({files, path}, launched)->certificates, nullptr);
  auto error = [](const CredentialFiles &wrong, const Environment &environment) {
    absl::Status status = readCredentials(wrong, environment).status();
    EXPECT_EQ(exitCodeOf(status), ExitCode::Usage);
    return std::string(status.message());
  };
  EXPECT_EQ(error({{files.certificate, "", ""}, {}}, variables({})),
            "--tls-cert without --tls-key and --tls-ca: --tls-cert, --tls-key and --tls-ca go together");
  EXPECT_THAT(error({{}, path + "-not"}, variables({})), HasSubstr("No such file"));
  EXPECT_EQ(error({}, variables({{"DGC_JOB_SECRET", "guess"}})),
            "DGC_JOB_SECRET: a job's secret has 32 characters at least, this one 5; openssl rand -hex 32 makes one");
  std::remove(path.c_str());
}

} // namespace
} // namespace dgc::rt
