// Where what NCCL does is: between the graphs of a program, or a part of one graph with all else. It is measured on
// steps of training, and all workers decide alike.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/OutputFile.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dgc::rt::cuda {

enum class LaunchMode : uint8_t { Outside, Graph };
inline LaunchMode otherMode(LaunchMode mode) {
  return mode == LaunchMode::Graph ? LaunchMode::Outside : LaunchMode::Graph;
}

/// Nanoseconds of a step; 0: not measured. Bytes that workers exchange.
struct LaunchTimes {
  int64_t outside = 0, graph = 0;
  bool areKnown() const { return outside > 0 && graph > 0; }
  /// Outside where both are as fast, as errors end sooner there.
  LaunchMode faster() const { return areKnown() && graph < outside ? LaunchMode::Graph : LaunchMode::Outside; }
};
/// "in the graph, 412 us a step (outside 455 us)".
std::string describe(const LaunchTimes &times);

/// What was measured, and what for; bytes that workers exchange.
struct MeasuredLaunch {
  LaunchTimes times;
  uint32_t workers = 0, hosts = 0; // with GPUs; of these
  int32_t nccl = 0;                // its version
};

/// What the first worker with a GPU tells all others.
struct LaunchPreferences {
  uint8_t asked = 0;    // by $DGC_CUDA_COLLECTIVES; 1: outside, 2: graph
  uint8_t measures = 0; // --tune
  uint8_t isKept = 0;
  uint8_t unused[5] = {};
  MeasuredLaunch kept;
};

struct LaunchChoice {
  LaunchMode mode = LaunchMode::Outside;
  bool measures = false; // both are to be measured
  std::string why;       // for people
  std::string warning;   // why what was kept is ignored; empty: nothing is
};
/// `here`: without times.
LaunchChoice chooseLaunchMode(const LaunchPreferences &preferences, const MeasuredLaunch &here);

/// What PLAN.tuning.json says of it, on this GPU and for the plan with this digest. A file that is for others, or none,
/// is ignored, with a reason in `warning`.
std::optional<MeasuredLaunch> readMeasuredLaunch(Disk &disk, const std::string &file, const std::string &gpu,
                                                 const std::string &plan, std::string &warning);
/// Puts it into the file, and leaves what that says of products.
absl::Status writeMeasuredLaunch(Disk &disk, const std::string &file, const std::string &gpu, const std::string &plan,
                                 const MeasuredLaunch &kept);

/// The steps on which both are measured: some to become warm, then blocks of each in turn, the first steps of which do
/// not count, as steps of the other kind are under way then.
class LaunchMeasurement {
public:
  static constexpr uint64_t kWarmUp = 4, kBlock = 6, kUnsettled = 2, kBlocks = 6;
  /// The first step that knows all times, though one may be under way when it begins.
  static constexpr uint64_t kSteps = kWarmUp + kBlock * kBlocks + 1;

  static LaunchMode modeOf(uint64_t step) {
    return step < kWarmUp || step + 1 >= kSteps ? LaunchMode::Outside
                                                : static_cast<LaunchMode>((step - kWarmUp) / kBlock % 2);
  }
  void add(uint64_t step, TimeNs taken);
  /// The median of each.
  LaunchTimes times() const;

private:
  std::array<std::vector<TimeNs>, 2> taken;
};

} // namespace dgc::rt::cuda
