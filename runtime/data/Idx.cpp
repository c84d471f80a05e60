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
  }
  return std::nullopt;
}

/// Big-endian elements of `width` bytes become those of this machine.
static void swapElements(std::span<std::byte> data, size_t width) {
  static_assert(std::endian::native == std::endian::little);
  if (width > 1)
    for (size_t i = 0; i + width <= data.size(); i += width)
      std::reverse(data.begin() + i, data.begin() + i + width);
}

absl::StatusOr<Array> dgc::rt::parseIdx(Bytes bytes, std::string file) {
  auto at = [&](size_t i) { return static_cast<uint8_t>(bytes.data()[i]); };
  if (bytes.size() < 4)
    return badData(str(file, ": an IDX file has at least 4 bytes, this one ",
                       bytes.size()));
  std::optional<DType> dtype = idxType(at(2));
  if (at(0) != 0 || at(1) != 0 || !dtype)
    return badData(str(file, ": not an IDX file: it begins with ", at(0), " ",
                       at(1), " ", at(2),
                       " and IDX begins with 0 0 and a type (8 u8, 9 i8, 11 "
                       "i16, 12 i32, 13 f32, 14 f64)"));
  Array array;
  array.dtype = *dtype;
  size_t rank = at(3);
  array.offset = 4 + 4 * rank;
  if (bytes.size() < array.offset)
    return badData(str(file, ": an IDX header of rank ", rank, " has ",
                       array.offset, " bytes, the file only ", bytes.size()));
  for (size_t d = 0; d < rank; ++d) {
    uint32_t size = 0;
    for (size_t i = 0; i < 4; ++i)
      size = size << 8 | at(4 + 4 * d + i);
    array.shape.push_back(size);
  }
  std::optional<uint64_t> expected = byteSize(*dtype, array.shape);
  uint64_t actual = bytes.size() - array.offset;
  if (!expected)
    return badData(str(file, ": the IDX header asks for ",
                       describe(*dtype, array.shape),
                       ", more than any memory holds"));
  if (*expected != actual)
    return badData(str(file, ": ", describe(*dtype, array.shape), " takes ",
                       *expected, " bytes after the IDX header, the file has ",
                       actual));
  array.file = std::move(file);
  array.storage = std::move(bytes);
  swapElements(array.bytes(), sizeOf(*dtype));
  return array;
}
