// Messages over one TCP connection for each pair of ranks.
#pragma once

#include "runtime/collective/MessagePassing.h"
#include "runtime/collective/Wait.h"
#include "runtime/net/TlsStream.h"

#include <deque>

#include <poll.h>

namespace dgc::rt {

/// A message is a Frame and its bytes. Nothing is read of a connection from which nothing is awaited, so that what a
/// peer sends early waits in the kernel and then in the peer. When messages of one peer come in another order than they
/// are received in, those that come first are kept aside.
class TcpCore final : public MessagePassing {
public:
  /// To another rank: a socket, or one in TLS.
  struct Connection {
    Socket socket;
    std::unique_ptr<TlsStream> tls;

    explicit operator bool() const { return socket || tls; }
    int fd() const { return tls ? tls->fd() : socket.fd(); }
    /// As sendmsg and readv, which do not wait.
    ssize_t send(iovec *parts, int count);
    ssize_t receive(iovec *parts, int count);
    /// What the last error was.
    std::string why() const;
  };

  /// `connections` by rank; the one of this rank is empty.
  TcpCore(int rank, int worldSize, std::unique_ptr<SharedSegment> segment, const TransportOptions &options,
          Abort &abort, std::vector<Connection> connections);

  void reserve(size_t count) override;
  void send(int to, uint64_t tag, const void *data, uint64_t bytes) override;
  void receive(int from, uint64_t tag, void *data, uint64_t bytes) override;
  absl::Status finish(const std::string &title) override;

private:
  struct Frame {
    uint64_t tag = 0, bytes = 0;
  };
  struct Transfer {
    Frame frame;
    std::byte *data = nullptr;
    bool done = false;
  };
  /// A message that came before it was asked for.
  struct Early {
    uint64_t tag;
    std::vector<std::byte> data;
    bool complete = false;
  };
  struct Peer {
    Connection connection;
    std::vector<Transfer> sends, receives; ///< since the last finish()
    size_t sent = 0, open = 0;             ///< sends that are done; receives that are not
    uint64_t sentBytes = 0;                ///< of the send under way, its frame included

    Frame incoming;
    uint64_t frameBytes = 0, bodyBytes = 0; ///< how much of the incoming message is there
    bool matched = false;                   ///< whether it is known where it goes:
    std::byte *body = nullptr;
    Transfer *target = nullptr; ///< the receive that it is; null: it is the last one of `early`
    std::deque<Early> early;

    std::string failure;             ///< why the connection is lost
    const Transfer *wrong = nullptr; ///< a receive whose message has another size
  };

  bool isWaiting(const Peer &p) const { return p.sent < p.sends.size() || p.open > 0; }
  /// Moves what can be moved without waiting; whether that is anything.
  bool progress(Peer &p);
  /// Sleeps until a peer from rank `first` on is ready, or for a millisecond.
  void awaitReady(size_t first);
  void write(Peer &p);
  void read(Peer &p);
  /// Finds where the message goes whose frame has come; false: nowhere.
  bool match(Peer &p);
  void complete(Peer &p);
  /// Hands a message that was kept aside to a receive.
  void deliver(Peer &p, const std::deque<Early>::iterator &early, Transfer &receive);
  void fail(Peer &p, std::string why);
  void refuse(Peer &p, Transfer &receive);
  absl::Status end(const std::string &title);

  std::vector<Peer> peers; ///< by rank
  std::vector<pollfd> ready;
  bool broken = false; ///< a peer has a failure or a wrong message
  Waiter waiter;
};

} // namespace dgc::rt
