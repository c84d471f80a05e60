// Hands programs over to dgc-compile.
#include "tools/dgc-inspect/Program.h"

#include "compiler/import/Format.h"
#include "runtime/artifact/PlanRange.h"
#include "runtime/artifact/dgcx_generated.h"
#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace dgc;

bool dgc::tool::isProgram(const std::string &path) {
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error))
    return false;
  auto file = rt::realDisk().open(path);
  if (!file.ok())
    return false;
  // The identifier of artifacts is behind the first offset.
  char start[8] = {};
  const size_t size = (*file)->size();
  if (size < sizeof start || !(*file)->readAt(0, std::as_writable_bytes(std::span(start))).ok() ||
      std::memcmp(start + 4, artifact::PlanIdentifier(), 4) == 0 ||
      rt::isPlanRange({reinterpret_cast<const uint8_t *>(start), sizeof start}))
    return false;
  std::string content(size, '\0');
  return (*file)->readAt(0, std::as_writable_bytes(std::span(content))).ok() &&
         import::formatOf(content) != import::Format::Dgc;
}

absl::Status dgc::tool::describeProgram(const std::string &path, const std::vector<std::string> &flags) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> words = {(self.parent_path() / "dgc-compile").string(), "--inspect"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--", path});
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(words.front().c_str(), arguments.data());
  return rt::withExitCode(
      absl::NotFoundError(
          path + " is a program that is not compiled, and dgc-compile, which reads these, cannot be started (" +
          words.front() + ": " + std::strerror(errno) + "): it is in the package dgc"),
      rt::ExitCode::Machine);
}
