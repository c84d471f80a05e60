// NumPy's .npz: a zip archive with a .npy file for each array.
#pragma once

#include "runtime/base/OutputFile.h"
#include "runtime/data/Array.h"

namespace dgc::rt {

/// An open .npz file. Nothing is decompressed before it is asked for.
class NpzFile {
public:
  /// What the directory of the archive says of an array.
  struct Entry {
    std::string name; // without .npy
    uint64_t index;   // in the archive
    uint64_t size;    // of the .npy file, in bytes
    uint64_t stored;  // the same, compressed
    uint32_t checksum;
  };

  /// Reads the directory. Errors name the file: it is missing, no zip archive, truncated or inconsistent, encrypted,
  /// compressed in another way than by deflate, has something else than .npy files, or two of one name.
  static absl::StatusOr<NpzFile> open(Disk &disk, const std::string &path);

  NpzFile(NpzFile &&other) noexcept;
  ~NpzFile();

  /// In the order of the archive.
  std::span<const Entry> entries() const { return entries_; }

  /// Element type and shape of an array; reads no more than a header may have.
  absl::StatusOr<ArrayHeader> header(const Entry &entry) const;

  /// The whole array; its checksum is verified. No more memory is taken than its header says, and none before that is
  /// what the directory says.
  absl::StatusOr<Array> read(const Entry &entry) const;

private:
  class Archive;
  explicit NpzFile(std::unique_ptr<Archive> archive);

  std::unique_ptr<Archive> archive;
  std::vector<Entry> entries_;
};

/// An array to be written; `data` has the bytes of `shape`.
struct NamedArray {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

/// Replaces `file` by an archive of the arrays, not compressed: at least one, with different names. Equal arrays give
/// equal bytes. NumPy has no bf16: an error.
absl::Status writeNpz(OutputFile &file, std::span<const NamedArray> arrays);

} // namespace dgc::rt
