#include "runtime/verify/BlockPool.h"

#include <array>
#include <atomic>
#include <bit>
#include <mutex>

using namespace dgc::verify;

namespace {

/// What is smaller has its own lists in malloc.
constexpr size_t kLeastBytes = 1024;
/// Free blocks are kept up to so many bytes together.
constexpr size_t kMostKept = size_t{1} << 30;

/// The sizes of blocks: four for each power of 2.
struct BlockSize {
  size_t number = 0, bytes = 0;
};

/// The least one that has so many bytes.
BlockSize sizeFor(size_t least) {
  const auto power = static_cast<size_t>(std::bit_width(least - 1)) - 1; // 2^power < least <= 2^(power + 1)
  const size_t unit = (size_t{1} << power) / 4, quarters = (least + unit - 1) / unit; // 5 to 8
  return {power * 4 + quarters - 5, quarters * unit};
}

/// A free block: its beginning says which one is next.
struct FreeBlock {
  FreeBlock *next;
};

struct BlockPool {
  struct List {
    std::mutex mutex;
    FreeBlock *first = nullptr;
  };
  std::array<List, size_t{64} * 4> lists; // by number of a size
  std::atomic<size_t> kept = 0;           // bytes

  void *take(const BlockSize &size) {
    List &list = lists[size.number];
    const std::scoped_lock lock(list.mutex);
    FreeBlock *block = list.first;
    if (block) {
      list.first = block->next;
      kept -= size.bytes;
    }
    return block;
  }
  void add(void *block, const BlockSize &size) {
    List &list = lists[size.number];
    const std::scoped_lock lock(list.mutex);
    list.first = new (block) FreeBlock{list.first};
    kept += size.bytes;
  }
  /// Gives the system what is free.
  void clear() {
    for (size_t power = 0, number = 0; power < 64; ++power)
      for (size_t quarters = 5; quarters <= 8; ++quarters, ++number)
        while (void *block = take({number, (size_t{1} << power) / 4 * quarters}))
          ::operator delete(block);
  }
};

BlockPool &pool() {
  static auto *const pool = new BlockPool; // tensors may outlive what is destroyed at the end
  return *pool;
}

} // namespace

void *dgc::verify::takeBlock(size_t bytes) {
  if (bytes < kLeastBytes)
    return ::operator new(bytes);
  const BlockSize size = sizeFor(bytes);
  if (void *block = pool().take(size))
    return block;
  if (void *block = ::operator new(size.bytes, std::nothrow))
    return block;
  pool().clear();
  return ::operator new(size.bytes);
}

void dgc::verify::giveBlock(void *block, size_t bytes) noexcept {
  if (bytes < kLeastBytes)
    return ::operator delete(block);
  const BlockSize size = sizeFor(bytes);
  if (pool().kept + size.bytes > kMostKept)
    return ::operator delete(block);
  pool().add(block, size);
}
