#include "runtime/net/FrameServer.h"

#include "runtime/base/Task.h"

namespace dgc::rt {

/// How long the other end may take to greet.
constexpr std::chrono::seconds kGreetingTime{10};

FrameServer::FrameServer(Socket listening, FrameSecurity security, Serve serve)
    : security(std::move(security)), serve(std::move(serve)) {
  Acceptor::Options options;
  options.key = this->security.key;
  acceptor = std::make_unique<Acceptor>(
      std::move(listening), options,
      [this](Socket socket, uint32_t, const std::string &peer) { admit(std::move(socket), peer); });
}

FrameServer::~FrameServer() {
  isStopping = true;
  acceptor.reset();
  for (Connection &each : connections)
    each.thread.join();
}

void FrameServer::admit(Socket socket, const std::string &peer) {
  connections.remove_if([](Connection &each) {
    const bool isOver = each.isOver;
    if (isOver)
      each.thread.join();
    return isOver;
  });
  Connection &made = connections.emplace_back();
  made.thread = std::thread([this, &made, peer, socket = std::move(socket)]() mutable {
    Task::hideThisThread();
    const auto deadline = std::chrono::steady_clock::now() + kGreetingTime;
    auto stream = FrameStream::accept(std::move(socket), security, deadline, [this] { return isStopping.load(); });
    if (stream.ok())
      serve(*stream, peer);
    made.isOver = true;
  });
}

} // namespace dgc::rt
