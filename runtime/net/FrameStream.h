// Messages of any length over a connection of a job: a header and a body, both of bytes.
#pragma once

#include "runtime/net/Address.h"
#include "runtime/net/TlsStream.h"

#include <functional>
#include <memory>
#include <string>

namespace dgc::rt {

/// What both ends of a connection prove who they are with, and whether what follows is encrypted.
struct FrameSecurity {
  Key key{};
  std::shared_ptr<const TlsIdentity> tls; ///< null: not encrypted
};

struct Frame {
  std::string header, body;
};

/// Used by one thread.
class FrameStream {
public:
  /// Looked at every 20 ms of a wait; true ends that with Cancelled.
  using Interrupted = std::function<bool()>;

  /// One attempt to connect. The errors are those of dial(), and those of TlsStream::greet().
  static absl::StatusOr<FrameStream> connect(const Address &address, const FrameSecurity &security,
                                             std::chrono::steady_clock::time_point deadline, Interrupted interrupted);
  /// The other end of it, behind an Acceptor.
  static absl::StatusOr<FrameStream> accept(Socket socket, const FrameSecurity &security,
                                            std::chrono::steady_clock::time_point deadline, Interrupted interrupted);

  /// Returns when all of it is on its way. Unavailable: the connection is lost.
  absl::Status send(std::string_view header, std::string_view body = {});
  /// The next frame. InvalidArgument: its header or body has more bytes than may be; DeadlineExceeded: nothing came within
  /// `seconds`.
  absl::StatusOr<Frame> receive(uint64_t mostHeader, uint64_t mostBody, double seconds);
  /// Whether bytes are there, or the other end has closed.
  bool isReadable() const;

private:
  FrameStream(Socket socket, Interrupted interrupted)
      : socket(std::move(socket)), interrupted(std::move(interrupted)) {}
  FrameStream(std::unique_ptr<TlsStream> tls, Interrupted interrupted)
      : tls(std::move(tls)), interrupted(std::move(interrupted)) {}
  int fd() const { return tls ? tls->fd() : socket.fd(); }
  absl::Status await(short events, std::chrono::steady_clock::time_point deadline) const;
  absl::Status read(char *to, size_t bytes, std::chrono::steady_clock::time_point deadline);

  Socket socket;
  std::unique_ptr<TlsStream> tls; // null: not encrypted
  Interrupted interrupted;
};

} // namespace dgc::rt
