// Runs an entry once for each file.
#include "runtime/driver/Calls.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

using namespace dgc;
using namespace dgc::rt;

absl::StatusOr<Calls> Calls::create(const Artifact &artifact, Executor &executor, ProgramRunner &runner,
                                    const RunOptions &options, const WorkerContext &context) {
  const std::string entry(runner.name());
  DGC_ASSIGN_OR_RETURN(CallInputs inputs,
                       CallInputs::open(realDisk(), artifact.plan(), entry, {options.feed, !options.load.empty()}));
  CallOutputs outputs(artifact, executor, runner, context.transport.rank());
  if (!options.fetch.empty() && outputs.isEmpty())
    return withExitCode(absl::InvalidArgumentError(str("program '", entry, "' has no results: leave out --fetch")),
                        ExitCode::Usage);
  return Calls(std::move(inputs), std::move(outputs), executor, runner, context);
}

absl::Status Calls::run(int64_t &step, Clock &clock, const std::function<absl::Status(size_t index)> &behind,
                        const std::function<absl::Status(const CallReport &)> &report) {
  const int64_t first = step;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (context->abort.raised())
      return context->abort.status();
    const TimeNs begin = clock.now();
    DGC_ASSIGN_OR_RETURN(valid, inputs.load(i, *executor, *runner));
    runner->setValidCount(static_cast<int32_t>(valid));
    // A call of an entry without variables is no step, but draws random numbers of its own.
    DGC_RETURN_IF_ERROR(runner->run(static_cast<uint64_t>(first) + i));
    DGC_RETURN_IF_ERROR(behind(i));
    DGC_RETURN_IF_ERROR(outputs.readReported(valid, context->gather));
    const CallReport made{
        i, step, valid, static_cast<double>(clock.now() - begin) * 1e-6, outputs.loss(), outputs.metrics()};
    step += outputs.writesVariables();
    if (context->transport.rank() == 0)
      DGC_RETURN_IF_ERROR(report(made));
  }
  return absl::OkStatus();
}
