// Runs the coordinator's state machine: one lock around it, one thread for its
// deadlines.
#include "runtime/cluster/Coordinator.h"

#include "runtime/base/Status.h"

#include "absl/strings/str_cat.h"

namespace dgc::rt {
namespace {

using Headers = std::vector<std::shared_ptr<const SegmentHeader>>;

/// A worker of this host leaves its position in memory when it dies.
CoordinatorCore::Options withHeaders(CoordinatorCore::Options options, Headers &headers) {
  options.joined = [&headers](const JoinMessage &m) {
    if (m.rank >= headers.size())
      headers.resize(m.rank + 1);
    headers[m.rank].reset();
    if (m.hostId != sharedMemoryHostId())
      return;
    auto header = mapSegmentHeader(m.segment);
    if (header.ok())
      headers[m.rank] = *header;
  };
  options.exactPosition = [&headers](int rank) -> std::optional<Position> {
    if (static_cast<size_t>(rank) >= headers.size() || !headers[rank])
      return std::nullopt;
    return headers[rank]->progress.get();
  };
  return options;
}

} // namespace

Coordinator::Coordinator(CoordinatorCore::Options options, Clock &clock)
    : clock(clock), headers(options.worldSize), core(withHeaders(std::move(options), headers), clock) {}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::start(CoordinatorCore::Options options, Socket listening,
                                                                const Credentials &credentials, Network &network,
                                                                Clock &clock) {
  DGC_ASSIGN_OR_RETURN(const ControlSecurity security, securityOf(credentials));
  const int worldSize = options.elastic ? options.elastic->most : options.worldSize;
  options.authenticated = credentials.areGiven();
  std::unique_ptr<Coordinator> c(new Coordinator(std::move(options), clock));
  {
    // Workers may come before the server is stored.
    std::scoped_lock<std::mutex> lock(c->mutex);
    auto server = network.listen(std::move(listening), security, worldSize, *c);
    if (!server.ok())
      return server.status();
    c->server = std::move(*server);
  }
  c->ticker = std::thread([raw = c.get()] { raw->tickLoop(); });
  return c;
}

Coordinator::~Coordinator() {
  {
    std::scoped_lock<std::mutex> lock(mutex);
    ending = true;
    changed.notify_all();
  }
  if (ticker.joinable())
    ticker.join();
  server.reset(); // its last events still find the core
}

void Coordinator::pump() {
  for (Outgoing &out : core.takeOutgoing()) {
    if (out.message)
      server->send(out.to, std::move(*out.message));
    else
      server->close(out.to);
  }
  changed.notify_all();
}

void Coordinator::tickLoop() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!ending) {
    core.tick();
    pump();
    clock.waitUntil(changed, lock, core.nextDeadline());
  }
}

void Coordinator::opened(ConnectionId id) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (ending)
    return;
  core.opened(id);
  pump();
}

void Coordinator::received(ConnectionId id, FromWorker message) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (ending)
    return;
  core.received(id, message);
  pump();
}

void Coordinator::closed(ConnectionId id) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (ending)
    return;
  core.closed(id);
  pump();
}

void Coordinator::refused(const std::string &who, std::string_view why) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (ending)
    return;
  core.refused(absl::StrCat("a process at ", who, " ", absl::string_view(why.data(), why.size())));
  pump();
}

void Coordinator::processEnded(int rank, int code, int signal, uint64_t pid) {
  std::scoped_lock<std::mutex> lock(mutex);
  core.processEnded(rank, code, signal, pid);
  pump();
}

void Coordinator::fail(JobError error) {
  std::scoped_lock<std::mutex> lock(mutex);
  core.fail(std::move(error));
  pump();
}

void Coordinator::request(StepEvent event) {
  std::scoped_lock<std::mutex> lock(mutex);
  core.request(event);
  pump();
}

std::vector<CoordinatorCore::Lost> Coordinator::takeLost() {
  std::scoped_lock<std::mutex> lock(mutex);
  return core.takeLost();
}

int Coordinator::restarts() {
  std::scoped_lock<std::mutex> lock(mutex);
  return core.restarts();
}

std::optional<JobError> Coordinator::error() {
  std::scoped_lock<std::mutex> lock(mutex);
  if (core.state() != CoordinatorCore::State::Failed)
    return std::nullopt;
  return core.error();
}

void Coordinator::settle(double seconds) {
  auto limit = std::chrono::duration<double>(seconds);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait_for(lock, limit, [&] {
    return core.state() == CoordinatorCore::State::Done || core.state() == CoordinatorCore::State::Failed;
  });
  // A worker that connects late must still get the error.
  changed.wait_for(lock, std::chrono::seconds(2), [&] { return core.awaited() == 0; });
  // Everyone closes after the last message; to cut a connection before could
  // lose it.
  changed.wait_for(lock, limit, [&] { return core.connections() == 0; });
}

} // namespace dgc::rt
