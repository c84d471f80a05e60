// The order in which reductions over ranks combine their operands, for kernels of CPUs and of GPUs, which give the same
// bits. Included by sources that are compiled for several instruction sets: it has no headers but those of the
// compiler, and all of it has internal linkage, so that the linker chooses no function of another instruction set.
#pragma once

#include <stdint.h>

#ifdef __NVPTX__
#define DGC_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define DGC_ROLLED
#endif

namespace {

struct Sum {
  template <class V> static V apply(V a, V b) { return a + b; }
};
struct Product {
  template <class V> static V apply(V a, V b) { return a * b; }
};
// `a != a` holds for NaN alone; on integers it folds away.
struct Maximum {
  template <class V> static V apply(V a, V b) { return ((a > b) | (a != a)) ? a : b; }
};
struct Minimum {
  template <class V> static V apply(V a, V b) { return ((a < b) | (a != a)) ? a : b; }
};

/// Operands that are combined one after the other, and the pairs of such blocks that 2^32 operands give.
constexpr uint64_t blockOperands = 8;
constexpr int maxPartials = 32;

/// Combines `count` operands, at least one: load(k, to) writes the values of operand k to to[i], i < n. Eight at a time
/// are combined in their order, and what that gives in pairs.
template <class Op, int n, class Value, class Load>
inline __attribute__((always_inline)) void combine(uint64_t count, Value (&values)[n], Load load) {
  Value partial[maxPartials][n], operand[n];
  int depth = 0;
  auto merge = [&]() __attribute__((always_inline)) {
    --depth;
    for (int i = 0; i < n; ++i)
      values[i] = Op::apply(partial[depth][i], values[i]);
  };
  DGC_ROLLED
  for (uint64_t first = 0; first < count; first += blockOperands) {
    const uint64_t last = first + blockOperands < count ? first + blockOperands : count;
    load(first, values);
    DGC_ROLLED
    for (uint64_t k = first + 1; k < last; ++k) {
      load(k, operand);
      for (int i = 0; i < n; ++i)
        values[i] = Op::apply(values[i], operand[i]);
    }
    if (last == count)
      break;
    DGC_ROLLED
    for (uint64_t block = first / blockOperands; block & 1; block >>= 1)
      merge();
    for (int i = 0; i < n; ++i)
      partial[depth][i] = values[i];
    ++depth;
  }
  DGC_ROLLED
  while (depth > 0) // NOLINT(bugprone-infinite-loop): merge() makes it smaller
    merge();
}

} // namespace
