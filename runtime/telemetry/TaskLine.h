// A line about the task that people wait for, on a terminal.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/Task.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace dgc::rt {

/// Shows the task that began last of those that have taken a second: what is done of how much, the rate, and the time that is left.
/// The line goes when its task ends.
class TaskLine final : public TaskObserver {
public:
  static constexpr TimeNs kDelay = 1_s, kPeriod = 100_ms;

  /// One that writes to the file descriptor and observes all tasks of the process, or null where that is no terminal. A thread
  /// draws, from the first task on.
  static std::unique_ptr<TaskLine> onTerminal(int fd);

  TaskLine(std::function<void(std::string_view)> write, Clock &clock, int width);
  ~TaskLine() override;

  void begins(const Task &task) override;
  void ends(const Task &task) override;

  /// Brings the line up to date; what the thread does each kPeriod.
  void draw();
  /// Nothing of the line is on the terminal until it is drawn again: for who writes something else.
  void clear();

private:
  struct Shown {
    const Task *task;
    TimeNs begun;
  };
  void observe();
  void run();
  void drawLocked();
  void clearLocked();
  std::string textOf(const Shown &shown) const;

  std::function<void(std::string_view)> write;
  Clock &clock;
  int width;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Shown> tasks; // in the order in which they began
  bool lineShown = false, drawsItself = false, ending = false;
  std::thread thread;
};

} // namespace dgc::rt
