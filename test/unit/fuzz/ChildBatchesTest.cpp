// Work in child processes: what becomes of inputs that crash, do not end or take too much memory.
#include "test/unit/fuzz/ChildBatches.h"

#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>
#include <vector>

using namespace dgc::testing;

namespace {

constexpr size_t mebibyte = size_t{1} << 20;

/// Memory that is there, in each page.
std::vector<char> filled(size_t bytes) {
  std::vector<char> memory(bytes);
  for (size_t at = 0; at < bytes; at += 4096)
    memory[at] = 7;
  return memory;
}

TEST(ChildBatches, WhatEndsAProcessIsKnownByItsNumber) {
  auto work = [](uint32_t i) {
    switch (i) {
    case 12:
      ::raise(SIGKILL);
      return 0;
    case 13:
      ::_exit(3);
    case 17:
      while (true)
        ::pause();
    case 18:
      return filled(256 * mebibyte)[4096] == 7 ? 0 : 1;
    default:
      return static_cast<int>(i) % 10;
    }
  };
  std::vector<std::pair<int, int>> ends, expected;
  workInChildren(10, 30, {.seconds = 1, .bytes = 128 * mebibyte, .batch = 6}, work, [&](uint32_t i, WorkEnd end) {
    EXPECT_EQ(i, 10 + ends.size());
    ends.emplace_back(end.kind, end.code);
  });
  for (int i = 10; i < 30; ++i)
    expected.emplace_back(WorkEnd::Returned, i % 10);
  expected[2] = {WorkEnd::Signalled, SIGKILL};
  expected[3] = {WorkEnd::Exited, 3};
  expected[7] = {WorkEnd::TooSlow, 0};
  expected[8] = {WorkEnd::TooLarge, 0};
  EXPECT_EQ(ends, expected);
}

TEST(ChildBatches, WhatInputsLeaveBehindIsNotHeldAgainstAnother) {
  static std::vector<std::vector<char>> kept;
  auto work = [](uint32_t) {
    kept.push_back(filled(16 * mebibyte));
    return static_cast<int>(kept.size());
  };
  int most = 0;
  workInChildren(0, 30, {.seconds = 20, .bytes = 64 * mebibyte, .growth = 100 * mebibyte}, work,
                 [&](uint32_t i, WorkEnd end) {
                   EXPECT_EQ(end.kind, WorkEnd::Returned) << i;
                   most = std::max(most, end.code);
                 });
  EXPECT_GT(most, 4); // more than one of them takes
  EXPECT_LT(most, 15);
}

} // namespace
