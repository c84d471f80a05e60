#include "TransportSuite.h"

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

} // namespace
} // namespace dgc::rt::test
