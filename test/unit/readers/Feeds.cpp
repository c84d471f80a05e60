// Files of --feed, against the arguments of a plan.
#include "runtime/artifact/Reader.h"
#include "runtime/driver/CallInputs.h"
#include "test/unit/artifact/SamplePlan.h"
#include "test/unit/readers/Reader.h"

namespace dgc::rt::test {
namespace {

std::unique_ptr<Artifact> sampleArtifact() {
  const auto bytes = finishPlan(samplePlan());
  require(bytes.ok(), "the plan is written");
  auto artifact = loadBytes(*bytes);
  require(artifact.ok(), "the plan is read");
  return *std::move(artifact);
}

bool read(std::span<const uint8_t> bytes) {
  static const std::unique_ptr<Artifact> artifact = sampleArtifact();
  FakeDisk disk;
  disk.put("f.npz", std::string(textOf(bytes)));
  return CallInputs::open(disk, artifact->plan(), "train", {{"f.npz"}}).ok();
}

const RegisteredReader reader("feed", read);

} // namespace
} // namespace dgc::rt::test
