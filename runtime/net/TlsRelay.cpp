#include "runtime/net/TlsRelay.h"

#include <algorithm>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>

namespace dgc::rt {
namespace {

using Clock = std::chrono::steady_clock;

/// How often the thread looks for tunnels whose time is over.
constexpr int kSliceMs = 20;
/// What open tunnels have at the end to pass on what they have.
constexpr std::chrono::milliseconds kLast{300};

} // namespace

TlsRelay::TlsRelay(Hooks h) : hooks(std::move(h)), wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread = std::thread([this] { run(); });
}

TlsRelay::~TlsRelay() {
  {
    std::scoped_lock<std::mutex> lock(mutex);
    stopping = true;
  }
  eventfd_write(wake.fd(), 1);
  thread.join();
}

void TlsRelay::add(std::unique_ptr<TlsTunnel> tunnel, std::string peer) {
  {
    std::scoped_lock<std::mutex> lock(mutex);
    entries.push_back({std::move(tunnel), std::move(peer), Clock::now()});
  }
  eventfd_write(wake.fd(), 1);
}

void TlsRelay::limitGreeting() {
  auto isGreeting = [](const Entry &each) { return !each.tunnel->isOpen(); };
  const auto greeting = static_cast<size_t>(std::count_if(entries.begin(), entries.end(), isGreeting));
  for (size_t i = hooks.mostGreeting; i < greeting; ++i)
    entries.erase(std::find_if(entries.begin(), entries.end(), isGreeting));
}

void TlsRelay::flush(Time deadline) {
  std::unique_lock<std::mutex> lock(mutex);
  auto isIdle = [&] {
    return std::all_of(entries.begin(), entries.end(), [](const Entry &each) { return each.tunnel->isIdle(); });
  };
  while (!isIdle() && Clock::now() < deadline)
    advanced.wait_until(lock, std::min(deadline, Clock::now() + std::chrono::milliseconds(kSliceMs)));
}

bool TlsRelay::advance(Entry &entry, Time now) {
  TlsTunnel &tunnel = *entry.tunnel;
  const bool wasOpen = tunnel.isOpen();
  absl::Status status = tunnel.advance();
  if (absl::IsPermissionDenied(status) && hooks.refused)
    hooks.refused(entry.peer, std::string_view(status.message().data(), status.message().size()));
  if (!status.ok() || tunnel.isOver() || (!tunnel.isOpen() && (stopping || now - entry.since > hooks.greetingTime)))
    return false;
  if (!wasOpen && tunnel.isOpen() && hooks.opened) {
    hooks.opened(std::move(entry.tunnel));
    return false;
  }
  return true;
}

void TlsRelay::run() {
  std::vector<pollfd> polled;
  std::unique_lock<std::mutex> lock(mutex);
  Time end = Time::max();
  while (true) {
    if (stopping && end == Time::max())
      end = Clock::now() + kLast;
    bool isGreeting = false;
    polled.assign(1, {wake.fd(), POLLIN, 0});
    for (const Entry &each : entries) {
      const TlsTunnel::Events events = each.tunnel->events();
      polled.push_back({events.network, events.ofNetwork, 0});
      polled.push_back({events.plain, events.ofPlain, 0});
      isGreeting = isGreeting || !each.tunnel->isOpen();
    }
    if (stopping && (entries.empty() || Clock::now() >= end))
      return;
    lock.unlock();
    poll(polled.data(), polled.size(), isGreeting || stopping || !wake ? kSliceMs : -1);
    eventfd_t ignored;
    eventfd_read(wake.fd(), &ignored);
    lock.lock();
    const Time now = Clock::now();
    size_t i = 1; // entries that were added meanwhile are behind those that were polled
    for (auto each = entries.begin(); each != entries.end(); i += 2) {
      const bool isDue = i >= polled.size() || polled[i].revents || polled[i + 1].revents || !each->tunnel->isOpen();
      each = !isDue || advance(*each, now) ? std::next(each) : entries.erase(each);
    }
    limitGreeting();
    advanced.notify_all();
  }
}

} // namespace dgc::rt
