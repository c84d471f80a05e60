// The sizes of windows and convolutions.

#include "dialects/dgc/Geometry.h"
#include "dialects/dgc/ShardingRule.h"

using namespace mlir;
using namespace dgc;

/// How many elements the windows can slide over, beyond those of the first one.
static int64_t slack(const WindowDim &dim) { return dim.dilatedInput() + dim.low + dim.high - dim.dilatedWindow(); }

std::optional<WindowDim> WindowDim::withInput(int64_t size) const {
  WindowDim dim = *this;
  dim.input = size;
  if (slack(dim) < 0)
    return std::nullopt;
  dim.output = slack(dim) / stride + 1;
  return dim;
}

bool WindowDim::hasEndsOf(const WindowDim &other) const {
  auto fits = [](const WindowDim &dim) { return dim.dilatedWindow() <= dim.dilatedInput(); };
  return slack(*this) % stride == slack(other) % other.stride && (output > 1) == (other.output > 1) &&
         fits(*this) == fits(other);
}

/// Checks that `values` has `perDim` entries for each of `rank` dimensions, or
/// none, each at least `least`.
static LogicalResult checkList(std::optional<Location> location, StringRef opName, StringRef name,
                               ArrayRef<int64_t> values, size_t rank, size_t perDim, int64_t least) {
  if (!values.empty() && values.size() != rank * perDim)
    return emitOptionalError(location, "'", opName, "' op ", name, " has ", values.size() / perDim,
                             " entries where there are ", rank,
                             " dimensions to slide over; give one for each, or "
                             "leave it out");
  for (int64_t value : values)
    if (value < least)
      return emitOptionalError(location, "'", opName, "' op ", name, " must be at least ", least,
                               " everywhere, but has ", value);
  return success();
}

FailureOr<SmallVector<WindowDim>> dgc::inferWindow(std::optional<Location> location, StringRef opName,
                                                   ArrayRef<int64_t> input, ArrayRef<int64_t> window,
                                                   const WindowAttributes &attributes) {
  size_t rank = input.size();
  if (window.size() != rank)
    return emitOptionalError(location, "'", opName, "' op the window has ", window.size(),
                             " dimensions where there are ", rank, " to slide over");
  if (failed(checkList(location, opName, "window", window, rank, 1, 1)) ||
      failed(checkList(location, opName, "strides", attributes.strides, rank, 1, 1)) ||
      failed(checkList(location, opName, "padding", attributes.padding, rank, 2, 0)) ||
      failed(checkList(location, opName, "dilation", attributes.dilation, rank, 1, 1)) ||
      failed(checkList(location, opName, "lhs_dilation", attributes.inputDilation, rank, 1, 1)))
    return failure();

  auto entry = [](ArrayRef<int64_t> list, size_t i, int64_t otherwise) { return list.empty() ? otherwise : list[i]; };
  SmallVector<WindowDim> dims;
  for (size_t i = 0; i < rank; ++i) {
    WindowDim dim{input[i], window[i]};
    dim.stride = entry(attributes.strides, i, 1);
    dim.low = entry(attributes.padding, 2 * i, 0);
    dim.high = entry(attributes.padding, 2 * i + 1, 0);
    dim.dilation = entry(attributes.dilation, i, 1);
    dim.inputDilation = entry(attributes.inputDilation, i, 1);
    int64_t padded = dim.dilatedInput() + dim.low + dim.high;
    if (dim.dilatedWindow() > padded)
      return emitOptionalError(location, "'", opName, "' op the window covers ", dim.dilatedWindow(),
                               " elements of dimension ", i, ", which has only ", padded,
                               " with its padding; use a smaller window or more padding");
    dims.push_back(*dim.withInput(dim.input));
  }
  return dims;
}

void dgc::addSlidingFactor(ShardingRuleBuilder &rule, const WindowDim &dim, const DimOccurrence &input,
                           const DimOccurrence &output, int64_t size, bool isReduction) {
  if (!dim.isPointwise())
    rule.sliding({dim, input, output});
  if (dim.inputDilation != 1) {
    rule.factor(input.operands, input.results, dim.input, FactorKind::NeedReplication);
    rule.factor(output.operands, output.results, dim.output, FactorKind::NeedReplication);
    return;
  }
  auto both = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    return llvm::map_to_vector(llvm::zip_equal(a, b),
                               [](auto dims) { return std::max(std::get<0>(dims), std::get<1>(dims)); });
  };
  auto operands = both(input.operands, output.operands), results = both(input.results, output.results);
  if (dim.isPointwise())
    rule.factor(operands, results, size, isReduction ? FactorKind::Reduction : FactorKind::PassThrough);
  else
    rule.moving(operands, results, size, isReduction ? FactorKind::Reduction : FactorKind::Permutation);
}
