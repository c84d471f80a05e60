// What people see of tasks, by a clock that only the test advances.
#include "runtime/telemetry/TaskLine.h"

#include "runtime/base/Disk.h"
#include "runtime/base/Status.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;

namespace {
struct TaskLineTest : testing::Test {
  TaskLineTest() { observeTasks(&line); }
  ~TaskLineTest() override { observeTasks(nullptr); }

  /// What is on the line after drawing.
  std::string drawn() {
    written.clear();
    line.draw();
    return written;
  }

  FakeClock clock;
  std::string written;
  TaskLine line{[this](std::string_view text) { written += text; }, clock, 80};
};
} // namespace

TEST_F(TaskLineTest, ShortTasksAreNotShown) {
  {
    Task task("reading a file", 1000, Task::Bytes);
    clock.advance(900_ms);
    EXPECT_EQ(drawn(), "");
  }
  clock.advance(5_s);
  EXPECT_EQ(drawn(), "");
  EXPECT_EQ(written, "") << "and nothing was to be cleared";
}

TEST_F(TaskLineTest, HasAmountRateAndTimeLeft) {
  Task task("reading a file", 4'000'000'000, Task::Bytes);
  clock.advance(2_s);
  EXPECT_EQ(drawn(), "\rreading a file  0 B of 4.00 GB  0:02\x1b[K");
  task.advance(1'000'000'000);
  EXPECT_EQ(drawn(), "\rreading a file  1.00 GB of 4.00 GB  500 MB/s  0:06 left\x1b[K");
  task.advance(3'500'000'000); // it begins anew
  EXPECT_EQ(drawn(), "\rreading a file  4.50 GB  2.25 GB/s\x1b[K");
}

TEST_F(TaskLineTest, CountsThings) {
  Task task("compiling", 80, Task::Things, "kernels");
  clock.advance(4_s);
  task.advance(12);
  EXPECT_EQ(drawn(), "\rcompiling  12 of 80 kernels  3/s  0:23 left\x1b[K");
}

TEST_F(TaskLineTest, TheInnerOneIsShownWhileItLasts) {
  Task outer("phase kernel", 0, Task::Things);
  clock.advance(2_s);
  EXPECT_EQ(drawn(), "\rphase kernel  0:02\x1b[K");
  {
    Task inner("reading x", 10, Task::Bytes);
    EXPECT_EQ(drawn(), "\rphase kernel  0:02\x1b[K") << "it has just begun";
    clock.advance(1_s);
    EXPECT_EQ(drawn(), "\rreading x  0 B of 10 B  0:01\x1b[K");
    written.clear();
  }
  EXPECT_EQ(written, "\r\x1b[K");
  EXPECT_EQ(drawn(), "\rphase kernel  0:03\x1b[K");
  written.clear();
  line.clear();
  line.clear();
  EXPECT_EQ(written, "\r\x1b[K") << "once";
}

TEST_F(TaskLineTest, IsCutToTheTerminal) {
  Task task(std::string(100, 'x'), 0, Task::Things);
  clock.advance(2_s);
  EXPECT_EQ(drawn(), "\r" + std::string(79, 'x') + "\x1b[K");
}

TEST_F(TaskLineTest, BackgroundThreadsAreHidden) {
  std::thread([&] {
    Task::hideThisThread();
    EXPECT_FALSE(Task::isTold());
    Task task("writing", 10, Task::Bytes);
    clock.advance(2_s);
    EXPECT_EQ(drawn(), "");
  }).join();
  EXPECT_TRUE(Task::isTold());
  observeTasks(nullptr);
  Task task("nobody looks", 0, Task::Things);
  clock.advance(2_s);
  EXPECT_EQ(drawn(), "");
}

TEST_F(TaskLineTest, LargeFilesAreTasks) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / "task_line_test.bin").string();
  std::ofstream(path, std::ios::binary) << std::string(40 << 20, 'x');
  auto file = realDisk().open(path);
  ASSERT_TRUE(file.ok());
  std::vector<std::byte> bytes(10'000'000);
  ASSERT_TRUE((*file)->readAt(0, bytes).ok());
  clock.advance(2_s);
  ASSERT_TRUE((*file)->readAt(10'000'000, bytes).ok());
  EXPECT_EQ(drawn(), "\rreading task_line_test.bin  20.0 MB of 41.9 MB  10.0 MB/s  0:02 left\x1b[K");
  file->reset();
  EXPECT_EQ(drawn(), "") << "it is closed";
  std::filesystem::remove(path);
}

TEST(TaskLine, IsQuietWithoutATerminal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(TaskLine::onTerminal(ends[1]), nullptr);
  EXPECT_FALSE(Task::isTold());
  close(ends[0]);
  close(ends[1]);
}
