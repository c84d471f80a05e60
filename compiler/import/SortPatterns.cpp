// From the sorts of StableHLO to dgc.
//
// A sort is a bitonic network: in each of log2(n) (log2(n) + 1) / 2 stages every element is compared with one other, by the
// comparator on whole tensors. So any comparator will do, and all dimensions but the sorted one can be on several devices.
// Maxima in windows of one element, which are kernels of their own, keep the stages apart: in one kernel, each would
// compute those before it again.

#include "compiler/import/Complex.h"
#include "compiler/import/Indexing.h"
#include "compiler/import/RegionUtil.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

/// The elements on their way through the network, and with them, where that matters, the places that they came from.
class Network {
public:
  Network(TensorBuilder &b, stablehlo::SortOp op, int64_t dim)
      : b(b), comparator(op.getComparator()), dim(dim), count(tensorOf(op.getInputs()[0]).getDimSize(dim)),
        size(static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(count)))),
        hasPlaces(op.getIsStable() || size != count), values(op.getInputs()) {}

  SmallVector<Value> sorted() {
    prepare();
    // Blocks of two sorted halves, of which the second one is compared from its end; then halves of halves.
    for (int64_t block = 2; block <= size; block *= 2) {
      exchange(block - 1, block / 2);
      for (int64_t distance = block / 4; distance >= 1; distance /= 2)
        exchange(distance, distance);
    }
    if (hasPlaces)
      values.pop_back();
    SmallVector<int64_t> starts(tensorOf(values[0]).getRank(), 0), limits(tensorOf(values[0]).getShape());
    limits[dim] = count;
    for (Value &value : values)
      value = shlo::slice(b, value, starts, limits, SmallVector<int64_t>(starts.size(), 1));
    return std::move(values);
  }

private:
  void prepare();
  void exchange(int64_t bits, int64_t highest);
  Value gathered(Value x, Value places) const;
  Value stored(Value x) const;
  Value joined(Value x, function_ref<Value(Value)> function) const;
  Value isBefore(ArrayRef<Value> x, ArrayRef<Value> y) const;

  TensorBuilder &b;
  Region &comparator;
  int64_t dim, count, size;
  bool hasPlaces;
  SmallVector<Value> values; // the last one are the places
};

/// Makes the dimension a power of two.
void Network::prepare() {
  auto type = tensorOf(values[0]);
  SmallVector<int64_t> first(type.getRank(), 0), strides(type.getRank(), 1), limits(type.getShape());
  limits[dim] = size - count;
  // Any elements will do. There are less than there were.
  for (Value &value : values)
    if (size != count)
      value = shlo::concatenate(b, {value, shlo::slice(b, value, first, limits, strides)}, dim);
  if (!hasPlaces)
    return;
  auto places = tensorOf(values[0]).clone(b.builder.getIntegerType(size <= INT32_MAX ? 32 : 64));
  values.push_back(IotaOp::create(b.builder, b.location, places, dim, Value()));
}

/// Whether elements of `x` come before those of `y`: equal ones in their order, and what was added last.
Value Network::isBefore(ArrayRef<Value> x, ArrayRef<Value> y) const {
  auto compared = [&](ArrayRef<Value> first, ArrayRef<Value> second) {
    SmallVector<Value> arguments;
    for (size_t i = 0; i < comparator.getNumArguments() / 2; ++i)
      arguments.append({first[i], second[i]});
    return applyElementwise(b, comparator, arguments)[0];
  };
  auto logic = [&](auto op, Value p, Value q) -> Value { return decltype(op)::create(b.builder, b.location, p, q); };
  Value before = compared(x, y);
  if (!hasPlaces)
    return before;
  Value isEarlier = b.compare(ComparisonDirection::LT, x.back(), y.back());
  Value after = compared(y, x);
  before = logic(OrOp(), before, logic(AndOp(), isEarlier, NotOp::create(b.builder, b.location, after)));
  if (size == count)
    return before;
  Value last = b.splat(static_cast<double>(count), x.back());
  Value isAdded = b.compare(ComparisonDirection::GE, b.maximum(x.back(), y.back()), last);
  return b.select(isAdded, isEarlier, before);
}

/// The value as the result of a kernel of its own.
Value Network::stored(Value x) const {
  if (isComplex(x))
    return joined(x, [&](Value part) { return stored(part); });
  const bool isBool = elementOf(x).isInteger(1);
  SmallVector<int64_t> ones(tensorOf(x).getRank(), 1), none(2 * ones.size(), 0);
  Value same = b.reduceWindow(ReductionKind::Max, isBool ? b.convert(x, b.builder.getI8Type()) : x, ones, ones, none);
  return isBool ? b.convert(same, b.builder.getI1Type()) : same;
}

/// The element of each place of a list of places.
Value Network::gathered(Value x, Value places) const {
  if (isComplex(x))
    return joined(x, [&](Value part) { return gathered(part, places); });
  return gatherAlong(b, x, places, dim);
}

/// Complex numbers whose parts are functions of those of others.
Value Network::joined(Value x, function_ref<Value(Value)> function) const {
  Type type = tensorOf(x).clone(cast<ComplexType>(elementOf(x)).getElementType());
  Value real = function(stablehlo::RealOp::create(b.builder, b.location, type, x));
  Value imaginary = function(stablehlo::ImagOp::create(b.builder, b.location, type, x));
  return stablehlo::ComplexOp::create(b.builder, b.location, x.getType(), real, imaginary);
}

/// Compares each element with that whose place has other bits, of which `highest` is the highest one.
void Network::exchange(int64_t bits, int64_t highest) {
  Type element = b.builder.getIntegerType(size <= INT32_MAX ? 32 : 64);
  Value place = indicesAlong(b, {size}, element, 0);
  Value other = XorOp::create(b.builder, b.location, place, b.splat(static_cast<double>(bits), place));
  Value bit = AndOp::create(b.builder, b.location, place, b.splat(static_cast<double>(highest), place));
  Value isLow = b.broadcast(b.equal(bit, b.splat(0, bit)), tensorOf(values[0]).getShape(), {dim});
  SmallVector<Value> others, first, second;
  for (Value value : values) {
    others.push_back(gathered(value, other));
    first.push_back(shlo::select(b, isLow, others.back(), value));
    second.push_back(shlo::select(b, isLow, value, others.back()));
  }
  Value swaps = isBefore(first, second);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = stored(shlo::select(b, swaps, others[i], values[i]));
}

struct SortLowering : Lowering<stablehlo::SortOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::SortOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (!isElementwise(op.getComparator(), reason))
      return failure();
    const int64_t rank = tensorOf(op.getInputs()[0]).getRank();
    if (rank == 0) {
      llvm::append_range(results, op.getInputs());
      return success();
    }
    const auto dim = static_cast<int64_t>(op.getDimension());
    llvm::append_range(results, Network(b, op, dim < 0 ? dim + rank : dim).sorted());
    return success();
  }
};

} // namespace

void dgc::import::addSortPatterns(RewritePatternSet &patterns) { patterns.add<SortLowering>(patterns.getContext()); }
