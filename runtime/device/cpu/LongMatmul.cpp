// Matrix products with long sums. oneDNN adds up blocks of some hundred terms one after the other, and vectors alone as
// one block: the error of a long sum grows with its length.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/MatmulLayout.h"
#include "runtime/device/cpu/PairwiseSum.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

/// Blocks of up to so many terms oneDNN adds up in order (2.6, AVX2 and AVX-512).
static constexpr int64_t blockOfDnnl = 2048;

/// True where a part takes about as long as waking threads for it: threads then take a part each.
static bool hasSmallParts(const artifact::Matmul &op) {
  return std::min(op.m(), op.n()) == 1 || op.m() * op.n() * std::max<uint64_t>(1, op.batch()) <= 4096;
}

/// The terms that one call adds up. oneDNN adds up the sums of its blocks in order: with 32768 terms the blocks alone
/// decide the error. Products of a row or a column go through GEMV, which has no blocks.
static int64_t termsOfPart(const artifact::Matmul &op) {
  return hasSmallParts(op) ? blockOfDnnl / 2 : 16 * blockOfDnnl;
}

bool dgc::rt::hasLongSums(const artifact::Matmul &op, DType type) {
  return type == DType::F32 && static_cast<int64_t>(op.k()) >= std::max(blockOfDnnl, termsOfPart(op) + 1);
}

namespace {
class LongMatmul final : public PreparedOp {
public:
  LongMatmul(const OpContext &context, const artifact::Matmul &op)
      : scratch(context.scratch), layout(op), result(context, op), isSmall(hasSmallParts(op)), terms(termsOfPart(op)),
        k(static_cast<int64_t>(op.k())), elements(layout.dst.allRows() * layout.dst.columns()) {}

  absl::Status prepare(const OpContext &context, const artifact::Matmul &op) {
    return guarded("matmul", [&] {
      std::optional<OneThread> each;
      if (isSmall)
        each.emplace();
      const float *a = static_cast<const float *>(context.buffers[op.a()].data);
      const float *b = static_cast<const float *>(context.buffers[op.b()].data);
      const int64_t count = (k + terms - 1) / terms;
      const Product whole = productOf(context, terms), rest = productOf(context, k - (count - 1) * terms);
      partsOfGroup = isSmall ? std::min<int64_t>(count, 8) : 1;
      const size_t scratchpad = std::max(whole.scratchBytes(), rest.scratchBytes());
      firstPart = scratchpad * static_cast<size_t>(partsOfGroup);
      firstSlot = firstPart + static_cast<size_t>(partsOfGroup) * vectorBytes();
      groups = (count + partsOfGroup - 1) / partsOfGroup;
      context.scratch.reserve(firstSlot + static_cast<size_t>(PairwiseSlots::slots(groups)) * vectorBytes());
      for (int64_t i = 0; i < count; ++i) {
        const Product &product = i + 1 < count ? whole : rest;
        const auto inGroup = static_cast<size_t>(i % partsOfGroup);
        BoundPrimitive part(context, product.primitive, dnnl::memory::desc());
        if (product.scratchpad.get_size())
          part.bindScratch(DNNL_ARG_SCRATCHPAD, product.scratchpad, inGroup * scratchpad);
        // oneDNN's interface has no pointers to constants.
        part.bind(DNNL_ARG_SRC, product.a, const_cast<float *>(a + i * terms * layout.a.columnStride()));
        part.bind(DNNL_ARG_WEIGHTS, product.b, const_cast<float *>(b + i * terms * layout.b.rowStride()));
        part.bindScratch(DNNL_ARG_DST, product.dst, firstPart + inGroup * vectorBytes());
        parts.push_back(std::move(part));
      }
    });
  }

  absl::Status run(const dgc_step &) override {
    for (int64_t group = 0; group < groups; ++group) {
      DGC_RETURN_IF_ERROR(computeGroup(group));
      int last = PairwiseSlots::slot(group);
      std::memcpy(slot(last), part(0), static_cast<size_t>(elements) * sizeof(float));
      for (int merges = PairwiseSlots::merges(group, groups); merges > 0; --merges, --last)
        addTo(slot(last - 1), slot(last));
    }
    result.store(slot(0));
    return absl::OkStatus();
  }

private:
  /// A product of some terms.
  struct Product {
    dnnl::primitive primitive;
    dnnl::memory::desc a, b, dst, scratchpad;
    size_t scratchBytes() const { return (scratchpad.get_size() + 63) & ~size_t{63}; }
  };
  Product productOf(const OpContext &context, int64_t k) const {
    constexpr auto f32 = dnnl::memory::data_type::f32;
    Matrices a = layout.a, b = layout.b;
    a.sizes.back() = k;
    b.sizes[b.sizes.size() - 2] = k;
    dnnl::memory::desc left(a.sizes, f32, a.strides), right(b.sizes, f32, b.strides);
    dnnl::memory::desc dst(layout.dst.sizes, f32, layout.dst.packed().strides);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(left, right, dst), attr, context.library.engine);
    return {dnnl::matmul(pd), left, right, dst, pd.scratchpad_desc()};
  }

  /// Leaves the sum of a group in part 0.
  absl::Status computeGroup(int64_t group) {
    const int64_t first = group * partsOfGroup;
    const int64_t count = std::min(partsOfGroup, static_cast<int64_t>(parts.size()) - first);
    if (!isSmall)
      return parts[static_cast<size_t>(first)].run();
    std::atomic<bool> failed = false;
    parallelFor(count, [&](int64_t begin, int64_t end) {
      const OneThread each;
      for (int64_t i = begin; i < end; ++i)
        if (!parts[static_cast<size_t>(first + i)].run().ok())
          failed = true;
    });
    if (failed)
      return absl::InternalError("oneDNN failed in a part of a matrix product");
    for (int64_t step = 1; step < count; step *= 2)
      for (int64_t i = 0; i + step < count; i += 2 * step)
        addTo(part(i), part(i + step));
    return absl::OkStatus();
  }

  size_t vectorBytes() const { return (static_cast<size_t>(elements) * sizeof(float) + 63) & ~size_t{63}; }
  float *vectorAt(size_t first, int64_t index) const {
    return reinterpret_cast<float *>(scratch.data() + first + static_cast<size_t>(index) * vectorBytes());
  }
  float *part(int64_t index) const { return vectorAt(firstPart, index); }
  float *slot(int64_t index) const { return vectorAt(firstSlot, index); }
  void addTo(float *to, const float *from) const {
    auto add = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] += from[i];
    };
    isSmall ? add(0, elements) : parallelFor(elements, add);
  }

  const Scratch &scratch;
  MatmulLayout layout;
  MatmulResult result;
  bool isSmall;
  int64_t terms, k, elements;
  int64_t partsOfGroup = 1, groups = 0; ///< parts that are computed at a time, and how often
  size_t firstPart = 0, firstSlot = 0;
  std::vector<BoundPrimitive> parts;
};
} // namespace

PreparedOrStatus dgc::rt::prepareLongMatmul(const OpContext &context, const artifact::Matmul &op) {
  auto prepared = std::make_unique<LongMatmul>(context, op);
  DGC_RETURN_IF_ERROR(prepared->prepare(context, op));
  return prepared;
}
