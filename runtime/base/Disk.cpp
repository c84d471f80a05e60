// The real disk, over POSIX calls.
#include "runtime/base/Disk.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace dgc::rt;

namespace {
class PosixReadable final : public ReadableFile {
public:
  PosixReadable(int fd, uint64_t bytes, std::string path) : fd(fd), bytes(bytes), path(std::move(path)) {}
  ~PosixReadable() override { ::close(fd); }
  uint64_t size() const override { return bytes; }
  absl::Status readAt(uint64_t offset, std::span<std::byte> out) override {
    while (!out.empty()) {
      ssize_t n = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return errnoStatus(errno, str("cannot read ", path));
      if (n == 0)
        return absl::OutOfRangeError(str("cannot read ", path, ": the file ends at byte ", offset));
      out = out.subspan(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

private:
  int fd;
  uint64_t bytes;
  std::string path;
};

class PosixWritable final : public WritableFile {
public:
  PosixWritable(int fd, std::string path) : fd(fd), path(std::move(path)) {}
  ~PosixWritable() override {
    if (fd >= 0)
      ::close(fd);
  }
  absl::Status write(std::span<const std::byte> data) override {
    while (!data.empty()) {
      ssize_t n = ::write(fd, data.data(), data.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return errnoStatus(errno, str("cannot write ", path));
      data = data.subspan(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }
  absl::Status sync() override {
    return ::fsync(fd) == 0 ? absl::OkStatus() : errnoStatus(errno, str("cannot sync ", path));
  }
  absl::Status close() override {
    int rc = ::close(std::exchange(fd, -1));
    return rc == 0 ? absl::OkStatus() : errnoStatus(errno, str("cannot close ", path));
  }

private:
  int fd;
  std::string path;
};

class StandardOutput final : public WritableFile {
public:
  absl::Status write(std::span<const std::byte> data) override {
    while (!data.empty()) {
      ssize_t n = ::write(STDOUT_FILENO, data.data(), data.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return errnoStatus(errno, "cannot write standard output");
      data = data.subspan(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }
  absl::Status sync() override { return absl::OkStatus(); }
  absl::Status close() override { return absl::OkStatus(); }
};

class PosixDisk final : public Disk {
public:
  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string &path) override {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      return errnoStatus(errno, str("cannot open ", path));
    struct stat info;
    if (::fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
      int error = S_ISDIR(info.st_mode) ? EISDIR : errno;
      ::close(fd);
      return errnoStatus(error, str("cannot open ", path));
    }
    return std::make_unique<PosixReadable>(fd, static_cast<uint64_t>(info.st_size), path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string &path) override {
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
      return errnoStatus(errno, str("cannot create ", path));
    return std::make_unique<PosixWritable>(fd, path);
  }
  absl::Status rename(const std::string &from, const std::string &to) override {
    if (::rename(from.c_str(), to.c_str()) != 0)
      return errnoStatus(errno, str("cannot rename ", from, " to ", to));
    return absl::OkStatus();
  }
  absl::Status remove(const std::string &path) override {
    if (::remove(path.c_str()) != 0)
      return errnoStatus(errno, str("cannot remove ", path));
    return absl::OkStatus();
  }
  absl::Status makeDirectory(const std::string &path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    return error ? errnoStatus(error.value(), str("cannot create folder ", path)) : absl::OkStatus();
  }
  absl::Status syncDirectory(const std::string &path) override {
    int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
      return errnoStatus(errno, str("cannot open folder ", path));
    int rc = ::fsync(fd), error = errno;
    ::close(fd);
    return rc == 0 ? absl::OkStatus() : errnoStatus(error, str("cannot sync folder ", path));
  }
  bool exists(const std::string &path) override { return ::access(path.c_str(), F_OK) == 0; }
  bool isReplaceable(const std::string &path) override {
    struct stat info;
    return ::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  }
  absl::StatusOr<std::vector<std::string>> list(const std::string &path) override {
    std::error_code error;
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
      names.push_back(it->path().filename().string());
    if (error)
      return errnoStatus(error.value(), str("cannot list ", path));
    std::sort(names.begin(), names.end());
    return names;
  }
};
} // namespace

Disk &dgc::rt::realDisk() {
  static PosixDisk disk;
  return disk;
}

std::unique_ptr<WritableFile> dgc::rt::standardOutput() { return std::make_unique<StandardOutput>(); }

absl::StatusOr<std::string> dgc::rt::readFile(Disk &disk, const std::string &path, uint64_t limit) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, disk.open(path));
  if (file->size() > limit)
    return absl::ResourceExhaustedError(str(path, " has ", file->size(), " bytes; at most ", limit, " are accepted"));
  std::string data(file->size(), '\0');
  DGC_RETURN_IF_ERROR(file->readAt(0, std::span(reinterpret_cast<std::byte *>(data.data()), data.size())));
  return data;
}

static std::string temporaryFor(const std::string &path) { return str(path, ".tmp"); }

/// Writes and closes a new file.
static absl::Status writeNew(Disk &disk, const std::string &path,
                             const std::function<absl::Status(WritableFile &)> &write, bool sync) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, disk.create(path));
  DGC_RETURN_IF_ERROR(write(*file));
  if (sync)
    DGC_RETURN_IF_ERROR(file->sync());
  return file->close();
}

absl::Status dgc::rt::replaceFile(Disk &disk, const std::string &path,
                                  const std::function<absl::Status(WritableFile &)> &write) {
  if (path == "-")
    return write(*standardOutput());
  if (!disk.isReplaceable(path))
    return writeNew(disk, path, write, /*sync=*/false);
  std::string temporary = temporaryFor(path);
  absl::Status status = writeNew(disk, temporary, write, /*sync=*/true);
  if (status.ok())
    status = disk.rename(temporary, path);
  if (!status.ok()) {
    // The error of the write is the one to tell.
    if (disk.exists(temporary))
      disk.remove(temporary).IgnoreError();
    return status;
  }
  std::string folder = std::filesystem::path(path).parent_path().string();
  return disk.syncDirectory(folder.empty() ? "." : folder);
}

absl::Status dgc::rt::writeFileAtomically(Disk &disk, const std::string &path, std::string_view data) {
  return replaceFile(disk, path, [&](WritableFile &file) { return file.write(data); });
}

absl::Status dgc::rt::checkReplaceable(Disk &disk, const std::string &path) {
  if (path == "-")
    return absl::OkStatus();
  if (!disk.isReplaceable(path))
    return disk.create(path).status();
  std::string temporary = temporaryFor(path);
  DGC_RETURN_IF_ERROR(disk.create(temporary).status());
  return disk.remove(temporary);
}
