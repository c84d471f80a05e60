// Products, convolutions and other ops of linear algebra.

#include "dialects/stablehlo/Assembly.h"
#include "dialects/stablehlo/Attributes.h"
#include "dialects/stablehlo/Einsum.h"
#include "dialects/stablehlo/Verify.h"

using namespace mlir;
using namespace dgc::stablehlo;

#define GET_OP_CLASSES
#include "dialects/stablehlo/ContractionOps.cpp.inc"

void StableHLODialect::registerContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/stablehlo/ContractionOps.cpp.inc"
      >();
}

LogicalResult DotOp::verify() {
  auto lhs = tensorOf(getLhs()), rhs = tensorOf(getRhs());
  if (lhs.getRank() < 1 || lhs.getRank() > 2 || rhs.getRank() < 1 || rhs.getRank() > 2)
    return emitOpError("multiplies vectors and matrices only");
  if (lhs.getShape().back() != rhs.getDimSize(0))
    return emitOpError() << "cannot contract " << lhs << " with " << rhs;
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  llvm::append_range(shape, rhs.getShape().drop_front());
  return checkShape(*this, getResult(), shape);
}

/// The sizes of the dimensions of the type that are in none of the lists.
static void appendFree(RankedTensorType type, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting,
                       SmallVectorImpl<int64_t> &shape) {
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contracting, dim))
      shape.push_back(size);
}

LogicalResult DotGeneralOp::verify() {
  auto lhs = tensorOf(getLhs()), rhs = tensorOf(getRhs());
  DotDimsAttr dims = getDotDimensionNumbers();
  ArrayRef<int64_t> lhsBatch = dims.list("lhs_batching_dimensions"), rhsBatch = dims.list("rhs_batching_dimensions"),
                    lhsContract = dims.list("lhs_contracting_dimensions"),
                    rhsContract = dims.list("rhs_contracting_dimensions");
  SmallVector<int64_t> lhsAll(lhsBatch), rhsAll(rhsBatch), shape;
  llvm::append_range(lhsAll, lhsContract);
  llvm::append_range(rhsAll, rhsContract);
  if (failed(checkDims(*this, "the dimensions of lhs", lhsAll, lhs.getRank())) ||
      failed(checkDims(*this, "the dimensions of rhs", rhsAll, rhs.getRank())))
    return failure();
  if (lhsBatch.size() != rhsBatch.size() || lhsContract.size() != rhsContract.size())
    return emitOpError("needs as many batching and contracting dimensions of lhs as of rhs");
  for (auto [l, r] : llvm::zip_equal(lhsAll, rhsAll))
    if (lhs.getDimSize(l) != rhs.getDimSize(r))
      return emitOpError() << "cannot pair dimension " << l << " of " << lhs << " with dimension " << r << " of "
                           << rhs;
  for (int64_t dim : lhsBatch)
    shape.push_back(lhs.getDimSize(dim));
  appendFree(lhs, lhsBatch, lhsContract, shape);
  appendFree(rhs, rhsBatch, rhsContract, shape);
  return checkShape(*this, getResult(), shape);
}

LogicalResult ConvolutionOp::verify() {
  auto lhs = tensorOf(getLhs()), rhs = tensorOf(getRhs()), result = tensorOf(getResult());
  ConvDimsAttr dims = getDimensionNumbers();
  const auto spatial = static_cast<int64_t>(dims.getInputSpatialDimensions().size());
  auto check = [&](StringRef name, ArrayRef<int64_t> list, int64_t first, int64_t second, RankedTensorType type) {
    SmallVector<int64_t> all(list);
    all.push_back(first);
    all.push_back(second);
    if (static_cast<int64_t>(all.size()) != type.getRank() || type.getRank() != spatial + 2)
      return LogicalResult(emitOpError() << "says what " << all.size() << " dimensions of the " << name
                                         << " are, which has the type " << type);
    return checkDims(*this, name, all, type.getRank());
  };
  if (failed(check("input", dims.getInputSpatialDimensions(), dims.getInputBatchDimension(),
                   dims.getInputFeatureDimension(), lhs)) ||
      failed(check("weights", dims.getKernelSpatialDimensions(), dims.getKernelInputFeatureDimension(),
                   dims.getKernelOutputFeatureDimension(), rhs)) ||
      failed(check("result", dims.getOutputSpatialDimensions(), dims.getOutputBatchDimension(),
                   dims.getOutputFeatureDimension(), result)))
    return failure();
  SmallVector<int64_t> kernel =
      llvm::map_to_vector(dims.getKernelSpatialDimensions(), [&](int64_t dim) { return rhs.getDimSize(dim); });
  auto windows = windowOf(*this, kernel, getWindowStrides(), getLhsDilation(), getRhsDilation(), getPadding());
  if (failed(windows) || (getWindowReversal() && static_cast<int64_t>(getWindowReversal()->size()) != spatial &&
                          failed(emitOpError() << "needs a flag of reversal for each of " << spatial << " dimensions")))
    return failure();
  const auto features = static_cast<int64_t>(getFeatureGroupCount()),
             batches = static_cast<int64_t>(getBatchGroupCount());
  int64_t in = lhs.getDimSize(dims.getInputFeatureDimension()), batch = lhs.getDimSize(dims.getInputBatchDimension());
  int64_t out = rhs.getDimSize(dims.getKernelOutputFeatureDimension());
  if ((features > 1 && batches > 1) || in % features != 0 || batch % batches != 0 || out % features != 0 ||
      out % batches != 0 || in / features != rhs.getDimSize(dims.getKernelInputFeatureDimension()))
    return emitOpError() << "cannot have " << features << " groups of features and " << batches << " of batches of "
                         << lhs << " with weights " << rhs;
  SmallVector<int64_t> shape(spatial + 2);
  shape[dims.getOutputBatchDimension()] = batch / batches;
  shape[dims.getOutputFeatureDimension()] = out;
  for (auto [i, window] : llvm::enumerate(*windows))
    shape[dims.getOutputSpatialDimensions()[i]] = window.count(lhs.getDimSize(dims.getInputSpatialDimensions()[i]));
  return checkShape(*this, getResult(), shape);
}

LogicalResult DynamicConvOp::verify() {
  auto lhs = tensorOf(getLhs()), padding = tensorOf(getDPadding());
  const auto spatial = static_cast<int64_t>(getDimensionNumbers().getInputSpatialDimensions().size());
  if (padding.getDimSize(0) != spatial || padding.getDimSize(1) != 2)
    return emitOpError() << "has padding of the type " << padding << ", which must have two numbers for each of "
                         << spatial << " dimensions";
  if (lhs.getRank() != spatial + 2 || tensorOf(getRhs()).getRank() != spatial + 2 ||
      tensorOf(getResult()).getRank() != spatial + 2)
    return emitOpError() << "needs operands and a result of the rank " << spatial + 2;
  return success();
}

LogicalResult EinsumOp::verify() {
  FailureOr<Einsum> einsum = parseEinsum(*this, getEinsumConfig(), getOperandTypes());
  return failed(einsum) ? failure() : checkEinsum(*this, *einsum);
}

LogicalResult UnaryEinsumOp::verify() {
  FailureOr<Einsum> einsum = parseEinsum(*this, getEinsumConfig(), getOperation()->getOperandTypes());
  return failed(einsum) ? failure() : checkEinsum(*this, *einsum);
}
