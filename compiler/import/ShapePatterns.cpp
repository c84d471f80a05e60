// From the ops of StableHLO that move, repeat or choose elements to those of dgc.

#include "compiler/import/Patterns.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

struct ConstantLowering : Lowering<stablehlo::ConstantOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ConstantOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    ElementsAttr value = op.getValue();
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
      AsmResourceBlob *blob = resource.getRawHandle().getBlob();
      bool isSplat = false;
      if (!blob || !DenseElementsAttr::isValidRawBuffer(resource.getType(), blob->getData(), isSplat))
        return refuse(reason, "a resource without data, or of another size than its type");
      value = DenseElementsAttr::getFromRawBuffer(resource.getType(), blob->getData());
    }
    if (!isa<DenseElementsAttr>(value))
      return refuse(reason, "a constant that is not dense");
    results.push_back(ConstantOp::create(b.builder, b.location, op.getType(), value));
    return success();
  }
};

struct IotaLowering : Lowering<stablehlo::IotaOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::IotaOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (elementOf(op.getResult()).isInteger(1))
      return refuse(reason, "an iota of booleans");
    results.push_back(IotaOp::create(b.builder, b.location, tensorOf(op.getResult()), op.getIotaDimension(), Value()));
    return success();
  }
};

struct BroadcastFirstLowering : Lowering<stablehlo::BroadcastOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::BroadcastOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    const auto added = static_cast<int64_t>(op.getBroadcastSizes().size());
    auto dims = llvm::to_vector(llvm::seq(added, tensorOf(op.getResult()).getRank()));
    results.push_back(b.broadcast(op.getOperand(), tensorOf(op.getResult()).getShape(), dims));
    return success();
  }
};

struct BroadcastLowering : Lowering<stablehlo::BroadcastInDimOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::BroadcastInDimOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    // dgc has the dimensions in ascending order.
    SmallVector<int64_t> order = firstNumbers(op.getBroadcastDimensions().size());
    llvm::stable_sort(
        order, [&](int64_t x, int64_t y) { return op.getBroadcastDimensions()[x] < op.getBroadcastDimensions()[y]; });
    Value operand = b.transpose(op.getOperand(), order);
    SmallVector<int64_t> dims = llvm::map_to_vector(order, [&](int64_t i) { return op.getBroadcastDimensions()[i]; });
    results.push_back(b.broadcast(operand, tensorOf(op.getResult()).getShape(), dims));
    return success();
  }
};

struct ConcatenateLowering : Lowering<stablehlo::ConcatenateOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ConcatenateOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    results.push_back(
        ConcatenateOp::create(b.builder, b.location, op.getType(), op.getInputs(), op.getDimensionAttr()));
    return success();
  }
};

struct PadLowering : Lowering<stablehlo::PadOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::PadOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    results.push_back(b.pad(op.getOperand(), op.getPaddingValue(), op.getEdgePaddingLow(), op.getEdgePaddingHigh(),
                            op.getInteriorPadding()));
    return success();
  }
};

struct ReshapeLowering : Lowering<stablehlo::ReshapeOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ReshapeOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    results.push_back(b.reshape(op.getOperand(), tensorOf(op.getResult()).getShape()));
    return success();
  }
};

struct ReverseLowering : Lowering<stablehlo::ReverseOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ReverseOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    SmallVector<int64_t> dims(op.getDimensions());
    llvm::sort(dims);
    results.push_back(dims.empty() ? op.getOperand()
                                   : Value(ReverseOp::create(b.builder, b.location, op.getType(), op.getOperand(),
                                                             b.builder.getDenseI64ArrayAttr(dims))));
    return success();
  }
};

struct SliceLowering : Lowering<stablehlo::SliceOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::SliceOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    results.push_back(b.slice(op.getOperand(), op.getStartIndices(), op.getLimitIndices(), op.getStrides()));
    return success();
  }
};

struct TransposeLowering : Lowering<stablehlo::TransposeOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::TransposeOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    results.push_back(b.transpose(op.getOperand(), op.getPermutation()));
    return success();
  }
};

struct GetDimensionSizeLowering : Lowering<stablehlo::GetDimensionSizeOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::GetDimensionSizeOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    auto size = static_cast<double>(tensorOf(op.getOperand()).getDimSize(op.getDimension()));
    results.push_back(b.splat(size, tensorOf(op.getResult())));
    return success();
  }
};

} // namespace

void dgc::import::addShapePatterns(RewritePatternSet &patterns) {
  patterns
      .add<BroadcastFirstLowering, BroadcastLowering, ConcatenateLowering, ConstantLowering, GetDimensionSizeLowering,
           IotaLowering, PadLowering, ReshapeLowering, ReverseLowering, SliceLowering, TransposeLowering>(
          patterns.getContext());
}
