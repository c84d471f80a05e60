// Slices added to those of a zero tensor: one pass over the updates, in their order.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Ops.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// Elements that one thread adds at the least, below which waking another takes as long.
constexpr int64_t minSplitElements = 1 << 16;

template <typename T, typename Index> class ScatterAddOp final : public PreparedOp {
public:
  ScatterAddOp(const OpContext &context, const artifact::ScatterAdd &op)
      : indices(static_cast<const Index *>(context.buffers[op.indices()].data)),
        updates(static_cast<const T *>(context.buffers[op.updates()].data)),
        dst(static_cast<T *>(context.buffers[op.dst()].data)),
        offset(op.offset() < 0
                   ? nullptr
                   : static_cast<const int64_t *>(context.buffers[static_cast<uint32_t>(op.offset())].data)),
        outer(static_cast<int64_t>(op.outer())), count(static_cast<int64_t>(op.count())),
        inner(static_cast<int64_t>(op.inner())), size(static_cast<int64_t>(op.size())) {}

  absl::Status run(const dgc_step &) override {
    const int64_t first = offset ? *offset : 0;
    // Threads have slices of their own, so that nobody adds to what another one does.
    if (outer * count * inner < minSplitElements)
      add(0, outer, 0, inner, first);
    else if (outer > 1)
      parallelFor(outer, [&](int64_t begin, int64_t end) { add(begin, end, 0, inner, first); });
    else
      parallelFor((inner + line - 1) / line,
                  [&](int64_t begin, int64_t end) { add(0, 1, begin * line, std::min(inner, end * line), first); });
    return absl::OkStatus();
  }

private:
  static constexpr int64_t line = 64 / sizeof(T);

  void add(int64_t beginOuter, int64_t endOuter, int64_t begin, int64_t end, int64_t first) const {
    for (int64_t o = beginOuter; o < endOuter; ++o) {
      T *result = dst + o * size * inner;
      for (int64_t row = 0; row < size; ++row)
        std::memset(result + row * inner + begin, 0, static_cast<size_t>(end - begin) * sizeof(T));
      for (int64_t j = 0; j < count; ++j) {
        // As unsigned numbers the negative ones are large.
        const uint64_t row = static_cast<uint64_t>(indices[j]) - static_cast<uint64_t>(first);
        if (row >= static_cast<uint64_t>(size))
          continue;
        const T *update = updates + (o * count + j) * inner;
        T *to = result + static_cast<int64_t>(row) * inner;
        for (int64_t i = begin; i < end; ++i)
          to[i] += update[i];
      }
    }
  }

  const Index *indices;
  const T *updates;
  T *dst;
  const int64_t *offset;
  int64_t outer, count, inner, size;
};
} // namespace

template <typename T> static PreparedOrStatus prepareFor(const OpContext &context, const artifact::ScatterAdd &op) {
  auto make = [&](auto index) { return std::make_unique<ScatterAddOp<T, decltype(index)>>(context, op); };
  switch (context.buffers[op.indices()].dtype) {
  case DType::I8:
    return make(int8_t{});
  case DType::I16:
    return make(int16_t{});
  case DType::I32:
    return make(int32_t{});
  case DType::I64:
    return make(int64_t{});
  case DType::U8:
    return make(uint8_t{});
  case DType::U16:
    return make(uint16_t{});
  case DType::U32:
    return make(uint32_t{});
  case DType::U64:
    return make(uint64_t{});
  default:
    return absl::InternalError("indices must be integers");
  }
}

PreparedOrStatus dgc::rt::prepareScatterAdd(const OpContext &context, const artifact::ScatterAdd &op) {
  return context.buffers[op.dst()].dtype == DType::F64 ? prepareFor<double>(context, op)
                                                       : prepareFor<float>(context, op);
}
