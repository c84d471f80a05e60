// Convolutions of ONNX.

#include "compiler/import/onnx/Window.h"

using namespace mlir;

namespace dgc::import {
namespace {

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

constexpr OnnxRule rules[] = {
    {"Conv", convolution},
    {"ConvTranspose", transposedConvolution},
};

} // namespace

ArrayRef<OnnxRule> onnxConvolutionRules() { return rules; }

} // namespace dgc::import
