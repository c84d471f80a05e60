// Ops that make, move, repeat or choose elements and compute nothing.

#include "dialects/stablehlo/Assembly.h"
#include "dialects/stablehlo/Attributes.h"
#include "dialects/stablehlo/Verify.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dgc::stablehlo;

#define GET_OP_CLASSES
#include "dialects/stablehlo/ShapeOps.cpp.inc"

void StableHLODialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/stablehlo/ShapeOps.cpp.inc"
      >();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::verify() {
  int64_t rank = tensorOf(getResult()).getRank();
  return checkDims(*this, "iota_dimension", {static_cast<int64_t>(getIotaDimension())}, rank);
}

/// The bits of an element.
static unsigned bitsOf(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * bitsOf(complex.getElementType());
  return element.getIntOrFloatBitWidth();
}

LogicalResult BitcastConvertOp::verify() {
  auto from = tensorOf(getOperand()), to = tensorOf(getResult());
  if (isa<ComplexType>(from.getElementType()) != isa<ComplexType>(to.getElementType()))
    return emitOpError("makes complex numbers of complex numbers alone, and nothing else of them");
  unsigned fromBits = bitsOf(from.getElementType()), toBits = bitsOf(to.getElementType());
  SmallVector<int64_t> shape(from.getShape());
  if (fromBits > toBits) {
    shape.push_back(fromBits / toBits);
  } else if (fromBits < toBits) {
    if (shape.empty() || shape.back() != static_cast<int64_t>(toBits / fromBits))
      return emitOpError() << "needs a last dimension of " << toBits / fromBits << " elements to make one of them";
    shape.pop_back();
  }
  if (std::max(fromBits, toBits) % std::min(fromBits, toBits) != 0)
    return emitOpError() << "cannot make elements of " << toBits << " bits of those of " << fromBits;
  return checkShape(*this, getResult(), shape);
}

LogicalResult BroadcastOp::verify() {
  SmallVector<int64_t> shape(getBroadcastSizes());
  llvm::append_range(shape, tensorOf(getOperand()).getShape());
  return checkShape(*this, getResult(), shape);
}

LogicalResult BroadcastInDimOp::verify() {
  auto from = tensorOf(getOperand()), to = tensorOf(getResult());
  if (failed(checkPerDim(*this, "broadcast_dimensions", getBroadcastDimensions(), from.getRank())) ||
      failed(checkDims(*this, "broadcast_dimensions", getBroadcastDimensions(), to.getRank())))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getBroadcastDimensions()))
    if (from.getDimSize(i) != 1 && from.getDimSize(i) != to.getDimSize(dim))
      return emitOpError() << "cannot repeat dimension " << i << " of " << from << " along dimension " << dim << " of "
                           << to;
  return success();
}

LogicalResult ConcatenateOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs an operand");
  auto dim = static_cast<int64_t>(getDimension());
  auto first = tensorOf(getInputs().front());
  if (failed(checkDims(*this, "dimension", {dim}, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[dim] = 0;
  for (Value input : getInputs()) {
    auto type = tensorOf(input);
    for (int64_t i = 0; i < std::min(type.getRank(), first.getRank()); ++i)
      if (i != dim && type.getDimSize(i) != first.getDimSize(i))
        return emitOpError() << "cannot join " << type << " to " << first << " along dimension " << dim;
    if (type.getRank() != first.getRank())
      return emitOpError() << "cannot join tensors of different ranks";
    if (llvm::AddOverflow(shape[dim], type.getDimSize(dim), shape[dim]))
      return emitOpError() << "cannot join tensors of so many elements along dimension " << dim;
  }
  return checkShape(*this, getResult(), shape);
}

LogicalResult DynamicSliceOp::verify() {
  auto type = tensorOf(getOperand());
  if (static_cast<int64_t>(getStartIndices().size()) != type.getRank())
    return emitOpError() << "needs an index for each of " << type.getRank() << " dimensions";
  if (failed(checkPerDim(*this, "slice_sizes", getSliceSizes(), type.getRank(), 0)))
    return failure();
  for (auto [size, all] : llvm::zip_equal(getSliceSizes(), type.getShape()))
    if (size > all)
      return emitOpError() << "cannot take " << size << " of " << all << " elements";
  if (type.getElementType() != tensorOf(getResult()).getElementType())
    return emitOpError("has another element type than its operand");
  return checkShape(*this, getResult(), getSliceSizes());
}

/// Checks that there is a number for each dimension, as far as that is known.
static LogicalResult checkSizes(Operation *op, StringRef name, Value sizes, int64_t rank) {
  const int64_t count = tensorOf(sizes).getDimSize(0);
  if (ShapedType::isDynamic(count) || count == rank)
    return success();
  return op->emitOpError() << "has " << count << " numbers in " << name << ", one is needed for each of " << rank
                           << " dimensions";
}

static LogicalResult checkElements(Operation *op, Value operand) {
  if (tensorOf(operand).getElementType() == tensorOf(op->getResult(0)).getElementType())
    return success();
  return op->emitOpError("has another element type than its operand");
}

LogicalResult DynamicBroadcastInDimOp::verify() {
  auto from = tensorOf(getOperand()), to = tensorOf(getResult());
  if (failed(checkElements(*this, getOperand())) ||
      failed(checkSizes(*this, "output_dimensions", getOutputDimensions(), to.getRank())) ||
      failed(checkPerDim(*this, "broadcast_dimensions", getBroadcastDimensions(), from.getRank())) ||
      failed(checkDims(*this, "broadcast_dimensions", getBroadcastDimensions(), to.getRank())))
    return failure();
  SmallVector<int64_t> known(getKnownExpandingDimensions().value_or(ArrayRef<int64_t>()));
  llvm::append_range(known, getKnownNonexpandingDimensions().value_or(ArrayRef<int64_t>()));
  return checkDims(*this, "the dimensions of which it is known whether they are repeated", known, from.getRank());
}

LogicalResult DynamicIotaOp::verify() {
  const int64_t rank = tensorOf(getResult()).getRank();
  if (failed(checkSizes(*this, "output_shape", getOutputShape(), rank)))
    return failure();
  return checkDims(*this, "iota_dimension", {static_cast<int64_t>(getIotaDimension())}, rank);
}

LogicalResult DynamicPadOp::verify() {
  const int64_t rank = tensorOf(getOperand()).getRank();
  if (tensorOf(getPaddingValue()).getRank() != 0)
    return emitOpError("needs a padding value that is a scalar");
  if (tensorOf(getResult()).getRank() != rank)
    return emitOpError() << "needs a result of the rank " << rank << ", as its operand has";
  return failure(failed(checkElements(*this, getOperand())) || failed(checkElements(*this, getPaddingValue())) ||
                 failed(checkSizes(*this, "edge_padding_low", getEdgePaddingLow(), rank)) ||
                 failed(checkSizes(*this, "edge_padding_high", getEdgePaddingHigh(), rank)) ||
                 failed(checkSizes(*this, "interior_padding", getInteriorPadding(), rank)));
}

LogicalResult DynamicReshapeOp::verify() {
  return failure(failed(checkElements(*this, getOperand())) ||
                 failed(checkSizes(*this, "output_shape", getOutputShape(), tensorOf(getResult()).getRank())));
}

LogicalResult RealDynamicSliceOp::verify() {
  const int64_t rank = tensorOf(getOperand()).getRank();
  if (tensorOf(getResult()).getRank() != rank)
    return emitOpError() << "needs a result of the rank " << rank << ", as its operand has";
  return failure(failed(checkElements(*this, getOperand())) ||
                 failed(checkSizes(*this, "start_indices", getStartIndices(), rank)) ||
                 failed(checkSizes(*this, "limit_indices", getLimitIndices(), rank)) ||
                 failed(checkSizes(*this, "strides", getStrides(), rank)));
}

LogicalResult DynamicUpdateSliceOp::verify() {
  auto type = tensorOf(getOperand()), update = tensorOf(getUpdate());
  if (static_cast<int64_t>(getStartIndices().size()) != type.getRank() || update.getRank() != type.getRank())
    return emitOpError() << "needs an index and a size of the update for each of " << type.getRank() << " dimensions";
  for (auto [size, all] : llvm::zip_equal(update.getShape(), type.getShape()))
    if (size > all)
      return emitOpError() << "cannot put " << size << " in place of " << all << " elements";
  if (type.getElementType() != update.getElementType())
    return emitOpError("has an update of another element type than its operand");
  return success();
}

LogicalResult GetDimensionSizeOp::verify() {
  return checkDims(*this, "dimension", {static_cast<int64_t>(getDimension())}, tensorOf(getOperand()).getRank());
}

LogicalResult PadOp::verify() {
  auto type = tensorOf(getOperand());
  if (tensorOf(getPaddingValue()).getRank() != 0)
    return emitOpError("needs a padding value that is a scalar");
  if (failed(checkPerDim(*this, "edge_padding_low", getEdgePaddingLow(), type.getRank())) ||
      failed(checkPerDim(*this, "edge_padding_high", getEdgePaddingHigh(), type.getRank())) ||
      failed(checkPerDim(*this, "interior_padding", getInteriorPadding(), type.getRank(), 0)))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [size, low, high, interior] :
       llvm::zip_equal(type.getShape(), getEdgePaddingLow(), getEdgePaddingHigh(), getInteriorPadding())) {
    std::optional<int64_t> padded = paddedSize(size, interior, low, high);
    if (!padded)
      return emitOpError() << "cannot pad " << size << " elements with " << low << " before, " << high << " behind and "
                           << interior << " between them: the numbers are too large";
    shape.push_back(*padded);
  }
  return checkShape(*this, getResult(), shape);
}

LogicalResult ReshapeOp::verify() {
  auto from = tensorOf(getOperand()), to = tensorOf(getResult());
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << "cannot make the " << to.getNumElements() << " elements of " << to << " of the "
                         << from.getNumElements() << " of " << from;
  return success();
}

LogicalResult ReverseOp::verify() {
  return checkDims(*this, "dimensions", getDimensions(), tensorOf(getOperand()).getRank());
}

LogicalResult SliceOp::verify() {
  auto type = tensorOf(getOperand());
  if (failed(checkPerDim(*this, "start_indices", getStartIndices(), type.getRank(), 0)) ||
      failed(checkPerDim(*this, "limit_indices", getLimitIndices(), type.getRank(), 0)) ||
      failed(checkPerDim(*this, "strides", getStrides(), type.getRank(), 1)))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [size, start, limit, stride] :
       llvm::zip_equal(type.getShape(), getStartIndices(), getLimitIndices(), getStrides())) {
    if (start > limit || limit > size)
      return emitOpError() << "cannot take elements " << start << " to " << limit << " of " << size;
    shape.push_back(limit == start ? 0 : (limit - start - 1) / stride + 1);
  }
  return checkShape(*this, getResult(), shape);
}

LogicalResult TransposeOp::verify() {
  auto type = tensorOf(getOperand());
  if (failed(checkPerDim(*this, "permutation", getPermutation(), type.getRank())) ||
      failed(checkDims(*this, "permutation", getPermutation(), type.getRank())))
    return failure();
  return checkShape(*this, getResult(),
                    llvm::map_to_vector(getPermutation(), [&](int64_t dim) { return type.getDimSize(dim); }));
}
