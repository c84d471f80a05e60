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

  bool whole() const { return d.kind == CollectiveKind::AllReduce; }

  /// The elements of a range that member `m` reduces.
  ElementRange slice(const CollectiveDesc::Range &range, uint32_t m) const {
    if (whole())
      return sliceOf(range.srcCount, c.elementSize, m, c.members);
    return {range.dstCount * m, range.dstCount * (m + 1)};
  }
  /// The piece of that.
  ElementRange part(const Piece &piece, uint32_t m) const {
    ElementRange s = slice(c.ranges[piece.range], m);
    uint64_t begin = std::min(s.begin + piece.at, s.end);
    return {begin, std::min(begin + piece.count, s.end)};
  }
  uint64_t bytes(const ElementRange &s) const { return (s.end - s.begin) * c.elementSize; }

  /// Where the piece that this member reduces goes.
  std::byte *resultOf(const Piece &piece) const {
    const CollectiveDesc::Range &range = c.ranges[piece.range];
    uint64_t begin = part(piece, c.self).begin - (whole() ? 0 : slice(range, c.self).begin);
    return core.arena().data() + range.dst + begin * c.elementSize;
  }

  void exchange(const Piece &piece) {
    std::byte *src = core.arena().data() + c.ranges[piece.range].src;
    const uint64_t mine = bytes(part(piece, c.self)), stride = piece.count * c.elementSize;
    for (uint32_t m = 0; m < c.members; ++m)
      if (m != c.self && mine)
        core.receive(d.group[m], collectiveTag(d.group[m]), core.scratch(0) + piece.scratch + m * stride, mine);
    for (uint32_t m = 0; m < c.members; ++m)
      if (ElementRange p = part(piece, m); m != c.self && bytes(p))
        core.send(d.group[m], collectiveTag(core.rank), src + p.begin * c.elementSize, bytes(p));
  }

  void reduce(const Piece &piece) {
    const ElementRange mine = part(piece, c.self);
    if (!bytes(mine))
      return;
    for (uint32_t m = 0; m < c.members; ++m)
      srcs[m] = m == c.self ? core.arena().data() + c.ranges[piece.range].src + mine.begin * c.elementSize
                            : core.scratch(0) + piece.scratch + m * piece.count * c.elementSize;
    void *to = resultOf(piece);
    fn(&to, 1, srcs.data(), static_cast<int>(c.members), mine.end - mine.begin);
  }

  void share(const Piece &piece) {
    std::byte *dst = core.arena().data() + c.ranges[piece.range].dst;
    const uint64_t mine = bytes(part(piece, c.self));
    for (uint32_t m = 0; m < c.members; ++m)
      if (ElementRange p = part(piece, m); m != c.self && bytes(p))
        core.receive(d.group[m], collectiveTag(d.group[m]), dst + p.begin * c.elementSize, bytes(p));
    for (uint32_t m = 0; m < c.members && mine; ++m)
      if (m != c.self)
        core.send(d.group[m], collectiveTag(core.rank), resultOf(piece), mine);
  }

  absl::Status runRound(const std::vector<Piece> &round) {
    for (const Piece &piece : round)
      exchange(piece);
    if (absl::Status s = core.finish(c.title); !s.ok())
      return s;
    for (const Piece &piece : round)
      reduce(piece);
    if (!whole())
      return absl::OkStatus();
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
