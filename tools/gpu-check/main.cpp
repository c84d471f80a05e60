// gpu-check: runs plans for a GPU and the same plans for the CPU, compares what they compute, runs jobs of several
// processes and their faults, and times steps. It needs nothing of the compiler.
#include "runtime/artifact/Reader.h"
#include "runtime/base/Clock.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Version.h"
#include "runtime/device/Plugin.h"
#include "tools/gpu-check/Compare.h"
#include "tools/gpu-check/Jobs.h"

#include "CLI/CLI.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

using namespace dgc::rt;

static const char *footer = R"(
A folder of cases has NAME.cuda.dgcx beside NAME.cpu.dgcx, which are compared; timed-*.cuda.dgcx, which are timed alone;
refused-*.cuda.dgcx, which this GPU must refuse. Those that begin with mnist_ are trained by dgc-run as well, on the data;
the first of two workers is where faults are tried. kernels.cuda.dgcx runs under compute-sanitizer.

Example:
  scripts/gpu-bundle OUT         # where dgc is built
  OUT/gpu-check --json out.json  # on a machine with a GPU

Exit codes: 0 every check passed or was skipped for a reason that the table gives, 1 one failed, 2 wrong use.)";

static bool hasTwoWorkers(const std::filesystem::path &path) {
  auto bytes = readPlan(path);
  auto artifact = bytes.ok() ? loadBytes(*bytes) : bytes.status();
  return artifact.ok() && (*artifact)->plan().world_size() == 2;
}

int main(int argc, char **argv) {
  std::string folder, json, only, data;
  bool noTiming = false;
  CLI::App app{"Compares plans for a GPU with those for the CPU, tries faults, and times steps.", "gpu-check"};
  app.footer(footer);
  app.set_version_flag("--version", "gpu-check " DGC_VERSION);
  app.add_option("cases", folder, "Folder of cases (default: ../cases beside the program)");
  app.add_option("--data", data, "Folder with mnist/ (default: ../data beside the cases)");
  app.add_option("--only", only, "Only the case of this name, and no jobs");
  app.add_flag("--no-timing", noTiming, "Time nothing");
  app.add_option("--json", json, "Write the results here as well");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  std::error_code error;
  const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (folder.empty())
    folder = (bin / "../cases").string();
  if (data.empty())
    data = (std::filesystem::path(folder) / "../data").string();
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".cuda.dgcx") && (only.empty() || name == only + ".cuda.dgcx"))
      files.push_back(entry.path());
  }
  if (error || files.empty()) {
    std::fprintf(stderr, "gpu-check: error: %s has no %s.cuda.dgcx; make a folder of cases with scripts/gpu-bundle\n",
                 folder.c_str(), only.empty() ? "*" : only.c_str());
    return 2;
  }
  std::sort(files.begin(), files.end());

  std::vector<std::string> device;
  std::vector<Row> rows;
  auto plugin = openPlugin("cuda");
  if (plugin.ok())
    device = (*plugin)->describe();
  else
    device.push_back(std::string(plugin.status().message()));
  for (const std::string &line : device)
    std::printf("%s\n", line.c_str());
  std::fflush(stdout);

  const TimeNs begin = realClock().now();
  auto progress = [&](const std::string &what) {
    std::fprintf(stderr, "%4lld s  %s\n", static_cast<long long>((realClock().now() - begin) / 1'000'000'000),
                 what.c_str());
  };
  if (plugin.ok() && only.empty()) {
    progress("the device by itself");
    for (const SelfTestLine &line : (*plugin)->selfTest())
      rows.push_back({"device", line.name,
                      line.outcome == SelfTestLine::Passed   ? Outcome::Passed
                      : line.outcome == SelfTestLine::Failed ? Outcome::Failed
                                                             : Outcome::Skipped,
                      line.detail});
  }
  for (const auto &file : files) {
    progress(file.filename().string());
    checkPlan(file, !noTiming, rows);
  }
  if (only.empty()) {
    const Places places{bin, folder, data};
    const bool hasData = std::filesystem::exists(places.data / "mnist");
    bool isFaulty = false;
    for (const auto &file : files) {
      std::string name = file.filename().string();
      name.resize(name.size() - std::string(".cuda.dgcx").size());
      if (name == "kernels") {
        progress("compute-sanitizer");
        checkSanitizer(places, name, rows);
      }
      if (!name.starts_with("mnist_"))
        continue;
      if (!hasData) {
        rows.push_back({name, "20 steps", Outcome::Skipped, places.data.string() + " has no mnist"});
        continue;
      }
      progress("training " + name);
      checkTraining(places, name, rows);
      if (isFaulty || !hasTwoWorkers(file))
        continue;
      isFaulty = true;
      progress("faults of " + name);
      checkFaults(places, name, rows);
    }
  }
  const double seconds = static_cast<double>(realClock().now() - begin) * 1e-9;
  printTable(rows);
  if (!json.empty())
    if (absl::Status s = writeFileAtomically(realDisk(), json, asJson(rows, device, seconds)); !s.ok()) {
      std::fprintf(stderr, "gpu-check: error: %s\n", std::string(s.message()).c_str());
      return 1;
    }
  auto count = [&](Outcome outcome) {
    return std::count_if(rows.begin(), rows.end(), [&](const Row &row) { return row.outcome == outcome; });
  };
  std::printf("%td passed, %td failed, %td skipped in %.0f s\n", count(Outcome::Passed), count(Outcome::Failed),
              count(Outcome::Skipped), seconds);
  return count(Outcome::Failed) ? 1 : 0;
}
