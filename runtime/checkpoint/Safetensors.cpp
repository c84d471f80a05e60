// Safetensors files: written atomically, checked before they are read.
#include "runtime/checkpoint/Safetensors.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Shape.h"
#include "runtime/checkpoint/SafetensorsHeader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <tuple>

using namespace dgc::rt;

/// What the reference implementation accepts, too.
static constexpr uint64_t maxHeader = 100'000'000;

static absl::Status checkTensors(std::span<const Tensor> tensors) {
  std::set<std::string_view> names;
  for (const Tensor &tensor : tensors) {
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      return absl::InvalidArgumentError(str("two tensors are called '", tensor.name, "'"));
    if (byteSize(tensor.dtype, tensor.globalShape) != tensor.bytes.size())
      return absl::InvalidArgumentError(str("tensor '", tensor.name, "' has ", tensor.bytes.size(), " bytes for ",
                                            describe(tensor.dtype, tensor.globalShape)));
  }
  return absl::OkStatus();
}

static absl::Status writeAll(WritableFile &file, std::span<const Tensor> tensors, const std::string &header) {
  std::string size(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    size[i] = static_cast<char>(header.size() >> (8 * i));
  DGC_RETURN_IF_ERROR(file.write(size + header));
  for (const Tensor &tensor : tensors)
    if (!tensor.bytes.empty())
      DGC_RETURN_IF_ERROR(file.write(tensor.bytes));
  return absl::OkStatus();
}

absl::Status dgc::rt::writeSafetensors(Disk &disk, const std::string &path, std::span<const Tensor> tensors,
                                       const Metadata &metadata) {
  DGC_RETURN_IF_ERROR(annotate(checkTensors(tensors), path));
  std::string header = formatSafetensorsHeader(tensors, metadata);
  if (header.size() > maxHeader)
    return absl::InvalidArgumentError(
        str(path, ": a header of ", header.size(), " bytes; at most ", maxHeader, " are accepted"));
  return annotate(replaceFile(disk, path, [&](WritableFile &file) { return writeAll(file, tensors, header); }),
                  "cannot save");
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::open(Disk &disk, const std::string &path) {
  auto opened = disk.open(path);
  if (!opened.ok())
    return withExitCode(opened.status(), ExitCode::BadData);
  SafetensorsFile result(*std::move(opened), path);
  absl::Status status = result.parseHeader();
  if (!status.ok())
    return withExitCode(annotate(status, path), ExitCode::BadData);
  return result;
}

absl::Status SafetensorsFile::parseHeader() {
  uint64_t size = file->size();
  if (size < 10)
    return badData(str("not a safetensors file: it has ", size, " bytes, one has at least 10"));
  std::array<std::byte, 8> prefix;
  DGC_RETURN_IF_ERROR(file->readAt(0, prefix));
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;)
    length = length << 8 | static_cast<uint64_t>(prefix[i]);
  if (length > size - 8 || length > maxHeader)
    return badData(str("not a safetensors file, or truncated: it asks for a "
                       "header of ",
                       length, " bytes and has ", size - 8, " after the first 8; at most ", maxHeader,
                       " are accepted"));
  std::string header(length, '\0');
  DGC_RETURN_IF_ERROR(file->readAt(8, std::as_writable_bytes(std::span(header))));
  DGC_RETURN_IF_ERROR(annotate(parseSafetensorsHeader(header, entries_, metadata_), "safetensors header"));
  dataBegin = 8 + length;
  return checkCoverage();
}

absl::Status SafetensorsFile::checkCoverage() const {
  std::vector<std::pair<uint64_t, const std::string *>> order;
  for (auto &[name, entry] : entries_) {
    std::optional<uint64_t> expected = byteSize(entry.dtype, entry.shape);
    if (!expected || *expected != entry.bytes)
      return badData(str("tensor '", name, "' is ", describe(entry.dtype, entry.shape), " but its data_offsets span ",
                         entry.bytes, " bytes"));
    order.emplace_back(entry.offset, &name);
  }
  // Empty tensors sit at the begin of their neighbour: shorter ones first.
  std::sort(order.begin(), order.end(), [&](auto &a, auto &b) {
    return std::tuple(a.first, entries_.at(*a.second).bytes, *a.second) <
           std::tuple(b.first, entries_.at(*b.second).bytes, *b.second);
  });
  uint64_t end = 0, available = file->size() - dataBegin;
  for (auto &[offset, name] : order) {
    if (offset != end)
      return badData(str("tensor '", *name, "' begins at byte ", offset, " of the data, where ", end,
                         " is expected: tensors follow each other without "
                         "gap or overlap"));
    end += entries_.at(*name).bytes;
    if (end > available)
      return badData(
          str("truncated: tensor '", *name, "' ends at byte ", end, " of the data, the file has ", available));
  }
  if (end != available)
    return badData(str(available - end, " bytes follow the last tensor"));
  return absl::OkStatus();
}

absl::Status SafetensorsFile::read(const Entry &entry, std::span<std::byte> out) const {
  if (out.size() != entry.bytes)
    return absl::InvalidArgumentError(str(path_, ": ", out.size(), " bytes to read a tensor of ", entry.bytes));
  return withExitCode(file->readAt(dataBegin + entry.offset, out), ExitCode::BadData);
}

absl::Status SafetensorsFile::readBlock(const Entry &entry, std::span<const int64_t> start,
                                        std::span<const int64_t> size, std::span<std::byte> out) const {
  if (!isBlockInside(entry.shape, start, size) || out.size() != byteSize(entry.dtype, size))
    return absl::InvalidArgumentError(
        str(path_, ": a block that is not inside of ", describe(entry.dtype, entry.shape)));
  size_t width = sizeOf(entry.dtype);
  for (const BlockPiece &piece : blockPieces(entry.shape, start, size))
    DGC_RETURN_IF_ERROR(withExitCode(
        file->readAt(dataBegin + entry.offset + piece.from * width, out.subspan(piece.to * width, piece.count * width)),
        ExitCode::BadData));
  return absl::OkStatus();
}
