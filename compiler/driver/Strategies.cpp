// The strategies that `--strategy` takes.

#include "compiler/driver/Strategies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace dgc {

/// A strategy that is asked for or not.
template <bool StrategyOptions::*field> static std::optional<std::string> printFlag(const StrategyOptions &options) {
  return options.*field ? std::optional<std::string>("") : std::nullopt;
}
template <bool StrategyOptions::*field> static bool setFlag(StrategyOptions &options, StringRef, std::string &) {
  return options.*field = true;
}

/// One with a number from 1 to `most`, of `what`.
template <int64_t StrategyOptions::*field>
static std::optional<std::string> printNumber(const StrategyOptions &options) {
  return options.*field ? std::optional(std::to_string(options.*field)) : std::nullopt;
}
template <int64_t StrategyOptions::*field>
static bool setNumber(StrategyOptions &options, StringRef argument, int64_t most, StringRef expected,
                      std::string &error) {
  int64_t number;
  bool ok = !argument.getAsInteger(10, number) && number >= 1 && number <= most;
  if (ok)
    options.*field = number;
  else
    error = "expected " + expected.str();
  return ok;
}

/// One with an argument of a type with a text form, which may be left out.
template <auto field> static std::optional<std::string> printText(const StrategyOptions &options) {
  return options.*field ? std::optional((options.*field)->text()) : std::nullopt;
}
template <auto field> static bool setText(StrategyOptions &options, StringRef argument, std::string &error) {
  using T = std::remove_reference_t<decltype(options.*field)>::value_type;
  std::optional<T> value = argument.empty() ? T() : T::parse(argument, error);
  options.*field = value;
  return value.has_value();
}

ArrayRef<Strategy> getStrategies() {
  static constexpr StringRef data[] = {"data"}, model[] = {"model"}, stage[] = {"stage"};
  static constexpr StringRef mirrored[] = {"mirrored", "multi-worker-mirrored"};
  static constexpr StringRef fsdp[] = {"fsdp"}, dataParallel[] = {"data-parallel"},
                             tensorParallel[] = {"tensor-parallel"};
  using Reasoned = std::pair<StringRef, StringRef>;
  static constexpr StringRef wholeReason = "a server holds whole variables and updates them";
  static constexpr Reasoned notWithServers[] = {
      {"async-parameter-server", "servers apply the updates of all workers together, or of each by itself; name one"},
      {"central-storage", "central storage is one parameter server; name one of them"},
      {"pipeline", "all workers of parameter servers compute the same ops; choose one"},
      {"zero1", wholeReason},
      {"zero2", wholeReason},
      {"zero3", wholeReason},
      {"tensor-parallel", wholeReason}};
  // Each pair is said once: by the first of the table.
  static const ArrayRef<Reasoned> notWithAsync = ArrayRef(notWithServers).drop_front();
  static const ArrayRef<Reasoned> notWithStorage = notWithAsync.drop_front();
  static constexpr Reasoned notWithPipeline[] = {
      {"accumulate", "a pipeline has micro-batches of its own, and one update; use --microbatches alone"}};
  static constexpr StringRef includedReason = "a stage of ZeRO includes those before it; name the last one alone";
  static constexpr Reasoned notWith1[] = {{"zero2", includedReason}, {"zero3", includedReason}};
  static constexpr Reasoned notWith2[] = {{"zero1", includedReason}, {"zero3", includedReason}};
  static constexpr Reasoned notWith3[] = {{"zero1", includedReason}, {"zero2", includedReason}};
  using S = StrategyOptions;
  static const Strategy strategies[] = {
      {.name = "accumulate",
       .summary = "the batch in K micro-batches, one after the other; one update",
       .print = printNumber<&S::accumulate>,
       .set =
           [](S &options, StringRef argument, std::string &error) {
             return setNumber<&S::accumulate>(options, argument, INT64_MAX,
                                              "the number of micro-batches, at least 1, as in accumulate=4", error);
           },
       .argument = "K"},
      {.name = "recompute",
       .summary = "values computed again in the backward pass; without PATTERN: as --memory-limit asks for",
       .print = printText<&S::recompute>,
       .set = setText<&S::recompute>,
       .argument = "PATTERN",
       .argumentOptional = true},
      {.name = "parameter-server",
       .summary = "variables and the optimizer's state on P more processes, by bytes",
       .print = printNumber<&S::parameterServers>,
       .set =
           [](S &options, StringRef argument, std::string &error) {
             return setNumber<&S::parameterServers>(
                 options, argument, 256, "the number of servers, from 1 to 256, as in parameter-server=2", error);
           },
       .argument = "P",
       .axes = data,
       .includes = dataParallel,
       .excludes = notWithServers},
      {.name = "async-parameter-server",
       .summary = "the same, but each worker takes batches of its own, and waits for no other; see --staleness",
       .print = printNumber<&S::asyncParameterServers>,
       .set =
           [](S &options, StringRef argument, std::string &error) {
             return setNumber<&S::asyncParameterServers>(
                 options, argument, 256, "the number of servers, from 1 to 256, as in async-parameter-server=2", error);
           },
       .argument = "P",
       .axes = data,
       .includes = dataParallel,
       .excludes = notWithAsync},
      {.name = "central-storage",
       .summary = "variables and the optimizer's state once, on one more process",
       .print = printFlag<&S::centralStorage>,
       .set = setFlag<&S::centralStorage>,
       .axes = data,
       .includes = dataParallel,
       .excludes = notWithStorage},
      {.name = "pipeline",
       .summary = "stages on groups of workers: gpipe, 1f1b, interleaved or zb-h1, with --microbatches M",
       .print =
           [](const S &options) {
             return options.pipeline ? std::optional(nameOf(*options.pipeline).str()) : std::nullopt;
           },
       .set =
           [](S &options, StringRef argument, std::string &error) {
             options.pipeline = fromName<PipelineScheduleKind>(argument);
             if (!options.pipeline)
               error = "there is no schedule '" + argument.str() + "'; one of gpipe, 1f1b, interleaved, zb-h1 is";
             return options.pipeline.has_value();
           },
       .argument = "SCHEDULE",
       .axes = stage,
       .excludes = notWithPipeline},
      {.name = "zero1",
       .summary = "the optimizer's state cut over `data`",
       .print = printFlag<&S::zero1>,
       .set = setFlag<&S::zero1>,
       .axes = data,
       .includes = dataParallel,
       .excludes = notWith1},
      {.name = "zero2",
       .summary = "gradients as well",
       .print = printFlag<&S::zero2>,
       .set = setFlag<&S::zero2>,
       .axes = data,
       .includes = dataParallel,
       .excludes = notWith2},
      {.name = "zero3",
       .summary = "variables as well",
       .print = printFlag<&S::zero3>,
       .set = setFlag<&S::zero3>,
       .aliases = fsdp,
       .axes = data,
       .includes = dataParallel,
       .excludes = notWith3},
      {.name = "tensor-parallel",
       .summary = "dimensions of weights cut over the axis `model`",
       .print = printText<&S::tensorParallel>,
       .set = setText<&S::tensorParallel>,
       .argument = "PATTERN:DIM,..",
       .argumentOptional = true,
       .axes = model},
      {.name = "data-parallel",
       .summary = "variables on every worker, the batch cut over the axis `data`",
       .print = printFlag<&S::dataParallel>,
       .set = setFlag<&S::dataParallel>,
       .aliases = mirrored,
       .axes = data},
      {.name = "sequence-parallel",
       .summary = "activations between cut weights cut along the sequence",
       .print = printFlag<&S::sequenceParallel>,
       .set = setFlag<&S::sequenceParallel>,
       .axes = model,
       .needs = tensorParallel},
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

static bool isChosen(const StrategyOptions &options, StringRef name) { return find(name)->print(options).has_value(); }

/// Adds an item of the list to `options`.
static bool parseItem(StringRef item, StrategyOptions &options, std::string &error) {
  auto [name, argument] = item.split('=');
  const Strategy *strategy = find(name);
  std::string known = join(map_range(getStrategies(), [](const Strategy &s) { return s.name; }), ", ");
  if (!strategy)
    error = "there is no strategy '" + name.str() + "'; one of " + known + " is";
  else if (item.contains('=') && strategy->argument.empty())
    error = "strategy '" + name.str() + "' takes no argument; write it without '=" + argument.str() + "'";
  else if (argument.empty() && !strategy->argument.empty() && (!strategy->argumentOptional || item.contains('=')))
    error = "strategy '" + name.str() + "' needs an argument: write " + name.str() + "=" + strategy->argument.str();
  else if (strategy->print(options))
    error = "strategy '" + strategy->name.str() + "' is given twice";
  else if (std::string wrong; !strategy->set(options, argument, wrong))
    error = "strategy '" + item.str() + "': " + wrong;
  else
    return true;
  return false;
}

std::optional<StrategyOptions> StrategyOptions::parse(StringRef list, std::string &error) {
  StrategyOptions options;
  if (!list.empty())
    for (const std::string &item : splitList(list))
      if (!parseItem(item, options, error))
        return std::nullopt;
  return options;
}

std::string StrategyOptions::text() const {
  SmallVector<std::string> items;
  for (const Strategy &strategy : getStrategies())
    if (std::optional<std::string> argument = strategy.print(*this))
      items.push_back(strategy.name.str() + (argument->empty() ? "" : "=" + *argument));
  return join(items, ",");
}

/// What is wrong with what the strategies say of each other and of the mesh; empty when nothing is.
static std::string checkTogether(const StrategyOptions &options, const MeshShape &mesh) {
  for (const Strategy &each : getStrategies()) {
    if (!each.print(options))
      continue;
    std::string name = "strategy '" + each.name.str() + "'";
    for (StringRef needed : each.needs)
      if (!isChosen(options, needed))
        return name + " builds on '" + needed.str() + "', which is not in the list: add it";
    for (auto [other, reason] : each.excludes)
      if (isChosen(options, other))
        return name + " and '" + other.str() + "' cannot be combined: " + reason.str();
    for (StringRef axis : each.axes) {
      std::string example = ", as in --mesh " + axis.str() + "=2";
      if (mesh.empty())
        return name + " needs a mesh to distribute over" + example;
      if (!mesh.has(axis))
        return name + " distributes over the axis '" + axis.str() + "', which the mesh does not have: name one" +
               example;
    }
  }
  return "";
}

std::optional<StrategyOptions> completeStrategies(StrategyOptions options, const MeshShape &mesh, bool annotated,
                                                  std::string &error) {
  bool distributes = false, usesData = false, grew = true;
  while (grew) {
    grew = false;
    for (const Strategy &each : getStrategies())
      if (each.print(options))
        for (StringRef name : each.includes)
          if (!isChosen(options, name))
            grew |= find(name)->set(options, "", error);
  }
  for (const Strategy &each : getStrategies())
    if (each.print(options)) {
      distributes |= !each.axes.empty() && each.axes.front() != "stage";
      usesData |= is_contained(each.axes, "data");
    }
  bool hasStagesOnly = mesh.has("stage") && !mesh.has("data");
  if (!mesh.empty() && !annotated && !distributes && !hasStagesOnly)
    options.dataParallel = usesData = true;
  error = checkTogether(options, mesh);
  if (error.empty() && mesh.has("data") && !usesData)
    error = "no strategy distributes over the axis 'data' of the mesh, so all workers along it would do the same: add "
            "data-parallel, or leave the axis out";
  return error.empty() ? std::optional(options) : std::nullopt;
}

} // namespace dgc
