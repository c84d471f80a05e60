// dgc-inspect: prints what is in an artifact. Checks all of it, runs nothing of it.
#include "tools/dgc-inspect/Describe.h"

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

int main(int argc, char **argv) {
  std::string path, report;
  bool json = false, steps = false;
  CLI::App app{"Prints what is in an artifact of dgc-compile. Nothing of it is executed.", "dgc-inspect"};
  app.set_version_flag("--version", "dgc-inspect " DGC_VERSION);
  app.footer("Example:\n  dgc-inspect mnist_mlp.dgcx --steps\n\nExit codes: 0 done, 2 wrong use, 3 the artifact is "
             "damaged or fails a check, 4 it cannot be read.");
  app.add_option("plan", path, "The artifact; - is standard input")->required()->type_name("PLAN");
  app.add_flag("--json", json, "Everything, as JSON");
  app.add_flag("--steps", steps, "The schedule of each program as well");
  app.add_option("--report", report, "Write a page for a browser instead: schedule, memory, communication, variables")
      ->type_name("FILE.html");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      std::cout.flush();
      if (std::cout.good())
        return 0;
      std::fprintf(stderr, "dgc-inspect: error: cannot write standard output\n");
      return static_cast<int>(rt::ExitCode::BadData);
    }
    std::fprintf(stderr, "dgc-inspect: error: %s; see dgc-inspect --help\n", error.what());
    return static_cast<int>(rt::ExitCode::Usage);
  }
  auto artifact = rt::load(path);
  if (!artifact.ok()) {
    std::fprintf(stderr, "dgc-inspect: error: %s\n", std::string(artifact.status().message()).c_str());
    return static_cast<int>(rt::exitCodeOf(artifact.status()));
  }
  if (!report.empty() && path != "-" && report != "-" && rt::realDisk().isSame(report, path)) {
    std::fprintf(stderr, "dgc-inspect: error: --report %s is the artifact itself; name another file\n", report.c_str());
    return static_cast<int>(rt::ExitCode::Usage);
  }
  if (!report.empty()) {
    absl::Status written = rt::withExitCode(
        rt::writeFileAtomically(rt::realDisk(), report, rt::reportAsHtml(**artifact)), rt::ExitCode::BadData);
    if (!written.ok())
      std::fprintf(stderr, "dgc-inspect: error: %s\n", std::string(written.message()).c_str());
    return static_cast<int>(rt::exitCodeOf(written));
  }
  std::string text = json ? rt::describeAsJson(**artifact) : tool::describeAsText(**artifact, steps);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    std::fprintf(stderr, "dgc-inspect: error: cannot write standard output: %s\n", std::strerror(errno));
    return static_cast<int>(rt::ExitCode::BadData);
  }
  return 0;
}
