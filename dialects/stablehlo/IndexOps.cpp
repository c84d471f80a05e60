// Ops that choose elements by numbers that are only known when the program runs.

#include "dialects/stablehlo/Assembly.h"
#include "dialects/stablehlo/Attributes.h"
#include "dialects/stablehlo/Verify.h"

using namespace mlir;
using namespace dgc::stablehlo;

#define GET_OP_CLASSES
#include "dialects/stablehlo/IndexOps.cpp.inc"

void StableHLODialect::registerIndexOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/stablehlo/IndexOps.cpp.inc"
      >();
}

/// The shape of the indices without the dimension of the index vectors, which may be the rank: then each is a scalar.
/// Fails where the numbers do not fit.
static FailureOr<SmallVector<int64_t>> batchShape(Operation *op, RankedTensorType indices, int64_t vectorDim,
                                                  size_t vectorSize) {
  if (vectorDim < 0 || vectorDim > indices.getRank())
    return op->emitOpError() << "has the index_vector_dim " << vectorDim << " of indices " << indices;
  SmallVector<int64_t> shape(indices.getShape());
  int64_t size = 1;
  if (vectorDim < indices.getRank()) {
    size = shape[vectorDim];
    shape.erase(shape.begin() + vectorDim);
  }
  if (size != static_cast<int64_t>(vectorSize))
    return op->emitOpError() << "has index vectors of " << size << " numbers for " << vectorSize << " dimensions";
  return shape;
}

/// Checks the dimensions of operands and indices that a gather and a scatter have: where indices point to, which
/// dimensions slices lack, and which are batches.
static LogicalResult checkIndexing(Operation *op, int64_t rank, int64_t indexRank, int64_t vectorDim,
                                   ArrayRef<int64_t> collapsed, ArrayRef<int64_t> batching,
                                   ArrayRef<int64_t> indexBatching, ArrayRef<int64_t> map) {
  SmallVector<int64_t> removed(collapsed), mapped(map);
  llvm::append_range(removed, batching);
  llvm::append_range(mapped, batching);
  if (failed(checkDims(op, "the dimensions that slices lack", removed, rank)) ||
      failed(checkDims(op, "the dimensions that are indexed", mapped, rank)) ||
      failed(checkDims(op, "the batching dimensions of indices", indexBatching, indexRank)))
    return failure();
  if (batching.size() != indexBatching.size() || llvm::is_contained(indexBatching, vectorDim))
    return op->emitOpError("needs a batching dimension of the indices for each of the operand");
  return success();
}

LogicalResult GatherOp::verify() {
  auto operand = tensorOf(getOperand()), indices = tensorOf(getStartIndices()), result = tensorOf(getResult());
  GatherDimsAttr dims = getDimensionNumbers();
  ArrayRef<int64_t> offset = dims.list("offset_dims"), collapsed = dims.list("collapsed_slice_dims"),
                    batching = dims.list("operand_batching_dims"), map = dims.list("start_index_map"),
                    indexBatching = dims.list("start_indices_batching_dims");
  int64_t vectorDim = dims.number("index_vector_dim");
  auto batch = batchShape(*this, indices, vectorDim, map.size());
  if (failed(batch) || failed(checkPerDim(*this, "slice_sizes", getSliceSizes(), operand.getRank(), 0)) ||
      failed(checkIndexing(*this, operand.getRank(), indices.getRank(), vectorDim, collapsed, batching, indexBatching,
                           map)) ||
      failed(checkDims(*this, "offset_dims", offset, result.getRank())))
    return failure();
  if (!llvm::is_sorted(offset))
    return emitOpError("needs offset_dims that ascend");
  SmallVector<int64_t> slice;
  for (auto [dim, size] : llvm::enumerate(getSliceSizes())) {
    const auto at = static_cast<int64_t>(dim);
    bool removed = llvm::is_contained(collapsed, at) || llvm::is_contained(batching, at);
    if (size > operand.getDimSize(dim) || (removed && size > 1))
      return emitOpError() << "cannot take " << size << " elements of dimension " << dim << " of " << operand;
    if (!removed)
      slice.push_back(size);
  }
  for (auto [dim, indexDim] : llvm::zip_equal(batching, indexBatching))
    if (operand.getDimSize(dim) != indices.getDimSize(indexDim))
      return emitOpError() << "has batching dimensions of " << operand.getDimSize(dim) << " and "
                           << indices.getDimSize(indexDim) << " elements";
  if (slice.size() != offset.size() || offset.size() + batch->size() != static_cast<size_t>(result.getRank()))
    return emitOpError() << "has " << offset.size() << " offset_dims for slices of " << slice.size()
                         << " dimensions and a result of the rank " << result.getRank();
  SmallVector<int64_t> shape;
  size_t nextSlice = 0, nextBatch = 0;
  for (int64_t dim = 0; dim < result.getRank(); ++dim)
    shape.push_back(llvm::is_contained(offset, dim) ? slice[nextSlice++] : (*batch)[nextBatch++]);
  if (operand.getElementType() != result.getElementType())
    return emitOpError("has another element type than its operand");
  return checkShape(*this, getResult(), shape);
}

LogicalResult DynamicGatherOp::verify() {
  auto operand = tensorOf(getOperand());
  const int64_t sizes = tensorOf(getSliceSizes()).getDimSize(0);
  if (!ShapedType::isDynamic(sizes) && sizes != operand.getRank())
    return emitOpError() << "has " << sizes << " numbers in slice_sizes, one is needed for each of "
                         << operand.getRank() << " dimensions";
  if (operand.getElementType() != tensorOf(getResult()).getElementType())
    return emitOpError("has another element type than its operand");
  return success();
}

LogicalResult TorchIndexSelectOp::verify() {
  auto operand = tensorOf(getOperand()), index = tensorOf(getIndex());
  const auto dim = static_cast<int64_t>(getDim()), batch = static_cast<int64_t>(getBatchDims());
  if (batch < 0 || batch > index.getRank() || dim < batch || dim >= operand.getRank())
    return emitOpError() << "has dim " << dim << " and batch_dims " << batch << " for " << operand << " and indices "
                         << index << ": batch_dims is at most dim and the rank of the indices, and dim a dimension";
  if (operand.getShape().take_front(batch) != index.getShape().take_front(batch))
    return emitOpError() << "has other batch dimensions in " << operand << " than in the indices " << index;
  if (operand.getElementType() != tensorOf(getResult()).getElementType())
    return emitOpError("has another element type than its operand");
  SmallVector<int64_t> shape(operand.getShape().take_front(dim));
  llvm::append_range(shape, index.getShape().drop_front(batch));
  llvm::append_range(shape, operand.getShape().drop_front(dim + 1));
  return checkShape(*this, getResult(), shape);
}

LogicalResult ScatterOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs an operand");
  auto operand = tensorOf(getInputs().front()), indices = tensorOf(getScatterIndices()),
       update = tensorOf(getUpdates().front());
  for (auto [input, each] : llvm::zip_equal(getInputs(), getUpdates()))
    if (tensorOf(input).getShape() != operand.getShape() || tensorOf(each).getShape() != update.getShape())
      return emitOpError("needs operands of one shape, and updates of one shape");
  if (getResultTypes() != getInputs().getTypes())
    return emitOpError("needs results of the types of the operands");
  ScatterDimsAttr dims = getScatterDimensionNumbers();
  ArrayRef<int64_t> window = dims.list("update_window_dims"), inserted = dims.list("inserted_window_dims"),
                    batching = dims.list("input_batching_dims"), map = dims.list("scatter_dims_to_operand_dims"),
                    indexBatching = dims.list("scatter_indices_batching_dims");
  int64_t vectorDim = dims.number("index_vector_dim");
  auto batch = batchShape(*this, indices, vectorDim, map.size());
  if (failed(batch) ||
      failed(checkIndexing(*this, operand.getRank(), indices.getRank(), vectorDim, inserted, batching, indexBatching,
                           map)) ||
      failed(checkDims(*this, "update_window_dims", window, update.getRank())))
    return failure();
  if (!llvm::is_sorted(window))
    return emitOpError("needs update_window_dims that ascend");
  if (window.size() + inserted.size() + batching.size() != static_cast<size_t>(operand.getRank()) ||
      window.size() + batch->size() != static_cast<size_t>(update.getRank()))
    return emitOpError() << "has " << window.size() << " update_window_dims for updates " << update << " of "
                         << operand;
  size_t nextBatch = 0;
  for (auto [dim, size] : llvm::enumerate(update.getShape()))
    if (!llvm::is_contained(window, static_cast<int64_t>(dim)) && size != (*batch)[nextBatch++])
      return emitOpError() << "has updates " << update << " for indices " << indices;
  size_t nextWindow = 0;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim)
    if (!llvm::is_contained(inserted, dim) && !llvm::is_contained(batching, dim) &&
        update.getDimSize(window[nextWindow++]) > operand.getDimSize(dim))
      return emitOpError() << "has updates " << update << " that are larger than " << operand;
  for (auto [dim, indexDim] : llvm::zip_equal(batching, indexBatching))
    if (operand.getDimSize(dim) != indices.getDimSize(indexDim))
      return emitOpError() << "has batching dimensions of " << operand.getDimSize(dim) << " and "
                           << indices.getDimSize(indexDim) << " elements";
  SmallVector<Type> arguments = scalarsOf(getInputs()), results = arguments;
  llvm::append_range(arguments, scalarsOf(getUpdates()));
  return checkRegion(*this, getUpdateComputation(), "update_computation", arguments, results);
}
