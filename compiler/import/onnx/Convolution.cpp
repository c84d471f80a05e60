// ONNX ops that slide windows over images, and that resize them. In ONNX channels are dimension 1, in dgc the last one.

#include "compiler/import/onnx/Node.h"

#include <cmath>

using namespace mlir;

namespace dgc::import {
namespace {

/// From [n, c, ..] to [n, .., c], and back.
Value channelsLast(Node &n, Value x) {
  SmallVector<int64_t> order = firstNumbers(tensorOf(x).getRank());
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return n.b.transpose(x, order);
}
Value channelsSecond(Node &n, Value x) {
  SmallVector<int64_t> order = firstNumbers(tensorOf(x).getRank());
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return n.b.transpose(x, order);
}

/// What an op says of its window, with a number for each dimension of space. `padding` is low, high, low, high, ..
struct Window {
  SmallVector<int64_t> sizes, strides, dilations, padding;
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t extent(int64_t i) const { return (sizes[i] - 1) * dilations[i] + 1; }
};

FailureOr<Window> windowOf(Node &n, SmallVector<int64_t> sizes, bool hasPadding = true) {
  Window w;
  w.sizes = std::move(sizes);
  const size_t rank = w.sizes.size();
  auto list = [&](StringRef name) {
    SmallVector<int64_t> given = n.integers(name);
    return given.empty() ? SmallVector<int64_t>(rank, 1) : given;
  };
  w.strides = list("strides");
  w.dilations = list("dilations");
  SmallVector<int64_t> pads = n.integers("pads");
  if (pads.empty())
    pads.assign(2 * rank, 0);
  auto isPositive = [](int64_t x) { return x > 0; };
  if (static_cast<size_t>(n.rank(0)) != rank + 2 || w.strides.size() != rank || w.dilations.size() != rank ||
      pads.size() != 2 * rank || !llvm::all_of(w.sizes, isPositive) || !llvm::all_of(w.strides, isPositive) ||
      !llvm::all_of(w.dilations, isPositive))
    return n.refuse("its window is not one of " + Twine(n.rank(0) - 2) + " dimensions");
  StringRef automatic = n.text("auto_pad", "NOTSET");
  for (size_t i = 0; i < rank && hasPadding; ++i) {
    int64_t low = pads[i], high = pads[i + rank];
    if (automatic == "VALID")
      low = high = 0;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const int64_t size = n.shape(0)[i + 2], results = llvm::divideCeil(size, w.strides[i]);
      const int64_t all = std::max<int64_t>(0, (results - 1) * w.strides[i] + w.extent(i) - size);
      low = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      high = all - low;
    }
    if (low < 0 || high < 0)
      return n.refuse("negative padding");
    w.padding.append({low, high});
  }
  return w;
}

Value convolve(Node &n, Value x, Value weights, const Window &w, ArrayRef<int64_t> lhsDilation, int64_t groups) {
  return ConvolutionOp::create(n.b.builder, n.b.location, x, weights, w.strides, w.padding, w.dilations,
                               SmallVector<int64_t>(lhsDilation), static_cast<uint64_t>(groups));
}

Value withBias(Node &n, Value y) {
  return n.has(2) ? n.b.add(y, n.b.broadcast(n.in(2), tensorOf(y).getShape(), {1})) : y;
}

LogicalResult convolution(Node &n) {
  if (n.rank(0) < 3 || n.rank(1) != n.rank(0))
    return n.refuse("its operands have no channels");
  FailureOr<Window> window = windowOf(n, SmallVector<int64_t>(n.shape(1).drop_front(2)));
  if (failed(window))
    return failure();
  const int64_t groups = n.integer("group", 1);
  if (groups < 1 || n.shape(1)[1] * groups != n.shape(0)[1] || n.shape(1)[0] % groups != 0)
    return n.refuse("its channels are not those of its weights");
  // [out, in, ..] becomes [.., in, out].
  SmallVector<int64_t> order;
  for (int64_t dim = 2; dim < n.rank(1); ++dim)
    order.push_back(dim);
  order.append({1, 0});
  Value y = convolve(n, channelsLast(n, n.in(0)), n.b.transpose(n.in(1), order), *window,
                     SmallVector<int64_t>(window->rank(), 1), groups);
  return n.give(withBias(n, channelsSecond(n, y)));
}

/// A convolution over the operand with zeros between its elements, with mirrored weights.
LogicalResult transposedConvolution(Node &n) {
  if (n.rank(0) < 3 || n.rank(1) != n.rank(0))
    return n.refuse("its operands have no channels");
  FailureOr<Window> window = windowOf(n, SmallVector<int64_t>(n.shape(1).drop_front(2)), /*hasPadding=*/false);
  if (failed(window))
    return failure();
  const int64_t rank = window->rank(), groups = n.integer("group", 1), inputs = n.shape(0)[1], outputs = n.shape(1)[1];
  if (groups < 1 || inputs != n.shape(1)[0] || inputs % groups != 0)
    return n.refuse("its channels are not those of its weights");
  SmallVector<int64_t> more = n.integers("output_padding"), wanted = n.integers("output_shape"),
                       pads = n.integers("pads");
  more.resize(rank, 0);
  pads.resize(2 * rank, 0);
  StringRef automatic = n.text("auto_pad", "NOTSET");
  SmallVector<int64_t> starts(rank + 2, 0), cut(rank, 0), strides(window->strides);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = n.shape(0)[i + 2], full = strides[i] * (size - 1) + more[i] + window->extent(i);
    int64_t low = pads[i], high = pads[i + rank];
    if (automatic == "VALID")
      low = high = 0;
    int64_t result = -1;
    if (!wanted.empty())
      result = wanted[wanted.size() - rank + i];
    else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
      result = size * strides[i];
    if (result >= 0) {
      const int64_t all = full - result;
      low = automatic == "SAME_LOWER" ? all - all / 2 : all / 2;
      high = all - low;
    }
    // What is taken away at the ends of the full result: less padding, and what is more than that is cut off.
    low = window->extent(i) - 1 - low;
    high = window->extent(i) - 1 - high + more[i];
    starts[i + 1] = std::max<int64_t>(0, -low);
    cut[i] = std::max<int64_t>(0, -high);
    window->padding.append({std::max<int64_t>(0, low), std::max<int64_t>(0, high)});
    window->strides[i] = 1;
  }
  // [g * in, out, ..] becomes [.., in, g * out], mirrored.
  SmallVector<int64_t> split{groups, inputs / groups, outputs}, order, mirrored, kernel;
  for (int64_t i = 0; i < rank; ++i) {
    split.push_back(window->sizes[i]);
    order.push_back(i + 3);
    mirrored.push_back(i);
    kernel.push_back(window->sizes[i]);
  }
  order.append({1, 0, 2});
  kernel.append({inputs / groups, groups * outputs});
  Value weights = n.b.reshape(n.b.transpose(n.b.reshape(n.in(1), split), order), kernel);
  weights = ReverseOp::create(n.b.builder, n.b.location, weights, mirrored);
  Value y = convolve(n, channelsLast(n, n.in(0)), weights, *window, strides, groups);
  SmallVector<int64_t> limits(tensorOf(y).getShape());
  for (int64_t i = 0; i < rank; ++i)
    limits[i + 1] -= cut[i];
  return n.give(withBias(n, channelsSecond(n, n.b.slice(y, starts, limits))));
}

/// Windows over [n, .., c].
Value reduceWindows(Node &n, ReductionKind kind, Value x, const Window &w) {
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
  if (llvm::any_of(window->dilations, [](int64_t d) { return d != 1; }))
    return n.refuse("with dilations");
  return window;
}

LogicalResult maxPool(Node &n) {
  FailureOr<Window> window = poolOf(n);
  if (failed(window))
    return failure();
  roundUp(n, *window);
  return n.give(channelsSecond(n, reduceWindows(n, ReductionKind::Max, channelsLast(n, n.in(0)), *window)));
}

LogicalResult averagePool(Node &n) {
  FailureOr<Window> window = poolOf(n);
  if (failed(window))
    return failure();
  // The elements that a window counts: with count_include_pad the padding too, but not what ceil_mode adds.
  Window within = *window;
  roundUp(n, *window);
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
  roundUp(n, *window);
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

//===-- Resize ----------------------------------------------------------===//

/// Where the elements of a resized dimension are in the operand.
class Coordinates {
public:
  Coordinates(Node &n, int64_t size, int64_t results, double scale)
      : mode(n.text("coordinate_transformation_mode", "half_pixel")), size(size), results(results), scale(scale) {}
  double operator()(int64_t i) const {
    const auto x = static_cast<double>(i);
    const double length = scale * static_cast<double>(size); // of the result, before it was rounded
    if (mode == "asymmetric")
      return x / scale;
    if (mode == "align_corners")
      return length <= 1 ? 0 : x * static_cast<double>(size - 1) / (length - 1);
    if (mode == "pytorch_half_pixel")
      return length <= 1 ? 0 : (x + 0.5) / scale - 0.5;
    if (mode == "half_pixel_symmetric") {
      const double center = static_cast<double>(size) / 2, shift = center * (1 - static_cast<double>(results) / length);
      return shift + (x + 0.5) / scale - 0.5;
    }
    return (x + 0.5) / scale - 0.5;
  }
  static bool knows(StringRef mode) {
    return llvm::is_contained(
        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}, mode);
  }

private:
  StringRef mode;
  int64_t size, results;
  double scale;
};

int64_t nearest(StringRef mode, double x) {
  double rounded = mode == "floor"               ? std::floor(x)
                   : mode == "ceil"              ? std::ceil(x)
                   : mode == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                 : std::ceil(x - 0.5);
  return static_cast<int64_t>(rounded);
}

/// How much each of the elements around x counts, from `first` on.
SmallVector<double> weightsAt(Node &n, double x, int64_t &first) {
  const double low = std::floor(x), t = x - low;
  if (n.text("mode", "nearest") == "linear") {
    first = static_cast<int64_t>(low);
    return {1 - t, t};
  }
  first = static_cast<int64_t>(low) - 1;
  const double a = n.number("cubic_coeff_a", -0.75);
  auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

/// A matrix [results, size] that resizes a dimension.
SmallVector<double> matrixOf(Node &n, int64_t size, int64_t results, const Coordinates &at) {
  SmallVector<double> matrix(results * size, 0);
  for (int64_t i = 0; i < results; ++i) {
    int64_t first = 0;
    SmallVector<double> weights = weightsAt(n, at(i), first);
    double sum = 0;
    for (auto [k, weight] : llvm::enumerate(weights)) {
      const int64_t place = first + static_cast<int64_t>(k);
      const bool isOutside = place < 0 || place >= size;
      if (isOutside && n.integer("exclude_outside", 0) != 0)
        continue;
      sum += weight;
      matrix[i * size + std::clamp<int64_t>(place, 0, size - 1)] += weight;
    }
    for (int64_t j = 0; j < size && n.integer("exclude_outside", 0) != 0; ++j)
      matrix[i * size + j] /= sum;
  }
  return matrix;
}

Value resizeDim(Node &n, Value x, int64_t dim, int64_t results, double scale) {
  const int64_t size = tensorOf(x).getDimSize(dim), rank = tensorOf(x).getRank();
  const Coordinates at(n, size, results, scale);
  if (n.text("mode", "nearest") == "nearest") {
    SmallVector<int64_t> places;
    for (int64_t i = 0; i < results; ++i)
      places.push_back(std::clamp<int64_t>(nearest(n.text("nearest_mode", "round_prefer_floor"), at(i)), 0, size - 1));
    return GatherOp::create(n.b.builder, n.b.location, x, n.constantOfIntegers(places, {results}), Value(), dim);
  }
  Value matrix = n.constantOfNumbers(matrixOf(n, size, results, at), {results, size}, elementOf(x));
  Value product = n.b.dot(x, matrix, {}, {}, {dim}, {1}); // the dimension is the last one now
  SmallVector<int64_t> order = firstNumbers(rank - 1);
  order.insert(order.begin() + dim, rank - 1);
  return n.b.transpose(product, order);
}

LogicalResult resize(Node &n) {
  StringRef mode = n.text("mode", "nearest"), coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  if (!Coordinates::knows(coordinates))
    return n.refuse("coordinate_transformation_mode '" + coordinates + "'");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return n.refuse("mode '" + mode + "'");
  if (n.integer("antialias", 0) != 0)
    return n.refuse("with antialias");
  if (n.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return n.refuse("keep_aspect_ratio_policy '" + n.text("keep_aspect_ratio_policy", "") + "'");
  SmallVector<int64_t> dims = n.integers("axes");
  if (dims.empty())
    dims = firstNumbers(n.rank(0));
  const bool hasSizes = n.has(3);
  FailureOr<SmallVector<int64_t>> sizes = hasSizes ? n.integers(3, "sizes") : SmallVector<int64_t>();
  FailureOr<SmallVector<double>> scales = hasSizes ? SmallVector<double>() : n.numbers(2, "scales");
  if (failed(sizes) || failed(scales))
    return failure();
  if ((hasSizes ? sizes->size() : scales->size()) != dims.size())
    return n.refuse("there is not one size for each dimension");
  Value x = n.in(0);
  for (auto [i, number] : llvm::enumerate(dims)) {
    FailureOr<int64_t> dim = n.dim(number, n.rank(0));
    if (failed(dim))
      return failure();
    const int64_t size = n.shape(0)[*dim];
    const auto length = static_cast<double>(size);
    const int64_t results = hasSizes ? (*sizes)[i] : static_cast<int64_t>(std::floor(length * (*scales)[i]));
    if (results < 1)
      return n.refuse("nothing is left of dimension " + Twine(*dim));
    if (results != size || (!hasSizes && (*scales)[i] != 1))
      x = resizeDim(n, x, *dim, results, hasSizes ? static_cast<double>(results) / length : (*scales)[i]);
  }
  return n.give(x);
}

constexpr OnnxRule rules[] = {
    {"AveragePool", averagePool},
    {"Conv", convolution},
    {"ConvTranspose", transposedConvolution},
    {"GlobalAveragePool", globalPool<ReductionKind::Sum>},
    {"GlobalMaxPool", globalPool<ReductionKind::Max>},
    {"LRN", localResponse},
    {"LpPool", lpPool},
    {"MaxPool", maxPool},
    {"Resize", resize},
};

} // namespace

ArrayRef<OnnxRule> onnxConvolutionRules() { return rules; }

} // namespace dgc::import
