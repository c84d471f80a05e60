// The control plane's view of a network: a server that workers connect to, and
// a connection. gRPC in production, queues in tests.
#pragma once

#include "runtime/cluster/CoordinatorCore.h"
#include "runtime/cluster/Credentials.h"
#include "runtime/cluster/Messages.h"
#include "runtime/net/Address.h"

#include "absl/status/statusor.h"

#include <memory>
#include <string>

namespace dgc::rt {

/// The events of a server; called from any thread, one call at a time for each
/// connection.
class ServerEvents {
public:
  virtual ~ServerEvents() = default;
  virtual void opened(ConnectionId id) = 0;
  virtual void received(ConnectionId id, FromWorker message) = 0;
  virtual void closed(ConnectionId id) = 0;
  /// A process that said to be a worker was not let in; `who` is its address, and `why` is said of it.
  virtual void refused(const std::string &who, std::string_view why) = 0;
};

/// Ends all connections when it is destroyed; no event comes after that.
class Server {
public:
  virtual ~Server() = default;
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
  /// What answers does not accept this process, or the other way round; `why` is said of it. Comes instead of connected().
  virtual void refused(std::string why) = 0;
  /// An attempt to connect has failed, for this reason; the next one follows.
  virtual void failed(std::string why) = 0;
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
  /// Serves the processes that connect to `listening` and prove to be of the job, which has `worldSize` workers.
  virtual absl::StatusOr<std::unique_ptr<Server>> listen(Socket listening, const ControlSecurity &security,
                                                         int worldSize, ServerEvents &events) = 0;
  /// Returns at once; tries to connect until that succeeds or it is destroyed. Then says connected(), and closed()
  /// once when that connection ends; closed() alone: what answers is no coordinator.
  virtual std::unique_ptr<Connection> connect(const Address &address, const ControlSecurity &security,
                                              ConnectionEvents &events) = 0;
};

/// Over gRPC, which gets to see a connection only when that has proved to be of the job. TLS is ours, so that gRPC sees what
/// comes out of it, and errors say who was refused, and why.
Network &grpcNetwork();

} // namespace dgc::rt
