// Pages over HTTP, for those who watch a job.
#pragma once

#include "runtime/net/Address.h"

#include "absl/status/statusor.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dgc::rt {

/// Accepts "PORT", which is one of 127.0.0.1, and "ADDRESS:PORT" with digits for the address, or localhost. Port 0: a free
/// one. `flag` names the value in errors.
absl::StatusOr<Address> parseListen(const std::string &text, const std::string &flag);

/// One page of a server.
struct ServedPage {
  std::string path, type;
  std::function<std::string()> content; // called by a thread of the server
};

/// Answers GET and HEAD, by threads of its own, as long as it lives. Where it listens at a loopback address it answers
/// only to a loopback host, so that no page of the web can read it through a browser.
class PageServer {
public:
  static absl::StatusOr<std::unique_ptr<PageServer>> start(const Address &at, std::vector<ServedPage> pages,
                                                           const std::string &flag);
  virtual ~PageServer() = default;
  /// With its port.
  virtual Address address() const = 0;
};

} // namespace dgc::rt
