// From the ops of StableHLO that take a shape, sizes or places as an operand to those that have them as attributes, where the
// type of the result has no open sizes.

#include "compiler/import/Patterns.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

using Numbers = SmallVector<int64_t>;

/// The integers that a value is, where it is made of constants.
std::optional<Numbers> numbersOf(Value value) {
  if (DenseElementsAttr constant = constantOf(value); constant && isa<IntegerType>(constant.getElementType())) {
    const bool isUnsigned = constant.getElementType().isUnsignedInteger();
    return llvm::map_to_vector(constant.getValues<APInt>(), [&](const APInt &number) {
      return isUnsigned ? static_cast<int64_t>(number.getZExtValue()) : number.getSExtValue();
    });
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    return numbersOf(reshape.getOperand());
  if (auto convert = value.getDefiningOp<ConvertOp>(); convert && isa<IntegerType>(elementOf(convert.getOperand())))
    return numbersOf(convert.getOperand());
  auto join = value.getDefiningOp<ConcatenateOp>();
  if (!join || tensorOf(value).getRank() != 1)
    return std::nullopt;
  Numbers numbers;
  for (Value part : join.getInputs()) {
    std::optional<Numbers> some = numbersOf(part);
    if (!some)
      return std::nullopt;
    llvm::append_range(numbers, *some);
  }
  return numbers;
}

/// Gives the result of a static op, which is verified as if it had been written so; or says why it is none.
LogicalResult takeStatic(Operation *op, SmallVectorImpl<Value> &results, std::string &reason) {
  bool isRight = false;
  {
    ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diagnostic) { reason = diagnostic.str(); });
    isRight = succeeded(op->getName().verifyInvariants(op));
  }
  if (isRight) {
    results.push_back(op->getResult(0));
    return success();
  }
  const std::string name = ("'" + op->getName().getStringRef() + "' op ").str();
  if (StringRef(reason).starts_with(name))
    reason = reason.substr(name.size());
  op->erase();
  return failure();
}

template <class Op> struct DynamicLowering : Lowering<Op> {
  using Lowering<Op>::Lowering;

protected:
  /// The numbers of an operand, or a reason why there are none.
  static std::optional<Numbers> numbers(Value operand, StringRef name, std::string &reason) {
    std::optional<Numbers> known = numbersOf(operand);
    if (!known)
      reason = (name + " that is no constant").str();
    return known;
  }
  /// Whether the operand is not known, or the shape of the result.
  static bool isShapeOf(Value operand, Value result, StringRef name, std::string &reason) {
    std::optional<Numbers> known = numbersOf(operand);
    if (!known || ArrayRef(*known) == tensorOf(result).getShape())
      return true;
    llvm::raw_string_ostream text(reason);
    text << name << " [";
    llvm::interleaveComma(*known, text);
    text << "] for a result of the shape [";
    llvm::interleaveComma(tensorOf(result).getShape(), text);
    text << ']';
    return false;
  }
};

struct DynamicBroadcastLowering : DynamicLowering<stablehlo::DynamicBroadcastInDimOp> {
  using DynamicLowering::DynamicLowering;
  LogicalResult lower(stablehlo::DynamicBroadcastInDimOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (!isShapeOf(op.getOutputDimensions(), op.getResult(), "output_dimensions", reason))
      return failure();
    return takeStatic(stablehlo::BroadcastInDimOp::create(b.builder, b.location, op.getType(), op.getOperand(),
                                                          op.getBroadcastDimensions()),
                      results, reason);
  }
};

struct DynamicIotaLowering : DynamicLowering<stablehlo::DynamicIotaOp> {
  using DynamicLowering::DynamicLowering;
  LogicalResult lower(stablehlo::DynamicIotaOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (!isShapeOf(op.getOutputShape(), op.getResult(), "output_shape", reason))
      return failure();
    return takeStatic(stablehlo::IotaOp::create(b.builder, b.location, op.getType(), op.getIotaDimension()), results,
                      reason);
  }
};

struct DynamicReshapeLowering : DynamicLowering<stablehlo::DynamicReshapeOp> {
  using DynamicLowering::DynamicLowering;
  LogicalResult lower(stablehlo::DynamicReshapeOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (!isShapeOf(op.getOutputShape(), op.getResult(), "output_shape", reason))
      return failure();
    return takeStatic(stablehlo::ReshapeOp::create(b.builder, b.location, op.getType(), op.getOperand()), results,
                      reason);
  }
};

struct DynamicPadLowering : DynamicLowering<stablehlo::DynamicPadOp> {
  using DynamicLowering::DynamicLowering;
  LogicalResult lower(stablehlo::DynamicPadOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    auto low = numbers(op.getEdgePaddingLow(), "edge_padding_low", reason),
         high = numbers(op.getEdgePaddingHigh(), "edge_padding_high", reason),
         interior = numbers(op.getInteriorPadding(), "interior_padding", reason);
    if (!low || !high || !interior)
      return failure();
    return takeStatic(stablehlo::PadOp::create(b.builder, b.location, op.getType(), op.getOperand(),
                                               op.getPaddingValue(), *low, *high, *interior),
                      results, reason);
  }
};

struct RealDynamicSliceLowering : DynamicLowering<stablehlo::RealDynamicSliceOp> {
  using DynamicLowering::DynamicLowering;
  LogicalResult lower(stablehlo::RealDynamicSliceOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    auto starts = numbers(op.getStartIndices(), "start_indices", reason),
         limits = numbers(op.getLimitIndices(), "limit_indices", reason),
         strides = numbers(op.getStrides(), "strides", reason);
    if (!starts || !limits || !strides)
      return failure();
    return takeStatic(
        stablehlo::SliceOp::create(b.builder, b.location, op.getType(), op.getOperand(), *starts, *limits, *strides),
        results, reason);
  }
};

struct DynamicGatherLowering : DynamicLowering<stablehlo::DynamicGatherOp> {
  using DynamicLowering::DynamicLowering;
  LogicalResult lower(stablehlo::DynamicGatherOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    std::optional<Numbers> sizes = numbers(op.getSliceSizes(), "slice_sizes", reason);
    if (!sizes)
      return failure();
    return takeStatic(stablehlo::GatherOp::create(b.builder, b.location, op.getType(), op.getOperand(),
                                                  op.getStartIndices(), op.getDimensionNumbers(), *sizes,
                                                  op.getIndicesAreSorted()),
                      results, reason);
  }
};

struct DynamicConvLowering : DynamicLowering<stablehlo::DynamicConvOp> {
  using DynamicLowering::DynamicLowering;
  LogicalResult lower(stablehlo::DynamicConvOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    std::optional<Numbers> padding = numbers(op.getDPadding(), "padding", reason);
    if (!padding)
      return failure();
    auto type = RankedTensorType::get(tensorOf(op.getDPadding()).getShape(), b.builder.getI64Type());
    return takeStatic(stablehlo::ConvolutionOp::create(
                          b.builder, b.location, op.getType(), op.getLhs(), op.getRhs(), op.getWindowStridesAttr(),
                          DenseIntElementsAttr::get(type, *padding), op.getLhsDilationAttr(), op.getRhsDilationAttr(),
                          op.getWindowReversalAttr(), op.getDimensionNumbersAttr(), op.getFeatureGroupCountAttr(),
                          op.getBatchGroupCountAttr(), op.getPrecisionConfigAttr()),
                      results, reason);
  }
};

} // namespace

bool dgc::import::isDynamicShape(Operation *op) {
  return isa<stablehlo::DynamicBroadcastInDimOp, stablehlo::DynamicConvOp, stablehlo::DynamicGatherOp,
             stablehlo::DynamicIotaOp, stablehlo::DynamicPadOp, stablehlo::DynamicReshapeOp,
             stablehlo::RealDynamicSliceOp>(op);
}

void dgc::import::addDynamicShapePatterns(RewritePatternSet &patterns) {
  patterns.add<DynamicBroadcastLowering, DynamicConvLowering, DynamicGatherLowering, DynamicIotaLowering,
               DynamicPadLowering, DynamicReshapeLowering, RealDynamicSliceLowering>(patterns.getContext());
}
