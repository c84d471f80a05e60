// The text forms of what options say.

#include "passes/analysis/OptionTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"

using namespace llvm;

namespace dgc {

/// What is wrong with a pattern of names; empty when nothing is.
static std::string checkPattern(StringRef pattern) {
  Expected<GlobPattern> glob = GlobPattern::create(pattern);
  return glob ? "" : toString(glob.takeError());
}

bool MeshShape::has(StringRef name) const {
  return any_of(axes, [&](const Axis &each) { return each.name == name; });
}

int64_t MeshShape::sizeOf(StringRef name) const {
  auto axis = find_if(axes, [&](const Axis &each) { return each.name == name; });
  return axis == axes.end() ? 0 : axis->size;
}

std::optional<MeshShape> MeshShape::parse(StringRef text, std::string &error) {
  MeshShape shape;
  if (text.empty())
    return shape;
  for (StringRef part : split(text, ',')) {
    auto [name, number] = part.split('=');
    int64_t size;
    if (name.trim().empty() || number.trim().getAsInteger(10, size)) {
      error = "mesh '" + text.str() + "': expected NAME=NUMBER for each axis, as in data=4,model=2";
      return std::nullopt;
    }
    shape.axes.push_back({name.trim().str(), size});
  }
  return shape;
}

std::string MeshShape::text() const {
  return join(map_range(axes, [](const Axis &axis) { return axis.name + "=" + std::to_string(axis.size); }), ",");
}

std::optional<NamePatterns> NamePatterns::parse(StringRef text, std::string &error) {
  NamePatterns result;
  if (text.empty())
    return result;
  for (StringRef pattern : split(text, '+')) {
    if (std::string wrong = checkPattern(pattern); !wrong.empty()) {
      error = "'" + pattern.str() + "': " + wrong;
      return std::nullopt;
    }
    result.patterns.push_back(pattern.str());
  }
  return result;
}

std::string NamePatterns::text() const { return join(patterns, "+"); }

std::optional<WeightCuts> WeightCuts::parse(StringRef text, std::string &error) {
  WeightCuts result;
  if (text.empty())
    return result;
  for (StringRef item : split(text, text.contains('+') ? '+' : ',')) {
    Cut cut{item.str(), std::nullopt};
    if (item.contains(':')) {
      auto [pattern, number] = item.rsplit(':');
      int64_t dim;
      if (!checkPattern(pattern).empty() || number.getAsInteger(10, dim)) {
        error = "'" + item.str() +
                "': expected PATTERN:DIM, a pattern of variable names and the number of a "
                "dimension, as in *.w1:1";
        return std::nullopt;
      }
      cut = {pattern.str(), dim};
    }
    if (item.empty()) {
      error = "'" + text.str() + "': an item of the list is empty";
      return std::nullopt;
    }
    result.cuts.push_back(std::move(cut));
  }
  return result;
}

std::string WeightCuts::text() const {
  return join(map_range(cuts, [](const Cut &cut) { return cut.text(); }), "+");
}

} // namespace dgc
