#include "tools/gpu-check/Sanitizer.h"

#include "runtime/base/Status.h"

#include <cstdlib>
#include <sstream>
#include <unistd.h>

using dgc::rt::str;

std::string findSanitizer() {
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable); root && *root)
      folders.push_back(str(root, "/bin"));
  folders.emplace_back("/usr/local/cuda/bin");
  const char *path = std::getenv("PATH");
  std::istringstream list(path ? path : "");
  for (std::string folder; std::getline(list, folder, ':');)
    folders.push_back(folder);
  for (const std::string &folder : folders)
    if (std::string program = folder + "/compute-sanitizer"; !folder.empty() && ::access(program.c_str(), X_OK) == 0)
      return program;
  return "";
}

std::vector<std::string> underSanitizer(const std::string &sanitizer, const std::string &tool,
                                        const std::vector<std::string> &words) {
  std::vector<std::string> all{sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", "99"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Row sanitizerRow(const std::string &name, const std::string &tool, const Ended &ended) {
  Row row{name, tool};
  if (ended.output.find("Device not supported") != std::string::npos) {
    row.outcome = Outcome::Skipped;
    row.detail = "compute-sanitizer does not work on this machine";
    return row;
  }
  row.outcome = ended.code == 0 ? Outcome::Passed : Outcome::Failed;
  if (ended.code != 0)
    row.detail = str("exit code ", ended.code, ": ", lastLine(ended.output));
  return row;
}
