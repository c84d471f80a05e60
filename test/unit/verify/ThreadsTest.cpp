// What the exact check does in threads, and the memory that they share.
#include "runtime/verify/Threads.h"
#include "runtime/verify/BlockPool.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

using namespace dgc::verify;

namespace {

TEST(Threads, DoEachNumberOnce) {
  for (int threads : {0, 1, 3, 50}) {
    std::vector<std::atomic<int>> times(41);
    inThreads(41, threads, [&](int64_t i) { ++times[static_cast<size_t>(i)]; });
    for (const std::atomic<int> &each : times)
      EXPECT_EQ(each, 1) << threads << " threads";
  }
  inThreads(0, 2, [](int64_t) { FAIL() << "there is no number"; });
}

TEST(Threads, PassOnWhatIsThrown) {
  for (int threads : {1, 3})
    EXPECT_THROW(inThreads(9, threads,
                           [](int64_t i) {
                             if (i == 4)
                               throw std::runtime_error("4");
                           }),
                 std::runtime_error);
}

TEST(BlockPool, BlocksHaveTheirSize) {
  for (size_t bytes : {1, 1023, 1024, 1025, 1280, 1281, 5000, 1 << 20, (1 << 20) + 1, 3 << 20}) {
    auto *block = static_cast<char *>(takeBlock(bytes));
    std::fill_n(block, bytes, 'x'); // all of it is there: the address sanitizer sees more
    giveBlock(block, bytes);
  }
}

TEST(BlockPool, ABlockIsGivenToOneOnly) {
  std::set<void *> blocks;
  for (int i = 0; i < 10; ++i)
    blocks.insert(takeBlock(3000));
  EXPECT_EQ(blocks.size(), 10u);
  for (void *block : blocks)
    giveBlock(block, 3000);
  std::set<void *> again;
  for (int i = 0; i < 10; ++i)
    again.insert(takeBlock(2900)); // of the same size of blocks
  EXPECT_EQ(again, blocks);
  for (void *block : again)
    giveBlock(block, 2900);
}

TEST(BlockPool, ThreadsShareIt) {
  std::atomic<int> mixed = 0;
  inThreads(400, 4, [&](int64_t i) {
    Elements<uint64_t> mine(static_cast<size_t>(130 + i % 7 * 500), static_cast<uint64_t>(i));
    for (uint64_t each : mine)
      mixed += each != static_cast<uint64_t>(i);
  });
  EXPECT_EQ(mixed, 0);
}

} // namespace
