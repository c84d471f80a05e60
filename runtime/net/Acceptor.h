// Accepts connections of a job and nothing else: what strangers can make it spend is bounded.
#pragma once

#include "runtime/net/Handshake.h"

#include <atomic>
#include <thread>

#include <poll.h>

namespace dgc::rt {

/// A thread that accepts connections at a listening socket. A connection that has not proved within `handshakeTime`
/// that it has the key is closed; until then it costs one descriptor and the 60 bytes that are read from it, no more
/// than `mostPending` are open at a time (the oldest one gives way), and no more than `mostPerSecond` are accepted.
class Acceptor {
public:
  struct Options {
    Key key{};
    uint32_t self = 0; ///< the number of this acceptor, see Challenger
    Protocol protocol = Protocol::Data;
    std::chrono::milliseconds handshakeTime{2000};
    size_t mostPending = 64;
    double mostPerSecond = 1000;
    /// Whether a connection with the right proof may be admitted now. One that may not is closed, and comes again.
    std::function<bool()> hasRoom = [] { return true; };
    /// Called, on the acceptor's thread, when a dgc is not admitted: `why` is said of it.
    std::function<void(const std::string &peer, std::string_view why)> refused = [](auto &, auto) {};
  };
  /// Called on the acceptor's thread with each connection that has proved to be of the job, the number that its sender says,
  /// and its address. The socket does not block.
  using Admit = std::function<void(Socket socket, uint32_t sender, const std::string &peer)>;

  Acceptor(Socket listening, Options options, Admit admit);
  /// Closes the listening socket and all connections that are not admitted.
  ~Acceptor();
  Acceptor(const Acceptor &) = delete;

private:
  using Time = std::chrono::steady_clock::time_point;
  struct Pending {
    Socket socket;
    std::string peer;
    Challenger challenger;
    Time since;
    Response response{};
    size_t received = 0;
  };
  void run();
  /// Fills `entries` with what is to be polled now; whether the listening socket is the last one.
  bool fill(std::vector<pollfd> &entries, Time now) const;
  void acceptWaiting(Time now);
  /// Reads what has come; whether the connection stays pending.
  bool progress(Pending &pending);

  Socket listening, wake; ///< `wake` is an event descriptor that ends the thread's poll
  const Options options;
  const Admit admit;
  std::vector<Pending> pending;         ///< oldest first
  static constexpr double kBurst = 256; ///< connections that may be accepted at once
  double allowance = kBurst;            ///< how many may be accepted now
  Time refilled, pausedUntil;
  std::atomic<bool> stopping{false};
  std::thread thread;
};

} // namespace dgc::rt
