// --tensorboard: what a run that trains writes into an event file, and when.
#pragma once

#include "runtime/artifact/dgcx_generated.h"
#include "runtime/base/Clock.h"
#include "runtime/telemetry/EventFile.h"
#include "runtime/telemetry/JsonLog.h"
#include "runtime/telemetry/ValueHistogram.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dgc::rt {

namespace tensorboard {
class Event;
} // namespace tensorboard

/// Seconds since 1970.
double wallTime();

/// The plan and its options as a table of Markdown, for TensorBoard's page of texts.
std::string describeRun(const artifact::Plan &plan, std::string_view digest, uint64_t seed);

/// What the plan does, as --dry-run prints it.
std::string describePlan(const artifact::Plan &plan);

/// The name of a number in TensorBoard: "train/top_5". What is no letter, digit, _, ., / or - becomes _.
std::string tagOf(std::string_view group, std::string_view name);

/// Used by one thread. A point of an event file is at the number of steps that are done: that of the first step is 1, and
/// those of the last step of an epoch, of the epoch and of the evaluation after it are the same.
///
/// Of the steps there is a point for the first one, then none before pointPeriod is over, and one for the last step before
/// an epoch ends, an evaluation, or the run. Steps are in the file within a second, everything else at once.
class TensorBoard {
public:
  static constexpr TimeNs pointPeriod = 100_ms, flushPeriod = 1_s;

  /// Begins a new file in the folder.
  static absl::StatusOr<std::unique_ptr<TensorBoard>> open(Disk &disk, Clock &clock, const std::string &folder,
                                                           std::function<double()> wallTime = rt::wallTime);
  /// Writes what is held back.
  ~TensorBoard();

  /// What a run says of itself: texts of Markdown by name, and a serialized graph; empty: none.
  struct Description {
    std::vector<std::pair<std::string, std::string>> texts;
    std::string graph;
  };
  /// What a file begins with. Of files of before, nothing after these steps counts any more: a run that is resumed has
  /// taken back what came after its checkpoint, and one from step 0 is another one.
  absl::Status begin(int64_t stepsDone, const Description &description);

  /// Adds the scalars of a "step", "epoch" or "evaluate"; of other events it sees that what was before them is written.
  /// The first error stays the result of all later calls, and nothing more is written.
  absl::Status add(const LogEvent &event);

  /// Adds histograms of variables by their names, after so many steps.
  absl::Status add(int64_t stepsDone, const std::map<std::string, ValueHistogram> &variables);

private:
  TensorBoard(std::unique_ptr<EventFile> file, Clock &clock, std::function<double()> wallTime);
  void addStep(const LogEvent &event);
  void addMeans(std::string_view group, const LogEvent &event);
  void write(tensorboard::Event &event);
  void writeStep();
  absl::Status flush();

  std::unique_ptr<EventFile> file;
  Clock &clock;
  std::function<double()> wallTime;
  std::unique_ptr<tensorboard::Event> lastStep;
  bool isHeld = false;          // lastStep is not written yet
  bool isFirst = true;          // no step has been written
  double samples = 0, time = 0; // of the steps behind the last one that was written, and their milliseconds
  TimeNs stepTime = 0;          // of lastStep
  TimeNs lastPoint = 0, lastFlush = 0;
};

} // namespace dgc::rt
