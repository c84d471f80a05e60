#include "runtime/servers/UpdateProgram.h"

#include "runtime/base/Status.h"

namespace dgc::rt {

absl::StatusOr<std::unique_ptr<UpdateProgram>> UpdateProgram::create(const artifact::Plan &plan, ProgramRunner &runner,
                                                                     ServerTransport &transport) {
  DGC_RETURN_IF_ERROR(checkAsynchronous(plan));
  std::unique_ptr<UpdateProgram> made(new UpdateProgram(runner, transport));
  const auto rank = static_cast<uint32_t>(transport.rank());
  DGC_ASSIGN_OR_RETURN(made->exchanged, roundsOfServer(plan, runner.name(), rank));
  for (size_t round = 0; round + 1 < made->exchanged.size(); ++round) {
    DGC_ASSIGN_OR_RETURN(std::vector<uint32_t> steps, stepsOfAnswer(plan, runner.name(), rank, round));
    made->answers.push_back(std::move(steps));
  }
  return made;
}

absl::StatusOr<std::string> UpdateProgram::answer(size_t round, int64_t step, int32_t valid,
                                                  std::string_view received) {
  std::string sent;
  sent.reserve(exchanged[round].receivedBytes);
  runner.setValidCount(valid);
  transport.serve(received, &sent);
  const absl::Status status = runner.runSteps(answers[round], static_cast<uint64_t>(step));
  transport.endServing();
  DGC_RETURN_IF_ERROR(status);
  return sent;
}

absl::Status UpdateProgram::apply(int64_t step, int32_t valid, std::string_view received) {
  runner.setValidCount(valid);
  transport.serve(received, nullptr);
  const absl::Status status = runner.run(static_cast<uint64_t>(step));
  transport.endServing();
  return status;
}

} // namespace dgc::rt
