// gpu-check: runs plans for a GPU and the same plans for the CPU, compares what they compute, runs jobs of several
// processes and their faults, and times steps. It needs nothing of the compiler.
#include "runtime/base/Clock.h"
#include "runtime/base/Disk.h"
#include "runtime/base/Version.h"
#include "tools/gpu-check/Preflight.h"
#include "tools/gpu-check/Sanitizer.h"
#include "tools/gpu-check/Schedule.h"

#include "CLI/CLI.hpp"

#include <algorithm>
#include <cstdio>

using namespace dgc::rt;

static const char *footer = R"(
A folder of cases has NAME.cuda.dgcx beside NAME.cpu.dgcx, which are compared; timed-*.cuda.dgcx, which are timed alone;
refused-*.cuda.dgcx, which this GPU must refuse. Those of f32 that begin with mnist_ are trained by dgc-run as well, on the
data; the first of two workers is where faults are tried. kernels.cuda.dgcx runs under compute-sanitizer.

A case is NAME/compare, NAME/training, NAME/faults, NAME/memcheck, NAME/racecheck, NAME/times or device/self-test. Each is a
process that is killed after --case-limit. They come in this order: kernels, the device by itself, products, attention,
convolutions, models (three steps, then 20 and 100), several workers on one GPU, faults, compute-sanitizer, times.

Example:
  scripts/gpu-bundle OUT         # where dgc is built
  OUT/gpu-check --json out.json --jobs 4 --deadline 540   # on a machine with a GPU that is rented for ten minutes
  OUT/gpu-check --json out.json --resume                  # on the next one: what is not in out.json yet

Exit codes: 0 every check passed, was skipped for a reason that the table gives, or was left out for --deadline; 1 one
failed; 2 wrong use.)";

struct Flags {
  std::string folder, json, data, rows, cudaLibs;
  std::vector<std::string> only;
  bool noTiming = false, sanitize = false, resume = false, preflight = false;
  double caseLimit = 60, deadline = 0;
  int jobs = 1;
};

static void addFlags(CLI::App &app, Flags &flags) {
  app.add_option("cases", flags.folder, "Folder of cases (default: ../cases beside the program)");
  app.add_option("--data", flags.data, "Folder with mnist/ (default: ../data beside the cases)");
  app.add_option("--only", flags.only,
                 "Only this case, NAME/CHECK, or all of the plan NAME; may be given several times")
      ->allow_extra_args(false)
      ->type_name("CASE");
  app.add_flag("--no-timing", flags.noTiming, "Time nothing");
  app.add_flag("--sanitize", flags.sanitize,
               "Nothing but what is compared and the self test, all under compute-sanitizer's memcheck");
  app.add_flag("--preflight", flags.preflight, "Print what the machine has, and end: 0 if there is a GPU, else 1");
  app.add_option("--case-limit", flags.caseLimit,
                 "Seconds that a case may take, four times that under compute-sanitizer")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--deadline", flags.deadline,
                 "Begin no case that, by its limit, could last longer than so many seconds after the start")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  app.add_option("--jobs", flags.jobs, "Run so many cases at a time; times and faults are always alone")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->capture_default_str();
  auto *json = app.add_option("--json", flags.json, "Write the results here, a line of JSON for each case when it ends")
                   ->type_name("FILE");
  app.add_flag("--resume", flags.resume, "Do not run what --json FILE already has as passed or failed")->needs(json);
  app.add_option("--cuda-libs", flags.cudaLibs, "Look for libraries of NVIDIA here first, as dgc-run does")
      ->type_name("DIR[:DIR]..");
  app.add_option("--rows", flags.rows)->group(""); // of the processes that this one starts
}

static int fail(int code, const std::string &message) {
  std::fprintf(stderr, "gpu-check: error: %s\n", message.c_str());
  return code;
}

/// Those that --only names; all without it. `missing`: what names none.
static std::vector<Case> selected(const std::vector<Case> &cases, const std::vector<std::string> &only,
                                  std::string &missing) {
  std::vector<Case> some;
  for (const Case &one : cases)
    if (only.empty() || std::ranges::any_of(only, [&](const std::string &name) { return one.isNamed(name); }))
      some.push_back(one);
  for (const std::string &name : only)
    if (std::ranges::none_of(some, [&](const Case &one) { return one.isNamed(name); }))
      missing = name;
  return some;
}

/// One case, for the process that started this one.
static int runForParent(const Case &one, const Places &places, const std::string &file) {
  ResultLog log;
  if (absl::Status s = log.open(file, false); !s.ok())
    return fail(2, std::string(s.message()));
  int code = 0;
  runHere(one, places, [&](const Row &row) {
    code |= row.outcome == Outcome::Failed;
    if (absl::Status s = log.append(asLine(row)); !s.ok())
      code = fail(2, std::string(s.message()));
  });
  return code;
}

static int report(const std::vector<CaseResult> &results, double seconds) {
  std::vector<Row> rows;
  for (const CaseResult &result : results)
    rows.insert(rows.end(), result.rows.begin(), result.rows.end());
  printTable(rows);
  auto count = [&](Outcome outcome) {
    return std::ranges::count_if(rows, [&](const Row &row) { return row.outcome == outcome; });
  };
  std::printf("%td passed, %td failed, %td skipped", count(Outcome::Passed), count(Outcome::Failed),
              count(Outcome::Skipped));
  if (auto leftOut = count(Outcome::LeftOut))
    std::printf(", %td left out (--resume runs these)", leftOut);
  std::printf(" in %.0f s\n", seconds);
  return count(Outcome::Failed) ? 1 : 0;
}

static int run(const Flags &flags, const std::vector<Case> &cases, ScheduleOptions &options) {
  std::map<std::string, CaseResult> known;
  if (flags.resume)
    if (absl::StatusOr<std::string> text = readFile(realDisk(), flags.json); text.ok())
      known = resultsOf(*text);
  std::erase_if(known, [](const auto &entry) { return entry.second.outcome() == Outcome::Skipped; });
  ResultLog log;
  if (!flags.json.empty())
    if (absl::Status s = log.open(flags.json, flags.resume); !s.ok())
      return fail(1, std::string(s.message()));
  bool isHung = false;
  const std::vector<std::string> device = runPreflight((options.places.bin / "gpu-check").string(), isHung);
  if (absl::Status s = log.append(deviceLine(device)); !s.ok())
    return fail(1, std::string(s.message()));
  if (isHung)
    return fail(1, "the driver or a library hangs: nothing was checked");
  const std::vector<CaseResult> results = runCases(cases, options, known, log);
  return report(results, static_cast<double>(realClock().now() - options.begin) * 1e-9);
}

int main(int argc, char **argv) {
  const TimeNs begin = realClock().now();
  Flags flags;
  CLI::App app{"Compares plans for a GPU with those for the CPU, tries faults, and times steps.", "gpu-check"};
  app.footer(footer);
  app.set_version_flag("--version", "gpu-check " DGC_VERSION);
  addFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (!flags.cudaLibs.empty())
    ::setenv("DGC_CUDA_LIBS", flags.cudaLibs.c_str(), 1);
  if (flags.preflight)
    return printPreflight() ? 0 : 1;
  std::error_code error;
  Places places{std::filesystem::read_symlink("/proc/self/exe", error).parent_path(), flags.folder, flags.data};
  if (flags.folder.empty())
    places.cases = places.bin / "../cases";
  if (flags.data.empty())
    places.data = places.cases / "../data";
  const std::vector<std::filesystem::path> plans = plansIn(places.cases);
  if (plans.empty())
    return fail(2, places.cases.string() + " has no *.cuda.dgcx; make a folder of cases with scripts/gpu-bundle");
  if (flags.sanitize && findSanitizer().empty())
    return fail(1, "compute-sanitizer was not found, in $CUDA_HOME/bin, /usr/local/cuda/bin and on the PATH");
  const Suite suite = flags.sanitize ? Suite::Sanitized : flags.noTiming ? Suite::WithoutTiming : Suite::All;
  std::string missing;
  const std::vector<Case> cases = selected(casesOf(plans, suite), flags.only, missing);
  if (!missing.empty())
    return fail(2, places.cases.string() + " has no case '" + missing + "'; a case is NAME/CHECK or NAME, see --help");
  if (!flags.rows.empty())
    return runForParent(cases[0], places, flags.rows);
  auto nanoseconds = [](double seconds) { return static_cast<TimeNs>(seconds * 1e9); };
  ScheduleOptions options{places, begin, nanoseconds(flags.caseLimit), nanoseconds(flags.deadline), flags.jobs};
  return run(flags, cases, options);
}
