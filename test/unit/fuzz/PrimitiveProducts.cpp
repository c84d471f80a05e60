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

  /// With groups, strides and dilations; with the channels behind, or before and a filter that may be mirrored.
  void convolution() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return (value.rank() == 3 || value.rank() == 4) && isNumber(value); }))
      return;
    const int64_t channels = x.shape.back(), numSpatial = x.rank() - 2;
    const int64_t groups = w.choose(std::vector<int64_t>{1, channels % 2 ? 1 : 2, channels % 3 ? 1 : 3});
    const int64_t filters = groups * (1 + w.draw(2));
    Shape window, strides, low, high, gaps, spread, spatial;
    for (int64_t d = 1; d <= numSpatial; ++d) {
      window.push_back(1 + w.draw(3));
      strides.push_back(1 + w.draw(2));
      low.push_back(w.draw(3));
      high.push_back(w.draw(3));
      gaps.push_back(1 + w.draw(2));
      spread.push_back(1 + w.draw(2));
      const int64_t padded = (x.shape[d] - 1) * spread.back() + 1 + low.back() + high.back();
      if ((window.back() - 1) * gaps.back() + 1 > padded)
        window.back() = 1;
      spatial.push_back((padded - (window.back() - 1) * gaps.back() - 1) / strides.back() + 1);
    }
    Shape ofFilter = window, shape = spatial;
    ofFilter.insert(ofFilter.end(), {channels / groups, filters});
    shape.insert(shape.begin(), x.shape[0]);
    shape.push_back(filters);
    if (sizeOf(shape) > largestSize)
      return;
    const double roundings = PrimitiveWriter::roundingsOf(x.element);
    if (isFloat(x.element) && x.bound > 1 && !roundedUnary(x, "tanh", 1, 1, roundings))
      return;
    Value filter = w.partner(x, ofFilter);
    if (isFloat(x.element) && filter.bound > 1 && !roundedUnary(filter, "sine", 1, 1, roundings))
      return;
    const int64_t count = sizeOf(window) * channels / groups;
    if (w.draw(2))
      return giveProduct(join("dgc.convolution ", x.name, ", ", filter.name, " strides ", listOf(strides), " padding ",
                              pairsOf(low, high), " dilation ", listOf(gaps), " lhs_dilation ", listOf(spread),
                              " groups ", groups, " : ", x.type(), ", ", filter.type()),
                         x, filter, shape, count);
    Shape order = {0, x.rank() - 1}, first = {x.shape[0], channels};
    std::string dims, mirrored;
    for (int64_t d = 0; d < numSpatial; ++d) {
      order.push_back(d + 1);
      first.push_back(x.shape[d + 1]);
      dims += (d ? ", " : "") + std::to_string(d);
      mirrored += (d ? ", " : "") + w.choose({"true", "false"});
    }
    w.use(x);
    x = w.define(join("dgc.transpose ", x.name, " permutation ", listOf(order), " : ", x.type()), x, first);
    shape = spatial;
    shape.insert(shape.begin(), {x.shape[0], filters});
    giveProduct(join("stablehlo.convolution(", x.name, ", ", filter.name, ") dim_numbers = [b, f, ", dims, "]x[", dims,
                     ", i, o]->[b, f, ", dims, "], window = {stride = ", listOf(strides),
                     ", pad = ", pairsOf(low, high), ", lhs_dilate = ", listOf(spread), ", rhs_dilate = ", listOf(gaps),
                     ", reverse = [", mirrored, "]} {batch_group_count = 1 : i64, feature_group_count = ", groups,
                     " : i64} : (", x.type(), ", ", filter.type(), ") -> ", tensorOf(shape, x.element)),
                x, filter, shape, count);
  }
};

} // namespace

std::vector<PrimitiveOp> productOps() {
  return {add<Products, &Products::dot>, add<Products, &Products::convolution>, add<Products, &Products::convolution>};
}

} // namespace dgc::testing
