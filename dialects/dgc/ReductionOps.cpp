// Reductions over whole dimensions, and sums up to each place.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/InferUtil.h"
#include "dialects/dgc/LinalgUtil.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ReductionOps.cpp.inc"

namespace dgc {
void registerReductionOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ReductionOps.cpp.inc"
      >();
}
} // namespace dgc

/// The dimensions below `rank` that are not in `dims`.
static SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

LogicalResult ReduceOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto type = staticTensor(location, name, "the operand", adaptor.getOperand());
  if (failed(type) || failed(checkDims(location, name, "dims", adaptor.getDims(), type->getRank())))
    return failure();
  if (!llvm::is_sorted(adaptor.getDims()))
    return emitOptionalError(location, "'", name, "' op dims must be ascending");
  Type element = type->getElementType();
  bool isLogic = adaptor.getKind() == ReductionKind::And || adaptor.getKind() == ReductionKind::Or;
  if (isLogic && !isa<IntegerType>(element))
    return emitOptionalError(location, "'", name, "' op ", stringifyEnum(adaptor.getKind()),
                             " takes integers or i1, but the elements are ", element);
  if (!isLogic && element.isInteger(1))
    return emitOptionalError(location, "'", name, "' op ", stringifyEnum(adaptor.getKind()),
                             " takes numbers, but the elements are i1; use "
                             "'and' or 'or', or convert them");
  SmallVector<int64_t> shape;
  for (int64_t dim : otherDims(type->getRank(), adaptor.getDims()))
    shape.push_back(type->getDimSize(dim));
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  if (getDims().empty() && getOperand().getType() == getType())
    return getOperand();
  return {};
}

ShardingRule ReduceOp::getShardingRule() {
  auto type = cast<RankedTensorType>(getOperand().getType());
  ShardingRuleBuilder rule(*this);
  int64_t resultDim = 0;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (llvm::is_contained(getDims(), dim))
      rule.factor({int64_t(dim)}, {-1}, size, FactorKind::Reduction, getKind());
    else
      rule.factor({int64_t(dim)}, {resultDim++}, size);
  }
  return rule.build();
}

bool ReduceOp::isLinearIn(int index) { return getKind() == ReductionKind::Sum; }

OpCost ReduceOp::getCost() {
  OpCost cost = costPerElement(*this, 0);
  cost.flops = cast<RankedTensorType>(getOperand().getType()).getNumElements();
  return cost;
}

/// The gradient of a product of all elements along the reduced dimensions: at
/// each element the product of the others, which is a quotient only where no
/// element is zero.
static Value productGradient(TensorBuilder &b, ReduceOp op, Value gradient, function_ref<Value(Value)> spread) {
  Value x = op.getOperand();
  Value zero = b.constant(x.getType(), 0.0), one = b.constant(x.getType(), 1.0);
  Value isZero = b.equal(x, zero);
  Value nonZero = b.select(isZero, one, x);
  Value product = spread(b.reduce(ReductionKind::Product, nonZero, op.getDims()));
  Value zeros = spread(b.reduce(ReductionKind::Sum, b.select(isZero, one, zero), op.getDims()));
  Value atZero = b.select(b.equal(zeros, one), product, zero);
  Value elsewhere = b.select(b.equal(zeros, zero), b.divide(product, nonZero), zero);
  return b.multiply(spread(gradient), b.select(isZero, atZero, elsewhere));
}

SmallVector<Value> ReduceOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                            const llvm::BitVector &wanted) {
  TensorBuilder b(builder, getLoc());
  auto type = cast<RankedTensorType>(getOperand().getType());
  SmallVector<int64_t> kept = otherDims(type.getRank(), getDims());
  auto spread = [&](Value value) { return b.broadcast(value, type.getShape(), kept); };
  Value gradient = resultGradients[0];
  switch (getKind()) {
  case ReductionKind::Sum:
    return {spread(gradient)};
  case ReductionKind::Product:
    return {productGradient(b, *this, gradient, spread)};
  case ReductionKind::Max:
  case ReductionKind::Min: {
    Value attains = b.convert(b.equal(getOperand(), spread(getResult())), type.getElementType());
    Value count = b.reduce(ReductionKind::Sum, attains, getDims());
    return {b.multiply(attains, spread(b.divide(gradient, count)))};
  }
  default:
    return {Value()};
  }
}

FailureOr<SmallVector<Value>> ReduceOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Location location = getLoc();
  Type element = cast<RankedTensorType>(getOperand().getType()).getElementType();
  auto type = cast<RankedTensorType>(operands[0].getType());
  // Minimum and maximum round nothing, so only sums and products need the wider
  // type.
  bool accumulates = getKind() == ReductionKind::Sum || getKind() == ReductionKind::Product;
  Type accumulator = accumulates ? accumulatorElement(element) : element;
  auto kept = otherDims(type.getRank(), getDims());
  SmallVector<int64_t> shape = llvm::map_to_vector(kept, [&](int64_t dim) { return type.getDimSize(dim); });
  Value init = filledTensor(builder, location, shape, reductionIdentity(getKind(), accumulator));

  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::reduction);
  SmallVector<AffineExpr> all, results;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    all.push_back(builder.getAffineDimExpr(dim));
  for (int64_t dim : kept) {
    iterators[dim] = utils::IteratorType::parallel;
    results.push_back(all[dim]);
  }
  auto reduced = linalg::GenericOp::create(builder, location, init.getType(), operands[0], init,
                                           indexingMaps(builder, type.getRank(), {all, results}), iterators,
                                           [&](OpBuilder &b, Location l, ValueRange args) {
                                             Value wide = extendScalar(b, l, args[0], signlessElement(accumulator));
                                             Value sum = combineScalars(b, l, getKind(), accumulator, args[1], wide);
                                             linalg::YieldOp::create(b, l, sum);
                                           });
  return SmallVector<Value>{roundedTensor(builder, location, reduced.getResult(0), signlessElement(element))};
}

//===----------------------------------------------------------------------===//
// CumulativeSumOp
//===----------------------------------------------------------------------===//

LogicalResult CumulativeSumOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType input = withoutEncoding(tensorOf(adaptor.getInput()));
  const auto dim = static_cast<int64_t>(adaptor.getDim());
  if (dim < -input.getRank() || dim >= input.getRank())
    return emitOptionalError(location, "'dgc.cumulative_sum' runs along dimension ", dim, ", which ", input,
                             " does not have");
  types.push_back(input);
  return success();
}

// After step k, each element is the sum of up to 2^k elements up to its place.
FailureOr<SmallVector<Value>> CumulativeSumOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput());
  Value sums = b.convert(getInput(), computeType(element));
  const int64_t rank = tensorOf(sums).getRank(), given = getDim(), dim = given < 0 ? given + rank : given;
  auto moved = [&](int64_t places) {
    SmallVector<int64_t> low(rank, 0), high(rank, 0);
    low[dim] = getReverse() ? -places : places;
    high[dim] = -low[dim];
    return b.padZero(sums, low, high);
  };
  if (getExclusive())
    sums = moved(1);
  for (int64_t places = 1; places < shapeOf(sums)[dim]; places *= 2)
    sums = b.add(sums, moved(places));
  return SmallVector<Value>{b.convert(sums, element)};
}
