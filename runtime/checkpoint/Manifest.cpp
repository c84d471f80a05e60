// Writes manifests, and checks that they hold together.
#include "runtime/checkpoint/Manifest.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Shape.h"
#include "runtime/checkpoint/ManifestText.h"
#include "runtime/checkpoint/ShardNames.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace dgc::rt;

static std::string quoted(const std::string &text) {
  // What is not UTF-8 is written with replacements, never thrown at.
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

static std::string bracketed(std::span<const int64_t> numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += str(i ? ", " : "", numbers[i]);
  return text + "]";
}

static std::string braced(const Metadata &strings) {
  std::string text;
  for (const auto &[key, value] : strings)
    text += str(text.empty() ? "{" : ", ", quoted(key), ": ", quoted(value));
  return text.empty() ? "{}" : text + "}";
}

static void addVariable(const std::string &name, const Manifest::Variable &variable, std::string &text) {
  text += str(quoted(name), R"(: {"dtype": ")", nameOf(variable.dtype), R"(", "shape": )",
              bracketed(variable.globalShape), R"(, "pieces": [)");
  const char *separator = "\n ";
  for (const Manifest::Piece &piece : variable.pieces) {
    text += str(separator, R"({"file": )", piece.file, R"(, "tensor": )", quoted(piece.tensor), R"(, "start": )",
                bracketed(piece.start), R"(, "size": )", bracketed(piece.size), "}");
    separator = ",\n ";
  }
  text += "]}";
}

absl::StatusOr<std::string> dgc::rt::formatManifest(const Manifest &manifest) {
  std::string text = str("{\n\"format\": ", quoted(std::string(manifestFormat)), ",\n\"version\": ", manifestVersion,
                         ",\n\"state\": ", braced(manifest.state), ",\n\"extra\": ", braced(manifest.extra),
                         ",\n\"index.sha256\": ", quoted(manifest.indexDigest), ",\n\"files\": [");
  const char *separator = "\n";
  for (const Manifest::File &file : manifest.files) {
    text += str(separator, R"({"name": )", quoted(file.name), R"(, "size": )", file.bytes, ", \"", digestKey, R"(": ")",
                file.digest, "\"}");
    separator = ",\n";
  }
  text += "\n],\n\"variables\": {";
  separator = "\n";
  for (const auto &[name, variable] : manifest.variables) {
    text += separator;
    addVariable(name, variable, text);
    separator = ",\n";
  }
  text += "\n}";
  text += str(digestBegin, sha256Of(text), digestEnd);
  if (text.size() > mostManifestBytes)
    return absl::ResourceExhaustedError(
        str("a manifest of ", text.size(), " bytes; at most ", mostManifestBytes, " are accepted"));
  return text;
}

absl::StatusOr<Manifest> dgc::rt::readManifest(Disk &disk, const std::string &path) {
  auto text = readFile(disk, path, mostManifestBytes);
  if (!text.ok())
    return withExitCode(text.status(), ExitCode::BadData);
  auto manifest = parseManifest(*text);
  return manifest.ok() ? std::move(manifest) : annotate(manifest.status(), path);
}

namespace {
/// Boxes that cover a shape cancel out along the faces that they share. So for any functions h of the coordinates, the
/// sum over all boxes of the products of h(end) - h(start) over the dimensions is that of the shape alone. For functions
/// that are as good as random, with values modulo a prime, no other boxes give that sum but by a chance of 2^-55. It
/// takes one pass, however many dimensions are cut.
class CoverSum {
public:
  void add(std::span<const int64_t> start, std::span<const int64_t> size) {
    uint64_t product = 1;
    for (size_t d = 0; d < size.size(); ++d)
      product = multiply(product, hash(d, start[d] + size[d]) + prime - hash(d, start[d]));
    sum = (sum + product) % prime;
  }
  bool operator==(const CoverSum &) const = default;

private:
  static constexpr uint64_t prime = (uint64_t{1} << 61) - 1;
  static uint64_t multiply(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % prime);
  }
  /// splitmix64 of the coordinate, keyed by the dimension.
  static uint64_t hash(size_t dimension, int64_t coordinate) {
    uint64_t z = mix(static_cast<uint64_t>(coordinate) + mix(dimension + 1));
    return z % prime;
  }
  static uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t sum = 0;
};
} // namespace

/// Whether each element of the variable is in one piece. The pieces are inside of it.
static absl::Status checkCover(const Manifest::Variable &variable) {
  const auto elements = [](std::span<const int64_t> shape) { return *byteSize(DType::U8, shape); };
  const uint64_t total = elements(variable.globalShape);
  uint64_t covered = 0;
  CoverSum pieces, whole;
  whole.add(std::vector<int64_t>(variable.globalShape.size()), variable.globalShape);
  for (const Manifest::Piece &piece : variable.pieces) {
    const uint64_t more = elements(piece.size);
    if (more == 0 && total != 0)
      return badData(str("the piece ", printable(piece.tensor, 256), " of it has no elements"));
    if (more > total - covered)
      return badData("its pieces overlap");
    covered += more;
    pieces.add(piece.start, piece.size);
  }
  if (covered < total)
    return badData(str("its pieces have ", covered, " of ", total, " elements"));
  return total == 0 || pieces == whole ? absl::OkStatus() : badData("its pieces overlap, and leave gaps");
}

static absl::Status checkVariable(const Manifest &manifest, const Manifest::Variable &variable) {
  if (!byteSize(variable.dtype, variable.globalShape))
    return badData("it is too large, or has a negative extent");
  for (const Manifest::Piece &piece : variable.pieces) {
    if (piece.file >= manifest.files.size())
      return badData(str("a piece of it is in file ", piece.file, " of ", manifest.files.size()));
    if (!isBlockInside(variable.globalShape, piece.start, piece.size))
      return badData(str("the piece ", printable(piece.tensor, 256), " is not inside of ",
                         describe(variable.dtype, variable.globalShape)));
  }
  return checkCover(variable);
}

static absl::Status checkFiles(const Manifest &manifest) {
  std::set<std::string_view> names;
  for (const Manifest::File &file : manifest.files) {
    if (!isPlainName(file.name))
      return badData(str("'", printable(file.name, 256), "' is not the name of a file in its folder"));
    if (!names.insert(file.name).second)
      return badData(str("it has the file ", printable(file.name), " twice"));
    if (file.digest.size() != 64 || file.digest.find_first_not_of("0123456789abcdef") != std::string::npos)
      return badData(str("the ", digestKey, " of ", printable(file.name), " is not 64 digits of 0-9 and a-f"));
  }
  return absl::OkStatus();
}

absl::Status dgc::rt::checkManifest(const Manifest &manifest) {
  DGC_RETURN_IF_ERROR(checkFiles(manifest));
  std::set<std::pair<uint64_t, std::string_view>> tensors;
  for (const auto &[name, variable] : manifest.variables) {
    const std::string context = str("variable '", printable(name, 256), "'");
    DGC_RETURN_IF_ERROR(annotate(checkVariable(manifest, variable), context));
    for (const Manifest::Piece &piece : variable.pieces)
      if (!tensors.emplace(piece.file, piece.tensor).second)
        return badData(str(context, ": two pieces are the tensor ", printable(piece.tensor, 256), " of ",
                           printable(manifest.files[piece.file].name)));
  }
  return absl::OkStatus();
}
