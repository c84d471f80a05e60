// Where variables and ops are, as `--placement` says it.

#ifndef DGC_PASSES_PLACE_PLACEMENTRULES_H
#define DGC_PASSES_PLACE_PLACEMENTRULES_H

#include "passes/analysis/OptionTypes.h"

namespace dgc {

/// A device for each pattern of names, in the order in which they are applied. The text form is "w1=task:0,w2=task:1";
/// a file has a line `PATTERN DEVICE` for each, and what follows `#` in it is a comment.
struct PlacementRules {
  struct Rule {
    std::string pattern, device;
    int64_t line = 0; // of `file`
    bool operator==(const Rule &other) const { return pattern == other.pattern && device == other.device; }
  };
  std::string file; // which messages name; empty where the rules come from no file
  std::vector<Rule> rules;
  /// The file and its lines do not count.
  bool operator==(const PlacementRules &other) const { return rules == other.rules; }

  /// Where messages say that a rule is: "places.txt:3", or "placement 'w1=task:0'".
  std::string locationOf(const Rule &rule) const;

  static std::optional<PlacementRules> parse(llvm::StringRef text, std::string &error);
  static std::optional<PlacementRules> parseFile(llvm::StringRef file, llvm::StringRef content, std::string &error);
  std::string text() const;
};

} // namespace dgc

#endif // DGC_PASSES_PLACE_PLACEMENTRULES_H
