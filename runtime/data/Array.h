// A dense array read from a file, and what every reader of one shares.
#pragma once

#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt {

/// Owned bytes that are not zeroed when they are made.
class Bytes {
public:
  Bytes() = default;
  explicit Bytes(size_t size) : data_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}
  std::byte *data() { return data_.get(); }
  const std::byte *data() const { return data_.get(); }
  size_t size() const { return size_; }
  operator std::span<std::byte>() { return {data_.get(), size_}; }
  operator std::span<const std::byte>() const { return {data_.get(), size_}; }

private:
  std::unique_ptr<std::byte[]> data_;
  size_t size_ = 0;
};

/// What the beginning of a file says of the array in it.
struct ArrayHeader {
  std::string file; // for messages
  DType dtype = DType::U8;
  std::vector<int64_t> shape; // empty: a scalar
  size_t offset = 0;          // of the first element in the file, decompressed
};

/// Row-major, in the byte order of the machine. The elements may start
/// anywhere: they are only ever copied.
struct Array : ArrayHeader {
  Bytes storage; // the file, decompressed

  std::span<const std::byte> bytes() const { return std::span<const std::byte>(storage).subspan(offset); }
  std::span<std::byte> bytes() { return std::span<std::byte>(storage).subspan(offset); }
};

/// No header has more bytes.
inline constexpr size_t longestHeader = size_t{1} << 16;

/// A format of arrays: what is before the elements, and how they become those of this machine.
struct ArrayFormat {
  std::string_view name; // ".npy"
  /// The header in the first bytes of a file: all of it, or longestHeader of them.
  absl::StatusOr<ArrayHeader> (*parseHeader)(std::span<const std::byte> prefix, const std::string &file);
  /// Checks and converts the elements.
  absl::Status (*finish)(Array &array);
};

/// An array whose file is in memory. The elements must fill the rest of it exactly.
absl::StatusOr<Array> parseArray(const ArrayFormat &format, Bytes bytes, const std::string &file);

/// The header of a file: no more than that is read or decompressed. A name that ends in .gz is gzip.
absl::StatusOr<ArrayHeader> readArrayHeader(Disk &disk, const std::string &path, const ArrayFormat &format);

/// A file whose elements fill it exactly. No more memory is taken than its header says, and nothing of it before the
/// size of the file, or what that can expand to, is compared with that.
absl::StatusOr<Array> readArray(Disk &disk, const std::string &path, const ArrayFormat &format);

/// The whole file; a name that ends in .gz is decompressed. Errors name the
/// file: it is missing, is not gzip, is truncated, its checksum is wrong, or it
/// would expand to more than `limit` bytes.
absl::StatusOr<Bytes> readWhole(Disk &disk, const std::string &path, uint64_t limit = uint64_t{1} << 40);

} // namespace dgc::rt
