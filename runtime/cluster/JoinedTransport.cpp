// How a worker that knows the others connects to them for data.
#include "runtime/base/Status.h"
#include "runtime/cluster/JoinedCluster.h"
#include "runtime/collective/Tcp.h"
#include "runtime/collective/Ucx.h"
#include "runtime/net/Socket.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>

namespace dgc::rt {

absl::Status JoinedCluster::connectTransport() {
  const RosterMessage &roster = *core->roster(); // does not change any more
  std::vector<std::string> announcements;
  bool oneHost = true;
  for (const RosterMessage::Member &m : roster.members) {
    announcements.push_back(m.segment);
    oneHost = oneHost && m.hostId == roster.members[0].hostId;
  }
  if (roster.members[0].hostId == sharedMemoryHostId()) {
    auto header = mapSegmentHeader(roster.members[0].segment);
    std::scoped_lock<std::mutex> lock(mutex);
    if (header.ok())
      rank0Header = *header;
  }
  bool shared = options.transportName == "shared-memory" || (options.transportName == "auto" && oneHost);
  if (shared && !oneHost)
    return absl::FailedPreconditionError("the shared-memory transport was asked for, but the workers are on "
                                         "several hosts");
  if (shared) {
    DGC_ASSIGN_OR_RETURN(link, std::move(*segment).connect(announcements, *flag));
    useLink();
    // All workers wait here until each has mapped all segments.
    return gather("").status();
  }
  const bool isUcx = options.transportName == "ucx";
  using Encryption = ClusterOptions::Encryption;
  if (isUcx && options.dataEncryption == Encryption::On)
    return usageError("--data-encryption=on: what UCX carries is not encrypted; use --transport=tcp");
  options.transport.encrypted =
      !isUcx && (options.dataEncryption == Encryption::On ||
                 (options.dataEncryption == Encryption::Auto && !oneHost && options.credentials.areGiven()));
  if (!oneHost && !options.transport.encrypted && options.rank == 0 && options.credentials.areGiven() && options.notice)
    options.notice("what workers say to each other is encrypted, the tensors between machines are not");
  if (options.transportName == "tcp" || options.transportName == "auto")
    return connectTcp(oneHost);
  if (isUcx)
    return connectUcx();
  return withExitCode(absl::InvalidArgumentError(absl::StrCat("no transport '", options.transportName,
                                                              "'; there are auto, shared-memory, tcp and ucx")),
                      ExitCode::Usage);
}

absl::Status JoinedCluster::connectTcp(bool oneHost) {
  Address own{sourceAddressTowards(meetingHost), 0};
  if (!options.dataAddress.empty()) {
    DGC_ASSIGN_OR_RETURN(own, parseAddress(options.dataAddress, "--data-address", 0));
    DGC_RETURN_IF_ERROR(checkAddress(own, "--data-address"));
  }
  if (own.host.empty() || (!oneHost && isLoopback(own.host)))
    return withExitCode(absl::FailedPreconditionError(
                            absl::StrCat("the other machines cannot reach this one at '", own.host,
                                         "', the address that it has towards the coordinator ", options.coordinator,
                                         "; say with --data-address which of its addresses they can reach")),
                        ExitCode::Usage);
  absl::StatusOr<std::unique_ptr<TcpEndpoint>> endpoint = TcpEndpoint::create(
      options.rank, options.worldSize, std::move(segment), options.transport, *flag, own.host, own.port);
  if (!endpoint.ok())
    return withExitCode(endpoint.status(), options.dataAddress.empty() ? ExitCode::Machine : ExitCode::Usage);
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> announcements, gather((*endpoint)->announcement()));
  DGC_ASSIGN_OR_RETURN(link, std::move(**endpoint).connect(announcements, options.joinTimeoutSeconds));
  useLink();
  return gather("").status();
}

absl::Status JoinedCluster::connectUcx() {
  if (const char *tls = getenv("UCX_TLS"); tls && ucxAsksForTcp(tls))
    return withExitCode(absl::FailedPreconditionError(absl::StrCat(
                            "UCX_TLS is '", tls,
                            "', which asks for TCP: anybody who reaches a port of UCX can end the process. Use "
                            "--transport=tcp, or name transports of RDMA in UCX_TLS")),
                        ExitCode::Usage);
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<UcxEndpoint> endpoint,
                       UcxEndpoint::create(options.rank, options.worldSize, std::move(segment), options.transport,
                                           *flag, interfaceTowards(meetingHost)));
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> addresses, gather(endpoint->address()));
  DGC_ASSIGN_OR_RETURN(link, std::move(*endpoint).connect(addresses));
  useLink();
  return absl::OkStatus();
}

void JoinedCluster::useLink() {
  ownProgress = &link->progress();
  ownWaits = &link->waits();
}

} // namespace dgc::rt
