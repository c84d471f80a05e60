#include "runtime/cluster/Credentials.h"

#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include <sys/random.h>

namespace dgc::rt {

/// A secret is text of one line; `source` is where it comes from.
static absl::StatusOr<std::string> checkSecret(std::string_view source, std::string text) {
  absl::StripAsciiWhitespace(&text);
  if (text.size() < kLeastSecret)
    return usageError(str(source, ": a job's secret has ", kLeastSecret, " characters at least, this one ", text.size(),
                          "; openssl rand -hex 32 makes one"));
  return text;
}

static absl::StatusOr<std::string> readSecret(const std::string &path, const char *fromEnvironment) {
  if (!path.empty()) {
    absl::StatusOr<std::string> text = readFile(realDisk(), path, 1 << 16);
    if (!text.ok())
      return withExitCode(annotate(text.status(), "--job-secret"), ExitCode::Usage);
    return checkSecret(str("--job-secret ", path), *std::move(text));
  }
  if (fromEnvironment && *fromEnvironment)
    return checkSecret("DGC_JOB_SECRET", fromEnvironment);
  return "";
}

/// Whether all three are given, or none; in an error, what is missing.
static absl::StatusOr<bool> hasCertificates(const TlsFiles &files) {
  std::string given, missing;
  for (auto [flag, path] :
       {std::pair("--tls-cert", &files.certificate), {"--tls-key", &files.key}, {"--tls-ca", &files.authority}}) {
    std::string &list = path->empty() ? missing : given;
    list += str(list.empty() ? "" : " and ", flag);
  }
  if (!given.empty() && !missing.empty())
    return usageError(str(given, " without ", missing, ": --tls-cert, --tls-key and --tls-ca go together"));
  return missing.empty();
}

absl::StatusOr<Credentials> readCredentials(const CredentialFiles &files, const Environment &environment) {
  Credentials result;
  const bool isLaunched = environment("DGC_LAUNCHED") != nullptr;
  DGC_ASSIGN_OR_RETURN(result.secret, readSecret(isLaunched ? "" : files.secret, environment("DGC_JOB_SECRET")));
  DGC_ASSIGN_OR_RETURN(const bool isTls, hasCertificates(files.tls));
  if (isTls && !isLaunched) {
    DGC_ASSIGN_OR_RETURN(result.certificates, TlsIdentity::ofCertificates(files.tls));
  }
  return result;
}

std::string makeJobSecret() {
  std::array<char, 32> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort(); // a running Linux has random bytes
  return absl::BytesToHexString(std::string(bytes.data(), bytes.size()));
}

absl::StatusOr<ControlSecurity> securityOf(const Credentials &credentials) {
  ControlSecurity result;
  result.key = deriveKey("control plane", credentials.secret);
  if (credentials.certificates) {
    result.protocol = Protocol::Certificates;
    result.tls = credentials.certificates;
  } else if (!credentials.secret.empty()) {
    result.protocol = Protocol::Secret;
    DGC_ASSIGN_OR_RETURN(result.tls, TlsIdentity::ofSecret(deriveKey("control plane, TLS", credentials.secret)));
  }
  return result;
}

} // namespace dgc::rt
