// ONNX ops that resize images.

#include "compiler/import/onnx/Node.h"

#include <cmath>

using namespace mlir;

namespace dgc::import {
namespace {

/// Before version 11 elements begin where those of the operand do.
bool isOld(const Node &n) { return n.version() < 11; }

/// Where the elements of a resized dimension are in the operand.
class Coordinates {
public:
  Coordinates(Node &n, int64_t size, int64_t results, double scale, double start, double end)
      : mode(isOld(n) ? "asymmetric" : n.text("coordinate_transformation_mode", "half_pixel")), size(size),
        results(results), scale(scale), start(start), end(end) {}
  /// Whether an element is outside of the operand, and its value a given one.
  bool isExtrapolated(int64_t i) const {
    return mode == "tf_crop_and_resize" && ((*this)(i) < 0 || (*this)(i) > static_cast<double>(size - 1));
  }
  double operator()(int64_t i) const {
    const auto x = static_cast<double>(i);
    const double length = scale * static_cast<double>(size); // of the result, before it was rounded
    if (mode == "asymmetric")
      return x / scale;
    if (mode == "align_corners")
      return length <= 1 ? 0 : x * static_cast<double>(size - 1) / (length - 1);
    if (mode == "tf_crop_and_resize") {
      const auto last = static_cast<double>(size - 1);
      return start * last + (length == 1 ? (end - start) * last / 2 : x * (end - start) * last / (length - 1));
    }
    if (mode == "pytorch_half_pixel")
      return length <= 1 ? 0 : (x + 0.5) / scale - 0.5;
    if (mode == "half_pixel_symmetric") {
      const double center = static_cast<double>(size) / 2, shift = center * (1 - static_cast<double>(results) / length);
      return shift + (x + 0.5) / scale - 0.5;
    }
    return (x + 0.5) / scale - 0.5;
  }
  static bool knows(StringRef mode) {
    return llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                               "asymmetric", "tf_crop_and_resize"},
                              mode);
  }

private:
  StringRef mode;
  int64_t size, results;
  double scale, start, end;
};

int64_t nearest(StringRef mode, double x) {
  double rounded = mode == "floor"               ? std::floor(x)
                   : mode == "ceil"              ? std::ceil(x)
                   : mode == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                 : std::ceil(x - 0.5);
  return static_cast<int64_t>(rounded);
}

/// How much an element at distance `d` counts.
double filter(Node &n, double d) {
  d = std::abs(d);
  if (n.text("mode", "nearest") == "linear")
    return std::max(0.0, 1 - d);
  const double a = n.number("cubic_coeff_a", -0.75);
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// How much each of the elements around x counts, from `first` on. With antialias a smaller result takes more of them.
SmallVector<double> weightsAt(Node &n, double x, double scale, int64_t &first) {
  const double reach = n.text("mode", "nearest") == "linear" ? 1 : 2;
  const double narrow = n.integer("antialias", 0) != 0 ? std::min(scale, 1.0) : 1;
  first = static_cast<int64_t>(std::floor(x - reach / narrow)) + 1;
  SmallVector<double> weights;
  double sum = 0;
  for (int64_t i = first; static_cast<double>(i) < x + reach / narrow; ++i) {
    weights.push_back(filter(n, (static_cast<double>(i) - x) * narrow));
    sum += weights.back();
  }
  for (double &weight : weights)
    weight /= sum;
  return weights;
}

/// A matrix [results, size] that resizes a dimension.
SmallVector<double> matrixOf(Node &n, int64_t size, int64_t results, double scale, const Coordinates &at) {
  SmallVector<double> matrix(results * size, 0);
  for (int64_t i = 0; i < results; ++i) {
    int64_t first = 0;
    SmallVector<double> weights = weightsAt(n, at(i), scale, first);
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

/// One dimension of a resized tensor. `start` and `end` are the part that tf_crop_and_resize takes.
struct ResizedDim {
  int64_t dim = 0, results = 0;
  double scale = 1, start = 0, end = 1;
};

Value resizeDim(Node &n, Value x, const ResizedDim &to) {
  const int64_t dim = to.dim, results = to.results, size = tensorOf(x).getDimSize(dim), rank = tensorOf(x).getRank();
  const Coordinates at(n, size, results, to.scale, to.start, to.end);
  StringRef rounding = isOld(n) ? "floor" : n.text("nearest_mode", "round_prefer_floor");
  Value y;
  if (n.text("mode", "nearest") == "nearest") {
    SmallVector<int64_t> places;
    for (int64_t i = 0; i < results; ++i)
      places.push_back(std::clamp<int64_t>(nearest(rounding, at(i)), 0, size - 1));
    y = GatherOp::create(n.b.builder, n.b.location, x, n.constantOfIntegers(places, {results}), Value(), dim);
  } else {
    Value matrix = n.constantOfNumbers(matrixOf(n, size, results, to.scale, at), {results, size}, elementOf(x));
    Value product = n.b.dot(x, matrix, {}, {}, {dim}, {1}); // the dimension is the last one now
    SmallVector<int64_t> order = firstNumbers(rank - 1);
    order.insert(order.begin() + dim, rank - 1);
    y = n.b.transpose(product, order);
  }
  SmallVector<bool> isOutside;
  for (int64_t i = 0; i < results; ++i)
    isOutside.push_back(at.isExtrapolated(i));
  if (llvm::none_of(isOutside, [](bool is) { return is; }))
    return y;
  auto type = RankedTensorType::get({results}, n.b.builder.getI1Type());
  Value mask = ConstantOp::create(n.b.builder, n.b.location, DenseElementsAttr::get(type, ArrayRef<bool>(isOutside)));
  return n.b.select(n.b.broadcast(mask, tensorOf(y).getShape(), {dim}), n.splat(n.number("extrapolation_value", 0), y),
                    y);
}

/// What the sizes of a result say, with the proportions of the operand where the policy wants them.
FailureOr<SmallVector<ResizedDim>> sizesOf(Node &n, ArrayRef<int64_t> dims, ArrayRef<int64_t> sizes) {
  StringRef policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return n.refuse("keep_aspect_ratio_policy '" + policy + "'");
  SmallVector<ResizedDim> all;
  double together = policy == "not_larger" ? INFINITY : 0;
  for (auto [dim, size] : llvm::zip_equal(dims, sizes)) {
    const double scale = static_cast<double>(size) / static_cast<double>(n.shape(0)[dim]);
    together = policy == "not_larger" ? std::min(together, scale) : std::max(together, scale);
    all.push_back({dim, size, scale});
  }
  for (ResizedDim &each : all)
    if (policy != "stretch")
      each = {each.dim, static_cast<int64_t>(std::floor(together * static_cast<double>(n.shape(0)[each.dim]) + 0.5)),
              together};
  return all;
}

SmallVector<ResizedDim> scalesOf(Node &n, ArrayRef<int64_t> dims, ArrayRef<double> scales) {
  SmallVector<ResizedDim> all;
  for (auto [dim, scale] : llvm::zip_equal(dims, scales)) {
    const double size = std::floor(static_cast<double>(n.shape(0)[dim]) * scale);
    all.push_back({dim, size < 1e9 ? static_cast<int64_t>(size) : 0, scale});
  }
  return all;
}

LogicalResult resizeAll(Node &n, ArrayRef<ResizedDim> dims) {
  Value x = n.in(0);
  for (const ResizedDim &each : dims) {
    if (each.results < 1)
      return n.refuse("dimension " + Twine(each.dim) + " would have " + Twine(each.results) + " elements");
    if (each.results != n.shape(0)[each.dim] || each.scale != 1 || each.start != 0 || each.end != 1)
      x = resizeDim(n, x, each);
  }
  return n.give(x);
}

/// Before version 11: scales alone, an attribute or the second operand.
LogicalResult upsample(Node &n) {
  StringRef mode = n.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear")
    return n.refuse("mode '" + mode + "'");
  FailureOr<SmallVector<double>> scales =
      n.has(1) ? n.numbers(1, "scales") : FailureOr<SmallVector<double>>(n.numbers("scales"));
  if (failed(scales))
    return failure();
  if (static_cast<int64_t>(scales->size()) != n.rank(0))
    return n.refuse("there is not one scale for each dimension");
  if (mode == "nearest" && llvm::any_of(*scales, [](double scale) { return scale < 1; }))
    return n.refuse("of version " + Twine(n.version()) + " does not say which elements a smaller result has");
  return resizeAll(n, scalesOf(n, firstNumbers(n.rank(0)), *scales));
}

LogicalResult resize(Node &n) {
  if (isOld(n))
    return upsample(n);
  StringRef mode = n.text("mode", "nearest"), coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  if (!Coordinates::knows(coordinates))
    return n.refuse("coordinate_transformation_mode '" + coordinates + "'");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return n.refuse("mode '" + mode + "'");
  SmallVector<int64_t> dims = n.hasAttribute("axes") ? n.integers("axes") : firstNumbers(n.rank(0));
  for (int64_t &number : dims) {
    FailureOr<int64_t> dim = n.dim(number, n.rank(0));
    if (failed(dim))
      return failure();
    number = *dim;
  }
  const bool hasSizes = n.has(3), isCropped = coordinates == "tf_crop_and_resize";
  FailureOr<SmallVector<int64_t>> sizes = hasSizes ? n.integers(3, "sizes") : SmallVector<int64_t>();
  FailureOr<SmallVector<double>> scales = hasSizes ? SmallVector<double>() : n.numbers(2, "scales");
  FailureOr<SmallVector<double>> parts = isCropped ? n.numbers(1, "roi") : SmallVector<double>();
  if (failed(sizes) || failed(scales) || failed(parts))
    return failure();
  if ((hasSizes ? sizes->size() : scales->size()) != dims.size() || (isCropped && parts->size() != 2 * dims.size()))
    return n.refuse("there is not one size for each dimension");
  FailureOr<SmallVector<ResizedDim>> all =
      hasSizes ? sizesOf(n, dims, *sizes) : FailureOr<SmallVector<ResizedDim>>(scalesOf(n, dims, *scales));
  if (failed(all))
    return failure();
  for (size_t i = 0; i < dims.size() && isCropped; ++i) {
    (*all)[i].start = (*parts)[i];
    (*all)[i].end = (*parts)[i + dims.size()];
  }
  return resizeAll(n, *all);
}

constexpr OnnxRule rules[] = {
    {"Resize", resize, 10},
    {"Upsample", upsample},
};

} // namespace

ArrayRef<OnnxRule> onnxResizeRules() { return rules; }

} // namespace dgc::import
