#include "runtime/collective/Ucx.h"
#include "runtime/base/Status.h"
#include "runtime/collective/UcxCore.h"

#include "absl/strings/str_split.h"

namespace dgc::rt {
namespace {

class UcxEndpointImpl final : public UcxEndpoint {
public:
  explicit UcxEndpointImpl(std::unique_ptr<UcxCore> c) : core(std::move(c)) {}
  const std::string &address() const override { return core->ownAddress; }
  absl::StatusOr<std::unique_ptr<Transport>> connect(std::span<const std::string> addresses) && override {
    DGC_RETURN_IF_ERROR(core->connect(addresses));
    core->driveInBackground();
    auto transport = createMessageTransport("ucx", std::move(core));
    // Connections come up while both ends drive them.
    DGC_RETURN_IF_ERROR(transport->barrier());
    return transport;
  }

private:
  std::unique_ptr<UcxCore> core;
};

} // namespace

bool ucxAsksForTcp(std::string_view tls) {
  const bool excludes = tls.starts_with('^');
  bool named = false;
  for (absl::string_view each : absl::StrSplit(absl::string_view(tls.data(), tls.size()).substr(excludes), ','))
    named = named || each == "tcp" || each == "all";
  return named != excludes;
}

absl::StatusOr<std::unique_ptr<UcxEndpoint>> UcxEndpoint::create(int rank, int worldSize,
                                                                 std::unique_ptr<SharedSegment> segment,
                                                                 const TransportOptions &options, Abort &abort,
                                                                 const std::string &device) {
  auto core = std::make_unique<UcxCore>(rank, worldSize, std::move(segment), options, abort);
  DGC_RETURN_IF_ERROR(core->open(device));
  return std::make_unique<UcxEndpointImpl>(std::move(core));
}

} // namespace dgc::rt
