#include "runtime/net/Handshake.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sys/random.h>

namespace dgc::rt {
namespace {

Key proofOf(const Key &key, std::string_view what, const Nonce &challenge, const Nonce &response,
            std::initializer_list<uint32_t> numbers = {}) {
  std::string text(what);
  text.append(reinterpret_cast<const char *>(challenge.data()), challenge.size());
  text.append(reinterpret_cast<const char *>(response.data()), response.size());
  for (uint32_t n : numbers)
    text.append(reinterpret_cast<const char *>(&n), sizeof(n));
  Key proof;
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), key.size(), reinterpret_cast<const unsigned char *>(text.data()), text.size(),
       proof.data(), &length);
  return proof;
}

bool same(const Key &a, const Key &b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

/// Waits until `events` of the socket, in slices, so that an interruption is noticed.
absl::Status await(const Socket &socket, short events, const DialOptions &options) {
  for (;;) {
    if (options.interrupted())
      return absl::CancelledError("interrupted");
    if (std::chrono::steady_clock::now() >= options.deadline)
      return absl::DeadlineExceededError(std::strerror(ETIMEDOUT));
    pollfd entry = {socket.fd(), events, 0};
    if (poll(&entry, 1, 20) > 0)
      return absl::OkStatus();
  }
}

absl::Status lost(int error) { return absl::UnavailableError(std::strerror(error)); }

absl::Status transfer(const Socket &socket, bool sending, std::span<std::byte> bytes, const DialOptions &options) {
  while (!bytes.empty()) {
    DGC_RETURN_IF_ERROR(await(socket, sending ? POLLOUT : POLLIN, options));
    ssize_t n = sending ? send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL)
                        : recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (n == 0)
      return absl::UnavailableError("the connection was closed");
    if (n < 0 && errno != EAGAIN && errno != EINTR)
      return lost(errno);
    bytes = bytes.subspan(std::max<ssize_t>(n, 0));
  }
  return absl::OkStatus();
}

template <class T> absl::Status transfer(const Socket &socket, bool sending, T &message, const DialOptions &options) {
  return transfer(socket, sending, std::as_writable_bytes(std::span(&message, 1)), options);
}

absl::StatusOr<Socket> connectTo(const SocketAddress &address, const DialOptions &options) {
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return lost(errno);
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(socket.fd(), address.get(), address.length) != 0) {
    if (errno != EINPROGRESS)
      return lost(errno);
    DGC_RETURN_IF_ERROR(await(socket, POLLOUT, options));
  }
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error)
    return lost(error);
  return socket;
}

} // namespace

Key deriveKey(std::string_view purpose, std::string_view secret) {
  Sha256 sha;
  sha.add(purpose);
  sha.add(std::string_view("\0", 1));
  sha.add(secret);
  return sha.finish();
}

Nonce randomNonce() {
  Nonce nonce;
  if (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    std::abort(); // a running Linux has random bytes
  return nonce;
}

std::string describeMismatch(const Magic &own, const Magic &other) {
  auto with = [](const Magic &magic) -> std::string_view {
    for (auto [protocol, text] : {std::pair(Protocol::Plain, "without certificates and without a job secret"),
                                  {Protocol::Secret, "with a job secret (--job-secret or DGC_JOB_SECRET)"},
                                  {Protocol::Certificates, "with certificates (--tls-cert)"}})
      if (magic == magicOf(protocol))
        return text;
    return "";
  };
  if (with(own).empty() || with(other).empty())
    return "";
  return str("was started ", with(other), ", and this process ", with(own), ": give all workers the same");
}

Challenger::Challenger(const Key &key, uint32_t self, Protocol protocol)
    : key(key), self(self), sent{magicOf(protocol), randomNonce()} {}

bool Challenger::verify(const Response &r) const {
  return r.magic == sent.magic && same(r.proof, proofOf(key, "response", sent.nonce, r.nonce, {r.sender, self}));
}

HandshakeResult Challenger::result(const Response &r, bool accepted) const {
  return {sent.magic, accepted, accepted ? proofOf(key, "verdict", sent.nonce, r.nonce) : Key{}};
}

absl::StatusOr<Socket> dial(const SocketAddress &address, const DialOptions &options) {
  DGC_ASSIGN_OR_RETURN(Socket socket, connectTo(address, options));
  Challenge challenge;
  DGC_RETURN_IF_ERROR(transfer(socket, false, challenge, options));
  Magic own = magicOf(options.protocol);
  if (challenge.magic != own) {
    const std::string mismatch = describeMismatch(own, challenge.magic);
    if (mismatch.empty())
      return absl::FailedPreconditionError("what answers there is no dgc, or one of another version");
    transfer(socket, true, own, options).IgnoreError(); // so that the other side can say it as well
    return absl::PermissionDeniedError(mismatch);
  }
  Response response{own, options.sender, randomNonce(), {}};
  response.proof =
      proofOf(options.key, "response", challenge.nonce, response.nonce, {options.sender, options.receiver});
  DGC_RETURN_IF_ERROR(transfer(socket, true, response, options));
  HandshakeResult result;
  DGC_RETURN_IF_ERROR(transfer(socket, false, result, options));
  if (result.magic != own)
    return absl::FailedPreconditionError("what answers there is no dgc, or one of another version");
  if (result.accepted != 1 || !same(result.proof, proofOf(options.key, "verdict", challenge.nonce, response.nonce)))
    return absl::PermissionDeniedError(options.protocol == Protocol::Data
                                           ? "what answers there belongs to another job"
                                           : "belongs to a job with another secret; give all workers the same "
                                             "--job-secret or DGC_JOB_SECRET");
  return socket;
}

} // namespace dgc::rt
