// Reads IDX.
#include "runtime/data/Idx.h"

#include <algorithm>

using namespace dgc::rt;

static std::optional<DType> idxType(uint8_t code) {
  switch (code) {
  case 0x08:
    return DType::U8;
  case 0x09:
    return DType::I8;
  case 0x0b:
    return DType::I16;
  case 0x0c:
    return DType::I32;
  case 0x0d:
    return DType::F32;
  case 0x0e:
    return DType::F64;
  default:
    return std::nullopt;
  }
}

/// Big-endian elements of `width` bytes become those of this machine.
static void swapElements(std::span<std::byte> data, size_t width) {
  static_assert(std::endian::native == std::endian::little);
  if (width > 1)
    for (size_t i = 0; i + width <= data.size(); i += width)
      std::reverse(data.begin() + i, data.begin() + i + width);
}

static absl::StatusOr<ArrayHeader> parseIdxHeader(std::span<const std::byte> bytes, const std::string &file) {
  auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (bytes.size() < 4)
    return badData(str(file, ": an IDX file has at least 4 bytes, this one ", bytes.size()));
  std::optional<DType> dtype = idxType(at(2));
  if (at(0) != 0 || at(1) != 0 || !dtype)
    return badData(str(file, ": not an IDX file: it begins with ", at(0), " ", at(1), " ", at(2),
                       " and IDX begins with 0 0 and a type (8 u8, 9 i8, 11 i16, 12 i32, 13 f32, 14 f64)"));
  ArrayHeader header{file, *dtype};
  size_t rank = at(3);
  header.offset = 4 + 4 * rank;
  if (bytes.size() < header.offset)
    return badData(
        str(file, ": an IDX header of rank ", rank, " has ", header.offset, " bytes, the file only ", bytes.size()));
  for (size_t d = 0; d < rank; ++d) {
    uint32_t size = 0;
    for (size_t i = 0; i < 4; ++i)
      size = size << 8 | at(4 + 4 * d + i);
    header.shape.push_back(size);
  }
  return header;
}

static absl::Status toLittleEndian(Array &array) {
  swapElements(array.bytes(), sizeOf(array.dtype));
  return absl::OkStatus();
}

const ArrayFormat dgc::rt::idxFormat = {"IDX", parseIdxHeader, toLittleEndian};
