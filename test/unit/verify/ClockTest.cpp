// Happens-before: which accesses of the same bytes are ordered.
#include "runtime/verify/Clock.h"

#include <gtest/gtest.h>

#include <random>

namespace dgc::verify::test {
namespace {

/// A worker and a task that it begins and waits for.
struct Tasks {
  Clock worker, task;
  AccessLog log;
  uint32_t step = 0;

  bool work(uint64_t begin, uint64_t end, bool writes) { return add(worker, 0, begin, end, writes); }
  bool goOn(uint64_t begin, uint64_t end, bool writes) { return add(task, 1, begin, end, writes); }
  void begin() { task.join(worker); }
  void await() { worker.join(task); }

private:
  /// Whether the access is ordered with those before it.
  bool add(Clock &clock, uint32_t number, uint64_t begin, uint64_t end, bool writes) {
    const Moment now = clock.advance(number);
    return !log.add({begin, end}, {now, step++, writes}, clock);
  }
};

TEST(AccessLog, WhatIsWaitedForIsOrdered) {
  Tasks tasks;
  EXPECT_TRUE(tasks.work(0, 8, true));
  tasks.begin();
  EXPECT_TRUE(tasks.goOn(0, 8, true));
  tasks.await();
  EXPECT_TRUE(tasks.work(0, 8, false));
  EXPECT_TRUE(tasks.work(0, 8, true));
}

TEST(AccessLog, WhatIsNotIsAConflictInEitherOrder) {
  for (bool taskWrites : {false, true})
    for (bool workerWrites : {false, true})
      for (bool taskFirst : {false, true}) {
        Tasks tasks;
        tasks.begin();
        const bool first = taskFirst ? tasks.goOn(0, 8, taskWrites) : tasks.work(0, 8, workerWrites);
        const bool second = taskFirst ? tasks.work(0, 8, workerWrites) : tasks.goOn(0, 8, taskWrites);
        EXPECT_TRUE(first);
        EXPECT_EQ(second, !taskWrites && !workerWrites);
      }
}

TEST(AccessLog, OtherBytesAreNoConflict) {
  Tasks tasks;
  tasks.begin();
  EXPECT_TRUE(tasks.goOn(8, 16, true));
  EXPECT_TRUE(tasks.work(0, 8, true));
  EXPECT_TRUE(tasks.work(16, 24, true));
  const Moment now = tasks.worker.advance(0);
  auto conflict = tasks.log.add({0, 24}, {now, 9, false}, tasks.worker);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->byte, 8u);
  EXPECT_EQ(conflict->other.step, 0u);
  EXPECT_TRUE(conflict->other.writes);
}

// The log forgets accesses that others are behind; a list of all of them says the same.
TEST(AccessLog, IsAsAListOfAllAccesses) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    constexpr uint32_t tasks = 3;
    Clock clocks[tasks];
    AccessLog log;
    struct One {
      ByteRange range;
      Access access;
    };
    std::vector<One> all;
    for (uint32_t step = 0; step < 30; ++step) {
      const uint32_t task = random() % tasks;
      if (random() % 3 == 0)
        clocks[task].join(clocks[random() % tasks]);
      const uint64_t begin = random() % 12;
      const One one{{begin, begin + 1 + random() % 6}, {clocks[task].advance(task), step, random() % 3 == 0}};
      bool expected = false;
      for (const One &other : all)
        expected |= other.range.begin < one.range.end && one.range.begin < other.range.end &&
                    (other.access.writes || one.access.writes) && !clocks[task].knows(other.access.when);
      ASSERT_EQ(log.add(one.range, one.access, clocks[task]).has_value(), expected) << round << " " << step;
      if (expected)
        break; // what follows a conflict is not looked at
      all.push_back(one);
    }
  }
}

} // namespace
} // namespace dgc::verify::test
