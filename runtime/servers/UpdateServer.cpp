#include "runtime/servers/UpdateServer.h"

#include "runtime/base/Status.h"
#include "runtime/base/Task.h"
#include "runtime/collective/Transport.h"
#include "runtime/servers/servers.pb.h"

#include <algorithm>

namespace dgc::rt {

UpdateServer::UpdateServer(ServingEnd end, UpdateShard &shard, Abort &abort)
    : shard(shard), abort(abort), security(end.security) {
  Acceptor::Options options;
  options.key = security.key;
  acceptor =
      std::make_unique<Acceptor>(std::move(end.listening), options,
                                 [this](Socket socket, uint32_t, const std::string &) { admit(std::move(socket)); });
}

UpdateServer::~UpdateServer() {
  isStopping = true;
  acceptor.reset();
  owners.unlock();
  for (Connection &each : connections)
    each.thread.join();
}

void UpdateServer::admit(Socket socket) {
  std::scoped_lock<std::mutex> lock(listed);
  connections.remove_if([](Connection &each) {
    if (each.isOver)
      each.thread.join();
    return each.isOver.load();
  });
  Connection &made = connections.emplace_back();
  made.thread = std::thread([this, &made, socket = std::move(socket)]() mutable {
    Task::hideThisThread();
    serve(std::move(socket));
    made.isOver = true;
  });
}

void UpdateServer::serve(Socket socket) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto stream = FrameStream::accept(std::move(socket), security, deadline, [this] { return isStopping.load(); });
  if (stream.ok())
    serve(*stream).IgnoreError(); // the worker comes again
}

absl::Status UpdateServer::serve(FrameStream &stream) {
  UpdateSession session;
  uint64_t most = 0;
  for (size_t round = 0; round < shard.rounds(); ++round)
    most = std::max(most, shard.bytesOfRound(round));
  while (true) {
    DGC_ASSIGN_OR_RETURN(const Frame frame, stream.receive(kMostHeader, most, kUnlimitedSeconds));
    servers::ToServer message;
    if (!message.ParseFromString(frame.header))
      return absl::InvalidArgumentError("no message of this dgc");
    absl::StatusOr<UpdateAnswer> answer;
    {
      std::scoped_lock<std::mutex> lock(turn);
      if (isStopping || !failure.ok())
        return absl::CancelledError("the server ends");
      answer = shard.handle(session, {message.step(), message.round(), message.valid(), frame.body, message.outputs()});
      if (!answer.ok() && !absl::IsInvalidArgument(answer.status()))
        failure = answer.status();
      changed.notify_all();
    }
    servers::FromServer reply;
    if (answer.ok())
      reply.set_staleness(answer->staleness);
    else
      reply.set_error(std::string(answer.status().message()));
    DGC_RETURN_IF_ERROR(stream.send(reply.SerializeAsString(), answer.ok() ? answer->sent : std::string()));
  }
}

absl::Status UpdateServer::await(const std::function<bool()> &holds) {
  while (!holds()) {
    DGC_RETURN_IF_ERROR(failure);
    if (abort.raised())
      return abort.status();
    changed.wait_for(owners, std::chrono::milliseconds(20)); // an abort does not notify
  }
  return failure;
}

} // namespace dgc::rt
