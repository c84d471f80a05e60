// Ops that compute a part of a dimension from elements of several parts: which ones they need, and how they work on
// them. Output element o of a window sees the elements o * stride - low + k * dilation of the input.

#include "dialects/dgc/DGC.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dgc;

namespace {
/// The parts of a dimension: blocks of equal size, the last ones beyond its end.
struct Parts {
  Parts(int64_t size, int64_t parts) : count(parts), block(llvm::divideCeil(size, parts)) {}

  int64_t start(int64_t part) const { return part * block; }
  int64_t last(int64_t part) const { return (part + 1) * block - 1; }
  /// f(part) for every part.
  template <typename F> SmallVector<int64_t> map(F f) const {
    SmallVector<int64_t> values;
    for (int64_t part = 0; part < count; ++part)
      values.push_back(f(part));
    return values;
  }

  int64_t count, block;
};
} // namespace

static int64_t sizeOf(Value value, int64_t dim) { return cast<RankedTensorType>(value.getType()).getDimSize(dim); }

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// The input that the outputs of each part see. What is outside of it matters where there is padding.
static OperandWindow inputOfOutputs(const WindowDim &dim, const Parts &outputs, unsigned operand, int64_t operandDim,
                                    ReductionKind identity) {
  OperandWindow window{operand, operandDim,
                       outputs.map([&](int64_t part) { return outputs.start(part) * dim.stride - dim.low; }),
                       std::max<int64_t>(outputs.block - 1, 0) * dim.stride + dim.dilatedWindow()};
  if (dim.low != 0 || dim.high != 0)
    window.identity = identity;
  return window;
}

/// The outputs that see an input of each part: those with start <= o * stride - low + k <= last for a k in the window.
static OperandWindow outputsOfInput(const WindowDim &dim, const Parts &inputs, unsigned operand, int64_t operandDim) {
  auto first = [&](int64_t part) {
    return -llvm::divideFloorSigned(-(inputs.start(part) + dim.low - dim.dilatedWindow() + 1), dim.stride);
  };
  auto last = [&](int64_t part) { return llvm::divideFloorSigned(inputs.last(part) + dim.low, dim.stride); };
  OperandWindow window{operand, operandDim, inputs.map(first), 1};
  for (int64_t part = 0; part < inputs.count; ++part)
    window.size = std::max(window.size, last(part) - first(part) + 1);
  window.identity = ReductionKind::Sum;
  return window;
}

/// The inputs that `outputs` see, from the first to the last.
static int64_t inputBegin(const WindowDim &dim, int64_t output) { return output * dim.stride - dim.low; }
static int64_t inputExtent(const WindowDim &dim, int64_t outputs) {
  return (outputs - 1) * dim.stride + dim.dilatedWindow();
}

/// Where the parts begin in the inputs that the outputs of `window` see; the padding of the op takes the rest away
/// where it is the same for all parts and nothing is missing.
static void cropInputs(PartNeeds &needs, const WindowDim &dim, const Parts &inputs, const OperandWindow &window,
                       bool mayAbsorb) {
  int64_t extent = inputExtent(dim, window.size);
  SmallVector<int64_t> crops =
      inputs.map([&](int64_t part) { return inputs.start(part) - inputBegin(dim, window.starts[part]); });
  int64_t low = crops[0], high = extent - inputs.block - crops[0];
  if (mayAbsorb && llvm::all_equal(crops) && low >= 0 && high >= 0) {
    needs.low = low;
    needs.high = high;
    needs.produced = inputs.block;
    return;
  }
  needs.produced = extent;
  if (extent != inputs.block || !llvm::all_equal(crops) || low != 0)
    needs.crops = std::move(crops);
}

/// Sets entry `dim` of `padding` (low and high of each of `rank` dimensions; empty: none).
static SmallVector<int64_t> withPadding(ArrayRef<int64_t> padding, size_t rank, int64_t dim, const PartNeeds &needs) {
  SmallVector<int64_t> changed(padding);
  changed.resize(2 * rank, 0);
  changed[2 * dim] = needs.low;
  changed[2 * dim + 1] = needs.high;
  return changed;
}

PartNeeds ReduceWindowOp::getNeeds(unsigned factor, int64_t parts) {
  WindowDim dim = getGeometry()[factor];
  Parts outputs(dim.output, parts);
  PartNeeds needs;
  needs.windows.push_back(inputOfOutputs(dim, outputs, 0, factor, getKind()));
  needs.produced = outputs.block;
  return needs;
}

void ReduceWindowOp::takeWindows(unsigned factor, const PartNeeds &needs) {
  setPadding(withPadding(getPadding(), getWindow().size(), factor, needs));
}

PartNeeds MaxPoolGradOp::getNeeds(unsigned factor, int64_t parts) {
  WindowDim dim = getGeometry()[factor];
  Parts inputs(dim.input, parts);
  OperandWindow gradient = outputsOfInput(dim, inputs, 1, factor);
  OperandWindow operand{0, factor, inputs.map([&](int64_t part) { return inputBegin(dim, gradient.starts[part]); }),
                        inputExtent(dim, gradient.size)};
  if (dim.low != 0 || dim.high != 0)
    operand.identity = ReductionKind::Max;
  PartNeeds needs;
  cropInputs(needs, dim, inputs, gradient, /*mayAbsorb=*/false);
  needs.windows = {std::move(operand), std::move(gradient)};
  return needs;
}

void MaxPoolGradOp::takeWindows(unsigned factor, const PartNeeds &needs) {
  setPadding(withPadding(getPadding(), getWindow().size(), factor, needs));
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The spatial dimension that factor `factor` of the rule of a convolution is; see convolutionRule. A dimension with a
/// dilated input has two factors there, as it cannot be cut.
static int64_t spatialDim(const ConvolutionGeometry &geometry, ArrayRef<int64_t> inputDilation, unsigned factor) {
  int64_t first = geometry.groups == 1 || geometry.isDepthwise() ? 3 : 5, i = 0;
  auto factorsOf = [&](int64_t dim) { return !inputDilation.empty() && inputDilation[dim] != 1 ? 2 : 1; };
  for (; first < static_cast<int64_t>(factor); ++i)
    first += factorsOf(i);
  return i;
}

/// The same of an op whose operands are windows already, so that it has no geometry: of its groups and channels.
static int64_t spatialDim(int64_t groups, int64_t inputChannels, int64_t outputChannels,
                          ArrayRef<int64_t> inputDilation, unsigned factor) {
  return spatialDim(ConvolutionGeometry{1, inputChannels, outputChannels, groups, {}}, inputDilation, factor);
}

PartNeeds ConvolutionOp::getNeeds(unsigned factor, int64_t parts) {
  ConvolutionGeometry geometry = getGeometry();
  int64_t i = spatialDim(geometry, getLhsDilation(), factor);
  Parts outputs(geometry.spatial[i].output, parts);
  PartNeeds needs;
  needs.windows.push_back(inputOfOutputs(geometry.spatial[i], outputs, 0, i + 1, ReductionKind::Sum));
  needs.produced = outputs.block;
  return needs;
}

void ConvolutionOp::takeWindows(unsigned factor, const PartNeeds &needs) {
  int64_t rank = cast<RankedTensorType>(getInput().getType()).getRank() - 2;
  int64_t i =
      spatialDim(getGroups(), sizeOf(getInput(), rank + 1), sizeOf(getWeights(), rank + 1), getLhsDilation(), factor);
  setPadding(withPadding(getPadding(), rank, i, needs));
}

PartNeeds ConvolutionInputGradOp::getNeeds(unsigned factor, int64_t parts) {
  ConvolutionGeometry geometry = getGeometry();
  int64_t i = spatialDim(geometry, getLhsDilation(), factor);
  Parts inputs(geometry.spatial[i].input, parts);
  PartNeeds needs;
  OperandWindow gradient = outputsOfInput(geometry.spatial[i], inputs, 0, i + 1);
  cropInputs(needs, geometry.spatial[i], inputs, gradient, /*mayAbsorb=*/true);
  needs.windows.push_back(std::move(gradient));
  return needs;
}

void ConvolutionInputGradOp::takeWindows(unsigned factor, const PartNeeds &needs) {
  SmallVector<int64_t> sizes(getInputSize());
  int64_t rank = sizes.size(), groups = getGroups();
  int64_t i =
      spatialDim(groups, sizeOf(getWeights(), rank) * groups, sizeOf(getWeights(), rank + 1), getLhsDilation(), factor);
  sizes[i] = needs.produced;
  setInputSize(sizes);
  setPadding(withPadding(getPadding(), sizes.size(), i, needs));
}

/// Parts of the result gradient; what is outside of either side does not count.
PartNeeds ConvolutionWeightGradOp::getNeeds(unsigned factor, int64_t parts) {
  ConvolutionGeometry geometry = getGeometry();
  int64_t i = spatialDim(geometry, getLhsDilation(), factor);
  Parts outputs(geometry.spatial[i].output, parts);
  PartNeeds needs;
  needs.windows.push_back(inputOfOutputs(geometry.spatial[i], outputs, 0, i + 1, ReductionKind::Sum));
  needs.windows.back().identity = ReductionKind::Sum;
  needs.windows.push_back({1, i + 1, outputs.map([&](int64_t part) { return outputs.start(part); }), outputs.block});
  needs.windows.back().identity = ReductionKind::Sum;
  return needs;
}

void ConvolutionWeightGradOp::takeWindows(unsigned factor, const PartNeeds &needs) {
  int64_t rank = getKernelSize().size();
  int64_t i = spatialDim(getGroups(), sizeOf(getInput(), rank + 1), sizeOf(getResultGradient(), rank + 1),
                         getLhsDilation(), factor);
  setPadding(withPadding(getPadding(), rank, i, needs));
}

//===----------------------------------------------------------------------===//
// Shapes. Factor i of their rules is dimension i.
//===----------------------------------------------------------------------===//

PartNeeds SliceOp::getNeeds(unsigned dim, int64_t parts) {
  Parts results(sizeOf(getResult(), dim), parts);
  PartNeeds needs;
  needs.windows.push_back(
      {0, dim, results.map([&](int64_t part) { return getStartIndices()[dim] + results.start(part) * stride(dim); }),
       std::max<int64_t>(results.block - 1, 0) * stride(dim) + 1});
  needs.produced = results.block;
  return needs;
}

void SliceOp::takeWindows(unsigned dim, const PartNeeds &needs) {
  SmallVector<int64_t> starts(getStartIndices()), limits(getLimitIndices());
  starts[dim] = 0;
  limits[dim] = needs.windows[0].size;
  setStartIndices(starts);
  setLimitIndices(limits);
}

/// With `step` - 1 elements between neighbours, operand element i is at low + i * step. The elements of a part are
/// found between those that are put around and between its elements.
PartNeeds PadOp::getNeeds(unsigned dim, int64_t parts) {
  Parts results(sizeOf(getResult(), dim), parts);
  int64_t low = getEdgePaddingLow()[dim], step = interior(dim) + 1;
  auto first = [&](int64_t part) { return -llvm::divideFloorSigned(-(results.start(part) - low), step); };
  OperandWindow window{0, dim, results.map(first), 1};
  for (int64_t part = 0; part < parts; ++part)
    window.size = std::max(window.size, llvm::divideFloorSigned(results.last(part) - low, step) - first(part) + 1);
  window.fillOperand = 1;
  PartNeeds needs;
  needs.low = needs.high = step - 1;
  needs.produced = (window.size - 1) * step + 1 + needs.low + needs.high;
  if (step != 1)
    needs.crops =
        results.map([&](int64_t part) { return results.start(part) - low - window.starts[part] * step + needs.low; });
  needs.windows.push_back(std::move(window));
  return needs;
}

void PadOp::takeWindows(unsigned dim, const PartNeeds &needs) {
  SmallVector<int64_t> low(getEdgePaddingLow()), high(getEdgePaddingHigh());
  low[dim] = needs.low;
  high[dim] = needs.high;
  setEdgePaddingLow(low);
  setEdgePaddingHigh(high);
}

PartNeeds ReverseOp::getNeeds(unsigned dim, int64_t parts) {
  int64_t size = sizeOf(getResult(), dim);
  Parts results(size, parts);
  PartNeeds needs;
  needs.windows.push_back(
      {0, dim, results.map([&](int64_t part) { return size - 1 - results.last(part); }), results.block});
  needs.produced = results.block;
  return needs;
}
