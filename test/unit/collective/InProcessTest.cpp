#include "TransportSuite.h"

#include "runtime/collective/Mapped.h"

#include <chrono>
#include <thread>

namespace dgc::rt::test {
namespace {

std::vector<std::string> runThreads(int worldSize, const TransportOptions &options, const RankProgram &program) {
  Abort abort;
  auto transports = createInProcessTransports(worldSize, options, abort);
  if (!transports.ok())
    return std::vector<std::string>(worldSize, transports.status().ToString());
  std::vector<std::string> results(worldSize);
  std::vector<std::thread> threads;
  for (int r = 0; r < worldSize; ++r)
    threads.emplace_back([&, r] { results[r] = program(*(*transports)[r]); });
  for (std::thread &t : threads)
    t.join();
  return results;
}

INSTANTIATE_TEST_SUITE_P(InProcess, TransportSuite, ::testing::ValuesIn(suiteCases({"Threads", runThreads})), caseName);

TEST(InProcess, AbortEndsAWaitWithItsStatus) {
  Abort abort;
  TransportOptions options;
  options.sharedBytes = 4096;
  auto transports = createInProcessTransports(2, options, abort);
  ASSERT_TRUE(transports.ok());
  std::thread raiser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_TRUE(abort.raise(absl::AbortedError("rank 1 died at step 4, op 2")));
    EXPECT_FALSE(abort.raise(absl::AbortedError("a later error")));
  });
  absl::Status s = (*transports)[0]->barrier();
  raiser.join();
  EXPECT_EQ(s, absl::AbortedError("rank 1 died at step 4, op 2"));
}

TEST(InProcess, ArenaIsAlignedAndZeroed) {
  Abort abort;
  TransportOptions options;
  options.sharedBytes = 1000;
  auto transports = createInProcessTransports(3, options, abort);
  ASSERT_TRUE(transports.ok());
  for (auto &t : *transports) {
    auto arena = t->sharedArena();
    EXPECT_EQ(arena.size(), 1000u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 64, 0u);
    for (std::byte b : arena)
      ASSERT_EQ(b, std::byte{0});
    EXPECT_EQ(t->progress().get(), Position{});
    t->progress().set(123456789, 77);
    EXPECT_EQ(t->progress().get(), (Position{123456789, 77}));
  }
}

// Two that wake each other in turn: one wake that is lost would end the sleep only a minute later.
TEST(InProcess, EachChangeWakesTheSleeper) {
  constexpr uint32_t kRounds = 20'000;
  constexpr int64_t kMinute = 60'000'000'000;
  Sleep sleeps[2];
  std::atomic<uint32_t> words[2] = {};
  auto run = [&](int self) {
    for (uint32_t round = 1; round <= kRounds; ++round) {
      words[self].store(round, std::memory_order_seq_cst);
      sleeps[1 - self].wake(words[self]);
      std::atomic<uint32_t> &awaited = words[1 - self];
      auto done = [&] { return awaited.load(std::memory_order_acquire) >= round; };
      while (!done())
        sleeps[self].until(done, awaited, kMinute);
    }
  };
  auto begin = std::chrono::steady_clock::now();
  std::thread other(run, 1);
  run(0);
  other.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(kMinute));
}

} // namespace
} // namespace dgc::rt::test
