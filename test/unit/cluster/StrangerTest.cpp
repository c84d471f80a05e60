// Strangers on the same machine: what they can make a job spend is bounded, and the job goes on.
#include "JobProcess.h"

#include "runtime/base/Sanitizers.h"
#include "runtime/cluster/Network.h"
#include "runtime/cluster/cluster.grpc.pb.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <filesystem>
#include <numeric>
#include <set>
#include <thread>

namespace dgc::rt {
namespace {

using ::testing::HasSubstr;
using namespace test;

/// The sockets of a process, by inode.
std::set<std::string> socketsOf(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code error;
  for (auto &entry : std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:["))
      inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

/// The TCP ports that a process listens at.
std::set<int> listeningPorts(pid_t pid) {
  const std::set<std::string> inodes = socketsOf(pid);
  std::set<int> ports;
  for (const char *table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    for (std::string slot, local, remote, state, skip, inode; std::getline(file, line);) {
      std::istringstream words(line);
      words >> slot >> local >> remote >> state >> skip >> skip >> skip >> skip >> skip >> inode;
      if (state == "0A" && inodes.contains(inode))
        ports.insert(std::stoi(local.substr(local.rfind(':') + 1), nullptr, 16));
    }
  }
  return ports;
}

int connectTo(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0)
    return fd;
  close(fd);
  return -1;
}

/// The largest memory that a process has had, in MiB.
int peakMiB(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:"))
      return std::stoi(line.substr(6)) / 1024;
  return -1;
}

/// The file at which a cluster_worker looks with `--until`: the job goes on as long as the test needs it.
struct EndOfJob {
  ~EndOfJob() { std::filesystem::remove(path); }
  void tell() const { std::ofstream(path).put('\n'); }
  const std::string path = absl::StrCat(::testing::TempDir(), "/dgc-end-of-job-", getpid(), "-", now());
};

/// Opens streams as a worker of startMembers() does, and sends as much as is taken, over several connections.
class Flood {
public:
  explicit Flood(int port) {
    DialOptions options;
    const ControlSecurity security = *securityOf({});
    options.key = security.key;
    options.protocol = security.protocol;
    for (int c = 0; c < 8; ++c) {
      options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      absl::StatusOr<Socket> socket = dial(resolveHost("127.0.0.1", port)->front(), options);
      EXPECT_TRUE(socket.ok()) << socket.status();
      if (!socket.ok())
        continue;
      auto channel = grpc::CreateInsecureChannelFromFd("coordinator", socket->release());
      for (int s = 0; s < 40; ++s)
        streams.push_back(std::make_unique<Stream>(channel));
    }
  }
  /// The messages that were taken so far.
  int sent() const {
    return std::accumulate(streams.begin(), streams.end(), 0, [](int sum, auto &s) { return sum + s->sent.load(); });
  }
  ~Flood() {
    for (auto &s : streams)
      s->cancel();
    for (auto &s : streams)
      s->await();
  }

private:
  /// Sends messages of 3 MB that nobody asked for, at most 20.
  class Stream final : public grpc::ClientBidiReactor<dgc::cluster::FromWorker, dgc::cluster::ToWorker> {
  public:
    explicit Stream(const std::shared_ptr<grpc::Channel> &channel) : stub(dgc::cluster::Coordinator::NewStub(channel)) {
      message.mutable_gather()->set_data(std::string(3 << 20, 'x'));
      context.AddMetadata("padding", std::string(3000, 'y'));
      stub->async()->Session(&context, this);
      StartWrite(&message);
      StartCall();
    }
    void OnWriteDone(bool ok) override {
      if (ok && ++sent < 20)
        StartWrite(&message);
    }
    void OnDone(const grpc::Status &) override {
      std::scoped_lock<std::mutex> lock(mutex);
      done = true;
      ended.notify_all();
    }
    void cancel() { context.TryCancel(); }
    std::atomic<int> sent = 0;

    void await() {
      std::unique_lock<std::mutex> lock(mutex);
      ended.wait(lock, [&] { return done; });
    }

  private:
    std::unique_ptr<dgc::cluster::Coordinator::Stub> stub;
    grpc::ClientContext context;
    dgc::cluster::FromWorker message;
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
  };
  std::vector<std::unique_ptr<Stream>> streams;
};

TEST(Stranger, AFloodOfStreamsDoesNotDisturbAJob) {
  if (dgc::rt::hasThreadSanitizer)
    GTEST_SKIP()
        << "each race within gRPC is looked up and suppressed, which takes longer than workers wait for another";
  // The job has no secret: with one, the handshake ends the connections of strangers.
  EndOfJob end;
  const std::vector<std::string> more = {"--steps", "1000000000", "--step-us", "500", "--until", end.path};
  std::vector<Process> workers = startMembers({{0, 2, more}, {1, 2, more}}, {});
  Process &job = workers[0];
  ASSERT_TRUE(job.printed("first step done")) << job.output();
  std::set<int> ports = listeningPorts(job.pid);
  ASSERT_EQ(ports.size(), 1u);
  const int before = peakMiB(job.pid);
  {
    Flood flood(*ports.begin());
    std::vector<int> mute; // connections that say nothing
    const double started = now();
    while (runs(job.pid) && now() < started + 30 && (now() < started + 1.5 || flood.sent() <= 8)) {
      if (mute.size() < 500)
        mute.push_back(connectTo(*ports.begin()));
      usleep(1000);
    }
    EXPECT_TRUE(runs(job.pid)) << job.output();
    EXPECT_LT(socketsOf(job.pid).size(), 200u);
    // The quota of gRPC is 304 MiB here; messages that its threads hand on come on top. Sent are some 2 GiB.
    if (!dgc::rt::hasAddressSanitizer) // which keeps what is freed
      EXPECT_LT(peakMiB(job.pid), before + 400);
    EXPECT_GT(flood.sent(), 8); // it got through the handshake
    for (int fd : mute)
      close(fd);
  }
  end.tell();
  for (Process &each : workers)
    EXPECT_EQ(each.wait(60), 0) << each.output();
  EXPECT_THAT(job.output(), HasSubstr("done over shared-memory"));
}

// Each port of each process, from the start of the job on: nothing, one byte, garbage, and the beginnings of HTTP/2 and
// of a handshake of UCX.
TEST(Stranger, APortScanEndsNothing) {
  EndOfJob end;
  Process job({"--nproc", "3", "--transport", "tcp", "--steps", "1000000000", "--step-us", "500", "--until", end.path});
  const std::string ucx = std::string("\x78\x56\x34\x12\xbe\xba\xfe\xca", 8) + std::string(64, '\xff');
  size_t connected = 0;
  std::vector<int> open;
  // Each text a few times, before, while and after the job is set up; on a loaded machine a round takes half a second.
  const double started = now();
  for (; now() < started + 30 && connected < 150 && runs(job.pid); usleep(2000)) {
    std::vector<pid_t> processes = {job.pid};
    for (auto &[rank, pid] : workersOf(job.pid))
      processes.push_back(pid);
    for (pid_t pid : processes)
      for (int port : listeningPorts(pid))
        for (const std::string &text :
             {std::string(), std::string("x"), std::string(5000, '\xee'), ucx,
              std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::string("dgc job2"), std::string("dgc jobs")}) {
          int fd = connectTo(port);
          if (fd < 0)
            continue;
          ++connected;
          (void)!send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
          open.push_back(fd);
          if (open.size() > 100) {
            close(open.front());
            open.erase(open.begin());
          }
        }
  }
  for (int fd : open)
    close(fd);
  EXPECT_TRUE(job.printed("first step done")) << job.output();
  end.tell();
  EXPECT_EQ(job.wait(60), 0) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("done over tcp"));
  EXPECT_GE(connected, 12u); // each text twice
}

TEST(Stranger, ARunningRankListensNowhere) {
  Process job({"--nproc", "3", "--transport", "tcp", "--steps", "1000000000", "--step-us", "50"});
  ASSERT_TRUE(job.printed("first step done")) << job.output();
  for (auto &[rank, pid] : workersOf(job.pid))
    EXPECT_TRUE(listeningPorts(pid).empty()) << "rank " << rank;
  EXPECT_EQ(listeningPorts(job.pid).size(), 1u) << "the coordinator's";
}

TEST(Stranger, AnotherSecretIsRefusedAlone) {
  const std::string coordinator = absl::StrCat("127.0.0.1:", freePort());
  auto start = [&](int rank, char secret) {
    return Process({"--rank", absl::StrCat(rank), "--world-size", "2", "--coordinator", coordinator},
                   {absl::StrCat("DGC_JOB_SECRET=", std::string(kLeastSecret, secret))});
  };
  Process first = start(0, 's'), wrong = start(1, 'g');
  EXPECT_EQ(wrong.wait(), static_cast<int>(ExitCode::Cluster));
  EXPECT_THAT(wrong.output(),
              HasSubstr("belongs to a job with another secret; give all workers the same --job-secret"));
  EXPECT_TRUE(first.printed("turned away: a process at 127.0.0.1:")) << first.output();
  EXPECT_THAT(first.output(), HasSubstr("has another job secret"));
  Process second = start(1, 's');
  EXPECT_EQ(second.wait(), 0) << second.output();
  EXPECT_EQ(first.wait(), 0) << first.output();
}

TEST(Stranger, SomethingElseAtTheAddressIsSaid) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), length), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length);
  Process worker(
      {"--rank", "1", "--world-size", "2", "--coordinator", absl::StrCat("127.0.0.1:", ntohs(address.sin_port))});
  int peer = accept(fd, nullptr, nullptr);
  (void)!send(peer, "220 mail.example ESMTP ready\r\n", 30, MSG_NOSIGNAL);
  EXPECT_EQ(worker.wait(), static_cast<int>(ExitCode::Cluster));
  EXPECT_THAT(worker.output(), HasSubstr("is not a dgc coordinator; check --coordinator"));
  close(peer);
  close(fd);
}

} // namespace
} // namespace dgc::rt
