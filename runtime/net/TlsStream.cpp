#include "runtime/net/TlsStream.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

namespace dgc::rt {

absl::StatusOr<std::unique_ptr<TlsStream>> TlsStream::greet(std::shared_ptr<const TlsIdentity> identity, TlsSide side,
                                                            Socket network,
                                                            std::chrono::steady_clock::time_point deadline,
                                                            const std::function<bool()> &interrupted) {
  std::unique_ptr<TlsStream> stream(new TlsStream(std::move(identity), side, std::move(network)));
  while (true) {
    DGC_RETURN_IF_ERROR(stream->connection.greet());
    if (stream->connection.isOpen())
      return stream;
    if (interrupted())
      return absl::CancelledError("interrupted");
    if (std::chrono::steady_clock::now() >= deadline)
      return absl::DeadlineExceededError(std::strerror(ETIMEDOUT));
    pollfd entry = {stream->fd(), stream->connection.greetingEvents(), 0};
    poll(&entry, 1, 20);
  }
}

ssize_t TlsStream::fail(int result) {
  const int kind = SSL_get_error(connection.get(), result), error = errno;
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
    errno = EAGAIN;
    return -1;
  }
  if (kind == SSL_ERROR_ZERO_RETURN)
    return 0;
  const unsigned long code = ERR_peek_error();
  const char *text = kind == SSL_ERROR_SSL && code ? ERR_reason_error_string(code) : nullptr;
  if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING || (!text && error == 0)) {
    ERR_clear_error();
    return 0; // it was closed
  }
  reason = text ? str("TLS: ", text) : std::strerror(error);
  ERR_clear_error();
  errno = text ? EBADMSG : error;
  return -1;
}

ssize_t TlsStream::write(const void *data, size_t bytes) {
  ERR_clear_error();
  errno = 0;
  const int n = SSL_write(connection.get(), data, static_cast<int>(std::min<size_t>(bytes, INT_MAX)));
  return n > 0 ? n : fail(n);
}

ssize_t TlsStream::read(void *data, size_t bytes) {
  ERR_clear_error();
  errno = 0;
  const int n = SSL_read(connection.get(), data, static_cast<int>(std::min<size_t>(bytes, INT_MAX)));
  return n > 0 ? n : fail(n);
}

ssize_t TlsStream::send(const iovec *parts, int count) {
  while (count > 0 && parts->iov_len == 0) {
    ++parts;
    --count;
  }
  if (count == 0)
    return 0;
  if (count == 1 || parts[0].iov_len >= joined.size())
    return write(parts[0].iov_base, parts[0].iov_len);
  const size_t second = std::min(parts[1].iov_len, joined.size() - parts[0].iov_len);
  std::memcpy(joined.data(), parts[0].iov_base, parts[0].iov_len);
  if (second > 0)
    std::memcpy(joined.data() + parts[0].iov_len, parts[1].iov_base, second);
  return write(joined.data(), parts[0].iov_len + second);
}

ssize_t TlsStream::receive(const iovec *parts, int count) {
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) {
    auto *at = static_cast<char *>(parts[i].iov_base);
    for (size_t left = parts[i].iov_len; left > 0;) {
      const ssize_t n = read(at, left);
      if (n <= 0) // what there is comes first; the next call finds the same end
        return sum > 0 ? sum : n;
      at += n;
      left -= static_cast<size_t>(n);
      sum += n;
    }
  }
  return sum;
}

} // namespace dgc::rt
