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

constexpr TimeNs kSoon = 5'000'000'000; // for a job to end when a worker is dead

constexpr double kLossTolerance = 0.05; // of the mean loss of ten steps, of two runs with the same beginning

Scratch::Scratch() {
  std::error_code ignored; // $TMPDIR may name what is not there
  for (const std::filesystem::path &folder :
       {std::filesystem::temp_directory_path(ignored), std::filesystem::path("/tmp"), std::filesystem::path(".")}) {
    std::string name = (folder / "gpu-check-XXXXXX").string();
    if (!folder.empty() && ::mkdtemp(name.data())) {
      path = name;
      return;
    }
  }
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path.empty())
    std::filesystem::remove_all(path, ignored);
}

namespace {

Ended runUntil(TimeNs deadline, const std::vector<std::string> &words,
               const std::function<void(pid_t, const std::string &)> &watch = {}) {
  return runProgram(words, std::max<TimeNs>(deadline - realClock().now(), 1), watch);
}

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

absl::StatusOr<HostArray> readTensor(const SafetensorsFile &file, const std::string &name) {
  auto found = file.entries().find(name);
  if (found == file.entries().end())
    return absl::NotFoundError(str("there is no '", name, "'"));
  HostArray array{found->second.dtype, found->second.shape, std::vector<std::byte>(found->second.bytes)};
  DGC_RETURN_IF_ERROR(file.read(found->second, array.bytes));
  return array;
}

/// Fills in the largest difference of two checkpoints.
absl::Status compareWeights(const std::string &path, const std::string &wantedPath, double tolerance, Row &row) {
  DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(realDisk(), path));
  DGC_ASSIGN_OR_RETURN(SafetensorsFile wanted, SafetensorsFile::open(realDisk(), wantedPath));
  double largest = 0;
  for (const auto &[name, entry] : wanted.entries()) {
    DGC_ASSIGN_OR_RETURN(HostArray array, readTensor(wanted, name));
    if (!isFinite(array))
      return absl::OutOfRangeError(str("'", name, "' is not finite on the CPU either: nothing is compared"));
    largest = std::max(largest, largestOf(array));
  }
  row.difference = 0;
  for (const auto &[name, entry] : wanted.entries()) {
    DGC_ASSIGN_OR_RETURN(HostArray there, readTensor(wanted, name));
    DGC_ASSIGN_OR_RETURN(HostArray array, readTensor(file, name));
    if (double d = difference(array, there, kFloor * largest); d > row.difference) {
      row.difference = d;
      row.detail = d > tolerance ? "differs: " + name : "";
    }
  }
  row.outcome = row.difference <= tolerance ? Outcome::Passed : Outcome::Failed;
  return absl::OkStatus();
}

absl::StatusOr<double> toleranceOfFile(const std::filesystem::path &path) {
  DGC_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readPlan(path));
  DGC_ASSIGN_OR_RETURN(auto artifact, loadBytes(bytes));
  return toleranceOf(artifact->plan());
}

void fail(Row &row, const std::string &detail) {
  row.detail = detail;
  row.outcome = outcomeOfError(detail);
}

/// The mean loss of the last ten steps that a log of lines of JSON has; NaN when it has none.
double lossOf(const std::string &log) {
  std::vector<double> losses;
  static constexpr std::string_view key = "\"loss\":";
  for (size_t at = log.find(key); at != std::string::npos; at = log.find(key, at + 1))
    losses.push_back(std::strtod(log.c_str() + at + key.size(), nullptr));
  double sum = 0;
  const size_t count = std::min<size_t>(losses.size(), 10);
  for (size_t i = losses.size() - count; i < losses.size(); ++i)
    sum += losses[i];
  return sum / static_cast<double>(count);
}

/// 20 steps, whose weights are compared.
Row compareTrained(const Places &places, const std::string &name, TimeNs deadline) {
  Row row{name, "20 steps"};
  Scratch scratch;
  std::string weights[2];
  for (const char *kind : {"cuda", "cpu"}) {
    std::string &file = weights[kind[1] == 'p'] = (scratch.path / kind).string();
    Ended ended = runUntil(deadline, command(places, places.cases / str(name, ".", kind, ".dgcx"),
                                             {"--steps", "20", "--seed", "3", "--save", file}));
    if (ended.code != 0) {
      fail(row, str(kind, ": ", describe(ended)));
      return row;
    }
  }
  absl::StatusOr<double> tolerance = toleranceOfFile(places.cases / (name + ".cuda.dgcx"));
  absl::Status status = tolerance.ok() ? compareWeights(weights[0], weights[1], *tolerance, row) : tolerance.status();
  if (!status.ok())
    fail(row, std::string(status.message()));
  return row;
}

/// So many steps, whose losses are compared.
Row compareLosses(const Places &places, const std::string &name, int steps, TimeNs deadline) {
  Row row{name, str(steps, " steps")};
  double losses[2];
  for (const char *kind : {"cuda", "cpu"}) {
    Ended ended = runUntil(deadline, command(places, places.cases / str(name, ".", kind, ".dgcx"),
                                             {"--steps", str(steps), "--seed", "3", "--log-json", "-"}));
    if (ended.code != 0) {
      fail(row, str(kind, ": ", describe(ended)));
      return row;
    }
    losses[kind[1] == 'p'] = lossOf(ended.output);
  }
  row.difference = std::abs(losses[0] - losses[1]) / std::abs(losses[1]);
  row.outcome = row.difference <= kLossTolerance ? Outcome::Passed : Outcome::Failed;
  row.detail = str("the loss of the last ten is ", losses[0], ", on the CPU ", losses[1]);
  return row;
}

} // namespace

void checkTraining(const Places &places, const std::string &name, bool isSmall, bool isLong, TimeNs deadline,
                   std::vector<Row> &rows) {
  rows.push_back(isSmall ? compareTrained(places, name, deadline) : compareLosses(places, name, 20, deadline));
  if (isLong && rows.back().outcome == Outcome::Passed)
    rows.push_back(compareLosses(places, name, 100, deadline));
}

static Row killOne(const Places &places, const std::string &name, TimeNs deadline) {
  Row row{name, "kill a worker"};
  TimeNs killed = 0;
  Ended ended = runUntil(
      deadline, command(places, places.cases / (name + ".cuda.dgcx"), {"--epochs", "100000", "--log-json", "-"}),
      [&](pid_t job, const std::string &output) {
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
    row.detail = "it is not said which worker was killed: " + lastLine(ended.output);
  else if (ended.at - killed > kSoon)
    row.detail = str("ended after ", (ended.at - killed) / 1'000'000, " ms");
  else {
    row.outcome = Outcome::Passed;
    row.detail = str("ended ", (ended.at - killed) / 1'000'000, " ms after it");
  }
  return row;
}

void checkFaults(const Places &places, const std::string &name, TimeNs deadline, std::vector<Row> &rows) {
  rows.push_back(killOne(places, name, deadline));
  const std::filesystem::path plan = places.cases / (name + ".cuda.dgcx");

  Row exceeded{name, "64 KiB of memory"};
  Ended ended = runUntil(deadline, command(places, plan, {"--steps", "2", "--memory-limit", "64KiB"}));
  bool isSaid = ended.output.find("--memory-limit allows 65536") != std::string::npos;
  exceeded.outcome = ended.code == static_cast<int>(ExitCode::Machine) && isSaid ? Outcome::Passed : Outcome::Failed;
  exceeded.detail = exceeded.outcome == Outcome::Passed ? "refused" : describe(ended);
  rows.push_back(exceeded);

  // Each of the workers, its context and libraries included. What it takes once all is loaded is compared by dgc-run.
  Row kept{name, "4 GiB of memory"};
  ended = runUntil(deadline, command(places, plan, {"--steps", "20", "--memory-limit", "4GiB"}));
  kept.outcome = ended.code == 0 ? Outcome::Passed : Outcome::Failed;
  kept.detail = ended.code == 0 ? "kept" : describe(ended);
  rows.push_back(kept);
}
