// TLS 1.3 between two ends that both prove who they are: by certificates of one authority, or by a secret that they share
// (a pre-shared key with an exchange of ephemeral ones, so that who learns the secret later cannot read what was said before).
#pragma once

#include "runtime/net/Handshake.h"

#include <memory>
#include <string>
#include <variant>

struct ssl_st;
struct ssl_ctx_st;
using SSL = ssl_st; // as OpenSSL has them, whose headers include a lot
using SSL_CTX = ssl_ctx_st;

namespace dgc::rt {

/// PEM files: a chain of certificates that begins with that of this end, its private key, and the certificates of the
/// authorities of which one has to have signed that of the other end.
struct TlsFiles {
  std::string certificate, key, authority;
};

/// What one end proves who it is with. Immutable; safe to share between threads.
class TlsIdentity {
public:
  /// Reads and checks the files: the certificate has to be one that others with this authority accept. Errors name the flags
  /// --tls-cert, --tls-key and --tls-ca, and carry ExitCode::Usage.
  static absl::StatusOr<std::shared_ptr<const TlsIdentity>> ofCertificates(const TlsFiles &files);
  /// `secret` has to be one that nobody can guess: who listens may try guesses for as long as it likes.
  static absl::StatusOr<std::shared_ptr<const TlsIdentity>> ofSecret(const Key &secret);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity &) = delete;

  bool hasCertificates() const { return !files.certificate.empty(); }

private:
  friend class TlsConnection;
  friend struct TlsCallbacks;
  TlsIdentity();

  SSL_CTX *context;
  Key secret{};
  TlsFiles files;
};

enum class TlsSide { Connector, Acceptor };

/// A connection over which both ends prove who they are. It does not block.
///
/// An acceptor that accepts the proof of the other end says so with one byte: before that a connector does not know whether it
/// was accepted.
class TlsConnection {
public:
  /// `network` does not block.
  TlsConnection(std::shared_ptr<const TlsIdentity> identity, TlsSide side, Socket network);
  ~TlsConnection();
  TlsConnection(const TlsConnection &) = delete;

  /// Does what can be done without waiting. PermissionDenied says that one end does not accept the other, and why; Unavailable,
  /// that the connection was lost. OK is no promise that it is open.
  absl::Status greet();
  /// Both ends have accepted each other.
  bool isOpen() const { return state == State::Open; }
  /// What greet() waits for.
  short greetingEvents() const;

  SSL *get() const { return ssl; }
  int fd() const { return network.fd(); }

private:
  enum class State { Greeting, Confirming, Open };
  absl::Status confirm();
  absl::Status failure(int result);

  const std::shared_ptr<const TlsIdentity> identity;
  const TlsSide side;
  State state = State::Greeting;
  Socket network;
  SSL *ssl;
  bool wantsWrite = false;
  std::string peer, refusal; ///< set by the check of a certificate that is not accepted
  friend struct TlsCallbacks;
};

/// One connection: carries bytes between a TLS connection and a plain socket of this process, which has the other end. Never
/// blocks; its caller waits for what events() says, and calls advance(). The byte of an acceptor is none that the plain socket
/// sees.
class TlsTunnel {
public:
  /// `network` does not block.
  TlsTunnel(std::shared_ptr<const TlsIdentity> identity, TlsSide side, Socket network);
  TlsTunnel(const TlsTunnel &) = delete;

  /// What it waits for: descriptors below 0 are not to be looked at.
  struct Events {
    int network = -1, plain = -1;
    short ofNetwork = 0, ofPlain = 0;
  };
  Events events() const;
  /// Does what can be done without waiting. Failed until it is open, as TlsConnection::greet().
  absl::Status advance();
  /// Both ends have accepted each other.
  bool isOpen() const { return state == State::Open; }
  /// The connection has ended, and all that came before has been passed on.
  bool isOver() const { return state == State::Over; }
  /// Nothing that was written to the plain socket is still on its way to the network.
  bool isIdle() const;
  /// Once it is open: the end of the plain socket that is for others, once.
  Socket takePlain() { return std::move(otherEnd); }

private:
  enum class State { Greeting, Open, Over };
  struct Buffer {
    std::array<char, 16384> bytes;
    size_t begin = 0, end = 0;
    bool isEmpty() const { return begin == end; }
  };
  absl::Status open();
  /// Whether anything has moved.
  bool send();
  bool receive();
  void end();

  TlsConnection connection;
  State state = State::Greeting;
  Socket plain, otherEnd;
  bool networkEnded = false, plainEnded = false;
  Buffer outgoing, incoming;
};

/// Connects a socket that leads to an acceptor: greets, within the limits of `options`. The tunnel is open.
absl::StatusOr<std::unique_ptr<TlsTunnel>> connectTls(std::shared_ptr<const TlsIdentity> identity, Socket socket,
                                                      const DialOptions &options);

} // namespace dgc::rt
