// Products and convolutions of random programs.
#include "test/unit/fuzz/PrimitiveOps.h"

#include <cmath>

namespace dgc::testing {

namespace {

struct Products : PrimitiveMaker {
  void giveProduct(const std::string &text, const Value &x, const Value &y, const Shape &shape, int64_t count) {
    if (!isFloat(x.element)) {
      w.use(x);
      return w.giveExact(text, shape, x.element);
    }
    Value result;
    const double roundings = bitsOf(x.element) > 16 ? 0.5 + 0.5 * std::log2(count + 1.0) : 0.5;
    if (w.rounded(result, text, shape, count * x.bound * y.bound, {x, y}, count * (x.bound + y.bound), roundings))
      w.give(result);
  }

  void dot() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return (value.rank() == 2 || value.rank() == 3) && isNumber(value); }))
      return;
    const int64_t dim = w.draw(x.rank()), batch = x.rank() == 3 && w.draw(2) ? (dim + 1) % 3 : -1;
    const int64_t count = x.shape[dim], columns = 1 + w.draw(5);
    Shape ofY = {columns, count}, shape;
    if (batch >= 0) {
      ofY.insert(ofY.begin(), x.shape[batch]);
      shape.push_back(x.shape[batch]);
    }
    for (int64_t d = 0; d < x.rank(); ++d)
      if (d != dim && d != batch)
        shape.push_back(x.shape[d]);
    shape.push_back(columns);
    const Value y = w.partner(x, ofY);
    giveProduct(join("dgc.dot_general ", x.name, ", ", y.name, batch >= 0 ? join(" batch [", batch, "] x [0]") : "",
                     " contract [", dim, "] x [", batch >= 0 ? 2 : 1, "] : ", x.type(), ", ", y.type()),
                x, y, shape, count);
  }

  struct Windows {
    Shape window, strides, low, high, gaps, spread; // gaps: of the window; spread: of what it goes over
    Shape count;
  };
  Windows windows(const Shape &sizes, bool isSpread) {
    Windows at;
    for (int64_t size : sizes) {
      int64_t window = 1 + w.draw(3);
      at.strides.push_back(1 + w.draw(2));
      at.low.push_back(w.draw(3));
      at.high.push_back(w.draw(3));
      at.gaps.push_back(1 + w.draw(2));
      at.spread.push_back(isSpread ? 1 + w.draw(2) : 1);
      const int64_t padded = (size - 1) * at.spread.back() + 1 + at.low.back() + at.high.back();
      if ((window - 1) * at.gaps.back() + 1 > padded)
        window = 1;
      at.window.push_back(window);
      at.count.push_back((padded - (window - 1) * at.gaps.back() - 1) / at.strides.back() + 1);
    }
    return at;
  }

  /// The names of so many spatial dimensions: "0, 1".
  static std::string spatialNames(int64_t count) {
    Shape numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    const std::string list = listOf(numbers);
    return list.substr(1, list.size() - 2);
  }

  /// A convolution of StableHLO. `order` says what the dimensions are.
  std::string convolutionOf(const Value &x, const Value &filter, const std::string &order, const Windows &at,
                            bool isMirrored, const std::string &groups, const Shape &shape) {
    std::string mirrored;
    for (size_t d = 0; d < at.window.size(); ++d)
      mirrored += (d ? ", " : "") + (isMirrored ? w.choose({"true", "false"}) : "false");
    return join("stablehlo.convolution(", x.name, ", ", filter.name, ") dim_numbers = ", order,
                ", window = {stride = ", listOf(at.strides), ", pad = ", pairsOf(at.low, at.high),
                ", lhs_dilate = ", listOf(at.spread), ", rhs_dilate = ", listOf(at.gaps), ", reverse = [", mirrored,
                "]} {", groups, "} : (", x.type(), ", ", filter.type(), ") -> ", tensorOf(shape, x.element));
  }

  /// With groups, strides and dilations; with the channels behind, or before and a filter that may be mirrored.
  void convolution() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return (value.rank() == 3 || value.rank() == 4) && isNumber(value); }))
      return;
    const int64_t channels = x.shape.back(), numSpatial = x.rank() - 2;
    const int64_t groups = w.choose(std::vector<int64_t>{1, channels % 2 ? 1 : 2, channels % 3 ? 1 : 3});
    const int64_t filters = groups * (1 + w.draw(2));
    const Windows at = windows(Shape(x.shape.begin() + 1, x.shape.end() - 1), /*isSpread=*/true);
    Shape ofFilter = at.window, shape = at.count;
    ofFilter.insert(ofFilter.end(), {channels / groups, filters});
    shape.insert(shape.begin(), x.shape[0]);
    shape.push_back(filters);
    if (sizeOf(shape) > largestSize || !smallUnary(x, "tanh"))
      return;
    Value filter = w.partner(x, ofFilter);
    if (!smallUnary(filter, "sine"))
      return;
    const int64_t count = sizeOf(at.window) * channels / groups;
    if (w.draw(2))
      return giveProduct(join("dgc.convolution ", x.name, ", ", filter.name, " strides ", listOf(at.strides),
                              " padding ", pairsOf(at.low, at.high), " dilation ", listOf(at.gaps), " lhs_dilation ",
                              listOf(at.spread), " groups ", groups, " : ", x.type(), ", ", filter.type()),
                         x, filter, shape, count);
    Shape order = {0, x.rank() - 1}, first = {x.shape[0], channels};
    for (int64_t d = 1; d <= numSpatial; ++d) {
      order.push_back(d);
      first.push_back(x.shape[d]);
    }
    w.use(x);
    x = w.define(join("dgc.transpose ", x.name, " permutation ", listOf(order), " : ", x.type()), x, first);
    shape = at.count;
    shape.insert(shape.begin(), {x.shape[0], filters});
    const std::string dims = spatialNames(numSpatial);
    giveProduct(convolutionOf(x, filter, join("[b, f, ", dims, "]x[", dims, ", i, o]->[b, f, ", dims, "]"), at,
                              /*isMirrored=*/true,
                              join("batch_group_count = 1 : i64, feature_group_count = ", groups, " : i64"), shape),
                x, filter, shape, count);
  }

  /// Groups of examples, each of which has filters of its own: with the dimensions of a model, or with those that the gradient
  /// of a filter has.
  void convolutionOfBatches() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isNumber(value); }))
      return;
    const bool isGradient = w.draw(2);
    const int64_t groups = 2 + w.draw(2), examples = groups * (1 + w.draw(2)), channels = 1 + w.draw(3);
    const int64_t filters = groups * (1 + w.draw(2)), numSpatial = 1 + w.draw(2);
    Shape sizes;
    for (int64_t d = 0; d < numSpatial; ++d)
      sizes.push_back(3 + w.draw(3));
    const Windows at = windows(sizes, /*isSpread=*/!isGradient || w.draw(3) == 0);
    // Examples, what is in space, channels; filters are without examples.
    Shape ofX = sizes, ofFilter = at.window, shape = at.count;
    ofX.insert(ofX.begin(), isGradient ? channels : examples);
    ofX.push_back(isGradient ? examples : channels);
    if (isGradient)
      ofFilter.insert(ofFilter.begin(), channels);
    else
      ofFilter.push_back(channels);
    ofFilter.push_back(filters);
    shape.insert(isGradient ? shape.end() : shape.begin(), examples / groups);
    shape.push_back(filters);
    if (sizeOf(shape) > largestSize)
      return;
    x = w.resized(x, ofX);
    if (!smallUnary(x, "tanh"))
      return;
    Value filter = w.partner(x, ofFilter);
    if (!smallUnary(filter, "sine"))
      return;
    const std::string dims = spatialNames(numSpatial);
    const std::string order = isGradient ? join("[f, ", dims, ", b]x[i, ", dims, ", o]->[", dims, ", b, f]")
                                         : join("[b, ", dims, ", f]x[", dims, ", i, o]->[b, ", dims, ", f]");
    giveProduct(convolutionOf(x, filter, order, at, /*isMirrored=*/!isGradient,
                              join("batch_group_count = ", groups, " : i64, feature_group_count = 1 : i64"), shape),
                x, filter, shape, sizeOf(at.window) * channels);
  }
};

} // namespace

std::vector<PrimitiveOp> rareProductOps() { return {add<Products, &Products::convolutionOfBatches>}; }

std::vector<PrimitiveOp> productOps() {
  return {add<Products, &Products::dot>, add<Products, &Products::convolution>, add<Products, &Products::convolution>};
}

} // namespace dgc::testing
