// What the plans of tests communicate, counted: numbers and payloads by kind.
#pragma once

#include "runtime/artifact/PlanTraffic.h"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

namespace dgc::testing {

namespace fb = artifact;

/// How many of a kind, and their bytes.
struct Sum {
  int64_t count = 0, bytes = 0;
  bool operator==(const Sum &) const = default;
};

/// By kind; a kind that does not occur is not there.
using Sums = std::map<std::string, Sum>;

inline std::string inWords(const Sums &sums) {
  std::string text;
  for (auto &[kind, sum] : sums)
    text += (text.empty() ? "" : ", ") + kind + " " + std::to_string(sum.count) + " of " + std::to_string(sum.bytes);
  return text.empty() ? "nothing" : text;
}

inline Sums sumsOf(const fb::Program &program) {
  Sums sums;
  rt::forEachStep(program, [&](const fb::Step &step, rt::StepRuns runs) {
    const fb::Collective *collective = step.action_as_Collective();
    if (!collective)
      return;
    Sum &sum = sums[fb::EnumNameCollectiveKind(collective->kind())];
    sum.count += int64_t(runs.times);
    sum.bytes += int64_t(runs.times * rt::payloadBytes(*collective));
  });
  rt::Traffic traffic = rt::trafficOf(program);
  if (traffic.sends)
    sums["Send"] = {int64_t(traffic.sends), int64_t(traffic.sentBytes)};
  if (traffic.receives)
    sums["Receive"] = {int64_t(traffic.receives), int64_t(traffic.receivedBytes)};
  return sums;
}

/// What a training step communicates, by group of ranks.
inline std::vector<Sums> trainingOf(const fb::Plan &plan) {
  std::vector<Sums> groups;
  for (const fb::Program *program : *plan.programs())
    if (program->name()->str() == "train")
      groups.push_back(sumsOf(*program));
  return groups;
}

/// `dgc-compile --explain` counts the program that is compiled, `dgc-run --dry-run` the steps of the plan.
inline void expectCountedAlike(const fb::Plan &plan, const std::string &explanation) {
  for (const fb::Program *program : *plan.programs()) {
    std::string name = program->name()->str();
    if (program->group() >= 0)
      name += "_" + plan.groups()->Get(program->group())->name()->str();
    size_t at = explanation.find("@" + name + ": ");
    ASSERT_NE(at, std::string::npos) << name << " in " << explanation;
    std::string line = explanation.substr(at, explanation.find('\n', at) - at);
    EXPECT_TRUE(line.ends_with(": " + describe(rt::trafficOf(*program))))
        << line << "\nbut the plan has " << describe(rt::trafficOf(*program));
  }
}

} // namespace dgc::testing
