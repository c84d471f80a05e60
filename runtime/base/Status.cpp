// Status helpers and the exit code that travels with a status.
#include "runtime/base/Status.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"

#include "absl/strings/cord.h"

#include <charconv>
#include <cstring>
#include <string>

using namespace dgc::rt;

static constexpr absl::string_view exitCodeUrl = "dgc/exit-code";

absl::Status dgc::rt::annotate(const absl::Status &status, std::string_view context) {
  if (status.ok())
    return status;
  absl::Status result(status.code(), str(context, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord &payload) { result.SetPayload(url, payload); });
  return result;
}

absl::Status dgc::rt::errnoStatus(int error, std::string_view context) {
  absl::Status status = absl::ErrnoToStatus(error, absl::string_view(context.data(), context.size()));
  std::string limit = limitBehind(error);
  if (limit.empty())
    return status;
  return withExitCode(absl::Status(status.code(), str(status.message(), limit)), ExitCode::Machine);
}

absl::Status dgc::rt::withExitCode(absl::Status status, ExitCode code) {
  if (status.ok() || status.GetPayload(exitCodeUrl))
    return status;
  const std::string text = std::to_string(static_cast<int>(code));
  status.SetPayload(exitCodeUrl, absl::Cord(absl::string_view(text)));
  return status;
}

ExitCode dgc::rt::exitCodeOf(const absl::Status &status) {
  if (status.ok())
    return ExitCode::Ok;
  auto payload = status.GetPayload(exitCodeUrl);
  if (!payload)
    return ExitCode::Internal;
  int code = 0;
  const std::string text(*payload);
  std::from_chars(text.data(), text.data() + text.size(), code);
  return static_cast<ExitCode>(code);
}
