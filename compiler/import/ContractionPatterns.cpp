// From the products and convolutions of StableHLO to those of dgc.

#include "compiler/import/Patterns.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

/// Both operands of a product with elements of one type, in which it is added up: those of the result, unless the operands
/// have the same type and more bits.
void unify(TensorBuilder &b, Value &lhs, Value &rhs, Type result) {
  Type element = result;
  if (elementOf(lhs) == elementOf(rhs) && isa<FloatType>(result) == isa<FloatType>(elementOf(lhs)) &&
      elementOf(lhs).getIntOrFloatBitWidth() >= result.getIntOrFloatBitWidth())
    element = elementOf(lhs);
  lhs = b.convert(lhs, element);
  rhs = b.convert(rhs, element);
}

/// A product whose operands and result may have different element types.
template <class Op> struct ProductLowering : Lowering<Op> {
  using Lowering<Op>::Lowering;
  LogicalResult lower(Op op, TensorBuilder &b, SmallVectorImpl<Value> &results, std::string &reason) const final {
    Type element = elementOf(op.getResult());
    if (element.isInteger(1) || elementOf(op.getLhs()).isInteger(1) || elementOf(op.getRhs()).isInteger(1))
      return this->refuse(reason, "a product of booleans");
    Value lhs = op.getLhs(), rhs = op.getRhs();
    unify(b, lhs, rhs, element);
    results.push_back(b.convert(multiply(op, b, lhs, rhs), element));
    return success();
  }

private:
  virtual Value multiply(Op op, TensorBuilder &b, Value lhs, Value rhs) const = 0;
};

struct DotGeneralLowering : ProductLowering<stablehlo::DotGeneralOp> {
  using ProductLowering::ProductLowering;
  Value multiply(stablehlo::DotGeneralOp op, TensorBuilder &b, Value lhs, Value rhs) const override {
    stablehlo::DotDimsAttr dims = op.getDotDimensionNumbers();
    return b.dot(lhs, rhs, dims.list("lhs_batching_dimensions"), dims.list("rhs_batching_dimensions"),
                 dims.list("lhs_contracting_dimensions"), dims.list("rhs_contracting_dimensions"));
  }
};

struct DotLowering : ProductLowering<stablehlo::DotOp> {
  using ProductLowering::ProductLowering;
  Value multiply(stablehlo::DotOp, TensorBuilder &b, Value lhs, Value rhs) const override {
    return b.dot(lhs, rhs, {}, {}, {tensorOf(lhs).getRank() - 1}, {0});
  }
};

/// The permutation that gives a tensor the dimensions first, spatial.., last.
SmallVector<int64_t> orderOf(int64_t first, ArrayRef<int64_t> spatial, int64_t last) {
  SmallVector<int64_t> order{first};
  llvm::append_range(order, spatial);
  order.push_back(last);
  return order;
}

/// The permutation that takes another one back.
SmallVector<int64_t> inverseOf(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [i, dim] : llvm::enumerate(permutation))
    inverse[dim] = static_cast<int64_t>(i);
  return inverse;
}

struct ConvolutionLowering : Lowering<stablehlo::ConvolutionOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ConvolutionOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    Type element = elementOf(op.getResult());
    if (element.isInteger(1) || elementOf(op.getLhs()).isInteger(1) || elementOf(op.getRhs()).isInteger(1))
      return refuse(reason, "a convolution of booleans");
    stablehlo::ConvDimsAttr dims = op.getDimensionNumbers();
    ArrayRef<int64_t> spatialIn = dims.getInputSpatialDimensions(), spatialKernel = dims.getKernelSpatialDimensions();
    const size_t rank = spatialIn.size();
    if (rank == 0)
      return refuse(reason, "a convolution without spatial dimensions");
    Value input = op.getLhs(), weights = op.getRhs();
    unify(b, input, weights, element);
    Window window(op, rank);
    Value gradient = weightGradient(op, b, input, weights, window);
    if (!gradient)
      gradient = inputGradient(op, b, input, weights, window);
    if (gradient) {
      results.push_back(b.convert(gradient, element));
      return success();
    }
    input = b.transpose(input, orderOf(dims.getInputBatchDimension(), spatialIn, dims.getInputFeatureDimension()));
    SmallVector<int64_t> kernelOrder(spatialKernel);
    kernelOrder.append({dims.getKernelInputFeatureDimension(), dims.getKernelOutputFeatureDimension()});
    weights = b.transpose(weights, kernelOrder);
    if (std::optional<ArrayRef<bool>> reversal = op.getWindowReversal())
      weights = reverse(b, weights, *reversal);
    auto groups = static_cast<int64_t>(op.getFeatureGroupCount());
    if (op.getBatchGroupCount() > 1) {
      groups = static_cast<int64_t>(op.getBatchGroupCount());
      input = batchGroupsToChannels(b, input, groups);
    }
    input = crop(b, input, window.padding, window.lhsDilation);
    Value result = ConvolutionOp::create(b.builder, b.location, input, weights, window.strides, window.padding,
                                         window.dilation, window.lhsDilation, static_cast<uint64_t>(groups));
    results.push_back(b.convert(inResultOrder(b, result, dims), element));
    return success();
  }

private:
  /// Attributes, defaults filled in.
  struct Window {
    SmallVector<int64_t> strides, padding, dilation, lhsDilation; // padding: low and high of each dimension in turn

    Window(stablehlo::ConvolutionOp op, size_t rank) : padding(2 * rank, 0) {
      const SmallVector<int64_t> ones(rank, 1);
      strides = SmallVector<int64_t>(op.getWindowStrides().value_or(ones));
      dilation = SmallVector<int64_t>(op.getRhsDilation().value_or(ones));
      lhsDilation = SmallVector<int64_t>(op.getLhsDilation().value_or(ones));
      if (op.getPadding())
        padding = llvm::to_vector(op.getPadding()->getValues<int64_t>());
    }
  };

  /// From batch, spatial dimensions, features to the order of the result.
  static Value inResultOrder(TensorBuilder &b, Value result, stablehlo::ConvDimsAttr dims) {
    return b.transpose(result, inverseOf(orderOf(dims.getOutputBatchDimension(), dims.getOutputSpatialDimensions(),
                                                 dims.getOutputFeatureDimension())));
  }

  static bool hasReversal(stablehlo::ConvolutionOp op, bool reversed) {
    std::optional<ArrayRef<bool>> reversal = op.getWindowReversal();
    return reversal ? llvm::all_of(*reversal, [&](bool each) { return each == reversed; }) : !reversed;
  }

  /// The high padding with which a convolution of an input of `input` elements has `result` of them, with a kernel of
  /// `kernel`; none where the sizes do not belong together.
  static std::optional<int64_t> highPadding(int64_t input, int64_t kernel, int64_t result, int64_t low, int64_t stride,
                                            int64_t dilation) {
    const int64_t taken = (kernel - 1) * dilation + 1;
    const int64_t high = std::max<int64_t>((result - 1) * stride + taken - input - low, 0);
    const int64_t room = input + low + high - taken;
    return low >= 0 && room >= 0 && room / stride + 1 == result ? std::optional(high) : std::nullopt;
  }

  /// The gradient of the weights of a convolution, as automatic differentiation writes it: a convolution of the input with the
  /// gradient of the result over the batch, so that what it calls features is the batch, which both have as dimension 0. It
  /// strides by the dilation of the convolution and is dilated by its strides. Null where it is none.
  static Value weightGradient(stablehlo::ConvolutionOp op, TensorBuilder &b, Value input, Value gradient,
                              const Window &window) {
    stablehlo::ConvDimsAttr dims = op.getDimensionNumbers();
    const int64_t last = tensorOf(input).getRank() - 1;
    auto ones = [](int64_t each) { return each == 1; };
    if (dims.getInputFeatureDimension() != 0 || dims.getInputBatchDimension() != last ||
        dims.getKernelInputFeatureDimension() != 0 || dims.getKernelOutputFeatureDimension() != last ||
        !llvm::is_sorted(dims.getInputSpatialDimensions()) || !llvm::is_sorted(dims.getKernelSpatialDimensions()) ||
        !hasReversal(op, false) || op.getFeatureGroupCount() != 1 || !llvm::all_of(window.lhsDilation, ones))
      return {};
    SmallVector<int64_t> kernel, padding;
    for (auto [i, dim] : llvm::enumerate(dims.getOutputSpatialDimensions())) {
      kernel.push_back(tensorOf(op.getResult()).getDimSize(dim));
      const auto at = static_cast<int64_t>(i);
      std::optional<int64_t> high = highPadding(tensorOf(input).getShape()[at + 1], kernel.back(),
                                                tensorOf(gradient).getShape()[at + 1], window.padding[2 * i],
                                                /*stride=*/window.dilation[i], /*dilation=*/window.strides[i]);
      if (!high)
        return {};
      padding.append({window.padding[2 * i], *high});
    }
    Value weights = ConvolutionWeightGradOp::create(b.builder, b.location, input, gradient, kernel,
                                                    /*strides=*/window.dilation, padding, /*dilation=*/window.strides,
                                                    window.lhsDilation, op.getBatchGroupCount());
    // It is [spatial.., channels, filters]; channels are what the convolution calls its batch.
    SmallVector<int64_t> order(dims.getOutputSpatialDimensions());
    order.append({dims.getOutputBatchDimension(), dims.getOutputFeatureDimension()});
    return b.transpose(weights, inverseOf(order));
  }

  /// The gradient of the input of a convolution: a convolution of the gradient of the result, dilated by the strides, with
  /// the reversed weights, from filters to channels. Null where it is none.
  static Value inputGradient(stablehlo::ConvolutionOp op, TensorBuilder &b, Value gradient, Value weights,
                             const Window &window) {
    stablehlo::ConvDimsAttr dims = op.getDimensionNumbers();
    ArrayRef<int64_t> spatial = dims.getKernelSpatialDimensions();
    const int64_t last = tensorOf(weights).getRank() - 1;
    if (dims.getKernelInputFeatureDimension() != last || dims.getKernelOutputFeatureDimension() != last - 1 ||
        !llvm::is_sorted(spatial) || op.getFeatureGroupCount() != 1 || op.getBatchGroupCount() != 1 ||
        !llvm::all_of(window.strides, [](int64_t each) { return each == 1; }))
      return {};
    auto reverse = weights.getDefiningOp<ReverseOp>();
    const bool isOnePixel = llvm::all_of(spatial, [&](int64_t dim) { return tensorOf(weights).getShape()[dim] == 1; });
    if (reverse && reverse.getDimensions() == spatial && hasReversal(op, false))
      weights = reverse.getOperand();
    else if (!hasReversal(op, true) && !(isOnePixel && hasReversal(op, false)))
      return {};
    SmallVector<int64_t> size, padding;
    for (auto [i, dim] : llvm::enumerate(dims.getOutputSpatialDimensions())) {
      size.push_back(tensorOf(op.getResult()).getDimSize(dim));
      const int64_t kernel = tensorOf(weights).getShape()[spatial[i]];
      const int64_t low = (kernel - 1) * window.dilation[i] - window.padding[2 * i];
      std::optional<int64_t> high =
          highPadding(size.back(), kernel, tensorOf(gradient).getShape()[dims.getInputSpatialDimensions()[i]], low,
                      /*stride=*/window.lhsDilation[i], window.dilation[i]);
      if (!high)
        return {};
      padding.append({low, *high});
    }
    gradient = b.transpose(gradient, orderOf(dims.getInputBatchDimension(), dims.getInputSpatialDimensions(),
                                             dims.getInputFeatureDimension()));
    Value result = ConvolutionInputGradOp::create(b.builder, b.location, gradient, weights, size,
                                                  /*strides=*/window.lhsDilation, padding, window.dilation,
                                                  /*lhs_dilation=*/window.strides, /*groups=*/1);
    return inResultOrder(b, result, dims);
  }

  static Value reverse(TensorBuilder &b, Value weights, ArrayRef<bool> reversal) {
    SmallVector<int64_t> reversed;
    for (auto [dim, isReversed] : llvm::enumerate(reversal))
      if (isReversed)
        reversed.push_back(static_cast<int64_t>(dim));
    return reversed.empty() ? weights
                            : Value(ReverseOp::create(b.builder, b.location, weights.getType(), weights,
                                                      b.builder.getDenseI64ArrayAttr(reversed)));
  }

  /// Group g of the batches, of `groups`, becomes group g of the channels.
  static Value batchGroupsToChannels(TensorBuilder &b, Value input, int64_t groups) {
    SmallVector<int64_t> shape(tensorOf(input).getShape()), split{groups, shape.front() / groups};
    split.append(shape.begin() + 1, shape.end());
    Value grouped = b.reshape(input, split);
    SmallVector<int64_t> order = firstNumbers(static_cast<int64_t>(split.size()));
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1); // the groups before the channels
    shape.front() /= groups;
    shape.back() *= groups;
    return b.reshape(b.transpose(grouped, order), shape);
  }

  /// Takes elements away instead of a negative padding, which only a convolution of StableHLO has. The input is dilated,
  /// then, before it is padded.
  static Value crop(TensorBuilder &b, Value input, SmallVectorImpl<int64_t> &padding,
                    SmallVectorImpl<int64_t> &dilation) {
    if (llvm::none_of(padding, [](int64_t each) { return each < 0; }))
      return input;
    const size_t rank = dilation.size();
    SmallVector<int64_t> low(rank + 2, 0), high(rank + 2, 0), interior(rank + 2, 0);
    for (size_t i = 0; i < rank; ++i) {
      low[i + 1] = std::exchange(padding[2 * i], 0);
      high[i + 1] = std::exchange(padding[2 * i + 1], 0);
      interior[i + 1] = std::exchange(dilation[i], 1) - 1;
    }
    return b.padZero(input, low, high, interior);
  }
};

} // namespace

void dgc::import::addContractionPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvolutionLowering, DotGeneralLowering, DotLowering>(patterns.getContext());
}
