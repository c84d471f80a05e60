// Network over gRPC. Connections are made and accepted here, not by gRPC, which could be flooded and whose attempts to
// connect end and begin anew after half a second, also where the other side is merely slow.
#include "runtime/base/Status.h"
#include "runtime/cluster/Network.h"
#include "runtime/cluster/Wire.h"
#include "runtime/cluster/WriteQueue.h"
#include "runtime/net/Acceptor.h"
#include "runtime/net/TlsRelay.h"

#include "runtime/cluster/cluster.grpc.pb.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace dgc::rt {
namespace {

namespace pb = cluster;

constexpr int kMaxMessageBytes = 4 << 20;
/// The heartbeats of the members notice a dead link earlier, and say so better;
/// this ends connections that are not used any more.
constexpr int kKeepaliveMs = 10'000;
/// A connection to the coordinator without a stream is closed after this time. A worker whose first packets are lost in
/// a pause of the network is given as long as a stream that has not said who it is (CoordinatorCore's strangerTime).
constexpr int kIdleMs = 12'000;
/// Connections that are served beyond one for each worker: workers that come back, or are of another job.
constexpr size_t kSpareConnections = 32;
/// Memory that gRPC may take for what it reads and has not handed on: for each connection a message that is handed on and one
/// that comes. Where it has less it ends streams, those of workers as well as those of strangers.
constexpr size_t kQuotaBytes = 32 << 20, kQuotaBytesEach = 2 * kMaxMessageBytes;
/// Between two attempts to connect to a coordinator that does not answer.
constexpr std::chrono::milliseconds kRetry{100};
/// One attempt to connect. A coordinator that answers is slow only where its machine has no time for it.
constexpr std::chrono::seconds kAttempt{30};

std::chrono::steady_clock::time_point inSeconds(double seconds) {
  return std::chrono::steady_clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
}

// --- Server
// -------------------------------------------------------------------

class GrpcServer;

class Session final : public grpc::ServerBidiReactor<pb::FromWorker, pb::ToWorker> {
public:
  Session(GrpcServer &server, ConnectionId id);
  void begin() {
    StartSendInitialMetadata(); // tells the worker that it is connected
    StartRead(&incoming);
  }
  void send(const ToWorker &message) {
    if (const pb::ToWorker *m = writes.push(toWire(message)))
      StartWrite(m);
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override {
    if (const pb::ToWorker *m = writes.next(ok))
      StartWrite(m);
    else if (closing.load())
      finish();
  }
  void OnCancel() override {}
  void OnDone() override;

private:
  void finish() {
    if (!finished.exchange(true))
      Finish(grpc::Status::OK);
  }
  void requestFinish() {
    closing = true;
    if (writes.stop())
      finish();
  }

  GrpcServer &server;
  ConnectionId id;
  pb::FromWorker incoming;
  WriteQueue<pb::ToWorker> writes;
  std::atomic<bool> closing{false}, finished{false};

  friend class GrpcServer;
};

class GrpcServer final : public Server, public pb::Coordinator::CallbackService {
public:
  explicit GrpcServer(ServerEvents &events) : events(events) {}

  absl::Status start(Socket listening, const ControlSecurity &security, int worldSize) {
    mostConnections = static_cast<size_t>(worldSize) + kSpareConnections;
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    // A worker has one stream. A connection without one, or with more, is no worker's.
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 4096);
    grpc::ResourceQuota quota("dgc");
    quota.Resize(kQuotaBytes + mostConnections * kQuotaBytesEach);
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.RegisterService(this);
    server = builder.BuildAndStart();
    if (!server)
      return absl::InternalError("cannot start a server of gRPC");
    if (security.tls)
      startRelays();
    Acceptor::Options accepting;
    accepting.key = security.key;
    accepting.protocol = security.protocol;
    accepting.hasRoom = [this] { return hasRoom(); };
    accepting.refused = [this](const std::string &peer, std::string_view why) { events.refused(peer, why); };
    acceptor = std::make_unique<Acceptor>(
        std::move(listening), accepting, [this, tls = security.tls](Socket socket, uint32_t, const std::string &peer) {
          if (tls)
            gate->add(std::make_unique<TlsTunnel>(tls, TlsSide::Acceptor, std::move(socket)), peer);
          else
            admit(std::move(socket));
        });
    return absl::OkStatus();
  }

  ~GrpcServer() override {
    acceptor.reset();
    gate.reset();
    if (server) {
      server->Shutdown(std::chrono::system_clock::now());
      server->Wait();
    }
    std::unique_lock<std::mutex> lock(mutex);
    gone.wait_for(lock, std::chrono::seconds(2), [&] { return sessions.empty(); });
  }

  // A session deletes itself when it is done, under the same lock.
  void send(ConnectionId id, ToWorker message) override {
    std::scoped_lock<std::mutex> lock(mutex);
    if (auto it = sessions.find(id); it != sessions.end())
      it->second->send(std::move(message));
  }
  void close(ConnectionId id) override {
    std::scoped_lock<std::mutex> lock(mutex);
    if (auto it = sessions.find(id); it != sessions.end())
      it->second->requestFinish();
  }
  void flush(double seconds) override {
    auto deadline = inSeconds(seconds);
    for (;;) {
      bool idle = true;
      {
        std::scoped_lock<std::mutex> lock(mutex);
        for (auto &[id, session] : sessions)
          idle = idle && session->writes.idle();
      }
      if (idle && relay)
        relay->flush(deadline);
      if (idle || std::chrono::steady_clock::now() >= deadline)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  grpc::ServerBidiReactor<pb::FromWorker, pb::ToWorker> *Session(grpc::CallbackServerContext *) override {
    ConnectionId id;
    rt::Session *session;
    {
      std::scoped_lock<std::mutex> lock(mutex);
      id = ++lastId;
      if (!admitted.empty())
        admitted.erase(admitted.begin());
      session = new rt::Session(*this, id);
      sessions[id] = session;
    }
    events.opened(id);
    session->begin();
    return session;
  }

private:
  friend class rt::Session;

  /// One thread greets, and another one carries what gRPC says, which is not to wait for strangers.
  void startRelays() {
    relay = std::make_unique<TlsRelay>();
    TlsRelay::Hooks hooks;
    hooks.opened = [this](std::unique_ptr<TlsTunnel> tunnel) {
      Socket plain = tunnel->takePlain();
      relay->add(std::move(tunnel));
      admit(std::move(plain));
    };
    hooks.refused = [this](const std::string &peer, std::string_view why) { events.refused(peer, why); };
    gate = std::make_unique<TlsRelay>(std::move(hooks));
  }
  /// In a job without a secret anybody can prove to have none: so the number of connections is limited.
  bool hasRoom() {
    std::scoped_lock<std::mutex> lock(mutex);
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(admitted, [&](auto when) { return now - when > std::chrono::milliseconds(kIdleMs + 2000); });
    return sessions.size() + admitted.size() < mostConnections;
  }
  /// Hands a connection to gRPC.
  void admit(Socket socket) {
    {
      std::scoped_lock<std::mutex> lock(mutex);
      admitted.push_back(std::chrono::steady_clock::now());
    }
    grpc::AddInsecureChannelFromFd(server.get(), socket.release());
  }

  ServerEvents &events;
  std::unique_ptr<TlsRelay> relay; ///< ends behind the server, whose last words it passes on
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<TlsRelay> gate; ///< in front of `relay`
  std::unique_ptr<Acceptor> acceptor;
  size_t mostConnections = 0;
  std::vector<std::chrono::steady_clock::time_point> admitted; ///< connections that may have no session so far
  std::mutex mutex;
  std::condition_variable gone;
  std::map<ConnectionId, rt::Session *> sessions;
  ConnectionId lastId = 0;
};

Session::Session(GrpcServer &server, ConnectionId id) : server(server), id(id) {}

void Session::OnReadDone(bool ok) {
  if (!ok) {
    server.events.closed(id);
    return requestFinish();
  }
  if (std::optional<FromWorker> m = fromWire(incoming))
    server.events.received(id, std::move(*m));
  StartRead(&incoming);
}

void Session::OnDone() {
  GrpcServer &owner = server;
  {
    std::scoped_lock<std::mutex> lock(owner.mutex);
    owner.sessions.erase(id);
    delete this;
    owner.gone.notify_all();
  }
}

// --- Client
// -------------------------------------------------------------------

class GrpcConnection final : public Connection, public grpc::ClientBidiReactor<pb::FromWorker, pb::ToWorker> {
public:
  GrpcConnection(Address address, ControlSecurity security, ConnectionEvents &events)
      : address(std::move(address)), security(std::move(security)), events(events) {
    if (this->security.tls)
      relay = std::make_unique<TlsRelay>();
    dialer = std::thread([this] { run(); });
  }

  ~GrpcConnection() override {
    {
      std::scoped_lock<std::mutex> lock(mutex);
      ending = true;
      ended.notify_all();
    }
    dialer.join();
    writes.stop();
    if (!channel)
      return;
    context->TryCancel();
    release();
    std::unique_lock<std::mutex> lock(mutex);
    ended.wait(lock, [&] { return done; });
  }

  void send(FromWorker message) override {
    if (const pb::FromWorker *m = writes.push(toWire(message)))
      StartWrite(m);
  }
  void flush(double seconds) override {
    const auto deadline = inSeconds(seconds);
    writes.flush(deadline);
    if (relay)
      relay->flush(deadline);
  }

  void OnReadInitialMetadataDone(bool ok) override {
    {
      std::scoped_lock<std::mutex> lock(mutex);
      if (!ok || ending || !isHeld)
        return;
      connected = true;
      ended.notify_all();
    }
    events.connected();
  }
  void OnReadDone(bool ok) override {
    if (!ok && !isConnected()) // the next attempt begins when this one is done
      return release();
    if (!ok) {
      writes.stop();
      if (live())
        events.closed();
      return;
    }
    if (std::optional<ToWorker> m = fromWire(incoming); m && live())
      events.received(std::move(*m));
    StartRead(&incoming);
  }
  void OnWriteDone(bool ok) override {
    if (const pb::FromWorker *m = writes.next(ok))
      StartWrite(m);
  }
  void OnDone(const grpc::Status &) override {
    std::scoped_lock<std::mutex> lock(mutex);
    done = true;
    ended.notify_all();
  }

private:
  bool live() {
    std::scoped_lock<std::mutex> lock(mutex);
    return !ending;
  }

  bool isConnected() {
    std::scoped_lock<std::mutex> lock(mutex);
    return connected;
  }
  /// Lets OnDone come, once for each stream.
  void release() {
    {
      std::scoped_lock<std::mutex> lock(mutex);
      if (!std::exchange(isHeld, false))
        return;
    }
    RemoveHold();
  }

  /// Connects, however long that takes, until there is a stream that the coordinator has answered.
  void run() {
    for (;;) {
      absl::StatusOr<Socket> socket = attempt();
      if (!live())
        return;
      if (socket.ok()) {
        begin(*std::move(socket));
        if (!endsEarly())
          return;
        socket = absl::UnavailableError("the connection was lost before the coordinator answered");
      }
      if (absl::IsPermissionDenied(socket.status()))
        return events.refused(std::string(socket.status().message()));
      if (absl::IsFailedPrecondition(socket.status()))
        return events.closed();
      events.failed(std::string(socket.status().message()));
      std::unique_lock<std::mutex> lock(mutex);
      ended.wait_for(lock, kRetry, [&] { return ending; });
    }
  }

  /// Waits until the coordinator has answered. Returns whether the stream is over before that.
  bool endsEarly() {
    std::unique_lock<std::mutex> lock(mutex);
    ended.wait(lock, [&] { return ending || connected || done; });
    return !ending && !connected;
  }

  absl::StatusOr<Socket> attempt() {
    DGC_ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, resolveHost(address.host, address.port));
    DialOptions options;
    options.key = security.key;
    options.protocol = security.protocol;
    options.interrupted = [this] { return !live(); };
    absl::StatusOr<Socket> socket = absl::UnavailableError("no address");
    for (const SocketAddress &each : addresses) {
      options.deadline = std::chrono::steady_clock::now() + kAttempt;
      socket = dial(each, options);
      if (socket.ok() && security.tls)
        socket = greet(*std::move(socket), options);
      if (socket.ok() || absl::IsPermissionDenied(socket.status()))
        break;
    }
    return socket;
  }

  /// Puts TLS between; the socket of the result is what gRPC speaks to.
  absl::StatusOr<Socket> greet(Socket socket, const DialOptions &options) {
    DGC_ASSIGN_OR_RETURN(std::unique_ptr<TlsTunnel> tunnel, connectTls(security.tls, std::move(socket), options));
    Socket plain = tunnel->takePlain();
    relay->add(std::move(tunnel));
    return plain;
  }

  void begin(Socket socket) {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    args.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    args.SetMaxReceiveMessageSize(kMaxMessageBytes);
    channel = grpc::CreateCustomInsecureChannelFromFd("coordinator", socket.release(), args);
    stub = pb::Coordinator::NewStub(channel);
    context.emplace();
    {
      std::scoped_lock<std::mutex> lock(mutex);
      done = false;
      isHeld = true;
    }
    stub->async()->Session(&*context, this);
    AddHold(); // writes come from outside of reactions
    StartRead(&incoming);
    StartCall();
  }

  const Address address;
  const ControlSecurity security;
  ConnectionEvents &events;
  std::unique_ptr<TlsRelay> relay; ///< ends behind the channel, whose last words it passes on
  std::thread dialer;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::Coordinator::Stub> stub;
  std::optional<grpc::ClientContext> context; ///< of the latest stream
  pb::ToWorker incoming;
  WriteQueue<pb::FromWorker> writes;
  std::mutex mutex;
  std::condition_variable ended;
  bool ending = false;
  bool connected = false, isHeld = false, done = false; ///< of the latest stream
};

class GrpcNetwork final : public Network {
public:
  GrpcNetwork() {
    // Errors reach people through statuses, not through gRPC's log.
    if (!getenv("GRPC_VERBOSITY"))
      gpr_set_log_function([](gpr_log_func_args *) {});
  }
  absl::StatusOr<std::unique_ptr<Server>> listen(Socket listening, const ControlSecurity &security, int worldSize,
                                                 ServerEvents &events) override {
    auto server = std::make_unique<GrpcServer>(events);
    DGC_RETURN_IF_ERROR(server->start(std::move(listening), security, worldSize));
    return server;
  }
  std::unique_ptr<Connection> connect(const Address &address, const ControlSecurity &security,
                                      ConnectionEvents &events) override {
    return std::make_unique<GrpcConnection>(address, security, events);
  }
};

} // namespace

Network &grpcNetwork() {
  static GrpcNetwork network;
  return network;
}

} // namespace dgc::rt
