// --replay: a step of a run again, from a checkpoint before it, and what an op of it works on.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/data/Npz.h"
#include "runtime/driver/WorkerRun.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

using namespace dgc;
using namespace dgc::rt;

/// Looks at the op of --dump-op while it runs.
absl::Status WorkerRun::beginDump() {
  if (options.dump.empty())
    return absl::OkStatus();
  const std::string op = describeOp(artifact.plan(), options.dumpOp);
  if (op.empty())
    return usageError(str("--dump-op ", options.dumpOp,
                          ": the plan has no op of this number; errors say the numbers of "
                          "ops, and so does dgc-inspect of the folder of a job"));
  if (options.dumpRank >= artifact.plan().world_size())
    return usageError(str("--dump-op ", options.dumpOp, "@", options.dumpRank, ": the plan has ",
                          counted(artifact.plan().world_size(), "worker"), ", from 0 on"));
  if (context.transport.rank() != static_cast<int>(options.dumpRank))
    return absl::OkStatus();
  auto reserved = OutputFile::reserve(realDisk(), options.dump);
  if (!reserved.ok())
    return withExitCode(annotate(reserved.status(), "--dump"), ExitCode::BadData);
  dumped = *std::move(reserved);
  probe = std::make_unique<OpProbe>();
  probe->step = static_cast<uint64_t>(options.replayStep);
  probe->op = options.dumpOp;
  return annotate(executor->setProbe(probe.get()), "--dump-op");
}

/// Writes what was looked at, also where the step has failed; what the op did not come to is missing.
absl::Status WorkerRun::writeDump() {
  if (!probe)
    return absl::OkStatus();
  const std::string op =
      str("op ", options.dumpOp, ", ", describeOp(artifact.plan(), options.dumpOp), ", of step ", options.replayStep);
  if (probe->values.empty())
    return withExitCode(absl::NotFoundError(str("--dump-op ", options.dumpOp, "@", options.dumpRank, ": ", op,
                                                " does not run on rank ", options.dumpRank)),
                        ExitCode::Usage);
  std::vector<NamedArray> arrays;
  std::vector<std::string> texts;
  for (const OpProbe::Value &value : probe->values) {
    // NumPy has no bf16: its bits.
    arrays.push_back({value.name, value.dtype == DType::BF16 ? DType::U16 : value.dtype, value.shape, value.bytes});
    texts.push_back(str(value.name, " ", std::string(nameOf(value.dtype)), " [", absl::StrJoin(value.shape, "x"), "]"));
  }
  DGC_RETURN_IF_ERROR(withExitCode(annotate(writeNpz(*dumped, arrays), "--dump"), ExitCode::BadData));
  if (context.print)
    context.print(str(op, " on rank ", options.dumpRank, " works on, in ", options.dump, ":\n  ",
                      absl::StrJoin(texts, "\n  "), "\n"));
  return absl::OkStatus();
}

/// Says what was run again.
void WorkerRun::endReplay(std::optional<double> loss) {
  if (options.replay.empty() || stopped)
    return;
  const int64_t first = state.step - totalSteps, last = state.step - 1;
  print(str("replayed ", totalSteps == 1 ? str("step ", last) : str("steps ", first, " to ", last),
            loss ? str("; the loss of step ", last, " is ", absl::StrFormat("%.9g", *loss)) : std::string()));
}
