// How the elements of a tensor are spread: counts in buckets that are the same for all, so that workers count their parts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dgc::rt {

/// The buckets are those of TensorFlow: limits grow by a tenth from 1e-12 on, on both sides of zero.
class ValueHistogram {
public:
  /// What is no number or infinite is counted apart.
  void add(double value);
  void merge(const ValueHistogram &other);

  /// All of it as text, bit by bit, and back. False where the text is none.
  std::string text() const;
  bool restore(std::string_view text);

  /// The largest value of a bucket. Bucket 0 is around zero, those of negative values have negative numbers.
  static double limit(int bucket);

  double least = 0, most = 0, sum = 0, squares = 0; // of what is counted
  uint64_t count = 0, notFinite = 0;
  std::map<int, uint64_t> buckets; // that are not empty
};

} // namespace dgc::rt
