// Reduction loops, compiled once per instruction set: DGC_REDUCE_ISA names the
// namespace.
//
// Only builtins, local types and Combine.h are used here. An inline function
// from another header could be emitted with AVX-512 instructions and then be
// chosen by the linker for the whole program.
#include "runtime/collective/Combine.h"

// NOLINTBEGIN(modernize-deprecated-headers): of the compiler itself
#include <stddef.h>
#include <stdint.h>
// NOLINTEND(modernize-deprecated-headers)

namespace dgc::rt::DGC_REDUCE_ISA {
namespace {

constexpr size_t kVectorBytes = 64;
constexpr int kUnroll = 4;

template <class T> struct VectorOf {
  using type = T __attribute__((vector_size(kVectorBytes)));
};
using HalfBits = uint16_t __attribute__((vector_size(32)));
using Half = _Float16 __attribute__((vector_size(32)));
using Single = float __attribute__((vector_size(64)));
using SingleBits = uint32_t __attribute__((vector_size(64)));

// A storage type S, held in vectors V while it is accumulated.
template <class T> struct Plain {
  using Stored = T;
  using V = VectorOf<T>::type;
  static constexpr size_t kLanes = kVectorBytes / sizeof(T);
  static V load(const T *p) {
    V v;
    __builtin_memcpy(&v, p, sizeof(V));
    return v;
  }
  static void store(T *p, V v) { __builtin_memcpy(p, &v, sizeof(V)); }
};

struct BFloat16 {
  using Stored = uint16_t;
  using V = Single;
  static constexpr size_t kLanes = 16;
  static V load(const uint16_t *p) {
    HalfBits h;
    __builtin_memcpy(&h, p, sizeof(h));
    return __builtin_bit_cast(Single, __builtin_convertvector(h, SingleBits) << 16);
  }
  static void store(uint16_t *p, V v) {
    SingleBits bits = __builtin_bit_cast(SingleBits, v);
    SingleBits even = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    SingleBits nan = (bits >> 16) | 0x40;
    SingleBits isNan = __builtin_bit_cast(SingleBits, v != v);
    HalfBits h = __builtin_convertvector((nan & isNan) | (even & ~isNan), HalfBits);
    __builtin_memcpy(p, &h, sizeof(h));
  }
};

struct Float16 {
  using Stored = uint16_t;
  using V = Single;
  static constexpr size_t kLanes = 16;
  static V load(const uint16_t *p) {
    Half h;
    __builtin_memcpy(&h, p, sizeof(h));
    return __builtin_convertvector(h, Single);
  }
  static void store(uint16_t *p, V v) {
    Half h = __builtin_convertvector(v, Half);
    __builtin_memcpy(p, &h, sizeof(h));
  }
};

// i1 takes a byte, 0 or 1.
struct Bool : Plain<uint8_t> {};

// One run of `kVectors` vectors starting at element `i`. The accumulators stay
// in registers.
template <class Format, class Op, int kVectors, int kSources>
inline __attribute__((always_inline)) void run(typename Format::Stored *const *dsts, int dstCount,
                                               const typename Format::Stored *const *srcs, int srcCount, size_t i) {
  using V = Format::V;
  V acc[kVectors];
  const auto sources = static_cast<uint64_t>(kSources ? kSources : srcCount);
  combine<Op, kVectors>(sources, acc, [&](uint64_t k, V(&to)[kVectors]) __attribute__((always_inline)) {
    for (int u = 0; u < kVectors; ++u)
      to[u] = Format::load(srcs[k] + i + u * Format::kLanes);
  });
  const int targets = kSources ? kSources : dstCount;
  for (int j = 0; j < targets; ++j)
    for (int u = 0; u < kVectors; ++u)
      Format::store(dsts[j] + i + u * Format::kLanes, acc[u]);
}

// kSources: number of sources and of targets, when known; 0 otherwise.
template <class Format, class Op, int kSources>
void loop(typename Format::Stored *const *dsts, int dstCount, const typename Format::Stored *const *srcs, int srcCount,
          size_t count) {
  constexpr size_t kLanes = Format::kLanes;
  size_t i = 0;
  for (; i + kUnroll * kLanes <= count; i += kUnroll * kLanes)
    run<Format, Op, kUnroll, kSources>(dsts, dstCount, srcs, srcCount, i);
  for (; i + kLanes <= count; i += kLanes)
    run<Format, Op, 1, kSources>(dsts, dstCount, srcs, srcCount, i);
  if (i == count)
    return;
  // The rest goes through padded copies, so that it takes the same
  // instructions.
  using Stored = Format::Stored;
  Stored in[kLanes] = {}, out[kLanes];
  const size_t rest = count - i;
  using V = Format::V;
  V acc[1];
  combine<Op, 1>(static_cast<uint64_t>(srcCount), acc, [&](uint64_t k, V(&to)[1]) {
    __builtin_memcpy(in, srcs[k] + i, rest * sizeof(Stored));
    to[0] = Format::load(in);
  });
  Format::store(out, acc[0]);
  for (int j = 0; j < dstCount; ++j)
    __builtin_memcpy(dsts[j] + i, out, rest * sizeof(Stored));
}

template <class Format, class Op>
void reduce(void *const *dsts, int dstCount, const void *const *srcs, int srcCount, size_t count) {
  using Stored = Format::Stored;
  auto d = reinterpret_cast<Stored *const *>(dsts);
  auto s = reinterpret_cast<const Stored *const *>(srcs);
  if (srcCount == 2 && dstCount == 2) {
    // Locals, so that stores to the data cannot change the pointers.
    Stored *dst[2] = {d[0], d[1]};
    const Stored *src[2] = {s[0], s[1]};
    loop<Format, Op, 2>(dst, 2, src, 2, count);
  } else {
    loop<Format, Op, 0>(d, dstCount, s, srcCount, count);
  }
}

using Fn = void (*)(void *const *, int, const void *const *, int, size_t);

// DType and Reduction, without the functions of their headers.
enum class DType : int {
#define DGC_DTYPE(Name, text, Stored) Name,
#include "runtime/base/DTypes.def"
};
enum class Reduction : int {
#define DGC_REDUCTION(Name, text) Name,
#include "runtime/base/Collectives.def"
};

template <class Format> Fn pick(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return reduce<Format, Sum>;
  case Reduction::Product:
    return reduce<Format, Product>;
  case Reduction::Max:
    return reduce<Format, Maximum>;
  case Reduction::Min:
    return reduce<Format, Minimum>;
  }
  return nullptr;
}

/// A sum is "or", a product "and".
Fn pickBool(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Max:
    return reduce<Bool, Maximum>;
  case Reduction::Product:
  case Reduction::Min:
    return reduce<Bool, Minimum>;
  }
  return nullptr;
}

Fn pick(DType dtype, Reduction reduction) {
  switch (dtype) {
  case DType::I1:
    return pickBool(reduction);
  case DType::I8:
    return pick<Plain<int8_t>>(reduction);
  case DType::I16:
    return pick<Plain<int16_t>>(reduction);
  case DType::I32:
    return pick<Plain<int32_t>>(reduction);
  case DType::I64:
    return pick<Plain<int64_t>>(reduction);
  case DType::U8:
    return pick<Plain<uint8_t>>(reduction);
  case DType::U16:
    return pick<Plain<uint16_t>>(reduction);
  case DType::U32:
    return pick<Plain<uint32_t>>(reduction);
  case DType::U64:
    return pick<Plain<uint64_t>>(reduction);
  case DType::F16:
    return pick<Float16>(reduction);
  case DType::BF16:
    return pick<BFloat16>(reduction);
  case DType::F32:
    return pick<Plain<float>>(reduction);
  case DType::F64:
    return pick<Plain<double>>(reduction);
  }
  return nullptr;
}

} // namespace

Fn select(int dtype, int reduction) { return pick(static_cast<DType>(dtype), static_cast<Reduction>(reduction)); }

} // namespace dgc::rt::DGC_REDUCE_ISA
