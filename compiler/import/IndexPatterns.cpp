// From the gathers, scatters and dynamic slices of StableHLO to dgc.
//
// dgc chooses slices along one dimension. What is chosen along one dimension is that. Where each example has indices of
// its own (batching dimensions), an element is the sum over all of which one is not masked, so that examples can be on
// different devices. All else works on the elements in row-major order.

#include "compiler/import/Patterns.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

/// Masks of more elements than this for each element of the result are not made.
static constexpr int64_t kMostMasked = 1 << 16;

namespace {

/// A tensor of the shape whose dimension `dims[i]` is dimension i of `x`, in any order.
Value spread(TensorBuilder &b, Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> order = firstNumbers(static_cast<int64_t>(dims.size()));
  llvm::sort(order, [&](int64_t i, int64_t j) { return dims[i] < dims[j]; });
  return b.broadcast(b.transpose(x, order), shape, llvm::map_to_vector(order, [&](int64_t i) { return dims[i]; }));
}

Value indicesAlong(TensorBuilder &b, ArrayRef<int64_t> shape, Type element, int64_t dim) {
  return IotaOp::create(b.builder, b.location, RankedTensorType::get(shape, element), dim, Value());
}

/// Integers between 0 and `most`, as elements of the type: what is below is 0, what is above `most`.
Value clampIndex(TensorBuilder &b, Value x, int64_t most, Type element) {
  auto type = cast<IntegerType>(elementOf(x));
  APInt largest = type.isUnsigned() ? APInt::getMaxValue(type.getWidth()) : APInt::getSignedMaxValue(type.getWidth());
  auto limit = static_cast<int64_t>(std::min<uint64_t>(largest.getZExtValue(), static_cast<uint64_t>(most)));
  auto splat = [&](int64_t value) -> Value {
    return ConstantOp::create(b.builder, b.location,
                              DenseElementsAttr::get(tensorOf(x), APInt(type.getWidth(), value, false, true)));
  };
  Value clamped = ClampOp::create(b.builder, b.location, x.getType(), splat(0), x, splat(limit));
  return b.convert(clamped, element);
}

/// A type for indices of so many elements.
Type indexType(TensorBuilder &b, int64_t count) {
  return b.builder.getIntegerType(count < std::numeric_limits<int32_t>::max() ? 32 : 64);
}

/// Slices along a dimension; those of booleans as well.
Value gatherAlong(TensorBuilder &b, Value x, Value indices, int64_t dim) {
  bool isBool = elementOf(x).isInteger(1);
  Value numbers = isBool ? b.convert(x, b.builder.getI8Type()) : x;
  Value chosen = GatherOp::create(b.builder, b.location, numbers, indices, Value(), dim);
  return isBool ? b.convert(chosen, b.builder.getI1Type()) : chosen;
}

Value flatten(TensorBuilder &b, Value x) { return b.reshape(x, {tensorOf(x).getNumElements()}); }

/// What gathers and scatters have in common: a tensor that is indexed, index vectors, and for each of these a window.
struct Indexing {
  RankedTensorType operand;
  Value indices;
  int64_t vectorDim;
  SmallVector<int64_t> map;     // the dimension of the operand that each number of a vector is for
  SmallVector<int64_t> removed; // dimensions of the operand that windows lack, batches left aside
  SmallVector<int64_t> batching, indexBatching;
  SmallVector<int64_t> windowDims; // of the result, or the updates
  RankedTensorType window;         // the result, or the updates

  /// The dimensions of the result, or the updates, that those of the indices without the vectors are.
  SmallVector<int64_t> batchDims() const {
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < window.getRank(); ++dim)
      if (!llvm::is_contained(windowDims, dim))
        dims.push_back(dim);
    return dims;
  }

  /// The dimensions of the operand that windows have, in the order of windowDims.
  SmallVector<int64_t> operandWindowDims() const {
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < operand.getRank(); ++dim)
      if (!llvm::is_contained(removed, dim) && !llvm::is_contained(batching, dim))
        dims.push_back(dim);
    return dims;
  }

  /// The place of a dimension of the indices among those that are no vectors.
  int64_t batchPlace(int64_t indexDim) const { return indexDim - (indexDim > vectorDim ? 1 : 0); }

  /// Number `i` of all vectors.
  Value component(TensorBuilder &b, int64_t i) const {
    auto type = tensorOf(indices);
    if (vectorDim == type.getRank())
      return indices;
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), shape(type.getShape());
    starts[vectorDim] = i;
    limits[vectorDim] = i + 1;
    shape.erase(shape.begin() + vectorDim);
    return b.reshape(b.slice(indices, starts, limits), shape);
  }

  /// The one dimension that is indexed, if windows have all of the other ones; else -1.
  int64_t soleDim() const {
    if (map.size() != 1 || removed.size() != 1 || map != removed)
      return -1;
    for (auto [dim, own] : llvm::zip_equal(operandWindowDims(), windowDims))
      if (operand.getDimSize(dim) != window.getDimSize(own))
        return -1;
    return map[0];
  }

  /// For each element of the window its number in the operand; with `mask` also whether it is in it, else each vector is
  /// moved so that its window is.
  Value linearIndices(TensorBuilder &b, Value *mask) const;
};

Value Indexing::linearIndices(TensorBuilder &b, Value *mask) const {
  Type element = indexType(b, operand.getNumElements());
  ArrayRef<int64_t> shape = window.getShape();
  SmallVector<int64_t> batches = batchDims(), windows = operandWindowDims();
  Value sum;
  int64_t stride = 1;
  for (int64_t dim = operand.getRank() - 1; dim >= 0; --dim) {
    SmallVector<Value> parts;
    int64_t extent = 1;
    const auto *own = llvm::find(windows, dim);
    if (own != windows.end()) {
      int64_t windowDim = windowDims[own - windows.begin()];
      extent = window.getDimSize(windowDim);
      if (extent > 1)
        parts.push_back(indicesAlong(b, shape, element, windowDim));
    }
    if (const auto *at = llvm::find(batching, dim); at != batching.end())
      parts.push_back(indicesAlong(b, shape, element, batches[batchPlace(indexBatching[at - batching.begin()])]));
    if (const auto *at = llvm::find(map, dim); at != map.end()) {
      Value start = component(b, at - map.begin());
      if (mask) {
        // Whether the whole window is inside, before the numbers are narrowed.
        Value wide = b.convert(start, b.builder.getI64Type());
        Value inside = AndOp::create(b.builder, b.location, b.compare(ComparisonDirection::GE, wide, b.splat(0, wide)),
                                     b.compare(ComparisonDirection::LE, wide,
                                               b.splat(static_cast<double>(operand.getDimSize(dim) - extent), wide)));
        inside = spread(b, inside, shape, batches);
        *mask = *mask ? Value(AndOp::create(b.builder, b.location, *mask, inside)) : inside;
      }
      parts.push_back(spread(b, clampIndex(b, start, operand.getDimSize(dim) - extent, element), shape, batches));
    }
    for (Value part : parts) {
      Value scaled = stride == 1 ? part : b.multiply(part, static_cast<double>(stride));
      sum = sum ? b.add(sum, scaled) : scaled;
    }
    stride *= operand.getDimSize(dim);
  }
  return sum ? sum : b.splat(0, RankedTensorType::get(shape, element));
}

SmallVector<int64_t> copy(ArrayRef<int64_t> list) { return SmallVector<int64_t>(list); }

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
// Scatter
//===----------------------------------------------------------------------===//

struct ScatterLowering : Lowering<stablehlo::ScatterOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ScatterOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (op.getInputs().size() != 1)
      return refuse(reason, "several operands");
    Block &body = op.getUpdateComputation().front();
    std::optional<ReductionKind> kind = combinationOf(op.getUpdateComputation());
    bool sets = body.getOperations().size() == 1 && body.back().getOperand(0) == body.getArgument(1);
    if (!kind && !sets)
      return refuse(reason, "a region that is neither the update nor one sum, product, maximum, minimum, and or or");
    Value operand = op.getInputs().front(), updates = op.getUpdates().front();
    stablehlo::ScatterDimsAttr dims = op.getScatterDimensionNumbers();
    Indexing indexing{.operand = tensorOf(operand),
                      .indices = op.getScatterIndices(),
                      .vectorDim = dims.number("index_vector_dim"),
                      .map = copy(dims.list("scatter_dims_to_operand_dims")),
                      .removed = copy(dims.list("inserted_window_dims")),
                      .batching = copy(dims.list("input_batching_dims")),
                      .indexBatching = copy(dims.list("scatter_indices_batching_dims")),
                      .windowDims = copy(dims.list("update_window_dims")),
                      .window = tensorOf(updates)};
    const bool adds = kind == ReductionKind::Sum;
    const int64_t dim = indexing.soleDim(), vectors = vectorsOf(indexing);
    if (dim >= 0 && adds && indexing.batching.empty() && vectors > 1)
      results.push_back(addAlongOne(b, operand, updates, indexing, dim));
    else if (dim >= 0 && (adds || vectors == 1) && indexing.operand.getDimSize(dim) <= kMostMasked)
      results.push_back(masked(b, operand, updates, indexing, dim, kind));
    else if (adds)
      results.push_back(addLinear(b, operand, updates, indexing));
    else if (op.getUniqueIndices() || vectors == 1)
      results.push_back(replaceLinear(b, operand, updates, indexing, kind));
    else
      return refuse(reason, "indices that may be equal, without a sum");
    return success();
  }

private:
  /// How many index vectors there are for each example.
  static int64_t vectorsOf(const Indexing &indexing) {
    int64_t count = 1;
    for (auto [dim, size] : llvm::enumerate(tensorOf(indexing.indices).getShape())) {
      const auto at = static_cast<int64_t>(dim);
      if (at != indexing.vectorDim && !llvm::is_contained(indexing.indexBatching, at))
        count *= size;
    }
    return count;
  }

  static Value addTo(TensorBuilder &b, Value operand, Value sum) {
    return isIdentity(operand, ReductionKind::Sum) ? sum : b.add(operand, sum);
  }

  static Value addAlongOne(TensorBuilder &b, Value operand, Value updates, const Indexing &indexing, int64_t dim) {
    Value indices = indexing.component(b, 0);
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < dim; ++i)
      order.push_back(indexing.windowDims[i]);
    llvm::append_range(order, indexing.batchDims());
    for (size_t i = dim; i < indexing.windowDims.size(); ++i)
      order.push_back(indexing.windowDims[i]);
    Value sum = ScatterAddOp::create(b.builder, b.location, indices, b.transpose(updates, order), Value(), dim,
                                     indexing.operand.getDimSize(dim));
    return addTo(b, operand, sum);
  }

  static Value masked(TensorBuilder &b, Value operand, Value updates, const Indexing &indexing, int64_t dim,
                      std::optional<ReductionKind> kind) {
    // The operand's dimensions, then those of the vectors that are no batches.
    SmallVector<int64_t> shape(indexing.operand.getShape()), places(indexing.window.getRank()), indexPlaces, added;
    for (auto [own, updateDim] : llvm::zip_equal(indexing.operandWindowDims(), indexing.windowDims))
      places[updateDim] = own;
    for (auto [i, updateDim] : llvm::enumerate(indexing.batchDims())) {
      const auto *at = llvm::find_if(indexing.indexBatching, [&](int64_t indexDim) {
        return indexing.batchPlace(indexDim) == static_cast<int64_t>(i);
      });
      if (at != indexing.indexBatching.end()) {
        places[updateDim] = indexing.batching[at - indexing.indexBatching.begin()];
      } else {
        places[updateDim] = static_cast<int64_t>(shape.size());
        added.push_back(places[updateDim]);
        shape.push_back(indexing.window.getDimSize(updateDim));
      }
      indexPlaces.push_back(places[updateDim]);
    }
    Value start = indexing.component(b, 0);
    auto type = cast<IntegerType>(elementOf(start));
    if (type.getWidth() < 32)
      start = b.convert(start, b.builder.getI32Type());
    Value hit = b.equal(indicesAlong(b, shape, elementOf(start), dim), spread(b, start, shape, indexPlaces));
    Value all = spread(b, updates, shape, places);
    if (kind == ReductionKind::Sum)
      return addTo(b, operand, b.reduce(ReductionKind::Sum, b.select(hit, all, b.splat(0, all)), added));
    // There is one vector.
    hit = b.reshape(hit, indexing.operand.getShape());
    all = b.reshape(all, indexing.operand.getShape());
    return b.select(hit, kind ? combine(b, *kind, operand, all) : all, operand);
  }

  static Value addLinear(TensorBuilder &b, Value operand, Value updates, const Indexing &indexing) {
    Value inside, places = indexing.linearIndices(b, &inside);
    if (inside)
      places = b.select(inside, places, b.splat(-1, places));
    Value sum = ScatterAddOp::create(b.builder, b.location, flatten(b, places), flatten(b, updates), Value(), 0,
                                     indexing.operand.getNumElements());
    return addTo(b, operand, b.reshape(sum, indexing.operand.getShape()));
  }

  /// Each element of the operand has at most one update: the sum of the numbers of its updates, from 1 on, is that one's.
  static Value replaceLinear(TensorBuilder &b, Value operand, Value updates, const Indexing &indexing,
                             std::optional<ReductionKind> kind) {
    Value inside, places = indexing.linearIndices(b, &inside);
    if (inside)
      places = b.select(inside, places, b.splat(-1, places));
    places = flatten(b, places);
    Type element = indexType(b, indexing.window.getNumElements() + 1);
    Value numbers = indicesAlong(b, tensorOf(places).getShape(), element, 0);
    numbers = b.add(numbers, b.splat(1, numbers));
    Value number =
        ScatterAddOp::create(b.builder, b.location, places, numbers, Value(), 0, indexing.operand.getNumElements());
    Value chosen = gatherAlong(b, flatten(b, updates), b.subtract(number, b.splat(1, number)), 0);
    Value isUpdated = b.compare(ComparisonDirection::GT, number, b.splat(0, number));
    ArrayRef<int64_t> shape = indexing.operand.getShape();
    chosen = b.reshape(chosen, shape);
    return b.select(b.reshape(isUpdated, shape), kind ? combine(b, *kind, operand, chosen) : chosen, operand);
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
  patterns.add<DynamicSliceLowering, DynamicUpdateSliceLowering, GatherLowering, ScatterLowering>(
      patterns.getContext());
}
