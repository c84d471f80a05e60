// The strategies that `--strategy` takes.

#include "passes/strategy/Registry.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace dgc {

ArrayRef<Strategy> getStrategies() {
  static constexpr StringRef data[] = {"data"}, model[] = {"model"}, stage[] = {"stage"};
  static constexpr StringRef mirrored[] = {"mirrored", "multi-worker-mirrored"};
  static constexpr StringRef fsdp[] = {"fsdp"}, dataParallel[] = {"data-parallel"},
                             tensorParallel[] = {"tensor-parallel"};
  using Reasoned = std::pair<StringRef, StringRef>;
  static constexpr StringRef wholeReason = "a server holds whole variables and updates them";
  static constexpr Reasoned notWithServers[] = {
      {"central-storage", "central storage is one parameter server; name one of them"},
      {"pipeline", "all workers of parameter servers compute the same ops; choose one"},
      {"zero1", wholeReason},
      {"zero2", wholeReason},
      {"zero3", wholeReason},
      {"tensor-parallel", wholeReason}};
  static constexpr Reasoned notWithPipeline[] = {
      {"accumulate", "a pipeline has micro-batches of its own, and one update; use --microbatches alone"}};
  static constexpr StringRef includedReason = "a stage of ZeRO includes those before it; name the last one alone";
  static constexpr Reasoned notWith1[] = {{"zero2", includedReason}, {"zero3", includedReason}};
  static constexpr Reasoned notWith2[] = {{"zero1", includedReason}, {"zero3", includedReason}};
  static constexpr Reasoned notWith3[] = {{"zero1", includedReason}, {"zero2", includedReason}};
  auto zero = [&](StringRef name, ArrayRef<StringRef> aliases, StringRef summary, ArrayRef<Reasoned> excludes,
                  StringRef pass) {
    return Strategy{.name = name,
                    .summary = summary,
                    .aliases = aliases,
                    .axes = data,
                    .includes = dataParallel,
                    .excludes = excludes,
                    .stage = StrategyStage::Refine,
                    .pass = pass};
  };
  static const Strategy strategies[] = {
      {.name = "accumulate",
       .summary = "the batch in K micro-batches, one after the other; one update",
       .argument = "K",
       .stage = StrategyStage::Gradient,
       .pass = "dgc-split-microbatches",
       .option = "count"},
      {.name = "recompute",
       .summary = "values computed again in the backward pass; without PATTERN: as --memory-limit asks for",
       .argument = "PATTERN",
       .argumentOptional = true,
       .stage = StrategyStage::Gradient,
       .pass = "dgc-strategy-recompute",
       .option = "values"},
      {.name = "parameter-server",
       .summary = "variables and the optimizer's state on P more processes, by bytes",
       .argument = "P",
       .axes = data,
       .includes = dataParallel,
       .excludes = notWithServers,
       .stage = StrategyStage::Gradient},
      {.name = "central-storage",
       .summary = "variables and the optimizer's state once, on one more process",
       .axes = data,
       .includes = dataParallel,
       .excludes = ArrayRef(notWithServers).drop_front(),
       .stage = StrategyStage::Gradient},
      {.name = "pipeline",
       .summary = "stages on groups of workers: gpipe, 1f1b, interleaved or zb-h1, with --microbatches M",
       .argument = "SCHEDULE",
       .axes = stage,
       .excludes = notWithPipeline,
       .stage = StrategyStage::Gradient},
      zero("zero1", {}, "the optimizer's state cut over `data`", notWith1, "dgc-strategy-zero{stage=1}"),
      zero("zero2", {}, "gradients as well", notWith2, "dgc-strategy-zero{stage=2}"),
      zero("zero3", fsdp, "variables as well", notWith3, "dgc-strategy-zero{stage=3}"),
      {.name = "tensor-parallel",
       .summary = "dimensions of weights cut over the axis `model`",
       .argument = "PATTERN:DIM,..",
       .argumentOptional = true,
       .axes = model,
       .pass = "dgc-strategy-tensor-parallel",
       .option = "cut"},
      {.name = "data-parallel",
       .summary = "variables on every worker, the batch cut over the axis `data`",
       .aliases = mirrored,
       .axes = data,
       .pass = "dgc-strategy-data-parallel"},
      {.name = "sequence-parallel",
       .summary = "activations between cut weights cut along the sequence",
       .axes = model,
       .needs = tensorParallel,
       .pass = "dgc-strategy-sequence-parallel"},
  };
  return strategies;
}

std::string describeStrategies() {
  std::string text;
  for (const Strategy &strategy : getStrategies()) {
    std::string name = strategy.name.str();
    if (!strategy.argument.empty())
      name +=
          (strategy.argumentOptional ? "[=" : "=") + strategy.argument.str() + (strategy.argumentOptional ? "]" : "");
    for (StringRef alias : strategy.aliases)
      name += ", " + alias.str();
    text += "  " + name + std::string(name.size() < 38 ? 38 - name.size() : 1, ' ') + strategy.summary.str() + "\n";
  }
  return text;
}

static const Strategy *find(StringRef name) {
  for (const Strategy &strategy : getStrategies())
    if (strategy.name == name || is_contained(strategy.aliases, name))
      return &strategy;
  return nullptr;
}

/// The items of a list. One that names no strategy but has a `:` continues the argument before it, which may have
/// commas: tensor-parallel=w1:1,w2:0.
static SmallVector<std::string> splitList(StringRef list) {
  SmallVector<std::string> items;
  for (StringRef part : split(list, ',')) {
    part = part.trim();
    if (!items.empty() && part.contains(':') && !find(part.split('=').first))
      items.back() += "," + part.str();
    else
      items.push_back(part.str());
  }
  return items;
}

/// An argument becomes part of a pipeline as text: it must not end the option that it is in.
static bool isPlain(StringRef argument) {
  return all_of(argument, [](char c) { return isAlnum(c) || StringRef("_.*?-+:,/[]!^").contains(c); });
}

static FailureOr<ChosenStrategy> parseItem(StringRef item, std::string &error) {
  auto [name, argument] = item.split('=');
  const Strategy *strategy = find(name);
  std::string known = join(map_range(getStrategies(), [](const Strategy &s) { return s.name; }), ", ");
  if (!strategy) {
    error = "there is no strategy '" + name.str() + "'; one of " + known + " is";
  } else if (item.contains('=') && strategy->argument.empty()) {
    error = "strategy '" + name.str() + "' takes no argument; write it without '=" + argument.str() + "'";
  } else if (argument.empty() && !strategy->argument.empty() && (!strategy->argumentOptional || item.contains('='))) {
    error = "strategy '" + name.str() + "' needs an argument: write " + name.str() + "=" + strategy->argument.str();
  } else if (!isPlain(argument)) {
    error = "the argument '" + argument.str() + "' of strategy '" + name.str() +
            "' has characters other than letters, digits and _.*?-+:,/[]!^";
  } else {
    return ChosenStrategy{strategy, argument.str()};
  }
  return failure();
}

static bool isChosen(ArrayRef<ChosenStrategy> chosen, StringRef name) {
  return any_of(chosen, [&](const ChosenStrategy &each) { return each.strategy->name == name; });
}

static void addIncluded(std::vector<ChosenStrategy> &chosen) {
  for (size_t i = 0; i < chosen.size(); ++i)
    for (StringRef name : chosen[i].strategy->includes)
      if (!isChosen(chosen, name))
        chosen.push_back({find(name), ""});
}

/// Checks what the strategies say of each other and of the mesh.
static LogicalResult checkTogether(ArrayRef<ChosenStrategy> chosen, ArrayRef<StringRef> axes, std::string &error) {
  auto fail = [&](std::string message) {
    error = std::move(message);
    return failure();
  };
  for (const ChosenStrategy &each : chosen) {
    std::string name = "strategy '" + each.strategy->name.str() + "'";
    for (StringRef needed : each.strategy->needs)
      if (!isChosen(chosen, needed))
        return fail(name + " builds on '" + needed.str() + "', which is not in the list: add it");
    for (auto [other, reason] : each.strategy->excludes)
      if (isChosen(chosen, other))
        return fail(name + " and '" + other.str() + "' cannot be combined: " + reason.str());
    for (StringRef axis : each.strategy->axes) {
      std::string example = ", as in --mesh " + axis.str() + "=2";
      if (axes.empty())
        return fail(name + " needs a mesh to distribute over" + example);
      if (!is_contained(axes, axis))
        return fail(name + " distributes over the axis '" + axis.str() + "', which the mesh does not have: name one" +
                    example);
    }
  }
  return success();
}

FailureOr<std::vector<ChosenStrategy>> parseStrategies(StringRef list, ArrayRef<StringRef> axes, bool annotated,
                                                       std::string &error) {
  std::vector<ChosenStrategy> chosen;
  if (!list.empty())
    for (const std::string &item : splitList(list)) {
      FailureOr<ChosenStrategy> parsed = parseItem(item, error);
      if (failed(parsed))
        return failure();
      if (isChosen(chosen, parsed->strategy->name)) {
        error = "strategy '" + parsed->strategy->name.str() + "' is given twice";
        return failure();
      }
      chosen.push_back(*std::move(parsed));
    }
  addIncluded(chosen);
  auto uses = [&](StringRef axis) {
    return any_of(chosen, [&](const ChosenStrategy &each) { return is_contained(each.strategy->axes, axis); });
  };
  bool distributes = any_of(chosen, [](const ChosenStrategy &each) {
    return !each.strategy->axes.empty() && each.strategy->axes.front() != "stage";
  });
  bool hasStagesOnly = is_contained(axes, "stage") && !is_contained(axes, "data");
  if (!axes.empty() && !annotated && !distributes && !hasStagesOnly)
    chosen.push_back({find("data-parallel"), ""});
  if (failed(checkTogether(chosen, axes, error)))
    return failure();
  if (is_contained(axes, "data") && !uses("data")) {
    error = "no strategy distributes over the axis 'data' of the mesh, so all workers along it would do the same: add "
            "data-parallel, or leave the axis out";
    return failure();
  }
  stable_sort(chosen, [](const ChosenStrategy &a, const ChosenStrategy &b) { return a.strategy < b.strategy; });
  return chosen;
}

std::string strategyPasses(ArrayRef<ChosenStrategy> strategies, StrategyStage stage) {
  std::string passes;
  for (const ChosenStrategy &each : strategies) {
    if (each.strategy->stage != stage || each.strategy->pass.empty())
      continue;
    passes += each.strategy->pass.str();
    if (!each.argument.empty())
      passes += "{" + each.strategy->option.str() + "=" + each.argument + "}";
    passes += ",";
  }
  return passes;
}

} // namespace dgc
