// Lowering of convolutions to loops. With several groups, the channels are two dimensions in the loops: groups and
// channels of a group.

#include "dialects/dgc/LinalgUtil.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace dgc;

namespace {
/// The loops of one convolution, and the index expressions of its three tensors.
struct ConvolutionLoops {
  OpBuilder &builder;
  Location location;
  ConvolutionGeometry geometry;
  SmallVector<utils::IteratorType> iterators;

  AffineExpr loop(bool isReduction) {
    iterators.push_back(isReduction ? utils::IteratorType::reduction : utils::IteratorType::parallel);
    return builder.getAffineDimExpr(iterators.size() - 1);
  }
  SmallVector<AffineExpr> spatialLoops(bool isReduction) {
    return llvm::map_to_vector(geometry.spatial, [&](const WindowDim &) { return loop(isReduction); });
  }
  bool isGrouped() const { return geometry.groups > 1; }

  /// `tensor` with its dimension `dim` of channels split into groups and channels of a group.
  Value split(Value tensor, int64_t dim) {
    if (!isGrouped())
      return tensor;
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= geometry.groups;
    shape.insert(shape.begin() + dim, geometry.groups);
    return tensor::ExpandShapeOp::create(builder, location, RankedTensorType::get(shape, type.getElementType()), tensor,
                                         reassociation(type.getRank(), dim));
  }
  /// The inverse of split.
  Value merge(Value tensor, int64_t dim) {
    if (!isGrouped())
      return tensor;
    return tensor::CollapseShapeOp::create(builder, location, tensor,
                                           reassociation(cast<RankedTensorType>(tensor.getType()).getRank() - 1, dim));
  }

  /// The input with zeros around and between its elements.
  Value padInput(Value input) {
    SmallVector<int64_t> low{0}, high{0}, dilation{1};
    for (const WindowDim &dim : geometry.spatial) {
      low.push_back(dim.low);
      high.push_back(dim.high);
      dilation.push_back(dim.inputDilation);
    }
    return pad(input, low, high, dilation);
  }
  /// Where window element k of output element o is in the padded input.
  SmallVector<AffineExpr> inputIndices(ArrayRef<AffineExpr> o, ArrayRef<AffineExpr> k) {
    SmallVector<AffineExpr> indices;
    for (auto [i, dim] : llvm::enumerate(geometry.spatial))
      indices.push_back(o[i] * dim.stride + k[i] * dim.dilation);
    return indices;
  }

  Value pad(Value tensor, SmallVector<int64_t> low, SmallVector<int64_t> high, SmallVector<int64_t> dilation) {
    for (auto *list : {&low, &high})
      list->push_back(0);
    dilation.push_back(1);
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    return paddedTensor(builder, location, tensor, low, high, dilation, reductionIdentity(ReductionKind::Sum, element));
  }

  /// Adds up the products of the operands over the loops, into a tensor of `type`, whose dimension `channelDim` of
  /// channels is split into groups in the loops when `splitResult` is set.
  Value sumProducts(ValueRange operands, RankedTensorType type, int64_t channelDim,
                    ArrayRef<SmallVector<AffineExpr>> indices) {
    Type element = signlessElement(type.getElementType()), accumulator = accumulatorElement(element);
    SmallVector<int64_t> shape(type.getShape());
    if (isGrouped()) {
      shape[channelDim] /= geometry.groups;
      shape.insert(shape.begin() + channelDim, geometry.groups);
    }
    Value init = filledTensor(builder, location, shape, reductionIdentity(ReductionKind::Sum, accumulator));
    auto sum = linalg::GenericOp::create(
        builder, location, init.getType(), operands, init, indexingMaps(builder, iterators.size(), indices), iterators,
        [&](OpBuilder &b, Location l, ValueRange args) {
          Value x = extendScalar(b, l, args[0], accumulator), y = extendScalar(b, l, args[1], accumulator);
          Value total = multiplyAddScalars(b, l, x, y, args[2]);
          linalg::YieldOp::create(b, l, total);
        });
    return merge(roundedTensor(builder, location, sum.getResult(0), element), channelDim);
  }

private:
  static SmallVector<ReassociationIndices> reassociation(int64_t rank, int64_t dim) {
    SmallVector<ReassociationIndices> groups;
    for (int64_t i = 0, next = 0; i < rank; ++i) {
      groups.push_back({next++});
      if (i == dim)
        groups.back().push_back(next++);
    }
    return groups;
  }
};

/// Concatenates index expressions, leaving out the absent ones.
template <typename... Parts> SmallVector<AffineExpr> join(const Parts &...parts) {
  SmallVector<AffineExpr> all;
  auto add = [&](const auto &part) {
    if constexpr (std::is_convertible_v<decltype(part), AffineExpr>) {
      if (part)
        all.push_back(part);
    } else {
      llvm::append_range(all, part);
    }
  };
  (add(parts), ...);
  return all;
}
} // namespace

FailureOr<SmallVector<Value>> ConvolutionOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  ConvolutionLoops loops{builder, getLoc(), getGeometry(), {}};
  int64_t last = loops.geometry.spatial.size() + 1;
  AffineExpr n = loops.loop(false), g = loops.isGrouped() ? loops.loop(false) : AffineExpr();
  SmallVector<AffineExpr> o = loops.spatialLoops(false), k = loops.spatialLoops(true);
  AffineExpr c = loops.loop(true), f = loops.loop(false);
  Value input = loops.split(loops.padInput(operands[0]), last), weights = loops.split(operands[1], last);
  return SmallVector<Value>{
      loops.sumProducts({input, weights}, cast<RankedTensorType>(getType()), last,
                        {join(n, loops.inputIndices(o, k), g, c), join(k, c, g, f), join(n, o, g, f)})};
}

FailureOr<SmallVector<Value>> ConvolutionWeightGradOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  ConvolutionLoops loops{builder, getLoc(), getGeometry(), {}};
  int64_t last = loops.geometry.spatial.size() + 1;
  SmallVector<AffineExpr> k = loops.spatialLoops(false);
  AffineExpr g = loops.isGrouped() ? loops.loop(false) : AffineExpr(), c = loops.loop(false), n = loops.loop(true);
  SmallVector<AffineExpr> o = loops.spatialLoops(true);
  AffineExpr f = loops.loop(false);
  Value input = loops.split(loops.padInput(operands[0]), last), output = loops.split(operands[1], last);
  return SmallVector<Value>{
      loops.sumProducts({input, output}, cast<RankedTensorType>(getType()), last,
                        {join(n, loops.inputIndices(o, k), g, c), join(n, o, g, f), join(k, c, g, f)})};
}

FailureOr<SmallVector<Value>> ConvolutionInputGradOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  ConvolutionLoops loops{builder, getLoc(), getGeometry(), {}};
  int64_t last = loops.geometry.spatial.size() + 1;
  AffineExpr n = loops.loop(false), g = loops.isGrouped() ? loops.loop(false) : AffineExpr();
  SmallVector<AffineExpr> i = loops.spatialLoops(false), k = loops.spatialLoops(true);
  AffineExpr f = loops.loop(true), c = loops.loop(false);

  // Input element i counts through window element k into output element o with
  //   o * stride = i * inputDilation - k * dilation + low.
  // The output gradient gets zeros between its elements, so that every such place exists, and at both ends.
  SmallVector<int64_t> low{0}, high{0}, dilation{1};
  SmallVector<AffineExpr> places;
  for (auto [d, dim] : llvm::enumerate(loops.geometry.spatial)) {
    int64_t first = dim.low - (dim.window - 1) * dim.dilation, end = (dim.input - 1) * dim.inputDilation + dim.low;
    low.push_back(std::max<int64_t>(0, -first));
    high.push_back(std::max<int64_t>(0, end - (dim.output - 1) * dim.stride));
    dilation.push_back(dim.stride);
    places.push_back(i[d] * dim.inputDilation - k[d] * dim.dilation + (dim.low + low.back()));
  }
  Value output = loops.split(loops.pad(operands[0], low, high, dilation), last);
  // Weights: spatial, channels of a group, groups, filters of a group.
  Value weights = loops.split(operands[1], last);
  return SmallVector<Value>{loops.sumProducts({output, weights}, cast<RankedTensorType>(getType()), last,
                                              {join(n, places, g, f), join(k, c, g, f), join(n, i, g, c)})};
}
