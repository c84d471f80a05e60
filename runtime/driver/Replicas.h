// --replicas: what a job has at a step, in the memory of its workers, each share with two of them.
//
// Before a step each worker copies its share of the variables (Shares.h), and gets that of the rank before it. There is room for
// two steps, so that a copy is whole while the next one is made. When a worker is lost the others say which copies they
// have; all take the newest step of which every share is there, and give each other what they need.
//
// Where the number of workers changes, copies begin a generation. Those of the one before stay until there is a whole copy of
// the new one, and are cut anew when the job goes on from them.
#pragma once

#include "runtime/driver/Checkpoints.h"
#include "runtime/driver/Gather.h"
#include "runtime/driver/Holdings.h"
#include "runtime/driver/Shares.h"

#include <array>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>

namespace dgc::rt {

class Replicas {
public:
  /// The plan of the job for a number of workers; it lives as long as this.
  using PlanOf = std::function<absl::StatusOr<const artifact::Plan *>(uint32_t workers)>;

  /// Bytes that a worker needs in its shared arena, behind those of the plan, for the copies that it sends.
  static uint64_t stagingBytes(const artifact::Plan &plan);
  /// The channel that they are sent on; those of plans are below it.
  static constexpr uint32_t kChannel = 256;

  explicit Replicas(PlanOf planOf) : planOf(std::move(planOf)) {}

  /// This worker is `rank` of that many from now on. `generation`: 0 where these never change, else a number that all workers
  /// have in common and that was not used before.
  absl::Status begin(uint32_t rank, uint32_t world, uint32_t generation);

  /// The workers have connected, for the first time or anew; after begin(). Both outlive this epoch.
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
    WholeCopy copy;
    RunProgress progress;
  };
  /// The newest step of which all shares are there; none where there is no such step. Every rank calls it, after begin().
  absl::StatusOr<std::optional<Found>> find(const GatherBytes &gather);
  /// Gives the variables of this worker the values that they had there. Every rank calls it, after attach().
  absl::Status restore(const Found &found);
  /// The copies are of no use any more.
  void forget();

private:
  /// How a plan cuts the variables into shares.
  struct Cut {
    explicit Cut(const artifact::Plan &plan);
    /// The block of a given part, without stacked dimensions.
    Slice blockOf(const Shares::Given &given) const;
    std::string nameOf(const Shares::Given &given) const;
    size_t messageBytes(uint32_t of) const;
    size_t mostBytes() const; // of any message

    const artifact::Plan &plan;
    const uint32_t world;
    const Shares shares;
    std::vector<uint64_t> shareBytes; // by rank
    size_t textCapacity;
  };
  /// A share, as it is sent: Header, text, variables.
  struct Header {
    int64_t step = -1; // -1: not whole
    uint64_t textBytes = 0;
  };
  struct Slot {
    std::vector<std::byte> own, other; // messages of this rank and of the one before it
  };
  struct Generation {
    uint32_t number;
    const Cut *cut;
    uint32_t rank; // of this worker
    std::array<Slot, 2> slots;
    size_t current = 0; // the slot that was written last
    bool holdsAny() const;
  };
  absl::StatusOr<const Cut *> cutFor(uint32_t world);
  uint32_t before(uint32_t of) const { return (of + now().cut->world - 1) % now().cut->world; }
  uint32_t behind(uint32_t of) const { return (of + 1) % now().cut->world; }
  const Generation &now() const { return generations.back(); }
  absl::Status fill(std::span<std::byte> message, const RunProgress &progress) const;
  /// Brings a share from the one that has it to those that need some of it.
  absl::Status give(uint32_t of, const Cut &cut, const WholeCopy &copy, std::set<uint32_t> needers);
  std::vector<std::set<uint32_t>> needersOf(const Cut &cut) const;
  absl::Status unpackShare(uint32_t of, const Cut &cut, const std::byte *variables);
  std::vector<HeldCopies> holdings() const;

  PlanOf planOf;
  std::map<uint32_t, std::unique_ptr<Cut>> cuts; // by the number of workers
  std::list<Generation> generations;             // the last one is that of now

  // Of this epoch.
  Executor *executor = nullptr;
  Transport *transport = nullptr;
  std::map<std::string, VariableView> views; // parts by name
  std::vector<VariableView> share;
  std::unique_ptr<PreparedCollective> send;
  std::array<std::unique_ptr<PreparedCollective>, 2> receives; // by slot
  int64_t last = -1;                                           // step that was copied in this epoch
};

} // namespace dgc::rt
