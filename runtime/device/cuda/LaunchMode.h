// Whether the collectives of NCCL are launched between the CUDA graphs of a program or captured in one graph. The faster
// mode is measured on training steps, and all workers decide alike.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/OutputFile.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dgc::rt::cuda {

/// Outside: between graphs. Graph: captured.
enum class LaunchMode : uint8_t { Outside, Graph };
inline LaunchMode otherMode(LaunchMode mode) {
  return mode == LaunchMode::Graph ? LaunchMode::Outside : LaunchMode::Graph;
}

/// Nanoseconds of a step in each mode; 0: not measured. Workers exchange it as bytes.
struct LaunchTimes {
  int64_t outside = 0, graph = 0;
  bool areKnown() const { return outside > 0 && graph > 0; }
  /// The faster mode. Outside if both are as fast, as errors are seen sooner there.
  LaunchMode faster() const { return areKnown() && graph < outside ? LaunchMode::Graph : LaunchMode::Outside; }
};
/// "in the graph, 412 us a step (outside 455 us)".
std::string describe(const LaunchTimes &times);

/// Measured times and the configuration that they are valid for. Workers exchange it as bytes.
struct MeasuredLaunch {
  LaunchTimes times;
  uint32_t workers = 0, hosts = 0; // workers with GPUs; their hosts
  int32_t nccl = 0;                // the version of NCCL
};

/// What the first worker with a GPU sends to all others.
struct LaunchPreferences {
  uint8_t asked = 0;    // $DGC_CUDA_COLLECTIVES: 1 outside, 2 graph, 0 not set
  uint8_t measures = 0; // --tune
  uint8_t isKept = 0;   // 1: `kept` is valid
  uint8_t unused[5] = {};
  MeasuredLaunch kept;
};

struct LaunchChoice {
  LaunchMode mode = LaunchMode::Outside;
  bool measures = false; // the first steps measure both modes
  std::string why;       // for messages
  std::string warning;   // why kept times are ignored; empty: they are not
};
/// Chooses the mode for the configuration `here`, whose times are not used.
LaunchChoice chooseLaunchMode(const LaunchPreferences &preferences, const MeasuredLaunch &here);

/// Reads the times that PLAN.tuning.json has for this GPU and for the plan with this digest. A file for another GPU or
/// plan, or one that cannot be parsed, is ignored, with a reason in `warning`.
std::optional<MeasuredLaunch> readMeasuredLaunch(Disk &disk, const std::string &file, const std::string &gpu,
                                                 const std::string &plan, std::string &warning);
/// Writes the times to the file, and keeps its entries for products.
absl::Status writeMeasuredLaunch(Disk &disk, const std::string &file, const std::string &gpu, const std::string &plan,
                                 const MeasuredLaunch &kept);

/// The schedule of the steps that measure both modes: warm-up steps, then alternating blocks of each mode. The first
/// steps of a block do not count, as steps of the other mode are still under way.
class LaunchMeasurement {
public:
  static constexpr uint64_t kWarmUp = 4, kBlock = 6, kUnsettled = 2, kBlocks = 6;
  /// The first step at which all times are known, though one step may be under way when it begins.
  static constexpr uint64_t kSteps = kWarmUp + kBlock * kBlocks + 1;

  static LaunchMode modeOf(uint64_t step) {
    return step < kWarmUp || step + 1 >= kSteps ? LaunchMode::Outside
                                                : static_cast<LaunchMode>((step - kWarmUp) / kBlock % 2);
  }
  void add(uint64_t step, TimeNs time);
  /// The median of each.
  LaunchTimes times() const;

private:
  std::array<std::vector<TimeNs>, 2> taken;
};

} // namespace dgc::rt::cuda
