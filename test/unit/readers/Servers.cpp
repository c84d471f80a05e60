// Asynchronous parameter servers: rounds of updates, their logs, frames.
#include "runtime/base/Sha256.h"
#include "runtime/net/FrameStream.h"
#include "runtime/servers/UpdateShard.h"
#include "runtime/servers/servers.pb.h"
#include "test/unit/readers/Reader.h"
#include "test/unit/servers/FakeServers.h"

#include <array>
#include <cstring>
#include <sys/socket.h>

namespace dgc::rt::test {
namespace {

const UpdateLogPlace place{"logs", 1, "a run"};

std::string logPath() { return "logs/updates-00001-000000000-0000.log"; }

/// No step is applied twice.
void checkOnce(const CountingTarget &target) {
  for (const auto &[step, times] : target.times)
    require(times == 1, "a step is applied once");
}

/// Rounds of three workers, whose connections begin anew; at the end the server comes back from its log.
bool readUpdates(std::span<const uint8_t> bytes) {
  Input input(bytes);
  FakeDisk disk;
  CountingTarget target;
  UpdateShard shard(target, 0);
  auto log = UpdateLog::begin(disk, place, 0);
  require(log.ok(), "a log begins");
  shard.setLog(*std::move(log));
  std::array<UpdateSession, 3> sessions;
  bool isRead = false;
  while (!input.isAtEnd()) {
    const uint8_t event = input.byte();
    UpdateSession &session = sessions[event % sessions.size()];
    if (event >= 0xf0)
      session = {};
    servers::ToServer message;
    if (!message.ParseFromString(std::string(input.string())))
      continue;
    const std::string_view sent = input.string();
    const auto answer =
        shard.handle(session, {message.step(), message.round(), message.valid(), sent, message.outputs()});
    require(answer.ok() || absl::IsInvalidArgument(answer.status()),
            "no message of a worker is an error of the server");
    isRead |= answer.ok() && message.round() == 1;
  }
  checkOnce(target);
  CountingTarget restored;
  UpdateShard again(restored, 0);
  const auto replayed = replayUpdates(disk, place, 0, [&](const Update &update) { return again.restore(update); });
  require(replayed.ok() && restored.order == target.order, "a log gives what the server held");
  return isRead;
}

/// Makes the digests of the records that are whole those of their bytes.
void seal(std::string &log) {
  constexpr size_t head = 16;
  uint64_t length = 0;
  for (size_t at = 0; log.size() - at >= head; at += head + length) {
    std::memcpy(&length, log.data() + at, sizeof length);
    if (length > log.size() - at - head)
      return;
    Sha256 digest;
    digest.add(std::string_view(log).substr(at + head, length));
    const auto whole = digest.finish();
    std::memcpy(log.data() + at + 8, whole.data(), 8);
  }
}

bool readLog(std::span<const uint8_t> bytes) {
  FakeDisk disk;
  std::string log(textOf(bytes));
  seal(log);
  disk.put(logPath(), log);
  CountingTarget target;
  UpdateShard shard(target, 0);
  const auto replayed = replayUpdates(disk, place, 0, [&](const Update &update) { return shard.restore(update); });
  checkOnce(target);
  return replayed.ok() && !target.order.empty();
}

/// A connection on which all of the bytes come, and then it ends.
bool readFrames(std::span<const uint8_t> bytes) {
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0, "there are sockets");
  Socket sender(ends[0]);
  auto stream = FrameStream::accept(Socket(ends[1]), {}, {}, [] { return false; });
  require(stream.ok(), "a connection that is not encrypted says nothing first");
  const ssize_t sent = send(sender.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  sender = Socket();
  if (sent != static_cast<ssize_t>(bytes.size()))
    return false;
  bool isRead = false;
  while (true) {
    const auto frame = stream->receive(uint64_t{1} << 16, 1024, 1);
    if (!frame.ok())
      return isRead;
    servers::ToChief toChief;
    servers::FromChief fromChief;
    servers::Recovered recovered;
    isRead |= toChief.ParseFromString(frame->header) && toChief.kind_case() != servers::ToChief::KIND_NOT_SET;
    fromChief.ParseFromString(frame->header);
    recovered.ParseFromString(frame->body);
  }
}

const RegisteredReader updates("updates", readUpdates), log("update_log", readLog), frames("frames", readFrames);

} // namespace
} // namespace dgc::rt::test
