// Characters to numbers, and windows.
#include "runtime/data/Tokens.h"

#include "runtime/base/Philox.h"
#include "runtime/data/Order.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

using namespace dgc::rt;

/// The code point at the front of `text`, which is shortened by it; nothing where the bytes are no UTF-8.
static std::optional<char32_t> takeCodePoint(std::string_view &text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  char32_t point = byte(0);
  size_t length = 1;
  if (point >= 0x80) {
    length = point >= 0xF0 ? 4 : point >= 0xE0 ? 3 : 2;
    if (point < 0xC2 || point > 0xF4 || text.size() < length)
      return std::nullopt;
    point &= 0x7Fu >> length;
    for (size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xC0) != 0x80)
        return std::nullopt;
      point = point << 6 | (byte(i) & 0x3F);
    }
    constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
      return std::nullopt;
  }
  text.remove_prefix(length);
  return point;
}

static std::string toUtf8(char32_t point) {
  auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80)
    return {static_cast<char>(point)};
  if (point < 0x800)
    return {static_cast<char>(0xC0 | point >> 6), tail(0)};
  if (point < 0x10000)
    return {static_cast<char>(0xE0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | point >> 18), tail(12), tail(6), tail(0)};
}

constexpr std::pair<char32_t, char> escapes[] = {{'\n', 'n'}, {'\t', 't'}, {'\r', 'r'}, {'\\', '\\'}};

/// A symbol as a line of a vocabulary has it.
static std::string escaped(char32_t point) {
  for (auto [symbol, letter] : escapes)
    if (point == symbol)
      return {'\\', letter};
  return toUtf8(point);
}

/// Calls `use` for every code point of a text.
template <typename Use> static absl::Status forEachCodePoint(std::string_view text, const std::string &file, Use use) {
  std::string_view rest = text;
  while (!rest.empty()) {
    size_t at = text.size() - rest.size();
    std::optional<char32_t> point = takeCodePoint(rest);
    if (!point)
      return badData(str(file, ": the byte at ", at,
                         " is no UTF-8; text is read as UTF-8, and numbers of tokens "
                         "from files called .u16 or .i32"));
    DGC_RETURN_IF_ERROR(use(*point, at));
  }
  return absl::OkStatus();
}

absl::StatusOr<Vocabulary> dgc::rt::vocabularyOf(std::string_view text, const std::string &file) {
  std::vector<bool> seen(0x110000);
  char32_t last = 0;
  DGC_RETURN_IF_ERROR(forEachCodePoint(text, file, [&](char32_t point, size_t) {
    seen[point] = true;
    last = std::max(last, point);
    return absl::OkStatus();
  }));
  Vocabulary vocabulary;
  for (char32_t point = 0; point <= last; ++point)
    if (seen[point])
      vocabulary.push_back(point);
  return vocabulary;
}

std::string dgc::rt::formatVocabulary(const Vocabulary &vocabulary) {
  std::string text;
  for (char32_t point : vocabulary)
    text += escaped(point) + "\n";
  return text;
}

absl::StatusOr<Vocabulary> dgc::rt::parseVocabulary(std::string_view text, const std::string &file) {
  Vocabulary vocabulary;
  std::unordered_set<char32_t> symbols;
  for (int line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view symbol = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::optional<char32_t> point;
    if (symbol.size() == 2 && symbol[0] == '\\') {
      for (auto [meant, letter] : escapes)
        if (symbol[1] == letter)
          point = meant;
      symbol = {};
    } else if (!symbol.empty()) {
      point = takeCodePoint(symbol);
    }
    if (!point || !symbol.empty())
      return badData(str(file, ": line ", line, R"( is not one symbol: a character in UTF-8, or \n, \t, \r or \\)"));
    if (!symbols.insert(*point).second)
      return badData(str(file, ": line ", line, " has the symbol '", escaped(*point), "' a second time"));
    vocabulary.push_back(*point);
  }
  return vocabulary;
}

absl::StatusOr<Tokens> dgc::rt::tokensOfText(std::string_view text, Vocabulary vocabulary, std::string file) {
  std::unordered_map<char32_t, int32_t> numberOf;
  for (char32_t point : vocabulary)
    numberOf.emplace(point, static_cast<int32_t>(numberOf.size()));
  std::vector<int32_t> numbers;
  numbers.reserve(text.size());
  DGC_RETURN_IF_ERROR(forEachCodePoint(text, file, [&](char32_t point, size_t at) {
    auto number = numberOf.find(point);
    if (number == numberOf.end())
      return badData(str(file, ": the character '", escaped(point), "' at byte ", at,
                         " is not in the vocabulary: add it there, or remove vocabulary.txt to number the characters "
                         "of the text itself"));
    numbers.push_back(number->second);
    return absl::OkStatus();
  }));
  Tokens tokens;
  tokens.array.file = std::move(file);
  tokens.array.dtype = DType::I32;
  tokens.array.shape = {static_cast<int64_t>(numbers.size())};
  tokens.array.storage = Bytes(numbers.size() * sizeof(int32_t));
  if (!numbers.empty()) // there is no address of none
    std::memcpy(tokens.array.storage.data(), numbers.data(), tokens.array.storage.size());
  tokens.vocabulary = std::move(vocabulary);
  return tokens;
}

absl::StatusOr<Tokens> dgc::rt::tokensOfNumbers(Bytes bytes, DType dtype, std::string file) {
  size_t width = sizeOf(dtype), size = bytes.size();
  if (size % width != 0)
    return badData(str(file, " has ", size, " bytes, which is not a whole number of ", nameOf(dtype), " tokens"));
  if (dtype == DType::I32)
    for (size_t i = 0; i < size / width; ++i) {
      int32_t number;
      std::memcpy(&number, bytes.data() + i * width, width);
      if (number < 0)
        return badData(str(file, ": token ", i, " is ", number, "; the numbers of tokens are 0 and above"));
    }
  Tokens tokens;
  tokens.array.file = std::move(file);
  tokens.array.dtype = dtype;
  tokens.array.shape = {static_cast<int64_t>(size / width)};
  tokens.array.storage = std::move(bytes);
  return tokens;
}

TokenRange dgc::rt::splitOf(int64_t size, std::string_view split) {
  int64_t border = size - size / 10;
  return split == "test" ? TokenRange{border, size} : TokenRange{0, border};
}

int64_t dgc::rt::drawWindow(int64_t places, uint64_t seed, uint64_t epoch, uint64_t example) {
  uint64_t word = Philox(seed, kWindowStream + epoch).bits64(example);
  return static_cast<int64_t>(static_cast<unsigned __int128>(word) * static_cast<uint64_t>(places) >> 64);
}
