// Artifacts, ranges of them, and what prints them.
#include "runtime/artifact/Reader.h"

#include "runtime/artifact/PlanRange.h"
#include "runtime/artifact/PlanTraffic.h"
#include "runtime/artifact/Structure.h"
#include "runtime/artifact/Writer.h"
#include "runtime/telemetry/PlanGraph.h"
#include "runtime/telemetry/PlanJson.h"
#include "runtime/telemetry/PlanSummary.h"
#include "test/unit/readers/Reader.h"

#include <cstring>
#include <unistd.h>

namespace dgc::rt::test {
namespace {

/// Writes `digest` over the field, which is in `bytes`.
void put(std::vector<uint8_t> &bytes, const artifact::Digest *field, const artifact::Digest &digest) {
  std::memcpy(bytes.data() + (reinterpret_cast<const uint8_t *>(field) - bytes.data()), &digest, sizeof digest);
}

/// The digests of sections, of the record of the exact check, and of the file.
void seal(std::vector<uint8_t> &bytes) {
  const artifact::Plan &plan = *artifact::GetPlan(bytes.data());
  for (uint32_t i = 0; plan.sections() && i < plan.sections()->size(); ++i) {
    const artifact::Section &section = *plan.sections()->Get(i);
    put(bytes, section.digest(), digestOf(section.data()->data(), section.data()->size()));
  }
  if (plan.verified())
    put(bytes, plan.verified()->digest(), digestOfRecord(bytes));
  const auto offset = reinterpret_cast<const uint8_t *>(plan.file_digest()) - bytes.data();
  put(bytes, plan.file_digest(), digestOfFile(bytes.data(), bytes.size(), static_cast<size_t>(offset)));
}

bool read(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  if (checkStructure(file).ok())
    seal(file);
  const auto artifact = loadBytes(file);
  if (!artifact.ok())
    return false;
  const artifact::Plan &plan = (*artifact)->plan();
  describeAsJson(**artifact);
  summarize(plan);
  graphOf(plan);
  for (uint32_t i = 0; plan.programs() && i < plan.programs()->size(); ++i)
    trafficOf(*plan.programs()->Get(i));
  return true;
}

/// Ranges, and each plan of one.
bool readRange(std::span<const uint8_t> bytes) {
  const absl::StatusOr<int> file = sealedCopy(std::as_bytes(bytes), "range");
  require(file.ok(), "the bytes are copied");
  const absl::StatusOr<PlanRange> range = PlanRange::open(str("/proc/self/fd/", *file));
  ::close(*file);
  if (!range.ok())
    return false;
  size_t loaded = 0;
  for (const uint32_t workers : range->sizes()) {
    const auto plan = range->load(workers);
    require(!plan.ok() || (*plan)->plan().world_size() == workers, "the plan is for as many workers as the table says");
    loaded += plan.ok();
  }
  return loaded == range->sizes().size();
}

const RegisteredReader reader("artifact", read), ranges("plan_range", readRange);

} // namespace
} // namespace dgc::rt::test
