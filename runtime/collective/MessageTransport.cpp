// Collectives as messages between all pairs of a group. Every member reduces
// one slice of the data, adding in member order, so that the bits are those of
// the other transports.
#include "runtime/base/Status.h"
#include "runtime/collective/Copies.h"
#include "runtime/collective/MessagePassing.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/Validate.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace dgc::rt {
namespace {

class MessageReduce final : public PreparedCollective {
public:
  MessageReduce(MessagePassing &core, const CollectiveDesc &desc, const CheckedCollective &c)
      : core(core), d(desc), c(c), fn(selectReduce(desc.dtype, desc.reduction)) {
    const uint64_t chunk = stagedChunkBytes / c.elementSize;
    // What fits into a chunk together goes together.
    uint64_t room = 0;
    for (uint32_t r = 0; r < c.ranges.size(); ++r) {
      const uint64_t longest = longestPart(d.kind, c.elementSize, c.ranges[r], c.members);
      for (uint64_t at = 0; at < longest; at += chunk) {
        const uint64_t count = std::min(chunk, longest - at);
        if (rounds.empty() || count > room) {
          rounds.emplace_back();
          room = chunk;
        }
        rounds.back().push_back({r, at, count, (chunk - room) * c.members * c.elementSize});
        room -= count;
      }
    }
    for (const std::vector<Piece> &round : rounds)
      core.reserve(2 * round.size() * c.members);
    core.scratch(stagingBytes(d.kind, c.elementSize, c.ranges, c.members));
    srcs.resize(c.members);
  }

  absl::Status run() override {
    std::scoped_lock<std::mutex> hold(core.driving);
    for (const std::vector<Piece> &round : rounds)
      if (absl::Status s = runRound(round); !s.ok())
        return s;
    return absl::OkStatus();
  }

private:
  /// At most `count` elements of the part of every member of a range, from `at` on.
  struct Piece {
    uint32_t range;
    uint64_t at, count;
    uint64_t scratch; ///< offset of the members' data, in bytes, one after the other
  };

  /// The piece of what member `m` reduces.
  ReducedPart part(const Piece &piece, uint32_t m) const {
    ReducedPart all = reducedPart(d.kind, c.elementSize, c.ranges[piece.range], m, c.members);
    const uint64_t begin = std::min(all.elements.begin + piece.at, all.elements.end);
    return {{begin, std::min(begin + piece.count, all.elements.end)},
            all.dst + (begin - all.elements.begin) * c.elementSize,
            all.receiver};
  }
  uint64_t bytes(const ReducedPart &p) const { return p.count() * c.elementSize; }

  /// The data of member `m`; in place of its own, a member has the result there where others alone get it.
  std::byte *stagedOf(const Piece &piece, uint32_t m) const {
    return core.scratch(0) + piece.scratch + m * piece.count * c.elementSize;
  }
  /// Where this member has the piece that it reduces.
  std::byte *resultOf(const Piece &piece) const {
    const ReducedPart mine = part(piece, c.self);
    return mine.isFor(c.self) ? core.arena().data() + mine.dst : stagedOf(piece, c.self);
  }

  void exchange(const Piece &piece) {
    std::byte *src = core.arena().data() + c.ranges[piece.range].src;
    const uint64_t mine = bytes(part(piece, c.self));
    for (uint32_t m = 0; m < c.members; ++m)
      if (m != c.self && mine)
        core.receive(d.group[m], collectiveTag(d.group[m]), stagedOf(piece, m), mine);
    for (uint32_t m = 0; m < c.members; ++m)
      if (ReducedPart p = part(piece, m); m != c.self && bytes(p))
        core.send(d.group[m], collectiveTag(core.rank), src + p.elements.begin * c.elementSize, bytes(p));
  }

  void reduce(const Piece &piece) {
    const ReducedPart mine = part(piece, c.self);
    if (!bytes(mine))
      return;
    for (uint32_t m = 0; m < c.members; ++m)
      srcs[m] = m == c.self ? core.arena().data() + c.ranges[piece.range].src + mine.elements.begin * c.elementSize
                            : stagedOf(piece, m);
    void *to = resultOf(piece);
    fn(&to, 1, srcs.data(), static_cast<int>(c.members), mine.count());
  }

  void share(const Piece &piece) {
    const ReducedPart mine = part(piece, c.self);
    for (uint32_t m = 0; m < c.members; ++m)
      if (ReducedPart p = part(piece, m); m != c.self && p.isFor(c.self) && bytes(p))
        core.receive(d.group[m], collectiveTag(d.group[m]), core.arena().data() + p.dst, bytes(p));
    for (uint32_t m = 0; m < c.members && bytes(mine); ++m)
      if (m != c.self && mine.isFor(m))
        core.send(d.group[m], collectiveTag(core.rank), resultOf(piece), bytes(mine));
  }

  absl::Status runRound(const std::vector<Piece> &round) {
    for (const Piece &piece : round)
      exchange(piece);
    if (absl::Status s = core.finish(c.title); !s.ok())
      return s;
    for (const Piece &piece : round)
      reduce(piece);
    for (const Piece &piece : round)
      share(piece);
    return core.finish(c.title);
  }

  MessagePassing &core;
  CollectiveDesc d;
  CheckedCollective c;
  ReduceFn fn;
  std::vector<std::vector<Piece>> rounds;
  std::vector<const void *> srcs;
};

/// Kinds that only move data.
class MessageCopies final : public PreparedCollective {
public:
  MessageCopies(MessagePassing &core, const CollectiveDesc &desc, const CheckedCollective &c)
      : core(core), group(desc.group), self(c.self), title(c.title), received(receivedCopies(desc, c)),
        sent(sentCopies(desc, c)) {
    core.reserve(received.size() + sent.size());
  }

  absl::Status run() override {
    std::scoped_lock<std::mutex> hold(core.driving);
    std::byte *arena = core.arena().data();
    for (const MemberCopy &copy : received)
      if (copy.isZero)
        std::memset(arena + copy.dst, 0, copy.bytes);
      else if (copy.from == self)
        std::memcpy(arena + copy.dst, arena + copy.src, copy.bytes);
      else
        core.receive(group[copy.from], collectiveTag(group[copy.from]), arena + copy.dst, copy.bytes);
    for (const MemberCopy &copy : sent)
      core.send(group[copy.to], collectiveTag(core.rank), arena + copy.src, copy.bytes);
    return core.finish(title);
  }

private:
  MessagePassing &core;
  std::vector<uint32_t> group;
  uint32_t self;
  std::string title;
  std::vector<MemberCopy> received, sent;
};

class MessageSend final : public PreparedCollective {
public:
  MessageSend(MessagePassing &core, uint32_t channel, int to, std::span<const std::byte> memory)
      : core(core), channel(channel), to(to), memory(memory), title(absl::StrCat("send on channel ", channel)) {}
  absl::Status run() override {
    std::scoped_lock<std::mutex> hold(core.driving);
    core.send(to, channelTag(channel, core.rank), memory.data(), memory.size());
    return core.finish(title);
  }

private:
  MessagePassing &core;
  uint32_t channel;
  int to;
  std::span<const std::byte> memory;
  std::string title;
};

class MessageReceive final : public PreparedCollective {
public:
  MessageReceive(MessagePassing &core, uint32_t channel, int from, std::span<std::byte> memory)
      : core(core), channel(channel), from(from), memory(memory), title(absl::StrCat("receive on channel ", channel)) {}
  absl::Status run() override {
    std::scoped_lock<std::mutex> hold(core.driving);
    core.receive(from, channelTag(channel, from), memory.data(), memory.size());
    return core.finish(title);
  }

private:
  MessagePassing &core;
  uint32_t channel;
  int from;
  std::span<std::byte> memory;
  std::string title;
};

/// A message of one byte to each of the others.
class MessageBarrier final : public PreparedCollective {
public:
  MessageBarrier(MessagePassing &core, std::vector<uint32_t> group) : core(core), group(std::move(group)) {
    std::erase(this->group, static_cast<uint32_t>(core.rank));
    core.reserve(2 * this->group.size());
  }
  absl::Status run() override {
    std::scoped_lock<std::mutex> hold(core.driving);
    for (uint32_t r : group)
      core.receive(static_cast<int>(r), collectiveTag(static_cast<int>(r)), &token, 1);
    for (uint32_t r : group)
      core.send(static_cast<int>(r), collectiveTag(core.rank), &nothing, 1);
    return core.finish("a barrier of its group");
  }

private:
  MessagePassing &core;
  std::vector<uint32_t> group;
  char token = 0, nothing = 0; ///< where the bytes go, and come from
};

class MessageTransport final : public Transport {
public:
  MessageTransport(std::string_view name, std::unique_ptr<MessagePassing> c)
      : transportName(name), core(std::move(c)) {}

  int rank() const override { return core->rank; }
  int worldSize() const override { return core->worldSize; }
  std::string_view name() const override { return transportName; }
  std::span<std::byte> sharedArena() override { return core->arena(); }
  ProgressWord &progress() override { return core->segment->progress(); }
  const WaitRecord &waits() override { return core->segment->waits(); }

  absl::Status barrier() override {
    static char nothing;
    std::scoped_lock<std::mutex> hold(core->driving);
    for (int r = 0; r < worldSize(); ++r)
      if (r != rank())
        core->receive(r, collectiveTag(r), &token, 1);
    for (int r = 0; r < worldSize(); ++r)
      if (r != rank())
        core->send(r, collectiveTag(rank()), &nothing, 1);
    return core->finish("barrier");
  }
  std::unique_ptr<PreparedCollective> prepareBarrier(const std::vector<uint32_t> &group) override {
    return std::make_unique<MessageBarrier>(*core, group);
  }
  Abort &interruption() override { return core->abort; }
  double timeoutSeconds() const override { return std::min(core->options.timeoutSeconds, kDeviceTimeoutSeconds); }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepare(const CollectiveDesc &desc) override {
    DGC_ASSIGN_OR_RETURN(CheckedCollective c, checkCollective(desc, rank(), worldSize(), core->arena().size()));
    if (infoOf(desc.kind).reduces)
      return std::make_unique<MessageReduce>(*core, desc, c);
    return std::make_unique<MessageCopies>(*core, desc, c);
  }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareSend(uint32_t channel, int to,
                                                                  std::span<const std::byte> memory) override {
    DGC_RETURN_IF_ERROR(
        checkPointToPoint("send", channel, to, rank(), worldSize(), core->options, memory, core->arena()));
    return std::make_unique<MessageSend>(*core, channel, to, memory);
  }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareReceive(uint32_t channel, int from,
                                                                     std::span<std::byte> memory) override {
    DGC_RETURN_IF_ERROR(checkPointToPoint("receive", channel, from, rank(), worldSize(), core->options, memory, {}));
    return std::make_unique<MessageReceive>(*core, channel, from, memory);
  }

private:
  std::string transportName;
  std::unique_ptr<MessagePassing> core;
  char token = 0; ///< where the bytes of a barrier go
};

} // namespace

std::unique_ptr<Transport> createMessageTransport(std::string_view name, std::unique_ptr<MessagePassing> core) {
  return std::make_unique<MessageTransport>(name, std::move(core));
}

} // namespace dgc::rt
