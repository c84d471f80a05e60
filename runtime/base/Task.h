// Work that may take long, for people who wait for it: reading a large file, compiling kernels. Nothing is shown unless somebody
// observes tasks, as TaskLine does on a terminal.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace dgc::rt {

class Task;

/// Called by any thread.
class TaskObserver {
public:
  virtual ~TaskObserver() = default;
  virtual void begins(const Task &task) = 0;
  /// The task is gone when this returns.
  virtual void ends(const Task &task) = 0;
};

/// From now on tasks that begin are told to the observer, which outlives them; null: to nobody.
void observeTasks(TaskObserver *observer);

class Task {
public:
  /// What it counts; `nouns` of things: "kernels".
  enum Unit { Bytes, Things };

  /// `what` is said while it goes on: "compiling". Total 0: not known.
  Task(std::string what, uint64_t total, Unit unit, std::string nouns = "");
  ~Task();
  Task(const Task &) = delete;
  Task &operator=(const Task &) = delete;

  /// So much more is done; by any thread.
  void advance(uint64_t by = 1) {
    if (observer)
      done_.fetch_add(by, std::memory_order_relaxed);
  }
  uint64_t done() const { return done_.load(std::memory_order_relaxed); }

  /// What this thread does in the background is not told.
  static void hideThisThread();
  /// Whether what this thread does is told to anybody.
  static bool isTold();

  const std::string what, nouns;
  const uint64_t total;
  const Unit unit;

private:
  TaskObserver *observer;
  std::atomic<uint64_t> done_{0};
};

} // namespace dgc::rt
