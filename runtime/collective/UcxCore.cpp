// Connects ranks, and moves messages between them.
#include "runtime/collective/UcxCore.h"
#include "runtime/base/Status.h"

#include "absl/strings/str_cat.h"

#include <ucs/debug/log_def.h>

#include <chrono>
#include <cstdlib>
#include <utility>

namespace dgc::rt {

static absl::Status ucxStatus(ucs_status_t status, const std::string &what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", ucs_status_string(status)));
}

/// Errors reach people through statuses; UCX's own log would speak first, of
/// things like the end of a connection.
static void silenceUcx() {
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
    ucp_config_modify(config, "TLS", "^tcp");
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
  // A barrier and a collective of one range have at most two messages with each peer at a time.
  reserve(4 * static_cast<size_t>(worldSize) + 4);
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

absl::Status UcxCore::checked(const std::string &title, const Message &m) {
  if (m.status == UCS_ERR_MESSAGE_TRUNCATED || (m.status == UCS_OK && m.receiving && m.got != m.expected))
    return wrongSize(title, m.peer, m.expected);
  if (m.status != UCS_OK)
    return connectionLost(title, m.peer, ucs_status_string(m.status));
  return absl::OkStatus();
}

int UcxCore::awaited(size_t at) const {
  for (size_t i = at; i < used; ++i)
    if (messages[i].receiving && messages[i].request && ucp_request_check_status(messages[i].request) == UCS_INPROGRESS)
      return messages[i].peer;
  return messages[at].peer;
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
      segment->waits().move(1);
      ucp_request_free(std::exchange(m.request, nullptr));
    }
    return true;
  };
  auto drive = [&] { ucp_worker_progress(worker); };
  absl::Status s = waiter.until(done, [&] { return late(title, awaited(at)); }, drive, [&] { return awaited(at); });
  if (!s.ok())
    return s; // the destructor ends what is under way
  for (size_t i = 0; i < used; ++i)
    if (absl::Status m = checked(title, messages[i]); !m.ok()) {
      used = 0;
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

} // namespace dgc::rt
