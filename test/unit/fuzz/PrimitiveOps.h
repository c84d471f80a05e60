// The kinds of ops that random programs of primitive ops are made of.
#pragma once

#include "test/unit/fuzz/PrimitiveWriter.h"

namespace dgc::testing {

/// Adds an op to the program: one value or two, of values that are there. Nothing where there are none for it.
using PrimitiveOp = void (*)(PrimitiveWriter &);

// What is in a list twice is drawn twice as often.
std::vector<PrimitiveOp> elementwiseOps();
std::vector<PrimitiveOp> movingOps();
std::vector<PrimitiveOp> choosingOps();
std::vector<PrimitiveOp> reducingOps();
std::vector<PrimitiveOp> productOps();
std::vector<PrimitiveOp> controlOps();

// Those of which a program seldom has one.
std::vector<PrimitiveOp> complexOps();
std::vector<PrimitiveOp> rareElementwiseOps();
std::vector<PrimitiveOp> rareChoosingOps();
std::vector<PrimitiveOp> rareProductOps();
std::vector<PrimitiveOp> rareControlOps();

/// What the ops of several kinds are made with.
struct PrimitiveMaker {
  using Value = PrimitiveValue;
  PrimitiveWriter &w;

  /// A function of one operand, whose result is in `x`.
  bool roundedUnary(Value &x, const std::string &op, double bound, double slope, double roundings) {
    return w.rounded(x, join("dgc.", op, " ", x.name, " : ", x.type()), x.shape, bound, {x}, slope, roundings);
  }

  /// A number more, in `x`.
  bool plus(Value &x, double number) {
    const Value c = w.constant(x.shape, x.element, number);
    return w.rounded(x, join("dgc.add ", x.name, ", ", c.name, " : ", x.type()), x.shape, x.bound + number, {x}, 1,
                     0.5);
  }

  /// A float that is larger than 1 goes through the function, whose result is not.
  bool smallUnary(Value &x, const std::string &op) {
    return !isFloat(x.element) || x.bound <= 1 || roundedUnary(x, op, 1, 1, PrimitiveWriter::roundingsOf(x.element));
  }

  /// An op that moves the elements of x.
  void giveMoved(const Value &x, const std::string &op, const std::string &clauses, Shape shape) {
    w.use(x);
    w.give(w.define(join("dgc.", op, " ", x.name, " ", clauses, " : ", x.type()), x, std::move(shape)));
  }

  /// A region that combines two elements by `op`, or gives the second one.
  std::string combining(const std::string &element, const std::string &op) {
    const std::string a = w.freshName(), b = w.freshName(), c = w.freshName(), type = tensorOf({}, element);
    const std::string head = join("{\n  ^bb0(%", a, ": ", type, ", %", b, ": ", type, "):\n");
    if (op == "second")
      return join(head, "    stablehlo.return %", b, " : ", type, "\n  }");
    return join(head, "    %", c, " = stablehlo.", op, " %", a, ", %", b, " : ", type, "\n    stablehlo.return %", c,
                " : ", type, "\n  }");
  }
};

/// A member of a struct that has the writer.
template <typename Ops, void (Ops::*op)()> void add(PrimitiveWriter &w) { (Ops{{w}}.*op)(); }

inline constexpr int64_t largestSize = 600; // elements

inline std::string arrayOf(const Shape &numbers) {
  const std::string list = listOf(numbers);
  return "array<i64: " + list.substr(1, list.size() - 2) + ">";
}

/// "[[1, 0], [2, 1]]"
inline std::string pairsOf(const Shape &low, const Shape &high) {
  std::string text;
  for (size_t i = 0; i < low.size(); ++i)
    text += (i ? ", " : "") + listOf({low[i], high[i]});
  return "[" + text + "]";
}

inline std::string paddingOf(const Shape &low, const Shape &high) {
  return join("dense<", pairsOf(low, high), "> : tensor<", low.size(), "x2xi64>");
}

inline Shape without(Shape shape, int64_t dim) {
  shape.erase(shape.begin() + dim);
  return shape;
}

inline bool isNumber(const PrimitiveValue &value) { return !isBool(value.element); }
inline bool hasDims(const PrimitiveValue &value) { return value.rank() > 0; }
/// Whether sums of it are exact: of integers, which wrap, and of multiples of 1/8.
inline bool isSummable(const PrimitiveValue &value) { return isNumber(value) && value.isExact() && value.onGrid; }

} // namespace dgc::testing
