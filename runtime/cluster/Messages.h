// What workers and the coordinator say to each other; cluster.proto is its form
// on the wire.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/ExitCode.h"
#include "runtime/collective/Progress.h"
#include "runtime/collective/StepGate.h"

#include "absl/status/status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dgc::rt {

/// Version of this file and of how workers use shared memory, TCP and UCX.
inline constexpr uint32_t kClusterProtocol = 6;

/// Nanoseconds as seconds to a tenth, for messages.
inline double tenths(int64_t nanoseconds) {
  const int64_t tenth = nanoseconds / 100'000'000;
  return static_cast<double>(tenth) / 10;
}

/// A rank that waits for others.
struct RankWait {
  enum Kind : uint32_t { Transfer, Exchange, End }; ///< on the data plane; in a gather; for all to leave
  uint32_t rank = 0, awaited = 0;
  Kind kind = Transfer;
  Position position; ///< of a transfer
};

/// The first error of a job. What every worker prints is text().
struct JobError {
  absl::StatusCode code = absl::StatusCode::kInternal;
  ExitCode exitCode = ExitCode::PeerFailed; ///< of workers other than `rank`
  int rank = -1;                            ///< the rank at fault; -1: none
  std::optional<Position> position;         ///< where `rank` was
  std::string message;
  std::vector<RankWait> waits; ///< of a job that does not advance: who waits for whom
};

/// Something keeps the workers, or `rank`, from coming together.
JobError clusterError(int rank, std::string message);

// --- From a worker to the coordinator
// ---------------------------------------------------

struct JoinMessage {
  /// A worker that joins a job as one more: it gets its rank with RegroupMessage.
  static constexpr uint32_t kAnyRank = UINT32_MAX;

  uint32_t protocol = kClusterProtocol;
  uint32_t rank = 0, worldSize = 0;
  std::string planDigest; ///< 32 bytes
  std::string producer;
  std::string hostId;   ///< equal: the two can share memory
  std::string hostName; ///< for messages
  uint64_t pid = 0;
  std::string segment; ///< SharedSegment::announcement()
  uint32_t epoch = 0;  ///< that it joins: RegroupMessage::epoch, where it got one
};
/// All-gather of round `round`, which counts from 0.
struct GatherMessage {
  uint32_t round = 0;
  std::string data;
};
struct HeartbeatMessage {
  Position position;
  int32_t awaited = WaitRecord::kNoRank; ///< WaitRecord::awaited()
  uint64_t moved = 0;                    ///< WaitRecord::moved()
  uint64_t exposed = 0;                  ///< WorkerFigures::exposed()
  uint64_t memory = 0;   ///< bytes that it takes for what a plan plans, of its device where that has its own
  uint64_t resident = 0; ///< bytes of its process
  TimeNs sent = 0;       ///< when, by the clock of the worker
  bool watches = false;  ///< the answer is to have the reports of all workers
};
/// This worker ends because of an error of its own.
struct FailureMessage {
  JobError error;
};
struct LeaveMessage {};
/// This worker wants all of them to agree on a step before which they do something.
struct RequestMessage {
  StepEvent event;
};
/// StepGate::propose() for negotiation `number`.
struct ProposalMessage {
  uint32_t number = 0;
  int64_t step = 0;
};

using FromWorker = std::variant<JoinMessage, GatherMessage, HeartbeatMessage, FailureMessage, LeaveMessage,
                                RequestMessage, ProposalMessage>;

// --- From the coordinator to a worker
// ---------------------------------------------------

struct WaitingMessage {
  std::vector<uint32_t> missing; ///< ranks
  double seconds = 0;            ///< since the coordinator started
  std::string note;              ///< something else that a person should know; then the rest says nothing
};
struct RosterMessage {
  struct Member {
    std::string hostId, hostName;
    uint64_t pid = 0;
    std::string segment;
  };
  std::vector<Member> members; ///< by rank
  uint32_t epoch = 0;          ///< how often workers have come together anew, after a loss
  bool survives = false;       ///< whether the job may go on after a loss
  JobError lost;               ///< after which this epoch began, unless it is the first
  TimeNs sinceLoss = 0;        ///< how long ago that was, when this was sent
};
/// The job goes on after this loss, or with another worker: every worker ends what it does, and joins again on this
/// connection. What it has sent before that counts no more.
struct RegroupMessage {
  JobError lost;
  uint32_t epoch = 0;               ///< RosterMessage::epoch
  uint32_t rank = 0, worldSize = 0; ///< of the worker from now on
};
struct GatheredMessage {
  uint32_t round = 0;
  std::vector<std::string> data; ///< by rank
};
/// What the coordinator knows of a worker.
struct WorkerReport {
  bool isPresent = false;             ///< has joined, and has neither left nor been lost
  HeartbeatMessage last;              ///< but for `sent` and `watches`
  uint64_t heartbeats = 0, waits = 0; ///< how many there were, and in how many of them the worker waited for another
};
/// The answer to a heartbeat: where rank 0 is, as it may die with the
/// coordinator in it.
struct HeartbeatReply {
  Position rank0;
  TimeNs sent = 0, received = 0;     ///< HeartbeatMessage::sent, and when that came, by the clock of the coordinator
  std::vector<WorkerReport> workers; ///< by rank, for who watches
};
struct AbortMessage {
  JobError error;
};
struct AllLeftMessage {};
/// Asks for a proposal. Negotiations are numbered from 0, and follow one another.
struct ProposeMessage {
  uint32_t number = 0;
};
/// StepGate::agree() for all workers.
struct AgreedMessage {
  int64_t step = 0;
  StepEvent event;
};

/// To rank 0: a worker that is persistently slower than the others (StragglerWatch).
struct StragglerMessage {
  uint32_t rank = 0;
  std::string hostName;
  double busy = 0, median = 0; ///< shares of the time
  double seconds = 0;          ///< that they are of
  Position position;           ///< where it is most often
};

using ToWorker = std::variant<WaitingMessage, RosterMessage, GatheredMessage, HeartbeatReply, AbortMessage,
                              AllLeftMessage, ProposeMessage, AgreedMessage, StragglerMessage, RegroupMessage>;

/// "step 12, op 3 (matmul dense_1)"; `describeOp` may be empty.
std::string positionText(Position p, const std::function<std::string(uint32_t)> &describeOp);

/// "ranks 1, 3 and 7", "rank 2"; ranges are shortened beyond 16 entries.
std::string ranksText(const std::vector<uint32_t> &ranks);

/// `error` as a status with its exit code, positions and waits put into words.
absl::Status jobStatus(const JobError &error, const std::function<std::string(uint32_t)> &describeOp);

} // namespace dgc::rt
