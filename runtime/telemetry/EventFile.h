// The event files of TensorBoard as files: records of bytes, with their lengths and checksums.
#pragma once

#include "runtime/base/Disk.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dgc::rt {

/// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view data);

/// Appends a record, little endian: the length of the data as u64, the masked CRC-32C of these 8 bytes as u32, the data,
/// its masked CRC-32C.
void appendRecord(std::string_view data, std::string &out);

/// A file that grows by records. Used by one thread.
class EventFile {
public:
  /// Makes the folder, and in it a file of a name that nothing has: events.out.tfevents.SECONDS.HOST.PROCESS.N.dgc.
  /// TensorBoard reads the files of a folder in the order of their names: SECONDS, since 1970, is more than what the other
  /// ones have.
  static absl::StatusOr<std::unique_ptr<EventFile>> create(Disk &disk, const std::string &folder, int64_t seconds);

  /// Holds a record back until flush().
  void add(std::string_view data) { appendRecord(data, held); }

  /// The first error stays the result of all later calls, and nothing more is written: a record may be there in part.
  absl::Status flush();

private:
  explicit EventFile(std::unique_ptr<WritableFile> file) : file(std::move(file)) {}

  std::unique_ptr<WritableFile> file;
  std::string held;
  absl::Status status;
};

} // namespace dgc::rt
