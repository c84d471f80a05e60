// Reductions over the memory of several workers' GPUs, as kernels, in the order of collective/ReduceKernels.cpp
// (Combine.h), so that GPUs give the bits that CPUs give. 16-bit floats are added up in f32 and rounded once.
#include "runtime/collective/Combine.h"
#include "runtime/device/cuda/KernelPlace.h"

#ifndef __NVPTX__
#include "runtime/device/cuda/Peers.h"
#endif

namespace {

template <class T> struct Plain {
  using Stored = T;
  using Value = T;
  static T load(T stored) { return stored; }
  static T store(T value) { return value; }
};
/// What is smaller than an int wraps as well.
template <class T> struct Small {
  using Stored = T;
  using Value = uint32_t;
  static uint32_t load(T stored) { return stored; }
  static T store(uint32_t value) { return static_cast<T>(value); }
};
struct BFloat16 {
  using Stored = uint16_t;
  using Value = float;
  static float load(uint16_t stored) { return __builtin_bit_cast(float, uint32_t{stored} << 16); }
  static uint16_t store(float value) {
    uint32_t bits = __builtin_bit_cast(uint32_t, value);
    if (value != value)
      return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};
struct Float16 {
  using Stored = uint16_t;
  using Value = float;
  static float load(uint16_t stored) { return static_cast<float>(__builtin_bit_cast(_Float16, stored)); }
  static uint16_t store(float value) { return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value)); }
};

using Packet = uint32_t __attribute__((vector_size(16)));

/// table: the addresses of `srcs` sources, then of `dsts` results. The first `packets` times 16 bytes are taken 16 at a
/// time, for which all addresses are multiples of that.
template <class Format, class Op>
void reduce(const uint64_t *table, uint64_t srcs, uint64_t dsts, uint64_t count, uint64_t packets) {
  using Stored = Format::Stored;
  using Value = Format::Value;
  constexpr int lanes = sizeof(Packet) / sizeof(Stored);
  for (uint64_t i = firstPlace(); i < packets; i += places()) {
    Stored stored[lanes];
    Value values[lanes];
    Packet packet;
    combine<Op, lanes>(srcs, values, [&](uint64_t k, Value(&to)[lanes]) {
      packet = reinterpret_cast<const Packet *>(table[k])[i];
      __builtin_memcpy(stored, &packet, sizeof packet);
      for (int lane = 0; lane < lanes; ++lane)
        to[lane] = Format::load(stored[lane]);
    });
    for (int lane = 0; lane < lanes; ++lane)
      stored[lane] = Format::store(values[lane]);
    __builtin_memcpy(&packet, stored, sizeof packet);
    DGC_ROLLED
    for (uint64_t j = 0; j < dsts; ++j)
      reinterpret_cast<Packet *>(table[srcs + j])[i] = packet;
  }
  DGC_ROLLED
  for (uint64_t i = packets * lanes + firstPlace(); i < count; i += places()) {
    Value value[1];
    combine<Op, 1>(srcs, value, [&](uint64_t k, Value(&to)[1]) {
      to[0] = Format::load(reinterpret_cast<const Stored *>(table[k])[i]);
    });
    DGC_ROLLED
    for (uint64_t j = 0; j < dsts; ++j)
      reinterpret_cast<Stored *>(table[srcs + j])[i] = Format::store(value[0]);
  }
}

} // namespace

// X(type, format, name, operation)
#define DGC_ADD(X, type, format) X(type, format, sum, Sum) X(type, format, product, Product)
#define DGC_COMPARE(X, type, format) X(type, format, max, Maximum) X(type, format, min, Minimum)
// Sums and products of signed integers have the bits of unsigned ones.
#define DGC_ALL(X)                                                                                                     \
  DGC_ADD(X, u8, Small<uint8_t>)                                                                                       \
  DGC_ADD(X, u16, Small<uint16_t>)                                                                                     \
  DGC_ADD(X, u32, Plain<uint32_t>)                                                                                     \
  DGC_ADD(X, u64, Plain<uint64_t>)                                                                                     \
  DGC_ADD(X, f16, Float16)                                                                                             \
  DGC_ADD(X, bf16, BFloat16)                                                                                           \
  DGC_ADD(X, f32, Plain<float>)                                                                                        \
  DGC_ADD(X, f64, Plain<double>)                                                                                       \
  DGC_COMPARE(X, i8, Plain<int8_t>)                                                                                    \
  DGC_COMPARE(X, i16, Plain<int16_t>)                                                                                  \
  DGC_COMPARE(X, i32, Plain<int32_t>)                                                                                  \
  DGC_COMPARE(X, i64, Plain<int64_t>)                                                                                  \
  DGC_COMPARE(X, u8, Plain<uint8_t>)                                                                                   \
  DGC_COMPARE(X, u16, Plain<uint16_t>)                                                                                 \
  DGC_COMPARE(X, u32, Plain<uint32_t>)                                                                                 \
  DGC_COMPARE(X, u64, Plain<uint64_t>)                                                                                 \
  DGC_COMPARE(X, f16, Float16)                                                                                         \
  DGC_COMPARE(X, bf16, BFloat16)                                                                                       \
  DGC_COMPARE(X, f32, Plain<float>)                                                                                    \
  DGC_COMPARE(X, f64, Plain<double>)

#define DGC_REDUCE(type, format, name, op)                                                                             \
  DGC_KERNEL(dgc_reduce_##type##_##name)                                                                               \
  (const uint64_t *table, uint64_t srcs, uint64_t dsts, uint64_t count, uint64_t packets) {                            \
    reduce<format, op>(table, srcs, dsts, count, packets);                                                             \
  }
DGC_ALL(DGC_REDUCE)

#ifndef __NVPTX__
#define DGC_ENTRY(type, format, name, op)                                                                              \
  {"dgc_reduce_" #type "_" #name, dgc_reduce_##type##_##name, sizeof(format::Stored)},
const dgc::rt::cuda::PeerKernel dgc::rt::cuda::peerKernels[] = {DGC_ALL(DGC_ENTRY){nullptr, nullptr, 0}};
#endif
