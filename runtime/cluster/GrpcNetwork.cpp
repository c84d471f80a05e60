// Network over gRPC: the only file that sees gRPC and Protobuf.
#include "runtime/cluster/Network.h"

#include "runtime/cluster/cluster.grpc.pb.h"

#include "absl/strings/str_cat.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace dgc::rt {
namespace {

namespace pb = ::dgc::cluster;

constexpr int kMaxMessageBytes = 4 << 20;
/// The heartbeats of the members notice a dead link earlier, and say so better;
/// this ends connections that nobody uses any more.
constexpr int kKeepaliveMs = 10'000;

// --- Between structs and the wire
// ---------------------------------------------

void write(const JobError &e, pb::JobError &out) {
  out.set_code(static_cast<int>(e.code));
  out.set_exit_code(static_cast<int>(e.exitCode));
  out.set_rank(e.rank);
  out.set_has_position(e.position.has_value());
  if (e.position) {
    out.set_step(e.position->step);
    out.set_op(e.position->op);
  }
  out.set_message(e.message);
}

JobError read(const pb::JobError &in) {
  JobError e;
  e.code = static_cast<absl::StatusCode>(in.code());
  if (e.code == absl::StatusCode::kOk)
    e.code = absl::StatusCode::kUnknown;
  e.exitCode = static_cast<ExitCode>(in.exit_code());
  e.rank = in.rank();
  if (in.has_position())
    e.position = Position{in.step(), in.op()};
  e.message = in.message();
  return e;
}

pb::FromWorker write(const FromWorker &message) {
  pb::FromWorker out;
  if (auto *m = std::get_if<JoinMessage>(&message)) {
    pb::Join &j = *out.mutable_join();
    j.set_protocol(m->protocol);
    j.set_rank(m->rank);
    j.set_world_size(m->worldSize);
    j.set_plan_digest(m->planDigest);
    j.set_producer(m->producer);
    j.set_host_id(m->hostId);
    j.set_host_name(m->hostName);
    j.set_pid(m->pid);
    j.set_segment(m->segment);
    j.set_token(m->token);
  } else if (auto *m = std::get_if<GatherMessage>(&message)) {
    out.mutable_gather()->set_round(m->round);
    out.mutable_gather()->set_data(m->data);
  } else if (auto *m = std::get_if<HeartbeatMessage>(&message)) {
    out.mutable_heartbeat()->set_step(m->position.step);
    out.mutable_heartbeat()->set_op(m->position.op);
  } else if (auto *m = std::get_if<FailureMessage>(&message)) {
    write(m->error, *out.mutable_failure());
  } else {
    out.mutable_leave();
  }
  return out;
}

std::optional<FromWorker> read(const pb::FromWorker &in) {
  switch (in.kind_case()) {
  case pb::FromWorker::kJoin: {
    const pb::Join &j = in.join();
    JoinMessage m;
    m.protocol = j.protocol();
    m.rank = j.rank();
    m.worldSize = j.world_size();
    m.planDigest = j.plan_digest();
    m.producer = j.producer();
    m.hostId = j.host_id();
    m.hostName = j.host_name();
    m.pid = j.pid();
    m.segment = j.segment();
    m.token = j.token();
    return m;
  }
  case pb::FromWorker::kGather:
    return GatherMessage{in.gather().round(), in.gather().data()};
  case pb::FromWorker::kHeartbeat:
    return HeartbeatMessage{{in.heartbeat().step(), in.heartbeat().op()}};
  case pb::FromWorker::kFailure:
    return FailureMessage{read(in.failure())};
  case pb::FromWorker::kLeave:
    return LeaveMessage{};
  case pb::FromWorker::KIND_NOT_SET:
    break;
  }
  return std::nullopt;
}

pb::ToWorker write(const ToWorker &message) {
  pb::ToWorker out;
  if (auto *m = std::get_if<WaitingMessage>(&message)) {
    for (uint32_t r : m->missing)
      out.mutable_waiting()->add_missing(r);
    out.mutable_waiting()->set_seconds(m->seconds);
  } else if (auto *m = std::get_if<RosterMessage>(&message)) {
    out.mutable_roster();
    for (const RosterMessage::Member &x : m->members) {
      pb::Roster::Member &y = *out.mutable_roster()->add_members();
      y.set_host_id(x.hostId);
      y.set_host_name(x.hostName);
      y.set_pid(x.pid);
      y.set_segment(x.segment);
    }
  } else if (auto *m = std::get_if<GatheredMessage>(&message)) {
    out.mutable_gathered()->set_round(m->round);
    for (const std::string &s : m->data)
      out.mutable_gathered()->add_data(s);
  } else if (auto *m = std::get_if<HeartbeatReply>(&message)) {
    out.mutable_heartbeat()->set_step(m->rank0.step);
    out.mutable_heartbeat()->set_op(m->rank0.op);
  } else if (auto *m = std::get_if<AbortMessage>(&message)) {
    write(m->error, *out.mutable_abort());
  } else {
    out.mutable_all_left();
  }
  return out;
}

std::optional<ToWorker> read(const pb::ToWorker &in) {
  switch (in.kind_case()) {
  case pb::ToWorker::kWaiting:
    return WaitingMessage{{in.waiting().missing().begin(), in.waiting().missing().end()}, in.waiting().seconds()};
  case pb::ToWorker::kRoster: {
    RosterMessage m;
    for (const pb::Roster::Member &x : in.roster().members())
      m.members.push_back({x.host_id(), x.host_name(), x.pid(), x.segment()});
    return m;
  }
  case pb::ToWorker::kGathered:
    return GatheredMessage{in.gathered().round(), {in.gathered().data().begin(), in.gathered().data().end()}};
  case pb::ToWorker::kHeartbeat:
    return HeartbeatReply{{in.heartbeat().step(), in.heartbeat().op()}};
  case pb::ToWorker::kAbort:
    return AbortMessage{read(in.abort())};
  case pb::ToWorker::kAllLeft:
    return AllLeftMessage{};
  case pb::ToWorker::KIND_NOT_SET:
    break;
  }
  return std::nullopt;
}

// --- The writing half of a stream, either end
// ---------------------------------

/// Messages waiting for their turn: gRPC takes one write at a time. The owner
/// calls `next` after each event and starts the write that it returns.
template <class Message> class WriteQueue {
public:
  /// Returns the message to write now, if there is none under way.
  const Message *push(Message message) {
    std::lock_guard<std::mutex> lock(mutex);
    if (stopped)
      return nullptr;
    queue.push_back(std::move(message));
    return queue.size() == 1 ? &queue.front() : nullptr;
  }
  /// The write under way is done; the next one, or null.
  const Message *next(bool ok) {
    std::lock_guard<std::mutex> lock(mutex);
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
    std::lock_guard<std::mutex> lock(mutex);
    stopped = true;
    return queue.empty();
  }
  bool idle() {
    std::lock_guard<std::mutex> lock(mutex);
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
  void send(ToWorker message) {
    if (const pb::ToWorker *m = writes.push(write(message)))
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

  absl::Status start(const std::string &address) {
    grpc::ServerBuilder builder;
    // Two jobs must not share a port by accident.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &bound);
    builder.RegisterService(this);
    server = builder.BuildAndStart();
    if (!server || bound == 0)
      return absl::AlreadyExistsError(
          absl::StrCat("cannot listen on ", address, ": the address is in use or not one of this machine"));
    return absl::OkStatus();
  }

  ~GrpcServer() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      ending = true;
    }
    if (server) {
      server->Shutdown(std::chrono::system_clock::now());
      server->Wait();
    }
    std::unique_lock<std::mutex> lock(mutex);
    gone.wait_for(lock, std::chrono::seconds(2), [&] { return sessions.empty(); });
  }

  int port() const override { return bound; }

  // A session deletes itself when it is done, under the same lock.
  void send(ConnectionId id, ToWorker message) override {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto it = sessions.find(id); it != sessions.end())
      it->second->send(std::move(message));
  }
  void close(ConnectionId id) override {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto it = sessions.find(id); it != sessions.end())
      it->second->requestFinish();
  }
  void flush(double seconds) override {
    auto deadline = inSeconds(seconds);
    for (;;) {
      bool idle = true;
      {
        std::lock_guard<std::mutex> lock(mutex);
        for (auto &[id, session] : sessions)
          idle = idle && session->writes.idle();
      }
      if (idle || std::chrono::steady_clock::now() >= deadline)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  grpc::ServerBidiReactor<pb::FromWorker, pb::ToWorker> *Session(grpc::CallbackServerContext *) override {
    ConnectionId id;
    dgc::rt::Session *session;
    {
      std::lock_guard<std::mutex> lock(mutex);
      id = ++lastId;
      session = new dgc::rt::Session(*this, id);
      sessions[id] = session;
    }
    events.opened(id);
    session->begin();
    return session;
  }

private:
  friend class dgc::rt::Session;

  ServerEvents &events;
  std::unique_ptr<grpc::Server> server;
  int bound = 0;
  std::mutex mutex;
  std::condition_variable gone;
  std::map<ConnectionId, dgc::rt::Session *> sessions;
  ConnectionId lastId = 0;
  bool ending = false;
};

Session::Session(GrpcServer &server, ConnectionId id) : server(server), id(id) {}

void Session::OnReadDone(bool ok) {
  if (!ok) {
    server.events.closed(id);
    return requestFinish();
  }
  if (std::optional<FromWorker> m = read(incoming))
    server.events.received(id, std::move(*m));
  StartRead(&incoming);
}

void Session::OnDone() {
  GrpcServer &owner = server;
  {
    std::lock_guard<std::mutex> lock(owner.mutex);
    owner.sessions.erase(id);
    delete this;
    owner.gone.notify_all();
  }
}

// --- Client
// -------------------------------------------------------------------

class GrpcConnection final : public Connection, public grpc::ClientBidiReactor<pb::FromWorker, pb::ToWorker> {
public:
  GrpcConnection(const std::string &address, ConnectionEvents &events) : events(events) {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 500);
    args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    args.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    args.SetMaxReceiveMessageSize(kMaxMessageBytes);
    channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), args);
    stub = pb::Coordinator::NewStub(channel);
    context.set_wait_for_ready(true);
    stub->async()->Session(&context, this);
    AddHold(); // writes come from outside of reactions
    StartRead(&incoming);
    StartCall();
  }

  ~GrpcConnection() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      ending = true;
    }
    writes.stop();
    context.TryCancel();
    RemoveHold();
    std::unique_lock<std::mutex> lock(mutex);
    ended.wait(lock, [&] { return done; });
  }

  void send(FromWorker message) override {
    if (const pb::FromWorker *m = writes.push(write(message)))
      StartWrite(m);
  }
  void flush(double seconds) override { writes.flush(inSeconds(seconds)); }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok && live())
      events.connected();
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      writes.stop();
      if (live())
        events.closed();
      return;
    }
    if (std::optional<ToWorker> m = read(incoming); m && live())
      events.received(std::move(*m));
    StartRead(&incoming);
  }
  void OnWriteDone(bool ok) override {
    if (const pb::FromWorker *m = writes.next(ok))
      StartWrite(m);
  }
  void OnDone(const grpc::Status &) override {
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
    ended.notify_all();
  }

private:
  bool live() {
    std::lock_guard<std::mutex> lock(mutex);
    return !ending;
  }

  ConnectionEvents &events;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::Coordinator::Stub> stub;
  grpc::ClientContext context;
  pb::ToWorker incoming;
  WriteQueue<pb::FromWorker> writes;
  std::mutex mutex;
  std::condition_variable ended;
  bool ending = false, done = false;
};

class GrpcNetwork final : public Network {
public:
  GrpcNetwork() {
    // Errors reach people through statuses, not through gRPC's log.
    if (!getenv("GRPC_VERBOSITY"))
      gpr_set_log_function([](gpr_log_func_args *) {});
  }
  absl::StatusOr<std::unique_ptr<Server>> listen(const std::string &address, ServerEvents &events) override {
    auto server = std::make_unique<GrpcServer>(events);
    if (absl::Status s = server->start(address); !s.ok())
      return s;
    return server;
  }
  std::unique_ptr<Connection> connect(const std::string &address, ConnectionEvents &events) override {
    return std::make_unique<GrpcConnection>(address, events);
  }
};

} // namespace

Network &grpcNetwork() {
  static GrpcNetwork network;
  return network;
}

} // namespace dgc::rt
