// Convolutions and pools. Padding and the gaps of a backward pass are elements of copies, so that all windows are whole.
#include "runtime/verify/MeaningParts.h"
#include "runtime/verify/PostOps.h"

#include <algorithm>
#include <limits>

using namespace dgc;
using namespace dgc::verify;
using artifact::ConvKind;
using artifact::PoolKind;
using reference::Opcode;
using reference::Type;

using Sizes = flatbuffers::Vector<int64_t>;

namespace {
/// One spatial dimension of a window.
struct WindowDim {
  int64_t in, out, window, stride, low, high, dilation;

  /// What a window spans.
  int64_t reach() const { return (window - 1) * dilation + 1; }
  /// Padding of the inputs.
  Spread padding() const { return {low, high, 1}; }
  /// Gaps between the outputs, such that those whose windows have input i at position w are the ones at
  /// i + low + reach() - 1 - w * dilation.
  Spread gaps() const { return {reach() - 1, std::max<int64_t>(0, in + low - (out - 1) * stride - 1), stride}; }
};
using Window = std::vector<WindowDim>;
} // namespace

/// An array [N, spatial.., C] with its spatial dimensions spread.
static Array spreadSpatial(KernelBuilder &kernel, const Array &from, const Window &window,
                           Spread (WindowDim::*how)() const, double value) {
  std::vector<Spread> dims(from.shape.size());
  for (size_t d = 0; d < window.size(); ++d)
    dims[d + 1] = (window[d].*how)();
  return spread(kernel, from, dims, value);
}

//===-- Convolutions ----------------------------------------------------===//

namespace {
class ConvolutionMeaning {
public:
  ConvolutionMeaning(const artifact::Convolution &op, KernelBuilder &kernel);
  void forward();
  void backwardData();
  void backwardWeights();

private:
  /// The spatial loops: f(dimension) for each.
  template <typename F> void spatial(std::vector<Loop> &loops, F f) const {
    for (size_t d = 0; d < window.size(); ++d)
      loops.push_back(f(d));
  }
  Array array(int64_t buffer) { return {kernel.input(buffer), kernel.shapeOf(buffer)}; }

  const artifact::Convolution &op;
  KernelBuilder &kernel;
  Window window;
  int64_t batch, groups, groupIn, groupOut;
  // Distances in memory: of the spatial dimensions of the weights, their inputs and outputs.
  std::vector<int64_t> weightDims;
  int64_t weightIn, weightOut;
};
} // namespace

ConvolutionMeaning::ConvolutionMeaning(const artifact::Convolution &op, KernelBuilder &kernel)
    : op(op), kernel(kernel), groups(op.groups()) {
  const std::vector<int64_t> src = kernel.shapeOf(op.src()), dst = kernel.shapeOf(op.dst()),
                             weights = kernel.shapeOf(op.weights()), strides = stridesOf(weights);
  const size_t rank = src.size(), first = op.weights_out_first() ? 1 : 0;
  batch = src[0];
  groupIn = src.back() / groups;
  groupOut = dst.back() / groups;
  for (size_t d = 0; d + 2 < rank; ++d) {
    auto at = [&](const Sizes *sizes) { return sizes->Get(static_cast<uint32_t>(d)); };
    window.push_back({src[d + 1], dst[d + 1], weights[first + d], at(op.strides()), at(op.pad_low()), at(op.pad_high()),
                      at(op.dilation())});
    weightDims.push_back(strides[first + d]);
  }
  weightIn = strides[op.weights_out_first() ? rank - 1 : rank - 2];
  weightOut = strides[op.weights_out_first() ? 0 : rank - 1];
}

void ConvolutionMeaning::forward() {
  const Epilogue epilogue{op.dst(), groups * groupOut, op.bias(), op.post_ops()};
  const Array src = spreadSpatial(kernel, array(op.src()), window, &WindowDim::padding, 0);
  const std::vector<int64_t> from = src.strides(), to = stridesOf(kernel.shapeOf(op.dst()));
  std::vector<Loop> kept{{batch, from[0], 0, to[0]}}, reduced;
  spatial(kept, [&](size_t d) { return Loop{window[d].out, from[d + 1] * window[d].stride, 0, to[d + 1]}; });
  kept.push_back({groups, groupIn, weightOut * groupOut, groupOut});
  kept.push_back({groupOut, 0, weightOut, 1});
  spatial(reduced,
          [&](size_t d) { return Loop{window[d].window, from[d + 1] * window[d].dilation, weightDims[d], 0}; });
  reduced.push_back({groupIn, 1, weightIn, 0});
  const uint32_t sums = sumsOf(kernel, epilogue);
  sumProducts(kernel, kept, reduced, {src.buffer}, {kernel.input(op.weights())}, sums);
  storeSums(kernel, sums, epilogue);
}

void ConvolutionMeaning::backwardData() {
  const Array dst = spreadSpatial(kernel, array(op.dst()), window, &WindowDim::gaps, 0);
  const std::vector<int64_t> from = dst.strides(), to = stridesOf(kernel.shapeOf(op.src()));
  NestOperand outputs{dst.buffer};
  for (size_t d = 0; d < window.size(); ++d)
    outputs.offset += from[d + 1] * (window[d].low + window[d].reach() - 1);
  std::vector<Loop> kept{{batch, from[0], 0, to[0]}}, reduced;
  spatial(kept, [&](size_t d) { return Loop{window[d].in, from[d + 1], 0, to[d + 1]}; });
  kept.push_back({groups, groupOut, weightOut * groupOut, groupIn});
  kept.push_back({groupIn, 0, weightIn, 1});
  spatial(reduced,
          [&](size_t d) { return Loop{window[d].window, -from[d + 1] * window[d].dilation, weightDims[d], 0}; });
  reduced.push_back({groupOut, 1, weightOut, 0});
  const uint32_t result = kernel.result(op.src()), sums = sumsOf(kernel, result);
  sumProducts(kernel, kept, reduced, outputs, {kernel.input(op.weights())}, sums);
  storeSums(kernel, sums, result);
}

void ConvolutionMeaning::backwardWeights() {
  const Array src = spreadSpatial(kernel, array(op.src()), window, &WindowDim::padding, 0), dst = array(op.dst());
  const std::vector<int64_t> from = src.strides(), by = dst.strides();
  std::vector<Loop> kept, reduced{{batch, from[0], by[0], 0}};
  spatial(kept, [&](size_t d) { return Loop{window[d].window, from[d + 1] * window[d].dilation, 0, weightDims[d]}; });
  kept.push_back({groups, groupIn, groupOut, weightOut * groupOut});
  kept.push_back({groupIn, 1, 0, weightIn});
  kept.push_back({groupOut, 0, 1, weightOut});
  spatial(reduced, [&](size_t d) { return Loop{window[d].out, from[d + 1] * window[d].stride, by[d + 1], 0}; });
  const uint32_t result = kernel.result(op.weights()), sums = sumsOf(kernel, result);
  sumProducts(kernel, kept, reduced, {src.buffer}, {dst.buffer}, sums);
  storeSums(kernel, sums, result);
}

absl::Status dgc::verify::express(const artifact::Convolution &op, KernelBuilder &kernel) {
  ConvolutionMeaning meaning(op, kernel);
  switch (op.kind()) {
  case ConvKind::Forward:
    meaning.forward();
    break;
  case ConvKind::BackwardData:
    meaning.backwardData();
    break;
  case ConvKind::BackwardWeights:
    meaning.backwardWeights();
    break;
  }
  return absl::OkStatus();
}

//===-- Pools -----------------------------------------------------------===//

namespace {
class PoolMeaning {
public:
  PoolMeaning(const artifact::Pool &op, KernelBuilder &kernel);
  void maxForward();
  void maxBackward();
  void averageForward();
  void averageBackward();

private:
  /// Loops over outputs, or inputs, and the windows that they have or are in, with `from` as what is read.
  struct Loops {
    std::vector<Loop> kept, reduced;
  };
  Loops loopsOfWindows(const Array &from) const;
  Loops loopsOfHolders(const Array &from) const;
  /// Where in such an array the holders of the first input begin.
  int64_t firstHolder(const Array &from) const;

  /// The maxima, and in `where`, if that is given, the positions of the first ones in their windows, of its type.
  void findMaxima(const Array &src, uint32_t best, const uint32_t *where);
  void beginPositions(uint32_t where);
  /// The place in the window, with the last loops over it, as an integer.
  uint32_t position(NestBuilder &nest, size_t firstLoop, Type type) const;
  /// The positions of the maxima, an i32 for each output.
  uint32_t positions();
  /// `to` is `from`, an element for each output, times one over the number of inputs of the window.
  void weigh(uint32_t from, uint32_t to);

  std::vector<int64_t> windowExtents() const {
    std::vector<int64_t> extents;
    for (const WindowDim &d : window)
      extents.push_back(d.window);
    return extents;
  }
  Array array(int64_t buffer) { return {kernel.input(buffer), kernel.shapeOf(buffer)}; }

  const artifact::Pool &op;
  KernelBuilder &kernel;
  Window window;
  std::vector<int64_t> in, out; // shapes
};
} // namespace

static bool isForward(const artifact::Pool &op) {
  return op.kind() == PoolKind::MaxForward || op.kind() == PoolKind::AvgForward;
}

PoolMeaning::PoolMeaning(const artifact::Pool &op, KernelBuilder &kernel)
    : op(op), kernel(kernel), in(kernel.shapeOf(isForward(op) ? op.src() : op.diff_src())),
      out(kernel.shapeOf(isForward(op) ? op.dst() : op.diff_dst())) {
  for (size_t d = 0; d + 2 < in.size(); ++d) {
    auto at = [&](const Sizes *sizes) { return sizes->Get(static_cast<uint32_t>(d)); };
    window.push_back(
        {in[d + 1], out[d + 1], at(op.window()), at(op.strides()), at(op.pad_low()), at(op.pad_high()), 1});
  }
}

PoolMeaning::Loops PoolMeaning::loopsOfWindows(const Array &from) const {
  const std::vector<int64_t> strides = from.strides(), to = stridesOf(out);
  Loops loops{{{out[0], strides[0], 0, to[0]}}, {}};
  for (size_t d = 0; d < window.size(); ++d) {
    loops.kept.push_back({window[d].out, strides[d + 1] * window[d].stride, 0, to[d + 1]});
    loops.reduced.push_back({window[d].window, strides[d + 1], 0, 0});
  }
  loops.kept.push_back({out.back(), 1, 0, 1});
  return loops;
}

PoolMeaning::Loops PoolMeaning::loopsOfHolders(const Array &from) const {
  const std::vector<int64_t> strides = from.strides(), to = stridesOf(in);
  Loops loops{{{in[0], strides[0], 0, to[0]}}, {}};
  for (size_t d = 0; d < window.size(); ++d) {
    loops.kept.push_back({window[d].in, strides[d + 1], 0, to[d + 1]});
    loops.reduced.push_back({window[d].window, -strides[d + 1], 0, 0});
  }
  loops.kept.push_back({in.back(), 1, 0, 1});
  return loops;
}

int64_t PoolMeaning::firstHolder(const Array &from) const {
  const std::vector<int64_t> strides = from.strides();
  int64_t offset = 0;
  for (size_t d = 0; d < window.size(); ++d)
    offset += strides[d + 1] * (window[d].low + window[d].reach() - 1);
  return offset;
}

uint32_t PoolMeaning::position(NestBuilder &nest, size_t firstLoop, Type type) const {
  return nest.converted(nest.affine(0, stridesOf(windowExtents()), firstLoop), type);
}

/// The first position that is no padding: the maximum where all inputs are -infinity.
void PoolMeaning::beginPositions(uint32_t where) {
  const std::vector<int64_t> strides = stridesOf(windowExtents());
  NestBuilder nest(kernel, out);
  uint32_t first = nest.integer(0);
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t step = -window[d].stride;
    uint32_t outside = nest.affine(window[d].low, std::span(&step, 1), d + 1);
    outside = nest.emit(Opcode::MaxS, {outside, nest.integer(0)});
    first = nest.emit(Opcode::AddI, {first, nest.emit(Opcode::MulI, {outside, nest.integer(strides[d])})});
  }
  nest.output(where, stridesOf(out), nest.converted(first, kernel.typeOf(where)));
}

void PoolMeaning::findMaxima(const Array &src, uint32_t best, const uint32_t *where) {
  const double lowest = -std::numeric_limits<double>::infinity();
  const Array padded = spreadSpatial(kernel, src, window, &WindowDim::padding, lowest);
  const auto [kept, reduced] = loopsOfWindows(padded);
  fill(kernel, best, lowest);
  if (where)
    beginPositions(*where);
  NestBuilder nest(kernel, columnOf(kept, reduced, &Loop::extent), reduced.size());
  const uint32_t x = nest.load(padded.buffer, columnOf(kept, reduced, &Loop::a));
  const uint32_t before = nest.current(0, nest.typeOf(x));
  nest.output(best, columnOf(kept, reduced, &Loop::to), nest.emit(Opcode::Maximum, {before, x}));
  if (!where)
    return;
  const Type type = kernel.typeOf(*where);
  const uint32_t isLarger = nest.emit(Opcode::LessF, Type::I1, {before, x});
  const uint32_t here = position(nest, kept.size(), type);
  nest.output(*where, columnOf(kept, reduced, &Loop::to),
              nest.emit(Opcode::Select, type, {isLarger, here, nest.current(1, type)}));
}

void PoolMeaning::maxForward() {
  const uint32_t best = kernel.result(op.dst());
  const uint32_t where = op.indices() < 0 ? 0 : kernel.result(op.indices());
  findMaxima(array(op.src()), best, op.indices() < 0 ? nullptr : &where);
}

uint32_t PoolMeaning::positions() {
  uint64_t count = 1;
  for (int64_t extent : out)
    count *= static_cast<uint64_t>(extent);
  const uint32_t where = kernel.own(Type::I32, count);
  if (op.indices() >= 0) {
    convert(kernel, kernel.input(op.indices()), where);
    return where;
  }
  const Array src = array(op.src());
  findMaxima(src, kernel.own(kernel.typeOf(src.buffer), count), &where);
  return where;
}

void PoolMeaning::maxBackward() {
  const Array where = spreadSpatial(kernel, {positions(), out}, window, &WindowDim::gaps, -1);
  const Array gradient = spreadSpatial(kernel, array(op.diff_dst()), window, &WindowDim::gaps, 0);
  const auto [kept, reduced] = loopsOfHolders(where);
  const uint32_t result = kernel.result(op.diff_src()), sums = sumsOf(kernel, result);
  const Type type = kernel.typeOf(sums);
  fill(kernel, sums, 0);
  NestBuilder nest(kernel, columnOf(kept, reduced, &Loop::extent), reduced.size());
  auto load = [&](const Array &from) {
    return nest.load(from.buffer, columnOf(kept, reduced, &Loop::a), firstHolder(from));
  };
  const uint32_t chosen = load(where), given = nest.converted(load(gradient), type);
  const uint32_t isHere = nest.emit(Opcode::EqualI, Type::I1, {chosen, position(nest, kept.size(), Type::I32)});
  const uint32_t addend = nest.emit(Opcode::Select, type, {isHere, given, nest.number(0, type)});
  nest.output(sums, columnOf(kept, reduced, &Loop::to), nest.add(nest.current(0, type), addend));
  storeSums(kernel, sums, result);
}

/// The constants are rounded as those of dgc.avg_pool are.
void PoolMeaning::weigh(uint32_t from, uint32_t to) {
  std::vector<int64_t> spatial(out.begin() + 1, out.end() - 1);
  std::vector<double> weights{1};
  for (const WindowDim &d : window) {
    std::vector<double> next;
    for (double weight : weights)
      for (int64_t o = 0; o < d.out; ++o) {
        const int64_t begin = o * d.stride - d.low, end = begin + d.window;
        const int64_t inside = std::min(end, d.in) - std::max<int64_t>(begin, 0);
        next.push_back(weight * static_cast<double>(op.count_include_pad() ? d.window : inside));
      }
    weights = std::move(next);
  }
  for (double &weight : weights)
    weight = 1 / weight;
  const Type type = computeType(kernel.typeOf(from));
  const uint32_t constants = kernel.constant(type, weights);
  std::vector<int64_t> strides = stridesOf(spatial);
  strides.insert(strides.begin(), 0);
  strides.push_back(0);
  NestBuilder nest(kernel, out);
  const uint32_t value = nest.converted(nest.load(from, stridesOf(out)), type);
  const uint32_t weighed = nest.multiply(value, nest.load(constants, std::move(strides)));
  nest.output(to, stridesOf(out), nest.converted(weighed, kernel.typeOf(to)));
}

void PoolMeaning::averageForward() {
  const Array padded = spreadSpatial(kernel, array(op.src()), window, &WindowDim::padding, 0);
  const auto [kept, reduced] = loopsOfWindows(padded);
  const uint32_t result = kernel.result(op.dst());
  const uint32_t sums = kernel.own(computeType(kernel.typeOf(result)), static_cast<uint64_t>(kernel.countOf(result)));
  sum(kernel, kept, reduced, {padded.buffer}, sums);
  weigh(sums, result);
}

void PoolMeaning::averageBackward() {
  const Array gradient = array(op.diff_dst());
  const Type type = computeType(kernel.typeOf(gradient.buffer));
  const Array share{kernel.own(type, static_cast<uint64_t>(kernel.countOf(gradient.buffer))), out};
  weigh(gradient.buffer, share.buffer);
  const Array shares = spreadSpatial(kernel, share, window, &WindowDim::gaps, 0);
  const auto [kept, reduced] = loopsOfHolders(shares);
  const uint32_t result = kernel.result(op.diff_src()), sums = sumsOf(kernel, result);
  sum(kernel, kept, reduced, {shares.buffer, firstHolder(shares)}, sums);
  storeSums(kernel, sums, result);
}

absl::Status dgc::verify::express(const artifact::Pool &op, KernelBuilder &kernel) {
  PoolMeaning meaning(op, kernel);
  switch (op.kind()) {
  case PoolKind::MaxForward:
    meaning.maxForward();
    break;
  case PoolKind::MaxBackward:
    meaning.maxBackward();
    break;
  case PoolKind::AvgForward:
    meaning.averageForward();
    break;
  case PoolKind::AvgBackward:
    meaning.averageBackward();
    break;
  }
  return absl::OkStatus();
}
