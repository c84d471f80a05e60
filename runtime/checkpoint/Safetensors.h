// Safetensors: a little-endian u64 with the size of a JSON header, the header
// (names, element types, shapes, byte ranges), the bytes of the tensors.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/Disk.h"

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

/// Replaces `path` as a whole or not at all, also when the power goes: writes a
/// temporary file beside it, syncs it, renames it, syncs the folder. The
/// tensors are stored in the order given. An error leaves the old file, and no
/// temporary one unless the disk refuses to remove it.
absl::Status writeSafetensors(Disk &disk, const std::string &path,
                              std::span<const Tensor> tensors,
                              const Metadata &metadata);

/// An open safetensors file whose header was checked: every tensor lies inside
/// the file, has the bytes of its shape, and together they cover the rest of
/// the file without overlap.
class SafetensorsFile {
public:
  struct Entry {
    DType dtype = DType::F32;
    std::vector<int64_t> shape;
    uint64_t offset = 0, bytes = 0; // offset from the end of the header
  };

  static absl::StatusOr<SafetensorsFile> open(Disk &disk,
                                              const std::string &path);

  const std::string &path() const { return path_; }
  const std::map<std::string, Entry> &entries() const { return entries_; }
  const Metadata &metadata() const { return metadata_; }

  /// Reads the whole of a tensor; `out` has Entry::bytes.
  absl::Status read(const Entry &entry, std::span<std::byte> out) const;

  /// Reads the block of `size` elements per dimension that begins at `start`,
  /// dense and row-major. The block must lie inside the tensor.
  absl::Status readBlock(const Entry &entry, std::span<const int64_t> start,
                         std::span<const int64_t> size,
                         std::span<std::byte> out) const;

private:
  SafetensorsFile(std::unique_ptr<ReadableFile> file, std::string path)
      : file(std::move(file)), path_(std::move(path)) {}
  absl::Status parseHeader();
  absl::Status checkCoverage() const;

  std::unique_ptr<ReadableFile> file;
  std::string path_;
  uint64_t dataBegin = 0; // of the tensors, in the file
  std::map<std::string, Entry> entries_;
  Metadata metadata_;
};

} // namespace dgc::rt
