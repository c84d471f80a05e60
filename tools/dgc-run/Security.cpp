#include "tools/dgc-run/Security.h"

#include "runtime/base/Status.h"

using namespace dgc;
using namespace dgc::rt;

absl::StatusOr<Signers> dgc::tool::signersOf(const Flags &flags) {
  Signers signers;
  for (const std::string &path : flags.signers) {
    absl::StatusOr<SigningKey> key = readSigningKey(realDisk(), path);
    if (!key.ok())
      return annotate(key.status(), "--require-signature");
    signers.push_back(*key);
  }
  return signers;
}
