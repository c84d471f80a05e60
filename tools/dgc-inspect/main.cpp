// dgc-inspect: prints what is in an artifact. Checks all of it, runs nothing of it. Of a program that is not compiled yet
// dgc-compile prints it.
#include "tools/dgc-inspect/Describe.h"
#include "tools/dgc-inspect/Program.h"

#include "CLI/CLI.hpp"
#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Version.h"
#include "runtime/telemetry/PlanJson.h"
#include "runtime/telemetry/Report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

using namespace dgc;

static int fail(rt::ExitCode code, const std::string &message) {
  std::fprintf(stderr, "dgc-inspect: error: %s\n", message.c_str());
  return static_cast<int>(code);
}

int main(int argc, char **argv) {
  std::string path, report;
  bool json = false, steps = false;
  std::vector<std::string> flags;
  CLI::App app{
      "Prints what is in an artifact of dgc-compile, or in a program of StableHLO or ONNX and what of it is not "
      "supported. Nothing of it is executed.",
      "dgc-inspect"};
  app.set_version_flag("--version", "dgc-inspect " DGC_VERSION);
  app.footer(
      "Examples:\n  dgc-inspect mnist_mlp.dgcx --steps\n  dgc-inspect step.mlirbc\n\nExit codes: 0 done, 1 something "
      "of the program is not supported, 2 wrong use, 3 the artifact is damaged or fails a check, 4 it cannot be "
      "read, 7 a program, and dgc-compile is not installed.");
  app.add_option("plan", path, "The artifact, - is standard input; or a program")->required()->type_name("PLAN");
  app.add_flag("--json", json, "Everything, as JSON");
  app.add_flag("--steps", steps, "The schedule of each program as well");
  app.add_option("--report", report, "Write a page for a browser instead: schedule, memory, communication, variables")
      ->type_name("FILE.html");
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
  if (tool::isProgram(path)) {
    if (steps || !report.empty())
      return fail(rt::ExitCode::Usage,
                  path + " is a program, which has no schedule yet: leave --steps and --report away");
    if (json)
      flags.emplace_back("--json");
    const absl::Status status = tool::describeProgram(path, flags);
    return fail(rt::exitCodeOf(status), std::string(status.message()));
  }
  if (!flags.empty())
    return fail(rt::ExitCode::Usage,
                path + " is no program of StableHLO or ONNX: leave --signature and --input-shape away");
  auto artifact = rt::load(path);
  if (!artifact.ok())
    return fail(rt::exitCodeOf(artifact.status()), std::string(artifact.status().message()));
  if (!report.empty() && path != "-" && report != "-" && rt::realDisk().isSame(report, path))
    return fail(rt::ExitCode::Usage, "--report " + report + " is the artifact itself; name another file");
  if (!report.empty()) {
    absl::Status written = rt::withExitCode(
        rt::writeFileAtomically(rt::realDisk(), report, rt::reportAsHtml(**artifact)), rt::ExitCode::BadData);
    return written.ok() ? 0 : fail(rt::exitCodeOf(written), std::string(written.message()));
  }
  std::string text = json ? rt::describeAsJson(**artifact) : tool::describeAsText(**artifact, steps);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail(rt::ExitCode::BadData, std::string("cannot write standard output: ") + std::strerror(errno));
  return 0;
}
