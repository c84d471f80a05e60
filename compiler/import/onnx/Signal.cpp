// ONNX ops of signals: windows, and Fourier transforms as products with constant matrices.

#include "compiler/import/onnx/Node.h"

#include <cmath>

using namespace mlir;

namespace dgc::import {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 24;

DenseElementsAttr attributeOf(ArrayRef<double> list, ArrayRef<int64_t> shape, Type element) {
  SmallVector<Attribute> values =
      llvm::map_to_vector(list, [&](double each) -> Attribute { return FloatAttr::get(element, each); });
  return DenseElementsAttr::get(RankedTensorType::get(shape, element), values);
}

FailureOr<int64_t> sizeOf(Node &n, unsigned input, StringRef what) {
  FailureOr<SmallVector<int64_t>> given = n.integers(input, what);
  if (failed(given))
    return failure();
  if (given->size() != 1 || given->front() < 1 || given->front() > kMostElements)
    return n.refuse("its " + what + " is not one integer from 1 to 2^24");
  return given->front();
}

/// a - b cos(2 pi i / n) + c cos(4 pi i / n)
LogicalResult window(Node &n, double a, double b, double c) {
  FailureOr<int64_t> size = sizeOf(n, 0, "size");
  FailureOr<Type> element = n.elementType("output_datatype", 1);
  if (failed(size) || failed(element))
    return failure();
  if (!isa<FloatType>(*element))
    return n.refuse("its elements are no floating-point numbers");
  const auto period = static_cast<double>(n.integer("periodic", 1) != 0 ? *size : *size - 1);
  SmallVector<double> list;
  for (int64_t i = 0; i < *size; ++i) {
    const double angle = period == 0 ? 0 : 2 * M_PI * static_cast<double>(i) / period;
    list.push_back(a - b * std::cos(angle) + c * std::cos(2 * angle));
  }
  return n.give(attributeOf(list, {*size}, *element));
}

/// How much each frequency counts in each of the bands that people hear as equally wide.
LogicalResult melWeightMatrix(Node &n) {
  FailureOr<int64_t> bands = sizeOf(n, 0, "num_mel_bins"), length = sizeOf(n, 1, "dft_length"),
                     rate = sizeOf(n, 2, "sample_rate");
  FailureOr<SmallVector<double>> low = n.numbers(3, "lower_edge_hertz"), high = n.numbers(4, "upper_edge_hertz");
  FailureOr<Type> element = n.elementType("output_datatype", 1);
  if (failed(bands) || failed(length) || failed(rate) || failed(low) || failed(high) || failed(element))
    return failure();
  const int64_t bins = *length / 2 + 1;
  if (bins > kMostElements / *bands || !isa<FloatType>(*element))
    return n.refuse("has more than 2^24 elements, or no floating-point numbers");
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = toMel(low->front()), step = (toMel(high->front()) - first) / static_cast<double>(*bands + 2);
  SmallVector<int64_t> edges;
  for (int64_t i = 0; i < *bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (first + static_cast<double>(i) * step) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(*length + 1) * hertz / static_cast<double>(*rate));
    if (!(bin >= 0 && bin <= static_cast<double>(bins)) || (i <= *bands && bin >= static_cast<double>(bins)))
      return n.refuse("its edges are outside of the spectrum");
    edges.push_back(static_cast<int64_t>(bin));
  }
  SmallVector<double> matrix(static_cast<size_t>(bins * *bands), 0);
  for (int64_t i = 0; i < *bands; ++i) {
    const int64_t from = edges[i], center = edges[i + 1], to = edges[i + 2];
    matrix[center * *bands + i] = 1;
    for (int64_t j = from; j < center; ++j)
      matrix[j * *bands + i] = static_cast<double>(j - from) / static_cast<double>(center - from);
    for (int64_t j = center; j < to; ++j)
      matrix[j * *bands + i] = static_cast<double>(to - j) / static_cast<double>(to - center);
  }
  return n.give(attributeOf(matrix, {bins, *bands}, *element));
}

//===-- Fourier transforms ----------------------------------------------===//

/// A transform of `length` elements.
struct Transform {
  int64_t length = 0;
  bool isInverse = false, isOneSided = false;
};

/// How much input `j`, part `p` (real, imaginary) counts in output `k`, part `q`.
double weightOf(const Transform &t, int64_t j, int64_t p, int64_t k, int64_t q) {
  const double angle =
      2 * M_PI * static_cast<double>((j * k) % t.length) / static_cast<double>(t.length) * (t.isInverse ? 1 : -1);
  // (x + iy)(cos + i sin)
  const double weight = p == q ? std::cos(angle) : q == 1 ? std::sin(angle) : -std::sin(angle);
  // One side of the spectrum of real numbers: each frequency stands for its mirror image, too.
  const bool isTwice = t.isInverse && t.isOneSided && j != 0 && 2 * j != t.length;
  return weight * (isTwice ? 2 : 1) / (t.isInverse ? static_cast<double>(t.length) : 1);
}

/// The transform along a dimension of [.., 1 or 2], whose last dimension is the real and the imaginary part.
FailureOr<Value> transformed(Node &n, Value x, int64_t dim, const Transform &t) {
  SmallVector<int64_t> shape(tensorOf(x).getShape());
  const auto rank = static_cast<int64_t>(shape.size());
  const bool isReal = t.isInverse && t.isOneSided;
  // Of more elements than the transform has the first ones count; of fewer, zeros follow.
  const int64_t inputs = std::min(shape[dim], isReal ? t.length / 2 + 1 : t.length), parts = shape.back();
  const int64_t outputs = t.isOneSided && !t.isInverse ? t.length / 2 + 1 : t.length, outputParts = isReal ? 1 : 2;
  if (inputs > kMostElements / outputs / 4)
    return n.refuse("has more than 2^24 factors");
  SmallVector<double> matrix;
  for (int64_t j = 0; j < inputs; ++j)
    for (int64_t p = 0; p < parts; ++p)
      for (int64_t k = 0; k < outputs; ++k)
        for (int64_t q = 0; q < outputParts; ++q)
          matrix.push_back(weightOf(t, j, p, k, q));
  SmallVector<int64_t> starts(shape.size(), 0), limits(shape);
  limits[dim] = inputs;
  Value factors = n.constantOfNumbers(matrix, {inputs, parts, outputs, outputParts}, elementOf(x));
  Value y = n.b.dot(n.b.slice(x, starts, limits), factors, {}, {}, {dim, rank - 1}, {0, 1});
  SmallVector<int64_t> order = firstNumbers(rank - 2); // the dimension and the parts are the last ones now
  order.insert(order.begin() + dim, rank - 2);
  order.push_back(rank - 1);
  return n.b.transpose(y, order);
}

LogicalResult fourier(Node &n) {
  int64_t number = n.integer("axis", 1);
  if (n.version() >= 20) {
    number = -2;
    if (n.has(2)) {
      FailureOr<SmallVector<int64_t>> given = n.integers(2, "axis");
      if (failed(given))
        return failure();
      number = given->front();
    }
  }
  FailureOr<int64_t> dim = n.dim(number, n.rank(0));
  if (failed(dim))
    return failure();
  if (*dim == n.rank(0) - 1 || n.shape(0).back() > 2)
    return n.refuse("its last dimension is not the real and the imaginary part");
  Transform t;
  t.isInverse = n.integer("inverse", 0) != 0;
  t.isOneSided = n.integer("onesided", 0) != 0;
  t.length = t.isInverse && t.isOneSided ? 2 * (n.shape(0)[*dim] - 1) : n.shape(0)[*dim];
  if (n.has(1)) {
    FailureOr<int64_t> given = sizeOf(n, 1, "dft_length");
    if (failed(given))
      return failure();
    t.length = *given;
  }
  if (t.length < 1)
    return n.refuse("its length is 0");
  FailureOr<Value> y = transformed(n, n.in(0), *dim, t);
  return failed(y) ? failure() : n.give(*y);
}

/// The transforms of parts of a signal [batch, length, 1 or 2], each times a window.
LogicalResult shortFourier(Node &n) {
  FailureOr<int64_t> step = sizeOf(n, 1, "frame_step"), length = failure();
  if (n.has(3))
    length = sizeOf(n, 3, "frame_length");
  else if (n.has(2) && n.rank(2) == 1)
    length = n.shape(2)[0];
  else
    return n.refuse("has neither a window nor a frame_length");
  if (failed(step) || failed(length))
    return failure();
  if (n.rank(0) != 3 || n.shape(0)[2] > 2 || *length > n.shape(0)[1] || *length > kMostElements / n.shape(0)[1] ||
      (n.has(2) && (n.rank(2) != 1 || n.shape(2)[0] != *length)))
    return n.refuse("its signal or window does not fit its frames");
  const int64_t frames = (n.shape(0)[1] - *length) / *step + 1;
  SmallVector<int64_t> places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < *length; ++i)
      places.push_back(frame * *step + i);
  Value indices = n.constantOfIntegers(places, {frames, *length});
  Value parts =
      GatherOp::create(n.b.builder, n.b.location, n.in(0), indices, Value(), 1); // [batch, frames, length, 1 or 2]
  if (n.has(2))
    parts = n.b.multiply(parts, n.b.broadcast(n.in(2), tensorOf(parts).getShape(), {2}));
  FailureOr<Value> y = transformed(n, parts, 2, {*length, false, n.integer("onesided", 1) != 0});
  return failed(y) ? failure() : n.give(*y);
}

constexpr OnnxRule rules[] = {
    {"BlackmanWindow", [](Node &n) { return window(n, 0.42, 0.5, 0.08); }},
    {"DFT", fourier},
    {"HammingWindow", [](Node &n) { return window(n, 25.0 / 46, 21.0 / 46, 0); }},
    {"HannWindow", [](Node &n) { return window(n, 0.5, 0.5, 0); }},
    {"MelWeightMatrix", melWeightMatrix},
    {"STFT", shortFourier},
};

} // namespace

ArrayRef<OnnxRule> onnxSignalRules() { return rules; }

} // namespace dgc::import
