#include "test/unit/fuzz/Mutant.h"

#include <algorithm>
#include <cctype>
#include <vector>

using namespace dgc::testing;

namespace {

/// Part of a text: a word, a number, or a single other character.
struct Token {
  size_t begin, size;
};

class Mutator {
public:
  Mutator(std::string bytes, std::mt19937 &random) : bytes(std::move(bytes)), random(random) {}

  void changeByte() {
    static constexpr unsigned char values[] = {0, 1, 2, 3, 7, 8, 0x0f, 0x7f, 0x80, 0x81, 0xe0, 0xfe, 0xff};
    char &byte = bytes[below(bytes.size())];
    switch (below(3)) {
    case 0:
      byte = static_cast<char>(byte ^ (1 << below(8)));
      break;
    case 1:
      byte = static_cast<char>(values[below(std::size(values))]);
      break;
    default:
      byte = static_cast<char>(below(256));
    }
  }

  void erase(size_t begin, size_t size) { bytes.erase(begin, size); }
  void repeat(size_t begin, size_t size) { bytes.insert(begin, bytes.substr(begin, size)); }
  void move(size_t begin, size_t size, size_t to) {
    const std::string part = bytes.substr(begin, size);
    bytes.erase(begin, size);
    bytes.insert(std::min(to, bytes.size()), part);
  }
  void cut() { bytes.resize(1 + below(bytes.size())); }

  /// Changes a few bytes, or moves some, or loses them.
  void changeBytes() {
    const size_t begin = below(bytes.size()), size = 1 + below(16);
    switch (below(8)) {
    case 0:
      return erase(begin, size);
    case 1:
      return repeat(begin, size);
    case 2:
      return move(begin, size, below(bytes.size()));
    case 3:
      return cut();
    default:
      return changeByte();
    }
  }

  /// Replaces a word by another of the text, a number by one that is often wrong, or changes the order.
  void changeWords() {
    const std::vector<Token> all = tokens();
    if (all.empty())
      return changeBytes();
    const Token token = all[below(all.size())], other = all[below(all.size())];
    switch (below(10)) {
    case 0:
      return erase(token.begin, token.size);
    case 1:
      return repeat(token.begin, token.size);
    case 2:
      return move(token.begin, token.size, other.begin);
    case 3:
      return changeBytes();
    case 4:
    case 5:
    case 6:
      return changeNumber(all, token);
    default:
      bytes.replace(token.begin, token.size, bytes.substr(other.begin, other.size));
    }
  }

  size_t below(size_t limit) { return limit == 0 ? 0 : random() % limit; }
  std::string bytes;

private:
  /// The first number from `from` on.
  void changeNumber(const std::vector<Token> &all, Token from) {
    static constexpr const char *numbers[] = {"0",
                                              "1",
                                              "2",
                                              "3",
                                              "-1",
                                              "7",
                                              "64",
                                              "65536",
                                              "4294967296",
                                              "9223372036854775807",
                                              "-9223372036854775808",
                                              "99999999999999999999",
                                              "0.5",
                                              "1e400"};
    for (const Token &token : all)
      if (token.begin >= from.begin && std::isdigit(static_cast<unsigned char>(bytes[token.begin]))) {
        bytes.replace(token.begin, token.size, numbers[below(std::size(numbers))]);
        return;
      }
  }

  std::vector<Token> tokens() const {
    std::vector<Token> all;
    auto isWord = [&](size_t i) {
      return i < bytes.size() &&
             (std::isalpha(static_cast<unsigned char>(bytes[i])) || bytes[i] == '_' || bytes[i] == '.');
    };
    auto isDigit = [&](size_t i) { return i < bytes.size() && std::isdigit(static_cast<unsigned char>(bytes[i])); };
    for (size_t i = 0; i < bytes.size();) {
      size_t end = i + 1;
      if (isDigit(i))
        while (isDigit(end))
          ++end;
      else if (isWord(i))
        while (isWord(end))
          ++end;
      if (!std::isspace(static_cast<unsigned char>(bytes[i])))
        all.push_back({i, end - i});
      i = end;
    }
    return all;
  }

  std::mt19937 &random;
};

} // namespace

std::string dgc::testing::mutantOf(std::string bytes, bool isText, std::mt19937 &random) {
  Mutator mutator(std::move(bytes), random);
  const size_t changes = 1 + mutator.below(4);
  for (size_t i = 0; i < changes && !mutator.bytes.empty(); ++i)
    isText ? mutator.changeWords() : mutator.changeBytes();
  return std::move(mutator.bytes);
}
