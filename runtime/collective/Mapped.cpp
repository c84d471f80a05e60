// Collectives over memory that all ranks map: signal, work in place on each
// other's arenas, signal.
#include "runtime/collective/Mapped.h"
#include "runtime/collective/Copies.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/Validate.h"
#include "runtime/collective/Wait.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dgc::rt {

// FUTEX_PRIVATE_FLAG is not set, as the rank that wakes may be another process. Errors are ignored: the caller reads the
// word again in any case.
void Sleep::sleep(std::atomic<uint32_t> &word, uint32_t seen, int64_t atMostNs) {
  const timespec atMost{atMostNs / 1'000'000'000, atMostNs % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &atMost, nullptr, 0);
}

void Sleep::wakeSleeper(std::atomic<uint32_t> &word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

namespace {

/// How long after an Abort is raised a sleeping rank sees it, at most.
constexpr int64_t kAbortSeenNs = 2'000'000;

/// What the operations of one transport share.
struct Core {
  Core(int rank, MappedJob job, const TransportOptions &options, Abort &abort)
      : rank(rank), job(std::move(job)), options(options), abort(abort),
        waiter(abort, options.timeoutSeconds, &this->job.header(static_cast<uint32_t>(rank)).waits),
        sent(this->job.segments.size()) {
    waiter.setSpinning(this->job.segments.size());
  }

  /// Tells `peer`, and returns the number of its signal that belongs to this one: two ranks have the same operations
  /// in common, in the same order.
  uint32_t signal(uint32_t peer) {
    set(job.signal(peer, rank).count, ++sent[peer], peer);
    return sent[peer];
  }

  /// Gives `word` a value that `peer` may wait for.
  void set(std::atomic<uint32_t> &word, uint32_t value, uint32_t peer) const {
    word.store(value, std::memory_order_seq_cst);
    job.header(peer).sleep.wake(word);
  }

  /// Waits for signal `need` of `from`; `title` is of the operation.
  absl::Status await(uint32_t from, uint32_t need, const std::string &title) {
    std::atomic<uint32_t> &count = job.signal(rank, from).count;
    auto arrived = [need](uint32_t signals) { return static_cast<int32_t>(signals - need) >= 0; };
    if (arrived(count.load(std::memory_order_acquire))) [[likely]]
      return absl::OkStatus();
    return until(count, arrived, title, from);
  }

  /// Waits in the operation `title` until `from` has given `word` a value that is `enough`.
  template <class Enough>
  absl::Status until(std::atomic<uint32_t> &word, Enough enough, const std::string &title, uint32_t from) {
    auto done = [&] { return enough(word.load(std::memory_order_acquire)); };
    return waiter.until(
        done, [&] { return late(title, from); }, [] {}, [from] { return static_cast<int32_t>(from); },
        [&](int64_t waitedNs) { waiter.rest(waitedNs, [&] { ownSleep().until(done, word, kAbortSeenNs); }); });
  }

  Sleep &ownSleep() const { return job.header(static_cast<uint32_t>(rank)).sleep; }

  std::string late(const std::string &title, uint32_t from) const {
    Position p = job.header(from).progress.get();
    std::string where = p.op == Position::kNoOp ? absl::StrCat("step ", p.step, ", between programs")
                                                : absl::StrCat("step ", p.step, ", op ", p.op);
    return absl::StrCat("rank ", rank, " waited ", options.timeoutSeconds, " s in ", title, " for rank ", from,
                        ", which is at ", where);
  }

  int rank;
  MappedJob job;
  TransportOptions options;
  Abort &abort;
  Waiter waiter;
  std::vector<uint32_t> sent; ///< signals per peer
};

/// Tells all others of the group and waits for all of them.
class GroupSync {
public:
  GroupSync(Core &core, std::span<const uint32_t> group, std::string title) : core(core), title(std::move(title)) {
    for (uint32_t r : group)
      if (r != static_cast<uint32_t>(core.rank))
        others.push_back({r, 0});
  }
  void tell() {
    for (Other &other : others)
      other.need = core.signal(other.rank);
  }
  /// Returns when all others have told what this rank told last.
  absl::Status await() {
    for (const Other &other : others)
      if (absl::Status s = core.await(other.rank, other.need, title); !s.ok()) [[unlikely]]
        return s;
    return absl::OkStatus();
  }
  absl::Status operator()() {
    tell();
    return await();
  }

private:
  struct Other {
    uint32_t rank, need;
  };
  Core &core;
  std::vector<Other> others;
  std::string title;
};

/// Enter, work, leave. All data movement of a kind is in `work`, which only
/// touches what the rules in Transport.h give to this member.
class MappedCollective : public PreparedCollective {
public:
  MappedCollective(Core &core, const CollectiveDesc &desc, const CheckedCollective &c)
      : sync(core, desc.group, c.title), members(c.members) {}
  absl::Status run() final {
    sync.tell();
    return finish();
  }
  absl::Status start() final {
    sync.tell();
    return absl::OkStatus();
  }
  /// The processor that would be free to work meanwhile is the one that computes: what is hidden is the wait.
  absl::Status finish() final {
    if (absl::Status s = sync.await(); !s.ok()) [[unlikely]]
      return s;
    work();
    return members == 1 ? absl::OkStatus() : sync();
  }

protected:
  virtual void work() = 0;

private:
  GroupSync sync;
  uint32_t members;
};

class MappedReduce final : public MappedCollective {
public:
  MappedReduce(Core &core, const CollectiveDesc &desc, const CheckedCollective &c)
      : MappedCollective(core, desc, c), fn(selectReduce(desc.dtype, desc.reduction)) {
    for (const CollectiveDesc::Range &range : c.ranges) {
      const ReducedPart part = reducedPart(desc.kind, c.elementSize, range, c.self, c.members);
      Part &mine = parts.emplace_back();
      mine.count = part.count();
      for (uint32_t member = 0; member < c.members; ++member) {
        std::byte *arena = core.job.arena(desc.group[member]);
        mine.srcs.push_back(arena + range.src + part.elements.begin * c.elementSize);
        if (part.isFor(member))
          mine.dsts.push_back(arena + part.dst);
      }
    }
  }

private:
  /// What this member reduces of one range.
  struct Part {
    uint64_t count = 0;
    std::vector<const void *> srcs;
    std::vector<void *> dsts;
  };
  void work() override {
    for (Part &part : parts)
      fn(part.dsts.data(), part.dsts.size(), part.srcs.data(), part.srcs.size(), part.count);
  }

  ReduceFn fn;
  std::vector<Part> parts;
};

/// Pulls from other arenas into this rank's.
class MappedCopies final : public MappedCollective {
public:
  MappedCopies(Core &core, const CollectiveDesc &desc, const CheckedCollective &c) : MappedCollective(core, desc, c) {
    for (const MemberCopy &copy : receivedCopies(desc, c))
      copies.push_back({core.job.arena(core.rank) + copy.dst,
                        copy.isZero ? nullptr : core.job.arena(desc.group[copy.from]) + copy.src, copy.bytes});
  }

private:
  struct Copy {
    std::byte *dst;
    const std::byte *src; ///< null: zeros
    uint64_t bytes;
  };
  void work() override {
    for (const Copy &c : copies) {
      if (!c.src)
        std::memset(c.dst, 0, c.bytes);
      else
        std::memcpy(c.dst, c.src, c.bytes);
    }
  }

  std::vector<Copy> copies;
};

class MappedBarrier final : public PreparedCollective {
public:
  MappedBarrier(Core &core, const std::vector<uint32_t> &group) : sync(core, group, "a barrier of its group") {}
  absl::Status run() override { return sync(); }
  absl::Status start() override {
    sync.tell();
    return absl::OkStatus();
  }
  absl::Status finish() override { return sync.await(); }

private:
  GroupSync sync;
};

class MappedSend final : public PreparedCollective {
public:
  MappedSend(Core &core, uint32_t channel, uint32_t to, uint64_t offset, uint64_t bytes)
      : core(core), box(core.job.mailbox(to, core.rank, channel)), to(to), offset(offset), bytes(bytes),
        title(absl::StrCat("send on channel ", channel)) {}
  absl::Status run() override {
    uint32_t sequence = box.posted.load(std::memory_order_relaxed) + 1;
    box.offset = offset;
    box.bytes = bytes;
    core.set(box.posted, sequence, to);
    return core.until(box.taken, [sequence](uint32_t taken) { return taken == sequence; }, title, to);
  }

private:
  Core &core;
  Mailbox &box;
  uint32_t to;
  uint64_t offset, bytes;
  std::string title;
};

class MappedReceive final : public PreparedCollective {
public:
  MappedReceive(Core &core, uint32_t channel, uint32_t from, std::span<std::byte> memory)
      : core(core), box(core.job.mailbox(core.rank, from, channel)), from(from), memory(memory),
        title(absl::StrCat("receive on channel ", channel)) {}
  absl::Status run() override {
    uint32_t sequence = box.taken.load(std::memory_order_relaxed) + 1;
    absl::Status s = core.until(box.posted, [sequence](uint32_t posted) { return posted == sequence; }, title, from);
    if (!s.ok()) [[unlikely]]
      return s;
    // The peer's memory is not trusted further than this process's own
    // mappings.
    uint64_t offset = box.offset, bytes = box.bytes, arena = core.job.layout.arenaBytes;
    if (bytes != memory.size() || bytes > arena || offset > arena - bytes)
      return absl::InvalidArgumentError(
          absl::StrCat(title, ": rank ", from, " sends ", bytes, " bytes, this rank expects ", memory.size()));
    if (bytes)
      std::memcpy(memory.data(), core.job.arena(from) + offset, bytes);
    core.set(box.taken, sequence, from);
    return absl::OkStatus();
  }

private:
  Core &core;
  Mailbox &box;
  uint32_t from;
  std::span<std::byte> memory;
  std::string title;
};

class MappedTransport final : public Transport {
public:
  MappedTransport(std::string_view name, int rank, MappedJob job, const TransportOptions &options, Abort &abort)
      : transportName(name), core(rank, std::move(job), options, abort),
        everyone(core, allRanks(worldSize()), "barrier") {}

  int rank() const override { return core.rank; }
  int worldSize() const override { return core.job.segments.size(); }
  std::string_view name() const override { return transportName; }
  std::span<std::byte> sharedArena() override { return {core.job.arena(core.rank), core.job.layout.arenaBytes}; }
  ProgressWord &progress() override { return core.job.header(core.rank).progress; }
  const WaitRecord &waits() override { return core.job.header(core.rank).waits; }
  absl::Status barrier() override { return everyone(); }
  std::unique_ptr<PreparedCollective> prepareBarrier(const std::vector<uint32_t> &group) override {
    return std::make_unique<MappedBarrier>(core, group);
  }
  Abort &interruption() override { return core.abort; }
  double timeoutSeconds() const override { return std::min(core.options.timeoutSeconds, kDeviceTimeoutSeconds); }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepare(const CollectiveDesc &desc) override {
    absl::StatusOr<CheckedCollective> c = checkCollective(desc, rank(), worldSize(), core.job.layout.arenaBytes);
    if (!c.ok())
      return c.status();
    if (infoOf(desc.kind).reduces)
      return std::make_unique<MappedReduce>(core, desc, *c);
    return std::make_unique<MappedCopies>(core, desc, *c);
  }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareSend(uint32_t channel, int to,
                                                                  std::span<const std::byte> memory) override {
    std::span<std::byte> arena = sharedArena();
    absl::Status s = checkPointToPoint("send", channel, to, rank(), worldSize(), core.options, memory, arena);
    if (!s.ok())
      return s;
    return std::make_unique<MappedSend>(core, channel, to, memory.data() - arena.data(), memory.size());
  }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareReceive(uint32_t channel, int from,
                                                                     std::span<std::byte> memory) override {
    absl::Status s = checkPointToPoint("receive", channel, from, rank(), worldSize(), core.options, memory, {});
    if (!s.ok())
      return s;
    return std::make_unique<MappedReceive>(core, channel, from, memory);
  }

private:
  static std::vector<uint32_t> allRanks(int worldSize) {
    std::vector<uint32_t> ranks(worldSize);
    for (int r = 0; r < worldSize; ++r)
      ranks[r] = r;
    return ranks;
  }

  std::string transportName;
  Core core;
  GroupSync everyone;
};

} // namespace

std::unique_ptr<Transport> createMappedTransport(std::string_view name, int rank, MappedJob job,
                                                 const TransportOptions &options, Abort &abort) {
  return std::make_unique<MappedTransport>(name, rank, std::move(job), options, abort);
}

} // namespace dgc::rt
