// How both ends of a TCP connection prove, before anything else is read, that they belong to one job.
//
// The acceptor speaks first, so that a proof cannot be replayed:
//   acceptor   Challenge: magic, nonce A
//   connector  Response:  magic, who it is, nonce B, HMAC-SHA-256(key, "response", A, B, connector, acceptor)
//   acceptor   Result:    magic, accepted or refused, HMAC-SHA-256(key, "verdict", A, B)
// The key itself is never sent. The magic names what follows on the connection: bytes that are neither encrypted nor
// authenticated, or TLS. A connector that is for something else says so by its own magic, and the connection ends.
#pragma once

#include "runtime/net/Socket.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

namespace dgc::rt {

using Key = std::array<uint8_t, 32>;
using Nonce = std::array<uint8_t, 16>;

/// The key of `secret` for one purpose: keys of different purposes do not open each other's connections.
Key deriveKey(std::string_view purpose, std::string_view secret);

/// Random bytes of the kernel.
Nonce randomNonce();

/// What follows the handshake: tensors between workers; or the control plane, as it is, or in TLS by a secret of the job or
/// by certificates.
enum class Protocol : char { Data = '2', Plain = 'p', Secret = 's', Certificates = 'c' };

/// Names the version of the handshake and the protocol that follows it.
using Magic = std::array<char, 8>;
constexpr Magic magicOf(Protocol protocol) { return {'d', 'g', 'c', ' ', 'j', 'o', 'b', static_cast<char>(protocol)}; }

/// Why who has `own` and who has `other` do not meet, said of the other one, as in "was started with certificates ..., and
/// this one with ..."; empty where `other` is no magic of a control plane.
std::string describeMismatch(const Magic &own, const Magic &other);

/// The three messages as they are on the wire, in the byte order of the machines (little-endian, as the tensors are).
struct Challenge {
  Magic magic;
  Nonce nonce;
};
struct Response {
  Magic magic;
  uint32_t sender;
  Nonce nonce;
  Key proof;
};
struct HandshakeResult {
  Magic magic;
  uint32_t accepted; ///< 1; anything else: refused
  Key proof;
};
static_assert(sizeof(Challenge) == 24 && sizeof(Response) == 60 && sizeof(HandshakeResult) == 44);

/// The acceptor's side, without a socket.
class Challenger {
public:
  /// `self` is the number that the connector must mean.
  Challenger(const Key &key, uint32_t self, Protocol protocol = Protocol::Data);
  const Challenge &challenge() const { return sent; }
  /// Whether `response` proves that its sender has the key and means this acceptor.
  bool verify(const Response &response) const;
  HandshakeResult result(const Response &response, bool accepted) const;

private:
  Key key;
  uint32_t self;
  Challenge sent;
};

struct DialOptions {
  Key key{};
  Protocol protocol = Protocol::Data;
  uint32_t sender = 0;   ///< who connects
  uint32_t receiver = 0; ///< who is meant
  std::chrono::steady_clock::time_point deadline;
  /// Looked at every 20 ms; true ends the attempt with Cancelled.
  std::function<bool()> interrupted = [] { return false; };
};

/// Connects to `address` and proves to be of the job. The socket does not block.
/// Unavailable or DeadlineExceeded: it may be worth another attempt. FailedPrecondition: what answers is no dgc, or one
/// of another version. PermissionDenied: it has another key, or another protocol of a control plane.
absl::StatusOr<Socket> dial(const SocketAddress &address, const DialOptions &options);

} // namespace dgc::rt
