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
    ArrayRef<int64_t> spatialIn = dims.getInputSpatialDimensions(), spatialKernel = dims.getKernelSpatialDimensions(),
                      spatialOut = dims.getOutputSpatialDimensions();
    const size_t rank = spatialIn.size();
    if (rank == 0)
      return refuse(reason, "a convolution without spatial dimensions");
    Value input = op.getLhs(), weights = op.getRhs();
    unify(b, input, weights, element);
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
    SmallVector<int64_t> padding(2 * rank, 0), ones(rank, 1);
    if (op.getPadding())
      padding = llvm::to_vector(op.getPadding()->getValues<int64_t>());
    SmallVector<int64_t> lhsDilation(op.getLhsDilation().value_or(ones));
    input = crop(b, input, padding, lhsDilation);
    Value result = ConvolutionOp::create(
        b.builder, b.location, input, weights, SmallVector<int64_t>(op.getWindowStrides().value_or(ones)), padding,
        SmallVector<int64_t>(op.getRhsDilation().value_or(ones)), lhsDilation, static_cast<uint64_t>(groups));
    result = b.transpose(
        result, inverseOf(orderOf(dims.getOutputBatchDimension(), spatialOut, dims.getOutputFeatureDimension())));
    results.push_back(b.convert(result, element));
    return success();
  }

private:
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
