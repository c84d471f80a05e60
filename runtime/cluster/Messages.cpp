// Words for what the messages say.
#include "runtime/cluster/Messages.h"

#include "absl/strings/str_cat.h"

namespace dgc::rt {

std::string positionText(Position p, const std::function<std::string(uint32_t)> &describeOp) {
  if (p.op == Position::kNoOp)
    return absl::StrCat("step ", p.step, ", between programs");
  std::string name = describeOp ? describeOp(p.op) : std::string();
  return absl::StrCat("step ", p.step, ", op ", p.op, name.empty() ? "" : absl::StrCat(" (", name, ")"));
}

std::string ranksText(const std::vector<uint32_t> &ranks) {
  constexpr size_t kMost = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < kMost; ++i) {
    if (i)
      text += i + 1 == ranks.size() ? " and " : ", ";
    absl::StrAppend(&text, ranks[i]);
  }
  if (ranks.size() > kMost)
    absl::StrAppend(&text, " and ", ranks.size() - kMost, " more");
  return text;
}

namespace {

std::string waitText(const RankWait &w, const std::function<std::string(uint32_t)> &describeOp) {
  std::string text =
      absl::StrCat("rank ", w.rank, w.kind == RankWait::End ? " is done and" : "", " waits for rank ", w.awaited);
  if (w.kind == RankWait::Exchange)
    absl::StrAppend(&text, " in an exchange over the control plane");
  if (w.kind == RankWait::Transfer)
    absl::StrAppend(&text, " at ", positionText(w.position, describeOp));
  return text;
}

} // namespace

JobError clusterError(int rank, std::string message) {
  JobError e;
  e.code = absl::StatusCode::kFailedPrecondition;
  e.exitCode = ExitCode::Cluster;
  e.rank = rank;
  e.message = std::move(message);
  return e;
}

absl::Status jobStatus(const JobError &error, const std::function<std::string(uint32_t)> &describeOp) {
  std::string text = error.message;
  if (error.position)
    absl::StrAppend(&text, " at ", positionText(*error.position, describeOp));
  for (size_t i = 0; i < error.waits.size(); ++i)
    absl::StrAppend(&text, i == 0 ? ": " : ", ", waitText(error.waits[i], describeOp));
  return withExitCode(absl::Status(error.code, text), error.exitCode);
}

} // namespace dgc::rt
