// The transport of a worker of asynchronous parameter servers: what its program sends to a server and receives from it goes in
// rounds (Rounds.h) over a connection to that server.
#pragma once

#include "runtime/collective/Transport.h"
#include "runtime/net/FrameStream.h"
#include "runtime/servers/Rounds.h"

#include <optional>

namespace dgc::rt {

/// Rank 0 of the plan. Runs one step at a time: begin(), the program, finish(). An update that was computed and is not
/// acknowledged by all servers stays, and can be sent again over new connections: so all servers apply the same one.
class WorkerTransport : public Transport {
public:
  static absl::StatusOr<std::unique_ptr<WorkerTransport>> create(const artifact::Plan &plan, std::string_view program,
                                                                 Abort &abort);

  /// The connections to the servers, by rank from 1 on.
  void connect(std::vector<FrameStream> streams);

  /// Before the program runs for a step of the job. Unavailable: a connection is lost.
  absl::Status begin(int64_t step, int32_t valid);
  /// Behind it: `outputs` go to the first server with the last round. Returns when all servers have applied the update; how
  /// stale it was at most.
  absl::StatusOr<int64_t> finish(std::string outputs);
  /// The step whose update is computed and not acknowledged by all servers.
  std::optional<int64_t> pending() const { return isPending ? std::optional(step) : std::nullopt; }
  /// Sends that again; as finish().
  absl::StatusOr<int64_t> sendAgain();
  /// What finish() was given.
  const std::string &lastOutputs() const { return outputs; }
  /// Why a step failed, where a server or its connection is to blame: the errors of the executor have other codes.
  const absl::Status &lost() const { return lostStatus; }

  int rank() const override { return 0; }
  int worldSize() const override { return static_cast<int>(servers.size()) + 1; }
  std::string_view name() const override { return "updates"; }
  std::span<std::byte> sharedArena() override { return {arena.get(), arenaBytes}; }
  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepare(const CollectiveDesc &desc) override;
  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareSend(uint32_t channel, int to,
                                                                  std::span<const std::byte> memory) override;
  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareReceive(uint32_t channel, int from,
                                                                     std::span<std::byte> memory) override;
  ProgressWord &progress() override { return progressWord; }
  const WaitRecord &waits() override { return waitRecord; }
  absl::Status barrier() override { return absl::OkStatus(); }
  std::unique_ptr<PreparedCollective> prepareBarrier(const std::vector<uint32_t> &group) override;
  Abort &interruption() override { return abort; }
  double timeoutSeconds() const override { return kUnlimitedSeconds; }

private:
  struct SendOp;
  struct ReceiveOp;
  struct FreeArena {
    void operator()(std::byte *memory) const { std::free(memory); }
  };
  struct Server {
    std::vector<Round> rounds;
    std::unique_ptr<FrameStream> stream;
    size_t round = 0; // of this step
    bool isSent = false;
    uint32_t sends = 0, receives = 0; // done in this round
    std::string outgoing;
    std::vector<std::string> sent; // by round
    absl::Status lost;             // why the last round is not acknowledged
    Frame answer;
    size_t taken = 0; // bytes of the answer
    int64_t staleness = 0;
  };
  explicit WorkerTransport(Abort &abort) : abort(abort) {}
  absl::Status send(int to, std::span<const std::byte> memory);
  absl::Status receive(int from, std::span<std::byte> memory);
  absl::Status sendWhereComplete(size_t index);
  absl::Status sendRound(size_t index, size_t round, std::string_view bytes);
  absl::StatusOr<int64_t> awaitAcknowledgements();
  absl::Status awaitAnswer(size_t index);
  absl::Status lose(size_t index, const absl::Status &status);

  Abort &abort;
  std::unique_ptr<std::byte, FreeArena> arena;
  size_t arenaBytes = 0;
  std::vector<Server> servers; // by rank - 1
  int64_t step = 0;
  int32_t valid = 0;
  std::string outputs;
  bool isFinishing = false, isPending = false;
  absl::Status lostStatus;
  ProgressWord progressWord;
  WaitRecord waitRecord;
};

} // namespace dgc::rt
