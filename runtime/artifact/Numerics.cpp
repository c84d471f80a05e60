#include "runtime/artifact/Numerics.h"

#include <charconv>

namespace dgc::rt {

static std::string joined(std::span<const int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(number);
  return text;
}

std::string describeChecks(std::span<const CheckedValue> values) {
  std::string text;
  for (const CheckedValue &value : values)
    text += std::string(value.isLeast ? "least" : "all") + "\t" + std::to_string(value.order) + "\t" +
            std::to_string(value.scope) + "\t" + value.dtype + "\t" + joined(value.shape) + "\t" + joined(value.loops) +
            "\t" + value.name + "\t" + value.what + "\n";
  return text;
}

/// Takes what is in front of `end` off the text; nothing where that is not there.
static std::optional<std::string_view> take(std::string_view &text, char end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos)
    return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return taken;
}

static bool readNumber(std::string_view text, int64_t &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

static bool readNumbers(std::string_view text, std::vector<int64_t> &numbers) {
  std::string rest(text);
  rest += text.empty() ? "" : "x";
  for (std::string_view left = rest; !left.empty();)
    if (!readNumber(*take(left, 'x'), numbers.emplace_back()))
      return false;
  return true;
}

std::optional<std::vector<CheckedValue>> readChecks(std::string_view text) {
  std::vector<CheckedValue> values;
  while (!text.empty()) {
    std::optional<std::string_view> line = take(text, '\n');
    if (!line)
      return std::nullopt;
    std::string_view fields[7];
    for (std::string_view &field : fields) {
      std::optional<std::string_view> taken = take(*line, '\t');
      if (!taken)
        return std::nullopt;
      field = *taken;
    }
    CheckedValue &value = values.emplace_back();
    value.isLeast = fields[0] == "least";
    value.dtype = fields[3];
    value.name = fields[6];
    value.what = *line;
    if ((!value.isLeast && fields[0] != "all") || !readNumber(fields[1], value.order) ||
        !readNumber(fields[2], value.scope) || !readNumbers(fields[4], value.shape) ||
        !readNumbers(fields[5], value.loops))
      return std::nullopt;
  }
  return values;
}

} // namespace dgc::rt
