// The real disk, over POSIX calls.
#include "runtime/base/Disk.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Task.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <optional>
#include <sys/file.h>
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
    Task *task = observed();
    while (!out.empty()) {
      const size_t piece = task ? std::min(out.size(), kPiece) : out.size();
      ssize_t n = ::pread(fd, out.data(), piece, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return errnoStatus(errno, str("cannot read ", path));
      if (n == 0)
        return absl::OutOfRangeError(str("cannot read ", path, ": the file ends at byte ", offset));
      out = out.subspan(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
      if (task)
        task->advance(static_cast<uint64_t>(n));
    }
    return absl::OkStatus();
  }

private:
  static constexpr size_t kPiece = size_t{8} << 20, kLarge = 2 * kPiece;

  /// Reading a large file, where that is told to somebody.
  Task *observed() {
    if (bytes < kLarge)
      return nullptr;
    std::call_once(asked, [&] {
      if (Task::isTold())
        task.emplace(str("reading ", std::filesystem::path(path).filename().string()), bytes, Task::Bytes);
    });
    return task ? &*task : nullptr;
  }

  int fd;
  uint64_t bytes;
  std::string path;
  std::once_flag asked;
  std::optional<Task> task;
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

struct PosixLock final : FileLock {
  PosixLock(int fd, std::string path) : fd(fd), path(std::move(path)) {}
  ~PosixLock() override {
    if (removes) // before another process can have it
      ::unlink(path.c_str());
    ::close(fd);
  }
  bool excludesOthers() const override { return excludes; }

  int fd;
  std::string path;
  bool excludes = false; // the file system has locks, and this is one
  bool removes = false;  // the file is of dgc
};

/// What a lock file says: this, the process and its host.
constexpr std::string_view lockMagic = "dgc lock ";

/// Links in these folders lead to open files, as /dev/stdout does: there is nothing to replace.
bool isInSystemFolder(const std::string &path) {
  std::error_code error;
  std::string folder = std::filesystem::weakly_canonical(std::filesystem::absolute(path).parent_path(), error).string();
  return !error && (folder == "/dev" || folder.starts_with("/dev/fd") || folder.starts_with("/proc/"));
}

/// The descriptor of this process that a path names, as /dev/stdout and /dev/fd/1 do.
std::optional<int> descriptorOf(const std::string &path) {
  std::error_code error;
  const std::filesystem::path full = std::filesystem::absolute(path);
  const std::string folder = std::filesystem::weakly_canonical(full.parent_path(), error).string();
  const std::string name = full.filename().string();
  if (error)
    return std::nullopt;
  if (folder == "/dev")
    return name == "stdout"   ? std::optional(STDOUT_FILENO)
           : name == "stderr" ? std::optional(STDERR_FILENO)
                              : std::nullopt;
  int descriptor = 0;
  const char *end = name.data() + name.size();
  auto [parsed, failed] = std::from_chars(name.data(), end, descriptor);
  if (folder != str("/proc/", ::getpid(), "/fd") || failed != std::errc() || parsed != end)
    return std::nullopt;
  return descriptor;
}

/// The folder without symbolic links, and the name in it.
std::string nameInFolder(const std::string &path) {
  std::error_code error;
  std::filesystem::path full = std::filesystem::absolute(path).lexically_normal();
  std::filesystem::path folder =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path).parent_path(), error);
  return ((error ? full.parent_path() : folder) / full.filename()).string();
}

/// Who holds a lock, by what its file says.
std::string describeHolder(std::string_view content, bool isOfFolder) {
  std::string self = str(lockMagic, ::getpid(), " ", hostName(), "\n");
  if (content == self)
    return "this job writes it already: every output needs a name of its own";
  std::string holder = "another job";
  if (content.starts_with(lockMagic)) {
    std::string_view rest = content.substr(lockMagic.size());
    size_t blank = rest.find(' '), end = rest.find('\n');
    if (blank != std::string_view::npos && end != std::string_view::npos && blank < end)
      holder += str(" (process ", printable(rest.substr(0, blank)), " on ",
                    printable(rest.substr(blank + 1, end - blank - 1)), ")");
  }
  return holder + (isOfFolder ? " writes into it: name another folder, or end that job first"
                              : " writes it: name another file, or wait until that job has ended");
}

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
  absl::StatusOr<std::unique_ptr<WritableFile>> createNew(const std::string &path, const std::string &shown) override {
    struct stat old;
    const bool replaces = ::stat(shown.c_str(), &old) == 0 && S_ISREG(old.st_mode);
    const mode_t mode = replaces ? old.st_mode & 0777 : 0666;
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
      return errnoStatus(errno, str("cannot create ", shown));
    if (replaces && ::fchmod(fd, mode) != 0) { // past the umask
      int error = errno;
      ::close(fd);
      ::unlink(path.c_str());
      return errnoStatus(error, str("cannot set the mode of ", shown));
    }
    return std::make_unique<PosixWritable>(fd, shown);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> openSpecial(const std::string &path) override {
    // A file that the shell has opened keeps its content and its offset.
    const std::optional<int> opened = descriptorOf(path);
    int fd = opened ? ::fcntl(*opened, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
      return errnoStatus(errno, str("cannot open ", path));
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
  bool isOwnFile(const std::string &path) override {
    struct stat info;
    return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
  }
  bool isOwnFolder(const std::string &path) override {
    struct stat info;
    return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
  }
  bool isReplaceable(const std::string &path) override {
    struct stat info;
    return !isInSystemFolder(path) && (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode));
  }
  absl::Status checkSpecial(const std::string &path) override {
    struct stat info;
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      return errnoStatus(EISDIR, str("cannot write ", path));
    return ::access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : errnoStatus(errno, str("cannot write ", path));
  }
  bool isSame(const std::string &a, const std::string &b) override {
    std::error_code error;
    return std::filesystem::equivalent(a, b, error) || nameInFolder(a) == nameInFolder(b);
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
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string &path) override {
    // Between opening and locking its last holder may remove it: then once more.
    for (int attempts = 0; attempts < 100; ++attempts) {
      DGC_ASSIGN_OR_RETURN(auto lock, tryLock(path));
      if (lock)
        return lock;
    }
    return absl::UnavailableError(str("cannot lock ", path, ": other processes do that all the time"));
  }

private:
  /// Null where the file was removed meanwhile.
  absl::StatusOr<std::unique_ptr<FileLock>> tryLock(const std::string &path) {
    constexpr int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = ::open(path.c_str(), flags | O_CREAT | O_EXCL, 0666);
    if (fd < 0 && errno == EEXIST)
      fd = ::open(path.c_str(), flags);
    if (fd < 0 && errno == ENOENT && std::filesystem::exists(parentOf(path)))
      return nullptr;
    if (fd < 0)
      return errnoStatus(errno, str("cannot create ", path));
    auto lock = std::make_unique<PosixLock>(fd, path);
    struct stat opened, named;
    if (::fstat(fd, &opened) != 0 || !S_ISREG(opened.st_mode))
      return absl::FailedPreconditionError(str("cannot lock ", path, ": it is no regular file"));
    int failed = ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    char text[512];
    ssize_t length = ::pread(fd, text, sizeof text, 0);
    std::string_view content(text, length > 0 ? static_cast<size_t>(length) : 0);
    if (failed == EWOULDBLOCK)
      return absl::AlreadyExistsError(describeHolder(content, std::filesystem::path(path).filename() == folderLock));
    if (::lstat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev)
      return nullptr;
    lock->excludes = failed == 0;
    if (opened.st_nlink != 1 || (!content.empty() && !content.starts_with(lockMagic)))
      return lock; // not of dgc: it stays as it is
    lock->removes = true;
    std::string self = str(lockMagic, ::getpid(), " ", hostName(), "\n");
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, self.data(), self.size(), 0) < 0) {
      // It only serves messages.
    }
    return lock;
  }
  static std::string parentOf(const std::string &path) {
    std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
  }
};
} // namespace

Disk &dgc::rt::realDisk() {
  static PosixDisk disk;
  return disk;
}

std::string dgc::rt::hostName() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

bool dgc::rt::isStandardOutput(const std::string &path) {
  return path == "-" || (!path.empty() && descriptorOf(path) == STDOUT_FILENO);
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
