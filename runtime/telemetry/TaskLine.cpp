// Draws tasks.
#include "runtime/telemetry/TaskLine.h"

#include "runtime/base/Status.h"
#include "runtime/telemetry/Progress.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <unistd.h>

using namespace dgc::rt;

std::unique_ptr<TaskLine> TaskLine::onTerminal(int fd) {
  const ProgressOptions options = progressOptionsFor(fd);
  if (!options.terminal)
    return nullptr;
  auto write = [fd](std::string_view text) { (void)!::write(fd, text.data(), text.size()); };
  auto line = std::make_unique<TaskLine>(write, realClock(), options.width);
  line->observe();
  return line;
}

TaskLine::TaskLine(std::function<void(std::string_view)> write, Clock &clock, int width)
    : write(std::move(write)), clock(clock), width(width) {}

void TaskLine::observe() {
  drawsItself = true;
  observeTasks(this);
}

TaskLine::~TaskLine() {
  if (drawsItself)
    observeTasks(nullptr);
  {
    std::scoped_lock<std::mutex> lock(mutex);
    ending = true;
    changed.notify_all();
  }
  if (thread.joinable())
    thread.join();
  clearLocked();
}

void TaskLine::begins(const Task &task) {
  std::scoped_lock<std::mutex> lock(mutex);
  tasks.push_back({&task, clock.now()});
  changed.notify_all();
  if (!drawsItself || thread.joinable() || ending)
    return;
  // Signals are for other threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void TaskLine::ends(const Task &task) {
  std::scoped_lock<std::mutex> lock(mutex);
  std::erase_if(tasks, [&](const Shown &each) { return each.task == &task; });
  clearLocked();
}

void TaskLine::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!ending) {
    if (tasks.empty()) {
      changed.wait(lock);
      continue;
    }
    clock.waitUntil(changed, lock, clock.now() + kPeriod);
    drawLocked();
  }
}

void TaskLine::draw() {
  std::scoped_lock<std::mutex> lock(mutex);
  drawLocked();
}

void TaskLine::clear() {
  std::scoped_lock<std::mutex> lock(mutex);
  clearLocked();
}

void TaskLine::clearLocked() {
  if (lineShown)
    write("\r\x1b[K");
  lineShown = false;
}

void TaskLine::drawLocked() {
  const TimeNs now = clock.now();
  const auto shown =
      std::find_if(tasks.rbegin(), tasks.rend(), [&](const Shown &each) { return now - each.begun >= kDelay; });
  if (shown == tasks.rend())
    return clearLocked();
  std::string text = textOf(*shown);
  text.resize(std::min(text.size(), static_cast<size_t>(std::max(width - 1, 1))));
  write("\r" + text + "\x1b[K");
  lineShown = true;
}

std::string TaskLine::textOf(const Shown &shown) const {
  const Task &task = *shown.task;
  const double seconds = static_cast<double>(clock.now() - shown.begun) * 1e-9;
  const uint64_t done = task.done();
  const double rate = static_cast<double>(done) / seconds;
  const bool isBytes = task.unit == Task::Bytes;
  auto amount = [&](uint64_t n) { return isBytes ? formatBytes(n) : str(n); };
  // What is read twice, as to verify it first, has no known end.
  const bool hasTotal = task.total > 0 && done <= task.total;
  std::string text = task.what;
  if (done > 0 || hasTotal)
    text += str("  ", amount(done), hasTotal ? str(" of ", amount(task.total)) : "",
                task.nouns.empty() ? "" : str(" ", task.nouns));
  if (done == 0)
    return str(text, "  ", formatDuration(seconds));
  if (isBytes) {
    text += str("  ", formatBytes(static_cast<uint64_t>(rate)), "/s");
  } else {
    char number[32];
    std::snprintf(number, sizeof number, "  %.3g/s", rate);
    text += number;
  }
  if (hasTotal)
    text += str("  ", formatDuration(static_cast<double>(task.total - done) / rate), " left");
  return text;
}
