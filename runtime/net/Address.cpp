// Parsing of addresses, and the rule that nothing is exposed unasked.
#include "runtime/net/Address.h"
#include "runtime/base/ExitCode.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <arpa/inet.h>
#include <netdb.h>

namespace dgc::rt {

std::string Address::text() const {
  if (host.find(':') != std::string::npos)
    return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

absl::StatusOr<Address> parseAddress(const std::string &text, const std::string &what, int defaultPort) {
  auto bad = [&](const std::string &why) {
    return withExitCode(absl::InvalidArgumentError(absl::StrCat(what, " is '", text, "': ", why,
                                                                "; expected HOST:PORT, e.g. 127.0.0.1:29400")),
                        ExitCode::Usage);
  };
  Address a;
  std::string port;
  bool single = false; // one colon, so that it separates the port
  if (!text.empty() && text[0] == '[') {
    size_t end = text.find(']');
    if (end == std::string::npos)
      return bad("'[' without ']'");
    a.host = text.substr(1, end - 1);
    std::string rest = text.substr(end + 1);
    if (!rest.empty() && rest[0] != ':')
      return bad("unexpected text after ']'");
    single = !rest.empty();
    port = rest.empty() ? "" : rest.substr(1);
  } else {
    size_t colon = text.find(':');
    single = colon != std::string::npos && text.find(':', colon + 1) == std::string::npos;
    if (colon != std::string::npos && !single)
      return bad("an IPv6 address needs brackets");
    a.host = text.substr(0, colon);
    port = single ? text.substr(colon + 1) : "";
  }
  if (a.host.empty())
    return bad("the host is missing");
  for (char c : a.host)
    if (c <= ' ' || c == '/' || c == '@' || c == '[' || c == ']' || static_cast<unsigned char>(c) > 126)
      return bad("the host has a character that hosts do not have");
  if (!single) {
    if (defaultPort < 0)
      return bad("the port is missing");
    a.port = defaultPort;
    return a;
  }
  if (!absl::SimpleAtoi(port, &a.port) || a.port < 0 || a.port > 65535 || (a.port == 0 && defaultPort < 0))
    return bad("the port must be a number from 1 to 65535");
  return a;
}

namespace {

bool loopback(const sockaddr *address) {
  if (address->sa_family == AF_INET) {
    auto *in = reinterpret_cast<const sockaddr_in *>(address);
    return ntohl(in->sin_addr.s_addr) >> 24 == 127;
  }
  if (address->sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr);
  return false;
}

} // namespace

bool isLoopback(const std::string &host) {
  if (host == "localhost")
    return true;
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0 || !list)
    return false;
  bool all = true;
  for (addrinfo *each = list; each; each = each->ai_next)
    all = all && loopback(each->ai_addr);
  freeaddrinfo(list);
  return all;
}

absl::Status checkExposure(const Address &address, const std::string &what, bool mayBeReached) {
  if (mayBeReached || isLoopback(address.host))
    return absl::OkStatus();
  return usageError(
      absl::StrCat(what, " ", address.text(),
                   " is not a loopback address, so workers have to prove who they are. Give all of them "
                   "--tls-cert, --tls-key and --tls-ca with certificates of one authority; or one secret, "
                   "with --job-secret FILE or in DGC_JOB_SECRET (openssl rand -hex 32 makes one); or, in a "
                   "network that only you can reach, --insecure"));
}

} // namespace dgc::rt
