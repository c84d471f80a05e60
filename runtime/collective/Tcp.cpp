// Connects the ranks of a job over TCP: each listens until all of higher rank have come, and connects to those of lower
// rank.
#include "runtime/collective/Tcp.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/collective/TcpCore.h"
#include "runtime/net/Acceptor.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace dgc::rt {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Between two attempts to connect to a rank that refused: it may not have come so far.
constexpr std::chrono::milliseconds kRetry{50};

absl::Status unreachable(const std::string &message) {
  return withExitCode(absl::DeadlineExceededError(absl::StrCat(
                          message, "; workers exchange data over TCP ports of the kernel's choice: see that nothing "
                                   "between them blocks these, or choose the address with --data-address")),
                      ExitCode::Network);
}

/// "HOST PORT SECRET FORM", the secret in hexadecimal digits, FORM `tls` or `plain`.
absl::StatusOr<SocketAddress> parseAnnouncement(const std::string &text, int rank) {
  std::vector<std::string> parts = absl::StrSplit(text, ' ');
  int port = 0;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[1], &port) || port < 1 || port > 65535)
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " announces no address"));
  DGC_ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, resolveHost(parts[0], port));
  return addresses.front();
}

class TcpEndpointImpl final : public TcpEndpoint {
public:
  TcpEndpointImpl(int rank, int worldSize, std::unique_ptr<SharedSegment> segment, const TransportOptions &options,
                  Abort &abort, Socket listening, const SocketAddress &address)
      : rank(rank), worldSize(worldSize), segment(std::move(segment)), options(options), abort(abort),
        listening(std::move(listening)), own(address.text()) {
    const Nonce a = randomNonce(), b = randomNonce();
    std::string secret(a.begin(), a.end());
    secret.append(b.begin(), b.end());
    announced = absl::StrCat(address.host(), " ", address.port(), " ", absl::BytesToHexString(secret),
                             options.encrypted ? " tls" : " plain");
  }

  const std::string &announcement() const override { return announced; }
  absl::StatusOr<std::unique_ptr<Transport>>
      connect(std::span<const std::string> announcements, double limit) && override;

private:
  absl::Status checkForms(std::span<const std::string> announcements) const;
  void admit(Socket socket, uint32_t sender);
  absl::Status reach(int peer, const SocketAddress &address, const Key &key);
  absl::StatusOr<TcpCore::Connection> greet(Socket socket, TlsSide side);
  std::pair<int, Socket> takeArrived();
  absl::Status awaitPeers();

  const int rank, worldSize;
  std::unique_ptr<SharedSegment> segment;
  const TransportOptions options;
  Abort &abort;
  Socket listening;
  const std::string own; ///< HOST:PORT
  std::string announced;

  SteadyClock::time_point deadline;
  double seconds = 0;
  std::shared_ptr<const TlsIdentity> identity;  ///< null: not encrypted
  std::vector<TcpCore::Connection> connections; ///< by rank
  std::mutex mutex;                             ///< of what follows
  std::condition_variable arrived;
  std::vector<Socket> sockets; ///< by rank: what the others have opened
};

void TcpEndpointImpl::admit(Socket socket, uint32_t sender) {
  std::scoped_lock<std::mutex> lock(mutex);
  // A rank that comes again has lost its first connection.
  if (sender > static_cast<uint32_t>(rank) && sender < static_cast<uint32_t>(worldSize))
    sockets[sender] = std::move(socket);
  arrived.notify_all();
}

/// All ranks encrypt, or none does.
absl::Status TcpEndpointImpl::checkForms(std::span<const std::string> announcements) const {
  for (size_t other = 0; other < announcements.size(); ++other)
    if (const bool encrypts = announcements[other].ends_with(" tls"); encrypts != options.encrypted)
      return withExitCode(absl::FailedPreconditionError(
                              absl::StrCat("rank ", encrypts ? static_cast<int>(other) : rank,
                                           " encrypts tensors, and rank ", encrypts ? rank : static_cast<int>(other),
                                           " does not: give all workers the same --data-encryption")),
                          ExitCode::Cluster);
  return absl::OkStatus();
}

/// Both ends prove once more that they are of the job, where what follows is encrypted.
absl::StatusOr<TcpCore::Connection> TcpEndpointImpl::greet(Socket socket, TlsSide side) {
  if (!identity)
    return TcpCore::Connection{std::move(socket), nullptr};
  auto stream = TlsStream::greet(identity, side, std::move(socket), deadline, [this] { return abort.raised(); });
  if (!stream.ok())
    return stream.status();
  return TcpCore::Connection{Socket(), *std::move(stream)};
}

absl::Status TcpEndpointImpl::reach(int peer, const SocketAddress &address, const Key &key) {
  DialOptions dialing;
  dialing.key = key;
  dialing.sender = static_cast<uint32_t>(rank);
  dialing.receiver = static_cast<uint32_t>(peer);
  dialing.deadline = deadline;
  dialing.interrupted = [this] { return abort.raised(); };
  for (;;) {
    absl::StatusOr<Socket> dialed = dial(address, dialing);
    absl::StatusOr<TcpCore::Connection> socket = dialed.ok() ? greet(*std::move(dialed), TlsSide::Connector)
                                                             : absl::StatusOr<TcpCore::Connection>(dialed.status());
    if (abort.raised())
      return abort.status();
    if (socket.ok()) {
      connections[peer] = *std::move(socket);
      return absl::OkStatus();
    }
    if (absl::IsPermissionDenied(socket.status()) || absl::IsFailedPrecondition(socket.status()))
      return withExitCode(
          absl::FailedPreconditionError(
              absl::StrCat("rank ", rank, " does not find rank ", peer, " at ", address.text(), ": ",
                           std::string(socket.status().message()),
                           "; see that each worker has an address of its own there, or choose it with --data-address")),
          ExitCode::Network);
    if (!absl::IsUnavailable(socket.status()) || SteadyClock::now() + kRetry >= deadline)
      return unreachable(absl::StrCat("rank ", rank, " could not connect to rank ", peer, " at ", address.text(),
                                      " within ", seconds, " s (", std::string(socket.status().message()), ")"));
    std::this_thread::sleep_for(kRetry);
  }
}

/// A rank that has come, and its socket; after some milliseconds none.
std::pair<int, Socket> TcpEndpointImpl::takeArrived() {
  std::unique_lock<std::mutex> lock(mutex);
  auto find = [&] { return std::find_if(sockets.begin(), sockets.end(), [](const Socket &s) { return bool(s); }); };
  if (find() == sockets.end())
    arrived.wait_for(lock, std::chrono::milliseconds(20)); // an abort does not notify
  const auto found = find();
  return found == sockets.end() ? std::pair<int, Socket>(-1, Socket())
                                : std::pair<int, Socket>(found - sockets.begin(), std::move(*found));
}

/// Waits for the ranks above this one. These have reached all below it, so that they greet it next.
absl::Status TcpEndpointImpl::awaitPeers() {
  std::string why;
  for (int missing = rank + 1; missing < worldSize;) {
    if (connections[missing]) {
      ++missing;
      continue;
    }
    if (abort.raised())
      return abort.status();
    if (SteadyClock::now() >= deadline)
      return unreachable(absl::StrCat("rank ", missing, " did not connect to rank ", rank, " at ", own, " within ",
                                      seconds, " s", why.empty() ? "" : " (", why, why.empty() ? "" : ")"));
    auto [peer, socket] = takeArrived();
    if (peer < 0)
      continue;
    absl::StatusOr<TcpCore::Connection> greeted = greet(std::move(socket), TlsSide::Acceptor);
    if (greeted.ok())
      connections[peer] = *std::move(greeted);
    else
      why = std::string(greeted.status().message()); // it may come again
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Transport>> TcpEndpointImpl::connect(std::span<const std::string> announcements,
                                                                    double limit) && {
  seconds = limit;
  deadline =
      SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(limit));
  DGC_RETURN_IF_ERROR(checkForms(announcements));
  connections.resize(worldSize);
  sockets.resize(worldSize);
  std::string secrets;
  for (const std::string &each : announcements)
    absl::StrAppend(&secrets, each, "\n");
  Acceptor::Options accepting;
  accepting.key = deriveKey("data plane", secrets);
  accepting.self = static_cast<uint32_t>(rank);
  if (options.encrypted) {
    DGC_ASSIGN_OR_RETURN(identity, TlsIdentity::ofSecret(deriveKey("encryption of the data plane", secrets)));
  }
  {
    Acceptor acceptor(std::move(listening), accepting,
                      [this](Socket socket, uint32_t sender, auto &) { admit(std::move(socket), sender); });
    for (int peer = 0; peer < rank; ++peer) {
      DGC_ASSIGN_OR_RETURN(SocketAddress address, parseAnnouncement(announcements[peer], peer));
      DGC_RETURN_IF_ERROR(reach(peer, address, accepting.key));
    }
    DGC_RETURN_IF_ERROR(awaitPeers());
  }
  return createMessageTransport(
      "tcp", std::make_unique<TcpCore>(rank, worldSize, std::move(segment), options, abort, std::move(connections)));
}

} // namespace

absl::StatusOr<std::unique_ptr<TcpEndpoint>> TcpEndpoint::create(int rank, int worldSize,
                                                                 std::unique_ptr<SharedSegment> segment,
                                                                 const TransportOptions &options, Abort &abort,
                                                                 const std::string &host, int port) {
  DGC_ASSIGN_OR_RETURN(Socket listening, listenAt(host, port, worldSize + 128));
  DGC_ASSIGN_OR_RETURN(SocketAddress address, boundAddress(listening));
  return std::make_unique<TcpEndpointImpl>(rank, worldSize, std::move(segment), options, abort, std::move(listening),
                                           address);
}

} // namespace dgc::rt
