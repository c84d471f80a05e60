// Finds and opens plug-ins, and chooses the device of a plan.
#include "runtime/device/Plugin.h"
#include "runtime/base/Version.h"

#include "runtime/artifact/DeviceTraits.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;

namespace dgc::rt {
#define DGC_DEVICE(kind, Name)                                                                                         \
  absl::StatusOr<std::unique_ptr<Device>> create##Name##Device(const Artifact &artifact, int threads, int rank);
#include "runtime/device/Devices.def"
#undef DGC_DEVICE
} // namespace dgc::rt

namespace {
struct BuiltinDevice {
  std::string_view kind;
  decltype(&createDevice) create;
};
} // namespace

/// The device of this kind that needs no plug-in; null where there is none.
static const BuiltinDevice *findBuiltin(std::string_view kind) {
  static constexpr BuiltinDevice devices[] = {
#define DGC_DEVICE(kind, Name) {#kind, create##Name##Device},
#include "runtime/device/Devices.def"
#undef DGC_DEVICE
  };
  for (const BuiltinDevice &device : devices)
    if (device.kind == kind)
      return &device;
  return nullptr;
}

/// Paths of a plug-in in the order in which they are tried.
static std::vector<std::string> pathsOf(const std::string &file) {
  std::vector<std::string> paths;
  if (const char *folder = std::getenv("DGC_PLUGINS"))
    paths.push_back(str(folder, "/", file));
  char program[4096];
  ssize_t length = ::readlink("/proc/self/exe", program, sizeof program);
  if (length > 0 && static_cast<size_t>(length) < sizeof program) {
    std::string folder(program, static_cast<size_t>(length));
    folder.erase(folder.rfind('/'));
    paths.push_back(str(folder, "/", file));
    paths.push_back(str(folder, "/../lib/", file));
  }
  paths.push_back(file);
  return paths;
}

/// The plug-in in a library that is open, if it was built with this program.
static absl::StatusOr<const DevicePlugin *> checkedPlugin(void *library, const std::string &path) {
  auto refused = [&](const std::string &what, const std::string &wanted) {
    return withExitCode(
        absl::FailedPreconditionError(str(path, " is of ", what, ", this is ", wanted, ": install them together")),
        ExitCode::Machine);
  };
  auto number = static_cast<const uint32_t *>(::dlsym(library, "dgc_device_interface"));
  auto function = reinterpret_cast<DevicePluginFunction>(::dlsym(library, "dgc_device_plugin"));
  if (!number || !function || *number != kDeviceInterface)
    return refused(number ? str("another build of dgc, with interface ", *number) : "an older dgc",
                   str("a dgc with interface ", kDeviceInterface));
  const DevicePlugin *plugin = function();
  if (std::string_view(plugin->version) != DGC_VERSION)
    return refused(str("dgc ", plugin->version), DGC_VERSION);
  return plugin;
}

absl::StatusOr<const DevicePlugin *> dgc::rt::openPlugin(const std::string &kind) {
  if (!findDeviceTraits(kind))
    return withExitCode(absl::UnimplementedError(str("the plan is for '", kind, "' devices; this dgc-run has ",
                                                     deviceNames(), ". Compile the model for one of these")),
                        ExitCode::Machine);
  std::string file = str("libdgc_", kind, ".so"), why;
  for (const std::string &path : pathsOf(file)) {
    bool isPath = path.find('/') != std::string::npos;
    if (isPath && ::access(path.c_str(), F_OK) != 0)
      continue;
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      if (isPath)
        why = ::dlerror();
      continue;
    }
    return checkedPlugin(library, path);
  }
  return withExitCode(
      absl::NotFoundError(str("the plan is for '", kind, "' devices, and ", file,
                              why.empty() ? " is not installed" : " cannot be opened: ", why,
                              "; it belongs into the folder of dgc-run, or into the one that DGC_PLUGINS names")),
      ExitCode::Machine);
}

absl::StatusOr<std::unique_ptr<Device>> dgc::rt::createDevice(const Artifact &artifact, int threads, int rank) {
  const artifact::Target &target = targetOf(artifact.plan(), groupOf(artifact.plan(), static_cast<uint32_t>(rank)));
  std::string kind = target.kind()->str();
  if (const BuiltinDevice *device = findBuiltin(kind))
    return device->create(artifact, threads, rank);
  DGC_ASSIGN_OR_RETURN(const DevicePlugin *plugin, openPlugin(kind));
  return plugin->create(artifact, rank);
}

std::string dgc::rt::describeDevice(const Artifact &artifact) {
  const artifact::Plan &plan = artifact.plan();
  std::string kind = plan.target()->kind()->str();
  if (findBuiltin(kind))
    return "";
  std::string onHost;
  for (uint32_t i = 0; plan.groups() && i < plan.groups()->size(); ++i)
    if (const artifact::Group &group = *plan.groups()->Get(i); group.on_host())
      onHost += str("  ", group.name()->str(), ": rank ", group.first_rank(), ", on the CPU of its machine\n");
  absl::StatusOr<const DevicePlugin *> plugin = openPlugin(kind);
  if (!plugin.ok())
    return str("device: ", plugin.status().message(), "\n", onHost);
  std::string text = str("device:\n", onHost);
  for (const auto &lines : {(*plugin)->describe(), (*plugin)->describeWorkers(artifact)})
    for (const std::string &line : lines)
      text += str("  ", line, "\n");
  return text;
}
