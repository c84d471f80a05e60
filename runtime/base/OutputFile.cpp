// Reserves output files and replaces them.
#include "runtime/base/OutputFile.h"

#include "runtime/base/Status.h"
#include "runtime/base/Task.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/random.h>

using namespace dgc::rt;

static constexpr std::string_view lockSuffix = ".dgc-lock", temporarySuffix = ".dgc-tmp";
static constexpr size_t tokenDigits = 16, longestName = 200;

static std::string hex(uint64_t value) {
  static const char digits[] = "0123456789abcdef";
  std::string text(tokenDigits, '0');
  for (size_t i = tokenDigits; i-- > 0; value >>= 4)
    text[i] = digits[value & 15];
  return text;
}

/// FNV-1a.
static uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

absl::StatusOr<std::string> dgc::rt::randomToken() {
  uint64_t token;
  if (getrandom(&token, sizeof token, 0) != sizeof token)
    return errnoStatus(errno, "cannot get random bytes");
  return hex(token);
}

bool dgc::rt::isToken(std::string_view text) {
  return text.size() == tokenDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

static std::string folderOf(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// What the names of the lock and of the temporaries of an output begin with, without the folder.
static std::string stemOf(const std::string &path) {
  std::string name = std::filesystem::path(path).filename().string();
  if (name.size() > longestName)
    name = name.substr(0, longestName - tokenDigits) + hex(hashOf(name));
  return "." + name;
}

/// A path in the folder of `path`, written as that is: relative names stay relative.
static std::string siblingOf(const std::string &path, const std::string &name) {
  return (std::filesystem::path(path).parent_path() / name).string();
}

static bool isTemporary(std::string_view name, std::string_view stem) {
  if (name.size() != stem.size() + 1 + tokenDigits + temporarySuffix.size() || !name.starts_with(stem) ||
      name[stem.size()] != '.' || !name.ends_with(temporarySuffix))
    return false;
  return isToken(name.substr(stem.size() + 1, tokenDigits));
}

/// Removes temporaries of a stem; the caller has its lock, so the jobs that made them have ended.
static void removeTemporaries(Disk &disk, const std::string &folder, std::span<const std::string> names,
                              std::string_view stem) {
  for (const std::string &name : names)
    if (std::string path = (std::filesystem::path(folder) / name).string();
        isTemporary(name, stem) && disk.isOwnFile(path))
      disk.remove(path).IgnoreError(); // it harms nothing
}

absl::StatusOr<OutputFile> OutputFile::reserve(Disk &disk, std::string path) {
  OutputFile file(disk, std::move(path));
  if (file.path_ == "-")
    return file;
  if (!disk.isReplaceable(file.path_)) {
    DGC_RETURN_IF_ERROR(disk.checkSpecial(file.path_));
    return file;
  }
  std::string stem = stemOf(file.path_), folder = folderOf(file.path_);
  auto lock = disk.lock(siblingOf(file.path_, stem + std::string(lockSuffix)));
  if (!lock.ok())
    return annotate(lock.status(), str("cannot write ", file.path_));
  file.lock = *std::move(lock);
  if (file.lock->excludesOthers()) {
    auto names = disk.list(folder);
    if (!names.ok())
      return annotate(names.status(), str("cannot write ", file.path_));
    removeTemporaries(disk, folder, *names, stem);
  }
  return file;
}

absl::StatusOr<std::pair<std::string, std::unique_ptr<WritableFile>>> OutputFile::createTemporary() {
  for (int attempts = 0;; ++attempts) {
    DGC_ASSIGN_OR_RETURN(std::string token, randomToken());
    std::string name = siblingOf(path_, str(stemOf(path_), ".", token, temporarySuffix));
    auto created = disk->createNew(name, path_);
    if (created.ok())
      return std::pair(std::move(name), *std::move(created));
    if (!absl::IsAlreadyExists(created.status()) || attempts == 8)
      return created.status();
  }
}

namespace {
/// A file whose writing may take long.
class Told final : public WritableFile {
public:
  Told(WritableFile &file, const std::string &path)
      : file(file), task(str("writing ", std::filesystem::path(path).filename().string()), 0, Task::Bytes) {}

  absl::Status write(std::span<const std::byte> data) override {
    for (; !data.empty(); data = data.subspan(std::min(data.size(), kPiece))) {
      const std::span<const std::byte> piece = data.first(std::min(data.size(), kPiece));
      DGC_RETURN_IF_ERROR(file.write(piece));
      task.advance(piece.size());
    }
    return absl::OkStatus();
  }
  absl::Status sync() override { return file.sync(); }
  absl::Status close() override { return file.close(); }

private:
  static constexpr size_t kPiece = size_t{8} << 20;

  WritableFile &file;
  Task task;
};
} // namespace

absl::Status OutputFile::replace(const Write &write) {
  if (path_ == "-")
    return write(*standardOutput());
  if (!lock) {
    DGC_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> special, disk->openSpecial(path_));
    DGC_RETURN_IF_ERROR(write(*special));
    return special->close();
  }
  DGC_ASSIGN_OR_RETURN(auto temporary, createTemporary());
  auto &[name, file] = temporary;
  absl::Status status;
  {
    Told told(*file, path_);
    status = write(told);
    if (status.ok())
      status = told.sync();
  }
  if (absl::Status closed = file->close(); status.ok())
    status = closed;
  if (status.ok())
    status = disk->rename(name, path_);
  if (!status.ok()) {
    disk->remove(name).IgnoreError(); // the error of the write is the one to tell
    return status;
  }
  return disk->syncDirectory(folderOf(path_));
}

absl::StatusOr<std::unique_ptr<WritableFile>> OutputFile::begin(std::string_view text) {
  if (path_ == "-")
    return standardOutput();
  if (!lock)
    return disk->openSpecial(path_);
  DGC_ASSIGN_OR_RETURN(auto temporary, createTemporary());
  absl::Status status = text.empty() ? absl::OkStatus() : temporary.second->write(text);
  if (status.ok())
    status = disk->rename(temporary.first, path_);
  if (!status.ok()) {
    disk->remove(temporary.first).IgnoreError();
    return status;
  }
  return std::move(temporary.second);
}

absl::Status dgc::rt::replaceFile(Disk &disk, const std::string &path, const OutputFile::Write &write) {
  DGC_ASSIGN_OR_RETURN(OutputFile file, OutputFile::reserve(disk, path));
  return file.replace(write);
}

absl::Status dgc::rt::writeFileAtomically(Disk &disk, const std::string &path, std::string_view data) {
  return replaceFile(disk, path, [&](WritableFile &file) { return file.write(data); });
}
