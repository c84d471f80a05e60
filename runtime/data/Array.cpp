// Whole files and files of arrays, gzip included.
#include "runtime/data/Array.h"

#include "runtime/data/Gzip.h"

#include <algorithm>

using namespace dgc::rt;

static bool isGzip(const std::string &path) { return path.ends_with(".gz"); }

/// Reads the first bytes of an open file, at most `limit`.
static absl::StatusOr<Bytes> readFirst(ReadableFile &file, uint64_t limit) {
  Bytes data(std::min(file.size(), limit));
  if (absl::Status status = file.readAt(0, data); !status.ok())
    return withExitCode(status, ExitCode::BadData);
  return data;
}

static absl::StatusOr<std::unique_ptr<ReadableFile>> openData(Disk &disk, const std::string &path) {
  auto file = disk.open(path);
  return file.ok() ? std::move(file) : withExitCode(file.status(), ExitCode::BadData);
}

absl::StatusOr<Bytes> dgc::rt::readWhole(Disk &disk, const std::string &path, uint64_t limit) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, openData(disk, path));
  if (!isGzip(path) && file->size() > limit)
    return badData(str(path, " has ", file->size(), " bytes; at most ", limit, " are accepted"));
  DGC_ASSIGN_OR_RETURN(Bytes data, readFirst(*file, UINT64_MAX));
  if (!isGzip(path))
    return data;
  return gunzip(data, path, limit);
}

/// The bytes of a file that a header describes.
static absl::StatusOr<uint64_t> sizeOfFile(const ArrayFormat &format, const ArrayHeader &header) {
  std::optional<uint64_t> bytes = byteSize(header.dtype, header.shape);
  if (!bytes || *bytes > INT64_MAX - header.offset)
    return badData(str(header.file, ": the ", format.name, " header asks for ", describe(header.dtype, header.shape),
                       ", more than any memory holds"));
  return header.offset + *bytes;
}

/// `has` is "116 bytes", or "more".
static absl::Status otherSize(const ArrayFormat &format, const ArrayHeader &header, const std::string &has) {
  return badData(str(header.file, ": ", describe(header.dtype, header.shape), " takes ",
                     byteSize(header.dtype, header.shape).value_or(0), " bytes after the ", format.name,
                     " header, the file has ", has));
}

static absl::StatusOr<Array> finish(const ArrayFormat &format, ArrayHeader header, Bytes bytes) {
  Array array{std::move(header), std::move(bytes)};
  DGC_RETURN_IF_ERROR(format.finish(array));
  return array;
}

absl::StatusOr<Array> dgc::rt::parseArray(const ArrayFormat &format, Bytes bytes, const std::string &file) {
  DGC_ASSIGN_OR_RETURN(ArrayHeader header, format.parseHeader(bytes, file));
  DGC_ASSIGN_OR_RETURN(uint64_t size, sizeOfFile(format, header));
  if (size != bytes.size())
    return otherSize(format, header, str(bytes.size() - header.offset));
  return finish(format, std::move(header), std::move(bytes));
}

namespace {
/// A file of which so much is in memory as its header may take.
struct Opened {
  std::unique_ptr<ReadableFile> file;
  Bytes stored; // the first bytes of the file
  ArrayHeader header;
};
} // namespace

static absl::StatusOr<Opened> openArray(Disk &disk, const std::string &path, const ArrayFormat &format) {
  Opened opened;
  DGC_ASSIGN_OR_RETURN(opened.file, openData(disk, path));
  DGC_ASSIGN_OR_RETURN(opened.stored, readFirst(*opened.file, 2 * longestHeader)); // gzip may add a little
  Bytes prefix;
  if (isGzip(path)) {
    DGC_ASSIGN_OR_RETURN(prefix, gunzipPrefix(opened.stored, longestHeader, path));
  }
  DGC_ASSIGN_OR_RETURN(opened.header, format.parseHeader(isGzip(path) ? prefix : opened.stored, path));
  return opened;
}

absl::StatusOr<ArrayHeader> dgc::rt::readArrayHeader(Disk &disk, const std::string &path, const ArrayFormat &format) {
  DGC_ASSIGN_OR_RETURN(Opened opened, openArray(disk, path, format));
  return std::move(opened.header);
}

/// Expands the file `size` bytes of which the header describes.
static absl::StatusOr<Bytes> expandArray(const ArrayFormat &format, Opened opened, uint64_t size,
                                         const std::string &path) {
  const uint64_t compressed = opened.file->size();
  if (size / mostGzipExpansion > compressed)
    return otherSize(format, opened.header, "fewer");
  DGC_ASSIGN_OR_RETURN(opened.stored, readFirst(*opened.file, compressed));
  Bytes bytes(size);
  auto made = gunzipInto(opened.stored, bytes, path);
  if (absl::IsResourceExhausted(made.status()))
    return otherSize(format, opened.header, "more");
  if (!made.ok())
    return made.status();
  if (*made != size)
    return otherSize(format, opened.header, str(*made - opened.header.offset));
  return bytes;
}

absl::StatusOr<Array> dgc::rt::readArray(Disk &disk, const std::string &path, const ArrayFormat &format) {
  DGC_ASSIGN_OR_RETURN(Opened opened, openArray(disk, path, format));
  DGC_ASSIGN_OR_RETURN(uint64_t size, sizeOfFile(format, opened.header));
  ArrayHeader header = opened.header;
  if (isGzip(path)) {
    DGC_ASSIGN_OR_RETURN(Bytes bytes, expandArray(format, std::move(opened), size, path));
    return finish(format, std::move(header), std::move(bytes));
  }
  if (size != opened.file->size())
    return otherSize(format, header, str(opened.file->size() - header.offset));
  DGC_ASSIGN_OR_RETURN(Bytes bytes, readFirst(*opened.file, size));
  return finish(format, std::move(header), std::move(bytes));
}
