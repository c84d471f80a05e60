// Elements that a device needs of the blocks of others.
//
// Device p needs the elements [starts[p], starts[p] + size) of a dimension whose block i holds [i * c, (i + 1) * c). It
// has block p. Block p + d, for a few small distances d, holds the rest: for each d one permute moves what any of the
// devices needs of it. In the result these slabs are next to each other, from a place on that depends on p at most.
// Where the windows run against the blocks, as those of a reversed dimension do, p counts from the other end.

#include "passes/partition/Halo.h"

#include "dialects/dgc/OpSupport.h"
#include "dialects/dgc/TensorBuilder.h"
#include "passes/partition/Padding.h"
#include "passes/partition/ReshardLowering.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
/// Elements [begin, end) of a block.
struct Range {
  int64_t begin, end;
  bool empty() const { return begin >= end; }
  int64_t size() const { return end - begin; }
};

/// What moves so that each device has its window.
class Exchange {
public:
  Exchange(int64_t parts, int64_t block, int64_t total, const OperandWindow &window)
      : parts(parts), block(block), total(total), window(window),
        mirrored(parts > 1 && window.starts.front() > window.starts.back()) {
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t source = 0; source < parts; ++source)
        if (Range range = needed(part, source); !range.empty())
          widen(source - ownerOf(part), range);
    // Slabs side by side have no gaps.
    for (auto [i, slab] : llvm::enumerate(slabs)) {
      if (i > 0)
        slab.begin = 0;
      if (i + 1 < slabs.size())
        slab.end = block;
    }
  }

  /// The part whose block is the one at distance 0.
  int64_t ownerOf(int64_t part) const { return mirrored ? parts - 1 - part : part; }

  /// What `part` needs of the block of `source`.
  Range needed(int64_t part, int64_t source) const {
    int64_t begin = std::max<int64_t>(window.starts[part], 0), base = source * block;
    int64_t end = std::min({window.starts[part] + window.size, total, base + block});
    return {std::max(begin, base) - base, end - base};
  }

  bool needsNothing(int64_t part) const {
    return window.starts[part] >= total || window.starts[part] + window.size <= 0;
  }

  /// The elements that a device receives.
  int64_t received() const {
    int64_t count = 0;
    for (auto [i, slab] : llvm::enumerate(slabs))
      count += stays(i) ? 0 : slab.size();
    return count;
  }

  /// True for the slab that each device has itself.
  bool stays(size_t i) const { return !mirrored && first + int64_t(i) == 0; }

  /// To whom each part sends slab `i`; -1: to no one.
  SmallVector<int64_t> targets(size_t i) const {
    SmallVector<int64_t> targets;
    for (int64_t source = 0; source < parts; ++source) {
      int64_t at = source - first - int64_t(i);
      bool isWanted = at >= 0 && at < parts && !needed(ownerOf(at), source).empty();
      targets.push_back(isWanted ? ownerOf(at) : -1);
    }
    return targets;
  }

  /// Which element of the whole the slabs of `part` begin with.
  int64_t begin(int64_t part) const { return (ownerOf(part) + first) * block + slabs.front().begin; }

  SmallVector<Range> slabs; // by distance, from `first` on
  int64_t first = 0;

private:
  void widen(int64_t distance, Range range) {
    if (slabs.empty())
      first = distance;
    for (; distance < first; --first)
      slabs.insert(slabs.begin(), {block, 0});
    while (first + int64_t(slabs.size()) <= distance)
      slabs.push_back({block, 0});
    Range &slab = slabs[distance - first];
    slab = {std::min(slab.begin, range.begin), std::max(slab.end, range.end)};
  }

  int64_t parts, block, total;
  const OperandWindow &window;
  bool mirrored;
};
} // namespace

/// A scalar i64 that is `values[p]` on device p.
Value HaloBuilder::perDevice(ArrayRef<AxisUse> axes, ArrayRef<int64_t> values) {
  TensorBuilder b(builder, location);
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  if (llvm::all_equal(values))
    return ConstantOp::create(builder, location, DenseElementsAttr::get(scalar, values.front()));
  bool isLinear = true;
  int64_t step = values[1] - values[0];
  for (size_t i = 1; i < values.size(); ++i)
    isLinear &= values[i] - values[i - 1] == step;
  if (isLinear) {
    Value offset = buildOffset(builder, location, mesh, axes, step);
    if (values.front() == 0)
      return offset;
    Value begin = ConstantOp::create(builder, location, DenseElementsAttr::get(scalar, values.front()));
    return b.add(offset, begin);
  }
  auto type = RankedTensorType::get({int64_t(values.size())}, builder.getI64Type());
  Value table = ConstantOp::create(builder, location, DenseElementsAttr::get(type, values));
  return b.reshape(buildSlice(builder, location, mesh, table, 0, axes), {});
}

Value HaloBuilder::take(Value value, const CutDim &cut, ArrayRef<int64_t> starts, int64_t size) {
  TensorBuilder b(builder, location);
  int64_t rank = typeOf(value).getRank(), extent = typeOf(value).getDimSize(cut.dim);
  auto [least, most] = std::minmax_element(starts.begin(), starts.end());
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  low[cut.dim] = std::max<int64_t>(-*least, 0);
  high[cut.dim] = std::max<int64_t>(*most + size - extent, 0);
  if (low[cut.dim] != 0 || high[cut.dim] != 0)
    value = keepEncoding(b.padZero(value, low, high), value);
  if (*least == *most) {
    SmallVector<int64_t> begin(rank, 0), end(typeOf(value).getShape());
    begin[cut.dim] = *least + low[cut.dim];
    end[cut.dim] = begin[cut.dim] + size;
    return keepEncoding(b.slice(value, begin, end), value);
  }
  auto shifted = llvm::map_to_vector(starts, [&](int64_t start) { return start + low[cut.dim]; });
  return DynamicSliceOp::create(builder, location, value, perDevice(cut.axes, shifted), cut.dim, size);
}

Value HaloBuilder::fetch(Value value, const CutDim &cut, const OperandWindow &window, Value fill) {
  int64_t parts = mesh.parts(cut.axes), block = typeOf(value).getDimSize(cut.dim);
  Exchange exchange(parts, block, cut.size, window);
  ArrayAttr axes = axesAttr(builder, mesh, cut.axes);
  std::string cause;
  llvm::raw_string_ostream(cause) << "halo of dimension " << cut.dim << " for " << user;

  Value canvas = value;
  SmallVector<int64_t> starts(parts, 0);
  if (!exchange.slabs.empty() && exchange.received() >= (parts - 1) * block) {
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape[cut.dim] *= parts;
    canvas = AllGatherOp::create(builder, location, typeOf(value).clone(shape), value, cut.dim, mesh.name.getValue(),
                                 axes, builder.getStrArrayAttr(StringRef(cause)))
                 .getResult(0);
    starts = window.starts;
  } else if (!exchange.slabs.empty()) {
    SmallVector<Value> slabs;
    for (auto [i, slab] : llvm::enumerate(exchange.slabs)) {
      Value part = take(value, cut, SmallVector<int64_t>(parts, slab.begin), slab.size());
      if (!exchange.stays(i))
        part = PermuteOp::create(builder, location, part.getType(), part, exchange.targets(i), mesh.name.getValue(),
                                 axes, builder.getStrArrayAttr(StringRef(cause)));
      slabs.push_back(part);
    }
    canvas = slabs.size() == 1 ? slabs[0] : ConcatenateOp::create(builder, location, slabs, cut.dim).getResult();
    for (int64_t part = 0; part < parts; ++part)
      starts[part] = window.starts[part] - exchange.begin(part);
  }
  // A device that needs nothing may take anything.
  int64_t anywhere = 0;
  for (int64_t part = 0; part < parts; ++part)
    if (!exchange.needsNothing(part))
      anywhere = starts[part];
  bool anyOutside = false, anyBefore = false, anyWithout = false;
  for (int64_t part = 0; part < parts; ++part) {
    if (exchange.needsNothing(part)) {
      starts[part] = anywhere;
      anyWithout = true;
    }
    anyBefore |= window.starts[part] < 0;
    anyOutside |= window.starts[part] < 0 || window.starts[part] + window.size > cut.size;
  }
  Value taken = take(canvas, cut, starts, window.size);
  if (!anyOutside || (!fill && !window.identity))
    return taken;
  // Outside of equal parts there are the zeros of permutes and of padding.
  Type element = typeOf(value).getElementType();
  bool isZero = window.identity == ReductionKind::Sum || (fill && isSplatOf(fill, 0));
  if (isZero && !anyWithout && block * parts == cut.size)
    return taken;
  if (!fill)
    fill = TensorBuilder(builder, location).identity(*window.identity, element);
  return maskOutside(builder, location, taken, cut.dim, perDevice(cut.axes, window.starts), cut.size, fill, anyBefore);
}

} // namespace dgc
