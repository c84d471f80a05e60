// Sums whose rounding error grows with the logarithm of their length: short blocks are added up in order, and the sums
// of blocks in pairs (N. J. Higham, "The accuracy of floating point summation", 1993). The tree depends on the length
// alone.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace dgc::rt {

/// A sum of scalars that arrive one after the other.
template <typename T> class PairwiseSum {
public:
  void add(T value) {
    block += value;
    if (++inBlock < blockTerms)
      return;
    T sum = block;
    for (uint64_t i = blocks++; i & 1; i >>= 1)
      sum = partial[--depth] + sum;
    partial[depth++] = sum;
    block = 0;
    inBlock = 0;
  }
  T total() const {
    T sum = block;
    for (int i = depth; i-- > 0;)
      sum = partial[i] + sum;
    return sum;
  }

private:
  static constexpr int blockTerms = 128;
  T block = 0, partial[64];
  int inBlock = 0, depth = 0;
  uint64_t blocks = 0;
};

/// sum += values.
template <typename T> void addTo(T *sum, const T *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sum[i] += values[i];
}

/// The slots for vectors that arrive one after the other and are added up in pairs: vector i is written to slot(i),
/// then merge(i, ..) is called. When all vectors are merged, slot 0 is their sum.
struct PairwiseSlots {
  static int slot(int64_t i) { return std::popcount(static_cast<uint64_t>(i)); }
  /// Calls add(to, from), with to = from - 1, for the slots that are added up behind vector i of `count`.
  template <typename F> static void merge(int64_t i, int64_t count, F &&add) {
    int last = slot(i);
    for (int merges = i + 1 == count ? last : std::countr_one(static_cast<uint64_t>(i)); merges > 0; --merges, --last)
      add(last - 1, last);
  }
  /// The number of slots for `count` vectors.
  static int slots(int64_t count) {
    int most = 1;
    for (int bits = 0; count > (int64_t{1} << bits); ++bits)
      most = bits + 2; // the slots of 2^bits vectors, and the one after
    return most;
  }
};

/// Calls add(to, from) for vectors that are all there, in pairs; vector 0 is their sum then.
template <typename F> void addUpInPairs(int64_t count, F &&add) {
  for (int64_t step = 1; step < count; step *= 2)
    for (int64_t i = 0; i + step < count; i += 2 * step)
      add(i, i + step);
}

} // namespace dgc::rt
