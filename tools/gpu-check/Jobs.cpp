// Runs dgc-run as a program of its own.
#include "tools/gpu-check/Jobs.h"

#include "runtime/artifact/Reader.h"
#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/checkpoint/Safetensors.h"
#include "tools/gpu-check/Compare.h"
#include "tools/gpu-check/Programs.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;

constexpr TimeNs kLimit = 120'000'000'000; // of one program
constexpr TimeNs kSoon = 5'000'000'000;    // for a job to end when a worker is dead

namespace {

/// A folder that is gone afterwards.
class Scratch {
public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "gpu-check-XXXXXX").string();
    if (::mkdtemp(name.data()))
      path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path.empty())
      std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

std::vector<std::string> command(const Places &places, const std::filesystem::path &plan,
                                 const std::vector<std::string> &more) {
  std::vector<std::string> words{(places.bin / "dgc-run").string(), plan.string(), "--data",
                                 (places.data / "mnist").string(),  "--evaluate",  "off"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string describe(const Ended &ended) {
  return str(ended.timedOut ? "did not end in time: " : str("exit code ", ended.code, ": "), lastLine(ended.output));
}

/// The largest difference of a tensor of two checkpoints, and its name.
absl::StatusOr<double> compareWeights(const std::string &path, const std::string &wantedPath, std::string &worst) {
  DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(realDisk(), path));
  DGC_ASSIGN_OR_RETURN(SafetensorsFile wanted, SafetensorsFile::open(realDisk(), wantedPath));
  double most = 0;
  for (const auto &[name, entry] : wanted.entries()) {
    auto there = file.entries().find(name);
    double d = INFINITY;
    if (there != file.entries().end() && there->second.bytes == entry.bytes) {
      HostArray a{there->second.dtype, there->second.shape, std::vector<std::byte>(entry.bytes)};
      HostArray b{entry.dtype, entry.shape, std::vector<std::byte>(entry.bytes)};
      DGC_RETURN_IF_ERROR(file.read(there->second, a.bytes));
      DGC_RETURN_IF_ERROR(wanted.read(entry, b.bytes));
      d = difference(a, b);
    }
    if (d >= most)
      worst = name;
    most = std::max(most, d);
  }
  return most;
}

absl::StatusOr<double> toleranceOfFile(const std::filesystem::path &path) {
  DGC_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readPlan(path));
  DGC_ASSIGN_OR_RETURN(auto artifact, loadBytes(bytes));
  return toleranceOf(artifact->plan());
}

} // namespace

void checkTraining(const Places &places, const std::string &name, std::vector<Row> &rows) {
  Row row{name, "20 steps"};
  Scratch scratch;
  std::string weights[2];
  for (const char *kind : {"cuda", "cpu"}) {
    std::string &file = weights[kind[1] == 'p'] = (scratch.path / kind).string();
    Ended ended = runProgram(
        command(places, places.cases / str(name, ".", kind, ".dgcx"), {"--steps", "20", "--seed", "3", "--save", file}),
        kLimit);
    if (ended.code != 0) {
      row.detail = str(kind, ": ", describe(ended));
      rows.push_back(row);
      return;
    }
  }
  std::string worst;
  absl::StatusOr<double> most = compareWeights(weights[0], weights[1], worst);
  absl::StatusOr<double> tolerance = toleranceOfFile(places.cases / (name + ".cuda.dgcx"));
  if (!most.ok() || !tolerance.ok()) {
    row.detail = std::string((most.ok() ? tolerance.status() : most.status()).message());
  } else {
    row.difference = *most;
    row.outcome = *most <= *tolerance ? Outcome::Passed : Outcome::Failed;
    row.detail = row.outcome == Outcome::Passed ? "" : "differs: " + worst;
  }
  rows.push_back(row);
}

static Row killOne(const Places &places, const std::string &name) {
  Row row{name, "kill a worker"};
  TimeNs killed = 0;
  Ended ended =
      runProgram(command(places, places.cases / (name + ".cuda.dgcx"), {"--epochs", "100000", "--log-json", "-"}),
                 kLimit, [&](pid_t job, const std::string &output) {
                   if (killed || output.find("\"step\"") == std::string::npos)
                     return;
                   if (std::vector<pid_t> workers = childrenOf(job); workers.size() > 1) {
                     ::kill(workers.back(), SIGKILL);
                     killed = realClock().now();
                   }
                 });
  if (!killed)
    row.detail = "no worker came to its first step; " + describe(ended);
  else if (ended.code != static_cast<int>(ExitCode::PeerFailed))
    row.detail = describe(ended);
  else if (ended.output.find("was killed by signal 9") == std::string::npos)
    row.detail = "nobody says which worker was killed: " + lastLine(ended.output);
  else if (ended.at - killed > kSoon)
    row.detail = str("ended after ", (ended.at - killed) / 1'000'000, " ms");
  else {
    row.outcome = Outcome::Passed;
    row.detail = str("ended ", (ended.at - killed) / 1'000'000, " ms after it");
  }
  return row;
}

void checkFaults(const Places &places, const std::string &name, std::vector<Row> &rows) {
  rows.push_back(killOne(places, name));
  const std::filesystem::path plan = places.cases / (name + ".cuda.dgcx");

  Row exceeded{name, "64 KiB of memory"};
  Ended ended = runProgram(command(places, plan, {"--steps", "2", "--memory-limit", "64KiB"}), kLimit);
  bool isSaid = ended.output.find("--memory-limit allows 65536") != std::string::npos;
  exceeded.outcome = ended.code == static_cast<int>(ExitCode::Machine) && isSaid ? Outcome::Passed : Outcome::Failed;
  exceeded.detail = exceeded.outcome == Outcome::Passed ? "refused" : describe(ended);
  rows.push_back(exceeded);

  // Each of the workers, its context and libraries included. What it takes once all is loaded is compared by dgc-run.
  Row kept{name, "4 GiB of memory"};
  ended = runProgram(command(places, plan, {"--steps", "20", "--memory-limit", "4GiB"}), kLimit);
  kept.outcome = ended.code == 0 ? Outcome::Passed : Outcome::Failed;
  kept.detail = ended.code == 0 ? "kept" : describe(ended);
  rows.push_back(kept);
}

static std::string findSanitizer() {
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable))
      folders.push_back(str(root, "/bin"));
  folders.emplace_back("/usr/local/cuda/bin");
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    folders.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string &folder : folders)
    if (std::string program = folder + "/compute-sanitizer"; !folder.empty() && ::access(program.c_str(), X_OK) == 0)
      return program;
  return "";
}

void checkSanitizer(const Places &places, const std::string &name, std::vector<Row> &rows) {
  const std::string program = findSanitizer();
  for (const char *tool : {"memcheck", "racecheck"}) {
    Row row{name, tool};
    if (program.empty()) {
      row.outcome = Outcome::Skipped;
      row.detail = "compute-sanitizer was not found";
      rows.push_back(row);
      continue;
    }
    Ended ended = runProgram({program, "--tool", tool, "--error-exitcode", "99", (places.bin / "gpu-check").string(),
                              places.cases.string(), "--only", name, "--no-timing"},
                             kLimit);
    bool isRefused = ended.output.find("Device not supported") != std::string::npos;
    row.outcome = isRefused ? Outcome::Skipped : ended.code == 0 ? Outcome::Passed : Outcome::Failed;
    row.detail = isRefused ? "compute-sanitizer does not work on this machine" : ended.code == 0 ? "" : describe(ended);
    rows.push_back(row);
  }
}
