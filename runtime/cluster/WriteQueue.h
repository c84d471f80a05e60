// The writing half of a stream, either end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace dgc::rt {

/// Messages waiting for their turn: gRPC takes one write at a time. The owner
/// calls `next` after each event and starts the write that it returns.
template <class Message> class WriteQueue {
public:
  /// Returns the message to write now, if there is none under way.
  const Message *push(Message message) {
    std::scoped_lock<std::mutex> lock(mutex);
    if (stopped)
      return nullptr;
    queue.push_back(std::move(message));
    return queue.size() == 1 ? &queue.front() : nullptr;
  }
  /// The write under way is done; the next one, or null.
  const Message *next(bool ok) {
    std::scoped_lock<std::mutex> lock(mutex);
    if (!queue.empty())
      queue.pop_front();
    if (!ok) {
      stopped = true;
      queue.clear();
    }
    if (!queue.empty())
      return &queue.front();
    empty.notify_all();
    return nullptr;
  }
  /// No more messages. Returns whether none is under way.
  bool stop() {
    std::scoped_lock<std::mutex> lock(mutex);
    stopped = true;
    return queue.empty();
  }
  bool idle() {
    std::scoped_lock<std::mutex> lock(mutex);
    return queue.empty();
  }
  void flush(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock<std::mutex> lock(mutex);
    empty.wait_until(lock, deadline, [&] { return queue.empty(); });
  }

private:
  std::mutex mutex;
  std::condition_variable empty;
  std::deque<Message> queue; ///< the front one is being written
  bool stopped = false;
};

} // namespace dgc::rt
