//===- Expression.h - matching formulas of an imported program --*- C++ -*-===//
//
// A formula is written in many ways that differ only in shapes: sums that keep their dimension or do not, values that are
// broadcast before or after an addition, transposes. An Expression looks through these: it is a value, and where each of
// its dimensions lies in a space, that of the op at which matching began.
//
//   Expression y = Expression::of(op->getResult(0));
//   if (auto quotient = y.as<DivideOp>())
//     if (auto total = y.operand(1).reduced(ReductionKind::Sum); total && total->is(y.operand(0))) ..
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_IMPORT_RAISE_EXPRESSION_H
#define DGC_COMPILER_IMPORT_RAISE_EXPRESSION_H

#include "compiler/import/Patterns.h"
#include <memory>
#include <optional>

namespace dgc::import::raise {

/// How much of the types of floats matters.
enum class Precision {
  Exact,
  /// A conversion between f32 and a type of 16 bits is looked through.
  Ignored
};

class Expression {
public:
  /// The value in the space of its own dimensions.
  static Expression of(Value value, Precision precision = Precision::Exact);

  Value value;
  /// For each dimension of the value that of the space, -1 where it has one element.
  SmallVector<int64_t> place;
  /// The sizes of the space.
  std::shared_ptr<const SmallVector<int64_t>> space;
  Precision precision = Precision::Exact;

  /// Behind what repeats elements or moves them, and what computes nothing: broadcasts, transposes, dimensions of one
  /// element, sums with 0, products with 1, selects that are decided.
  Expression stripped() const;
  /// The op that computes it, if it is an `Op`.
  template <class Op> Op as() const { return stripped().value.template getDefiningOp<Op>(); }
  /// An operand of the elementwise op that computes it.
  Expression operand(unsigned index) const;
  /// The number that all its elements are, if it is a constant.
  std::optional<double> number() const;
  /// Whether it is a constant whose elements all are about this number, within the precision of its type.
  bool isNumber(double expected) const;
  /// Whether both are the same value along the same dimensions.
  bool is(const Expression &other) const;
  /// What it is a reduction of, over all dimensions of the space along which it does not change.
  std::optional<Expression> reduced(ReductionKind kind) const;
  /// What it is the mean of, over these dimensions.
  std::optional<Expression> mean() const;
  /// Whether its elements are first, first + 1 .. along the dimension of the space.
  bool countsAlong(int64_t dim, int64_t first) const;
  /// The dimensions of the space along which it changes as it stands, in its own order.
  SmallVector<int64_t> dims() const;
  /// The dimension of more than one element along which it does not change, if it is one.
  std::optional<int64_t> missingDim() const;
  /// Whether it changes along these dimensions of the space, and no others. Along one of one element nothing changes.
  bool changesAlong(ArrayRef<int64_t> dims) const;
  /// Whether it changes along the dimensions `dims` of the space alone.
  bool isAlong(ArrayRef<int64_t> dims) const;
  /// Whether it is along all dimensions of more than one element, in the order of the space and of its shape.
  bool isWhole() const;
  /// Another value in the place of this one, of the same shape.
  Expression with(Value other) const;
};

/// A product: the coefficient, times the factors, over the divisors. None of them is a product.
struct Product {
  double coefficient = 1;
  SmallVector<Expression> factors, divisors;

  static Product of(const Expression &x);
  /// Takes the one factor for which `test` is true out; null if there is none or several.
  std::optional<Expression> take(llvm::function_ref<bool(const Expression &)> test);
};

/// The two operands of a commutative op, in both orders, until `test` is true.
template <class Op> bool anyOrder(const Expression &x, llvm::function_ref<bool(Expression, Expression)> test) {
  return x.as<Op>() && (test(x.operand(0), x.operand(1)) || test(x.operand(1), x.operand(0)));
}

/// A sum of exponentials of which none overflows, along one dimension: sum(exp(input - largest)).
struct Exponentials {
  Expression input, largest, exponentials;
  int64_t dim;

  static std::optional<Exponentials> of(const Expression &total);
};

/// The dimension of a softmax or its logarithm, which may be written from the last one on.
template <class Op> int64_t softmaxDim(Op op) {
  const auto dim = static_cast<int64_t>(op.getDim());
  return dim < 0 ? dim + tensorOf(op.getResult()).getRank() : dim;
}

/// Whether two numbers are the same in the precision of the type.
bool isAbout(double number, double expected, Type element);

/// Whether only `roots` and what is computed on the way to them uses what depends on `inputs`: replacing the roots leaves
/// none of it behind. All are of one block.
bool isClosed(ArrayRef<Operation *> roots, ValueRange inputs);

/// Whether `x` is computed from `of`. Both are of one block. True where it would take long to tell.
bool dependsOn(Value x, Value of);

/// Replaces a transpose or reshape behind others by as few as there can be.
void mergeMoves(Operation *op, OpBuilder &builder);

/// The ops of a function that become a composite: tries to replace what ends in `op`, and says whether it did.
using Raise = bool (*)(Operation *op, OpBuilder &builder);

bool raiseSoftmaxGradient(Operation *op, OpBuilder &builder);
bool raiseSoftmax(Operation *op, OpBuilder &builder);
bool raiseLogSoftmax(Operation *op, OpBuilder &builder);
bool raiseSilu(Operation *op, OpBuilder &builder);
bool raiseGelu(Operation *op, OpBuilder &builder);
bool raiseNormalization(Operation *op, OpBuilder &builder);
bool raiseEmbedding(Operation *op, OpBuilder &builder);
bool raiseAttention(Operation *op, OpBuilder &builder);
bool raiseCrossEntropyGradient(Operation *op, OpBuilder &builder);
bool raiseCrossEntropy(Operation *op, OpBuilder &builder);

} // namespace dgc::import::raise

#endif // DGC_COMPILER_IMPORT_RAISE_EXPRESSION_H
