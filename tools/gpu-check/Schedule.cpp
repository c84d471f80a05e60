// Runs cases.
#include "tools/gpu-check/Schedule.h"

#include "runtime/base/Disk.h"
#include "runtime/base/Status.h"
#include "runtime/device/Plugin.h"
#include "tools/gpu-check/Compare.h"
#include "tools/gpu-check/Programs.h"
#include "tools/gpu-check/Sanitizer.h"
#include "tools/gpu-check/Timing.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sstream>
#include <thread>

using namespace dgc::rt;

constexpr int kSanitizerTimes = 4;

static double toSeconds(TimeNs time) { return static_cast<double>(time) * 1e-9; }

//===-- In this process -------------------------------------------------===//

static void runSelfTest(absl::FunctionRef<void(const Row &)> add) {
  auto plugin = openPlugin("cuda");
  if (!plugin.ok())
    return add({"device", "plug-in", Outcome::Failed, std::string(plugin.status().message())});
  for (const SelfTestLine &line : (*plugin)->selfTest())
    add({"device", line.name,
         line.outcome == SelfTestLine::Passed   ? Outcome::Passed
         : line.outcome == SelfTestLine::Failed ? Outcome::Failed
                                                : Outcome::Skipped,
         line.detail});
}

void runHere(const Case &one, const Places &places, absl::FunctionRef<void(const Row &)> add) {
  const std::filesystem::path plan = places.cases / (one.name + ".cuda.dgcx");
  if (one.check == Check::SelfTest)
    return runSelfTest(add);
  if (one.check == Check::Times)
    return timePlan(plan, add);
  comparePlan(plan, add);
}

//===-- As a process ----------------------------------------------------===//

namespace {

/// Why a process that gave no result, or not all, ended.
std::string describe(const Ended &ended, TimeNs limit) {
  std::string last = lastLine(ended.output);
  if (!last.empty())
    last = "; its last line: " + last;
  if (ended.timedOut)
    return str("did not end in ", toSeconds(limit), " s, and was killed", last);
  if (ended.code > 128)
    return str("was ended by signal ", ended.code - 128, " (", ::strsignal(ended.code - 128), ")", last);
  return str("exit code ", ended.code, last);
}

class Runner {
public:
  explicit Runner(const ScheduleOptions &options) : options(options) {}

  TimeNs limitOf(const Case &one) const { return options.caseLimit * (one.isSanitized() ? kSanitizerTimes : 1); }
  bool fits(const Case &one) const {
    return options.deadline == 0 || realClock().now() - options.begin + limitOf(one) <= options.deadline;
  }

  CaseResult run(const Case &one) {
    CaseResult result{one.id()};
    const TimeNs begin = realClock().now(), deadline = begin + limitOf(one);
    const Places &places = options.places;
    if (one.check == Check::Training || one.check == Check::Faults) {
      if (!std::filesystem::exists(places.data / "mnist"))
        result.rows.push_back({one.name, one.checkName(), Outcome::Skipped, places.data.string() + " has no mnist"});
      else if (one.check == Check::Training)
        checkTraining(places, one.name, one.isSmall, one.isLong, deadline, result.rows);
      else
        checkFaults(places, one.name, deadline, result.rows);
    } else if (one.isSanitized()) {
      result.rows.push_back(runSanitized(one));
    } else {
      runProcess(one, result.rows);
    }
    result.seconds = toSeconds(realClock().now() - begin);
    return result;
  }

private:
  /// This program with a case as its only one, whose rows it writes into `file`.
  std::vector<std::string> wordsFor(const std::string &id, const std::string &file) const {
    const Places &places = options.places;
    return {(places.bin / "gpu-check").string(), places.cases.string(), "--only", id, "--rows", file};
  }

  void runProcess(const Case &one, std::vector<Row> &rows) {
    const std::string file = (scratch.path / std::to_string(files++)).string();
    Ended ended = runProgram(wordsFor(one.id(), file), limitOf(one));
    if (absl::StatusOr<std::string> text = readFile(realDisk(), file); text.ok()) {
      std::istringstream lines(*text);
      for (std::string line; std::getline(lines, line);)
        if (std::optional<Row> row = rowOf(line))
          rows.push_back(*row);
    }
    if (ended.timedOut || ended.code < 0 || ended.code > 1 || rows.empty())
      rows.push_back({one.name, one.checkName(), Outcome::Failed, describe(ended, limitOf(one))});
  }

  Row runSanitized(const Case &one) {
    const std::string sanitizer = findSanitizer();
    if (sanitizer.empty())
      return {one.name, one.checkName(), Outcome::Skipped, "compute-sanitizer was not found"};
    const std::string file = (scratch.path / std::to_string(files++)).string();
    const std::string id = one.name + (one.name == "device" ? "/self-test" : "/compare");
    Ended ended = runProgram(underSanitizer(sanitizer, one.checkName(), wordsFor(id, file)), limitOf(one));
    if (ended.timedOut)
      return {one.name, one.checkName(), Outcome::Failed, describe(ended, limitOf(one))};
    return sanitizerRow(one.name, one.checkName(), ended);
  }

  const ScheduleOptions &options;
  Scratch scratch;
  std::atomic<int> files = 0;
};

const char *wordFor(Outcome outcome) {
  return outcome == Outcome::Failed ? "FAILED" : outcome == Outcome::Passed ? "ok" : "skipped";
}

} // namespace

//===-- All of them -----------------------------------------------------===//

std::vector<CaseResult> runCases(const std::vector<Case> &cases, const ScheduleOptions &options,
                                 const std::map<std::string, CaseResult> &known, ResultLog &log) {
  std::vector<CaseResult> results(cases.size());
  Runner runner(options);
  std::mutex mutex;
  auto report = [&](const CaseResult &result) {
    std::scoped_lock lock(mutex);
    if (absl::Status s = log.append(asLine(result)); !s.ok())
      std::fprintf(stderr, "gpu-check: error: %s\n", std::string(s.message()).c_str());
    std::string detail;
    for (const Row &row : result.rows)
      if (row.outcome != Outcome::Passed && detail.empty())
        detail = str(", ", row.what, ": ", row.detail);
    std::fprintf(stderr, "%4.0f s  %s  %s in %.1f s%s\n", toSeconds(realClock().now() - options.begin),
                 result.id.c_str(), wordFor(result.outcome()), result.seconds, detail.c_str());
  };
  auto runOne = [&](size_t i) {
    const Case &one = cases[i];
    if (auto found = known.find(one.id()); found != known.end()) {
      results[i] = found->second;
      return;
    }
    if (!runner.fits(one)) {
      const std::string detail = str("it may take ", toSeconds(runner.limitOf(one)), " s, more than --deadline leaves");
      results[i] = {one.id(), 0, {{one.name, one.checkName(), Outcome::LeftOut, detail}}};
      return;
    }
    results[i] = runner.run(one);
    report(results[i]);
  };
  for (size_t begin = 0; begin < cases.size();) { // those beside each other that may run at a time
    size_t end = begin + 1;
    while (end < cases.size() && !cases[begin].isAlone() && !cases[end].isAlone())
      ++end;
    std::atomic<size_t> next = begin;
    auto work = [&] {
      for (size_t i = next++; i < end; i = next++)
        runOne(i);
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < options.jobs && begin + static_cast<size_t>(i) < end; ++i)
      threads.emplace_back(work);
    work();
    for (std::thread &thread : threads)
      thread.join();
    begin = end;
  }
  return results;
}
