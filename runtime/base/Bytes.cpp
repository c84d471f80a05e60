// Numbers of bytes as people write them.

#include "runtime/base/Bytes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

namespace dgc::rt {

/// How many bytes a unit has; 0 for what is none.
static int64_t bytesOf(std::string_view unit) {
  std::string lower(unit);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower.empty() || lower == "b")
    return 1;
  const size_t power = std::string_view("kmgt").find(lower[0]) + 1; // 0 when there is none
  const bool isBinary = lower.substr(1) == "ib";
  if (power == 0 || (!isBinary && lower.substr(1) != "b"))
    return 0;
  int64_t bytes = 1;
  for (size_t i = 0; i < power; ++i)
    bytes *= isBinary ? 1024 : 1000;
  return bytes;
}

std::optional<int64_t> parseBytes(std::string_view text) {
  const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  const auto whole = std::find_if_not(text.begin(), text.end(), isDigit);
  int64_t number = 0;
  if (std::from_chars(text.begin(), whole, number).ec != std::errc())
    return std::nullopt;
  std::string_view rest(whole, text.end());
  double fraction = 0, place = 0.1;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    if (rest.empty() || !isDigit(rest.front()))
      return std::nullopt;
    for (; !rest.empty() && isDigit(rest.front()); rest.remove_prefix(1), place /= 10)
      fraction += place * (rest.front() - '0');
  }
  while (rest.starts_with(' '))
    rest.remove_prefix(1);
  const int64_t unit = bytesOf(rest);
  if (unit == 0 || number > (INT64_MAX - unit) / unit)
    return std::nullopt;
  return number * unit + static_cast<int64_t>(fraction * static_cast<double>(unit));
}

} // namespace dgc::rt
