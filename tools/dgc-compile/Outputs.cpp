#include "tools/dgc-compile/Outputs.h"
#include "runtime/artifact/PlanRange.h"
#include "runtime/executor/PlannedMemory.h"
#include "runtime/telemetry/Progress.h"
#include "runtime/telemetry/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace dgc::tool {

bool succeeds(const absl::Status &status) {
  if (!status.ok()) {
    llvm::errs() << "dgc-compile: " << std::string(status.message()) << "\n";
  }
  return status.ok();
}

/// Whether an output would replace a file that is something else. Says which.
static bool isTaken(const char *flag, const std::string &path, const std::string &other, const char *what) {
  rt::Disk &disk = rt::realDisk();
  const bool isFile = !path.empty() && path != "-" && !other.empty() && other != "-" && disk.isReplaceable(path);
  const bool isTaken = isFile && disk.isSame(path, other);
  if (isTaken) {
    llvm::errs() << "dgc-compile: " << flag << " " << path << " is " << what << "; name another file\n";
  }
  return isTaken;
}

/// Reserves an output before the work; nothing, with a message, when it cannot be written.
static std::optional<rt::OutputFile> reserve(const std::string &path) {
  absl::StatusOr<rt::OutputFile> file = rt::OutputFile::reserve(rt::realDisk(), path);
  if (succeeds(file.status())) {
    return *std::move(file);
  }
  return std::nullopt;
}

bool Outputs::open(const std::string &pagePath, const std::vector<Input> &inputs) {
  for (auto [flag, output] : {std::pair<const char *, const std::string *>("-o", &path), {"--report", &pagePath}}) {
    for (const auto &[other, what] : inputs) {
      if (isTaken(flag, *output, other, what)) {
        return false;
      }
    }
  }
  if (isTaken("--report", pagePath, path, "the file of -o as well")) {
    return false;
  }
  file = reserve(path);
  if (file && !pagePath.empty()) {
    page = reserve(pagePath);
  }
  return file && (page || pagePath.empty());
}

bool Outputs::describe(const rt::Artifact &artifact) {
  llvm::errs() << rt::describeMemory(artifact.plan());
  if (!page) {
    return true;
  }
  const std::string html = rt::reportAsHtml(artifact);
  return succeeds(page->replace([&](rt::WritableFile &to) { return to.write(html); }));
}

bool Outputs::sign(std::vector<uint8_t> &plan) const { return !signer || succeeds(signer->sign(plan)); }

bool Outputs::write(const std::vector<uint8_t> &plan) {
  return succeeds(file->replace([&](rt::WritableFile &to) { return to.write(std::as_bytes(std::span(plan))); }));
}

bool Outputs::write(const std::vector<std::vector<uint8_t>> &plans, double seconds) {
  const std::vector<std::span<const uint8_t>> artifacts(plans.begin(), plans.end());
  if (!succeeds(file->replace([&](rt::WritableFile &to) { return rt::writeRange(to, artifacts); }))) {
    return false;
  }
  uint64_t total = 0;
  llvm::errs() << "a range of " << rt::counted(static_cast<int64_t>(plans.size()), "plan") << ", compiled in "
               << llvm::formatv("{0:f1} s:\n", seconds);
  for (const std::vector<uint8_t> &plan : plans) {
    const uint32_t workers = artifact::GetPlan(plan.data())->world_size();
    const std::string name = rt::counted(workers, "worker");
    llvm::errs() << "  " << llvm::left_justify(name, 16) << rt::formatBytes(plan.size()) << "\n";
    total += plan.size();
  }
  llvm::errs() << "  " << llvm::left_justify("total", 16) << rt::formatBytes(total) << "\n";
  return true;
}

bool Outputs::write(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  stream << "\n";
  return succeeds(file->replace([&](rt::WritableFile &to) { return to.write(text); }));
}

bool makeDumpFolder(const std::string &folder) {
  std::error_code failure = llvm::sys::fs::create_directories(folder);
  if (!failure && !llvm::sys::fs::is_directory(folder)) {
    failure = std::make_error_code(std::errc::not_a_directory);
  }
  if (failure) {
    llvm::errs() << "dgc-compile: --dump-phases-to: cannot make the folder '" << folder << "': " << failure.message()
                 << "\n";
  }
  return !failure;
}

} // namespace dgc::tool
