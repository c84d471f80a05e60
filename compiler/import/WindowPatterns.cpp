// From the windows of StableHLO to dgc.
//
// Sums, maxima and minima in windows that begin with their identity are those of dgc. All else is computed on whole
// tensors: runs of a power of two of elements at first, each of two that are half as long, and windows of these.

#include "compiler/import/Indexing.h"
#include "compiler/import/RegionUtil.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

/// A list of numbers for each dimension, or `number` for each.
SmallVector<int64_t> listOr(std::optional<ArrayRef<int64_t>> list, size_t rank, int64_t number) {
  return list ? SmallVector<int64_t>(*list) : SmallVector<int64_t>(rank, number);
}

/// The padding (low, high) of each dimension.
SmallVector<int64_t> paddingOf(std::optional<DenseIntElementsAttr> padding, size_t rank) {
  return padding ? llvm::to_vector(padding->getValues<int64_t>()) : SmallVector<int64_t>(2 * rank, 0);
}

bool areOnes(ArrayRef<int64_t> list) {
  return llvm::all_of(list, [](int64_t each) { return each == 1; });
}

/// What a window does along each dimension.
struct Windows {
  explicit Windows(stablehlo::ReduceWindowOp op)
      : sizes(op.getWindowDimensions()), strides(listOr(op.getWindowStrides(), sizes.size(), 1)),
        baseDilations(listOr(op.getBaseDilations(), sizes.size(), 1)),
        dilations(listOr(op.getWindowDilations(), sizes.size(), 1)), padding(paddingOf(op.getPadding(), sizes.size())) {
  }

  /// Whether `dgc.reduce_window` has such windows: each has an element of the operand.
  bool areSimple() const {
    for (auto [i, size] : llvm::enumerate(sizes))
      if (padding[2 * i] < 0 || padding[2 * i + 1] < 0 || padding[2 * i] >= size || padding[2 * i + 1] >= size)
        return false;
    return areOnes(baseDilations) && areOnes(dilations);
  }

  /// Whether windows overlap so much that sums of powers of two of elements take less time, as for cumulative sums.
  bool areLong(ArrayRef<int64_t> results) const {
    return llvm::any_of(llvm::zip_equal(sizes, strides, results), [](auto each) {
      auto [size, stride, count] = each;
      return size >= kLongWindow && stride < size / 16 && count > 16;
    });
  }

  static constexpr int64_t kLongWindow = 64;
  SmallVector<int64_t> sizes, strides, baseDilations, dilations, padding;
};

/// Combines `size` elements, each `dilation` behind the one before, from every element along `dim` on: of powers of two of
/// elements at first, then of those that the binary digits of `size` name.
SmallVector<Value> combineRuns(TensorBuilder &b, Region &region, ArrayRef<Value> values, int64_t dim, int64_t size,
                               int64_t dilation) {
  auto part = [&](ArrayRef<Value> from, int64_t begin, int64_t count, SmallVectorImpl<Value> &parts) {
    for (Value value : from) {
      SmallVector<int64_t> starts(tensorOf(value).getRank(), 0), limits(tensorOf(value).getShape());
      starts[dim] = begin;
      limits[dim] = begin + count;
      parts.push_back(shlo::slice(b, value, starts, limits, SmallVector<int64_t>(starts.size(), 1)));
    }
  };
  const int64_t results = tensorOf(values[0]).getDimSize(dim) - (size - 1) * dilation;
  SmallVector<Value> runs(values), combined;
  for (int64_t run = 1, done = 0; run <= size; run *= 2) {
    if (size & run) {
      SmallVector<Value> both(combined);
      part(runs, done * dilation, results, both);
      combined = done == 0 ? both : applyElementwise(b, region, both);
      done += run;
    }
    const int64_t left = tensorOf(runs[0]).getDimSize(dim) - run * dilation;
    if (2 * run > size)
      break;
    SmallVector<Value> both;
    part(runs, 0, left, both);
    part(runs, run * dilation, left, both);
    runs = applyElementwise(b, region, both);
  }
  return combined;
}

struct ReduceWindowLowering : Lowering<stablehlo::ReduceWindowOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ReduceWindowOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    Windows windows(op);
    std::optional<ReductionKind> kind = combinationOf(op.getBody());
    const bool hasKind = op.getInputs().size() == 1 && kind && *kind != ReductionKind::Product &&
                         *kind != ReductionKind::And && *kind != ReductionKind::Or &&
                         isIdentity(op.getInitValues().front(), *kind);
    if (hasKind && windows.areSimple() && !windows.areLong(tensorOf(op.getResult(0)).getShape())) {
      results.push_back(b.reduceWindow(*kind, op.getInputs().front(), windows.sizes, windows.strides, windows.padding));
      return success();
    }
    if (!isElementwise(op.getBody(), reason))
      return failure();
    combineAll(op, b, windows, results);
    return success();
  }

private:
  /// The padding takes part, as the initial value does.
  static void combineAll(stablehlo::ReduceWindowOp op, TensorBuilder &b, const Windows &windows,
                         SmallVectorImpl<Value> &results) {
    const auto rank = static_cast<int64_t>(windows.sizes.size());
    SmallVector<Value> values;
    SmallVector<int64_t> low, high, interior;
    for (int64_t i = 0; i < rank; ++i) {
      low.push_back(windows.padding[2 * i]);
      high.push_back(windows.padding[2 * i + 1]);
      interior.push_back(windows.baseDilations[i] - 1);
    }
    for (auto [input, init] : llvm::zip_equal(op.getInputs(), op.getInitValues()))
      values.push_back(shlo::pad(b, input, init, low, high, interior));
    // The last dimension first, so that elements are combined in row-major order.
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      SmallVector<int64_t> shape(tensorOf(values[0]).getShape());
      if (shape[dim] == windows.sizes[dim]) {
        values = foldElements(b, op.getBody(), values, dim);
        shape[dim] = 1;
        for (Value &value : values)
          value = shlo::reshape(b, value, shape);
        continue;
      }
      values = combineRuns(b, op.getBody(), values, dim, windows.sizes[dim], windows.dilations[dim]);
      SmallVector<int64_t> starts(rank, 0), limits(tensorOf(values[0]).getShape()), strides(rank, 1);
      strides[dim] = windows.strides[dim];
      for (Value &value : values)
        value = shlo::slice(b, value, starts, limits, strides);
    }
    llvm::append_range(results, withInitials(b, op.getBody(), op.getInitValues(), values));
  }
};

/// Windows of so many elements are looked through one element after the other.
constexpr int64_t kMostSelected = 1024;

struct SelectAndScatterLowering : Lowering<stablehlo::SelectAndScatterOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::SelectAndScatterOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    const size_t rank = tensorOf(op.getOperand()).getRank();
    SmallVector<int64_t> padding = paddingOf(op.getPadding(), rank), sizes = listOr(op.getWindowDimensions(), rank, 1),
                         strides = listOr(op.getWindowStrides(), rank, 1);
    bool hasPadding = false; // that dgc.max_pool_grad does not take
    int64_t count = 1;
    for (size_t i = 0; i < rank; ++i) {
      hasPadding |=
          padding[2 * i] < 0 || padding[2 * i + 1] < 0 || padding[2 * i] >= sizes[i] || padding[2 * i + 1] >= sizes[i];
      count *= sizes[i];
    }
    std::optional<ReductionKind> kind = combinationOf(op.getScatter());
    if (isMaximum(op.getSelect()) && kind == ReductionKind::Sum && !hasPadding &&
        isa<FloatType>(elementOf(op.getOperand())) && isIdentity(op.getInitValue(), ReductionKind::Sum)) {
      results.push_back(MaxPoolGradOp::create(b.builder, b.location, op.getType(), op.getOperand(), op.getSource(),
                                              sizes, strides, padding));
      return success();
    }
    if (!kind)
      return refuse(reason, "a combination that is not one sum, product, maximum, minimum, and or or");
    if (count > kMostSelected)
      return refuse(reason, "windows of more than " + Twine(kMostSelected) + " elements");
    if (!isElementwise(op.getSelect(), reason))
      return failure();
    Value places = selected(op, b, sizes, strides, padding);
    const int64_t elements = tensorOf(op.getOperand()).getNumElements();
    Value combined = combineAt(b, *kind, flatten(b, places), flatten(b, op.getSource()), 0, elements);
    combined = b.reshape(combined, tensorOf(op.getResult()).getShape());
    results.push_back(withInitial(b, *kind, combined, op.getInitValue()));
    return success();
  }

private:
  static bool isMaximum(Region &select) {
    auto compare = dyn_cast<stablehlo::CompareOp>(select.front().front());
    return compare && compare.getComparisonDirection() == stablehlo::ComparisonDirection::GE &&
           compare.getLhs() == select.getArgument(0) && compare.getRhs() == select.getArgument(1) &&
           select.front().back().getOperand(0) == compare.getResult();
  }

  /// For each window the number of the element of the operand that is selected; -1 where the window has none.
  static Value selected(stablehlo::SelectAndScatterOp op, TensorBuilder &b, ArrayRef<int64_t> sizes,
                        ArrayRef<int64_t> strides, ArrayRef<int64_t> padding) {
    auto type = tensorOf(op.getOperand());
    SmallVector<int64_t> low, high;
    for (size_t i = 0; i < sizes.size(); ++i) {
      low.push_back(padding[2 * i]);
      high.push_back(padding[2 * i + 1]);
    }
    Type element = indexType(b, type.getNumElements());
    Value numbers = b.reshape(indicesAlong(b, {type.getNumElements()}, element, 0), type.getShape());
    numbers = b.pad(numbers, b.splat(-1, RankedTensorType::get({}, element)), low, high);
    Value zero = b.splat(0, RankedTensorType::get({}, type.getElementType()));
    Value values = b.pad(op.getOperand(), zero, low, high);
    ArrayRef<int64_t> results = tensorOf(op.getSource()).getShape();
    SmallVector<int64_t> at(sizes.size(), 0);
    Value best, place;
    do {
      SmallVector<int64_t> limits;
      for (size_t i = 0; i < at.size(); ++i)
        limits.push_back(at[i] + (results[i] - 1) * strides[i] + 1);
      Value value = b.slice(values, at, limits, strides), number = b.slice(numbers, at, limits, strides);
      if (best) {
        Value none = b.splat(0, place);
        Value keeps = applyElementwise(b, op.getSelect(), {best, value})[0];
        keeps = AndOp::create(b.builder, b.location, keeps, b.compare(ComparisonDirection::GE, place, none));
        keeps = OrOp::create(b.builder, b.location, keeps, b.compare(ComparisonDirection::LT, number, none));
        best = b.select(keeps, best, value);
        place = b.select(keeps, place, number);
      } else {
        best = value;
        place = number;
      }
    } while (advance(at, sizes));
    return place;
  }

  /// To the next place of a window in row-major order; false behind the last one.
  static bool advance(SmallVectorImpl<int64_t> &at, ArrayRef<int64_t> sizes) {
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < sizes[i])
        return true;
      at[i] = 0;
    }
    return false;
  }
};

} // namespace

void dgc::import::addWindowPatterns(RewritePatternSet &patterns) {
  patterns.add<ReduceWindowLowering, SelectAndScatterLowering>(patterns.getContext());
}
