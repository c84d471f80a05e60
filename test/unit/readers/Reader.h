// What reads the files, messages and texts of others, each as a function of bytes. A fuzzer (preset fuzz) runs one of them on
// what libFuzzer makes; corpus_test and feed_corpus_test run them on the files of corpus/NAME, in every build.
//
// A reader takes any bytes: it returns when they are read or refused. Where bytes have a digest the function makes that right
// first, so that a change of them is not refused for the digest alone.
#pragma once

#include "runtime/base/Disk.h"
#include "test/unit/support/FakeDisk.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dgc::rt::test {

struct Reader {
  std::string_view name;                        // of its corpus
  bool (*read)(std::span<const uint8_t> bytes); // false: they are refused
};

/// The readers of this program.
inline std::vector<Reader> &readers() {
  static std::vector<Reader> all;
  return all;
}

/// A static object of each reader's file.
struct RegisteredReader {
  RegisteredReader(std::string_view name, bool (*read)(std::span<const uint8_t>)) { readers().push_back({name, read}); }
};

/// What holds whatever the bytes are; a fuzzer and a test end where it does not.
inline void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline std::string_view textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Takes numbers and strings from the front of the bytes; zeros and what is left where they end.
class Input {
public:
  explicit Input(std::span<const uint8_t> bytes) : rest(bytes) {}

  bool isAtEnd() const { return rest.empty(); }
  uint8_t byte() {
    if (rest.empty())
      return 0;
    const uint8_t first = rest.front();
    rest = rest.subspan(1);
    return first;
  }
  /// Below `n`.
  uint32_t below(uint32_t n) { return byte() % n; }
  /// Behind their number, of two bytes.
  std::string_view string() {
    const size_t low = byte(), size = std::min(low | static_cast<size_t>(byte()) << 8, rest.size());
    const std::span<const uint8_t> taken = rest.first(size);
    rest = rest.subspan(size);
    return textOf(taken);
  }

private:
  std::span<const uint8_t> rest;
};

/// A folder as a text: a line `=== NAME` and then what is in the file of this name, up to the line feed ahead of the next
/// such line.
inline std::vector<std::pair<std::string, std::string>> filesOf(std::string_view text) {
  constexpr std::string_view mark = "=== ";
  std::vector<std::pair<std::string, std::string>> files;
  while (text.starts_with(mark)) {
    const size_t line = std::min(text.find('\n'), text.size());
    const size_t begin = std::min(line + 1, text.size()), end = std::min(text.find("\n=== ", begin), text.size());
    files.emplace_back(text.substr(mark.size(), line - mark.size()), text.substr(begin, end - begin));
    text = text.substr(std::min(end + 1, text.size()));
  }
  return files;
}

} // namespace dgc::rt::test
