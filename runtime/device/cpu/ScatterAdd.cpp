// Slices added to those of a zero tensor. The updates are sorted by the slice that they are added to, so that each
// slice is written once, and long sums are added up in pairs.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Ops.h"
#include "runtime/device/cpu/PairwiseSum.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// Elements that one thread adds at the least, below which waking another takes as long.
constexpr int64_t minSplitElements = 1 << 16;

template <typename T, typename Index> class ScatterAddOp final : public PreparedOp {
public:
  ScatterAddOp(const OpContext &context, const artifact::ScatterAdd &op)
      : scratch(context.scratch), indices(static_cast<const Index *>(context.buffers[op.indices()].data)),
        updates(static_cast<const T *>(context.buffers[op.updates()].data)),
        dst(static_cast<T *>(context.buffers[op.dst()].data)),
        offset(op.offset() < 0
                   ? nullptr
                   : static_cast<const int64_t *>(context.buffers[static_cast<uint32_t>(op.offset())].data)),
        outer(static_cast<int64_t>(op.outer())), count(static_cast<int64_t>(op.count())),
        inner(static_cast<int64_t>(op.inner())), size(static_cast<int64_t>(op.size())) {
    context.scratch.reserve(static_cast<size_t>(size + 1 + count) * sizeof(int64_t));
  }

  absl::Status run(const dgc_step &) override {
    sortUpdates();
    // Threads have slices of their own, so that none adds to what another one does.
    if (outer * count * inner < minSplitElements)
      add(0, outer, 0, inner);
    else if (outer > 1)
      parallelFor(outer, [&](int64_t begin, int64_t end) { add(begin, end, 0, inner); });
    else
      parallelFor((inner + line - 1) / line,
                  [&](int64_t begin, int64_t end) { add(0, 1, begin * line, std::min(inner, end * line)); });
    return absl::OkStatus();
  }

private:
  static constexpr int64_t line = 64 / sizeof(T);
  /// Columns that are added up at a time.
  static constexpr int64_t width = 64;
  /// Updates that are added up one after the other.
  static constexpr int64_t blockUpdates = 128;

  /// The first update, in the order of `sorted`, of each slice; after the last one, their number.
  int64_t *firstOf() const { return reinterpret_cast<int64_t *>(scratch.data()); }
  /// The updates in the order of their slices; those of one slice in their own order.
  int64_t *sorted() const { return firstOf() + size + 1; }

  void sortUpdates() const {
    const int64_t first = offset ? *offset : 0;
    int64_t *begin = firstOf(), *order = sorted();
    // As unsigned numbers the negative ones are large.
    auto sliceOf = [&](int64_t j) { return static_cast<uint64_t>(indices[j]) - static_cast<uint64_t>(first); };
    std::fill_n(begin, size + 1, 0);
    for (int64_t j = 0; j < count; ++j)
      if (uint64_t slice = sliceOf(j); slice < static_cast<uint64_t>(size))
        ++begin[slice + 1];
    for (int64_t slice = 0; slice < size; ++slice)
      begin[slice + 1] += begin[slice];
    for (int64_t j = 0; j < count; ++j)
      if (uint64_t slice = sliceOf(j); slice < static_cast<uint64_t>(size))
        order[begin[slice]++] = j;
    // Each is where the next one begins now.
    std::copy_backward(begin, begin + size, begin + size + 1);
    begin[0] = 0;
  }

  void add(int64_t beginOuter, int64_t endOuter, int64_t begin, int64_t end) const {
    const int64_t *order = sorted(), *firsts = firstOf();
    for (int64_t o = beginOuter; o < endOuter; ++o)
      for (int64_t slice = 0; slice < size; ++slice)
        for (int64_t column = begin; column < end; column += width)
          addSlice(dst + (o * size + slice) * inner + column, updates + o * count * inner + column,
                   order + firsts[slice], firsts[slice + 1] - firsts[slice], std::min(width, end - column));
  }

  /// to = the sum of `n` updates, of `columns` elements each.
  void addSlice(T *to, const T *from, const int64_t *order, int64_t n, int64_t columns) const {
    T slots[40][width];
    const int64_t blocks = (n + blockUpdates - 1) / blockUpdates;
    for (int64_t block = 0; block < blocks; ++block) {
      T *sum = blocks == 1 ? to : slots[PairwiseSlots::slot(block)];
      std::fill_n(sum, columns, T(0));
      for (int64_t j = block * blockUpdates, stop = std::min(n, j + blockUpdates); j < stop; ++j)
        addTo(sum, from + order[j] * inner, columns);
      PairwiseSlots::merge(block, blocks, [&](int into, int from) { addTo(slots[into], slots[from], columns); });
    }
    if (blocks != 1)
      for (int64_t i = 0; i < columns; ++i)
        to[i] = blocks ? slots[0][i] : T(0);
  }

  const Scratch &scratch;
  const Index *indices;
  const T *updates;
  T *dst;
  const int64_t *offset;
  int64_t outer, count, inner, size;
};
} // namespace

template <typename T> static PreparedOrStatus prepareFor(const OpContext &context, const artifact::ScatterAdd &op) {
  return visit(context.buffers[op.indices()].dtype, [&](auto element) -> PreparedOrStatus {
    if constexpr (decltype(element)::isInteger)
      return std::make_unique<ScatterAddOp<T, typename decltype(element)::Stored>>(context, op);
    else
      return absl::InternalError("indices must be integers");
  });
}

PreparedOrStatus dgc::rt::prepareScatterAdd(const OpContext &context, const artifact::ScatterAdd &op) {
  return context.buffers[op.dst()].dtype == DType::F64 ? prepareFor<double>(context, op)
                                                       : prepareFor<float>(context, op);
}
