// What the command line says of whom to trust.
#pragma once

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "runtime/artifact/Reader.h"
#include "tools/dgc-run/Flags.h"

namespace dgc::tool {

void addSecurityFlags(CLI::App &app, Flags &flags);

/// The keys of --require-signature.
absl::StatusOr<rt::Signers> signersOf(const Flags &flags);

} // namespace dgc::tool
