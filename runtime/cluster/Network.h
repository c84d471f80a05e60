// The control plane's view of a network: a server that workers connect to, and
// a connection. gRPC in production, queues in tests.
#pragma once

#include "runtime/cluster/CoordinatorCore.h"
#include "runtime/cluster/Messages.h"

#include "absl/status/statusor.h"

#include <memory>
#include <string>

namespace dgc::rt {

/// What a server is told; called from any thread, one call at a time for each
/// connection.
class ServerEvents {
public:
  virtual ~ServerEvents() = default;
  virtual void opened(ConnectionId id) = 0;
  virtual void received(ConnectionId id, FromWorker message) = 0;
  virtual void closed(ConnectionId id) = 0;
};

/// Ends all connections when it is destroyed; no event comes after that.
class Server {
public:
  virtual ~Server() = default;
  virtual int port() const = 0;
  /// Never blocks. Messages to one connection keep their order.
  virtual void send(ConnectionId id, ToWorker message) = 0;
  /// Ends the connection after what was sent before.
  virtual void close(ConnectionId id) = 0;
  /// Waits, at most `seconds`, until everything sent is on its way.
  virtual void flush(double seconds) = 0;
};

class ConnectionEvents {
public:
  virtual ~ConnectionEvents() = default;
  virtual void connected() = 0;
  virtual void received(ToWorker message) = 0;
  virtual void closed() = 0;
};

/// Ends when it is destroyed; no event comes after that.
class Connection {
public:
  virtual ~Connection() = default;
  virtual void send(FromWorker message) = 0;
  virtual void flush(double seconds) = 0;
};

class Network {
public:
  virtual ~Network() = default;
  /// `address` is HOST:PORT; port 0 is one of the system's choice.
  /// AlreadyExists: the address is in use.
  virtual absl::StatusOr<std::unique_ptr<Server>> listen(const std::string &address, ServerEvents &events) = 0;
  /// Returns at once; goes on trying until it is destroyed, then says
  /// connected(). closed() comes once, when an established connection ends.
  virtual std::unique_ptr<Connection> connect(const std::string &address, ConnectionEvents &events) = 0;
};

/// Over gRPC, without TLS.
Network &grpcNetwork();

} // namespace dgc::rt
