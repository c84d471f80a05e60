// --log-json: a line of JSON for each thing that happens.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/OutputFile.h"
#include "runtime/telemetry/Progress.h"

#include <memory>
#include <optional>

namespace dgc::rt {

/// One line. What is not there is left out of it.
struct LogEvent {
  std::string_view event; // step, epoch, evaluate, call, checkpoint, restart, staleness, warning, end, error
  std::optional<int64_t> call;
  std::optional<int64_t> step, epoch;
  std::optional<double> loss;
  std::span<const Metric> metrics; // an object by name; tensors are lists in lists
  std::optional<double> ms, samplesPerSecond;
  std::optional<int> rank;
  std::string_view message;
  bool isLostCheckpoint = false; // of a warning; not in the line
};

/// `event` as one line with a line feed. Numbers have the digits that bring
/// back the same bits; one that is not finite is null. Appends to `out`.
void appendJson(const LogEvent &event, std::string &out);

/// Leaves out a line at the end that is not whole, as a process leaves it that is killed while it writes.
void dropPartialLine(std::string &lines);

struct JsonLogOptions {
  bool isContinued = false; // the lines of a process that wrote it before stay, but for one that is not whole
  bool holdsBack = true;    // lines of steps, until half a second is over; others are written at once
};

/// Used by one thread.
class JsonLog {
public:
  /// Replaces the file by an empty one, which no other process writes meanwhile; "-" is standard output.
  static absl::StatusOr<std::unique_ptr<JsonLog>> open(Disk &disk, Clock &clock, const std::string &path,
                                                       const JsonLogOptions &options = {});
  /// Writes what is held back.
  ~JsonLog();

  /// The first error stays the result of all later calls, and nothing more is
  /// written: a full disk does not end a run.
  absl::Status add(const LogEvent &event);
  absl::Status flush();

private:
  JsonLog(OutputFile output, std::unique_ptr<WritableFile> file, Clock &clock, bool holdsBack);

  OutputFile output;
  std::unique_ptr<WritableFile> file;
  Clock &clock;
  const bool holdsBack;
  TimeNs lastFlush;
  std::string held;
  absl::Status status;
};

} // namespace dgc::rt
