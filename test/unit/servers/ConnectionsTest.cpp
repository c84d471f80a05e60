// The server and the chief over real connections: what workers say, and what others do.
#include "runtime/base/ExitCode.h"
#include "runtime/servers/WorkerPool.h"
#include "runtime/servers/servers.pb.h"
#include "test/unit/servers/FakeServers.h"

#include <gtest/gtest.h>

#include <thread>

using namespace dgc::rt;
using namespace dgc::rt::test;
namespace servers = dgc::servers;

namespace {

FrameSecurity securityOf(const char *secret, bool encrypts) {
  FrameSecurity security;
  security.key = deriveKey("test", secret);
  if (encrypts)
    security.tls = *TlsIdentity::ofSecret(deriveKey("test, TLS", secret));
  return security;
}

/// A port of this machine, and a way to connect to it.
struct End {
  explicit End(FrameSecurity security) : security(std::move(security)) {
    serving.listening = *listenAt("127.0.0.1", 0, 16);
    port = boundAddress(serving.listening)->port();
    serving.security = this->security;
    serving.address = "127.0.0.1:" + std::to_string(port);
  }
  absl::StatusOr<FrameStream> connect() const { return connect(security); }
  absl::StatusOr<FrameStream> connect(const FrameSecurity &with) const {
    return FrameStream::connect({"127.0.0.1", port}, with, std::chrono::steady_clock::now() + std::chrono::seconds(10),
                                [] { return false; });
  }
  FrameSecurity security;
  ServingEnd serving;
  int port = 0;
};

std::string roundOf(int64_t step, uint32_t round) {
  servers::ToServer message;
  message.set_step(step);
  message.set_round(round);
  message.set_valid(1);
  return message.SerializeAsString();
}

servers::FromServer answerOf(FrameStream &stream, std::string *body = nullptr) {
  absl::StatusOr<Frame> frame = stream.receive(kMostHeader, 1 << 20, 10);
  EXPECT_TRUE(frame.ok()) << frame.status();
  servers::FromServer message;
  EXPECT_TRUE(frame.ok() && message.ParseFromString(frame->header));
  if (body && frame.ok())
    *body = frame->body;
  return message;
}

class Connections : public testing::TestWithParam<bool> {
protected:
  End end{securityOf("a secret of this test, long enough", GetParam())};
  CountingTarget target;
  UpdateShard shard{target, 0};
  Abort abort;
};

TEST_P(Connections, UpdatesAreAppliedWhileTheOwnerWaits) {
  UpdateServer server(std::move(end.serving), shard, abort);
  std::thread worker([&] {
    auto stream = end.connect();
    ASSERT_TRUE(stream.ok()) << stream.status();
    for (int64_t step : {1, 0}) {
      std::string body;
      ASSERT_TRUE(stream->send(roundOf(step, 0), "?").ok());
      EXPECT_EQ(answerOf(*stream, &body).error(), "");
      EXPECT_EQ(body, step == 1 ? "0" : "1");
      ASSERT_TRUE(stream->send(roundOf(step, 1), "123456789").ok());
      EXPECT_EQ(answerOf(*stream).error(), "");
    }
    // What is none of its rounds changes nothing, and the connection goes on.
    ASSERT_TRUE(stream->send(roundOf(2, 1), "123456789").ok());
    EXPECT_EQ(answerOf(*stream).error(), "round 1 of step 2 comes behind round -1 of step -1");
    ASSERT_TRUE(stream->send(roundOf(2, 0), "?").ok());
    EXPECT_EQ(answerOf(*stream).error(), "");
    ASSERT_TRUE(stream->send(roundOf(2, 1), "123456789").ok());
    EXPECT_EQ(answerOf(*stream).error(), "");
  });
  EXPECT_TRUE(server.awaitBegun(0).ok());
  EXPECT_TRUE(server.awaitApplied(0).ok());
  EXPECT_TRUE(target.times.contains(1)); // it came first
  EXPECT_TRUE(server.awaitApplied(2).ok());
  worker.join();
  EXPECT_EQ(target.order.size(), 3u);
}

TEST_P(Connections, StrangersAreTurnedAway) {
  UpdateServer server(std::move(end.serving), shard, abort);
  auto stranger = end.connect(securityOf("another secret, as long as that one", GetParam()));
  EXPECT_FALSE(stranger.ok());
  // One that has the secret, but says something else: its connection ends.
  for (const auto &[header, body] :
       {std::pair<std::string, std::string>("\xff\xff\xff", ""), {roundOf(0, 0), std::string(1000, 'x')}}) {
    auto stream = end.connect();
    ASSERT_TRUE(stream.ok()) << stream.status();
    ASSERT_TRUE(stream->send(header, body).ok());
    EXPECT_FALSE(stream->receive(kMostHeader, 1 << 20, 10).ok());
  }
  EXPECT_TRUE(target.times.empty());
}

TEST_P(Connections, AnAbortEndsTheWait) {
  UpdateServer server(std::move(end.serving), shard, abort);
  abort.raise(withExitCode(absl::AbortedError("rank 7 is lost"), ExitCode::PeerFailed));
  EXPECT_EQ(server.awaitApplied(0).message(), "rank 7 is lost");
}

/// What a worker says to the chief.
class FakeWorker {
public:
  FakeWorker(const End &end, const std::string &digest) : stream(*end.connect()) {
    servers::ToChief hello;
    hello.mutable_hello()->set_plan_digest(digest);
    hello.mutable_hello()->set_host("here");
    hello.mutable_hello()->set_pid(7);
    EXPECT_TRUE(stream.send(hello.SerializeAsString()).ok());
    welcome = hear();
  }
  void ready() {
    servers::ToChief message;
    message.mutable_ready();
    EXPECT_TRUE(stream.send(message.SerializeAsString()).ok());
  }
  void report(int64_t step, int64_t staleness, const std::string &outputs) {
    servers::ToChief message;
    message.mutable_report()->set_step(step);
    message.mutable_report()->set_staleness(staleness);
    EXPECT_TRUE(stream.send(message.SerializeAsString(), outputs).ok());
  }
  void fail(const std::string &what) {
    servers::ToChief message;
    message.mutable_failure()->set_message(what);
    message.mutable_failure()->set_exit_code(static_cast<int>(ExitCode::BadData));
    EXPECT_TRUE(stream.send(message.SerializeAsString()).ok());
  }
  servers::FromChief hear() {
    absl::StatusOr<Frame> frame = stream.receive(kMostHeader, 0, 10);
    EXPECT_TRUE(frame.ok()) << frame.status();
    servers::FromChief message;
    EXPECT_TRUE(frame.ok() && message.ParseFromString(frame->header));
    return message;
  }
  FrameStream stream;
  servers::FromChief welcome;
};

class Pool : public Connections {
protected:
  std::unique_ptr<WorkerPool> start() {
    end.serving.joinSeconds = 0.2;
    return std::make_unique<WorkerPool>(std::move(end.serving), PoolFacts{digest, {"a:1", "b:2"}, 5, "10 samples"},
                                        abort);
  }
  const std::string digest = std::string(32, 'd');
};

TEST_P(Pool, WorkersGetStepsAndReportThem) {
  auto pool = start();
  FakeWorker worker(end, digest);
  EXPECT_EQ(worker.welcome.welcome().servers_size(), 2);
  EXPECT_EQ(worker.welcome.welcome().seed(), 5u);
  EXPECT_EQ(worker.welcome.welcome().order(), "10 samples");
  worker.ready();
  pool->skip(3, "known");
  ASSERT_TRUE(pool->submit({3, 0, 3}).ok());
  ASSERT_TRUE(pool->submit({4, 1, 2}).ok());
  const servers::FromChief begin = worker.hear();
  EXPECT_EQ(begin.begin().step(), 4);
  EXPECT_EQ(begin.begin().epoch(), 1);
  EXPECT_EQ(begin.begin().epoch_step(), 2);
  worker.report(4, 6, "loss");
  EXPECT_EQ(*pool->collect(3), "known");
  EXPECT_EQ(*pool->collect(4), "loss");
  EXPECT_EQ(pool->staleness(), (std::map<int64_t, int64_t>{{6, 1}}));
  pool->finish();
  EXPECT_TRUE(worker.hear().has_end());
}

TEST_P(Pool, TheStepOfALostWorkerGoesToAnother) {
  auto pool = start();
  auto first = std::make_unique<FakeWorker>(end, digest);
  FakeWorker second(end, digest);
  first->ready();
  ASSERT_TRUE(pool->submit({0, 0, 0}).ok());
  EXPECT_EQ(first->hear().begin().step(), 0);
  second.ready();
  first.reset();
  EXPECT_EQ(second.hear().begin().step(), 0);
  second.report(0, 0, "loss");
  EXPECT_EQ(*pool->collect(0), "loss");
}

TEST_P(Pool, AnErrorOfAWorkerEndsTheJob) {
  auto pool = start();
  FakeWorker worker(end, digest);
  worker.ready();
  ASSERT_TRUE(pool->submit({0, 0, 0}).ok());
  worker.hear();
  worker.fail("label 12 is out of range");
  const absl::Status status = pool->collect(0).status();
  EXPECT_EQ(status.message(), "label 12 is out of range");
  EXPECT_EQ(exitCodeOf(status), ExitCode::BadData);
}

TEST_P(Pool, AnotherPlanIsRefused) {
  auto pool = start();
  FakeWorker worker(end, std::string(32, 'e'));
  EXPECT_EQ(worker.welcome.refusal().why(),
            "process 7 on here has another plan than the servers: give all processes the same file");
}

INSTANTIATE_TEST_SUITE_P(Plain, Connections, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, Connections, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Plain, Pool, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, Pool, testing::Values(true));

} // namespace
