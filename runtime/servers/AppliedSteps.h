// Which steps a server has applied: all up to some number, and some behind it.
#pragma once

#include <cstdint>
#include <set>

namespace dgc::rt {

class AppliedSteps {
public:
  /// All steps before `first` are.
  explicit AppliedSteps(int64_t first = 0) : first(first) {}

  bool has(int64_t step) const { return step < first || behind.contains(step); }
  /// False: it was there.
  bool add(int64_t step) {
    if (has(step))
      return false;
    behind.insert(step);
    while (!behind.empty() && *behind.begin() == first) {
      behind.erase(behind.begin());
      ++first;
    }
    return true;
  }
  /// The first one that is not applied.
  int64_t missing() const { return first; }
  int64_t count() const { return first + static_cast<int64_t>(behind.size()); }

private:
  int64_t first;
  std::set<int64_t> behind; // above `first`
};

} // namespace dgc::rt
