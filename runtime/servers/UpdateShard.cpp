#include "runtime/servers/UpdateShard.h"

#include "runtime/base/Status.h"

#include <algorithm>

namespace dgc::rt {

/// What a program of this server fails with is an error of this server.
static absl::Status ofServer(const absl::Status &status) {
  return absl::IsInvalidArgument(status) ? absl::InternalError(status.message()) : status;
}

absl::Status UpdateShard::apply(const Update &update) {
  DGC_RETURN_IF_ERROR(target.apply(update.step, update.valid, update.received));
  applied_.add(update.step);
  begun = std::max(begun, update.step);
  if (!update.outputs.empty())
    outputs_[update.step] = update.outputs;
  return absl::OkStatus();
}

absl::Status UpdateShard::restore(const Update &update) {
  uint64_t bytes = 0;
  for (size_t round = 0; round < target.rounds(); ++round)
    bytes += target.bytesOfRound(round);
  if (update.received.size() != bytes)
    return absl::InvalidArgumentError(
        str("the update of step ", update.step, " has ", update.received.size(), " bytes, expected are ", bytes));
  return applied_.has(update.step) ? absl::OkStatus() : apply(update);
}

absl::StatusOr<UpdateAnswer> UpdateShard::handle(UpdateSession &session, const UpdateRound &round) {
  if (round.round >= target.rounds() || round.sent.size() != target.bytesOfRound(round.round))
    return absl::InvalidArgumentError(str("round ", round.round, " of step ", round.step, " with ", round.sent.size(),
                                          " bytes is none of this plan"));
  const bool isLast = round.round + 1 == target.rounds();
  if (isLast && applied_.has(round.step))
    return UpdateAnswer(); // the acknowledgement was lost, or another worker was faster
  if (round.round == 0)
    session = {round.step, 0, {}, applied_.count()};
  else if (session.step != round.step || session.rounds != round.round)
    return absl::InvalidArgumentError(str("round ", round.round, " of step ", round.step, " comes behind round ",
                                          static_cast<int64_t>(session.rounds) - 1, " of step ", session.step));
  begun = std::max(begun, round.step);
  session.received.append(round.sent);
  ++session.rounds;
  UpdateAnswer answer;
  if (!isLast) {
    auto sent = target.answer(round.round, round.step, round.valid, session.received);
    DGC_RETURN_IF_ERROR(ofServer(sent.status()));
    answer.sent = *std::move(sent);
    return answer;
  }
  const Update update{round.step, round.valid, std::move(session.received), std::string(round.outputs)};
  answer.staleness = applied_.count() - session.seen;
  session = {};
  if (log)
    DGC_RETURN_IF_ERROR(ofServer(log->add(update)));
  DGC_RETURN_IF_ERROR(ofServer(apply(update)));
  return answer;
}

} // namespace dgc::rt
