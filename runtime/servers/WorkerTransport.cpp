#include "runtime/servers/WorkerTransport.h"

#include "runtime/base/Status.h"
#include "runtime/servers/UpdateServer.h"
#include "runtime/servers/servers.pb.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dgc::rt {
namespace {
/// How long a server may take for an answer: it works for other workers as well, and may write a checkpoint meanwhile.
constexpr double kAnswerSeconds = 600;

struct Nothing : PreparedCollective {
  absl::Status run() override { return absl::OkStatus(); }
};
} // namespace

struct WorkerTransport::SendOp : PreparedCollective {
  SendOp(WorkerTransport &owner, int to, std::span<const std::byte> memory) : owner(owner), to(to), memory(memory) {}
  absl::Status run() override { return owner.send(to, memory); }
  WorkerTransport &owner;
  int to;
  std::span<const std::byte> memory;
};

struct WorkerTransport::ReceiveOp : PreparedCollective {
  ReceiveOp(WorkerTransport &owner, int from, std::span<std::byte> memory) : owner(owner), from(from), memory(memory) {}
  absl::Status run() override { return owner.receive(from, memory); }
  WorkerTransport &owner;
  int from;
  std::span<std::byte> memory;
};

absl::StatusOr<std::unique_ptr<WorkerTransport>> WorkerTransport::create(const artifact::Plan &plan,
                                                                         std::string_view program, Abort &abort) {
  DGC_RETURN_IF_ERROR(checkAsynchronous(plan));
  std::unique_ptr<WorkerTransport> made(new WorkerTransport(abort));
  for (uint32_t rank = 1; rank < plan.world_size(); ++rank) {
    Server &server = made->servers.emplace_back();
    DGC_ASSIGN_OR_RETURN(server.rounds, roundsOfWorker(plan, program, rank));
  }
  constexpr size_t alignment = 64;
  made->arenaBytes = plan.shared_bytes();
  const size_t bytes = (std::max<size_t>(made->arenaBytes, 1) + alignment - 1) / alignment * alignment;
  made->arena.reset(static_cast<std::byte *>(std::aligned_alloc(alignment, bytes)));
  if (!made->arena)
    return absl::ResourceExhaustedError(str("cannot allocate ", bytes, " bytes for what is sent to servers"));
  std::memset(made->arena.get(), 0, bytes);
  return made;
}

void WorkerTransport::connect(std::vector<FrameStream> streams) {
  for (size_t i = 0; i < servers.size(); ++i)
    servers[i].stream = std::make_unique<FrameStream>(std::move(streams[i]));
}

absl::Status WorkerTransport::lose(size_t index, const absl::Status &status) {
  if (abort.raised())
    lostStatus = abort.status();
  else if (lostStatus.ok())
    lostStatus = annotate(status, str("server ", index));
  return lostStatus;
}

absl::Status WorkerTransport::begin(int64_t step, int32_t valid) {
  this->step = step;
  this->valid = valid;
  isFinishing = isPending = false;
  lostStatus = absl::OkStatus();
  for (size_t i = 0; i < servers.size(); ++i) {
    Server &server = servers[i];
    server.round = 0;
    server.isSent = false;
    server.sends = server.receives = 0;
    server.outgoing.clear();
    server.sent.clear();
    server.lost = absl::OkStatus();
    server.staleness = 0;
    DGC_RETURN_IF_ERROR(sendWhereComplete(i));
  }
  return absl::OkStatus();
}

absl::Status WorkerTransport::sendRound(size_t index, size_t round, std::string_view bytes) {
  servers::ToServer message;
  message.set_step(step);
  message.set_round(static_cast<uint32_t>(round));
  message.set_valid(valid);
  if (index == 0 && round + 1 == servers[index].rounds.size())
    message.set_outputs(outputs);
  waitRecord.move(bytes.size());
  return servers[index].stream->send(message.SerializeAsString(), bytes);
}

/// Sends the round that a server is at, once the program has sent all of that. The last one of the first server waits for the
/// outputs of the program. A server that is lost then is none that the program needs any more.
absl::Status WorkerTransport::sendWhereComplete(size_t index) {
  Server &server = servers[index];
  if (server.isSent || server.round == server.rounds.size() || server.sends < server.rounds[server.round].sends)
    return absl::OkStatus();
  const bool isLast = server.round + 1 == server.rounds.size();
  if (isLast && index == 0 && !isFinishing)
    return absl::OkStatus();
  const absl::Status status = sendRound(index, server.round, server.outgoing);
  server.sent.push_back(std::exchange(server.outgoing, {}));
  server.isSent = true;
  if (!status.ok() && !isLast)
    return lose(index, status);
  server.lost = status;
  return absl::OkStatus();
}

/// Waits for the answer to the round that was sent, whose transfers follow.
absl::Status WorkerTransport::awaitAnswer(size_t index) {
  Server &server = servers[index];
  const Round &round = server.rounds[server.round];
  waitRecord.awaits(static_cast<int32_t>(index + 1));
  absl::StatusOr<Frame> answer = server.stream->receive(kMostHeader, round.receivedBytes, kAnswerSeconds);
  waitRecord.awaits(WaitRecord::kNoRank);
  if (!answer.ok())
    return lose(index, answer.status());
  servers::FromServer message;
  if (!message.ParseFromString(answer->header))
    return lose(index, absl::InvalidArgumentError("no message of this dgc"));
  if (!message.error().empty())
    return lose(index, absl::InternalError(message.error()));
  const bool isLast = server.round + 1 == server.rounds.size();
  if (!isLast && answer->body.size() != round.receivedBytes)
    return lose(index, absl::InvalidArgumentError(
                           str("it has sent ", answer->body.size(), " bytes, expected are ", round.receivedBytes)));
  waitRecord.move(answer->body.size());
  server.answer = *std::move(answer);
  server.taken = 0;
  server.staleness = std::max(server.staleness, message.staleness());
  return absl::OkStatus();
}

absl::Status WorkerTransport::send(int to, std::span<const std::byte> memory) {
  const auto index = static_cast<size_t>(to - 1);
  Server &server = servers[index];
  server.outgoing.append(reinterpret_cast<const char *>(memory.data()), memory.size());
  ++server.sends;
  return sendWhereComplete(index);
}

absl::Status WorkerTransport::receive(int from, std::span<std::byte> memory) {
  const auto index = static_cast<size_t>(from - 1);
  Server &server = servers[index];
  if (server.receives == 0)
    DGC_RETURN_IF_ERROR(awaitAnswer(index));
  if (server.answer.body.size() - server.taken < memory.size())
    return lose(index, absl::InternalError("it has sent less than is received"));
  std::memcpy(memory.data(), server.answer.body.data() + server.taken, memory.size());
  server.taken += memory.size();
  if (++server.receives < server.rounds[server.round].receives)
    return absl::OkStatus();
  ++server.round;
  server.isSent = false;
  server.sends = server.receives = 0;
  return sendWhereComplete(index);
}

absl::StatusOr<int64_t> WorkerTransport::finish(std::string outputs) {
  this->outputs = std::move(outputs);
  isFinishing = isPending = true;
  DGC_RETURN_IF_ERROR(sendWhereComplete(0));
  return awaitAcknowledgements();
}

absl::StatusOr<int64_t> WorkerTransport::awaitAcknowledgements() {
  int64_t staleness = 0;
  for (size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].lost.ok())
      servers[i].lost = awaitAnswer(i);
    staleness = std::max(staleness, servers[i].staleness);
  }
  for (size_t i = 0; i < servers.size(); ++i)
    if (!servers[i].lost.ok())
      return lose(i, servers[i].lost);
  isPending = false;
  return staleness;
}

absl::StatusOr<int64_t> WorkerTransport::sendAgain() {
  lostStatus = absl::OkStatus();
  for (size_t i = 0; i < servers.size(); ++i) {
    Server &server = servers[i];
    server.lost = absl::OkStatus();
    for (size_t round = 0; round < server.rounds.size() && server.lost.ok(); ++round) {
      server.round = round;
      server.lost = sendRound(i, round, server.sent[round]);
      if (server.lost.ok() && round + 1 < server.rounds.size())
        server.lost = awaitAnswer(i);
    }
  }
  return awaitAcknowledgements();
}

absl::StatusOr<std::unique_ptr<PreparedCollective>> WorkerTransport::prepare(const CollectiveDesc &desc) {
  return absl::InvalidArgumentError(str(desc.origin, ": a worker of asynchronous parameter servers is alone"));
}

absl::StatusOr<std::unique_ptr<PreparedCollective>> WorkerTransport::prepareSend(uint32_t, int to,
                                                                                 std::span<const std::byte> memory) {
  return std::make_unique<SendOp>(*this, to, memory);
}

absl::StatusOr<std::unique_ptr<PreparedCollective>> WorkerTransport::prepareReceive(uint32_t, int from,
                                                                                    std::span<std::byte> memory) {
  return std::make_unique<ReceiveOp>(*this, from, memory);
}

std::unique_ptr<PreparedCollective> WorkerTransport::prepareBarrier(const std::vector<uint32_t> &) {
  return std::make_unique<Nothing>();
}

} // namespace dgc::rt
