// Matrix products with long sums, in parts that are short enough for oneDNN: it adds up blocks of some hundred terms
// one after the other, vectors alone as one block, and splits long sums of a transposed left operand among threads.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/GemmOrder.h"
#include "runtime/device/cpu/PairwiseSum.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/TiledProduct.h"

#include <algorithm>
#include <atomic>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// Blocks of up to so many terms oneDNN adds up in order (2.6, AVX-512), and GEMM for AVX2 with a transposed left
/// operand.
constexpr int64_t blockOfDnnl = 2048, blockOfTransposed = 96;

/// Results that are added up in small parts: threads have no part of the result each that is worth it, and one call
/// would split their sums among them.
uint64_t largestSmallResult(bool isTransposed, int64_t k, bool isForAvx2) {
  return isSplitAlongSums(isTransposed, k, isForAvx2) ? 4096 : isForAvx2 ? 512 : 0;
}

/// The cut of sums: `isSmall`, `terms` and `ofGroup` of LongSums.
struct Parts {
  bool isSmall;
  int64_t terms, ofGroup;
};

/// Groups of parts that are not small have up to 16 blocks, whose sums are added up in order: with 32768 terms the
/// blocks alone decide the error, as with 256 blocks of a transposed operand. Products of a row or a column go through
/// GEMV, which has no blocks. A call and the addition for each small part take about 0.5 us, which shows where a part
/// takes a few: for 16384 terms, 24x16 results take 1.04 (AVX2) to 1.06 times as long as by one call, and a row of 24 by
/// GEMV 1.22 times (AVX2), on one thread.
Parts partsOf(const artifact::Matmul &op, const MatmulLayout &layout, bool isForAvx2) {
  const bool isTransposed = layout.a.columnStride() != 1, isVector = std::min(op.m(), op.n()) == 1;
  const int64_t k = layout.a.columns();
  if (isVector || op.m() * op.n() * std::max<uint64_t>(1, op.batch()) <= largestSmallResult(isTransposed, k, isForAvx2))
    return {true, isVector ? blockOfDnnl / 2 : blockOfDnnl, 8};
  if (isSplitAlongSums(isTransposed, k, isForAvx2))
    return {false, 1536, 16}; // three of the blocks that oneDNN has for a transposed operand
  return {false, isTransposed && isForAvx2 ? 256 * blockOfTransposed : 16 * blockOfDnnl, 1};
}

/// True where parts can be added up in the result itself.
bool isSumAlone(const artifact::Matmul &op, DType type) {
  const uint32_t postOps = op.post_ops() ? op.post_ops()->size() : 0;
  return type == DType::F32 && op.bias() < 0 &&
         (postOps == 0 || (postOps == 1 && op.post_ops()->Get(0)->kind() == artifact::PostOpKind::Accumulate));
}
} // namespace

bool dgc::rt::isSplitAlongSums(bool isTransposed, int64_t k, bool isForAvx2) {
  return isTransposed && k >= 2048 && !isForAvx2;
}

bool dgc::rt::hasLongSums(const artifact::Matmul &op, DType type, bool isForAvx2) {
  const MatmulLayout layout(op);
  const auto k = static_cast<int64_t>(op.k());
  const bool isLong = k >= blockOfDnnl && k > partsOf(op, layout, isForAvx2).terms;
  // The rounding of a result of 16 bits outweighs what in-order sums of blocks lose.
  return isLong && (type == DType::F32 || isSplitAlongSums(layout.a.columnStride() != 1, k, isForAvx2));
}

LongSums::LongSums(const artifact::Matmul &op, DType type, bool isForAvx2) {
  const MatmulLayout layout(op);
  const Parts cut = partsOf(op, layout, isForAvx2);
  isSmall = cut.isSmall;
  terms = cut.terms;
  ofGroup = cut.ofGroup;
  parts = (layout.a.columns() + terms - 1) / terms;
  groups = (parts + ofGroup - 1) / ofGroup;
  isDirect = !isSmall && groups == 1 && isSumAlone(op, type);
  const int64_t elements = layout.dst.allRows() * layout.dst.columns();
  vectorBytes = (static_cast<size_t>(elements) * sizeof(float) + 63) & ~size_t{63};
  firstPart = isDirect ? 0 : static_cast<size_t>(PairwiseSlots::slots(groups)) * vectorBytes;
  callsAt = firstPart + (isSmall ? static_cast<size_t>(ofGroup) * vectorBytes : 0);
}

namespace {
class LongMatmul final : public PreparedOp {
public:
  LongMatmul(const OpContext &context, const artifact::Matmul &op)
      : scratch(context.scratch), layout(op), result(context, op),
        cut(op, context.buffers[op.dst()].dtype, usesGemmForAvx2()),
        elements(layout.dst.allRows() * layout.dst.columns()) {}

  absl::Status prepare(const OpContext &context, const artifact::Matmul &op, dnnl::memory::data_type type) {
    return guarded("matmul", [&] {
      std::optional<OneThread> each;
      if (cut.isSmall)
        each.emplace();
      const int64_t k = layout.a.columns();
      reserveScratch(context, cut.callsAt);
      size_t freeScratch = cut.callsAt;
      for (int64_t i = 0; i < cut.parts; ++i) {
        // The parts of a group run at the same time where they are small.
        freeScratch = cut.isSmall && i % cut.ofGroup ? freeScratch : cut.callsAt;
        ProductSpec spec = specOf(context, op, type, i);
        spec.a.matrices.sizes.back() = std::min(cut.terms, k - i * cut.terms);
        spec.b.matrices.sizes.rbegin()[1] = spec.a.matrices.sizes.back();
        parts.emplace_back(context, spec, freeScratch, cut.isSmall);
      }
    });
  }

  absl::Status run(const dgc_step &) override {
    for (int64_t group = 0; group < cut.groups; ++group) {
      DGC_RETURN_IF_ERROR(computeGroup(group));
      PairwiseSlots::merge(group, cut.groups, [&](int to, int from) { add(slot(to), slot(from)); });
    }
    if (!cut.isDirect)
      result.store(slot(0));
    return absl::OkStatus();
  }

private:
  /// The operands of part `i`, with all of their sums. It goes to the slot of its group, where those that are not the
  /// first one are added; small ones go to memory of their own.
  ProductSpec specOf(const OpContext &context, const artifact::Matmul &op, dnnl::memory::data_type type,
                     int64_t i) const {
    auto at = [&](uint32_t buffer, int64_t element) {
      return static_cast<std::byte *>(context.buffers[buffer].data) +
             static_cast<size_t>(element) * dnnl::memory::data_type_size(type);
    };
    ProductSpec spec{{layout.a, type, at(op.a(), i * cut.terms * layout.a.columnStride())},
                     {layout.b, type, at(op.b(), i * cut.terms * layout.b.rowStride())},
                     {layout.dst.packed(), dnnl::memory::data_type::f32}};
    const int64_t group = i / cut.ofGroup, inGroup = i % cut.ofGroup;
    spec.dst.offset = static_cast<size_t>(PairwiseSlots::slot(group)) * cut.vectorBytes;
    if (cut.isSmall && inGroup)
      spec.dst.offset = cut.firstPart + static_cast<size_t>(inGroup) * cut.vectorBytes;
    spec.accumulates = !cut.isSmall && inGroup;
    if (cut.isDirect) {
      spec.dst = {layout.dst, type, at(op.dst(), 0)};
      spec.accumulates |= op.post_ops() && op.post_ops()->size();
    }
    return spec;
  }

  /// Leaves the sum of a group in its slot.
  absl::Status computeGroup(int64_t group) {
    const int64_t first = group * cut.ofGroup;
    const int64_t count = std::min(cut.ofGroup, static_cast<int64_t>(parts.size()) - first);
    if (!cut.isSmall) {
      for (int64_t i = first; i < first + count; ++i)
        DGC_RETURN_IF_ERROR(parts[static_cast<size_t>(i)].run());
      return absl::OkStatus();
    }
    std::atomic<bool> failed = false;
    parallelFor(count, [&](int64_t begin, int64_t end) {
      const OneThread each;
      for (int64_t i = begin; i < end; ++i)
        if (!parts[static_cast<size_t>(first + i)].run().ok())
          failed = true;
    });
    if (failed)
      return absl::InternalError("oneDNN failed in a part of a matrix product");
    auto part = [&](int64_t i) {
      return i ? vectorAt(cut.firstPart + static_cast<size_t>(i) * cut.vectorBytes) : slot(PairwiseSlots::slot(group));
    };
    addUpInPairs(count, [&](int64_t to, int64_t from) { add(part(to), part(from)); });
    return absl::OkStatus();
  }

  float *vectorAt(size_t offset) const { return reinterpret_cast<float *>(scratch.data() + offset); }
  float *slot(int64_t index) const { return vectorAt(static_cast<size_t>(index) * cut.vectorBytes); }
  void add(float *to, const float *from) const {
    if (cut.isSmall)
      return addTo(to, from, elements);
    parallelFor(elements, [&](int64_t begin, int64_t end) { addTo(to + begin, from + begin, end - begin); });
  }

  const Scratch &scratch;
  MatmulLayout layout;
  MatmulResult result;
  LongSums cut;
  int64_t elements;
  std::vector<TiledProduct> parts;
};
} // namespace

PreparedOrStatus dgc::rt::prepareLongMatmul(const OpContext &context, const artifact::Matmul &op,
                                            dnnl::memory::data_type type) {
  auto prepared = std::make_unique<LongMatmul>(context, op);
  DGC_RETURN_IF_ERROR(prepared->prepare(context, op, type));
  return prepared;
}
