// Safetensors files: written atomically, checked before they are read.
#include "runtime/checkpoint/Safetensors.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Sha256.h"
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

static std::string sizePrefix(uint64_t size) {
  std::string prefix(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    prefix[i] = static_cast<char>(size >> (8 * i));
  return prefix;
}

static constexpr size_t digestDigits = 64;
static constexpr std::string_view noDigest = "0000000000000000000000000000000000000000000000000000000000000000";
static_assert(noDigest.size() == digestDigits);

/// Where a header has the digits of its digest; npos where it has not.
static size_t positionOfDigest(std::string_view header, std::string_view digits) {
  size_t key = header.find(str("\"", digestKey, "\""));
  return key == std::string_view::npos ? key : header.find(digits, key);
}

/// Puts the digest of the file into its header.
static std::string fillDigest(std::string &header, std::span<const Tensor> tensors) {
  Sha256 sha;
  sha.add(header);
  for (const Tensor &tensor : tensors)
    sha.add(tensor.bytes);
  std::string digest = sha.finishHex();
  header.replace(positionOfDigest(header, noDigest), digestDigits, digest);
  return digest;
}

absl::StatusOr<SafetensorsLayout> dgc::rt::layOutSafetensors(std::span<const Tensor> tensors,
                                                             const Metadata &metadata) {
  DGC_RETURN_IF_ERROR(checkTensors(tensors));
  Metadata all = metadata;
  auto digest = all.find(std::string(digestKey));
  if (digest != all.end())
    digest->second = noDigest;
  std::string header = formatSafetensorsHeader(tensors, all);
  if (header.size() > maxHeader)
    return absl::InvalidArgumentError(
        str("a header of ", header.size(), " bytes; at most ", maxHeader, " are accepted"));
  SafetensorsLayout layout{.header = sizePrefix(header.size()) + header};
  layout.bytes = layout.header.size();
  for (const Tensor &tensor : tensors)
    layout.bytes += tensor.bytes.size();
  if (digest != all.end())
    layout.digest = fillDigest(layout.header, tensors);
  return layout;
}

absl::Status dgc::rt::writeSafetensors(WritableFile &file, const SafetensorsLayout &layout,
                                       std::span<const Tensor> tensors) {
  DGC_RETURN_IF_ERROR(file.write(layout.header));
  for (const Tensor &tensor : tensors)
    if (!tensor.bytes.empty())
      DGC_RETURN_IF_ERROR(file.write(tensor.bytes));
  return absl::OkStatus();
}

absl::Status dgc::rt::writeSafetensors(OutputFile &file, std::span<const Tensor> tensors, const Metadata &metadata) {
  auto layout = layOutSafetensors(tensors, metadata);
  if (!layout.ok())
    return annotate(layout.status(), file.path());
  return annotate(file.replace([&](WritableFile &out) { return writeSafetensors(out, *layout, tensors); }),
                  "cannot save");
}

absl::Status dgc::rt::writeSafetensors(Disk &disk, const std::string &path, std::span<const Tensor> tensors,
                                       const Metadata &metadata) {
  DGC_ASSIGN_OR_RETURN(OutputFile file, OutputFile::reserve(disk, path));
  return writeSafetensors(file, tensors, metadata);
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
  DGC_RETURN_IF_ERROR(findDigest(header));
  return checkCoverage();
}

absl::Status SafetensorsFile::findDigest(std::string_view header) {
  auto digest = metadata_.find(std::string(digestKey));
  if (digest == metadata_.end())
    return absl::OkStatus();
  const std::string &digits = digest->second;
  size_t at = positionOfDigest(header, digits);
  if (digits.size() != digestDigits || digits.find_first_not_of("0123456789abcdef") != std::string::npos ||
      at == std::string_view::npos)
    return badData(str("its metadata ", digestKey, " is not a SHA-256: 64 digits of 0-9 and a-f"));
  digestBegin = 8 + at;
  return absl::OkStatus();
}

absl::Status SafetensorsFile::verify() const {
  if (digestBegin == 0)
    return absl::OkStatus();
  Sha256 sha;
  std::vector<std::byte> chunk(std::min<uint64_t>(file->size(), 1 << 20));
  for (uint64_t at = 0; at < file->size(); at += chunk.size()) {
    std::span<std::byte> piece = std::span(chunk).first(std::min<uint64_t>(chunk.size(), file->size() - at));
    DGC_RETURN_IF_ERROR(withExitCode(file->readAt(at, piece), ExitCode::BadData));
    for (uint64_t i = std::max(at, digestBegin); i < std::min(at + piece.size(), digestBegin + digestDigits); ++i)
      piece[i - at] = std::byte{'0'};
    sha.add(piece);
  }
  if (sha.finishHex() == metadata_.at(std::string(digestKey)))
    return absl::OkStatus();
  return badData(str(path_, " is damaged: its content does not match its SHA-256; take another copy (or remove ",
                     digestKey, " from its metadata, where it was changed on purpose)"));
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
  return readInto(entry, start, size, size, out);
}

/// Elements from the first one of a block of `size` to its last one, in an array of `extents`; nothing where the block
/// does not fit into the array or that is too large.
static std::optional<uint64_t> elementsSpanned(std::span<const int64_t> size, std::span<const int64_t> extents) {
  if (!isBlockInside(extents, std::vector<int64_t>(size.size()), size) || !byteSize(DType::U8, extents))
    return std::nullopt;
  uint64_t last = 0, stride = 1;
  for (size_t d = size.size(); d-- > 0;) {
    if (size[d] == 0)
      return 0;
    last += static_cast<uint64_t>(size[d] - 1) * stride;
    stride *= static_cast<uint64_t>(extents[d]);
  }
  return last + 1;
}

absl::Status SafetensorsFile::readInto(const Entry &entry, std::span<const int64_t> start,
                                       std::span<const int64_t> size, std::span<const int64_t> extents,
                                       std::span<std::byte> out) const {
  size_t width = sizeOf(entry.dtype);
  std::optional<uint64_t> spanned = elementsSpanned(size, extents);
  if (!isBlockInside(entry.shape, start, size) || !spanned || *spanned > out.size() / width)
    return absl::InvalidArgumentError(
        str(path_, ": a block that is not inside of ", describe(entry.dtype, entry.shape), " or of the memory for it"));
  for (const BlockPiece &piece : blockPieces(entry.shape, start, size, extents))
    DGC_RETURN_IF_ERROR(withExitCode(
        file->readAt(dataBegin + entry.offset + piece.from * width, out.subspan(piece.to * width, piece.count * width)),
        ExitCode::BadData));
  return absl::OkStatus();
}
