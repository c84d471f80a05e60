// HOST:PORT, and whether a host is this machine alone.
#pragma once

#include "absl/status/statusor.h"

#include <string>

namespace dgc::rt {

struct Address {
  std::string host;
  int port = 0;
  /// HOST:PORT, with brackets around an IPv6 address.
  std::string text() const;
};

/// Accepts "host:1234", "1.2.3.4:1234" and "[::1]:1234". `what` names the value
/// in errors. `defaultPort` below 0: a port must be there.
absl::StatusOr<Address> parseAddress(const std::string &text, const std::string &what, int defaultPort = -1);

/// Whether all addresses of `host` are loopback; "localhost" and numbers are
/// told without asking a name server.
bool isLoopback(const std::string &host);

/// FailedPrecondition unless `address` is loopback or others may reach it: workers prove who they are, or the user does
/// without.
absl::Status checkExposure(const Address &address, const std::string &what, bool mayBeReached);

} // namespace dgc::rt
