#include "runtime/net/Tls.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/ioctl.h>

namespace dgc::rt {

/// What OpenSSL calls.
struct TlsCallbacks {
  static TlsConnection &connection(SSL *ssl) { return *static_cast<TlsConnection *>(SSL_get_app_data(ssl)); }

  /// Notes why a certificate is not accepted: OpenSSL forgets it with the connection.
  static int verified(int ok, X509_STORE_CTX *store) {
    if (!ok)
      note(connection(static_cast<SSL *>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()))),
           store);
    return ok;
  }
  static void note(TlsConnection &connection, X509_STORE_CTX *store);

  static SSL_SESSION *session(SSL *ssl) {
    const unsigned char cipher[] = {0x13, 0x01}; // TLS_AES_128_GCM_SHA256
    const Key &secret = connection(ssl).identity->secret;
    SSL_SESSION *session = SSL_SESSION_new();
    if (session && SSL_SESSION_set1_master_key(session, secret.data(), secret.size()) == 1 &&
        SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, cipher)) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
      return session;
    SSL_SESSION_free(session);
    return nullptr;
  }
  static int find(SSL *ssl, const unsigned char *name, size_t size, SSL_SESSION **result) {
    *result = std::string_view(reinterpret_cast<const char *>(name), size) == kName ? session(ssl) : nullptr;
    return 1;
  }
  static int use(SSL *ssl, const EVP_MD *hash, const unsigned char **name, size_t *size, SSL_SESSION **result) {
    *result = nullptr;
    if (hash && !EVP_MD_is_a(hash, "SHA256"))
      return 1;
    *name = reinterpret_cast<const unsigned char *>(kName.data());
    *size = kName.size();
    *result = session(ssl);
    return *result != nullptr;
  }
  static constexpr std::string_view kName = "dgc job";
};

namespace {

/// The oldest error of OpenSSL in this thread, in words; clears all of them.
std::string takeError() {
  const unsigned long error = ERR_peek_error();
  const char *text = error ? ERR_reason_error_string(error) : nullptr;
  ERR_clear_error();
  return text ? text : "unknown error";
}

std::string describe(const X509 *certificate) {
  char subject[256] = "", issuer[256] = "";
  X509_NAME_oneline(X509_get_subject_name(certificate), subject, sizeof(subject));
  X509_NAME_oneline(X509_get_issuer_name(certificate), issuer, sizeof(issuer));
  return str("'", printable(subject, 256), "', issued by '", printable(issuer, 256), "'");
}

absl::Status wrongFile(std::string_view flag, const std::string &path, const std::string &why) {
  ERR_clear_error();
  return usageError(str(flag, " ", path, ": ", why));
}

absl::Status checkReadable(std::string_view flag, const std::string &path) {
  Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? absl::OkStatus() : wrongFile(flag, path, std::strerror(errno));
}

/// Writes without SIGPIPE, which that of OpenSSL's sockets lets come.
int sendQuietly(BIO *bio, const char *data, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(static_cast<int>(BIO_get_fd(bio, nullptr)), data, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

BIO *quietSocket(int fd) {
  static BIO_METHOD *method = [] {
    const BIO_METHOD *socket = BIO_s_socket();
    BIO_METHOD *quiet = BIO_meth_new(BIO_TYPE_SOCKET, "socket without signals");
    BIO_meth_set_read(quiet, BIO_meth_get_read(socket));
    BIO_meth_set_write(quiet, sendQuietly);
    BIO_meth_set_ctrl(quiet, BIO_meth_get_ctrl(socket));
    BIO_meth_set_create(quiet, BIO_meth_get_create(socket));
    BIO_meth_set_destroy(quiet, BIO_meth_get_destroy(socket));
    return quiet;
  }();
  BIO *bio = BIO_new(method);
  BIO_set_fd(bio, fd, BIO_NOCLOSE);
  return bio;
}

/// Asked for where a key has a passphrase; nobody is there to type it.
int refusePassphrase(char *, int, int, void *) { return -1; }

/// Whether others that trust the same authorities accept the certificate of this end.
absl::Status checkOwn(SSL_CTX *context, const TlsFiles &files) {
  X509_STORE_CTX *store = X509_STORE_CTX_new();
  STACK_OF(X509) *chain = nullptr;
  SSL_CTX_get0_chain_certs(context, &chain);
  X509 *own = SSL_CTX_get0_certificate(context);
  X509_STORE_CTX_init(store, SSL_CTX_get_cert_store(context), own, chain);
  const bool holds = X509_verify_cert(store) == 1;
  const std::string why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
  X509_STORE_CTX_free(store);
  if (holds)
    return absl::OkStatus();
  return wrongFile("--tls-cert", files.certificate,
                   str("the certificate of ", describe(own), " is not one that --tls-ca ", files.authority,
                       " accepts: ", why, "; all workers need certificates of one authority"));
}

} // namespace

void TlsCallbacks::note(TlsConnection &connection, X509_STORE_CTX *store) {
  const X509 *certificate = X509_STORE_CTX_get0_cert(store);
  connection.peer = certificate ? describe(certificate) : "nobody";
  connection.refusal = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
}

TlsIdentity::TlsIdentity() : context(SSL_CTX_new(TLS_method())) {
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Each connection begins with proofs of its own: no session is resumed.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, TlsCallbacks::verified);
}

TlsIdentity::~TlsIdentity() {
  SSL_CTX_free(context);
  OPENSSL_cleanse(secret.data(), secret.size());
}

absl::StatusOr<std::shared_ptr<const TlsIdentity>> TlsIdentity::ofCertificates(const TlsFiles &files) {
  std::shared_ptr<TlsIdentity> identity(new TlsIdentity());
  SSL_CTX *context = identity->context;
  for (auto [flag, path] :
       {std::pair("--tls-cert", &files.certificate), {"--tls-key", &files.key}, {"--tls-ca", &files.authority}})
    DGC_RETURN_IF_ERROR(checkReadable(flag, *path));
  SSL_CTX_set_default_passwd_cb(context, refusePassphrase);
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
    return wrongFile("--tls-cert", files.certificate, str("not a PEM file with a certificate: ", takeError()));
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    const bool isOfAnother = reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH;
    return wrongFile("--tls-key", files.key,
                     isOfAnother ? str("this is not the key of the certificate in --tls-cert ", files.certificate)
                                 : str("not a PEM file with a private key, without a passphrase: ", takeError()));
  }
  if (SSL_CTX_load_verify_locations(context, files.authority.c_str(), nullptr) != 1)
    return wrongFile("--tls-ca", files.authority, str("not a PEM file with certificates: ", takeError()));
  DGC_RETURN_IF_ERROR(checkOwn(context, files));
  identity->files = files;
  return identity;
}

absl::StatusOr<std::shared_ptr<const TlsIdentity>> TlsIdentity::ofSecret(const Key &secret) {
  std::shared_ptr<TlsIdentity> identity(new TlsIdentity());
  if (SSL_CTX_set_ciphersuites(identity->context, "TLS_AES_128_GCM_SHA256") != 1)
    return absl::InternalError(str("OpenSSL has no TLS_AES_128_GCM_SHA256: ", takeError()));
  identity->secret = secret;
  SSL_CTX_set_psk_find_session_callback(identity->context, TlsCallbacks::find);
  SSL_CTX_set_psk_use_session_callback(identity->context, TlsCallbacks::use);
  return identity;
}

TlsConnection::TlsConnection(std::shared_ptr<const TlsIdentity> id, TlsSide side, Socket socket)
    : identity(std::move(id)), side(side), network(std::move(socket)), ssl(SSL_new(identity->context)) {
  SSL_set_app_data(ssl, this);
  BIO *bio = quietSocket(network.fd());
  SSL_set_bio(ssl, bio, bio);
  if (side == TlsSide::Connector) {
    SSL_set_connect_state(ssl);
    return;
  }
  SSL_set_accept_state(ssl);
  SSL_set_session_id_context(ssl, reinterpret_cast<const unsigned char *>(TlsCallbacks::kName.data()),
                             TlsCallbacks::kName.size());
}

TlsConnection::~TlsConnection() { SSL_free(ssl); }

absl::Status TlsConnection::failure(int result) {
  const int kind = SSL_get_error(ssl, result);
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
    wantsWrite = kind == SSL_ERROR_WANT_WRITE;
    return absl::OkStatus();
  }
  const int error = errno;
  const bool isAlert = kind == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_error()) >= SSL_AD_REASON_OFFSET;
  const std::string reason = kind == SSL_ERROR_SSL ? takeError() : "";
  ERR_clear_error();
  if (!refusal.empty())
    return absl::PermissionDeniedError(
        str("has a certificate of ", peer, ", which --tls-ca does not accept: ", refusal));
  if (isAlert)
    return absl::PermissionDeniedError(str(
        "does not accept the ", identity->hasCertificates() ? "certificate" : "secret", " of this process: ", reason));
  if (kind == SSL_ERROR_SSL && reason != "unexpected eof while reading")
    return absl::PermissionDeniedError(str("could not prove who it is: ", reason));
  return absl::UnavailableError(kind == SSL_ERROR_SYSCALL && error ? std::strerror(error)
                                                                   : "the connection was closed");
}

short TlsConnection::greetingEvents() const { return wantsWrite ? POLLOUT : POLLIN; }

absl::Status TlsConnection::greet() {
  if (state == State::Open)
    return absl::OkStatus();
  if (state == State::Confirming)
    return confirm();
  ERR_clear_error();
  errno = 0;
  if (const int result = SSL_do_handshake(ssl); result != 1)
    return failure(result);
  // OpenSSL has checked it; that nothing but a certificate or the secret may prove it is not left to its defaults.
  const bool isProved = identity->hasCertificates()
                            ? SSL_get0_peer_certificate(ssl) != nullptr && SSL_get_verify_result(ssl) == X509_V_OK
                            : SSL_session_reused(ssl) == 1;
  if (!isProved)
    return absl::PermissionDeniedError("has not proved who it is");
  state = State::Confirming;
  return confirm();
}

absl::Status TlsConnection::confirm() {
  char word = '1';
  ERR_clear_error();
  errno = 0;
  const int result = side == TlsSide::Acceptor ? SSL_write(ssl, &word, 1) : SSL_read(ssl, &word, 1);
  if (result != 1)
    return failure(result);
  state = State::Open;
  return absl::OkStatus();
}

TlsTunnel::TlsTunnel(std::shared_ptr<const TlsIdentity> identity, TlsSide side, Socket network)
    : connection(std::move(identity), side, std::move(network)) {}

absl::Status TlsTunnel::open() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return absl::UnavailableError(std::strerror(errno));
  plain = Socket(ends[0]);
  otherEnd = Socket(ends[1]);
  state = State::Open;
  return absl::OkStatus();
}

TlsTunnel::Events TlsTunnel::events() const {
  Events result;
  if (state == State::Over)
    return result;
  if (state != State::Open) {
    result.network = connection.fd();
    result.ofNetwork = connection.greetingEvents();
    return result;
  }
  if (!networkEnded && incoming.isEmpty())
    result.ofNetwork |= POLLIN;
  if (!outgoing.isEmpty())
    result.ofNetwork |= POLLOUT;
  if (!plainEnded && outgoing.isEmpty())
    result.ofPlain |= POLLIN;
  if (!incoming.isEmpty())
    result.ofPlain |= POLLOUT;
  // A descriptor that nothing is wanted of would wake the poll when it has ended.
  result.network = result.ofNetwork ? connection.fd() : -1;
  result.plain = result.ofPlain ? plain.fd() : -1;
  return result;
}

bool TlsTunnel::send() {
  bool hasMoved = false;
  if (outgoing.isEmpty() && !plainEnded) {
    const ssize_t n = recv(plain.fd(), outgoing.bytes.data(), outgoing.bytes.size(), 0);
    plainEnded = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    outgoing.begin = 0;
    outgoing.end = static_cast<size_t>(std::max<ssize_t>(n, 0));
    hasMoved = n > 0;
  }
  if (outgoing.isEmpty())
    return hasMoved;
  ERR_clear_error();
  const int n = SSL_write(connection.get(), outgoing.bytes.data() + outgoing.begin,
                          static_cast<int>(outgoing.end - outgoing.begin));
  if (n > 0) {
    outgoing.begin += static_cast<size_t>(n);
    return true;
  }
  const int kind = SSL_get_error(connection.get(), n);
  if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE) {
    networkEnded = true;
    outgoing.begin = outgoing.end;
  }
  return hasMoved;
}

bool TlsTunnel::receive() {
  bool hasMoved = false;
  if (incoming.isEmpty() && !networkEnded) {
    ERR_clear_error();
    const int n = SSL_read(connection.get(), incoming.bytes.data(), static_cast<int>(incoming.bytes.size()));
    incoming.begin = 0;
    incoming.end = static_cast<size_t>(std::max(n, 0));
    const int kind = n > 0 ? SSL_ERROR_NONE : SSL_get_error(connection.get(), n);
    networkEnded = n <= 0 && kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE;
    hasMoved = n > 0;
  }
  if (incoming.isEmpty() || plainEnded)
    return hasMoved;
  const ssize_t n =
      ::send(plain.fd(), incoming.bytes.data() + incoming.begin, incoming.end - incoming.begin, MSG_NOSIGNAL);
  if (n > 0)
    incoming.begin += static_cast<size_t>(n);
  else if (n < 0 && errno != EAGAIN && errno != EINTR)
    plainEnded = true;
  return hasMoved || n > 0;
}

void TlsTunnel::end() {
  ERR_clear_error();
  if (!networkEnded)
    SSL_shutdown(connection.get()); // says that nothing is missing
  ERR_clear_error();
  shutdown(connection.fd(), SHUT_WR);
  plain = Socket();
  state = State::Over;
}

absl::Status TlsTunnel::advance() {
  if (state == State::Greeting) {
    DGC_RETURN_IF_ERROR(connection.greet());
    if (connection.isOpen())
      DGC_RETURN_IF_ERROR(open());
  }
  if (state != State::Open)
    return absl::OkStatus();
  while (true) {
    const bool hasSent = send(), hasReceived = receive();
    if (plainEnded)
      incoming.begin = incoming.end; // nobody is there to read it
    if (!hasSent && !hasReceived)
      break;
  }
  if ((plainEnded && outgoing.isEmpty()) || (networkEnded && incoming.isEmpty()))
    end();
  return absl::OkStatus();
}

bool TlsTunnel::isIdle() const {
  int waiting = 0;
  return state != State::Open ||
         (outgoing.isEmpty() && (plainEnded || ioctl(plain.fd(), FIONREAD, &waiting) != 0 || waiting == 0));
}

absl::StatusOr<std::unique_ptr<TlsTunnel>> connectTls(std::shared_ptr<const TlsIdentity> identity, Socket socket,
                                                      const DialOptions &options) {
  auto tunnel = std::make_unique<TlsTunnel>(std::move(identity), TlsSide::Connector, std::move(socket));
  while (true) {
    DGC_RETURN_IF_ERROR(tunnel->advance());
    if (tunnel->isOpen())
      return tunnel;
    if (tunnel->isOver())
      return absl::UnavailableError("the connection was closed");
    if (options.interrupted())
      return absl::CancelledError("interrupted");
    if (std::chrono::steady_clock::now() >= options.deadline)
      return absl::DeadlineExceededError(std::strerror(ETIMEDOUT));
    const TlsTunnel::Events events = tunnel->events();
    pollfd entry = {events.network, events.ofNetwork, 0};
    poll(&entry, 1, 20);
  }
}

} // namespace dgc::rt
