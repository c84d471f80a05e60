// What plans for each kind of device hold. A kind says so in its folder, runtime/device/<kind>/Traits.def, which the
// build collects; nothing outside of that folder knows its name.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dgc::rt {

/// Where the code of kernels is.
enum class KernelForm : uint8_t {
  Object,   // in Plan.object_section; the device finds a kernel by its symbol
  Bytecode, // the same, and the object is bytecode of the reference: it says what the kernels compute
  Grids,    // in Plan.device_code, once for each architecture; a kernel is a list of launches
};

struct DeviceTraits {
  std::string_view name; // Target.kind
  KernelForm kernels = KernelForm::Object;
  bool hasOwnMemory = false;        // actions work in memory that is not the host's
  bool usesThreads = false;         // a worker has Plan.threads threads
  bool takesHostGroups = false;     // groups of a plan may be on the host (Group.on_host)
  bool runsHostGroups = false;      // Plan.host_target may be of this kind
  bool hasProductEpilogues = false; // Matmul.aux, Matmul.bias_gradient and post-ops of gradients
};

/// All kinds that were built.
std::span<const DeviceTraits> deviceTraits();

/// The kind of this name; null where there is none.
const DeviceTraits *findDeviceTraits(std::string_view name);

/// All names, as in "'cpu' and 'cuda'".
std::string deviceNames();

/// The kind of the workers of a group, or of all workers where `group` is -1. The target of the plan was checked.
const DeviceTraits &traitsOf(const artifact::Plan &plan, int32_t group);

} // namespace dgc::rt
