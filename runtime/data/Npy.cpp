// Reads and writes .npy.
#include "runtime/data/Npy.h"

#include "absl/strings/numbers.h"

#include <cstring>
#include <utility>

using namespace dgc::rt;

static constexpr std::string_view magic = "\x93NUMPY";

/// The descr strings and their element types; '=' and '<' mean the same here.
static constexpr std::pair<std::string_view, DType> descriptors[] = {
    {"|b1", DType::I1},  {"|i1", DType::I8},  {"|u1", DType::U8},  {"<i2", DType::I16},
    {"<u2", DType::U16}, {"<f2", DType::F16}, {"<i4", DType::I32}, {"<u4", DType::U32},
    {"<f4", DType::F32}, {"<i8", DType::I64}, {"<u8", DType::U64}, {"<f8", DType::F64}};

namespace {
/// What the header says.
struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// The subset of Python literals that NumPy writes: one dict of the three known
/// keys, with a string, a bool and a tuple of integers.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  /// Nothing where the text is anything else.
  std::optional<Header> parse() {
    Header header;
    unsigned seen = 0;
    if (!eat('{'))
      return std::nullopt;
    while (!eat('}')) {
      std::optional<std::string> key = string();
      if (!key || !eat(':') || !value(*key, header, seen))
        return std::nullopt;
      if (!eat(',') && peek() != '}')
        return std::nullopt;
    }
    peek();
    if (at != text.size() || seen != 7)
      return std::nullopt;
    return header;
  }

private:
  /// Reads the value of `key`; `seen` gathers the keys, each once.
  bool value(std::string_view key, Header &header, unsigned &seen) {
    unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
    if (!bit || (seen & bit))
      return false;
    seen |= bit;
    if (bit == 4)
      return tuple(header.shape);
    if (bit == 2) {
      header.fortran = word("True");
      return header.fortran || word("False");
    }
    std::optional<std::string> descr = string();
    if (descr)
      header.descr = *descr;
    return descr.has_value();
  }

  bool tuple(std::vector<int64_t> &shape) {
    if (!eat('('))
      return false;
    while (!eat(')')) {
      size_t begin = (peek(), at);
      while (at < text.size() && text[at] >= '0' && text[at] <= '9')
        ++at;
      int64_t dim;
      if (at == begin || shape.size() == 64 ||
          !absl::SimpleAtoi(absl::string_view(text.data() + begin, at - begin), &dim))
        return false;
      shape.push_back(dim);
      bool comma = eat(',');
      if (!comma && (peek() != ')' || shape.size() == 1)) // (3) is no tuple
        return false;
    }
    return true;
  }

  std::optional<std::string> string() {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return std::nullopt;
    size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string result(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return result;
  }

  bool word(std::string_view expected) {
    peek();
    if (!text.substr(at).starts_with(expected))
      return false;
    at += expected.size();
    return true;
  }

  bool eat(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }

  /// The next character that is no blank; 0 at the end.
  char peek() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }

  std::string_view text;
  size_t at = 0;
};
} // namespace

/// The element type of a descr, or the error that says what to do.
static absl::StatusOr<DType> elementType(std::string descr, const std::string &file) {
  if (descr.starts_with('='))
    descr[0] = '<';
  for (auto [name, dtype] : descriptors)
    if (descr == name || (descr.size() == name.size() && sizeOf(dtype) == 1 && descr.substr(1) == name.substr(1)))
      return dtype;
  if (descr == "<V2" || descr == "|V2")
    return DType::BF16;
  if (descr.starts_with('>'))
    return badData(str(file, ": big-endian elements ('", descr, "'); save it with a.astype('<", descr.substr(1), "')"));
  if (descr == "<c8" || descr == "<c16")
    return badData(str(file, ": complex numbers ('", descr,
                       "'); save their real and imaginary parts as one more dimension: a.view('",
                       descr == "<c8" ? "float32" : "float64", "').reshape(*a.shape, 2)"));
  return badData(str(file, ": elements of type '", descr,
                     "'; bool, integers of 8 to 64 bits and floats of 16 to 64 "
                     "bits are accepted"));
}

static absl::StatusOr<ArrayHeader> parseNpyHeader(std::span<const std::byte> bytes, const std::string &file) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!text.starts_with(magic) || text.size() < 10)
    return badData(str(file, ": not a .npy file (", text.size(), " bytes; one begins with \\x93NUMPY)"));
  auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  int version = at(6);
  if (version < 1 || version > 3 || at(7) != 0)
    return badData(str(file, ": version ", version, ".", at(7), " of .npy; 1.0, 2.0 and 3.0 are accepted"));
  size_t sizeBytes = version == 1 ? 2 : 4, begin = 8 + sizeBytes;
  uint64_t length = 0;
  for (size_t i = sizeBytes; i-- > 0 && text.size() >= begin;)
    length = length << 8 | at(8 + i);
  if (text.size() >= longestHeader && length > longestHeader - begin)
    return badData(
        str(file, ": a .npy header of ", length, " bytes; at most ", longestHeader - begin, " are accepted"));
  if (text.size() < begin || length > text.size() - begin)
    return badData(str(file, ": truncated: the .npy header has ", length, " bytes, the file ", text.size()));
  std::optional<Header> header = HeaderParser(text.substr(begin, length)).parse();
  if (!header)
    return badData(str(file, ": the .npy header is not a dict of descr, fortran_order and shape as NumPy writes it"));
  DGC_ASSIGN_OR_RETURN(DType dtype, elementType(header->descr, file));
  if (header->fortran && header->shape.size() > 1)
    return badData(str(file, ": Fortran order; save it with numpy.ascontiguousarray(a)"));
  return ArrayHeader{file, dtype, std::move(header->shape), begin + static_cast<size_t>(length)};
}

static absl::Status checkBools(Array &array) {
  if (array.dtype == DType::I1)
    for (std::byte b : std::as_const(array).bytes())
      if (b > std::byte{1})
        return badData(str(array.file, ": a bool that is neither 0 nor 1"));
  return absl::OkStatus();
}

const ArrayFormat dgc::rt::npyFormat = {".npy", parseNpyHeader, checkBools};

absl::StatusOr<std::string> dgc::rt::npyHeader(DType dtype, std::span<const int64_t> shape) {
  std::string_view descr;
  for (auto [name, type] : descriptors)
    if (type == dtype)
      descr = name;
  if (descr.empty())
    return absl::InvalidArgumentError(
        str(".npy has no element type for ", nameOf(dtype), "; convert it, or write safetensors"));
  std::string dict = str("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < shape.size(); ++i)
    dict += str(shape[i], i + 1 < shape.size() ? ", " : shape.size() == 1 ? "," : "");
  dict += "), }";
  size_t total = (10 + dict.size() + 1 + 63) / 64 * 64;
  if (total - 10 > 0xffff)
    return absl::InvalidArgumentError("a shape too long for .npy version 1");
  dict.resize(total - 11, ' ');
  dict += '\n';
  std::string header(magic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

DType dgc::rt::npyType(DType dtype) { return dtype == DType::BF16 ? DType::F32 : dtype; }

std::vector<std::byte> dgc::rt::toNpyType(DType dtype, std::vector<std::byte> bytes) {
  if (dtype != DType::BF16)
    return bytes;
  std::vector<std::byte> wide(bytes.size() * 2);
  for (size_t i = 0; i < bytes.size() / 2; ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    uint32_t f32 = uint32_t{bits} << 16;
    std::memcpy(wide.data() + 4 * i, &f32, 4);
  }
  return wide;
}

absl::Status dgc::rt::writeNpy(OutputFile &file, DType dtype, std::span<const int64_t> shape,
                               std::span<const std::byte> data) {
  std::optional<uint64_t> expected = byteSize(dtype, shape);
  if (!expected || *expected != data.size())
    return absl::InvalidArgumentError(str(file.path(), ": ", data.size(), " bytes given for ", describe(dtype, shape)));
  auto header = npyHeader(dtype, shape);
  if (!header.ok())
    return annotate(header.status(), file.path());
  return file.replace([&](WritableFile &out) {
    DGC_RETURN_IF_ERROR(out.write(*header));
    return out.write(data);
  });
}

absl::Status dgc::rt::writeNpy(Disk &disk, const std::string &path, DType dtype, std::span<const int64_t> shape,
                               std::span<const std::byte> data) {
  DGC_ASSIGN_OR_RETURN(OutputFile file, OutputFile::reserve(disk, path));
  return writeNpy(file, dtype, shape, data);
}
