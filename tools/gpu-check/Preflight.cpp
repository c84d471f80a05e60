#include "tools/gpu-check/Preflight.h"

#include "runtime/base/Clock.h"
#include "runtime/base/Status.h"
#include "runtime/base/Version.h"
#include "runtime/device/Plugin.h"
#include "tools/gpu-check/Programs.h"

#include <cstdio>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace dgc::rt;

/// A few seconds are enough, but for libraries that come from a slow disk.
constexpr TimeNs kLimit = 20_s;

bool printPreflight() {
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::printf("dgc %s, %u CPUs, %.0f GiB of memory\n", DGC_VERSION, std::thread::hardware_concurrency(),
              memory / (1 << 30));
  std::fflush(stdout);
  const TimeNs begin = realClock().now();
  auto plugin = openPlugin("cuda");
  if (!plugin.ok()) {
    std::printf("%s\n", std::string(plugin.status().message()).c_str());
    return false;
  }
  bool hasGpu = false;
  for (const std::string &line : (*plugin)->describe()) {
    hasGpu |= line.starts_with("GPU 0");
    std::printf("%s\n", line.c_str());
  }
  std::printf("this took %.1f s\n", static_cast<double>(realClock().now() - begin) * 1e-9);
  return hasGpu;
}

std::vector<std::string> runPreflight(const std::string &program, bool &isHung) {
  Ended ended = runProgram({program, "--preflight"}, kLimit);
  isHung = ended.timedOut;
  std::vector<std::string> lines;
  std::istringstream text(ended.output);
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  if (ended.code > 1)
    lines.push_back(str("looking at the GPU ", ended.timedOut     ? "did not end"
                                               : ended.code > 128 ? str("ended with signal ", ended.code - 128)
                                                                  : str("ended with exit code ", ended.code)));
  for (const std::string &line : lines)
    std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  return lines;
}
