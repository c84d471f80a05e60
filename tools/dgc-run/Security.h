// What follows from whom the command line trusts.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/artifact/Reader.h"
#include "tools/dgc-run/Flags.h"

namespace dgc::tool {

/// --sandbox: gives up what the code of a plan does not need, before it is loaded and before any thread begins. `isFirst`: this
/// worker writes the files of the run.
absl::Status sandboxFor(const rt::Artifact &artifact, const Flags &flags, bool isFirst);
/// The same of making connections, once there are all.
absl::Status dropNetwork(const rt::Artifact &artifact, const Flags &flags);

/// The keys of --require-signature.
absl::StatusOr<rt::Signers> signersOf(const Flags &flags);

} // namespace dgc::tool
