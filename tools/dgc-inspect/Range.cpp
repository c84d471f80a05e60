// Which plans a range has.
#include "tools/dgc-inspect/Describe.h"

#include "runtime/artifact/Spelling.h"
#include "runtime/base/Status.h"
#include "runtime/telemetry/Progress.h"

#include "nlohmann/json.hpp"

using namespace dgc;

static std::string hex(const std::array<uint8_t, 32> &digest) { return rt::spelled(artifact::Digest(digest)); }

static uint64_t bytesOf(const rt::PlanRange &range) {
  uint64_t bytes = 0;
  for (const rt::PlanRange::Entry &entry : range.entries())
    bytes += entry.bytes;
  return bytes;
}

std::string dgc::tool::describeRangeAsText(const rt::PlanRange &range) {
  std::string text = rt::str("range       of ", rt::counted(static_cast<int64_t>(range.entries().size()), "plan"), ", ",
                             rt::formatBytes(bytesOf(range)), ", digest ", hex(range.digest()), "\n");
  for (const rt::PlanRange::Entry &entry : range.entries())
    text += rt::str("plan        ", rt::counted(entry.workers, "worker"), ", ", rt::formatBytes(entry.bytes),
                    ", digest ", hex(entry.digest), "\n");
  return text;
}

std::string dgc::tool::describeRangeAsJson(const rt::PlanRange &range) {
  nlohmann::ordered_json plans = nlohmann::ordered_json::array();
  for (const rt::PlanRange::Entry &entry : range.entries())
    plans.push_back({{"workers", entry.workers}, {"bytes", entry.bytes}, {"digest", hex(entry.digest)}});
  return nlohmann::ordered_json{{"digest", hex(range.digest())}, {"bytes", bytesOf(range)}, {"plans", plans}}.dump(1) +
         "\n";
}
