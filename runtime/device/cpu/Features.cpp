// CPU features, from the flags that the kernel has found usable.
#include "runtime/device/cpu/Features.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <fstream>
#include <set>
#include <sstream>
#include <utility>

using namespace dgc::rt;

/// Linux and LLVM differ in punctuation: avx512_vnni, sse4_1, sse4.1.
static std::string plain(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != '_' && c != '.' && c != '-' && c != '+')
      result += c;
  return result;
}

/// LLVM's name for what Linux calls otherwise.
static std::string linuxName(std::string name) {
  static constexpr std::pair<std::string_view, std::string_view> others[] = {{"64bit", "lm"},
                                                                             {"bmi", "bmi1"},
                                                                             {"crc32", "sse42"},
                                                                             {"evex512", "avx512f"},
                                                                             {"lzcnt", "abm"},
                                                                             {"pclmul", "pclmulqdq"},
                                                                             {"prfchw", "3dnowprefetch"},
                                                                             {"rdrnd", "rdrand"},
                                                                             {"sahf", "lahflm"},
                                                                             {"sha", "shani"},
                                                                             {"sse3", "pni"},
                                                                             {"x87", "fpu"},
                                                                             {"waitpkg", "waitpkg"},
                                                                             {"avx512vpopcntdq", "avx512vpopcntdq"}};
  for (const auto &[llvm, cpuinfo] : others)
    if (name == llvm)
      return std::string(cpuinfo);
  return name;
}

std::vector<std::string> dgc::rt::missingFeatures(std::span<const std::string> features, std::string_view flags) {
  std::set<std::string> present;
  std::istringstream words{std::string(flags)};
  for (std::string word; words >> word;)
    present.insert(plain(word));
  std::vector<std::string> missing;
  for (const std::string &feature : features)
    if (!feature.empty() && feature[0] != '-' && !present.contains(linuxName(plain(feature))))
      missing.push_back(feature[0] == '+' ? feature.substr(1) : feature);
  return missing;
}

absl::Status dgc::rt::checkCpuFeatures(std::span<const std::string> features) {
  if (features.empty())
    return absl::OkStatus();
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line) && !line.starts_with("flags"))
    ;
  if (!line.starts_with("flags"))
    return withExitCode(absl::FailedPreconditionError("cannot read the features of this CPU "
                                                      "from /proc/cpuinfo"),
                        ExitCode::Machine);
  std::vector<std::string> missing = missingFeatures(features, line);
  if (missing.empty())
    return absl::OkStatus();
  std::string names;
  for (const std::string &name : missing)
    names += str(names.empty() ? "" : ", ", name);
  return withExitCode(absl::FailedPreconditionError(str("the plan needs CPU features that this machine lacks: ", names,
                                                        "; compile it here with --target=cpu, or with a lower "
                                                        "--target=x86-64-v3")),
                      ExitCode::Machine);
}
