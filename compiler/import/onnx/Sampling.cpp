// ONNX ops that take elements of images from places between them.

#include "compiler/import/onnx/Node.h"

#include <cmath>

using namespace mlir;

namespace dgc::import {
namespace {

Value scaled(Node &n, Value x, double factor, double addend) {
  Value y = n.b.multiply(x, factor);
  return n.b.add(y, n.splat(addend, y));
}
Value clamped(Node &n, Value x, double low, double high) {
  return n.b.minimum(n.b.maximum(x, n.splat(low, x)), n.splat(high, x));
}
/// 1 where `x` is in [low, high], else 0.
Value inside(Node &n, Value x, double low, double high) {
  Value is = AndOp::create(n.b.builder, n.b.location, n.b.compare(ComparisonDirection::GE, x, n.splat(low, x)),
                           n.b.compare(ComparisonDirection::LE, x, n.splat(high, x)));
  return n.b.convert(is, elementOf(x));
}

/// An image [n, c, ..] as rows [n * places, c], to be gathered.
Value pixelRows(Node &n, Value image) {
  SmallVector<int64_t> shape(tensorOf(image).getShape()), order = firstNumbers(tensorOf(image).getRank());
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return n.b.reshape(n.b.transpose(image, order), {tensorOf(image).getNumElements() / shape[1], shape[1]});
}

/// Elements of an image by places in each dimension of space, whole numbers as floats within the image. The places are
/// [n, ..], `images` the numbers of their images, or null for their own; the result is [n, .., c].
Value pixelsAt(Node &n, Value rows, ArrayRef<int64_t> space, ArrayRef<Value> places, Value images = {}) {
  auto type = RankedTensorType::get(tensorOf(places[0]).getShape(), n.b.builder.getI64Type());
  Value number = images ? images : Value(IotaOp::create(n.b.builder, n.b.location, type, 0, Value()));
  for (auto [place, size] : llvm::zip_equal(places, space))
    number = n.b.add(n.b.multiply(number, n.splat(static_cast<double>(size), number)),
                     n.b.convert(place, n.b.builder.getI64Type()));
  return GatherOp::create(n.b.builder, n.b.location, rows, number, Value(), 0);
}

/// One of the elements around a place in one dimension, and how much it counts.
struct Tap {
  Value place, weight;
};

/// The sum over all combinations of taps, one of each dimension.
Value sumOfTaps(Node &n, Value rows, ArrayRef<int64_t> space, ArrayRef<SmallVector<Tap>> taps, Value images = {}) {
  SmallVector<size_t> chosen(taps.size(), 0);
  Value sum;
  for (size_t i = 0; i < taps.size();) {
    SmallVector<Value> places;
    Value weight;
    for (auto [list, at] : llvm::zip_equal(taps, chosen)) {
      places.push_back(list[at].place);
      weight = weight ? n.b.multiply(weight, list[at].weight) : list[at].weight;
    }
    Value pixels = pixelsAt(n, rows, space, places, images);
    SmallVector<int64_t> dims = firstNumbers(tensorOf(weight).getRank());
    Value each =
        n.b.multiply(pixels, n.b.broadcast(n.b.convert(weight, elementOf(pixels)), tensorOf(pixels).getShape(), dims));
    sum = sum ? n.b.add(sum, each) : each;
    for (i = 0; i < taps.size() && ++chosen[i] == taps[i].size(); ++i)
      chosen[i] = 0;
  }
  return sum;
}

/// From [n, .., c] to [n, c, ..].
Value channelsSecond(Node &n, Value x) {
  SmallVector<int64_t> order = firstNumbers(tensorOf(x).getRank());
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return n.b.transpose(x, order);
}

//===-- GridSample -------------------------------------------------------===//

/// What happens to places outside of an image.
class Border {
public:
  Border(Node &n, int64_t size) : n(n), mode(n.text("padding_mode", "zeros")), size(static_cast<double>(size)) {
    const bool isAligned = n.integer("align_corners", 0) != 0;
    low = isAligned ? 0 : -0.5;
    high = isAligned ? this->size - 1 : this->size - 0.5;
  }
  /// The place of a coordinate from -1 to 1.
  Value placeOf(Value x) const {
    Value place = n.integer("align_corners", 0) != 0 ? scaled(n, x, (size - 1) / 2, (size - 1) / 2)
                                                     : scaled(n, x, size / 2, (size - 1) / 2);
    return n.text("mode", "linear") == "nearest" ? Value(RoundNearestEvenOp::create(n.b.builder, n.b.location, place))
                                                 : place;
  }
  /// The place that is taken instead.
  Value moved(Value x) const {
    if (mode == "border")
      return clamped(n, x, 0, size - 1);
    return mode == "reflection" ? reflected(x) : x;
  }
  /// The element at a whole place, with a weight that is 0 outside where zeros are around.
  Tap tap(Value place, Value weight) const {
    if (mode == "zeros")
      weight = n.b.multiply(weight, inside(n, place, 0, size - 1));
    if (mode == "reflection") { // toward zero, as the border may be between elements
      place = reflected(place);
      place = n.b.multiply(n.b.sign(place), n.b.floor(n.b.abs(place)));
    }
    return {clamped(n, place, 0, size - 1), weight};
  }

private:
  /// Mirrored at both borders as often as it takes.
  Value reflected(Value x) const {
    const double range = high - low;
    if (range <= 0)
      return n.splat(0, x);
    Value away = n.b.abs(n.b.subtract(x, n.splat(low, x)));
    Value rounds = n.b.floor(n.b.multiply(away, 1 / range));
    Value rest = n.b.subtract(away, n.b.multiply(rounds, range));
    Value half = n.b.multiply(rounds, 0.5);
    Value isEven = n.b.equal(half, n.b.floor(half));
    Value mirrored = n.b.select(isEven, scaled(n, rest, 1, low), scaled(n, rest, -1, high));
    Value isInside = AndOp::create(n.b.builder, n.b.location, n.b.compare(ComparisonDirection::GE, x, n.splat(low, x)),
                                   n.b.compare(ComparisonDirection::LE, x, n.splat(high, x)));
    return n.b.select(isInside, x, mirrored);
  }

  Node &n;
  StringRef mode;
  double size, low = 0, high = 0;
};

/// The elements around a place in one dimension.
SmallVector<Tap> tapsAt(Node &n, const Border &border, Value place, StringRef mode) {
  Value one = n.splat(1, place);
  if (mode == "nearest")
    return {border.tap(place, one)};
  Value low = n.b.floor(place), t = n.b.subtract(place, low);
  if (mode == "linear")
    return {border.tap(low, n.b.subtract(one, t)), border.tap(n.b.add(low, one), t)};
  constexpr double a = -0.75;
  auto near = [&](Value d) { // ((a + 2) d - (a + 3)) d d + 1
    return n.b.add(n.b.multiply(n.b.multiply(scaled(n, d, a + 2, -(a + 3)), d), d), one);
  };
  auto far = [&](Value d) { // ((a d - 5 a) d + 8 a) d - 4 a
    Value inner = n.b.multiply(scaled(n, d, a, -5 * a), d);
    return scaled(n, n.b.multiply(scaled(n, inner, 1, 8 * a), d), 1, -4 * a);
  };
  Value rest = n.b.subtract(one, t);
  return {border.tap(n.b.subtract(low, one), far(n.b.add(t, one))), border.tap(low, near(t)),
          border.tap(n.b.add(low, one), near(rest)), border.tap(scaled(n, low, 1, 2), far(n.b.add(rest, one)))};
}

LogicalResult gridSample(Node &n) {
  StringRef mode = n.text("mode", "linear"), padding = n.text("padding_mode", "zeros");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode; // before version 20
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return n.refuse("mode '" + mode + "'");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return n.refuse("padding_mode '" + padding + "'");
  const int64_t rank = n.rank(0) - 2;
  if (rank < 1 || rank > 3 || n.rank(1) != n.rank(0) || n.shape(1).back() != rank || n.shape(1)[0] != n.shape(0)[0])
    return n.refuse("its grid does not fit its operand");
  SmallVector<int64_t> space(n.shape(0).drop_front(2)), shape(n.shape(1).drop_back());
  Value grid = n.in(1);
  if (elementOf(grid).getIntOrFloatBitWidth() < 32)
    grid = n.b.convert(grid, n.b.builder.getF32Type());
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t dim = 0; dim < rank; ++dim) {
    const Border border(n, space[dim]);
    SmallVector<int64_t> starts(rank + 2, 0), limits(n.shape(1));
    starts.back() = rank - 1 - dim; // the last dimension is the first coordinate
    limits.back() = rank - dim;
    Value x = n.b.reshape(n.b.slice(grid, starts, limits), shape);
    taps.push_back(tapsAt(n, border, border.moved(border.placeOf(x)), mode));
  }
  return n.give(channelsSecond(n, sumOfTaps(n, pixelRows(n, n.in(0)), space, taps)));
}

/// The places that an affine map [n, rank, rank + 1] gives for those of an image.
LogicalResult affineGrid(Node &n) {
  FailureOr<SmallVector<int64_t>> size = n.integers(1, "size");
  if (failed(size))
    return failure();
  const auto rank = static_cast<int64_t>(size->size()) - 2;
  if (rank < 2 || rank > 3 || n.rank(0) != 3 || n.shape(0)[1] != rank || n.shape(0)[2] != rank + 1 ||
      llvm::any_of(*size, [](int64_t s) { return s < 1 || s > (1 << 20); }))
    return n.refuse("its map does not fit its size");
  const bool isAligned = n.integer("align_corners", 0) != 0;
  SmallVector<int64_t> space(ArrayRef(*size).drop_front(2)), all{rank + 1};
  llvm::append_range(all, space);
  Type element = elementOf(n.in(0));
  // Coordinates, the last dimension first, and 1.
  SmallVector<Value> parts;
  SmallVector<int64_t> one(all), dims;
  one[0] = 1;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t dim = rank - 1 - i;
    const auto length = static_cast<double>(space[dim]);
    SmallVector<double> places;
    for (int64_t k = 0; k < space[dim]; ++k)
      places.push_back(isAligned ? (length == 1 ? 0 : 2 * static_cast<double>(k) / (length - 1) - 1)
                                 : (2 * static_cast<double>(k) + 1) / length - 1);
    parts.push_back(n.b.broadcast(n.constantOfNumbers(places, {space[dim]}, element), one, {dim + 1}));
  }
  parts.push_back(n.b.constant(RankedTensorType::get(one, element), 1));
  Value grid = ConcatenateOp::create(n.b.builder, n.b.location, parts, 0);
  Value y = n.b.dot(n.in(0), grid, {}, {}, {2}, {0}); // [n, rank, ..]
  SmallVector<int64_t> order = firstNumbers(rank + 2);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return n.give(n.b.transpose(y, order));
}

//===-- Regions ----------------------------------------------------------===//

/// The two elements around a place of a region, which may be one element outside of the image.
SmallVector<Tap> regionTaps(Node &n, Value place, int64_t size) {
  const auto last = static_cast<double>(size - 1);
  Value counts = inside(n, place, -1, static_cast<double>(size));
  Value at = clamped(n, place, 0, last), low = n.b.floor(at), t = n.b.subtract(at, low);
  Value rest = n.b.multiply(n.b.subtract(n.splat(1, t), t), counts);
  return {{low, rest}, {clamped(n, scaled(n, low, 1, 1), 0, last), n.b.multiply(t, counts)}};
}

/// Where the samples of each region are in one dimension: [regions, results, samples].
Value regionPlaces(Node &n, int64_t dim, int64_t results, int64_t samples) {
  const int64_t regions = n.shape(1)[0];
  const bool isHalf = n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel" && n.version() >= 16;
  const double scale = n.number("spatial_scale", 1);
  auto edge = [&](int64_t column) {
    Value x = n.b.reshape(n.b.slice(n.in(1), {0, column}, {regions, column + 1}), {regions});
    return scaled(n, x, scale, isHalf ? -0.5 : 0);
  };
  Value start = edge(1 - dim), length = n.b.subtract(edge(3 - dim), start);
  if (!isHalf)
    length = n.b.maximum(length, n.splat(1, length));
  SmallVector<double> fractions;
  for (int64_t i = 0; i < results * samples; ++i)
    fractions.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(results * samples));
  SmallVector<int64_t> shape{regions, results, samples};
  Value along = n.b.broadcast(n.constantOfNumbers(fractions, {results, samples}, elementOf(start)), shape, {1, 2});
  return n.b.add(n.b.broadcast(start, shape, {0}), n.b.multiply(n.b.broadcast(length, shape, {0}), along));
}

LogicalResult regionAlign(Node &n) {
  const int64_t rows = n.integer("output_height", 1), columns = n.integer("output_width", 1),
                samples = n.integer("sampling_ratio", 0);
  StringRef mode = n.text("mode", "avg");
  if (mode != "avg" && mode != "max")
    return n.refuse("mode '" + mode + "'");
  if (n.rank(0) != 4 || n.rank(1) != 2 || n.shape(1)[1] != 4 || n.rank(2) != 1 || n.shape(2)[0] != n.shape(1)[0] ||
      rows < 1 || columns < 1)
    return n.refuse("its regions do not fit its operand");
  if (samples < 1 || samples > 64)
    return n.refuse("with a sampling_ratio of " + Twine(samples) +
                    ": how many samples a region has must not depend on it; 1 to 64 are supported");
  const int64_t regions = n.shape(1)[0];
  SmallVector<int64_t> space(n.shape(0).drop_front(2)), shape{regions, rows, samples, columns, samples};
  // The samples of a region are rows and columns of their own.
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t dim : {0, 1}) {
    SmallVector<int64_t> dims = dim == 0 ? SmallVector<int64_t>{0, 1, 2} : SmallVector<int64_t>{0, 3, 4};
    taps.push_back(regionTaps(n, regionPlaces(n, dim, dim == 0 ? rows : columns, samples), space[dim]));
    for (Tap &tap : taps.back())
      tap = {n.b.broadcast(tap.place, shape, dims), n.b.broadcast(tap.weight, shape, dims)};
  }
  Value images = n.b.broadcast(n.b.convert(n.in(2), n.b.builder.getI64Type()), shape, {0}),
        pixels = pixelRows(n, n.in(0));
  Value y;
  if (mode == "avg") {
    y = n.b.reduce(ReductionKind::Sum, sumOfTaps(n, pixels, space, taps, images), {2, 4});
    y = n.b.multiply(y, 1 / static_cast<double>(samples * samples));
  } else { // the largest of the weighted elements, not of their sums
    for (const Tap &row : taps[0])
      for (const Tap &column : taps[1]) {
        Value each = sumOfTaps(n, pixels, space, {SmallVector<Tap>{row}, SmallVector<Tap>{column}}, images);
        y = y ? n.b.maximum(y, each) : each;
      }
    y = n.b.reduce(ReductionKind::Max, y, {2, 4});
  }
  return n.give(channelsSecond(n, y));
}

//===-- DeformConv -------------------------------------------------------===//

/// Elements of the operand at places that move: [n, offset groups, taps, rows, columns] in one dimension.
Value deformedPlaces(Node &n, int64_t dim, int64_t groups, ArrayRef<int64_t> kernel) {
  auto list = [&](StringRef name, size_t at, int64_t fallback) {
    SmallVector<int64_t> given = n.integers(name);
    return at < given.size() ? given[at] : fallback;
  };
  const auto at = static_cast<size_t>(dim);
  const int64_t taps = kernel[0] * kernel[1], rows = n.shape(2)[2], columns = n.shape(2)[3], batch = n.shape(0)[0];
  SmallVector<int64_t> split{batch, groups, taps, 2, rows, columns}, starts(6, 0), limits(split),
      shape{batch, groups, taps, rows, columns};
  starts[3] = dim;
  limits[3] = dim + 1;
  Value moved = n.b.reshape(n.b.slice(n.b.reshape(n.in(2), split), starts, limits), shape);
  SmallVector<double> tapPlaces, places;
  for (int64_t tap = 0; tap < taps; ++tap)
    tapPlaces.push_back(static_cast<double>((dim == 0 ? tap / kernel[1] : tap % kernel[1]) * list("dilations", at, 1)));
  for (int64_t i = 0; i < (dim == 0 ? rows : columns); ++i)
    places.push_back(static_cast<double>(i * list("strides", at, 1) - list("pads", at, 0)));
  Type element = elementOf(moved);
  moved = n.b.add(moved, n.b.broadcast(n.constantOfNumbers(tapPlaces, {taps}, element), shape, {2}));
  return n.b.add(moved, n.b.broadcast(n.constantOfNumbers(places, {static_cast<int64_t>(places.size())}, element),
                                      shape, {3 + dim}));
}

/// A convolution whose windows take their elements from places that an operand moves.
LogicalResult deformableConvolution(Node &n) {
  const int64_t groups = n.integer("group", 1), offsetGroups = n.integer("offset_group", 1);
  if (n.rank(0) != 4 || n.rank(1) != 4 || n.rank(2) != 4 || groups < 1 || offsetGroups < 1)
    return n.refuse("is of images");
  SmallVector<int64_t> x(n.shape(0)), w(n.shape(1)), kernel{w[2], w[3]};
  const int64_t taps = kernel[0] * kernel[1], rows = n.shape(2)[2], columns = n.shape(2)[3], part = x[1] / offsetGroups;
  if (x[1] % offsetGroups != 0 || w[1] * groups != x[1] || w[0] % groups != 0 || n.shape(2)[0] != x[0] ||
      n.shape(2)[1] != offsetGroups * taps * 2)
    return n.refuse("its offsets or weights do not fit its operand");
  SmallVector<int64_t> each{x[0] * offsetGroups, taps, rows, columns};
  // Groups of channels with the same offsets are images of their own.
  Value image = n.b.reshape(n.in(0), {x[0] * offsetGroups, part, x[2], x[3]});
  SmallVector<SmallVector<Tap>> around;
  for (int64_t dim : {0, 1}) {
    Value place = n.b.reshape(deformedPlaces(n, dim, offsetGroups, kernel), each), low = n.b.floor(place);
    Value t = n.b.subtract(place, low), high = scaled(n, low, 1, 1);
    const auto last = static_cast<double>(x[dim + 2] - 1);
    around.push_back({{clamped(n, low, 0, last), n.b.multiply(n.b.subtract(n.splat(1, t), t), inside(n, low, 0, last))},
                      {clamped(n, high, 0, last), n.b.multiply(t, inside(n, high, 0, last))}});
  }
  Value samples =
      sumOfTaps(n, pixelRows(n, image), ArrayRef(x).drop_front(2), around); // [.., taps, rows, columns, part]
  if (n.has(4)) {
    if (n.type(4).getNumElements() != x[0] * offsetGroups * taps * rows * columns)
      return n.refuse("its mask does not fit its offsets");
    samples =
        n.b.multiply(samples, n.b.broadcast(n.b.reshape(n.in(4), each), tensorOf(samples).getShape(), {0, 1, 2, 3}));
  }
  // [n, groups, channels of a group, taps, rows, columns]
  samples = n.b.transpose(n.b.reshape(samples, {x[0], offsetGroups, taps, rows, columns, part}), {0, 1, 5, 2, 3, 4});
  samples = n.b.reshape(samples, {x[0], groups, w[1], taps, rows, columns});
  Value weights = n.b.reshape(n.in(1), {groups, w[0] / groups, w[1], taps});
  Value y = n.b.dot(samples, weights, {1}, {0}, {2, 3}, {2, 3}); // [groups, n, rows, columns, out]
  y = n.b.reshape(n.b.transpose(y, {1, 0, 4, 2, 3}), {x[0], w[0], rows, columns});
  return n.give(n.has(3) ? n.b.add(y, n.b.broadcast(n.in(3), tensorOf(y).getShape(), {1})) : y);
}

constexpr OnnxRule rules[] = {
    {"AffineGrid", affineGrid},
    {"DeformConv", deformableConvolution},
    {"GridSample", gridSample},
    {"RoiAlign", regionAlign},
};

} // namespace

ArrayRef<OnnxRule> onnxSamplingRules() { return rules; }

} // namespace dgc::import
