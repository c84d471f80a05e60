// Accepts connections of a job that carry frames, and serves each on a thread of its own.
#pragma once

#include "runtime/net/Acceptor.h"
#include "runtime/net/FrameStream.h"

#include <list>

namespace dgc::rt {

class FrameServer {
public:
  /// Called on the thread of a connection, which is closed when it returns. `peer` is the address of the other end.
  using Serve = std::function<void(FrameStream &stream, const std::string &peer)>;

  FrameServer(Socket listening, FrameSecurity security, Serve serve);
  /// Closes all connections. Waits of their streams end with Cancelled.
  ~FrameServer();
  FrameServer(const FrameServer &) = delete;

  /// Accepts no connections any more.
  void stopAccepting() { acceptor.reset(); }

private:
  struct Connection {
    std::thread thread;
    std::atomic<bool> isOver{false};
  };
  void admit(Socket socket, const std::string &peer);

  const FrameSecurity security;
  const Serve serve;
  std::atomic<bool> isStopping{false};
  std::list<Connection> connections; // of the acceptor's thread, while there is one
  std::unique_ptr<Acceptor> acceptor;
};

} // namespace dgc::rt
