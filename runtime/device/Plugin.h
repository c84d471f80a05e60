// Devices in shared libraries of their own, so that nothing else links what they
// need. A plug-in is built together with dgc-run and used by nothing else.
#pragma once

#include "runtime/device/Device.h"

#include <string>
#include <vector>

namespace dgc::rt {

/// Of this file and Device.h, and of what they include: to be raised with every change there. A plug-in with another
/// number, in its symbol `dgc_device_interface`, is refused before anything else of it is used.
inline constexpr uint32_t kDeviceInterface = 7;

/// What came of one check of a device.
struct SelfTestLine {
  std::string name;
  enum Outcome { Passed, Failed, LeftOut } outcome = Passed; // left out: the machine lacks what is checked
  std::string detail;
};

/// What libdgc_<kind>.so gives, by the function `dgc_device_plugin`.
struct DevicePlugin {
  const char *version; // of dgc: another one is refused; the first member in all interfaces
  absl::StatusOr<std::unique_ptr<Device>> (*create)(const Artifact &artifact, int rank);
  /// For --dry-run, a line each: what of the machine the device would use; where the workers of a plan would run here,
  /// and how they would communicate.
  std::vector<std::string> (*describe)();
  std::vector<std::string> (*describeWorkers)(const Artifact &artifact);
  /// Checks on the first device that need no plan, for gpu-check: communication with itself.
  std::vector<SelfTestLine> (*selfTest)();
};
using DevicePluginFunction = const DevicePlugin *(*)();

/// The plug-in for devices of this kind ("cuda"): looked for in $DGC_PLUGINS,
/// in the program's folder, in ../lib relative to it and where the loader looks. It is
/// opened once and stays open.
absl::StatusOr<const DevicePlugin *> openPlugin(const std::string &kind);

/// Where a plan would run on this machine, lines for --dry-run; nothing for CPUs.
std::string describeDevice(const Artifact &artifact);

} // namespace dgc::rt
