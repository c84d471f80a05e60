#include "runtime/base/Printable.h"

#include <cstdint>
#include <cstdio>

namespace dgc::rt {
namespace {

/// A character of UTF-8 at the beginning of a text.
struct Decoded {
  uint32_t character = 0;
  size_t bytes = 0; ///< 0: no UTF-8
};

Decoded decode(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t bytes = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (bytes == 0 || bytes > text.size())
    return {};
  uint32_t character = bytes == 1 ? first : first & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if (next >> 6 != 2)
      return {};
    character = character << 6 | (next & 0x3f);
  }
  constexpr uint32_t kLeast[5] = {0, 0, 0x80, 0x800, 0x10000}; // what fewer bytes hold is not written with more
  if (character < kLeast[bytes] || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
    return {};
  return {character, bytes};
}

bool isHarmful(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

} // namespace

std::string printable(std::string_view text, size_t longest) {
  std::string out;
  char escape[16];
  for (size_t at = 0; at < text.size();) {
    if (at >= longest)
      return out + "...";
    const Decoded d = decode(text.substr(at));
    if (d.bytes && !isHarmful(d.character)) {
      out.append(text.substr(at, d.bytes));
    } else if (text[at] == '\n') {
      out.append("\\n");
    } else if (text[at] == '\t') {
      out.append("\\t");
    } else {
      const bool isWide = d.bytes > 1;
      std::snprintf(escape, sizeof(escape), isWide ? "\\u%04x" : "\\x%02x",
                    isWide ? d.character : static_cast<unsigned char>(text[at]));
      out.append(escape);
    }
    at += d.bytes ? d.bytes : 1;
  }
  return out;
}

} // namespace dgc::rt
