// In the file: {"gpu": NAME, "collectives": {"plan": DIGEST, "nccl": 22809, "workers": 2, "hosts": 1, "outside_ns":
// 455000, "graph_ns": 412000}}, next to the entries of Tuning.h.
#include "runtime/device/cuda/LaunchMode.h"

#include "runtime/base/Status.h"
#include "runtime/device/cuda/Nccl.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dgc::rt::cuda {

static constexpr uint64_t kMostBytes = 16 << 20;

std::string describe(const LaunchTimes &times) {
  auto us = [](int64_t ns) { return str((ns + 500) / 1000, " us"); };
  return times.faster() == LaunchMode::Graph
             ? str("in the graph, ", us(times.graph), " a step (outside ", us(times.outside), ")")
             : str("outside, ", us(times.outside), " a step (in the graph ", us(times.graph), ")");
}

/// Why what was measured there says nothing of here; empty: it does.
static std::string differenceOf(const MeasuredLaunch &there, const MeasuredLaunch &here) {
  auto of = [](const MeasuredLaunch &k) {
    return str(k.workers, " workers on ", k.hosts, k.hosts == 1 ? " host with NCCL " : " hosts with NCCL ",
               versionOfNccl(k.nccl));
  };
  const bool same = there.nccl == here.nccl && there.workers == here.workers && there.hosts == here.hosts;
  return same ? "" : str("it is for ", of(there), ", and here are ", of(here));
}

LaunchChoice chooseLaunchMode(const LaunchPreferences &preferences, const MeasuredLaunch &here) {
  LaunchChoice choice;
  if (preferences.asked) {
    choice.mode = preferences.asked == 2 ? LaunchMode::Graph : LaunchMode::Outside;
    choice.why = "DGC_CUDA_COLLECTIVES says so";
    return choice;
  }
  if (preferences.isKept) {
    choice.warning = differenceOf(preferences.kept, here);
    if (choice.warning.empty()) {
      choice.mode = preferences.kept.times.faster();
      choice.why = str("was measured before: ", describe(preferences.kept.times));
      return choice;
    }
  }
  choice.measures = preferences.measures;
  choice.why = choice.measures ? str("nothing was measured yet; the first ", LaunchMeasurement::kSteps,
                                     " steps of training do that")
                               : "nothing was measured yet (dgc-run --tune does)";
  return choice;
}

//===-- The file --------------------------------------------------------===//

static nlohmann::json parsed(Disk &disk, const std::string &file) {
  absl::StatusOr<std::string> text = readFile(disk, file, kMostBytes);
  nlohmann::json json =
      text.ok() ? nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false) : nlohmann::json();
  return json.is_object() && json.contains("gpu") && json["gpu"].is_string() ? json : nlohmann::json();
}

std::optional<MeasuredLaunch> readMeasuredLaunch(Disk &disk, const std::string &file, const std::string &gpu,
                                                 const std::string &plan, std::string &warning) {
  auto ignore = [&](const std::string &why) {
    warning = why;
    return std::nullopt;
  };
  if (file.empty() || !disk.exists(file))
    return std::nullopt;
  nlohmann::json json = parsed(disk, file);
  if (json.is_null())
    return ignore("it is no file of what was measured");
  if (!json.contains("collectives"))
    return std::nullopt; // products were measured, and no collectives
  const nlohmann::json &kept = json["collectives"];
  auto number = [&](const char *key) {
    return kept.is_object() && kept.contains(key) && kept[key].is_number_unsigned() ? kept[key].get<uint64_t>() : 0;
  };
  MeasuredLaunch measured;
  measured.times = {static_cast<int64_t>(number("outside_ns")), static_cast<int64_t>(number("graph_ns"))};
  measured.workers = static_cast<uint32_t>(number("workers"));
  measured.hosts = static_cast<uint32_t>(number("hosts"));
  measured.nccl = static_cast<int32_t>(number("nccl"));
  if (!measured.times.areKnown() || !kept.contains("plan") || !kept["plan"].is_string())
    return ignore("its figures of collectives are damaged");
  if (json["gpu"] != gpu)
    return ignore(str("it is for ", json["gpu"].get<std::string>(), ", and here is ", gpu));
  if (kept["plan"] != plan)
    return ignore("the plan was another one then");
  return measured;
}

absl::Status writeMeasuredLaunch(Disk &disk, const std::string &file, const std::string &gpu, const std::string &plan,
                                 const MeasuredLaunch &kept) {
  nlohmann::ordered_json json = {{"gpu", gpu}};
  if (nlohmann::json before = disk.exists(file) ? parsed(disk, file) : nlohmann::json(); !before.is_null())
    if (before["gpu"] == gpu)
      for (const char *key : {"library", "products"})
        if (before.contains(key))
          json[key] = before[key];
  json["collectives"] = {{"plan", plan},
                         {"nccl", kept.nccl},
                         {"workers", kept.workers},
                         {"hosts", kept.hosts},
                         {"outside_ns", kept.times.outside},
                         {"graph_ns", kept.times.graph}};
  return writeFileAtomically(disk, file,
                             json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

//===-- Measuring -------------------------------------------------------===//

void LaunchMeasurement::add(uint64_t step, TimeNs time) {
  if (step < kWarmUp || step + 1 >= kSteps || (step - kWarmUp) % kBlock < kUnsettled)
    return;
  taken[static_cast<size_t>(modeOf(step))].push_back(time);
}

LaunchTimes LaunchMeasurement::times() const {
  auto median = [](std::vector<TimeNs> all) -> int64_t {
    if (all.empty())
      return 0;
    auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  };
  return {median(taken[0]), median(taken[1])};
}

} // namespace dgc::rt::cuda
