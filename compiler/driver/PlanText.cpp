//===- PlanText.cpp - what a plan of a compilation says of itself ----------===//

#include "compiler/driver/CompileOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace dgc {

using Origin = artifact::OptionOrigin;

static PlannedOption optionOf(StringRef name, StringRef value, Origin origin) {
  PlannedOption option;
  option.name = name.str();
  option.value = value.str();
  option.origin = origin;
  return option;
}

/// The options that ask for this plan, with nothing left open.
static CompileOptions resolvedOf(const CompilePlan &plan) {
  CompileOptions resolved = plan.asked;
  if (plan.asked.mesh.empty()) {
    resolved.mesh = plan.mesh;
    if (plan.strategies.servers()) // whose stage is no axis that one asks for
      resolved.mesh.axes.erase(resolved.mesh.axes.begin());
  }
  resolved.strategy = plan.strategies;
  if (plan.strategies.asyncParameterServers)
    resolved.staleness.steps = plan.asked.staleness.value();
  resolved.threads = {plan.threads};
  resolved.attention = plan.phases.model.fuseAttention ? AttentionForm::Fused : AttentionForm::Expanded;
  if (plan.phases.model.loopRepeats == 0)
    resolved.repeats = RepeatForm::Unroll;
  if (plan.strategies.servers() && plan.asked.serverTarget.spec.empty())
    resolved.serverTarget = {plan.servers == plan.workers ? plan.asked.target.spec : "cpu"};
  return resolved;
}

/// What is in the list `asked` is given; the rest of `all` is decided.
static void addStrategies(StringRef all, StringRef asked, std::vector<PlannedOption> &options) {
  SmallVector<StringRef> given(split(asked, ','));
  for (StringRef item : split(all, ','))
    options.push_back(optionOf("strategy", item, is_contained(given, item) ? Origin::Given : Origin::Decided));
}

std::vector<PlannedOption> CompilePlan::describe() const {
  std::vector<PlannedOption> options;
  for (auto [used, given, standard] : zip_equal(resolvedOf(*this).text(), asked.text(), CompileOptions().text())) {
    const StringRef name = used.first;
    const bool isDecided = used.second != given.second;
    Origin origin = isDecided ? Origin::Decided : given.second == standard.second ? Origin::Default : Origin::Given;
    if (name == "strategy" && !used.second.empty()) {
      addStrategies(used.second, given.second, options);
      continue;
    }
    if (name == "mesh" && isMeshOfModel)
      origin = Origin::Model;
    if (name == "links" && used.second.empty() && !mesh.empty())
      options.push_back(optionOf(name, "as on one host", Origin::Decided));
    else
      options.push_back(optionOf(name, used.second, origin));
    if (name == "target" && !workers->features().empty())
      options.push_back(optionOf("target-features", workers->features(), Origin::Decided));
    if (name == "server-target" && servers != workers)
      options.push_back(optionOf("server-features", servers->features(), Origin::Decided));
    if (name == "mesh") {
      options.push_back(
          optionOf("workers", std::to_string(std::max(numWorkers, asynchronousWorkers)), Origin::Decided));
      options.push_back(optionOf("servers", std::to_string(strategies.servers()), Origin::Decided));
    }
  }
  return options;
}

} // namespace dgc
