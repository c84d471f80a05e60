// A thread that drives tunnels.
#pragma once

#include "runtime/net/Tls.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace dgc::rt {

class TlsRelay {
public:
  /// Hooks are called on the thread of the relay.
  struct Hooks {
    /// Takes a tunnel that has opened; without this hook it stays here.
    std::function<void(std::unique_ptr<TlsTunnel>)> opened;
    /// One end has not accepted the other. The connection is closed.
    std::function<void(const std::string &peer, std::string_view why)> refused;
    /// Of tunnels that are not open: how long one may take, and how many there may be. The oldest gives way.
    std::chrono::milliseconds greetingTime{10'000};
    size_t mostGreeting = 64;
  };
  TlsRelay() : TlsRelay(Hooks()) {}
  explicit TlsRelay(Hooks hooks);
  /// Lets open tunnels pass on what they have, for a moment, and ends them.
  ~TlsRelay();
  TlsRelay(const TlsRelay &) = delete;

  /// `peer` names the other end in messages.
  void add(std::unique_ptr<TlsTunnel> tunnel, std::string peer = {});
  /// Waits until all that was written to plain sockets is in the network.
  void flush(std::chrono::steady_clock::time_point deadline);

private:
  using Time = std::chrono::steady_clock::time_point;
  struct Entry {
    std::unique_ptr<TlsTunnel> tunnel;
    std::string peer;
    Time since;
  };
  void run();
  /// Advances one tunnel; whether it stays.
  bool advance(Entry &entry, Time now);
  void limitGreeting();

  const Hooks hooks;
  Socket wake; ///< an event descriptor that ends the thread's poll
  std::mutex mutex;
  std::condition_variable advanced;
  std::list<Entry> entries; ///< oldest first
  bool stopping = false;
  std::thread thread;
};

} // namespace dgc::rt
