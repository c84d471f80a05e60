#include "compiler/import/RegionUtil.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dgc::import {

namespace shlo {

Value broadcastScalar(TensorBuilder &b, Value x, ArrayRef<int64_t> shape) {
  return shape.empty() ? x
                       : stablehlo::BroadcastInDimOp::create(b.builder, b.location, tensorOf(x).clone(shape), x,
                                                             ArrayRef<int64_t>())
                             .getResult();
}

Value concatenate(TensorBuilder &b, ValueRange parts, int64_t dim) {
  SmallVector<int64_t> shape(tensorOf(parts[0]).getShape());
  shape[dim] = 0;
  for (Value part : parts)
    shape[dim] += tensorOf(part).getDimSize(dim);
  return stablehlo::ConcatenateOp::create(b.builder, b.location, tensorOf(parts[0]).clone(shape), parts, dim);
}

Value pad(TensorBuilder &b, Value x, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
          ArrayRef<int64_t> interior) {
  SmallVector<int64_t> shape(tensorOf(x).getShape());
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] += low[i] + high[i] + std::max<int64_t>(shape[i] - 1, 0) * interior[i];
  if (tensorOf(x).getShape() == ArrayRef(shape) && llvm::all_of(low, [](int64_t each) { return each == 0; }))
    return x;
  return stablehlo::PadOp::create(b.builder, b.location, tensorOf(x).clone(shape), x, value, low, high, interior);
}

Value reshape(TensorBuilder &b, Value x, ArrayRef<int64_t> shape) {
  return tensorOf(x).getShape() == shape
             ? x
             : stablehlo::ReshapeOp::create(b.builder, b.location, tensorOf(x).clone(shape), x).getResult();
}

Value reverse(TensorBuilder &b, Value x, int64_t dim) {
  return stablehlo::ReverseOp::create(b.builder, b.location, x.getType(), x, ArrayRef<int64_t>{dim});
}

Value select(TensorBuilder &b, Value pred, Value onTrue, Value onFalse) {
  return stablehlo::SelectOp::create(b.builder, b.location, onTrue.getType(), pred, onTrue, onFalse);
}

Value slice(TensorBuilder &b, Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides))
    shape.push_back((limit - start + stride - 1) / stride);
  if (tensorOf(x).getShape() == ArrayRef(shape))
    return x;
  return stablehlo::SliceOp::create(b.builder, b.location, tensorOf(x).clone(shape), x, starts, limits, strides);
}

} // namespace shlo

bool isElementwise(Region &region, std::string &reason) {
  auto isScalar = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  };
  for (Operation &op : region.front().without_terminator()) {
    const bool isKnown = isa_and_nonnull<stablehlo::StableHLODialect, chlo::ChloDialect>(op.getDialect()) &&
                         isMemoryEffectFree(&op) && op.getNumRegions() == 0;
    if (!isKnown || !llvm::all_of(op.getOperandTypes(), isScalar) || !llvm::all_of(op.getResultTypes(), isScalar) ||
        isa<stablehlo::IotaOp>(op) || (isa<stablehlo::ConstantOp>(op) && !constantOf(op.getResult(0)))) {
      reason = ("a region with '" + op.getName().getStringRef() + "', which is not elementwise").str();
      return false;
    }
  }
  return true;
}

SmallVector<Value> applyElementwise(TensorBuilder &b, Region &region, ValueRange arguments) {
  ArrayRef<int64_t> shape = tensorOf(arguments.front()).getShape();
  Block &block = region.front();
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  // A region may use what is computed around it: jax.export moves constants out of regions.
  for (Operation &op : block)
    for (Value operand : op.getOperands())
      if (operand.getParentRegion() != &region && !mapping.contains(operand))
        mapping.map(operand, shlo::broadcastScalar(b, operand, shape));
  for (Operation &op : block.without_terminator()) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType()).clone(shape);
    if (isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(op)) { // of a scalar to itself
      mapping.map(op.getResult(0), mapping.lookupOrDefault(op.getOperand(0)));
      continue;
    }
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto value = cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>();
      auto all = DenseElementsAttr::get(type, value);
      mapping.map(op.getResult(0), stablehlo::ConstantOp::create(b.builder, b.location, type, all).getResult());
      continue;
    }
    b.builder.clone(op, mapping)->getResult(0).setType(type);
  }
  return llvm::map_to_vector(block.back().getOperands(), [&](Value value) { return mapping.lookupOrDefault(value); });
}

SmallVector<Value> foldElements(TensorBuilder &b, Region &region, ValueRange values, int64_t dim) {
  SmallVector<Value> folded(values);
  SmallVector<int64_t> shape(tensorOf(values[0]).getShape());
  auto part = [&](Value value, int64_t begin, int64_t end, int64_t stride) {
    SmallVector<int64_t> starts(shape.size(), 0), limits(shape), strides(shape.size(), 1);
    starts[dim] = begin;
    limits[dim] = end;
    strides[dim] = stride;
    return shlo::slice(b, value, starts, limits, strides);
  };
  while (shape[dim] > 1) {
    const int64_t size = shape[dim], even = size / 2 * 2;
    SmallVector<Value> arguments;
    for (int64_t begin : {0, 1})
      for (Value value : folded)
        arguments.push_back(part(value, begin, even, 2));
    SmallVector<Value> combined = applyElementwise(b, region, arguments);
    for (auto [value, each] : llvm::zip_equal(folded, combined)) {
      Value both[] = {each, size == even ? Value() : part(value, even, size, 1)};
      value = size == even ? each : shlo::concatenate(b, both, dim);
    }
    shape[dim] = (size + 1) / 2;
  }
  shape.erase(shape.begin() + dim);
  for (Value &value : folded)
    value = shlo::reshape(b, value, shape);
  return folded;
}

SmallVector<Value> withInitials(TensorBuilder &b, Region &region, ValueRange inits, ValueRange values) {
  SmallVector<Value> arguments;
  for (auto [init, value] : llvm::zip_equal(inits, values))
    arguments.push_back(shlo::broadcastScalar(b, init, tensorOf(value).getShape()));
  llvm::append_range(arguments, values);
  return applyElementwise(b, region, arguments);
}

} // namespace dgc::import
