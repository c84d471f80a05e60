// From the gathers and dynamic slices of StableHLO to dgc.
//
// dgc chooses slices along one dimension. What is chosen along one dimension is that. Where each example has indices of
// its own (batching dimensions), an element is the sum over all of which one is not masked, so that examples can be on
// different devices. All else works on the elements in row-major order.

#include "compiler/import/Indexing.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

struct GatherLowering : Lowering<stablehlo::GatherOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::GatherOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    stablehlo::GatherDimsAttr dims = op.getDimensionNumbers();
    Indexing indexing{.operand = tensorOf(op.getOperand()),
                      .indices = op.getStartIndices(),
                      .vectorDim = dims.number("index_vector_dim"),
                      .map = copy(dims.list("start_index_map")),
                      .removed = copy(dims.list("collapsed_slice_dims")),
                      .batching = copy(dims.list("operand_batching_dims")),
                      .indexBatching = copy(dims.list("start_indices_batching_dims")),
                      .windowDims = copy(dims.list("offset_dims")),
                      .window = tensorOf(op.getResult())};
    int64_t dim = indexing.soleDim();
    if (dim >= 0 && indexing.batching.empty())
      results.push_back(alongOne(b, op.getOperand(), indexing, dim));
    else if (dim >= 0 && indexing.operand.getDimSize(dim) <= kMostMasked)
      results.push_back(masked(b, op.getOperand(), indexing, dim));
    else
      results.push_back(gatherAlong(b, flatten(b, op.getOperand()), indexing.linearIndices(b, nullptr), 0));
    return success();
  }

private:
  static Value alongOne(TensorBuilder &b, Value operand, const Indexing &indexing, int64_t dim) {
    int64_t most = indexing.operand.getDimSize(dim) - 1;
    Value start = clampIndex(b, indexing.component(b, 0), most, indexType(b, most));
    Value chosen = gatherAlong(b, operand, start, dim);
    // From the dimensions before `dim`, those of the indices, and those behind, to the order of the result.
    SmallVector<int64_t> order(indexing.window.getRank());
    int64_t indexRank = tensorOf(start).getRank();
    for (auto [i, resultDim] : llvm::enumerate(indexing.windowDims))
      order[resultDim] = static_cast<int64_t>(i) < dim ? i : i + indexRank;
    for (auto [i, resultDim] : llvm::enumerate(indexing.batchDims()))
      order[resultDim] = dim + static_cast<int64_t>(i);
    return b.transpose(chosen, order);
  }

  static Value masked(TensorBuilder &b, Value operand, const Indexing &indexing, int64_t dim) {
    SmallVector<int64_t> shape(indexing.window.getShape()), batches = indexing.batchDims();
    const int64_t last = indexing.window.getRank();
    shape.push_back(indexing.operand.getDimSize(dim));
    SmallVector<int64_t> places(indexing.operand.getRank());
    places[dim] = last;
    for (auto [own, resultDim] : llvm::zip_equal(indexing.operandWindowDims(), indexing.windowDims))
      places[own] = resultDim;
    for (auto [own, indexDim] : llvm::zip_equal(indexing.batching, indexing.indexBatching))
      places[own] = batches[indexing.batchPlace(indexDim)];
    Type element = indexType(b, shape.back());
    Value start = clampIndex(b, indexing.component(b, 0), shape.back() - 1, element);
    Value hit = b.equal(indicesAlong(b, shape, element, last), spread(b, start, shape, batches));
    Value all = spread(b, operand, shape, places);
    if (elementOf(operand).isInteger(1))
      return b.reduce(ReductionKind::Or, AndOp::create(b.builder, b.location, hit, all), {last});
    return b.reduce(ReductionKind::Sum, b.select(hit, all, b.splat(0, all)), {last});
  }
};

//===----------------------------------------------------------------------===//
// Dynamic slices
//===----------------------------------------------------------------------===//

/// Numbers from a scalar on, `count` of them, with a sign: first moved so that a window of `extent` of `size` is inside.
Value numbersFrom(TensorBuilder &b, Value start, int64_t size, int64_t extent, int64_t count, bool negated) {
  Type element = indexType(b, size);
  Value first = b.broadcast(clampIndex(b, start, size - extent, element), {count}, {});
  Value numbers = indicesAlong(b, {count}, element, 0);
  return negated ? b.subtract(numbers, first) : b.add(numbers, first);
}

/// The slices of a dimension that indices choose, as a gather.
struct TorchIndexSelectLowering : Lowering<stablehlo::TorchIndexSelectOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::TorchIndexSelectOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    auto operand = tensorOf(op.getOperand());
    const auto dim = static_cast<int64_t>(op.getDim()), batch = static_cast<int64_t>(op.getBatchDims());
    const int64_t indexRank = tensorOf(op.getIndex()).getRank(), chosen = indexRank - batch;
    SmallVector<int64_t> sizes(operand.getShape()), offsets, batching = firstNumbers(batch);
    for (int64_t each : batching)
      sizes[each] = 1;
    sizes[dim] = 1;
    for (int64_t each = batch; each < operand.getRank(); ++each)
      if (each != dim)
        offsets.push_back(each < dim ? each : each - 1 + chosen);
    Builder &builder = b.builder;
    auto list = [&](StringRef name, ArrayRef<int64_t> dims) {
      return NamedAttribute(builder.getStringAttr(name), builder.getDenseI64ArrayAttr(dims));
    };
    auto dims = stablehlo::GatherDimsAttr::get(
        builder.getContext(),
        builder.getDictionaryAttr(
            {list("offset_dims", offsets), list("collapsed_slice_dims", {dim}), list("operand_batching_dims", batching),
             list("start_indices_batching_dims", batching), list("start_index_map", {dim}),
             NamedAttribute(builder.getStringAttr("index_vector_dim"), builder.getI64IntegerAttr(indexRank))}));
    results.push_back(
        stablehlo::GatherOp::create(b.builder, b.location, op.getType(), op.getOperand(), op.getIndex(), dims, sizes));
    return success();
  }
};

struct DynamicSliceLowering : Lowering<stablehlo::DynamicSliceOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::DynamicSliceOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    Value x = op.getOperand();
    for (auto [dim, start] : llvm::enumerate(op.getStartIndices())) {
      int64_t size = tensorOf(x).getDimSize(dim), extent = op.getSliceSizes()[dim];
      if (extent == size)
        continue;
      DenseElementsAttr known = constantOf(start);
      if (known) {
        APInt number = known.getValues<APInt>()[0];
        bool isNegative = !elementOf(start).isUnsignedInteger() && number.isNegative();
        auto least = static_cast<int64_t>(
            isNegative ? 0 : std::min<uint64_t>(number.getLimitedValue(), static_cast<uint64_t>(size - extent)));
        SmallVector<int64_t> starts(tensorOf(x).getRank(), 0), limits(tensorOf(x).getShape());
        starts[dim] = least;
        limits[dim] = least + extent;
        x = b.slice(x, starts, limits);
      } else {
        x = gatherAlong(b, x, numbersFrom(b, start, size, extent, extent, /*negated=*/false),
                        static_cast<int64_t>(dim));
      }
    }
    results.push_back(x);
    return success();
  }
};

struct DynamicUpdateSliceLowering : Lowering<stablehlo::DynamicUpdateSliceOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::DynamicUpdateSliceOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    auto type = tensorOf(op.getOperand());
    Value update = op.getUpdate(), inside;
    SmallVector<int64_t> parts; // dimensions in which the update is a part
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (tensorOf(update).getDimSize(dim) != type.getDimSize(dim))
        parts.push_back(dim);
    if (parts.size() == 1) {
      results.push_back(DynamicUpdateSliceOp::create(b.builder, b.location, op.getOperand(), update,
                                                     op.getStartIndices()[parts[0]], parts[0]));
      return success();
    }
    for (auto [dim, start] : llvm::enumerate(op.getStartIndices())) {
      int64_t size = type.getDimSize(dim), extent = tensorOf(op.getUpdate()).getDimSize(dim);
      if (extent == size)
        continue;
      // Where each element of the operand is in the update.
      Value places = numbersFrom(b, start, size, extent, size, /*negated=*/true);
      Value isIn =
          AndOp::create(b.builder, b.location, b.compare(ComparisonDirection::GE, places, b.splat(0, places)),
                        b.compare(ComparisonDirection::LT, places, b.splat(static_cast<double>(extent), places)));
      isIn = b.broadcast(isIn, type.getShape(), {static_cast<int64_t>(dim)});
      inside = inside ? Value(AndOp::create(b.builder, b.location, inside, isIn)) : isIn;
      update = gatherAlong(b, update, places, static_cast<int64_t>(dim));
    }
    results.push_back(inside ? b.select(inside, update, op.getOperand()) : update);
    return success();
  }
};

} // namespace

void dgc::import::addIndexPatterns(RewritePatternSet &patterns) {
  patterns.add<DynamicSliceLowering, DynamicUpdateSliceLowering, GatherLowering, TorchIndexSelectLowering>(
      patterns.getContext());
}
