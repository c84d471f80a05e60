// From the scatters of StableHLO to dgc.
//
// dgc adds slices along one dimension. Sums along one dimension are that. Where each example has indices of its own
// (batching dimensions), the updates are masked and combined, so that examples can be on different devices. All else works
// on the elements in row-major order. What is no sum is combined under a mask of all places and updates, in one kernel
// that keeps nothing of the mask. Where an update replaces what was there, the last one is found first: the largest of the
// numbers of all that have the same place; where there is one at most, their sum.

#include "compiler/import/Indexing.h"
#include "compiler/import/RegionUtil.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

/// Masks of more places times updates than this are refused: they would take minutes.
static constexpr double kMostCompared = 0x1p36;

namespace {

/// How the updates reach a tensor of the operand's shape.
enum class Layout { AlongOne, Masked, Linear };

/// The updates that each element of the operand has.
class Scatter {
public:
  /// `isUnique`: no two updates are for the same element.
  Scatter(TensorBuilder &b, const Indexing &indexing, bool adds, bool isUnique)
      : b(b), indexing(indexing), dim(indexing.soleDim()), isUnique(isUnique) {
    const int64_t vectors = vectorsOf(indexing);
    if (dim >= 0 && indexing.batching.empty() && vectors > 1)
      layout = Layout::AlongOne;
    else if (dim >= 0 && (adds || vectors <= kMostMasked) && indexing.operand.getDimSize(dim) <= kMostMasked)
      layout = Layout::Masked;
    else
      layout = Layout::Linear;
    prepare();
  }

  /// How many pairs of a place and an update a mask would have.
  static double comparisons(const Indexing &indexing) {
    const int64_t vectors = vectorsOf(indexing);
    const int64_t perVector = indexing.soleDim() >= 0 ? 1 : indexing.window.getNumElements() / vectors;
    return static_cast<double>(indexing.operand.getNumElements()) * static_cast<double>(vectors) *
           static_cast<double>(perVector);
  }

  /// How many index vectors there are for each example.
  static int64_t vectorsOf(const Indexing &indexing) {
    int64_t count = 1;
    for (auto [at, size] : llvm::enumerate(tensorOf(indexing.indices).getShape()))
      if (const auto i = static_cast<int64_t>(at);
          i != indexing.vectorDim && !llvm::is_contained(indexing.indexBatching, i))
        count *= size;
    return count;
  }

  /// All updates of each element combined: the identity where there is none.
  Value combined(ReductionKind kind, Value updates) const;

  /// Appends, for each of `updates`, the last one of each element; gives whether there is one.
  Value last(ArrayRef<Value> updates, SmallVectorImpl<Value> &chosen) const;

private:
  void prepare();
  Value arranged(Value updates) const;
  Value maskedReduction(ReductionKind kind, Value mask, Value all) const;

  TensorBuilder &b;
  const Indexing &indexing;
  int64_t dim;
  bool isUnique;
  Layout layout;
  Value places;                  // of AlongOne and Linear: where each slice goes
  Value hit;                     // of Masked: whether an update is that of an element
  SmallVector<int64_t> shape;    // of Masked: the operand's dimensions, then those of the vectors that are no batches
  SmallVector<int64_t> updateAt; // of Masked: for each dimension of the updates one of `shape`
  SmallVector<int64_t> order;    // of AlongOne: the dimensions of the updates in those of `dgc.scatter_add`
};

void Scatter::prepare() {
  if (layout == Layout::AlongOne) {
    places = indexing.component(b, 0);
    for (int64_t i = 0; i < dim; ++i)
      order.push_back(indexing.windowDims[i]);
    llvm::append_range(order, indexing.batchDims());
    for (size_t i = dim; i < indexing.windowDims.size(); ++i)
      order.push_back(indexing.windowDims[i]);
    return;
  }
  if (layout == Layout::Linear) {
    Value inside;
    places = indexing.linearIndices(b, &inside);
    if (inside)
      places = b.select(inside, places, b.splat(-1, places));
    places = flatten(b, places);
    return;
  }
  SmallVector<int64_t> indexPlaces;
  shape.assign(indexing.operand.getShape().begin(), indexing.operand.getShape().end());
  updateAt.resize(indexing.window.getRank());
  for (auto [own, updateDim] : llvm::zip_equal(indexing.operandWindowDims(), indexing.windowDims))
    updateAt[updateDim] = own;
  for (auto [i, updateDim] : llvm::enumerate(indexing.batchDims())) {
    const auto *at = llvm::find_if(indexing.indexBatching, [&](int64_t indexDim) {
      return indexing.batchPlace(indexDim) == static_cast<int64_t>(i);
    });
    if (at != indexing.indexBatching.end()) {
      updateAt[updateDim] = indexing.batching[at - indexing.indexBatching.begin()];
    } else {
      updateAt[updateDim] = static_cast<int64_t>(shape.size());
      shape.push_back(indexing.window.getDimSize(updateDim));
    }
    indexPlaces.push_back(updateAt[updateDim]);
  }
  Value start = indexing.component(b, 0);
  if (cast<IntegerType>(elementOf(start)).getWidth() < 32)
    start = b.convert(start, b.builder.getI32Type());
  hit = b.equal(indicesAlong(b, shape, elementOf(start), dim), spread(b, start, shape, indexPlaces));
}

/// The updates as the layout has them.
Value Scatter::arranged(Value updates) const {
  switch (layout) {
  case Layout::AlongOne:
    return b.transpose(updates, order);
  case Layout::Masked:
    return spread(b, updates, shape, updateAt);
  case Layout::Linear:
    return flatten(b, updates);
  }
  llvm_unreachable("a layout");
}

/// The elements under the mask combined along the dimensions that the operand has not.
Value Scatter::maskedReduction(ReductionKind kind, Value mask, Value all) const {
  Value identity = b.broadcast(b.identity(kind, elementOf(all)), shape, {});
  Value masked = b.select(mask, all, identity);
  SmallVector<int64_t> added;
  bool isOne = true;
  for (int64_t i = indexing.operand.getRank(); i < static_cast<int64_t>(shape.size()); ++i) {
    added.push_back(i);
    isOne &= shape[i] == 1;
  }
  return isOne ? b.reshape(masked, indexing.operand.getShape()) : b.reduce(kind, masked, added);
}

Value Scatter::combined(ReductionKind kind, Value updates) const {
  Value all = arranged(updates);
  if (layout == Layout::Masked)
    return maskedReduction(kind, hit, all);
  if (layout == Layout::AlongOne)
    return combineAt(b, kind, places, all, dim, indexing.operand.getDimSize(dim));
  return b.reshape(combineAt(b, kind, places, all, 0, indexing.operand.getNumElements()), indexing.operand.getShape());
}

Value Scatter::last(ArrayRef<Value> updates, SmallVectorImpl<Value> &chosen) const {
  ArrayRef<int64_t> operandShape = indexing.operand.getShape();
  if (layout == Layout::Masked && vectorsOf(indexing) == 1) {
    for (Value each : updates)
      chosen.push_back(b.reshape(arranged(each), operandShape));
    return b.reshape(hit, operandShape);
  }
  if (layout == Layout::Masked) {
    SmallVector<int64_t> added(shape.begin() + indexing.operand.getRank(), shape.end());
    const int64_t count = vectorsOf(indexing);
    Value numbers = b.reshape(indicesAlong(b, {count}, indexType(b, count), 0), added);
    SmallVector<int64_t> kept = firstNumbers(indexing.operand.getRank()), behind;
    for (size_t i = kept.size(); i < shape.size(); ++i)
      behind.push_back(static_cast<int64_t>(i));
    numbers = b.broadcast(numbers, shape, behind);
    Value latest = maskedReduction(ReductionKind::Max, hit, numbers);
    Value one = AndOp::create(b.builder, b.location, hit, b.equal(numbers, b.broadcast(latest, shape, kept)));
    for (Value each : updates)
      chosen.push_back(maskedReduction(kindFor(ReductionKind::Max, elementOf(each)), one, arranged(each)));
    return maskedReduction(ReductionKind::Or, hit, hit);
  }
  // The updates along one dimension, in their order.
  const bool isLinear = layout == Layout::Linear;
  const int64_t at = isLinear ? 0 : dim, size = isLinear ? indexing.operand.getNumElements() : operandShape[dim];
  Value flat = flatten(b, places);
  const int64_t count = tensorOf(flat).getNumElements();
  Value latest;
  if (isUnique) { // the sum of the numbers from 1 on, for which the device has an op
    Value numbers = indicesAlong(b, {count}, b.builder.getF64Type(), 0);
    Value sum = combineAt(b, ReductionKind::Sum, flat, b.add(numbers, b.splat(1, numbers)), 0, size);
    latest = b.convert(b.subtract(sum, b.splat(1, sum)), indexType(b, count));
  } else {
    latest = combineAt(b, ReductionKind::Max, flat, indicesAlong(b, {count}, indexType(b, count), 0), 0, size);
  }
  for (Value each : updates) {
    Value all = arranged(each);
    SmallVector<int64_t> merged(tensorOf(all).getShape());
    merged.erase(merged.begin() + at, merged.begin() + at + tensorOf(places).getRank());
    merged.insert(merged.begin() + at, count);
    chosen.push_back(b.reshape(gatherAlong(b, b.reshape(all, merged), latest, at), operandShape));
  }
  Value isHit = b.compare(ComparisonDirection::GE, latest, b.splat(0, latest));
  return isLinear ? b.reshape(isHit, operandShape) : b.broadcast(isHit, operandShape, {dim});
}

struct ScatterLowering : Lowering<stablehlo::ScatterOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ScatterOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    const size_t count = op.getInputs().size();
    Region &region = op.getUpdateComputation();
    Block &body = region.front();
    const std::optional<ReductionKind> kind = count == 1 ? combinationOf(region) : std::nullopt;
    const bool subtracts = count == 1 && isDifference(region);
    const bool sets = body.back().getOperands() == ValueRange(body.getArguments().take_back(count));
    Indexing indexing = indexingOf(op);
    const bool adds = kind == ReductionKind::Sum || subtracts;
    const bool isUnique = op.getUniqueIndices() || Scatter::vectorsOf(indexing) == 1;
    if (!kind && !subtracts && !sets) {
      if (!isUnique)
        return refuse(reason, "indices that may be equal, with a region that is neither the update nor one sum, "
                              "difference, product, maximum, minimum, and or or");
      if (!isElementwise(region, reason))
        return failure();
    }
    if (!adds && !(sets && isUnique) && Scatter::comparisons(indexing) > kMostCompared)
      return refuse(reason, "so many places and updates, of which two may be for one place");
    Scatter scatter(b, indexing, adds, isUnique);
    if (kind || subtracts) {
      Value operand = op.getInputs().front(), updates = op.getUpdates().front();
      const ReductionKind how = kind.value_or(ReductionKind::Sum);
      Value all = scatter.combined(how, subtracts ? b.negate(updates) : updates);
      results.push_back(isIdentity(operand, how) ? all : combine(b, how, operand, all));
      return success();
    }
    SmallVector<Value> chosen;
    Value hit = scatter.last(llvm::to_vector(op.getUpdates()), chosen);
    if (!sets) {
      SmallVector<Value> both(op.getInputs());
      llvm::append_range(both, chosen);
      chosen = applyElementwise(b, region, both);
    }
    for (auto [operand, each] : llvm::zip_equal(op.getInputs(), chosen))
      results.push_back(shlo::select(b, hit, each, operand));
    return success();
  }

private:
  static Indexing indexingOf(stablehlo::ScatterOp op) {
    stablehlo::ScatterDimsAttr dims = op.getScatterDimensionNumbers();
    return {.operand = tensorOf(op.getInputs().front()),
            .indices = op.getScatterIndices(),
            .vectorDim = dims.number("index_vector_dim"),
            .map = copy(dims.list("scatter_dims_to_operand_dims")),
            .removed = copy(dims.list("inserted_window_dims")),
            .batching = copy(dims.list("input_batching_dims")),
            .indexBatching = copy(dims.list("scatter_indices_batching_dims")),
            .windowDims = copy(dims.list("update_window_dims")),
            .window = tensorOf(op.getUpdates().front())};
  }

  /// Whether the region subtracts the update.
  static bool isDifference(Region &region) {
    auto difference = dyn_cast<stablehlo::SubtractOp>(region.front().front());
    return difference && !elementOf(difference).isInteger(1) && difference.getLhs() == region.getArgument(0) &&
           difference.getRhs() == region.getArgument(1) &&
           region.front().back().getOperand(0) == difference.getResult();
  }
};

} // namespace

void dgc::import::addScatterPatterns(RewritePatternSet &patterns) {
  patterns.add<ScatterLowering>(patterns.getContext());
}
