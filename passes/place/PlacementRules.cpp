#include "passes/place/PlacementRules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"

using namespace llvm;

namespace dgc {

/// What is wrong with a pattern; empty when nothing is.
static std::string checkPattern(StringRef pattern) {
  if (pattern.find_first_of(",={}'\"") != StringRef::npos)
    return "'" + pattern.str() + "': a pattern has none of , = { } and no quotes; ? is any character";
  Expected<GlobPattern> glob = GlobPattern::create(pattern);
  return glob ? "" : "'" + pattern.str() + "' is no pattern: " + toString(glob.takeError());
}

std::string PlacementRules::locationOf(const Rule &rule) const {
  return file.empty() ? "placement '" + rule.pattern + "=" + rule.device + "'" : file + ":" + std::to_string(rule.line);
}

std::optional<PlacementRules> PlacementRules::parse(StringRef text, std::string &error) {
  PlacementRules result;
  if (text.empty())
    return result;
  for (StringRef item : split(text, ',')) {
    auto [pattern, device] = item.split('=');
    if (pattern.empty() || device.empty() || device.contains('=')) {
      error = "'" + item.str() + "': expected PATTERN=DEVICE, as in w1*=/job:worker/task:1";
      return std::nullopt;
    }
    if (std::string wrong = checkPattern(pattern); !wrong.empty()) {
      error = wrong;
      return std::nullopt;
    }
    result.rules.push_back({pattern.str(), device.str()});
  }
  return result;
}

std::optional<PlacementRules> PlacementRules::parseFile(StringRef file, StringRef content, std::string &error) {
  PlacementRules result{file.str(), {}};
  int64_t number = 0;
  for (StringRef line : split(content, '\n')) {
    ++number;
    SmallVector<StringRef> words;
    SplitString(line.split('#').first, words); // at blanks of any kind
    if (words.empty())
      continue;
    std::string wrong = words.size() == 2 ? checkPattern(words[0])
                                          : "expected a pattern for names of variables or ops and a device, as in "
                                            "w1* /job:worker/task:1";
    if (!wrong.empty()) {
      error = (file + ":" + Twine(number) + ": " + wrong).str();
      return std::nullopt;
    }
    result.rules.push_back({words[0].str(), words[1].str(), number});
  }
  return result;
}

std::string PlacementRules::text() const {
  return join(map_range(rules, [](const Rule &rule) { return rule.pattern + "=" + rule.device; }), ",");
}

} // namespace dgc
