// libdeflate expands whole members, three times as fast as zlib; zlib expands their beginning alone, which libdeflate
// cannot.
#include "runtime/data/Gzip.h"

#include <algorithm>
#include <cstring>
#include <libdeflate.h>
#include <zlib.h>

using namespace dgc::rt;

static absl::Status checkIsGzip(std::span<const std::byte> in, const std::string &path) {
  if (in.size() >= 18 && in[0] == std::byte{0x1f} && in[1] == std::byte{0x8b})
    return absl::OkStatus();
  return badData(str(path, ": not a gzip file (", in.size(), " bytes; one begins with 1f 8b and has at least 18)"));
}

static absl::Status damaged(const std::string &path) {
  return badData(str(path, ": the gzip data is truncated or damaged"));
}

/// Whether nothing but padding follows the last member: zeros, as tapes and block devices leave them.
static bool isPadding(std::span<const std::byte> rest) {
  return std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; });
}

namespace {
/// Expands members one after the other.
class Members {
public:
  Members(std::span<const std::byte> in, const std::string &path)
      : rest(in), path(path), decompressor(libdeflate_alloc_decompressor(), libdeflate_free_decompressor) {}

  /// Appends members to `out` from `made` on, until all are there or one does not fit: then an error of
  /// ResourceExhausted, and the next call continues with that one.
  absl::Status expandInto(std::span<std::byte> out, uint64_t &made) {
    if (!decompressor)
      return absl::ResourceExhaustedError(str(path, ": no memory to decompress it"));
    while (isFirst || !isPadding(rest)) {
      size_t used = 0, count = 0;
      std::span<std::byte> free = out.subspan(made);
      libdeflate_result result = libdeflate_gzip_decompress_ex(decompressor.get(), rest.data(), rest.size(),
                                                               free.data(), free.size(), &used, &count);
      if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
        return absl::ResourceExhaustedError(str(path, ": it expands to more than ", out.size(), " bytes"));
      if (result != LIBDEFLATE_SUCCESS && (isFirst || startsMember())) {
        hasDamage = true;
        return damaged(path);
      }
      if (result != LIBDEFLATE_SUCCESS)
        return badData(str(path, ": ", rest.size(), " bytes that are no gzip member follow the gzip data"));
      rest = rest.subspan(used);
      made += count;
      isFirst = false;
    }
    return absl::OkStatus();
  }

  /// Whether expandInto() met a member that it cannot expand.
  bool isDamaged() const { return hasDamage; }

private:
  bool startsMember() const { return rest.size() > 1 && rest[0] == std::byte{0x1f} && rest[1] == std::byte{0x8b}; }

  std::span<const std::byte> rest;
  const std::string &path;
  std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor *)> decompressor;
  bool isFirst = true, hasDamage = false;
};
} // namespace

absl::StatusOr<uint64_t> dgc::rt::gunzipInto(std::span<const std::byte> in, std::span<std::byte> out,
                                             const std::string &path) {
  DGC_RETURN_IF_ERROR(checkIsGzip(in, path));
  uint64_t made = 0;
  DGC_RETURN_IF_ERROR(Members(in, path).expandInto(out, made));
  return made;
}

absl::StatusOr<Bytes> dgc::rt::gunzip(std::span<const std::byte> in, const std::string &path, uint64_t limit) {
  DGC_RETURN_IF_ERROR(checkIsGzip(in, path));
  // The last four bytes are the size of the last member modulo 2^32, or something that is no member.
  auto at = [&](size_t i) { return static_cast<uint32_t>(in[in.size() - i]); };
  uint64_t claimed = at(4) | at(3) << 8 | at(2) << 16 | at(1) << 24, most = mostGzipExpansion * in.size();
  const bool isImpossible = claimed > most;
  Members members(in, path);
  Bytes out(std::min<uint64_t>(isImpossible ? 1 << 16 : claimed, limit));
  for (uint64_t made = 0;;) {
    absl::Status status = members.expandInto(out, made);
    if (isImpossible && members.isDamaged())
      return badData(str(path, ": the gzip trailer claims ", claimed, " bytes of data, which ", in.size(),
                         " compressed bytes cannot hold; the file is truncated or damaged"));
    if (status.ok() && made == out.size())
      return out;
    if (!status.ok() && !absl::IsResourceExhausted(status))
      return status;
    if (!status.ok() && out.size() >= std::min(limit, most))
      return badData(str(path, " expands to more than ", limit, " bytes, which are accepted at most"));
    // Several members: room for more, or the end is known.
    Bytes next(status.ok() ? made : std::min({limit, most, std::max<uint64_t>(2 * out.size(), 1 << 16)}));
    std::memcpy(next.data(), out.data(), made);
    out = std::move(next);
    if (status.ok())
      return out;
  }
}

absl::StatusOr<Bytes> dgc::rt::gunzipPrefix(std::span<const std::byte> in, size_t count, const std::string &path) {
  DGC_RETURN_IF_ERROR(checkIsGzip(in, path));
  z_stream stream{};
  constexpr int gzipWindow = 15 + 16; // a gzip header, and the largest window
  if (inflateInit2(&stream, gzipWindow) != Z_OK)
    return absl::ResourceExhaustedError(str(path, ": no memory to decompress it"));
  std::unique_ptr<z_stream, int (*)(z_stream *)> owner(&stream, inflateEnd);
  std::vector<std::byte> out(count);
  size_t made = 0;
  while (made < count && !in.empty() && (made == 0 || !isPadding(in.first(std::min<size_t>(in.size(), 2))))) {
    uInt chunk = static_cast<uInt>(std::min<size_t>(in.size(), size_t{1} << 20));
    stream.next_in = const_cast<Bytef *>(reinterpret_cast<const Bytef *>(in.data()));
    stream.avail_in = chunk;
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + made);
    stream.avail_out = static_cast<uInt>(count - made);
    int result = inflate(&stream, Z_SYNC_FLUSH);
    in = in.subspan(chunk - stream.avail_in);
    made = count - stream.avail_out;
    if (result == Z_STREAM_END)
      inflateReset(&stream); // the next member
    else if (result != Z_OK && made == 0)
      return damaged(path);
    else if (result != Z_OK)
      break; // what is before the damage
  }
  Bytes prefix(made);
  std::memcpy(prefix.data(), out.data(), made);
  return prefix;
}
