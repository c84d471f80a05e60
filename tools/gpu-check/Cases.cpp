// The cases of a folder.
#include "tools/gpu-check/Cases.h"

#include "runtime/artifact/Reader.h"
#include "tools/gpu-check/Compare.h"
#include "tools/gpu-check/Timing.h"

#include <algorithm>
#include <array>

enum Stage { Kernels, Device, Products, Attention, Convolutions, Models, Training, Workers, Faults, Sanitizer, Times };

/// Operations of a step up to which a model is small. Of deeper ones the weights of two runs are apart after 20 steps even
/// if only the order of sums is not the same; and 100 steps take the CPU too long.
constexpr double kSmallOperations = 1e9;

std::string Case::checkName() const {
  static constexpr std::array names{"compare", "self-test", "training", "faults", "memcheck", "racecheck", "times"};
  return names[static_cast<size_t>(check)];
}

std::string Case::id() const { return name + "/" + checkName(); }

std::vector<std::filesystem::path> plansIn(const std::filesystem::path &folder) {
  std::vector<std::filesystem::path> plans;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename().string().ends_with(".cuda.dgcx"))
      plans.push_back(entry.path());
  std::ranges::sort(plans);
  return plans;
}

namespace {

/// What of a plan decides on its cases; of one that cannot be read nothing, which its comparison says.
struct PlanFacts {
  uint32_t workers = 1;
  bool isF32 = false;
  double operations = 0; // of a step of training
};

PlanFacts factsOf(const std::filesystem::path &path) {
  PlanFacts facts;
  auto bytes = readPlan(path);
  auto artifact = bytes.ok() ? dgc::rt::loadBytes(*bytes) : bytes.status();
  if (!artifact.ok())
    return facts;
  const dgc::artifact::Plan &plan = (*artifact)->plan();
  facts.workers = plan.world_size();
  facts.isF32 = toleranceOf(plan) <= 1e-4;
  for (const dgc::artifact::Program *program : *plan.programs())
    if (program->name()->string_view() == "train")
      facts.operations = workOf(*program).second;
  return facts;
}

int stageOf(const std::string &name, const PlanFacts &facts) {
  static constexpr std::pair<const char *, Stage> prefixes[] = {{"kernels", Kernels},
                                                                {"layers", Products},
                                                                {"products", Products},
                                                                {"attention", Attention},
                                                                {"convolutions", Convolutions}};
  for (auto [prefix, stage] : prefixes)
    if (name.starts_with(prefix))
      return stage;
  return facts.workers > 1 ? Workers : Models;
}

} // namespace

std::vector<Case> casesOf(const std::vector<std::filesystem::path> &plans, Suite suite) {
  std::vector<Case> cases;
  const bool isTimed = suite == Suite::All;
  bool isFaulty = false;
  if (suite == Suite::Sanitized)
    cases.push_back({"device", Check::Memcheck, Device});
  else
    cases.push_back({"device", Check::SelfTest, Device});
  for (const auto &path : plans) {
    const std::string name = caseOf(path);
    if (name.starts_with("timed-")) {
      if (isTimed)
        cases.push_back({name, Check::Times, Times});
      continue;
    }
    if (name.starts_with("refused-")) {
      if (suite != Suite::Sanitized)
        cases.push_back({name, Check::Compare, Faults});
      continue;
    }
    const PlanFacts facts = factsOf(path);
    const int stage = stageOf(name, facts);
    if (suite == Suite::Sanitized) {
      cases.push_back({name, Check::Memcheck, stage});
      continue;
    }
    cases.push_back({name, Check::Compare, stage});
    if (name == "kernels")
      for (Check check : {Check::Memcheck, Check::Racecheck})
        cases.push_back({name, check, Sanitizer});
    const bool isSmall = facts.operations < kSmallOperations;
    if (name.starts_with("mnist_") && facts.isF32)
      cases.push_back(
          {name, Check::Training, facts.workers > 1 ? Workers : Training, isSmall, isSmall && facts.workers == 1});
    if (name.starts_with("mnist_") && facts.workers == 2 && !isFaulty) {
      cases.push_back({name, Check::Faults, Faults});
      isFaulty = true;
    }
    if (isTimed && facts.workers == 1)
      cases.push_back({name, Check::Times, Times + 1}); // after those that are for that alone
  }
  std::ranges::stable_sort(cases, {}, &Case::stage);
  return cases;
}
