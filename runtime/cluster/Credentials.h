// How the workers of a job prove to each other that they belong to it.
#pragma once

#include "runtime/cluster/Identity.h"
#include "runtime/net/Tls.h"

#include <memory>
#include <string>

namespace dgc::rt {

/// Where they are; empty: not given.
struct CredentialFiles {
  TlsFiles tls;       ///< --tls-cert, --tls-key, --tls-ca
  std::string secret; ///< --job-secret
};

/// Each that there is has to hold; without any, every process that can connect may join.
struct Credentials {
  std::string secret;                              ///< of the job; empty: it has none
  std::shared_ptr<const TlsIdentity> certificates; ///< null: none
  bool areGiven() const { return !secret.empty() || certificates; }
};

/// The fewest characters of a job's secret: 128 random bits, in hexadecimal digits.
inline constexpr size_t kLeastSecret = 32;

/// Reads the files, and DGC_JOB_SECRET, which --job-secret takes the place of. A worker that the launcher started
/// (DGC_LAUNCHED) has the secret of its job from there, and looks at no file. Errors carry ExitCode::Usage.
absl::StatusOr<Credentials> readCredentials(const CredentialFiles &files, const Environment &environment);

/// The secret of a job as the launcher makes it.
std::string makeJobSecret();

/// What connections between the workers and the coordinator of a job begin with.
struct ControlSecurity {
  Key key{};                              ///< of the handshake
  Protocol protocol = Protocol::Plain;    ///< what follows it
  std::shared_ptr<const TlsIdentity> tls; ///< null where that is no TLS
};
absl::StatusOr<ControlSecurity> securityOf(const Credentials &credentials);

} // namespace dgc::rt
