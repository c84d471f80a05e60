// Adds up slices at places that are in memory of the GPU: a stable radix sort of the updates by their slices, sums of up to
// 64 sorted updates, and sums of these.
#include "runtime/device/cuda/KernelPlace.h"

#ifndef __NVPTX__
#include "runtime/artifact/GpuSizes.h"
#include "runtime/device/cuda/ScatterKernels.h"

#include <utility>
#endif

namespace {

/// Threads of a block, of the kernels that sort and of the others.
constexpr uint32_t kSortBlock = 128, kBlock = 256;
/// Updates that a block sorts, and that a thread of it does.
constexpr uint64_t kSortChunk = 1024, kItems = kSortChunk / kSortBlock;
/// Sorted updates that one thread adds up, in order. Runs of updates of one slice are cut at its multiples.
constexpr uint64_t kSumChunk = 64;
constexpr uint32_t kDigits = 16;

#ifndef __NVPTX__
static_assert(kSortChunk == dgc::rt::gpu::scatterSortChunk && kSumChunk == dgc::rt::gpu::scatterSumChunk);
#endif

//===-- Keys ------------------------------------------------------------===//

/// As 64 bits, with the sign of signed ones.
uint64_t indexAt(uint64_t indices, uint64_t width, uint64_t isSigned, uint64_t i) {
  switch (width) {
  case 1:
    return isSigned ? static_cast<uint64_t>(at<const int8_t>(indices)[i]) : at<const uint8_t>(indices)[i];
  case 2:
    return isSigned ? static_cast<uint64_t>(at<const int16_t>(indices)[i]) : at<const uint16_t>(indices)[i];
  case 4:
    return isSigned ? static_cast<uint64_t>(at<const int32_t>(indices)[i]) : at<const uint32_t>(indices)[i];
  default:
    return at<const uint64_t>(indices)[i];
  }
}

/// The slice of each update, or `size` for those that are left out, and its number.
void makeKeys(uint64_t keys, uint64_t positions, uint64_t indices, uint64_t width, uint64_t isSigned, uint64_t offset,
              uint64_t count, uint64_t size) {
  const uint64_t first = offset ? at<const uint64_t>(offset)[0] : 0;
  for (uint64_t i = firstPlace(); i < count; i += places()) {
    const uint64_t slice = indexAt(indices, width, isSigned, i) - first; // those of negative ones are large
    at<uint32_t>(keys)[i] = static_cast<uint32_t>(slice < size ? slice : size);
    at<uint32_t>(positions)[i] = static_cast<uint32_t>(i);
  }
}

//===-- A pass of the sort ----------------------------------------------===//

/// How many items with each digit a thread has; later, where the first of them goes. The columns of 16 threads are followed
/// by an empty one, so that the threads of a warp are in different banks when they take 16 columns each.
struct DigitCounts {
  uint32_t of[kDigits][kSortBlock + kSortBlock / 16];
  uint32_t parts[kDigits][kSortBlock / 16]; // of 16 threads
};
uint32_t columnOf(uint32_t thread) { return thread + thread / 16; }

/// Calls body(item) for each item of a thread, in order.
template <class Body> void forItems(uint64_t block, uint32_t thread, uint64_t count, Body body) {
  const uint64_t first = block * kSortChunk + thread * kItems;
  for (uint64_t item = first; item < first + kItems && item < count; ++item)
    body(item);
}

uint32_t digitOf(uint32_t key, uint64_t shift) { return key >> shift & (kDigits - 1); }

void countDigits(DGC_SHARED DigitCounts &counts, uint64_t keys, uint64_t block, uint64_t count, uint64_t shift) {
  phase(kSortBlock, [&](uint32_t thread) {
    for (auto &digit : counts.of)
      digit[columnOf(thread)] = 0;
    forItems(block, thread, count,
             [&](uint64_t item) { ++counts.of[digitOf(at<const uint32_t>(keys)[item], shift)][columnOf(thread)]; });
  });
  phase(kSortBlock, [&](uint32_t thread) {
    const uint32_t digit = thread / 8, part = thread % 8;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 16; ++i)
      sum += counts.of[digit][columnOf(part * 16 + i)];
    counts.parts[digit][part] = sum;
  });
}

/// table[digit, chunk] = how many keys of the chunk have the digit.
void fillTable(DGC_SHARED DigitCounts &counts, uint64_t keys, uint64_t table, uint64_t count, uint64_t shift,
               uint64_t chunks) {
  forBlocks(chunks, [&](uint64_t block) {
    countDigits(counts, keys, block, count, shift);
    phase(kSortBlock, [&](uint32_t thread) {
      if (thread >= kDigits)
        return;
      uint32_t sum = 0;
      for (uint32_t part = 0; part < 8; ++part)
        sum += counts.parts[thread][part];
      at<uint32_t>(table)[thread * chunks + block] = sum;
    });
  });
}

struct ScanSums {
  uint32_t of[2][kBlock];
};

/// Each entry of the table becomes the sum of those before it. One block.
void scanTable(DGC_SHARED ScanSums &sums, uint64_t table, uint64_t entries) {
  const uint64_t each = (entries + kBlock - 1) / kBlock;
  DGC_GLOBAL uint32_t *values = at<uint32_t>(table);
  forBlocks(1, [&](uint64_t) {
    phase(kBlock, [&](uint32_t thread) {
      uint32_t sum = 0;
      for (uint64_t i = thread * each; i < (thread + 1) * each && i < entries; ++i)
        sum += values[i];
      sums.of[0][thread] = sum;
    });
    uint32_t from = 0;
    for (uint32_t step = 1; step < kBlock; step *= 2) {
      phase(kBlock, [&](uint32_t thread) {
        sums.of[1 - from][thread] = sums.of[from][thread] + (thread >= step ? sums.of[from][thread - step] : 0);
      });
      from = 1 - from;
    }
    phase(kBlock, [&](uint32_t thread) {
      uint32_t before = thread ? sums.of[from][thread - 1] : 0;
      for (uint64_t i = thread * each; i < (thread + 1) * each && i < entries; ++i) {
        const uint32_t value = values[i];
        values[i] = before;
        before += value;
      }
    });
  });
}

/// Items go behind those with smaller digits, and behind those with the same digit that are before them.
void placeItems(DGC_SHARED DigitCounts &counts, uint64_t keys, uint64_t positions, uint64_t toKeys,
                uint64_t toPositions, uint64_t table, uint64_t count, uint64_t shift, uint64_t chunks) {
  forBlocks(chunks, [&](uint64_t block) {
    countDigits(counts, keys, block, count, shift);
    phase(kSortBlock, [&](uint32_t thread) {
      const uint32_t digit = thread / 8, part = thread % 8;
      uint32_t place = at<const uint32_t>(table)[digit * chunks + block];
      for (uint32_t i = 0; i < part; ++i)
        place += counts.parts[digit][i];
      for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t items = counts.of[digit][columnOf(part * 16 + i)];
        counts.of[digit][columnOf(part * 16 + i)] = place;
        place += items;
      }
    });
    phase(kSortBlock, [&](uint32_t thread) {
      forItems(block, thread, count, [&](uint64_t item) {
        const uint32_t key = at<const uint32_t>(keys)[item];
        const uint32_t place = counts.of[digitOf(key, shift)][columnOf(thread)]++;
        at<uint32_t>(toKeys)[place] = key;
        at<uint32_t>(toPositions)[place] = at<const uint32_t>(positions)[item];
      });
    });
  });
}

//===-- Sums ------------------------------------------------------------===//

/// load(begin) + .. + load(end - 1), in order; four are loaded at a time.
template <class V, class Load> V sumInOrder(uint64_t begin, uint64_t end, Load load) {
  V sum{};
  uint64_t i = begin;
  for (; i + 4 <= end; i += 4) {
    const V a = load(i), b = load(i + 1), c = load(i + 2), d = load(i + 3);
    sum += a;
    sum += b;
    sum += c;
    sum += d;
  }
  for (; i < end; ++i)
    sum += load(i);
  return sum;
}

/// The same with partial sums of 64, and of 64 of these.
template <class V, class Load> V sumInBlocks(uint64_t begin, uint64_t end, Load load) {
  V total{};
  for (uint64_t first = begin; first < end;) {
    V blocks{};
    for (int block = 0; block < 64 && first < end; ++block) {
      const uint64_t last = first + 64 < end ? first + 64 : end;
      blocks += sumInOrder<V>(first, last, load);
      first = last;
    }
    total += blocks;
  }
  return total;
}

uint64_t chunksOf(uint64_t count) { return (count + kSumChunk - 1) / kSumChunk; }

/// dst[o, key, c] = the sum of updates[o, positions[j], c] over the sorted updates j with that key, where these are all in
/// one chunk. Of others the part in each chunk is added up: partials[o, 2 * chunk, c] if it begins with the chunk, else
/// partials[o, 2 * chunk + 1, c]. A thread for each o, j, c; those where no part begins have nothing to do.
template <class V>
void sumParts(uint64_t dst, uint64_t partials, uint64_t updates, uint64_t keys, uint64_t positions, uint64_t outer,
              uint64_t count, uint64_t columns, uint64_t size) {
  const DGC_GLOBAL uint32_t *key = at<const uint32_t>(keys), *position = at<const uint32_t>(positions);
  for (uint64_t i = firstPlace(); i < outer * count * columns; i += places()) {
    const uint64_t column = i % columns, j = i / columns % count, o = i / columns / count;
    const uint32_t own = key[j];
    const bool isFirst = j == 0 || key[j - 1] != own;
    if (own >= size || (!isFirst && j % kSumChunk))
      continue;
    const uint64_t chunk = j / kSumChunk, stop = (chunk + 1) * kSumChunk < count ? (chunk + 1) * kSumChunk : count;
    uint64_t last = j, end = stop; // the last one with the key is at `last` or behind it, and before `end`
    while (last + 1 < end) {
      const uint64_t middle = (last + end) / 2;
      (key[middle] == own ? last : end) = middle;
    }
    const DGC_GLOBAL V *from = at<const V>(updates) + o * count * columns + column;
    const V sum = sumInOrder<V>(j, end, [&](uint64_t k) { return from[position[k] * columns]; });
    if (isFirst && (end == count || key[end] != own))
      at<V>(dst)[(o * size + own) * columns + column] = sum;
    else
      at<V>(partials)[((o * chunksOf(count) + chunk) * 2 + (j % kSumChunk ? 1 : 0)) * columns + column] = sum;
  }
}

template <class V> struct JoinSums {
  V of[kBlock];
};

/// Adds up the partials of the updates of one slice. A block for each o, each chunk from which such updates go on into the
/// next one and which has the first of them, and `width` columns; its threads take equal parts of the partials.
template <class V>
void joinParts(DGC_SHARED JoinSums<V> &sums, uint64_t dst, uint64_t partials, uint64_t keys, uint64_t outer,
               uint64_t count, uint64_t columns, uint64_t size, uint64_t width) {
  const uint64_t chunks = chunksOf(count), tiles = (columns + width - 1) / width, groups = kBlock / width;
  const DGC_GLOBAL uint32_t *key = at<const uint32_t>(keys);
  forBlocks(outer * (chunks - 1) * tiles, [&](uint64_t block) {
    const uint64_t tile = block % tiles, chunk = block / tiles % (chunks - 1), o = block / tiles / (chunks - 1);
    const uint64_t begin = chunk * kSumChunk, next = begin + kSumChunk;
    const uint32_t own = key[next];
    if (own >= size || key[next - 1] != own || (chunk && key[begin - 1] == own))
      return;                                // all threads do
    uint64_t last = chunk + 1, end = chunks; // the last chunk that begins with the key, as in sumParts()
    while (last + 1 < end) {
      const uint64_t middle = (last + end) / 2;
      (key[middle * kSumChunk] == own ? last : end) = middle;
    }
    const uint64_t parts = last - chunk + 1, first = 2 * chunk + (key[begin] == own ? 0 : 1);
    const DGC_GLOBAL V *from = at<const V>(partials) + o * chunks * 2 * columns;
    phase(kBlock, [&](uint32_t thread) {
      const uint64_t column = tile * width + thread % width, group = thread / width;
      V sum{};
      if (column < columns)
        sum = sumInBlocks<V>(parts * group / groups, parts * (group + 1) / groups, [&](uint64_t part) {
          return from[(part ? 2 * (chunk + part) : first) * columns + column];
        });
      sums.of[thread] = sum;
    });
    for (uint64_t step = groups / 2; step; step /= 2)
      phase(kBlock, [&](uint32_t thread) {
        if (thread < step * width)
          sums.of[thread] += sums.of[thread + step * width];
      });
    phase(kBlock, [&](uint32_t thread) {
      const uint64_t column = tile * width + thread;
      if (thread < width && column < columns)
        at<V>(dst)[(o * size + own) * columns + column] = sums.of[thread];
    });
  });
}

using F32x1 = float;
using F32x4 = float __attribute__((vector_size(16)));
using F64x1 = double;
using F64x2 = double __attribute__((vector_size(16)));

} // namespace

//===-- The kernels -----------------------------------------------------===//

DGC_KERNEL(dgc_scatter_keys)
(uint64_t keys, uint64_t positions, uint64_t indices, uint64_t width, uint64_t isSigned, uint64_t offset,
 uint64_t count, uint64_t size) {
  makeKeys(keys, positions, indices, width, isSigned, offset, count, size);
}

DGC_KERNEL(dgc_scatter_count)(uint64_t keys, uint64_t table, uint64_t count, uint64_t shift, uint64_t chunks) {
  DGC_SHARED_VARIABLE DigitCounts counts;
  fillTable(counts, keys, table, count, shift, chunks);
}

DGC_KERNEL(dgc_scatter_scan)(uint64_t table, uint64_t entries) {
  DGC_SHARED_VARIABLE ScanSums sums;
  scanTable(sums, table, entries);
}

DGC_KERNEL(dgc_scatter_place)
(uint64_t keys, uint64_t positions, uint64_t toKeys, uint64_t toPositions, uint64_t table, uint64_t count,
 uint64_t shift, uint64_t chunks) {
  DGC_SHARED_VARIABLE DigitCounts counts;
  placeItems(counts, keys, positions, toKeys, toPositions, table, count, shift, chunks);
}

// X(name, type)
#define DGC_SUMS(X) X(f32x1, F32x1) X(f32x4, F32x4) X(f64x1, F64x1) X(f64x2, F64x2)

#define DGC_SUM(name, type)                                                                                            \
  DGC_KERNEL(dgc_scatter_sum_##name)                                                                                   \
  (uint64_t dst, uint64_t partials, uint64_t updates, uint64_t keys, uint64_t positions, uint64_t outer,               \
   uint64_t count, uint64_t columns, uint64_t size) {                                                                  \
    sumParts<type>(dst, partials, updates, keys, positions, outer, count, columns, size);                              \
  }                                                                                                                    \
  DGC_KERNEL(dgc_scatter_join_##name)                                                                                  \
  (uint64_t dst, uint64_t partials, uint64_t keys, uint64_t outer, uint64_t count, uint64_t columns, uint64_t size,    \
   uint64_t width) {                                                                                                   \
    DGC_SHARED_VARIABLE JoinSums<type> sums;                                                                           \
    joinParts<type>(sums, dst, partials, keys, outer, count, columns, size, width);                                    \
  }
DGC_SUMS(DGC_SUM)

#ifndef __NVPTX__
/// Calls a kernel with an array of arguments.
template <auto kernel> struct Call;
template <class... Arguments, void (*kernel)(Arguments...)> struct Call<kernel> {
  static void run(const uint64_t *arguments, bool backwards) {
    runsBackwards = backwards;
    [&]<size_t... i>(std::index_sequence<i...>) { kernel(arguments[i]...); }(std::index_sequence_for<Arguments...>());
  }
};

#define DGC_ENTRY(kernel, block) {#kernel, Call<kernel>::run, block},
#define DGC_SUM_ENTRIES(name, type) DGC_ENTRY(dgc_scatter_sum_##name, kBlock) DGC_ENTRY(dgc_scatter_join_##name, kBlock)
const dgc::rt::cuda::ScatterKernel dgc::rt::cuda::scatterKernels[] = {
    DGC_ENTRY(dgc_scatter_keys, kBlock) DGC_ENTRY(dgc_scatter_count, kSortBlock) DGC_ENTRY(dgc_scatter_scan, kBlock)
        DGC_ENTRY(dgc_scatter_place, kSortBlock) DGC_SUMS(DGC_SUM_ENTRIES){nullptr, nullptr, 0}};
#endif
