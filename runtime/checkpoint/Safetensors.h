// Safetensors: a little-endian u64 with the size of a JSON header, the header
// (names, element types, shapes, byte ranges), the bytes of the tensors.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/OutputFile.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt {

/// One tensor to write: whole, row-major. The bytes belong to the caller.
struct Tensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> globalShape;
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

/// The metadata that holds the SHA-256 of the whole file, in 64 hex digits; they count as zeros for it.
inline constexpr std::string_view digestKey = "dgc.sha256";

/// Replaces `file` as a whole or not at all, also when the power goes: see OutputFile. The tensors are stored in the
/// order given. Where the metadata has a digestKey its value becomes the digest.
absl::Status writeSafetensors(OutputFile &file, std::span<const Tensor> tensors, const Metadata &metadata);

/// The same under a path.
absl::Status writeSafetensors(Disk &disk, const std::string &path, std::span<const Tensor> tensors,
                              const Metadata &metadata);

/// A file that is ready to be written: what is ahead of the tensors, and what the file will be.
struct SafetensorsLayout {
  std::string header; // with its size in front
  std::string digest; // 64 hex digits; empty where the metadata has no digestKey
  uint64_t bytes = 0; // of the whole file
};

/// Lays out a file of these tensors. The errors name no file.
absl::StatusOr<SafetensorsLayout> layOutSafetensors(std::span<const Tensor> tensors, const Metadata &metadata);

/// Writes what was laid out; `tensors` are those of the layout.
absl::Status writeSafetensors(WritableFile &file, const SafetensorsLayout &layout, std::span<const Tensor> tensors);

/// An open safetensors file whose header was checked: every tensor is inside
/// the file, has the bytes of its shape, and together they cover the rest of
/// the file without overlap.
class SafetensorsFile {
public:
  struct Entry {
    DType dtype = DType::F32;
    std::vector<int64_t> shape;
    uint64_t offset = 0, bytes = 0; // offset from the end of the header
  };

  static absl::StatusOr<SafetensorsFile> open(Disk &disk, const std::string &path);

  const std::string &path() const { return path_; }
  uint64_t bytes() const { return file->size(); } // of the whole file, when it was opened
  const std::map<std::string, Entry> &entries() const { return entries_; }
  const Metadata &metadata() const { return metadata_; }

  /// Reads the whole file and compares it with its digest. OK where it has none.
  absl::Status verify() const;

  /// Reads the whole of a tensor; `out` has Entry::bytes.
  absl::Status read(const Entry &entry, std::span<std::byte> out) const;

  /// Reads the block of `size` elements per dimension that begins at `start`,
  /// dense and row-major. The block must be inside the tensor.
  absl::Status readBlock(const Entry &entry, std::span<const int64_t> start, std::span<const int64_t> size,
                         std::span<std::byte> out) const;

  /// The same into a part of a larger dense array. `extents` are those of the array, per dimension at least `size`;
  /// `out` is its memory from the first element of the block on. What is between the rows of the block is not written.
  absl::Status readInto(const Entry &entry, std::span<const int64_t> start, std::span<const int64_t> size,
                        std::span<const int64_t> extents, std::span<std::byte> out) const;

private:
  SafetensorsFile(std::unique_ptr<ReadableFile> file, std::string path)
      : file(std::move(file)), path_(std::move(path)) {}
  absl::Status parseHeader();
  absl::Status checkCoverage() const;
  absl::Status findDigest(std::string_view header);

  std::unique_ptr<ReadableFile> file;
  std::string path_;
  uint64_t dataBegin = 0;   // of the tensors, in the file
  uint64_t digestBegin = 0; // of the digits in the file; 0: none
  std::map<std::string, Entry> entries_;
  Metadata metadata_;
};

} // namespace dgc::rt
