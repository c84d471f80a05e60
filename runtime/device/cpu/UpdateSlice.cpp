// A slice of a tensor replaced, at a place that is known when the step runs.
#include "runtime/device/cpu/Ops.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

namespace {
class UpdateSliceOp final : public PreparedOp {
public:
  UpdateSliceOp(const artifact::UpdateSlice &op, std::span<const Operand> buffers)
      : dst(static_cast<std::byte *>(buffers[op.dst()].data)),
        src(static_cast<const std::byte *>(buffers[op.src()].data)),
        update(static_cast<const std::byte *>(buffers[op.update()].data)), start(buffers[op.start()]),
        outer(op.outer()), inner(op.inner() * sizeOf(buffers[op.dst()].dtype)), extent(op.extent()), size(op.size()) {}

  absl::Status run(const dgc_step &) override {
    if (dst != src)
      copyBytes(dst, src, outer * size * inner);
    const size_t first = place() * inner, bytes = extent * inner;
    for (size_t o = 0; o < outer; ++o)
      copyBytes(dst + o * size * inner + first, update + o * bytes, bytes);
    return absl::OkStatus();
  }

private:
  /// The first index of the slice: all of it is inside.
  size_t place() const {
    return visit(start.dtype, [&](auto element) -> size_t {
      if constexpr (decltype(element)::isInteger) {
        const auto wanted = *static_cast<const decltype(element)::Stored *>(start.data);
        return wanted < 0 ? 0 : std::min<uint64_t>(static_cast<uint64_t>(wanted), size - extent);
      } else {
        return 0;
      }
    });
  }

  std::byte *dst;
  const std::byte *src, *update;
  Operand start;
  size_t outer, inner, extent, size; // `inner` in bytes
};
} // namespace

PreparedOrStatus dgc::rt::prepareUpdateSlice(const artifact::UpdateSlice &op, std::span<const Operand> buffers) {
  return std::make_unique<UpdateSliceOp>(op, buffers);
}
