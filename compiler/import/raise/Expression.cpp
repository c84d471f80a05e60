// Matching formulas of an imported program.

#include "compiler/import/raise/Expression.h"

using namespace mlir;
using namespace dgc;

namespace dgc::import::raise {

static ArrayRef<int64_t> shapeOf(Value value) { return tensorOf(value).getShape(); }

/// The number that all elements of a constant are.
static std::optional<double> splatOf(Value value) {
  DenseElementsAttr elements = constantOf(value);
  if (!elements || !elements.isSplat())
    return std::nullopt;
  Type element = elements.getElementType();
  if (isa<FloatType>(element))
    return elements.getSplatValue<APFloat>().convertToDouble();
  if (element.isInteger(1))
    return elements.getSplatValue<bool>() ? 1 : 0;
  const APInt number = elements.getSplatValue<APInt>();
  return element.isUnsignedInteger() ? number.roundToDouble(/*isSigned=*/false)
                                     : number.roundToDouble(/*isSigned=*/true);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Expression Expression::of(Value value, Precision precision) {
  Expression x;
  x.value = value;
  x.precision = precision;
  for (auto [dim, size] : llvm::enumerate(shapeOf(value)))
    x.place.push_back(size == 1 ? -1 : static_cast<int64_t>(dim));
  x.space = std::make_shared<SmallVector<int64_t>>(shapeOf(value));
  return x;
}

Expression Expression::with(Value other) const {
  Expression x = *this;
  x.value = other;
  return x;
}

static Expression behind(const Expression &x, BroadcastInDimOp op) {
  Expression inner = x.with(op.getOperand());
  inner.place.clear();
  for (auto [dim, size] : llvm::zip(op.getBroadcastDimensions(), shapeOf(op.getOperand())))
    inner.place.push_back(size == 1 ? -1 : x.place[dim]);
  return inner;
}

static Expression behind(const Expression &x, TransposeOp op) {
  Expression inner = x.with(op.getOperand());
  for (auto [dim, from] : llvm::enumerate(op.getPermutation()))
    inner.place[from] = x.place[dim];
  return inner;
}

/// Behind a reshape that adds dimensions of one element, or takes them away.
static std::optional<Expression> behind(const Expression &x, ReshapeOp op) {
  Expression inner = x.with(op.getOperand());
  inner.place.clear();
  ArrayRef<int64_t> shape = shapeOf(op);
  size_t next = 0;
  for (int64_t size : shapeOf(op.getOperand())) {
    if (size == 1) {
      inner.place.push_back(-1);
      continue;
    }
    while (next < shape.size() && shape[next] == 1)
      ++next;
    if (next == shape.size() || shape[next] != size)
      return std::nullopt;
    inner.place.push_back(x.place[next++]);
  }
  return inner;
}

/// Behind a choice of the one element that there is along a dimension.
static std::optional<Expression> behind(const Expression &x, GatherOp op) {
  const auto dim = static_cast<int64_t>(op.getDimension());
  if (op.getOffset() || shapeOf(op.getOperand())[dim] != 1 || splatOf(op.getIndices()) != 0 ||
      tensorOf(op.getIndices()).getRank() != 0)
    return std::nullopt;
  Expression inner = x.with(op.getOperand());
  inner.place.insert(inner.place.begin() + dim, -1);
  return inner;
}

/// Behind a slice that takes one operand of a concatenation out again.
static std::optional<Expression> behind(const Expression &x, SliceOp op) {
  auto whole = op.getOperand().getDefiningOp<ConcatenateOp>();
  if (!whole || !op.getStrides().empty())
    return std::nullopt;
  const auto dim = static_cast<int64_t>(whole.getDimension());
  int64_t start = 0;
  for (Value part : whole.getInputs()) {
    if (start == op.getStartIndices()[dim] && shapeOf(part) == shapeOf(op))
      return x.with(part);
    start += shapeOf(part)[dim];
  }
  return std::nullopt;
}

static std::optional<Expression> behindShape(const Expression &x) {
  Operation *op = x.value.getDefiningOp();
  if (auto slice = dyn_cast_or_null<SliceOp>(op))
    return behind(x, slice);
  if (auto broadcast = dyn_cast_or_null<BroadcastInDimOp>(op))
    return behind(x, broadcast);
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op))
    return behind(x, transpose);
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op))
    return behind(x, reshape);
  if (auto gather = dyn_cast_or_null<GatherOp>(op))
    return behind(x, gather);
  return std::nullopt;
}

void mergeMoves(Operation *op, OpBuilder &builder) {
  if (op->use_empty())
    return;
  Expression x = Expression::of(op->getResult(0));
  int steps = 0;
  while (isa_and_nonnull<TransposeOp, ReshapeOp>(x.value.getDefiningOp())) {
    std::optional<Expression> inner = behindShape(x);
    if (!inner)
      break;
    x = std::move(*inner);
    ++steps;
  }
  // As it is without its dimensions of one element, in the order of the result.
  SmallVector<int64_t> sizes, places, permutation;
  for (auto [place, size] : llvm::zip(x.place, shapeOf(x.value)))
    if (place >= 0) {
      places.push_back(place);
      sizes.push_back(size);
    }
  permutation = firstNumbers(static_cast<int64_t>(places.size()));
  llvm::sort(permutation, [&](int64_t i, int64_t j) { return places[i] < places[j]; });
  const bool isMoved = !llvm::is_sorted(permutation);
  if (steps < (isMoved ? 4 : 2))
    return;
  builder.setInsertionPoint(op);
  TensorBuilder b(builder, op->getLoc());
  op->getResult(0).replaceAllUsesWith(
      b.reshape(b.transpose(b.reshape(x.value, sizes), permutation), shapeOf(op->getResult(0))));
}

//===----------------------------------------------------------------------===//
// What computes nothing
//===----------------------------------------------------------------------===//

/// The other operand of a commutative op one of whose operands is this number.
static std::optional<Expression> besides(const Expression &x, Operation *op, double neutral) {
  for (unsigned index : {0U, 1U})
    if (x.with(op->getOperand(index)).number() == neutral)
      return x.with(op->getOperand(1 - index));
  return std::nullopt;
}

/// Whether it is an exponential, or a sum of some.
static bool isNonNegative(const Expression &x) {
  Operation *op = x.value.getDefiningOp();
  if (isa_and_nonnull<ExponentialOp>(op))
    return true;
  auto sum = dyn_cast_or_null<ReduceOp>(op);
  return sum && sum.getKind() == ReductionKind::Sum && sum.getOperand().getDefiningOp<ExponentialOp>();
}

/// The number that all elements are, behind shapes alone.
static std::optional<double> plainNumber(Expression x) {
  constexpr int kMostSteps = 16;
  for (int step = 0; step < kMostSteps; ++step) {
    if (std::optional<double> splat = splatOf(x.value))
      return splat;
    if (auto iota = x.value.getDefiningOp<IotaOp>())
      return shapeOf(iota)[static_cast<int64_t>(iota.getDimension())] == 1 ? std::optional(0.0) : std::nullopt;
    std::optional<Expression> inner = behindShape(x);
    if (!inner)
      break;
    x = std::move(*inner);
  }
  return std::nullopt;
}

/// What a predicate is, where it is the same everywhere: of constants, or a sum of exponentials that is not below 0.
static std::optional<bool> decide(const Expression &pred) {
  if (std::optional<double> constant = plainNumber(pred))
    return *constant != 0;
  Expression x = pred;
  while (std::optional<Expression> inner = behindShape(x))
    x = *inner;
  auto compare = x.value.getDefiningOp<CompareOp>();
  if (!compare)
    return std::nullopt;
  const std::optional<double> right = plainNumber(x.with(compare.getRhs()));
  if (compare.getComparisonDirection() == ComparisonDirection::GE && right == 0 &&
      isNonNegative(x.with(compare.getLhs())))
    return true;
  if (compare.getComparisonDirection() != ComparisonDirection::EQ || !right)
    return std::nullopt;
  const std::optional<double> left = plainNumber(x.with(compare.getLhs()));
  return left ? std::optional(*left == *right) : std::nullopt;
}

static std::optional<Expression> behindSelect(const Expression &x, SelectOp op) {
  Expression pred = x.with(op.getPred()), onTrue = x.with(op.getOnTrue()), onFalse = x.with(op.getOnFalse());
  if (tensorOf(op.getPred()).getShape() != shapeOf(op))
    return std::nullopt;
  if (std::optional<bool> decided = decide(pred))
    return *decided ? onTrue : onFalse;
  const bool isPredicate = elementOf(op).isInteger(1) && onTrue.number() == 1 && onFalse.number() == 0;
  return isPredicate ? std::optional(pred) : std::nullopt;
}

static bool isHalfOrSingle(Type element) { return element.isF16() || element.isBF16() || element.isF32(); }

static std::optional<Expression> behindNothing(const Expression &x) {
  Operation *op = x.value.getDefiningOp();
  if (isa_and_nonnull<MaximumOp>(op))
    return besides(x, op, -std::numeric_limits<double>::infinity());
  if (isa_and_nonnull<MinimumOp>(op))
    return besides(x, op, std::numeric_limits<double>::infinity());
  if (isa_and_nonnull<AddOp>(op))
    return besides(x, op, 0);
  if (isa_and_nonnull<MultiplyOp>(op))
    return besides(x, op, 1);
  if (isa_and_nonnull<AndOp>(op) && elementOf(x.value).isInteger(1))
    return besides(x, op, 1);
  if (isa_and_nonnull<SubtractOp>(op) && x.with(op->getOperand(1)).number() == 0)
    return x.with(op->getOperand(0));
  if (isa_and_nonnull<DivideOp>(op) && x.with(op->getOperand(1)).number() == 1)
    return x.with(op->getOperand(0));
  if (auto select = dyn_cast_or_null<SelectOp>(op))
    return behindSelect(x, select);
  if (isa_and_nonnull<AbsOp>(op) && isNonNegative(x.with(op->getOperand(0))))
    return x.with(op->getOperand(0));
  auto convert = dyn_cast_or_null<ConvertOp>(op);
  if (convert && x.precision == Precision::Ignored && isHalfOrSingle(elementOf(convert)) &&
      isHalfOrSingle(elementOf(convert.getOperand())))
    return x.with(convert.getOperand());
  return std::nullopt;
}

Expression Expression::stripped() const {
  constexpr int kMostSteps = 64; // no framework writes as many in a row
  Expression x = *this;
  for (int step = 0; step < kMostSteps; ++step) {
    std::optional<Expression> inner = behindShape(x);
    if (!inner)
      inner = behindNothing(x);
    if (!inner)
      break;
    x = std::move(*inner);
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Expression Expression::operand(unsigned index) const {
  Expression x = stripped();
  return x.with(x.value.getDefiningOp()->getOperand(index));
}

std::optional<double> Expression::number() const {
  constexpr int kMostSteps = 16;
  double sign = 1;
  Expression x = *this;
  for (int step = 0; step < kMostSteps; ++step) {
    if (std::optional<double> splat = splatOf(x.value))
      return sign * *splat;
    if (auto iota = x.value.getDefiningOp<IotaOp>())
      return shapeOf(iota)[static_cast<int64_t>(iota.getDimension())] == 1 ? std::optional(0.0) : std::nullopt;
    std::optional<Expression> inner = behindShape(x);
    if (auto negate = x.value.getDefiningOp<NegateOp>()) {
      sign = -sign;
      inner = x.with(negate.getOperand());
    } else if (auto select = x.value.getDefiningOp<SelectOp>()) {
      std::optional<bool> decided =
          shapeOf(select.getPred()) == shapeOf(select) ? decide(x.with(select.getPred())) : std::nullopt;
      if (decided)
        inner = x.with(*decided ? select.getOnTrue() : select.getOnFalse());
    }
    if (!inner)
      return std::nullopt;
    x = std::move(*inner);
  }
  return std::nullopt;
}

bool isAbout(double number, double expected, Type element) {
  if (number == expected)
    return true;
  auto type = dyn_cast<FloatType>(element);
  const unsigned bits = type ? type.getFPMantissaWidth() : 0;
  const double relative = bits > 24 ? 1e-7 : bits == 24 ? 2e-6 : bits > 8 ? 1e-3 : bits > 0 ? 8e-3 : 0;
  return std::abs(number - expected) <= relative * std::abs(expected);
}

bool Expression::isNumber(double expected) const {
  std::optional<double> own = number();
  return own && isAbout(*own, expected, elementOf(value));
}

bool Expression::is(const Expression &other) const {
  Expression x = stripped(), y = other.stripped();
  return x.value == y.value && x.place == y.place;
}

SmallVector<int64_t> Expression::dims() const {
  return llvm::to_vector(llvm::make_filter_range(place, [](int64_t dim) { return dim >= 0; }));
}

std::optional<int64_t> Expression::missingDim() const {
  std::optional<int64_t> missing;
  const SmallVector<int64_t> own = stripped().place;
  for (auto [dim, size] : llvm::enumerate(*space)) {
    if (size == 1 || llvm::is_contained(own, static_cast<int64_t>(dim)))
      continue;
    if (missing)
      return std::nullopt;
    missing = static_cast<int64_t>(dim);
  }
  return missing;
}

bool Expression::changesAlong(ArrayRef<int64_t> dims) const {
  const SmallVector<int64_t> own = stripped().place;
  return llvm::all_of(llvm::enumerate(*space), [&](auto each) {
    const auto dim = static_cast<int64_t>(each.index());
    return each.value() == 1 || llvm::is_contained(own, dim) == llvm::is_contained(dims, dim);
  });
}

bool Expression::isAlong(ArrayRef<int64_t> dims) const {
  return llvm::all_of(stripped().place, [&](int64_t dim) { return dim < 0 || llvm::is_contained(dims, dim); });
}

bool Expression::isWhole() const {
  if (ArrayRef<int64_t>(*space) != shapeOf(value))
    return false;
  return llvm::all_of(llvm::enumerate(place),
                      [](auto each) { return each.value() < 0 || each.value() == int64_t(each.index()); });
}

std::optional<Expression> Expression::reduced(ReductionKind kind) const {
  Expression x = stripped();
  auto op = x.value.getDefiningOp<ReduceOp>();
  if (!op || op.getKind() != kind)
    return std::nullopt;
  // The dimensions of the space that are left over are those that were reduced, in their order.
  SmallVector<int64_t> left;
  for (auto [dim, size] : llvm::enumerate(*space))
    if (size != 1 && !llvm::is_contained(x.place, static_cast<int64_t>(dim)))
      left.push_back(static_cast<int64_t>(dim));
  Expression inner = x.with(op.getOperand());
  inner.place.clear();
  size_t nextKept = 0, nextLeft = 0;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim))) {
      inner.place.push_back(x.place[nextKept++]);
    } else if (size == 1) {
      inner.place.push_back(-1);
    } else {
      if (nextLeft == left.size() || (*space)[left[nextLeft]] != size)
        return std::nullopt;
      inner.place.push_back(left[nextLeft++]);
    }
  }
  return nextLeft == left.size() ? std::optional(inner) : std::nullopt;
}

bool Expression::countsAlong(int64_t dim, int64_t first) const {
  if (auto iota = as<IotaOp>())
    return first == 0 && stripped().place[static_cast<int64_t>(iota.getDimension())] == dim;
  return first != 0 && anyOrder<AddOp>(*this, [&](const Expression &inner, const Expression &start) {
           return start.number() == double(first) && inner.countsAlong(dim, 0);
         });
}

std::optional<Expression> Expression::mean() const {
  Product product = Product::of(*this);
  if (product.factors.size() != 1 || !product.divisors.empty())
    return std::nullopt;
  std::optional<Expression> terms = product.factors.front().reduced(ReductionKind::Sum);
  if (!terms)
    return std::nullopt;
  auto sum = product.factors.front().as<ReduceOp>();
  const double count =
      double(tensorOf(sum.getOperand()).getNumElements()) / double(tensorOf(sum.getResult()).getNumElements());
  return isAbout(product.coefficient * count, 1, elementOf(value)) ? terms : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static void addFactors(const Expression &x, bool isDivisor, Product &product, int &left) {
  // A chain of products may be long, and repeated squares have 2^n factors.
  const bool isFloat = isa<FloatType>(elementOf(x.value));
  const bool goesOn = --left > 0;
  if (std::optional<double> number = x.number()) {
    product.coefficient = isDivisor ? product.coefficient / *number : product.coefficient * *number;
  } else if (goesOn && x.as<MultiplyOp>()) {
    const Expression inner = x.stripped();
    addFactors(inner.operand(0), isDivisor, product, left);
    addFactors(inner.operand(1), isDivisor, product, left);
  } else if (goesOn && isFloat && x.as<DivideOp>()) {
    const Expression inner = x.stripped();
    addFactors(inner.operand(0), isDivisor, product, left);
    addFactors(inner.operand(1), !isDivisor, product, left);
  } else if (goesOn && x.as<NegateOp>()) {
    product.coefficient = -product.coefficient;
    addFactors(x.operand(0), isDivisor, product, left);
  } else {
    (isDivisor ? product.divisors : product.factors).push_back(x.stripped());
  }
}

Product Product::of(const Expression &x) {
  Product product;
  int left = 48; // ops, which no layer has more of
  addFactors(x, /*isDivisor=*/false, product, left);
  return product;
}

std::optional<Expression> Product::take(llvm::function_ref<bool(const Expression &)> test) {
  std::optional<size_t> found;
  for (auto [index, factor] : llvm::enumerate(factors)) {
    if (!test(factor))
      continue;
    if (found)
      return std::nullopt;
    found = index;
  }
  if (!found)
    return std::nullopt;
  Expression taken = factors[*found];
  factors.erase(factors.begin() + static_cast<ptrdiff_t>(*found));
  return taken;
}

} // namespace dgc::import::raise
