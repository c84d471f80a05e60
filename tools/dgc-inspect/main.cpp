// dgc-inspect: prints what is in an artifact. Checks all of it, runs nothing of it. Of a program that is not compiled yet
// dgc-compile prints it. Of a folder with checkpoints it prints what the workers of its job did last.
#include "tools/dgc-inspect/Describe.h"
#include "tools/dgc-inspect/Program.h"

#include "CLI/CLI.hpp"
#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Version.h"
#include "runtime/telemetry/FlightLog.h"
#include "runtime/telemetry/PlanJson.h"
#include "runtime/telemetry/Report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

using namespace dgc;

static int fail(rt::ExitCode code, const std::string &message) {
  std::fprintf(stderr, "dgc-inspect: error: %s\n", message.c_str());
  return static_cast<int>(code);
}

static int fail(const absl::Status &status) { return fail(rt::exitCodeOf(status), std::string(status.message())); }

/// Writes all of it to standard output. Gives the exit status.
static int write(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail(rt::ExitCode::BadData, std::string("cannot write standard output: ") + std::strerror(errno));
  return 0;
}

static int inspectFlight(const std::string &dir, bool before, bool json, size_t last) {
  auto logs = rt::readFlightLogs(rt::realDisk(), dir, before);
  if (!logs.ok())
    return fail(absl::IsInvalidArgument(logs.status()) ? rt::ExitCode::BadArtifact : rt::ExitCode::BadData,
                std::string(logs.status().message()));
  return write(json ? rt::flightAsJson(*logs, last) : rt::describeFlight(*logs, last));
}

int main(int argc, char **argv) {
  std::string path, report;
  bool json = false, steps = false, before = false;
  uint32_t workers = 0;
  size_t last = 10;
  std::vector<std::string> flags;
  CLI::App app{
      "Prints what is in an artifact of dgc-compile, or in a program of StableHLO or ONNX and what of it is not "
      "supported. Nothing of it is executed. Of a range of plans: which it has. Of a folder with the checkpoints of a "
      "job: what its workers did last.",
      "dgc-inspect"};
  app.set_version_flag("--version", "dgc-inspect " DGC_VERSION);
  app.footer("Examples:\n  dgc-inspect mnist_mlp.dgcx --steps\n  dgc-inspect range.dgcx --workers 3\n  dgc-inspect "
             "step.mlirbc\n  dgc-inspect "
             "checkpoints/\n\nExit codes: 0 done, 1 something "
             "of the program is not supported, 2 wrong use, 3 the artifact is damaged or fails a check, 4 it cannot be "
             "read, 7 a program, and dgc-compile is not installed.");
  app.add_option("plan", path, "The artifact, - is standard input; a program; or the folder of --checkpoint")
      ->required()
      ->type_name("PLAN");
  app.add_flag("--json", json, "Everything, as JSON");
  app.add_flag("--steps", steps, "The schedule of each program as well");
  app.add_option("--report", report, "Write a page for a browser instead: schedule, memory, communication, variables")
      ->type_name("FILE.html");
  app.add_option("--workers", workers,
                 "Of a range of plans: the plan for so many workers, in place of a list of the plans")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  app.add_option("--last", last, "Of a folder: how many ops that began last, of all workers")
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--before", before, "Of a folder: of the run before, as of one that was restarted");
  auto pass = [&](const char *flag, const char *help, const char *type) {
    app.add_option_function<std::vector<std::string>>(
           flag,
           [&flags, flag](const std::vector<std::string> &values) {
             for (const std::string &value : values)
               flags.push_back(flag + ("=" + value));
           },
           help)
        ->type_name(type);
  };
  pass("--signature", "Of a program: as for dgc-compile", "FILE.json");
  pass("--input-shape", "Of an ONNX model: as for dgc-compile; repeatable", "NAME=8x3,..");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      std::cout.flush();
      if (std::cout.good())
        return 0;
      return fail(rt::ExitCode::BadData, "cannot write standard output");
    }
    return fail(rt::ExitCode::Usage, std::string(error.what()) + "; see dgc-inspect --help");
  }
  if (std::error_code error; std::filesystem::is_directory(path, error)) {
    if (steps || workers || !report.empty() || !flags.empty())
      return fail(rt::ExitCode::Usage, path + " is a folder: --json, --last and --before go with it");
    return inspectFlight(path, before, json, last);
  }
  if (before || app.count("--last"))
    return fail(rt::ExitCode::Usage, path + " is no folder: leave --last and --before away");
  if (tool::isProgram(path)) {
    if (steps || workers || !report.empty())
      return fail(rt::ExitCode::Usage,
                  path + " is a program, which has no schedule yet: leave --steps, --report and --workers away");
    if (json)
      flags.emplace_back("--json");
    const absl::Status status = tool::describeProgram(path, flags);
    return fail(status);
  }
  if (!flags.empty())
    return fail(rt::ExitCode::Usage,
                path + " is no program of StableHLO or ONNX: leave --signature and --input-shape away");
  auto range = rt::PlanRange::open(path);
  if (!range.ok())
    return fail(range.status());
  if (range->isRange() && !workers) {
    if (steps || !report.empty())
      return fail(rt::ExitCode::Usage,
                  path + " is a range of plans, and --steps and --report show one: add --workers N");
    return write(json ? tool::describeRangeAsJson(*range) : tool::describeRangeAsText(*range));
  }
  auto artifact = range->load(workers ? workers : range->sizes().front());
  if (!artifact.ok())
    return fail(artifact.status());
  if (!report.empty() && path != "-" && report != "-" && rt::realDisk().isSame(report, path))
    return fail(rt::ExitCode::Usage, "--report " + report + " is the artifact itself; name another file");
  if (!report.empty()) {
    absl::Status written = rt::withExitCode(
        rt::writeFileAtomically(rt::realDisk(), report, rt::reportAsHtml(**artifact)), rt::ExitCode::BadData);
    return written.ok() ? 0 : fail(written);
  }
  return write(json ? rt::describeAsJson(**artifact) : tool::describeAsText(**artifact, steps));
}
