// Files behind an interface, so that tests can inject full disks and torn
// writes.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// A file open for reading. Safe to use from several threads.
class ReadableFile {
public:
  virtual ~ReadableFile() = default;
  virtual uint64_t size() const = 0; // bytes, when it was opened
  /// Fills `out` from byte `offset`; an error when the file ends before.
  virtual absl::Status readAt(uint64_t offset, std::span<std::byte> out) = 0;
};

/// A file open for writing, at its end.
class WritableFile {
public:
  virtual ~WritableFile() = default; // closes; errors of an explicit close() are lost
  virtual absl::Status write(std::span<const std::byte> data) = 0;
  /// Data is on the medium when this returns OK. Never repeat a failed sync:
  /// the data may be gone.
  virtual absl::Status sync() = 0;
  virtual absl::Status close() = 0;

  absl::Status write(std::string_view text) {
    return write(std::span(reinterpret_cast<const std::byte *>(text.data()), text.size()));
  }
};

/// An advisory lock between processes. Its destruction, or the end of the process, gives it back.
class FileLock {
public:
  virtual ~FileLock() = default;
  /// False on a file system that has no locks: other processes are not kept out.
  virtual bool excludesOthers() const = 0;
};

/// The name of the lock of a folder, in it.
inline constexpr std::string_view folderLock = ".dgc-lock";

/// Every error names the path.
class Disk {
public:
  virtual ~Disk() = default;
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string &path) = 0;
  /// Creates a regular file under a name that nothing has, no symbolic link either: else an error of AlreadyExists.
  /// Errors name `shown`, which it will be renamed to; the new file has the mode of a regular file of that name.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> createNew(const std::string &path,
                                                                  const std::string &shown) = 0;
  /// Opens a device or pipe that exists, to write into it. Paths as /dev/stdout give the open file itself: what it
  /// holds is kept.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> openSpecial(const std::string &path) = 0;
  /// A file takes the place of another one. A folder only that of an empty one.
  virtual absl::Status rename(const std::string &from, const std::string &to) = 0;
  virtual absl::Status remove(const std::string &path) = 0;        // a file, a link or an empty folder
  virtual absl::Status makeDirectory(const std::string &path) = 0; // with parents; OK when it exists
  virtual absl::Status syncDirectory(const std::string &path) = 0;
  virtual bool exists(const std::string &path) = 0;
  /// Whether the file itself, not what a symbolic link leads to, is a regular file of this user.
  virtual bool isOwnFile(const std::string &path) = 0;
  /// The same of a folder.
  virtual bool isOwnFolder(const std::string &path) = 0;
  /// Whether another file may take the place of what is there: not of devices and pipes, which are written into.
  virtual bool isReplaceable(const std::string &path) = 0;
  /// Whether openSpecial may work, without opening: a pipe would tell its reader.
  virtual absl::Status checkSpecial(const std::string &path) = 0;
  /// Whether two paths lead to one file, or would where there is none yet.
  virtual bool isSame(const std::string &a, const std::string &b) = 0;
  /// Names in a folder, sorted, without . and ..
  virtual absl::StatusOr<std::vector<std::string>> list(const std::string &path) = 0;
  /// Takes a lock, never waits for it. While it is held a small file `path` says which process has it; that file is
  /// removed with the lock, and one that a dead process left is taken over. A file that says something else stays as
  /// it is. An error of AlreadyExists names the holder of the lock, and says what to do: a lock with the name
  /// folderLock is that of its folder, any other one that of a file.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string &path) = 0;
};

/// The disk of the machine.
Disk &realDisk();

/// The name of this machine, as messages and the files of locks have it.
std::string hostName();

/// Whether `path` is "-" or names the standard output of this process, as /dev/stdout does.
bool isStandardOutput(const std::string &path);

/// Standard output as a file; closing it does nothing.
std::unique_ptr<WritableFile> standardOutput();

/// The whole file; an error when it is larger than `limit` bytes.
absl::StatusOr<std::string> readFile(Disk &disk, const std::string &path, uint64_t limit = uint64_t{1} << 32);

} // namespace dgc::rt
