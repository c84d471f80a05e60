// dgc-run: runs a plan. See docs/exit-codes.md for what it returns.
#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/driver/Worker.h"
#include "runtime/telemetry/PlanSummary.h"
#include "tools/dgc-run/Call.h"
#include "tools/dgc-run/Flags.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::tool;

static void toStdout(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

static void toStderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

static int report(const absl::Status &status) {
  if (!status.ok())
    std::fprintf(stderr, "dgc-run: error: %s\n", std::string(status.message()).c_str());
  return static_cast<int>(exitCodeOf(status));
}

static absl::Status runPlan(Flags &flags) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<Artifact> artifact, load(flags.run.plan));
  if (flags.dryRun) {
    toStdout(summarize(artifact->plan()));
    return absl::OkStatus();
  }
  int world = static_cast<int>(artifact->plan().world_size());
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  flags.run.threads = flags.threads.value_or(std::max(1, cores / world));
  bool jsonOnStdout = flags.run.logJson == "-";
  return runInProcess(*artifact, flags.run, jsonOnStdout ? toStderr : toStdout,
                      jsonOnStdout ? STDERR_FILENO : STDOUT_FILENO);
}

int main(int argc, char **argv) {
  Flags flags;
  if (std::optional<int> code = parseFlags(argc, argv, flags))
    return *code;
  return report(flags.call.empty() ? runPlan(flags) : callProgram(flags));
}
