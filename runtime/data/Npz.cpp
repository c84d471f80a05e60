// libzip knows archives; it reads and writes through the interface of the disk.
#include "runtime/data/Npz.h"

#include "runtime/data/Gzip.h"
#include "runtime/data/Npy.h"

#include <algorithm>
#include <cstring>
#include <zip.h>

using namespace dgc::rt;

/// No archive has more arrays.
static constexpr zip_int64_t mostArrays = 1 << 16;

namespace {
/// An error of libzip, with its memory.
struct ZipError : zip_error_t {
  ZipError() { zip_error_init(this); }
  ~ZipError() { zip_error_fini(this); }
  ZipError(const ZipError &) = delete;
  ZipError &operator=(const ZipError &) = delete;
  std::string text() { return zip_error_strerror(this); }
};
} // namespace

//===-- Reading -----------------------------------------------------------===//

/// A file, and libzip's view of it. It stays where it is, as libzip has pointers to it.
class NpzFile::Archive {
public:
  Archive(std::unique_ptr<ReadableFile> file, std::string path) : path(std::move(path)), file(std::move(file)) {}
  ~Archive() {
    if (zip)
      zip_discard(zip);
  }
  Archive(const Archive &) = delete;
  Archive &operator=(const Archive &) = delete;

  absl::Status open();

  /// Fills `out` from the beginning of an entry. Where `isWhole`, the entry must end there, and its checksum is verified.
  absl::Status read(const Entry &entry, std::span<std::byte> out, bool isWhole);

  std::string nameOf(const Entry &entry) const { return str(path, ": ", entry.name); }

  const std::string path;
  zip_t *zip = nullptr;

private:
  static zip_int64_t serve(void *self, void *data, zip_uint64_t length, zip_source_cmd_t command) {
    return static_cast<Archive *>(self)->serve(data, length, command);
  }
  zip_int64_t serve(void *data, zip_uint64_t length, zip_source_cmd_t command);
  zip_int64_t readNext(void *data, zip_uint64_t length);
  absl::Status describe(const std::string &what, const std::string &why) const {
    return failed.ok() ? badData(str(what, ": ", why)) : failed;
  }

  std::unique_ptr<ReadableFile> file;
  uint64_t at = 0;
  absl::Status failed; // the first read of the file that was not possible
  ZipError error;
};

zip_int64_t NpzFile::Archive::readNext(void *data, zip_uint64_t length) {
  const uint64_t count = std::min(length, file->size() - at);
  absl::Status status = file->readAt(at, {static_cast<std::byte *>(data), count});
  if (!status.ok()) {
    failed.Update(withExitCode(status, ExitCode::BadData));
    zip_error_set(&error, ZIP_ER_READ, 0);
    return -1;
  }
  at += count;
  return static_cast<zip_int64_t>(count);
}

/// What libzip wants of a source that can be read at any place.
zip_int64_t NpzFile::Archive::serve(void *data, zip_uint64_t length, zip_source_cmd_t command) {
  switch (static_cast<int>(command)) { // newer versions have more
  case ZIP_SOURCE_SUPPORTS:
    return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                          ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, -1);
  case ZIP_SOURCE_OPEN:
    at = 0;
    return 0;
  case ZIP_SOURCE_READ:
    return readNext(data, length);
  case ZIP_SOURCE_SEEK: {
    zip_int64_t target = zip_source_seek_compute_offset(at, file->size(), data, length, &error);
    if (target < 0)
      return -1;
    at = static_cast<uint64_t>(target);
    return 0;
  }
  case ZIP_SOURCE_TELL:
    return static_cast<zip_int64_t>(at);
  case ZIP_SOURCE_STAT: {
    zip_stat_t *stat = ZIP_SOURCE_GET_ARGS(zip_stat_t, data, length, &error);
    if (!stat)
      return -1;
    zip_stat_init(stat);
    stat->size = file->size();
    stat->valid = ZIP_STAT_SIZE;
    return sizeof *stat;
  }
  case ZIP_SOURCE_ERROR:
    return zip_error_to_data(&error, data, length);
  case ZIP_SOURCE_CLOSE:
  case ZIP_SOURCE_FREE:
    return 0;
  default:
    zip_error_set(&error, ZIP_ER_OPNOTSUPP, 0);
    return -1;
  }
}

absl::Status NpzFile::Archive::open() {
  // libzip takes an empty file for an archive of nothing.
  if (file->size() == 0)
    return badData(str(path, ": not a .npz file: it is empty"));
  ZipError why;
  zip_source_t *source = zip_source_function_create(&Archive::serve, this, &why);
  if (source)
    zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &why);
  if (zip)
    return absl::OkStatus();
  if (source)
    zip_source_free(source);
  if (zip_error_code_zip(&why) == ZIP_ER_EXISTS)
    return badData(str(path, ": two arrays have the same name"));
  return describe(path, str("not a .npz file, or truncated or damaged: ", why.text()));
}

absl::Status NpzFile::Archive::read(const Entry &entry, std::span<std::byte> out, bool isWhole) {
  const std::string name = nameOf(entry);
  zip_file_t *stream = zip_fopen_index(zip, entry.index, 0);
  if (!stream)
    return describe(name, zip_strerror(zip));
  std::unique_ptr<zip_file_t, int (*)(zip_file_t *)> owner(stream, zip_fclose);
  auto damaged = [&] { return describe(name, str("truncated or damaged: ", zip_file_strerror(stream))); };
  while (!out.empty()) {
    zip_int64_t count = zip_fread(stream, out.data(), out.size());
    if (count < 0)
      return damaged();
    if (count == 0)
      return describe(name, "truncated or damaged: it ends before the size that the archive says");
    out = out.subspan(static_cast<size_t>(count));
  }
  std::byte more;
  zip_int64_t rest = isWhole ? zip_fread(stream, &more, 1) : 0; // at the end the checksum is compared
  if (rest < 0)
    return damaged();
  return rest == 0 ? absl::OkStatus() : describe(name, "damaged: it is longer than the archive says");
}

/// The entry number `index`, if it can be an array.
static absl::StatusOr<NpzFile::Entry> entryOf(zip_t *zip, zip_uint64_t index, const std::string &path) {
  zip_stat_t stat;
  constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_CRC |
                                  ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(zip, index, 0, &stat) != 0 || (stat.valid & needed) != needed)
    return badData(str(path, ": entry ", index, " of the archive is incomplete"));
  std::string name = stat.name;
  if (!name.ends_with(".npy"))
    return badData(str(path, ": '", name, "' is no .npy file; a .npz file has nothing else"));
  name.resize(name.size() - 4);
  auto bad = [&](std::string_view why) { return badData(str(path, ": ", name, ": ", why)); };
  if (stat.encryption_method != ZIP_EM_NONE)
    return bad("it is encrypted");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    return bad("compressed by another method than deflate; save it with numpy.savez or numpy.savez_compressed");
  const bool isPossible =
      stat.comp_method == ZIP_CM_STORE ? stat.size == stat.comp_size : stat.size / mostGzipExpansion <= stat.comp_size;
  if (!isPossible)
    return bad(str("damaged: ", stat.comp_size, " bytes of the archive cannot hold the ", stat.size, " that it says"));
  return NpzFile::Entry{std::move(name), index, stat.size, stat.comp_size, stat.crc};
}

NpzFile::NpzFile(std::unique_ptr<Archive> archive) : archive(std::move(archive)) {}
NpzFile::NpzFile(NpzFile &&) noexcept = default;
NpzFile::~NpzFile() = default;

absl::StatusOr<NpzFile> NpzFile::open(Disk &disk, const std::string &path) {
  auto file = disk.open(path);
  if (!file.ok())
    return withExitCode(file.status(), ExitCode::BadData);
  auto archive = std::make_unique<Archive>(*std::move(file), path);
  DGC_RETURN_IF_ERROR(archive->open());
  const zip_int64_t count = zip_get_num_entries(archive->zip, 0);
  if (count > mostArrays)
    return badData(str(path, ": ", count, " arrays; at most ", mostArrays, " are accepted"));
  NpzFile npz(std::move(archive));
  for (zip_int64_t i = 0; i < count; ++i) {
    DGC_ASSIGN_OR_RETURN(Entry entry, entryOf(npz.archive->zip, static_cast<zip_uint64_t>(i), path));
    npz.entries_.push_back(std::move(entry));
  }
  return npz;
}

absl::StatusOr<ArrayHeader> NpzFile::header(const Entry &entry) const {
  Bytes prefix(std::min<uint64_t>(entry.size, longestHeader));
  DGC_RETURN_IF_ERROR(archive->read(entry, prefix, /*isWhole=*/false));
  return npyFormat.parseHeader(prefix, archive->nameOf(entry));
}

absl::StatusOr<Array> NpzFile::read(const Entry &entry) const {
  DGC_ASSIGN_OR_RETURN(ArrayHeader known, header(entry));
  std::optional<uint64_t> bytes = byteSize(known.dtype, known.shape);
  if (!bytes || *bytes != entry.size - known.offset)
    return badData(str(known.file, ": ", describe(known.dtype, known.shape), " does not take the ",
                       entry.size - known.offset, " bytes after the .npy header"));
  Bytes whole(entry.size);
  DGC_RETURN_IF_ERROR(archive->read(entry, whole, /*isWhole=*/true));
  return parseArray(npyFormat, std::move(whole), known.file);
}

//===-- Writing -----------------------------------------------------------===//

namespace {
/// An archive that is made in memory: libzip writes sizes and checksums behind what it has written.
class NewArchive {
public:
  explicit NewArchive(const std::string &path) : path(path) {}
  ~NewArchive() {
    if (zip)
      zip_discard(zip);
    if (made)
      zip_source_free(made);
  }
  NewArchive(const NewArchive &) = delete;
  NewArchive &operator=(const NewArchive &) = delete;

  absl::Status begin() {
    made = zip_source_buffer_create(nullptr, 0, 0, &error);
    if (!made)
      return failed(error.text());
    zip_source_keep(made);
    zip = zip_open_from_source(made, ZIP_TRUNCATE, &error);
    if (zip)
      return absl::OkStatus();
    zip_source_free(made); // what was kept for the archive
    return failed(error.text());
  }

  /// Neither the header nor the data is copied; both must live until end().
  absl::Status add(const std::string &name, std::string_view header, std::span<const std::byte> data) {
    // Fragments are not written to.
    zip_buffer_fragment_t parts[] = {
        {reinterpret_cast<zip_uint8_t *>(const_cast<char *>(header.data())), header.size()},
        {reinterpret_cast<zip_uint8_t *>(const_cast<std::byte *>(data.data())), data.size()}};
    zip_source_t *source = zip_source_buffer_fragment_create(parts, data.empty() ? 1 : 2, 0, &error);
    if (!source)
      return failed(error.text());
    zip_int64_t index = zip_file_add(zip, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      return failed(zip_strerror(zip));
    }
    constexpr zip_uint16_t midnight = 0, firstOf1980 = 1 << 5 | 1;
    auto number = static_cast<zip_uint64_t>(index);
    if (zip_set_file_compression(zip, number, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(zip, number, midnight, firstOf1980, 0) != 0)
      return failed(zip_strerror(zip));
    return absl::OkStatus();
  }

  absl::Status end() {
    if (zip_close(zip) != 0)
      return failed(zip_strerror(zip));
    zip = nullptr;
    return absl::OkStatus();
  }

  /// After end().
  absl::Status writeTo(WritableFile &out) {
    if (zip_source_open(made) != 0)
      return failed(zip_error_strerror(zip_source_error(made)));
    std::vector<std::byte> piece(size_t{1} << 20);
    absl::Status status;
    zip_int64_t count = 1;
    while (status.ok() && (count = zip_source_read(made, piece.data(), piece.size())) > 0)
      status = out.write(std::span(piece).first(static_cast<size_t>(count)));
    if (count < 0)
      status = failed(zip_error_strerror(zip_source_error(made)));
    zip_source_close(made);
    return status;
  }

private:
  absl::Status failed(std::string_view why) const { return absl::InternalError(str("cannot make ", path, ": ", why)); }

  const std::string &path;
  zip_t *zip = nullptr;
  zip_source_t *made = nullptr;
  ZipError error;
};
} // namespace

absl::Status dgc::rt::writeNpz(OutputFile &file, std::span<const NamedArray> arrays) {
  std::vector<std::string> headers;
  for (const NamedArray &array : arrays) {
    if (byteSize(array.dtype, array.shape) != array.data.size())
      return absl::InvalidArgumentError(str(file.path(), ": ", array.name, ": ", array.data.size(), " bytes given for ",
                                            describe(array.dtype, array.shape)));
    auto header = npyHeader(array.dtype, array.shape);
    if (!header.ok())
      return annotate(header.status(), str(file.path(), ": ", array.name));
    headers.push_back(*std::move(header));
  }
  NewArchive archive(file.path());
  DGC_RETURN_IF_ERROR(archive.begin());
  for (size_t i = 0; i < arrays.size(); ++i)
    DGC_RETURN_IF_ERROR(archive.add(arrays[i].name + ".npy", headers[i], arrays[i].data));
  DGC_RETURN_IF_ERROR(archive.end());
  return file.replace([&](WritableFile &out) { return archive.writeTo(out); });
}
