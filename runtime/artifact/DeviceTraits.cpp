// The kinds of devices, and the kind of a worker.
#include "runtime/artifact/DeviceTraits.h"

#include "runtime/artifact/Groups.h"

#include <cstdlib>

using namespace dgc::rt;

static constexpr DeviceTraits kinds[] = {
#include "runtime/artifact/DeviceTraits.def"
};

std::span<const DeviceTraits> dgc::rt::deviceTraits() { return kinds; }

const DeviceTraits *dgc::rt::findDeviceTraits(std::string_view name) {
  for (const DeviceTraits &kind : kinds)
    if (kind.name == name)
      return &kind;
  return nullptr;
}

std::string dgc::rt::deviceNames() {
  std::string text;
  for (size_t i = 0; i < std::size(kinds); ++i)
    text += std::string(i == 0                     ? ""
                        : i + 1 < std::size(kinds) ? ", "
                                                   : " and ") +
            "'" + std::string(kinds[i].name) + "'";
  return text;
}

const DeviceTraits &dgc::rt::traitsOf(const artifact::Plan &plan, int32_t group) {
  const DeviceTraits *kind = findDeviceTraits(targetOf(plan, group).kind()->string_view());
  return kind ? *kind : (std::abort(), *kind);
}
