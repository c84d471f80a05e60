// Whole files, gzip included.
#include "runtime/data/Array.h"

#include <libdeflate.h>

using namespace dgc::rt;

/// Decompresses one gzip member that fills `in`.
static absl::StatusOr<Bytes> gunzip(std::span<const std::byte> in,
                                    const std::string &path, uint64_t limit) {
  auto at = [&](size_t i) { return static_cast<uint32_t>(in[i]); };
  if (in.size() < 18 || at(0) != 0x1f || at(1) != 0x8b)
    return badData(str(path, ": not a gzip file (", in.size(),
                       " bytes; one begins with 1f 8b and has at least 18)"));
  // The last four bytes are the size modulo 2^32. Deflate expands no more than
  // 1032 times, so a larger size is a lie and is not allocated.
  size_t n = in.size();
  uint64_t size =
      at(n - 4) | at(n - 3) << 8 | at(n - 2) << 16 | at(n - 1) << 24;
  if (size > limit || size > 1032 * uint64_t{n})
    return badData(str(path, ": the gzip trailer claims ", size,
                       " bytes of data, which ", n,
                       " compressed bytes cannot hold; the file is truncated "
                       "or damaged"));
  Bytes out(size);
  std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor *)>
      decompressor(libdeflate_alloc_decompressor(),
                   libdeflate_free_decompressor);
  if (!decompressor)
    return absl::ResourceExhaustedError(
        str(path, ": no memory to decompress it"));
  size_t used = 0, made = 0;
  libdeflate_result result =
      libdeflate_gzip_decompress_ex(decompressor.get(), in.data(), in.size(),
                                    out.data(), out.size(), &used, &made);
  if (result != LIBDEFLATE_SUCCESS || made != size)
    return badData(str(path, ": the gzip data is truncated or damaged"));
  if (used != in.size())
    return badData(str(path, ": ", in.size() - used,
                       " bytes follow the gzip data; a file of one gzip "
                       "member is accepted"));
  return out;
}

absl::StatusOr<Bytes> dgc::rt::readWhole(Disk &disk, const std::string &path,
                                         uint64_t limit) {
  auto file = disk.open(path);
  if (!file.ok())
    return withExitCode(file.status(), ExitCode::BadData);
  uint64_t size = (*file)->size();
  if (size > limit)
    return badData(
        str(path, " has ", size, " bytes; at most ", limit, " are accepted"));
  Bytes data(size);
  if (absl::Status status = (*file)->readAt(0, data); !status.ok())
    return withExitCode(status, ExitCode::BadData);
  if (!path.ends_with(".gz"))
    return data;
  return gunzip(data, path, limit);
}
