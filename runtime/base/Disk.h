// Files behind an interface, so that tests can inject full disks and torn
// writes.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Every error names the path.
class Disk {
public:
  virtual ~Disk() = default;
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string &path) = 0;
  /// Creates the file, or truncates it.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string &path) = 0;
  virtual absl::Status rename(const std::string &from, const std::string &to) = 0;
  virtual absl::Status remove(const std::string &path) = 0;
  virtual absl::Status makeDirectory(const std::string &path) = 0; // with parents; OK when it exists
  virtual absl::Status syncDirectory(const std::string &path) = 0;
  virtual bool exists(const std::string &path) = 0;
  /// Whether another file may take the place of what is there: not of devices and pipes, which are written into.
  virtual bool isReplaceable(const std::string &path) = 0;
  /// Names in a folder, sorted, without . and ..
  virtual absl::StatusOr<std::vector<std::string>> list(const std::string &path) = 0;
};

/// The disk of the machine.
Disk &realDisk();

/// Standard output as a file; closing it does nothing.
std::unique_ptr<WritableFile> standardOutput();

/// The whole file; an error when it is larger than `limit` bytes.
absl::StatusOr<std::string> readFile(Disk &disk, const std::string &path, uint64_t limit = uint64_t{1} << 32);

/// Replaces `path` by what `write` writes, as a whole or not at all: into a temporary file beside it, which is synced
/// and renamed; nothing is left of it on an error. "-" is standard output.
absl::Status replaceFile(Disk &disk, const std::string &path, const std::function<absl::Status(WritableFile &)> &write);

/// The same for data in memory.
absl::Status writeFileAtomically(Disk &disk, const std::string &path, std::string_view data);

/// Whether replaceFile could begin now: to refuse a path before the work whose result goes there.
absl::Status checkReplaceable(Disk &disk, const std::string &path);

} // namespace dgc::rt
