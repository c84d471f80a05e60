// ONNX ops that combine the elements of windows, and that put them back.

#include "compiler/import/onnx/Window.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// Calls `function` for each place of a window, the last dimension first.
void forEachTap(ArrayRef<int64_t> sizes, llvm::function_ref<void(ArrayRef<int64_t>)> function) {
  SmallVector<int64_t> tap(sizes.size(), 0);
  for (size_t i = 0; i < sizes.size();) {
    function(tap);
    for (i = 0; i < sizes.size() && ++tap[sizes.size() - 1 - i] == sizes[sizes.size() - 1 - i]; ++i)
      tap[sizes.size() - 1 - i] = 0;
  }
}

int64_t tapsOf(const Window &w) {
  int64_t all = 1;
  for (int64_t size : w.sizes)
    all = all > kMostRounds ? all : all * std::min(size, kMostRounds + 1);
  return all;
}

/// The operand [n, .., c] with its padding.
Value padded(Node &n, Value x, const Window &w, Value with) {
  SmallVector<int64_t> low(w.rank() + 2, 0), high(w.rank() + 2, 0);
  for (int64_t i = 0; i < w.rank(); ++i) {
    low[i + 1] = w.padding[2 * i];
    high[i + 1] = w.padding[2 * i + 1];
  }
  return n.b.pad(x, with, low, high);
}

/// The element of each window at one place of it.
Value elementsAt(Node &n, Value padded, const Window &w, ArrayRef<int64_t> tap) {
  SmallVector<int64_t> limits(tensorOf(padded).getShape()), starts(limits.size(), 0), strides(limits.size(), 1);
  for (int64_t i = 0; i < w.rank(); ++i) {
    const int64_t results = (limits[i + 1] - w.extent(i)) / w.strides[i] + 1;
    starts[i + 1] = tap[i] * w.dilations[i];
    limits[i + 1] = starts[i + 1] + (results - 1) * w.strides[i] + 1;
    strides[i + 1] = w.strides[i];
  }
  return n.b.slice(padded, starts, limits, strides);
}

bool isDilated(const Window &w) {
  return llvm::any_of(w.dilations, [](int64_t d) { return d != 1; });
}

/// Windows over [n, .., c]. Those with dilations are combined place by place.
Value reduceWindows(Node &n, ReductionKind kind, Value x, const Window &w) {
  if (isDilated(w)) {
    Value all = padded(n, x, w, n.b.identity(kind, elementOf(x))), result;
    forEachTap(w.sizes, [&](ArrayRef<int64_t> tap) {
      Value each = elementsAt(n, all, w, tap);
      result = result ? combine(n.b, kind, result, each) : each;
    });
    return result;
  }
  SmallVector<int64_t> sizes{1}, strides{1}, padding{0, 0};
  sizes.append(w.sizes);
  strides.append(w.strides);
  padding.append(w.padding);
  sizes.push_back(1);
  strides.push_back(1);
  padding.append({0, 0});
  return n.b.reduceWindow(kind, x, sizes, strides, padding);
}

/// With ceil_mode a last window may begin within the operand and end behind it.
void roundUp(Node &n, Window &w) {
  if (n.integer("ceil_mode", 0) == 0)
    return;
  for (int64_t i = 0; i < w.rank(); ++i) {
    const int64_t size = n.shape(0)[i + 2], low = w.padding[2 * i], all = size + low + w.padding[2 * i + 1];
    int64_t results = llvm::divideCeil(all - w.extent(i), w.strides[i]) + 1;
    if ((results - 1) * w.strides[i] >= size + low)
      --results;
    w.padding[2 * i + 1] = std::max(w.padding[2 * i + 1], (results - 1) * w.strides[i] + w.extent(i) - size - low);
  }
}

FailureOr<Window> poolOf(Node &n) {
  FailureOr<Window> window = windowOf(n, n.integers("kernel_shape"));
  if (failed(window))
    return failure();
  if ((isDilated(*window) || n.wants(1)) && tapsOf(*window) > kMostRounds)
    return n.refuse("with dilations or indices, and windows of more than " + Twine(kMostRounds) + " elements");
  roundUp(n, *window);
  for (int64_t i = 0; i < window->rank(); ++i)
    if (n.shape(0)[i + 2] + window->padding[2 * i] + window->padding[2 * i + 1] < window->extent(i))
      return n.refuse("its window is larger than its operand");
  return window;
}

/// The largest element of each window, and its number in the operand as one dimension.
LogicalResult maxPoolWithIndices(Node &n, const Window &w) {
  Value x = channelsLast(n, n.in(0)), all = padded(n, x, w, n.b.identity(ReductionKind::Max, elementOf(x)));
  // How much the number grows with each dimension of space.
  SmallVector<int64_t> steps(w.rank());
  const bool isRowMajor = n.integer("storage_order", 0) == 0;
  int64_t volume = 1;
  for (int64_t i = 0; i < w.rank(); ++i) {
    const int64_t dim = isRowMajor ? w.rank() - 1 - i : i;
    steps[dim] = volume;
    volume *= n.shape(0)[dim + 2];
  }
  Value best, place;
  forEachTap(w.sizes, [&](ArrayRef<int64_t> tap) {
    Value each = elementsAt(n, all, w, tap);
    int64_t offset = 0;
    for (int64_t i = 0; i < w.rank(); ++i)
      offset += (tap[i] * w.dilations[i] - w.padding[2 * i]) * steps[i];
    auto type = RankedTensorType::get(tensorOf(each).getShape(), n.b.builder.getI64Type());
    Value number = n.b.splat(static_cast<double>(offset), type);
    Value isLarger = best ? n.b.compare(ComparisonDirection::GT, each, best) : Value();
    place = best ? n.b.select(isLarger, number, place) : number;
    best = best ? n.b.select(isLarger, each, best) : each;
  });
  auto add = [&](int64_t dim, int64_t factor) {
    Value numbers = IotaOp::create(n.b.builder, n.b.location, tensorOf(place), dim, Value());
    place = n.b.add(place, n.b.multiply(numbers, n.splat(static_cast<double>(factor), numbers)));
  };
  add(0, n.shape(0)[1] * volume);
  add(w.rank() + 1, volume);
  for (int64_t i = 0; i < w.rank(); ++i)
    add(i + 1, w.strides[i] * steps[i]);
  return n.give(ValueRange{channelsSecond(n, best), channelsSecond(n, place)});
}

LogicalResult maxPool(Node &n) {
  FailureOr<Window> window = poolOf(n);
  if (failed(window))
    return failure();
  if (n.wants(1))
    return maxPoolWithIndices(n, *window);
  return n.give(channelsSecond(n, reduceWindows(n, ReductionKind::Max, channelsLast(n, n.in(0)), *window)));
}

LogicalResult averagePool(Node &n) {
  FailureOr<Window> window = poolOf(n);
  if (failed(window))
    return failure();
  // The elements that a window counts: with count_include_pad the padding too, but not what ceil_mode adds.
  FailureOr<Window> given = windowOf(n, n.integers("kernel_shape"));
  if (failed(given))
    return failure();
  const Window &within = *given;
  Value x = channelsLast(n, n.in(0));
  Value sum = reduceWindows(n, ReductionKind::Sum, x, *window);
  double all = 1;
  for (int64_t size : window->sizes)
    all *= static_cast<double>(size);
  auto isZero = [](int64_t p) { return p == 0; };
  if (llvm::all_of(window->padding, isZero) ||
      (n.integer("count_include_pad", 0) != 0 && window->padding == within.padding))
    return n.give(channelsSecond(n, n.b.divide(sum, n.splat(all, sum))));
  SmallVector<int64_t> shape(tensorOf(x).getShape());
  shape.front() = shape.back() = 1;
  if (n.integer("count_include_pad", 0) != 0)
    for (int64_t i = 0; i < window->rank(); ++i) {
      shape[i + 1] += within.padding[2 * i] + within.padding[2 * i + 1];
      window->padding[2 * i + 1] -= within.padding[2 * i + 1];
      window->padding[2 * i] = 0;
    }
  Value ones = n.b.constant(RankedTensorType::get(shape, elementOf(x)), 1);
  Value counts = reduceWindows(n, ReductionKind::Sum, ones, *window);
  return n.give(channelsSecond(n, n.b.divide(sum, n.broadcast(counts, tensorOf(sum).getShape()))));
}

LogicalResult lpPool(Node &n) {
  FailureOr<Window> window = poolOf(n);
  if (failed(window))
    return failure();
  const int64_t p = n.integer("p", 2);
  Value x = channelsLast(n, n.b.abs(n.in(0)));
  Value powers = p == 1 ? x : p == 2 ? n.b.multiply(x, x) : n.b.power(x, n.splat(static_cast<double>(p), x));
  Value sum = reduceWindows(n, ReductionKind::Sum, powers, *window);
  Value root = p == 1 ? sum : p == 2 ? n.b.sqrt(sum) : n.b.power(sum, n.splat(1 / static_cast<double>(p), sum));
  return n.give(channelsSecond(n, root));
}

/// x / (bias + alpha / size * sum of squares of channels around)^beta
LogicalResult localResponse(Node &n) {
  const int64_t size = n.integer("size", 1);
  if (n.rank(0) < 2 || size < 1)
    return n.refuse("its operand has no channels");
  Value x = n.in(0);
  SmallVector<int64_t> window(n.rank(0), 1), padding(2 * n.rank(0), 0);
  window[1] = size;
  padding[2] = (size - 1) / 2;
  padding[3] = size - 1 - padding[2];
  Value sum = n.b.reduceWindow(ReductionKind::Sum, n.b.multiply(x, x), window, {}, padding);
  Value scaled = n.b.multiply(sum, n.number("alpha", 1e-4) / static_cast<double>(size));
  Value base = n.b.add(scaled, n.splat(n.number("bias", 1), scaled));
  return n.give(n.b.divide(x, n.b.power(base, n.splat(n.number("beta", 0.75), base))));
}

template <ReductionKind kind> LogicalResult globalPool(Node &n) {
  SmallVector<int64_t> dims, shape(n.shape(0));
  double count = 1;
  for (int64_t dim = 2; dim < n.rank(0); ++dim) {
    dims.push_back(dim);
    count *= static_cast<double>(shape[dim]);
    shape[dim] = 1;
  }
  Value all = n.b.reduce(kind, n.in(0), dims);
  if (kind == ReductionKind::Sum)
    all = n.b.divide(all, n.splat(count, all));
  return n.give(n.b.reshape(all, shape));
}

LogicalResult globalLpPool(Node &n) {
  SmallVector<int64_t> dims, shape(n.shape(0));
  for (int64_t dim = 2; dim < n.rank(0); ++dim) {
    dims.push_back(dim);
    shape[dim] = 1;
  }
  const auto p = static_cast<double>(n.integer("p", 2));
  Value x = n.b.abs(n.in(0)), sum = n.b.reduce(ReductionKind::Sum, n.b.power(x, n.splat(p, x)), dims);
  return n.give(n.b.reshape(n.b.power(sum, n.splat(1 / p, sum)), shape));
}

/// Elements at the numbers that a pool has given of them, among zeros. Windows that overlap may give a number twice: with the
/// same element, so the mean of what comes to a place is that.
LogicalResult maxUnpool(Node &n) {
  FailureOr<Window> w = windowOf(n, n.integers("kernel_shape"));
  if (failed(w) || n.shape(1) != n.shape(0))
    return failed(w) ? failure() : n.refuse("its indices have another shape");
  SmallVector<int64_t> shape(n.shape(0));
  int64_t volume = shape[0] * shape[1];
  for (int64_t i = 0; i < w->rank(); ++i) {
    shape[i + 2] = (shape[i + 2] - 1) * w->strides[i] - w->padding[2 * i] - w->padding[2 * i + 1] + w->sizes[i];
    if (shape[i + 2] < 1)
      return n.refuse("nothing is left of dimension " + Twine(i + 2));
    volume *= shape[i + 2];
  }
  const int64_t count = n.type(0).getNumElements();
  Value places = n.b.reshape(n.in(1), {count}), x = n.b.reshape(n.in(0), {count});
  auto sum = [&](Value what) -> Value {
    return ScatterAddOp::create(n.b.builder, n.b.location, places, what, Value(), 0, volume);
  };
  Value all = sum(x), times = sum(n.splat(1, x));
  Value y = n.b.reshape(n.b.divide(all, n.b.maximum(times, n.splat(1, times))), shape);
  if (!n.has(2))
    return n.give(y);
  FailureOr<SmallVector<int64_t>> wanted = n.integers(2, "output_shape");
  if (failed(wanted))
    return failure();
  SmallVector<int64_t> high(shape.size(), 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    high[i] = wanted->size() == shape.size() ? (*wanted)[i] - shape[i] : -1;
    if (high[i] < 0)
      return n.refuse("its output_shape is smaller than what its operand says");
  }
  return n.give(n.b.padZero(y, SmallVector<int64_t>(shape.size(), 0), high));
}

/// The sum of what the windows of an image hold, each a column of the operand.
LogicalResult columnsToImage(Node &n) {
  FailureOr<SmallVector<int64_t>> image = n.integers(1, "image_shape"), block = n.integers(2, "block_shape");
  if (failed(image) || failed(block))
    return failure();
  const size_t rank = image->size();
  auto list = [&](StringRef name, size_t count, int64_t fallback) {
    SmallVector<int64_t> given = n.integers(name);
    return given.empty() ? SmallVector<int64_t>(count, fallback) : given;
  };
  Window w{*block, list("strides", rank, 1), list("dilations", rank, 1), {}};
  SmallVector<int64_t> pads = list("pads", 2 * rank, 0);
  auto isPositive = [](int64_t x) { return x > 0; };
  if (n.rank(0) != 3 || block->size() != rank || w.strides.size() != rank || w.dilations.size() != rank ||
      pads.size() != 2 * rank || !llvm::all_of(*image, isPositive) || !llvm::all_of(*block, isPositive) ||
      !llvm::all_of(w.strides, isPositive) || !llvm::all_of(w.dilations, isPositive) || tapsOf(w) > kMostRounds)
    return n.refuse("its window does not fit its image, or has more than " + Twine(kMostRounds) + " elements");
  const int64_t taps = tapsOf(w);
  SmallVector<int64_t> split{n.shape(0)[0], n.shape(0)[1] / taps, taps}, whole, starts{0, 0},
      limits(split.begin(), split.begin() + 2);
  int64_t columns = 1;
  for (size_t i = 0; i < rank; ++i) {
    whole.push_back((*image)[i] + pads[i] + pads[i + rank]);
    split.push_back((whole[i] - w.extent(static_cast<int64_t>(i))) / w.strides[i] + 1);
    columns *= whole[i] < w.extent(static_cast<int64_t>(i)) ? 0 : split.back();
    starts.push_back(pads[i]);
    limits.push_back(pads[i] + (*image)[i]);
  }
  if (columns != n.shape(0)[2] || split[1] * taps != n.shape(0)[1])
    return n.refuse("its operand does not have the columns of its image");
  Value x = n.b.reshape(n.in(0), split), sum;
  int64_t number = 0;
  forEachTap(*block, [&](ArrayRef<int64_t> tap) {
    SmallVector<int64_t> from(split.size(), 0), to(split), shape(split), low(rank + 2, 0), high(low), between(low);
    from[2] = number++;
    to[2] = number;
    shape.erase(shape.begin() + 2);
    for (size_t i = 0; i < rank; ++i) {
      low[i + 2] = tap[i] * w.dilations[i];
      between[i + 2] = w.strides[i] - 1;
      high[i + 2] = whole[i] - low[i + 2] - (shape[i + 2] - 1) * w.strides[i] - 1;
    }
    Value part = n.b.padZero(n.b.reshape(n.b.slice(x, from, to), shape), low, high, between);
    sum = sum ? n.b.add(sum, part) : part;
  });
  return n.give(n.b.slice(sum, starts, limits));
}

constexpr OnnxRule rules[] = {
    {"AveragePool", averagePool},
    {"Col2Im", columnsToImage},
    {"GlobalAveragePool", globalPool<ReductionKind::Sum>},
    {"GlobalLpPool", globalLpPool},
    {"GlobalMaxPool", globalPool<ReductionKind::Max>},
    {"LRN", localResponse},
    {"LpPool", lpPool},
    {"MaxPool", maxPool},
    {"MaxUnpool", maxUnpool},
};

} // namespace

ArrayRef<OnnxRule> onnxPoolingRules() { return rules; }

} // namespace dgc::import
