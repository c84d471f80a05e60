// Collectives as messages between all pairs of a group. Every member reduces
// one slice of the data, adding in member order, so that the bits are those of
// the other transports.
#include "runtime/collective/Ucx.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/Validate.h"
#include "runtime/collective/Wait.h"

#include "absl/strings/str_cat.h"

#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

/// Bytes of one member's data that are in flight to be reduced at a time.
constexpr uint64_t kChunkBytes = 1 << 20;

// Tags: what the message belongs to, and who sent it. Messages of one sender
// with one tag arrive in the order in which they were sent.
constexpr uint64_t kCollectiveTag = uint64_t{1} << 62;
constexpr uint64_t kPointToPointTag = uint64_t{2} << 62;
uint64_t channelTag(uint32_t channel, int from) {
  return kPointToPointTag | uint64_t{channel} << 24 | static_cast<uint32_t>(from);
}
uint64_t collectiveTag(int from) { return kCollectiveTag | static_cast<uint32_t>(from); }

absl::Status ucxStatus(ucs_status_t status, const std::string &what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", ucs_status_string(status)));
}

/// One message under way. Lives in a vector that was sized beforehand.
struct Message {
  int peer = -1;
  void *request = nullptr; ///< null: complete
  ucs_status_t status = UCS_OK;
  uint64_t expected = 0, got = 0; ///< bytes; receives only
  bool receiving = false;
};

class UcxCore {
public:
  UcxCore(int rank, int worldSize, std::unique_ptr<SharedSegment> segment, const TransportOptions &options,
          Abort &abort)
      : rank(rank), worldSize(worldSize), options(options), abort(abort), segment(std::move(segment)),
        waiter(abort, options.timeoutSeconds) {
    waiter.setSpinning(worldSize);
  }
  ~UcxCore();

  absl::Status open(const std::string &device);
  absl::Status connect(std::span<const std::string> addresses);

  /// The arena, and memory for what the peers send to be reduced.
  std::span<std::byte> arena() { return segment->arena(); }
  std::byte *scratch(uint64_t bytes) {
    if (scratchMemory.size() < bytes)
      scratchMemory.resize(bytes);
    return scratchMemory.data();
  }

  void send(int to, uint64_t tag, const void *data, uint64_t bytes);
  void receive(int from, uint64_t tag, void *data, uint64_t bytes);
  /// Waits until all messages since the last call have arrived.
  absl::Status finish(const std::string &title);
  /// Starts the thread that moves what is left to do between operations.
  void driveInBackground();

  /// Held while an operation runs.
  std::mutex driving;

  const int rank, worldSize;
  const TransportOptions options;
  Abort &abort;
  std::unique_ptr<SharedSegment> segment;
  std::string ownAddress;
  std::vector<std::byte> scratchMemory;

private:
  Message &next(int peer, bool receiving);
  absl::Status checked(const std::string &title, const Message &m) const;

  Waiter waiter;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  std::vector<ucp_ep_h> endpoints; ///< by rank
  std::vector<Message> messages;   ///< the first `used` are under way
  size_t used = 0;
  std::thread background;
  std::atomic<bool> stopping{false};
};

/// Errors reach people through statuses; UCX's own log would speak first, of
/// things like the end of a connection.
void silenceUcx() {
  static const bool once = [] {
    if (!getenv("UCX_LOG_LEVEL"))
      ucs_log_push_handler([](const char *, unsigned, const char *, ucs_log_level_t, const ucs_log_component_config_t *,
                              const char *, va_list) { return UCS_LOG_FUNC_RC_STOP; });
    return true;
  }();
  (void)once;
}

absl::Status UcxCore::open(const std::string &device) {
  silenceUcx();
  ucp_config_t *config;
  ucs_status_t s = ucp_config_read(nullptr, nullptr, &config);
  if (s != UCS_OK)
    return ucxStatus(s, "cannot read the configuration of UCX");
  if (!getenv("UCX_TLS"))
    ucp_config_modify(config, "TLS", "tcp,self");
  if (!getenv("UCX_NET_DEVICES") && !device.empty())
    ucp_config_modify(config, "NET_DEVICES", device.c_str());
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_TAG;
  params.estimated_num_eps = worldSize;
  s = ucp_init(&params, config, &context);
  ucp_config_release(config);
  if (s != UCS_OK)
    return ucxStatus(s, absl::StrCat("cannot start UCX on the network interface '", device, "'"));
  ucp_worker_params_t workerParams = {};
  workerParams.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  workerParams.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  s = ucp_worker_create(context, &workerParams, &worker);
  if (s != UCS_OK)
    return ucxStatus(s, "cannot make a UCX worker");
  ucp_address_t *address;
  size_t length;
  s = ucp_worker_get_address(worker, &address, &length);
  if (s != UCS_OK)
    return ucxStatus(s, "cannot get the UCX address of this worker");
  ownAddress.assign(reinterpret_cast<char *>(address), length);
  ucp_worker_release_address(worker, address);
  return absl::OkStatus();
}

absl::Status UcxCore::connect(std::span<const std::string> addresses) {
  endpoints.resize(worldSize, nullptr);
  // A collective has at most two messages with each peer at a time.
  messages.resize(4 * static_cast<size_t>(worldSize) + 4);
  for (int r = 0; r < worldSize; ++r) {
    if (r == rank)
      continue;
    ucp_ep_params_t params = {};
    params.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t *>(addresses[r].data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = [](void *, ucp_ep_h, ucs_status_t) {
      // The requests of the endpoint end with the error.
    };
    ucs_status_t s = ucp_ep_create(worker, &params, &endpoints[r]);
    if (s != UCS_OK)
      return ucxStatus(s, absl::StrCat("cannot connect to rank ", r));
  }
  return absl::OkStatus();
}

UcxCore::~UcxCore() {
  stopping = true;
  if (background.joinable())
    background.join();
  // Requests of operations that failed still point into memory of this object.
  for (size_t i = 0; i < used; ++i)
    if (messages[i].request)
      ucp_request_cancel(worker, messages[i].request);
  std::vector<void *> closing;
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  for (ucp_ep_h ep : endpoints)
    if (ep) {
      void *request = ucp_ep_close_nbx(ep, &param);
      if (UCS_PTR_IS_PTR(request))
        closing.push_back(request);
    }
  for (int i = 0; i < 100000; ++i) {
    bool done = true;
    for (void *request : closing)
      done = done && ucp_request_check_status(request) != UCS_INPROGRESS;
    for (size_t k = 0; k < used; ++k)
      done = done && (!messages[k].request || ucp_request_check_status(messages[k].request) != UCS_INPROGRESS);
    if (done)
      break;
    ucp_worker_progress(worker);
  }
  for (void *request : closing)
    ucp_request_free(request);
  for (size_t i = 0; i < used; ++i)
    if (messages[i].request)
      ucp_request_free(messages[i].request);
  if (worker)
    ucp_worker_destroy(worker);
  if (context)
    ucp_cleanup(context);
}

Message &UcxCore::next(int peer, bool receiving) {
  Message &m = messages[used++];
  m = Message();
  m.peer = peer;
  m.receiving = receiving;
  return m;
}

void UcxCore::send(int to, uint64_t tag, const void *data, uint64_t bytes) {
  Message &m = next(to, false);
  ucp_request_param_t param = {};
  void *request = ucp_tag_send_nbx(endpoints[to], data, bytes, tag, &param);
  if (UCS_PTR_IS_PTR(request))
    m.request = request;
  else
    m.status = UCS_PTR_STATUS(request);
}

void UcxCore::receive(int from, uint64_t tag, void *data, uint64_t bytes) {
  Message &m = next(from, true);
  m.expected = bytes;
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.user_data = &m;
  param.cb.recv = [](void *, ucs_status_t status, const ucp_tag_recv_info_t *info, void *user) {
    if (status == UCS_OK)
      static_cast<Message *>(user)->got = info->length;
  };
  void *request = ucp_tag_recv_nbx(worker, data, bytes, tag, UINT64_MAX, &param);
  if (UCS_PTR_IS_PTR(request))
    m.request = request;
  else
    m.status = UCS_PTR_STATUS(request);
}

absl::Status UcxCore::checked(const std::string &title, const Message &m) const {
  if (m.status == UCS_ERR_MESSAGE_TRUNCATED || (m.status == UCS_OK && m.receiving && m.got != m.expected))
    return absl::InvalidArgumentError(absl::StrCat(title, ": rank ", m.peer, " sends another number of bytes than the ",
                                                   m.expected, " that this rank expects"));
  if (m.status != UCS_OK)
    return ucxStatus(m.status, absl::StrCat(title, ": rank ", rank, " lost its connection to rank ", m.peer));
  return absl::OkStatus();
}

absl::Status UcxCore::finish(const std::string &title) {
  size_t at = 0; // messages before this one are complete
  auto done = [&] {
    for (; at < used; ++at) {
      Message &m = messages[at];
      if (!m.request)
        continue;
      ucs_status_t s = ucp_request_check_status(m.request);
      if (s == UCS_INPROGRESS)
        return false;
      m.status = s;
      ucp_request_free(std::exchange(m.request, nullptr));
    }
    return true;
  };
  auto late = [&] {
    // Sends complete by themselves as a rule: look for the receive.
    size_t who = at;
    for (size_t i = at; i < used; ++i)
      if (messages[i].receiving && messages[i].request &&
          ucp_request_check_status(messages[i].request) == UCS_INPROGRESS) {
        who = i;
        break;
      }
    return absl::StrCat("rank ", rank, " waited ", options.timeoutSeconds, " s in ", title, " for rank ",
                        messages[who].peer);
  };
  auto drive = [&] { ucp_worker_progress(worker); };
  absl::Status s = waiter.until(done, late, drive);
  if (!s.ok())
    return s; // the destructor ends what is under way
  for (size_t i = 0; i < used; ++i)
    if (absl::Status m = checked(title, messages[i]); !m.ok()) {
      used = 0;
      // The control plane knows better why a peer is gone, and is about to say
      // so.
      if (absl::IsUnavailable(m)) {
        Waiter brief(abort, 2.0);
        absl::Status told = brief.until([] { return false; }, [] { return std::string(); });
        if (!absl::IsDeadlineExceeded(told))
          return told;
      }
      return m;
    }
  used = 0;
  return absl::OkStatus();
}

void UcxCore::driveInBackground() {
  // A message may be waiting here for room in a socket, or for an answer of the
  // library of the other side, while this rank computes or has nothing more to
  // do. UCX has no thread of its own.
  background = std::thread([this] {
    while (!stopping.load(std::memory_order_relaxed)) {
      if (driving.try_lock()) {
        while (ucp_worker_progress(worker))
          ;
        driving.unlock();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

class UcxReduce final : public PreparedCollective {
public:
  UcxReduce(UcxCore &core, const CollectiveDesc &desc, const CheckedCollective &c)
      : core(core), d(desc), c(c), fn(selectReduce(desc.dtype, desc.reduction)), chunk(kChunkBytes / c.elementSize) {
    longest = 0;
    for (uint32_t m = 0; m < c.members; ++m)
      longest = std::max(longest, slice(m).end - slice(m).begin);
    core.scratch(uint64_t{c.members} * std::min(chunk, longest) * c.elementSize);
    srcs.resize(c.members);
  }

  absl::Status run() override {
    std::lock_guard<std::mutex> hold(core.driving);
    for (uint64_t at = 0; at < longest; at += chunk)
      if (absl::Status s = step(at); !s.ok())
        return s;
    return absl::OkStatus();
  }

private:
  bool whole() const { return d.kind == CollectiveKind::AllReduce; }

  /// The elements of src that member `m` reduces.
  Slice slice(uint32_t m) const {
    if (whole())
      return sliceOf(d.srcCount, c.elementSize, m, c.members);
    return {d.dstCount * m, d.dstCount * (m + 1)};
  }
  /// The part of that from `at`, one chunk long.
  Slice part(uint32_t m, uint64_t at) const {
    Slice s = slice(m);
    uint64_t begin = std::min(s.begin + at, s.end);
    return {begin, std::min(begin + chunk, s.end)};
  }
  uint64_t bytes(const Slice &s) const { return (s.end - s.begin) * c.elementSize; }

  absl::Status step(uint64_t at) {
    std::byte *arena = core.arena().data();
    std::byte *src = arena + d.src, *dst = arena + d.dst;
    const Slice mine = part(c.self, at);
    const uint64_t stride = std::min(chunk, longest) * c.elementSize;
    std::byte *scratch = core.scratch(0);
    for (uint32_t m = 0; m < c.members; ++m) {
      srcs[m] = scratch + m * stride;
      if (m == c.self)
        srcs[m] = src + mine.begin * c.elementSize;
      else if (bytes(mine))
        core.receive(d.group[m], collectiveTag(d.group[m]), scratch + m * stride, bytes(mine));
    }
    for (uint32_t m = 0; m < c.members; ++m)
      if (Slice p = part(m, at); m != c.self && bytes(p))
        core.send(d.group[m], collectiveTag(core.rank), src + p.begin * c.elementSize, bytes(p));
    if (absl::Status s = core.finish(c.title); !s.ok())
      return s;
    std::byte *result = dst + (whole() ? mine.begin : mine.begin - slice(c.self).begin) * c.elementSize;
    if (bytes(mine)) {
      void *to = result;
      fn(&to, 1, srcs.data(), static_cast<int>(c.members), mine.end - mine.begin);
    }
    if (!whole())
      return absl::OkStatus();
    for (uint32_t m = 0; m < c.members; ++m)
      if (Slice p = part(m, at); m != c.self && bytes(p))
        core.receive(d.group[m], collectiveTag(d.group[m]), dst + p.begin * c.elementSize, bytes(p));
    for (uint32_t m = 0; m < c.members && bytes(mine); ++m)
      if (m != c.self)
        core.send(d.group[m], collectiveTag(core.rank), result, bytes(mine));
    return core.finish(c.title);
  }

  UcxCore &core;
  CollectiveDesc d;
  CheckedCollective c;
  ReduceFn fn;
  uint64_t chunk;   ///< elements
  uint64_t longest; ///< slice of any member, elements
  std::vector<const void *> srcs;
};

/// Kinds that only move data.
class UcxCopies final : public PreparedCollective {
public:
  UcxCopies(UcxCore &core, const CollectiveDesc &desc, const CheckedCollective &c)
      : core(core), d(desc), c(c), from(permutationSource(desc.permutation, c.self)) {}

  absl::Status run() override {
    std::lock_guard<std::mutex> hold(core.driving);
    std::byte *src = core.arena().data() + d.src;
    std::byte *dst = core.arena().data() + d.dst;
    switch (d.kind) {
    case CollectiveKind::AllGather:
      for (uint32_t m = 0; m < c.members; ++m)
        receive(m, dst + m * c.srcBytes, src, c.srcBytes);
      for (uint32_t m = 0; m < c.members; ++m)
        send(m, src, c.srcBytes);
      break;
    case CollectiveKind::AllToAll: {
      uint64_t part = c.srcBytes / c.members;
      for (uint32_t m = 0; m < c.members; ++m)
        receive(m, dst + m * part, src + m * part, part);
      for (uint32_t m = 0; m < c.members; ++m)
        send(m, src + m * part, part);
      break;
    }
    case CollectiveKind::Broadcast:
      receive(d.root, dst, src, c.srcBytes);
      if (c.self == d.root)
        for (uint32_t m = 0; m < c.members; ++m)
          send(m, src, c.srcBytes);
      break;
    default: // Permute
      if (from != CollectiveDesc::kNobody)
        receive(from, dst, src, c.srcBytes);
      else
        std::memset(dst, 0, c.dstBytes);
      if (d.permutation[c.self] != CollectiveDesc::kNobody)
        send(d.permutation[c.self], src, c.srcBytes);
    }
    return core.finish(c.title);
  }

private:
  void send(uint32_t member, const std::byte *data, uint64_t bytes) {
    if (member != c.self && bytes)
      core.send(d.group[member], collectiveTag(core.rank), data, bytes);
  }
  /// `own` is where the data is when the member is this one.
  void receive(uint32_t member, std::byte *data, const std::byte *own, uint64_t bytes) {
    if (member != c.self && bytes)
      core.receive(d.group[member], collectiveTag(d.group[member]), data, bytes);
    else if (member == c.self && data != own && bytes)
      std::memcpy(data, own, bytes);
  }

  UcxCore &core;
  CollectiveDesc d;
  CheckedCollective c;
  uint32_t from; ///< Permute: the member that sends to this one
};

class UcxSend final : public PreparedCollective {
public:
  UcxSend(UcxCore &core, uint32_t channel, int to, std::span<const std::byte> memory)
      : core(core), channel(channel), to(to), memory(memory), title(absl::StrCat("send on channel ", channel)) {}
  absl::Status run() override {
    std::lock_guard<std::mutex> hold(core.driving);
    core.send(to, channelTag(channel, core.rank), memory.data(), memory.size());
    return core.finish(title);
  }

private:
  UcxCore &core;
  uint32_t channel;
  int to;
  std::span<const std::byte> memory;
  std::string title;
};

class UcxReceive final : public PreparedCollective {
public:
  UcxReceive(UcxCore &core, uint32_t channel, int from, std::span<std::byte> memory)
      : core(core), channel(channel), from(from), memory(memory), title(absl::StrCat("receive on channel ", channel)) {}
  absl::Status run() override {
    std::lock_guard<std::mutex> hold(core.driving);
    core.receive(from, channelTag(channel, from), memory.data(), memory.size());
    return core.finish(title);
  }

private:
  UcxCore &core;
  uint32_t channel;
  int from;
  std::span<std::byte> memory;
  std::string title;
};

class UcxTransport final : public Transport {
public:
  explicit UcxTransport(std::unique_ptr<UcxCore> c) : core(std::move(c)) {}

  int rank() const override { return core->rank; }
  int worldSize() const override { return core->worldSize; }
  std::string_view name() const override { return "ucx"; }
  std::span<std::byte> sharedArena() override { return core->arena(); }
  ProgressWord &progress() override { return core->segment->progress(); }

  absl::Status barrier() override {
    static char nothing;
    std::lock_guard<std::mutex> hold(core->driving);
    for (int r = 0; r < worldSize(); ++r)
      if (r != rank())
        core->receive(r, collectiveTag(r), &token, 1);
    for (int r = 0; r < worldSize(); ++r)
      if (r != rank())
        core->send(r, collectiveTag(rank()), &nothing, 1);
    return core->finish("barrier");
  }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepare(const CollectiveDesc &desc) override {
    DGC_ASSIGN_OR_RETURN(CheckedCollective c, checkCollective(desc, rank(), worldSize(), core->arena().size()));
    if (desc.kind == CollectiveKind::AllReduce || desc.kind == CollectiveKind::ReduceScatter)
      return std::make_unique<UcxReduce>(*core, desc, c);
    return std::make_unique<UcxCopies>(*core, desc, c);
  }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareSend(uint32_t channel, int to,
                                                                  std::span<const std::byte> memory) override {
    DGC_RETURN_IF_ERROR(
        checkPointToPoint("send", channel, to, rank(), worldSize(), core->options, memory, core->arena()));
    return std::make_unique<UcxSend>(*core, channel, to, memory);
  }

  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareReceive(uint32_t channel, int from,
                                                                     std::span<std::byte> memory) override {
    DGC_RETURN_IF_ERROR(checkPointToPoint("receive", channel, from, rank(), worldSize(), core->options, memory, {}));
    return std::make_unique<UcxReceive>(*core, channel, from, memory);
  }

private:
  std::unique_ptr<UcxCore> core;
  char token = 0; ///< where the bytes of a barrier go
};

class UcxEndpointImpl final : public UcxEndpoint {
public:
  explicit UcxEndpointImpl(std::unique_ptr<UcxCore> c) : core(std::move(c)) {}
  const std::string &address() const override { return core->ownAddress; }
  absl::StatusOr<std::unique_ptr<Transport>> connect(std::span<const std::string> addresses) && override {
    DGC_RETURN_IF_ERROR(core->connect(addresses));
    core->driveInBackground();
    auto transport = std::make_unique<UcxTransport>(std::move(core));
    // Connections come up while both ends drive them.
    DGC_RETURN_IF_ERROR(transport->barrier());
    return transport;
  }

private:
  std::unique_ptr<UcxCore> core;
};

} // namespace

absl::StatusOr<std::unique_ptr<UcxEndpoint>> UcxEndpoint::create(int rank, int worldSize,
                                                                 std::unique_ptr<SharedSegment> segment,
                                                                 const TransportOptions &options, Abort &abort,
                                                                 const std::string &device) {
  auto core = std::make_unique<UcxCore>(rank, worldSize, std::move(segment), options, abort);
  DGC_RETURN_IF_ERROR(core->open(device));
  return std::make_unique<UcxEndpointImpl>(std::move(core));
}

std::string interfaceTowards(const std::string &host) {
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(host.c_str(), "9", &hints, &list) != 0 || !list)
    return "";
  // Connecting a datagram socket sends nothing; it only picks the way.
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool found = fd >= 0 && ::connect(fd, list->ai_addr, list->ai_addrlen) == 0 &&
               getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length) == 0;
  if (fd >= 0)
    close(fd);
  freeaddrinfo(list);
  ifaddrs *interfaces = nullptr;
  if (!found || getifaddrs(&interfaces) != 0)
    return "";
  std::string name;
  for (ifaddrs *i = interfaces; i && name.empty(); i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != own.ss_family)
      continue;
    bool same = own.ss_family == AF_INET
                    ? reinterpret_cast<sockaddr_in *>(i->ifa_addr)->sin_addr.s_addr ==
                          reinterpret_cast<sockaddr_in *>(&own)->sin_addr.s_addr
                    : memcmp(&reinterpret_cast<sockaddr_in6 *>(i->ifa_addr)->sin6_addr,
                             &reinterpret_cast<sockaddr_in6 *>(&own)->sin6_addr, sizeof(in6_addr)) == 0;
    if (same)
      name = i->ifa_name;
  }
  freeifaddrs(interfaces);
  return name;
}

} // namespace dgc::rt
