// Random models that combine, pair and rearrange examples: a batch that is not full gives what its examples give alone,
// in train, evaluate and predict, or the program says that it takes whole batches only. DGC_FUZZ_FIRST and
// DGC_FUZZ_COUNT choose the seeds; the target `fuzz` runs 1000.
#include "test/unit/fuzz/RandomBatchModel.h"
#include "test/unit/fuzz/Seeds.h"
#include "test/unit/oracle/ShortBatch.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <regex>

using namespace dgc::testing;
using namespace dgc::testing::short_batch;

namespace {

ExecuteOptions optionsOf(int64_t batch, const std::string &mesh, const std::string &program = "", int validCount = -1) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = batch;
  options.mesh = mesh;
  options.run.program = program;
  options.run.seed = 7;
  options.run.validCount = validCount;
  return options;
}

/// Why the programs of a plan take whole batches only; empty for those that do not.
std::map<std::string, std::string> wholeBatchesOf(const std::vector<uint8_t> &plan) {
  std::map<std::string, std::string> reasons;
  for (const dgc::artifact::Program *program : *dgc::artifact::GetPlan(plan.data())->programs())
    reasons[program->name()->str()] = program->whole_batches() ? program->whole_batches()->str() : "";
  return reasons;
}

/// A reason without places and names.
std::string withoutNames(const std::string &reason) {
  return std::regex_replace(reason, std::regex(" at [^ ]*:|\"[^\"]*\"|\\d+"), "*");
}

struct Counts {
  unsigned equal = 0, notFinite = 0;
  std::map<std::string, unsigned> refused; // by the reason
};

bool isFinite(const NamedArrays &arrays) {
  for (const auto &[name, array] : arrays)
    for (float value : array.as<float>())
      if (!std::isfinite(value))
        return false;
  return true;
}

const double tolerance = 5e-5;

/// Runs one program of both plans: `plan` with a batch of which `real` examples are no padding, `alone` with these.
void compare(const std::vector<uint8_t> &plan, const std::vector<uint8_t> &alone, const std::string &mesh,
             const std::string &ownMesh, const std::string &program, Counts &counts) {
  auto padded = runOnce(plan, inputsOf(plan, program, full), optionsOf(full, mesh, program, real).run);
  auto expected = runOnce(alone, inputsOf(alone, program, real), optionsOf(real, ownMesh, program).run);
  ASSERT_TRUE(padded.ok() && expected.ok()) << padded.status() << expected.status();
  if (!isFinite(expected->outputs) || !isFinite(expected->variables)) {
    ++counts.notFinite;
    return;
  }
  ++counts.equal;
  for (const auto &[name, array] : expected->outputs) {
    std::vector<float> found =
        program == "predict" ? realPart(padded->outputs[name], array.shape) : padded->outputs[name].as<float>();
    EXPECT_LE(apart(found, array.as<float>()), tolerance) << program << " " << name;
  }
  for (const auto &[name, array] : expected->variables)
    if (padded->variables[name].shape == array.shape)
      EXPECT_LE(apart(padded->variables[name].as<float>(), array.as<float>()), tolerance) << program << " " << name;
}

TEST(BatchFuzz, PaddingNeverCounts) {
  const uint32_t first = numberOf("DGC_FUZZ_FIRST", 0), count = numberOf("DGC_FUZZ_COUNT", 10);
  Counts counts;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    RandomBatchModel whole = randomBatchModel(seed, full), part = randomBatchModel(seed, real);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + whole.text);
    auto alone = compileText(part.text, optionsOf(real, ""));
    ASSERT_TRUE(alone.ok()) << alone.status();
    std::vector<std::string> meshes = {"", "data=2"};
    if (whole.hasOwnMesh)
      meshes.pop_back();
    for (const std::string &mesh : meshes) {
      SCOPED_TRACE("mesh " + mesh);
      auto plan = compileText(whole.text, optionsOf(full, mesh));
      ASSERT_TRUE(plan.ok()) << plan.status();
      std::map<std::string, std::string> reasons = wholeBatchesOf(*plan);
      for (const auto &[program, reason] : reasons)
        if (reason.empty())
          compare(*plan, *alone, mesh, "", program, counts);
        else
          ++counts.refused[withoutNames(reason)];
    }
  }
  std::printf("%u programs are equal, %u not finite\n", counts.equal, counts.notFinite);
  for (const auto &[reason, number] : counts.refused)
    std::printf("%5u take whole batches only: %s\n", number, reason.c_str());
  EXPECT_GE(counts.equal, count) << "most programs take whole batches only: this shows little";
}

// What the comparison cannot miss: padding that counts as real.
TEST(BatchFuzz, PaddingThatCountsIsSeen) {
  auto plan = compileText(randomBatchModel(0, full).text, optionsOf(full, ""));
  auto alone = compileText(randomBatchModel(0, real).text, optionsOf(real, ""));
  ASSERT_TRUE(plan.ok() && alone.ok());
  auto counted = runOnce(*plan, inputsOf(*plan, "train", full), optionsOf(full, "", "train", full).run);
  auto expected = runOnce(*alone, inputsOf(*alone, "train", real), optionsOf(real, "", "train").run);
  ASSERT_TRUE(counted.ok() && expected.ok());
  EXPECT_GT(apart(counted->outputs, expected->outputs), 100 * tolerance);
  EXPECT_GT(apart(counted->variables, expected->variables), 100 * tolerance);
}

} // namespace
