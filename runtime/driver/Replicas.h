// --replicas: what a job has at a step, in the memory of its workers, each share with two of them.
//
// Before a step each worker copies its share of the variables (Shares.h), and gets that of the rank before it. There is room for
// two steps, so that a copy is whole while the next one is made. When a worker is lost the others say which copies they
// have; all take the newest step of which every share is there, and give each other what they need.
#pragma once

#include "runtime/driver/Checkpoints.h"
#include "runtime/driver/Gather.h"
#include "runtime/driver/Shares.h"

#include <array>
#include <map>
#include <optional>

namespace dgc::rt {

class Replicas {
public:
  /// Bytes that a worker needs in its shared arena, behind those of the plan, for the copies that it sends.
  static uint64_t stagingBytes(const artifact::Plan &plan);
  /// The channel that they are sent on; those of plans are below it.
  static constexpr uint32_t kChannel = 256;

  Replicas(const artifact::Plan &plan, uint32_t rank);

  /// The workers have connected, for the first time or anew. Both outlive this epoch.
  absl::Status attach(Executor &executor, Transport &transport);

  /// Neither is of use any more.
  void detach();

  /// Whether the variables are to be copied before this step, where that is every so many steps. All workers do so before
  /// the first step after attach().
  bool isDue(int64_t step, int64_t every) const { return last != step && (last < 0 || step % every == 0); }

  /// Copies the variables as they are now, no step being under way. Every rank calls it before the same step.
  absl::Status take(const RunProgress &progress);

  /// Which copies there are, of which step.
  struct Found {
    std::vector<uint32_t> holders; // by rank: who has the share
    RunProgress progress;
  };
  /// The newest step of which all shares are there; none where there is no such step. Every rank calls it.
  absl::StatusOr<std::optional<Found>> find(const GatherBytes &gather);
  /// Gives the variables of this worker the values that they had there. Every rank calls it, after attach().
  absl::Status restore(const Found &found);
  /// The copies are of no use any more.
  void forget();

private:
  /// A share, as it is sent: Header, text, variables.
  struct Header {
    int64_t step = -1; // -1: not whole
    uint64_t textBytes = 0;
  };
  struct Slot {
    std::vector<std::byte> own, other; // messages of this rank and of the one before it
  };
  uint32_t before(uint32_t of) const { return (of + world - 1) % world; }
  uint32_t behind(uint32_t of) const { return (of + 1) % world; }
  size_t messageBytes(uint32_t of) const { return sizeof(Header) + textCapacity + shareBytes[of]; }
  size_t variablesAt() const { return sizeof(Header) + textCapacity; }
  absl::Status fill(std::span<std::byte> message, const RunProgress &progress) const;
  absl::Status give(uint32_t of, const Found &found);
  absl::Status unpackShare(uint32_t of, const std::byte *variables);
  std::string holdings() const;

  const artifact::Plan &plan;
  const uint32_t rank, world;
  const Shares shares;
  std::vector<uint64_t> shareBytes; // by rank
  size_t textCapacity;
  /// Who needs the share of a rank: those that hold a block of it.
  std::vector<std::vector<uint32_t>> needs;
  std::array<Slot, 2> slots;
  size_t current = 0; // the slot that was written last

  // Of this epoch.
  Executor *executor = nullptr;
  Transport *transport = nullptr;
  std::map<std::pair<uint32_t, uint32_t>, VariableView> views; // by variable and part
  std::vector<VariableView> share;
  std::unique_ptr<PreparedCollective> send;
  std::array<std::unique_ptr<PreparedCollective>, 2> receives; // by slot
  int64_t last = -1;                                           // step that was copied in this epoch
};

} // namespace dgc::rt
