#include "runtime/collective/MessagePassing.h"
#include "runtime/base/ExitCode.h"
#include "runtime/collective/Wait.h"

#include "absl/strings/str_cat.h"

namespace dgc::rt {

/// A peer that dies or fails breaks its connections too. Its own error, or the coordinator's word of its death, arrives
/// within this time even when one packet is lost (TCP sends it again after 200 ms) or the launcher waits for an exit
/// code (250 ms).
static constexpr double kSecondsForTheCause = 0.5;

absl::Status MessagePassing::connectionLost(const std::string &title, int peer, const std::string &why) {
  Waiter brief(abort, kSecondsForTheCause);
  absl::Status told = brief.until([] { return false; }, [] { return std::string(); });
  if (!absl::IsDeadlineExceeded(told))
    return told;
  return withExitCode(
      absl::UnavailableError(absl::StrCat(title, ": rank ", rank, " lost its connection to rank ", peer, ": ", why)),
      ExitCode::Network);
}

absl::Status MessagePassing::wrongSize(const std::string &title, int peer, uint64_t expected) const {
  return absl::InvalidArgumentError(absl::StrCat(title, ": rank ", peer, " sends another number of bytes than the ",
                                                 expected, " that this rank expects"));
}

std::string MessagePassing::late(const std::string &title, int peer) const {
  return absl::StrCat("rank ", rank, " waited ", options.timeoutSeconds, " s in ", title, " for rank ", peer);
}

} // namespace dgc::rt
