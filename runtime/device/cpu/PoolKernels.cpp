// The loops of pooling, for the instruction set DGC_ISA.
#include "runtime/device/cpu/PoolKernels.h"

#include <algorithm>
#include <type_traits>

namespace dgc::rt::DGC_ISA {
namespace {

/// How an element is stored, and the type to compute in.
struct F32 {
  using Memory = float;
  using Value = float;
  using Index = int32_t;
  static Value load(Memory m) { return m; }
  static Memory store(Value v) { return v; }
};
struct F64 {
  using Memory = double;
  using Value = double;
  using Index = int64_t;
  static Value load(Memory m) { return m; }
  static Memory store(Value v) { return v; }
};
struct BF16 {
  using Memory = uint16_t;
  using Value = float;
  using Index = int32_t;
  static Value load(Memory m) { return fromBF16(m); }
  static Memory store(Value v) { return toBF16(v); }
};
struct F16 {
  using Memory = uint16_t;
  using Value = float;
  using Index = int32_t;
  static Value load(Memory m) { return fromF16(m); }
  static Memory store(Value v) { return toF16(v); }
};

constexpr int64_t block = 64; // channels at a time

/// The part of a window that lies inside the input, in one dimension.
struct Range {
  int64_t begin, end, start; // window positions [begin, end); input of position 0
};

Range clip(const PoolShape &s, int d, int64_t o) {
  int64_t start = o * s.stride[d] - s.low[d];
  return {std::max<int64_t>(0, -start), std::min(s.window[d], s.in[d] - start), start};
}

/// Calls f(position in the window, input pixel) for each input of the window of
/// output (o0, o1, o2), in row-major order.
template <typename F> inline void forWindow(const PoolShape &s, int64_t o0, int64_t o1, int64_t o2, F f) {
  Range r0 = clip(s, 0, o0), r1 = clip(s, 1, o1), r2 = clip(s, 2, o2);
  for (int64_t i = r0.begin; i < r0.end; ++i)
    for (int64_t j = r1.begin; j < r1.end; ++j)
      for (int64_t k = r2.begin; k < r2.end; ++k)
        f((i * s.window[1] + j) * s.window[2] + k, ((r0.start + i) * s.in[1] + r1.start + j) * s.in[2] + r2.start + k);
}

/// Calls f(o0, o1, o2, output pixel, first channel, channels) for the blocks of
/// one example.
template <typename F> inline void forOutputs(const PoolShape &s, F f) {
  int64_t pixel = 0;
  for (int64_t o0 = 0; o0 < s.out[0]; ++o0)
    for (int64_t o1 = 0; o1 < s.out[1]; ++o1)
      for (int64_t o2 = 0; o2 < s.out[2]; ++o2, ++pixel)
        for (int64_t c = 0; c < s.channels; c += block)
          f(o0, o1, o2, pixel, c, std::min(block, s.channels - c));
}

int64_t inputs(const PoolShape &s) { return s.in[0] * s.in[1] * s.in[2]; }
int64_t outputs(const PoolShape &s) { return s.out[0] * s.out[1] * s.out[2]; }

/// The maximum and the position of its first occurrence, for `n` channels.
template <typename E>
inline void findMaximum(const PoolShape &s, const typename E::Memory *src, int64_t o0, int64_t o1, int64_t o2,
                        int64_t n, typename E::Value *best, typename E::Index *where) {
  bool first = true;
  forWindow(s, o0, o1, o2, [&](int64_t position, int64_t pixel) {
    const typename E::Memory *in = src + pixel * s.channels;
    auto at = static_cast<E::Index>(position);
    if (first) {
      for (int64_t c = 0; c < n; ++c) {
        best[c] = E::load(in[c]);
        where[c] = at;
      }
      first = false;
      return;
    }
    for (int64_t c = 0; c < n; ++c) {
      typename E::Value v = E::load(in[c]);
      bool larger = v > best[c] || (v != v && best[c] == best[c]);
      best[c] = larger ? v : best[c];
      where[c] = larger ? at : where[c];
    }
  });
}

template <typename E> void maxForward(const PoolShape &s, const PoolArgs &args, int64_t begin, int64_t end) {
  using Memory = E::Memory;
  for (int64_t b = begin; b < end; ++b) {
    const Memory *src = static_cast<const Memory *>(args.src) + b * inputs(s) * s.channels;
    Memory *dst = static_cast<Memory *>(args.dst) + b * outputs(s) * s.channels;
    forOutputs(s, [&](int64_t o0, int64_t o1, int64_t o2, int64_t pixel, int64_t c, int64_t n) {
      typename E::Value best[block];
      if (!args.indices) {
        bool first = true;
        forWindow(s, o0, o1, o2, [&](int64_t, int64_t in) {
          const Memory *p = src + in * s.channels + c;
          if (first)
            for (int64_t i = 0; i < n; ++i)
              best[i] = E::load(p[i]);
          else
            for (int64_t i = 0; i < n; ++i) {
              typename E::Value v = E::load(p[i]);
              best[i] = v > best[i] || v != v ? v : best[i];
            }
          first = false;
        });
      } else {
        typename E::Index where[block];
        findMaximum<E>(s, src + c, o0, o1, o2, n, best, where);
        int64_t at = (b * outputs(s) + pixel) * s.channels + c;
        if (args.indexBytes == 1)
          for (int64_t i = 0; i < n; ++i)
            static_cast<uint8_t *>(args.indices)[at + i] = static_cast<uint8_t>(where[i]);
        else
          for (int64_t i = 0; i < n; ++i)
            static_cast<int32_t *>(args.indices)[at + i] = static_cast<int32_t>(where[i]);
      }
      for (int64_t i = 0; i < n; ++i)
        dst[pixel * s.channels + c + i] = E::store(best[i]);
    });
  }
}

/// One over the number of inputs that an average is taken of.
template <typename Value> Value weight(const PoolShape &s, int64_t o0, int64_t o1, int64_t o2) {
  int64_t n = s.window[0] * s.window[1] * s.window[2];
  if (!s.countPad) {
    Range r0 = clip(s, 0, o0), r1 = clip(s, 1, o1), r2 = clip(s, 2, o2);
    n = (r0.end - r0.begin) * (r1.end - r1.begin) * (r2.end - r2.begin);
  }
  return Value(1) / static_cast<Value>(n);
}

/// Sums for `block` channels: blocks of addends are added up in order, and the sums of blocks in pairs, so that the
/// error grows with the logarithm of their number.
template <typename Value> class WindowSum {
public:
  template <typename F> void add(int64_t n, F input) {
    if (inBlock == blockInputs)
      push();
    for (int64_t i = 0; i < n; ++i)
      terms[i] += input(i);
    ++inBlock;
  }
  /// Leaves the sums in `terms`.
  void finish() {
    while (depth > 0)
      merge();
  }
  Value terms[block] = {};

private:
  static constexpr int blockInputs = 128;
  void merge() {
    --depth;
    for (int64_t i = 0; i < block; ++i)
      terms[i] += partial[depth][i];
  }
  void push() {
    for (uint64_t i = blocks++; i & 1; i >>= 1)
      merge();
    for (int64_t i = 0; i < block; ++i) {
      partial[depth][i] = terms[i];
      terms[i] = 0;
    }
    ++depth;
    inBlock = 0;
  }
  Value partial[57][block];
  int inBlock = 0, depth = 0;
  uint64_t blocks = 0;
};

/// Reads the saved positions of `n` maxima.
template <typename Index> inline void loadIndices(const PoolArgs &args, int64_t at, int64_t n, Index *where) {
  for (int64_t i = 0; i < n; ++i)
    where[i] = args.indexBytes == 1 ? static_cast<const uint8_t *>(args.indices)[at + i]
                                    : static_cast<const int32_t *>(args.indices)[at + i];
}

/// The gradient of a maximum where every input belongs to one window.
template <typename E> void maxBackwardTiles(const PoolShape &s, const PoolArgs &args, int64_t b) {
  using Memory = E::Memory;
  int64_t inputBase = b * inputs(s) * s.channels;
  const Memory *src = args.src ? static_cast<const Memory *>(args.src) + inputBase : nullptr; // absent with indices
  const Memory *gradient = static_cast<const Memory *>(args.diffDst) + b * outputs(s) * s.channels;
  Memory *result = static_cast<Memory *>(args.diffSrc) + inputBase;
  forOutputs(s, [&](int64_t o0, int64_t o1, int64_t o2, int64_t pixel, int64_t c, int64_t n) {
    typename E::Value best[block];
    typename E::Index where[block];
    int64_t at = pixel * s.channels + c;
    if (args.indices)
      loadIndices(args, b * outputs(s) * s.channels + at, n, where);
    else
      findMaximum<E>(s, src + c, o0, o1, o2, n, best, where);
    forWindow(s, o0, o1, o2, [&](int64_t position, int64_t in) {
      auto p = static_cast<E::Index>(position);
      Memory *out = result + in * s.channels + c;
      for (int64_t i = 0; i < n; ++i)
        out[i] = E::store(where[i] == p ? E::load(gradient[at + i]) : 0);
    });
  });
}

/// The outputs [begin, end) of one dimension whose windows hold input `i`.
struct Holders {
  int64_t begin, end;
};
inline Holders holdersOf(const PoolShape &s, int d, int64_t i) {
  // o * stride <= i + low < o * stride + window
  const int64_t at = i + s.low[d], first = at - s.window[d] + 1;
  return {first <= 0 ? 0 : (first + s.stride[d] - 1) / s.stride[d], std::min(s.out[d], at / s.stride[d] + 1)};
}

/// Stores, for each input of one example, the sum of addend(o0, o1, o2, output pixel, position of the input in the
/// window, first channel, i) over the outputs whose windows hold it.
template <typename E, typename F>
inline void gatherGradients(const PoolShape &s, typename E::Memory *result, F addend) {
  int64_t pixel = 0;
  for (int64_t i0 = 0; i0 < s.in[0]; ++i0)
    for (int64_t i1 = 0; i1 < s.in[1]; ++i1)
      for (int64_t i2 = 0; i2 < s.in[2]; ++i2, ++pixel) {
        const Holders h0 = holdersOf(s, 0, i0), h1 = holdersOf(s, 1, i1), h2 = holdersOf(s, 2, i2);
        for (int64_t c = 0; c < s.channels; c += block) {
          const int64_t n = std::min(block, s.channels - c);
          WindowSum<typename E::Value> sum;
          for (int64_t o0 = h0.begin; o0 < h0.end; ++o0)
            for (int64_t o1 = h1.begin; o1 < h1.end; ++o1)
              for (int64_t o2 = h2.begin; o2 < h2.end; ++o2) {
                const int64_t p0 = i0 + s.low[0] - o0 * s.stride[0], p1 = i1 + s.low[1] - o1 * s.stride[1];
                const int64_t position = (p0 * s.window[1] + p1) * s.window[2] + i2 + s.low[2] - o2 * s.stride[2];
                sum.add(n, addend(o0, o1, o2, (o0 * s.out[1] + o1) * s.out[2] + o2, position, c));
              }
          sum.finish();
          for (int64_t i = 0; i < n; ++i)
            result[pixel * s.channels + c + i] = E::store(sum.terms[i]);
        }
      }
}

/// The gradient of a maximum where windows overlap, in the order of the inputs: what an input gets from all windows is
/// added up in pairs and rounded once.
template <typename E> void maxBackwardOverlapping(const PoolShape &s, const PoolArgs &args, int64_t b) {
  using Memory = E::Memory;
  const int64_t inputBase = b * inputs(s) * s.channels, outputBase = b * outputs(s) * s.channels;
  const Memory *src = args.src ? static_cast<const Memory *>(args.src) + inputBase : nullptr; // absent with indices
  const Memory *gradient = static_cast<const Memory *>(args.diffDst) + outputBase;
  int32_t *where = args.positions + outputBase;
  forOutputs(s, [&](int64_t o0, int64_t o1, int64_t o2, int64_t pixel, int64_t c, int64_t n) {
    typename E::Value best[block];
    typename E::Index found[block];
    const int64_t at = pixel * s.channels + c;
    if (args.indices)
      loadIndices(args, outputBase + at, n, found);
    else
      findMaximum<E>(s, src + c, o0, o1, o2, n, best, found);
    for (int64_t i = 0; i < n; ++i)
      where[at + i] = static_cast<int32_t>(found[i]);
  });
  gatherGradients<E>(s, static_cast<Memory *>(args.diffSrc) + inputBase,
                     [&](int64_t, int64_t, int64_t, int64_t pixel, int64_t position, int64_t c) {
                       const Memory *g = gradient + pixel * s.channels + c;
                       const int32_t *w = where + pixel * s.channels + c;
                       const auto p = static_cast<int32_t>(position);
                       return [=](int64_t i) { return w[i] == p ? E::load(g[i]) : typename E::Value(0); };
                     });
}

template <typename E> void maxBackward(const PoolShape &s, const PoolArgs &args, int64_t begin, int64_t end) {
  for (int64_t b = begin; b < end; ++b)
    if (s.tiles)
      maxBackwardTiles<E>(s, args, b);
    else
      maxBackwardOverlapping<E>(s, args, b);
}

template <typename E> void avgForward(const PoolShape &s, const PoolArgs &args, int64_t begin, int64_t end) {
  using Memory = E::Memory;
  using Value = E::Value;
  for (int64_t b = begin; b < end; ++b) {
    const Memory *src = static_cast<const Memory *>(args.src) + b * inputs(s) * s.channels;
    Memory *dst = static_cast<Memory *>(args.dst) + b * outputs(s) * s.channels;
    forOutputs(s, [&](int64_t o0, int64_t o1, int64_t o2, int64_t pixel, int64_t c, int64_t n) {
      WindowSum<Value> sum;
      forWindow(s, o0, o1, o2, [&](int64_t, int64_t in) {
        const Memory *p = src + in * s.channels + c;
        sum.add(n, [&](int64_t i) { return E::load(p[i]); });
      });
      sum.finish();
      Value w = weight<Value>(s, o0, o1, o2);
      for (int64_t i = 0; i < n; ++i)
        dst[pixel * s.channels + c + i] = E::store(sum.terms[i] * w);
    });
  }
}

template <typename E> void avgBackward(const PoolShape &s, const PoolArgs &args, int64_t begin, int64_t end) {
  using Memory = E::Memory;
  using Value = E::Value;
  const Value whole = Value(1) / static_cast<Value>(s.window[0] * s.window[1] * s.window[2]);
  for (int64_t b = begin; b < end; ++b) {
    const Memory *gradient = static_cast<const Memory *>(args.diffDst) + b * outputs(s) * s.channels;
    gatherGradients<E>(s, static_cast<Memory *>(args.diffSrc) + b * inputs(s) * s.channels,
                       [&](int64_t o0, int64_t o1, int64_t o2, int64_t pixel, int64_t, int64_t c) {
                         const Value w = s.countPad ? whole : weight<Value>(s, o0, o1, o2);
                         const Memory *g = gradient + pixel * s.channels + c;
                         return [=](int64_t i) { return w * E::load(g[i]); };
                       });
  }
}

template <typename E> constexpr PoolKernels kernelsOf() {
  return {maxForward<E>, maxBackward<E>, avgForward<E>, avgBackward<E>};
}
} // namespace

PoolKernels poolKernels(DType type) {
  switch (type) {
  case DType::F64:
    return kernelsOf<F64>();
  case DType::BF16:
    return kernelsOf<BF16>();
  case DType::F16:
    return kernelsOf<F16>();
  case DType::F32:
    return kernelsOf<F32>();
  case DType::I1:
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    break;
  }
  return {};
}

} // namespace dgc::rt::DGC_ISA
