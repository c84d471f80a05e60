// Files that programs write: as a whole or not at all, and one process at a time.
//
// For an output DIR/NAME there are, only while it is being written,
//   DIR/.NAME.dgc-lock                 locked by the process that writes it,
//   DIR/.NAME.<16 hex digits>.dgc-tmp  what will take the place of DIR/NAME.
// Names of these forms belong to dgc; of a NAME above 200 bytes they hold the beginning and a hash. Who gets the lock
// removes the temporaries of processes that died; no other file is ever opened, written or removed.
#pragma once

#include "runtime/base/Disk.h"

#include <functional>

namespace dgc::rt {

class OutputFile {
public:
  using Write = std::function<absl::Status(WritableFile &)>;

  /// Makes this process the only one to write `path` for as long as the result lives: to be called before the work
  /// whose result goes there. "-" is standard output; devices and pipes are written into and not locked. An error when
  /// another process writes the file, this process does so under another flag, or the folder cannot be written.
  static absl::StatusOr<OutputFile> reserve(Disk &disk, std::string path);

  /// Replaces the file by what `write` writes: into a new file in the same folder, which is synced and renamed. OK means that it
  /// is on the medium under its name. On an error the old file is there, and nothing else, unless the error is of the
  /// last sync of the folder: then either may be there, as a whole. A symbolic link is replaced, not followed.
  absl::Status replace(const Write &write);

  /// Replaces the file at once by one with this text alone, to write on piece by piece: what is not written yet is not in it.
  absl::StatusOr<std::unique_ptr<WritableFile>> begin(std::string_view text = {});

  const std::string &path() const { return path_; }

private:
  OutputFile(Disk &disk, std::string path) : disk(&disk), path_(std::move(path)) {}
  absl::StatusOr<std::pair<std::string, std::unique_ptr<WritableFile>>> createTemporary();

  Disk *disk;
  std::string path_;
  std::unique_ptr<FileLock> lock; // null: standard output, a device or a pipe
};

/// 16 hex digits, at random, for names that nothing else has.
absl::StatusOr<std::string> randomToken();
/// Whether a text is of this form.
bool isToken(std::string_view text);

/// Reserves and replaces a file in one.
absl::Status replaceFile(Disk &disk, const std::string &path, const OutputFile::Write &write);

/// The same for data in memory.
absl::Status writeFileAtomically(Disk &disk, const std::string &path, std::string_view data);

} // namespace dgc::rt
