#include "runtime/servers/Rounds.h"

#include "runtime/artifact/Check.h"
#include "runtime/artifact/Describe.h"
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <optional>

namespace dgc::rt {
namespace {

/// Bytes of an arena.
struct Range {
  artifact::Space space;
  uint64_t begin, end;
  bool overlaps(const Range &other) const { return space == other.space && begin < other.end && other.begin < end; }
};

absl::StatusOr<Range> rangeOf(const artifact::Buffer &buffer) {
  DGC_ASSIGN_OR_RETURN(const uint64_t bytes, checkedBytes(buffer.shape(), buffer.dtype()));
  return Range{buffer.space(), buffer.offset(), buffer.offset() + bytes};
}

/// What a step reads and writes.
struct Touched : ActionSink<Touched> {
  Touched(const artifact::Plan &plan, const artifact::Program &program) : plan(plan), program(program) {}

  void operand(std::string_view, Role role, int64_t buffer) {
    if (buffer < 0)
      return;
    auto range = rangeOf(*program.buffers()->Get(static_cast<uint32_t>(buffer)));
    if (!range.ok()) {
      status = range.status();
      return;
    }
    if (mayRead(role))
      reads.push_back(*range);
    if (mayWrite(role))
      writes.push_back(*range);
  }

  /// The last operands of a kernel are its results, where it says how many there are.
  void call(const artifact::KernelCall &action) {
    const artifact::Kernel &kernel = *plan.kernels()->Get(action.kernel());
    const uint32_t count = action.args() ? action.args()->size() : 0;
    const uint32_t results = kernel.inplace() ? kernel.inplace()->size() : 0;
    for (uint32_t i = 0; i < count; ++i)
      operand("",
              results == 0          ? Role::Unknown
              : i < count - results ? Role::Read
                                    : Role::Written,
              action.args()->Get(i));
  }

  const artifact::Plan &plan;
  const artifact::Program &program;
  std::vector<Range> reads, writes;
  absl::Status status;
};

absl::StatusOr<Touched> touchedBy(const artifact::Plan &plan, const artifact::Program &program,
                                  const artifact::Step &step) {
  Touched touched(plan, program);
  if (const artifact::KernelCall *call = step.action_as_KernelCall())
    touched.call(*call);
  else
    describe(step, touched);
  DGC_RETURN_IF_ERROR(touched.status);
  return touched;
}

/// A transfer of a program with another rank.
struct Exchanged {
  uint32_t step, peer;
  bool isSend;
  uint64_t bytes;
};

absl::Status refuse(std::string_view name, uint32_t rank, std::string_view what) {
  return absl::InvalidArgumentError(str("asynchronous parameter servers cannot run program '", std::string(name), "': ",
                                        rank == 0 ? "the worker" : str("server ", rank - 1), " ", std::string(what)));
}

/// The transfers of a program of `rank`, in its order. Anything else that communicates is an error.
absl::StatusOr<std::vector<Exchanged>> transfersOf(const artifact::Plan &plan, std::string_view name, uint32_t rank) {
  const artifact::Program *program = programOf(plan, name, rank);
  if (!program)
    return refuse(name, rank, "has no such program");
  std::vector<Exchanged> all;
  for (uint32_t i = 0; program->steps() && i < program->steps()->size(); ++i) {
    absl::Status status = visit(*program->steps()->Get(i), [&](const auto &action) -> absl::Status {
      using Action = std::decay_t<decltype(action)>;
      if constexpr (isControl<Action>) {
        return rank == 0 ? absl::OkStatus() : refuse(name, rank, "has a loop or a branch");
      } else if constexpr (std::is_same_v<Action, artifact::Send> || std::is_same_v<Action, artifact::Receive>) {
        constexpr bool isSend = std::is_same_v<Action, artifact::Send>;
        const std::vector<uint32_t> peers = isSend ? receiversOf(plan, action, rank) : sendersOf(plan, action, rank);
        if (peers.size() != 1 || (rank != 0 && peers[0] != 0))
          return refuse(name, rank, "communicates with another server");
        DGC_ASSIGN_OR_RETURN(const Range range, rangeOf(*program->buffers()->Get(action.buffer())));
        all.push_back({i, peers[0], isSend, range.end - range.begin});
        return absl::OkStatus();
      } else if constexpr (isCommunication<Action>) {
        return refuse(name, rank, "takes part in a collective of several workers");
      } else {
        return absl::OkStatus();
      }
    });
    DGC_RETURN_IF_ERROR(status);
  }
  return all;
}

/// The rounds of the transfers with one peer. `isWorker`: they are those of the worker.
std::vector<Round> roundsOf(const std::vector<Exchanged> &transfers, uint32_t peer, bool isWorker) {
  std::vector<Round> rounds;
  for (const Exchanged &each : transfers) {
    if (each.peer != peer)
      continue;
    const bool isSent = each.isSend == isWorker;
    if (rounds.empty() || (isSent && rounds.back().receives > 0))
      rounds.emplace_back();
    Round &round = rounds.back();
    ++(isSent ? round.sends : round.receives);
    (isSent ? round.sentBytes : round.receivedBytes) += each.bytes;
  }
  return rounds;
}

bool isVariable(const artifact::Plan &plan, uint32_t rank, const Range &range) {
  const int32_t group = groupOf(plan, rank);
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
    const artifact::Variable &variable = *plan.variables()->Get(i);
    auto held = rangeOf(*plan.variable_buffers()->Get(variable.buffer()));
    if (belongs(variable.group(), group) && held.ok() && held->overlaps(range))
      return true;
  }
  return false;
}
} // namespace

absl::StatusOr<std::vector<Round>> roundsOfWorker(const artifact::Plan &plan, std::string_view name, uint32_t rank) {
  DGC_ASSIGN_OR_RETURN(const std::vector<Exchanged> transfers, transfersOf(plan, name, 0));
  return roundsOf(transfers, rank, /*isWorker=*/true);
}

absl::StatusOr<std::vector<Round>> roundsOfServer(const artifact::Plan &plan, std::string_view name, uint32_t rank) {
  DGC_ASSIGN_OR_RETURN(const std::vector<Exchanged> transfers, transfersOf(plan, name, rank));
  return roundsOf(transfers, 0, /*isWorker=*/false);
}

absl::StatusOr<std::vector<uint32_t>> stepsOfAnswer(const artifact::Plan &plan, std::string_view name, uint32_t rank,
                                                    size_t round) {
  DGC_ASSIGN_OR_RETURN(const std::vector<Exchanged> transfers, transfersOf(plan, name, rank));
  const artifact::Program &program = *programOf(plan, name, rank);
  // What is received in the rounds up to this one, and what is sent in it.
  std::vector<uint32_t> steps, sends;
  size_t at = 0;
  bool hasSent = false;
  for (const Exchanged &each : transfers) {
    if (!each.isSend && hasSent) {
      ++at;
      hasSent = false;
    }
    hasSent |= each.isSend;
    if (at > round)
      break;
    if (!each.isSend)
      steps.push_back(each.step);
    else if (at == round)
      sends.push_back(each.step);
  }
  if (sends.empty())
    return steps;
  std::vector<Range> needed;
  for (int64_t i = sends.back(); i >= 0; --i) {
    const artifact::Step &step = *program.steps()->Get(static_cast<uint32_t>(i));
    DGC_ASSIGN_OR_RETURN(const Touched touched, touchedBy(plan, program, step));
    const bool isSend = std::find(sends.begin(), sends.end(), i) != sends.end();
    const bool isReceive = std::find(steps.begin(), steps.end(), i) != steps.end();
    const bool isNeeded = isSend || isReceive ||
                          (!communicates(infoOf(step.action_type()).kind) &&
                           std::any_of(touched.writes.begin(), touched.writes.end(), [&](const Range &written) {
                             return std::any_of(needed.begin(), needed.end(),
                                                [&](const Range &range) { return range.overlaps(written); });
                           }));
    if (!isNeeded)
      continue;
    for (const Range &written : touched.writes)
      if (isVariable(plan, rank, written))
        return refuse(name, rank, "changes a variable before it sends what it computes from it");
    needed.insert(needed.end(), touched.reads.begin(), touched.reads.end());
    if (!isReceive)
      steps.push_back(static_cast<uint32_t>(i));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

absl::Status checkAsynchronous(const artifact::Plan &plan) {
  constexpr std::string_view name = "train";
  if (!plan.groups() || plan.groups()->size() < 2 || plan.groups()->Get(0)->rank_count() != 1)
    return absl::InvalidArgumentError("a plan of asynchronous parameter servers has one worker and servers");
  for (uint32_t rank = 1; rank < plan.world_size(); ++rank) {
    if (traitsOf(plan, groupOf(plan, rank)).hasOwnMemory)
      return refuse(name, rank, "is on a GPU; servers that are not with the workers in each step are on CPUs");
    DGC_ASSIGN_OR_RETURN(const std::vector<Round> worker, roundsOfWorker(plan, name, rank));
    DGC_ASSIGN_OR_RETURN(const std::vector<Round> server, roundsOfServer(plan, name, rank));
    if (worker != server)
      return refuse(name, rank, "exchanges something else than the worker does with it");
    if (server.empty() || server.back().receives > 0)
      return refuse(name, rank,
                    server.empty() ? "gets no update: use fewer servers" : "sends something behind its update");
    for (size_t round = 0; round < server.size(); ++round)
      DGC_RETURN_IF_ERROR(stepsOfAnswer(plan, name, rank, round).status());
  }
  return absl::OkStatus();
}

} // namespace dgc::rt
