// Sockets between processes of one user on one machine. Their names are in no folder (the abstract namespace of Linux), so
// they end with their process. Both ends ask the kernel for the user of the other one.
#pragma once

#include "runtime/net/Socket.h"

#include <functional>
#include <thread>

namespace dgc::rt {

/// Listens at a name and answers each connection of this user, on a thread.
class LocalServer {
public:
  /// What is said to who connects. Does not block.
  using Answer = std::function<void(const Socket &)>;
  /// AlreadyExists: something else has the name.
  static absl::StatusOr<std::unique_ptr<LocalServer>> start(const std::string &name, Answer answer);
  ~LocalServer();
  LocalServer(const LocalServer &) = delete;

private:
  LocalServer(Socket listening, Answer answer);
  void run();

  const Socket listening, wake;
  const Answer answer;
  std::thread thread;
};

/// Connects to a server of this user; reading from the result waits so many seconds at most. NotFound: nobody has the name.
/// PermissionDenied: another user has it.
absl::StatusOr<Socket> connectLocally(const std::string &name, int seconds);

/// Sends a descriptor over a local socket; the receiver's, which is another one, of the same file. None where none came.
void sendDescriptor(const Socket &socket, int fd);
Socket receiveDescriptor(const Socket &socket);

} // namespace dgc::rt
