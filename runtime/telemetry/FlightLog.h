// What flight recorders of the workers of a job have: read, put together, and told.
#pragma once

#include "runtime/base/Disk.h"
#include "runtime/base/FlightRecorder.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// The file of a rank in the folder of a job: "flight-3".
std::string flightFileName(uint32_t rank);
/// The rank whose file has this name.
std::optional<uint32_t> flightRankOf(std::string_view fileName);
/// Behind the name of a file: that of the run before.
inline constexpr std::string_view kFlightBefore = ".before";

/// What the recorder of one worker has.
struct FlightLog {
  /// An op that began. `real` is the time of day in nanoseconds since 1970, by the worker's machine.
  struct Event {
    int64_t real = 0;
    uint64_t step = 0, op = 0;
  };

  uint32_t rank = 0, world = 1;
  int32_t pid = 0;
  std::string host, plan;
  std::vector<std::string> names;  // of ops
  std::vector<Event> events;       // the last ones, in order
  uint64_t written = 0;            // how many there were
  std::optional<uint32_t> awaited; // the rank that it waited for when it was looked at last
  std::optional<int64_t> sampled;  // when that was: the worker was there until then
  std::optional<int> exitCode;     // none: it has not ended, or not by itself
  /// "op 11, 'all_reduce' of train (m.mlir:5:8)": the number is that of errors.
  std::string nameOf(const Event &event) const;
  /// Until when the worker is known to have been there; none: it has not begun.
  std::optional<int64_t> lastSeen() const;
};

/// Reads a file; `name` is for messages. InvalidArgument says what is wrong with it.
absl::StatusOr<FlightLog> parseFlightLog(std::span<const std::byte> bytes, const std::string &name);

/// The recorders of a folder, by rank; with `before` those of the run before. NotFound where there are none.
absl::StatusOr<std::vector<FlightLog>> readFlightLogs(Disk &disk, const std::string &dir, bool before);

/// What they say together: where each worker was, who waited for whom, and who stopped first; the last `last` events of all.
std::string describeFlight(std::span<const FlightLog> logs, size_t last);
/// The same as JSON.
std::string flightAsJson(std::span<const FlightLog> logs, size_t last);

} // namespace dgc::rt
