// The transport of ranks that see each other's memory: threads of a process, or
// processes of a host.
//
// Each rank owns one segment: a control block and its arena. Every rank maps
// the segments of all. A word of a segment is written either by its owner or by
// one fixed peer, never by two ranks.
#pragma once

#include "runtime/base/MemoryUse.h"
#include "runtime/collective/Transport.h"

#include <array>
#include <atomic>

namespace dgc::rt {

/// Lets the owner of a segment sleep in a futex until a peer changes a word. The peer changes the word by a store with
/// memory_order_seq_cst and calls wake() after it, so that either the owner reads the new value or the peer reads that
/// the owner sleeps: no wake-up is lost.
class alignas(64) Sleep {
public:
  /// Called by the owner. Returns when `done()`, which reads `word`, holds; it may return earlier, when `word` changes,
  /// after `atMostNs` nanoseconds, or on a signal.
  template <class Done> void until(Done done, std::atomic<uint32_t> &word, int64_t atMostNs) {
    sleeps_.store(1, std::memory_order_seq_cst);
    const uint32_t seen = word.load(std::memory_order_seq_cst);
    if (!done())
      sleep(word, seen, atMostNs);
    sleeps_.store(0, std::memory_order_relaxed);
  }
  /// Called by the peer after it has changed `word`.
  void wake(std::atomic<uint32_t> &word) {
    if (sleeps_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wakeSleeper(word);
  }

private:
  static void sleep(std::atomic<uint32_t> &word, uint32_t seen, int64_t atMostNs);
  static void wakeSleeper(std::atomic<uint32_t> &word);

  std::atomic<uint32_t> sleeps_{0};
};

/// At the start of each segment.
struct SegmentHeader {
  static constexpr uint64_t kMagic = 0x3253454743474400; // "\0DGCGES2"

  uint64_t magic = kMagic;
  uint32_t rank = 0, worldSize = 0;
  uint32_t channels = 0, unused = 0;
  uint64_t arenaBytes = 0;
  std::array<uint8_t, 16> nonce{}; ///< random; tells that an opened file is the
                                   ///< one that was announced
  alignas(64) ProgressWord progress;
  WaitRecord waits;
  Sleep sleep;
};

/// Written by one peer, polled by the owner of the segment: how often the peer
/// has signalled.
struct alignas(64) SignalLine {
  std::atomic<uint32_t> count;
};

/// One direction of one channel. The sender writes offset, bytes and `posted`;
/// the receiver, when it has copied, `taken`.
struct alignas(64) Mailbox {
  std::atomic<uint32_t> posted, taken;
  uint64_t offset, bytes;
};

/// The layout of a segment.
struct SegmentLayout {
  uint32_t worldSize = 1, channels = 0;
  uint64_t arenaBytes = 0;

  uint64_t signalsAt() const { return sizeof(SegmentHeader); }
  uint64_t mailboxesAt() const { return signalsAt() + uint64_t{worldSize} * sizeof(SignalLine); }
  uint64_t arenaAt() const {
    uint64_t end = mailboxesAt() + uint64_t{worldSize} * channels * sizeof(Mailbox);
    return (end + 4095) / 4096 * 4096;
  }
  uint64_t totalBytes() const { return arenaAt() + (arenaBytes + 4095) / 4096 * 4096; }
  /// Of these, what takes memory in every run: all but the mailboxes, of which only those that are used do.
  uint64_t residentBytes() const { return wholePages(mailboxesAt()) + totalBytes() - arenaAt(); }
};

/// The segments of all ranks, as mapped here, and what keeps them mapped.
struct MappedJob {
  SegmentLayout layout;
  std::vector<std::byte *> segments; ///< by rank; zeroed by their creator, header filled in
  std::shared_ptr<void> owner;       ///< unmaps when the last user is gone

  SegmentHeader &header(uint32_t rank) const { return *reinterpret_cast<SegmentHeader *>(segments[rank]); }
  /// The line in the segment of `of` that `from` writes.
  SignalLine &signal(uint32_t of, uint32_t from) const {
    return reinterpret_cast<SignalLine *>(segments[of] + layout.signalsAt())[from];
  }
  Mailbox &mailbox(uint32_t of, uint32_t from, uint32_t channel) const {
    auto *boxes = reinterpret_cast<Mailbox *>(segments[of] + layout.mailboxesAt());
    return boxes[uint64_t{from} * layout.channels + channel];
  }
  std::byte *arena(uint32_t rank) const { return segments[rank] + layout.arenaAt(); }
};

/// `name` is that of Transport::name. `abort` outlives the transport.
std::unique_ptr<Transport> createMappedTransport(std::string_view name, int rank, MappedJob job,
                                                 const TransportOptions &options, Abort &abort);

} // namespace dgc::rt
