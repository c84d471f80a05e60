// Products of tensors.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/InferUtil.h"
#include "dialects/dgc/LinalgUtil.h"
#include "dialects/dgc/TensorBuilder.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ContractionOps.cpp.inc"

namespace dgc {
void registerContractionOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ContractionOps.cpp.inc"
      >();
}
} // namespace dgc

/// The dimensions below `rank` that are in neither list.
static SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> free;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      free.push_back(dim);
  return free;
}

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }
static int64_t sizeOf(Value value, int64_t dim) { return cast<RankedTensorType>(value.getType()).getDimSize(dim); }

SmallVector<int64_t> DotGeneralOp::getLhsFree() { return freeDims(rankOf(getLhs()), getLhsBatch(), getLhsContract()); }
SmallVector<int64_t> DotGeneralOp::getRhsFree() { return freeDims(rankOf(getRhs()), getRhsBatch(), getRhsContract()); }

/// Checks that the paired dimensions are as many and of equal sizes.
static LogicalResult checkPairs(std::optional<Location> location, StringRef name, StringRef what,
                                ArrayRef<int64_t> lhsDims, ArrayRef<int64_t> rhsDims, RankedTensorType lhs,
                                RankedTensorType rhs) {
  if (lhsDims.size() != rhsDims.size())
    return emitOptionalError(location, "'", name, "' op has ", lhsDims.size(), " ", what,
                             " dimensions on the left and ", rhsDims.size(), " on the right; they must be pairs");
  for (auto [l, r] : llvm::zip_equal(lhsDims, rhsDims))
    if (lhs.getDimSize(l) != rhs.getDimSize(r))
      return emitOptionalError(location, "'", name, "' op ", what, " dimension ", l, " of the left operand (", lhs,
                               ") has size ", lhs.getDimSize(l), ", but dimension ", r, " of the right operand (", rhs,
                               ") has size ", rhs.getDimSize(r), "; they must be equal");
  return success();
}

LogicalResult DotGeneralOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto lhs = staticTensor(location, name, "the left operand", adaptor.getLhs());
  auto rhs = staticTensor(location, name, "the right operand", adaptor.getRhs());
  if (failed(lhs) || failed(rhs))
    return failure();
  if (lhs->getElementType() != rhs->getElementType())
    return emitOptionalError(location, "'", name, "' op multiplies ", lhs->getElementType(), " with ",
                             rhs->getElementType(), "; convert one of them, the element types must be equal");
  ArrayRef<int64_t> lhsBatch = adaptor.getLhsBatch(), rhsBatch = adaptor.getRhsBatch();
  ArrayRef<int64_t> lhsContract = adaptor.getLhsContract(), rhsContract = adaptor.getRhsContract();
  auto all = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    return llvm::to_vector(llvm::concat<const int64_t>(a, b));
  };
  if (failed(checkDims(location, name, "the left operand", all(lhsBatch, lhsContract), lhs->getRank())) ||
      failed(checkDims(location, name, "the right operand", all(rhsBatch, rhsContract), rhs->getRank())) ||
      failed(checkPairs(location, name, "batch", lhsBatch, rhsBatch, *lhs, *rhs)) ||
      failed(checkPairs(location, name, "contracted", lhsContract, rhsContract, *lhs, *rhs)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatch)
    shape.push_back(lhs->getDimSize(dim));
  for (int64_t dim : freeDims(lhs->getRank(), lhsBatch, lhsContract))
    shape.push_back(lhs->getDimSize(dim));
  for (int64_t dim : freeDims(rhs->getRank(), rhsBatch, rhsContract))
    shape.push_back(rhs->getDimSize(dim));
  types.push_back(RankedTensorType::get(shape, lhs->getElementType()));
  return success();
}

ShardingRule DotGeneralOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  int64_t resultDim = 0;
  for (auto [l, r] : llvm::zip_equal(getLhsBatch(), getRhsBatch()))
    rule.factor({l, r}, {resultDim++}, sizeOf(getLhs(), l));
  for (int64_t dim : getLhsFree())
    rule.factor({dim, -1}, {resultDim++}, sizeOf(getLhs(), dim));
  for (int64_t dim : getRhsFree())
    rule.factor({-1, dim}, {resultDim++}, sizeOf(getRhs(), dim));
  for (auto [l, r] : llvm::zip_equal(getLhsContract(), getRhsContract()))
    rule.factor({l, r}, {-1}, sizeOf(getLhs(), l), FactorKind::Reduction);
  return rule.build();
}

bool DotGeneralOp::isLinearIn(int index) { return index == 0 || index == 1; }

OpCost DotGeneralOp::getCost() {
  uint64_t perElement = 2;
  for (int64_t dim : getLhsContract())
    perElement *= sizeOf(getLhs(), dim);
  return costPerElement(*this, perElement);
}

/// The gradient of one operand (`side` 0: left) of a product: the product of
/// the gradient of its result with the other operand over the free dimensions
/// of that. Of the two orders of the factors it takes the one that needs no
/// transpose afterwards, where there is one; the library multiplies transposed
/// operands as fast.
static Value operandGradient(TensorBuilder &b, DotGeneralOp op, int side, Value gradient) {
  Value other = side == 0 ? op.getRhs() : op.getLhs();
  ArrayRef<int64_t> batch = side == 0 ? op.getLhsBatch() : op.getRhsBatch();
  ArrayRef<int64_t> otherBatch = side == 0 ? op.getRhsBatch() : op.getLhsBatch();
  ArrayRef<int64_t> contract = side == 0 ? op.getLhsContract() : op.getRhsContract();
  ArrayRef<int64_t> otherContract = side == 0 ? op.getRhsContract() : op.getLhsContract();
  SmallVector<int64_t> free = side == 0 ? op.getLhsFree() : op.getRhsFree();
  SmallVector<int64_t> otherFree = side == 0 ? op.getRhsFree() : op.getLhsFree();

  // Where the dimensions of the gradient of the result come from: batch, left
  // free, right free.
  int64_t numBatch = batch.size(), lhsFree = op.getLhsFree().size();
  auto iota = [](int64_t begin, size_t size) { return llvm::to_vector(llvm::seq<int64_t>(begin, begin + size)); };
  SmallVector<int64_t> gradientBatch = iota(0, numBatch);
  SmallVector<int64_t> gradientOther = iota(numBatch + (side == 0 ? lhsFree : 0), otherFree.size());

  // The contracted dimensions of the operand in the order in which the other
  // operand has its own.
  SmallVector<int64_t> order = iota(0, contract.size());
  llvm::sort(order, [&](int64_t i, int64_t j) { return otherContract[i] < otherContract[j]; });
  SmallVector<int64_t> contracted = llvm::map_to_vector(order, [&](int64_t i) { return contract[i]; });

  // dims[i]: the dimension of the operand that dimension i of the product is.
  SmallVector<int64_t> gradientFirst(batch), otherFirst(batch);
  llvm::append_range(gradientFirst, free);
  llvm::append_range(gradientFirst, contracted);
  llvm::append_range(otherFirst, contracted);
  llvm::append_range(otherFirst, free);
  bool swap = !llvm::is_sorted(gradientFirst) && llvm::is_sorted(otherFirst);
  Value product = swap ? b.dot(other, gradient, otherBatch, gradientBatch, otherFree, gradientOther)
                       : b.dot(gradient, other, gradientBatch, otherBatch, gradientOther, otherFree);
  ArrayRef<int64_t> dims = swap ? otherFirst : gradientFirst;
  SmallVector<int64_t> permutation(dims.size());
  for (auto [i, dim] : llvm::enumerate(dims))
    permutation[dim] = i;
  return b.transpose(product, permutation);
}

SmallVector<Value> DotGeneralOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                const llvm::BitVector &wanted) {
  TensorBuilder b(builder, getLoc());
  SmallVector<Value> gradients(2);
  for (int side : {0, 1})
    if (wanted[side])
      gradients[side] = operandGradient(b, *this, side, resultGradients[0]);
  return gradients;
}

FailureOr<SmallVector<Value>> DotGeneralOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Location location = getLoc();
  auto type = cast<RankedTensorType>(getType());
  Type element = signlessElement(type.getElementType()), accumulator = accumulatorElement(element);
  Value init = filledTensor(builder, location, type.getShape(), reductionIdentity(ReductionKind::Sum, accumulator));

  // The loops: batch, left free, contracted, right free. The innermost one runs
  // along rows of the right operand and of the result in the usual layout, so
  // it vectorizes without reordering the sums.
  SmallVector<utils::IteratorType> iterators;
  SmallVector<AffineExpr> lhs(rankOf(getLhs())), rhs(rankOf(getRhs())), result;
  auto loop = [&](utils::IteratorType kind) {
    iterators.push_back(kind);
    return builder.getAffineDimExpr(iterators.size() - 1);
  };
  for (auto [l, r] : llvm::zip_equal(getLhsBatch(), getRhsBatch()))
    result.push_back(lhs[l] = rhs[r] = loop(utils::IteratorType::parallel));
  for (int64_t dim : getLhsFree())
    result.push_back(lhs[dim] = loop(utils::IteratorType::parallel));
  for (auto [l, r] : llvm::zip_equal(getLhsContract(), getRhsContract()))
    lhs[l] = rhs[r] = loop(utils::IteratorType::reduction);
  for (int64_t dim : getRhsFree())
    result.push_back(rhs[dim] = loop(utils::IteratorType::parallel));

  auto product = linalg::GenericOp::create(
      builder, location, init.getType(), operands, init, indexingMaps(builder, iterators.size(), {lhs, rhs, result}),
      iterators, [&](OpBuilder &b, Location l, ValueRange args) {
        Value x = extendScalar(b, l, args[0], accumulator), y = extendScalar(b, l, args[1], accumulator);
        Value sum = multiplyAddScalars(b, l, x, y, args[2]);
        linalg::YieldOp::create(b, l, sum);
      });
  return SmallVector<Value>{roundedTensor(builder, location, product.getResult(0), element)};
}
