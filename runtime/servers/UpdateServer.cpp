#include "runtime/servers/UpdateServer.h"

#include "runtime/base/Status.h"
#include "runtime/collective/Transport.h"
#include "runtime/servers/servers.pb.h"

#include <algorithm>

namespace dgc::rt {

UpdateServer::UpdateServer(ServingEnd end, UpdateShard &shard, Abort &abort) : shard(shard), abort(abort) {
  connections = std::make_unique<FrameServer>(std::move(end.listening), std::move(end.security),
                                              [this](FrameStream &stream, auto &) {
                                                serve(stream).IgnoreError(); // the worker comes again
                                              });
}

UpdateServer::~UpdateServer() {
  failure = absl::CancelledError("the server ends");
  owners.unlock();
  connections.reset();
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
      DGC_RETURN_IF_ERROR(failure);
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
