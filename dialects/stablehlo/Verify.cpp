// What the verifiers of several ops check.

#include "dialects/stablehlo/Verify.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dgc::stablehlo {

LogicalResult checkDims(Operation *op, StringRef name, ArrayRef<int64_t> dims, int64_t rank) {
  BitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << "has the dimension " << dim << " in " << name << ", but the rank is " << rank;
    if (seen.test(dim))
      return op->emitOpError() << "has the dimension " << dim << " twice in " << name;
    seen.set(dim);
  }
  return success();
}

LogicalResult checkPerDim(Operation *op, StringRef name, ArrayRef<int64_t> list, int64_t count, int64_t least) {
  if (static_cast<int64_t>(list.size()) != count)
    return op->emitOpError() << "has " << list.size() << " numbers in " << name << ", one is needed for each of "
                             << count << " dimensions";
  for (int64_t each : list)
    if (each < least)
      return op->emitOpError() << "has " << each << " in " << name << ", which must be at least " << least;
  return success();
}

LogicalResult checkShape(Operation *op, Value result, ArrayRef<int64_t> expected) {
  if (tensorOf(result).getShape() == expected)
    return success();
  InFlightDiagnostic error = op->emitOpError();
  error << "has a result of the shape [" << tensorOf(result).getShape() << "], but its operands make [" << expected
        << "]";
  return error;
}

LogicalResult checkRegion(Operation *op, Region &region, StringRef name, TypeRange arguments, TypeRange results) {
  if (!region.hasOneBlock())
    return op->emitOpError() << "needs one block in its region '" << name << "'";
  Block &block = region.front();
  if (block.getArgumentTypes() != arguments)
    return op->emitOpError() << "needs arguments of the types (" << arguments << ") in its region '" << name
                             << "', which has (" << block.getArgumentTypes() << ")";
  auto end = block.empty() ? ReturnOp() : dyn_cast<ReturnOp>(block.back());
  if (!end)
    return op->emitOpError() << "needs a stablehlo.return at the end of its region '" << name << "'";
  if (end.getOperandTypes() != results)
    return op->emitOpError() << "needs results of the types (" << results << ") of its region '" << name
                             << "', which returns (" << end.getOperandTypes() << ")";
  return success();
}

SmallVector<Type> scalarsOf(ValueRange values) {
  return llvm::map_to_vector(
      values, [](Value value) -> Type { return RankedTensorType::get({}, tensorOf(value).getElementType()); });
}

std::optional<int64_t> paddedSize(int64_t size, int64_t interior, int64_t low, int64_t high) {
  int64_t padded = 0;
  if (llvm::MulOverflow(std::max<int64_t>(size - 1, 0), interior, padded) || llvm::AddOverflow(padded, size, padded) ||
      llvm::AddOverflow(padded, low, padded) || llvm::AddOverflow(padded, high, padded))
    return std::nullopt;
  return padded;
}

int64_t WindowSize::count(int64_t size) const {
  int64_t covered = 0;
  std::optional<int64_t> padded = paddedSize(size, baseDilation - 1, low, high);
  if (!padded || llvm::MulOverflow(window - 1, windowDilation, covered))
    return -1;
  return covered >= *padded ? 0 : (*padded - covered - 1) / stride + 1;
}

FailureOr<SmallVector<WindowSize>> windowOf(Operation *op, ArrayRef<int64_t> window,
                                            std::optional<ArrayRef<int64_t>> strides,
                                            std::optional<ArrayRef<int64_t>> baseDilations,
                                            std::optional<ArrayRef<int64_t>> windowDilations,
                                            std::optional<DenseIntElementsAttr> padding) {
  const auto rank = static_cast<int64_t>(window.size());
  SmallVector<int64_t> ones(rank, 1), pads(2 * rank, 0);
  ArrayRef<int64_t> stride = strides.value_or(ones), base = baseDilations.value_or(ones),
                    dilation = windowDilations.value_or(ones);
  if (padding) {
    auto type = padding->getType();
    if (type.getRank() != 2 || type.getDimSize(0) != rank || type.getDimSize(1) != 2)
      return op->emitOpError() << "has padding of the type " << type << ", which must have two numbers for each of "
                               << rank << " dimensions";
    pads = llvm::to_vector(padding->getValues<int64_t>());
  }
  if (failed(checkPerDim(op, "the window", window, rank, 1)) ||
      failed(checkPerDim(op, "the strides", stride, rank, 1)) ||
      failed(checkPerDim(op, "the base dilations", base, rank, 1)) ||
      failed(checkPerDim(op, "the window dilations", dilation, rank, 1)))
    return failure();
  SmallVector<WindowSize> sizes;
  for (int64_t i = 0; i < rank; ++i)
    sizes.push_back({.window = window[i],
                     .stride = stride[i],
                     .low = pads[2 * i],
                     .high = pads[2 * i + 1],
                     .baseDilation = base[i],
                     .windowDilation = dilation[i]});
  return sizes;
}

} // namespace dgc::stablehlo
