// Reductions, windows and sorts of random programs.
#include "test/unit/fuzz/PrimitiveOps.h"

#include <algorithm>

namespace dgc::testing {

namespace {

struct Reductions : PrimitiveMaker {
  void reduce() {
    Value x;
    if (!w.pick(x, hasDims))
      return;
    Shape dims, shape;
    for (int64_t d = 0; d < x.rank(); ++d) {
      const bool isReduced = w.draw(2) || (dims.empty() && d + 1 == x.rank());
      (isReduced ? dims : shape).push_back(isReduced ? d : x.shape[d]);
    }
    const std::string kind = isBool(x.element)      ? w.choose({"and", "or"})
                             : isInteger(x.element) ? w.choose({"max", "min", "sum", "product", "and", "or"})
                                                    : w.choose({"max", "min", "sum"});
    if (kind != "sum")
      return giveMoved(x, "reduce " + kind, "dims " + listOf(dims), shape);
    w.giveSum(join("dgc.reduce sum ", x.name, " dims ", listOf(dims), " : ", x.type()), x, shape,
              sizeOf(x.shape) / sizeOf(shape));
  }

  void reduceByRegion() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isInteger(value.element); }))
      return;
    const int64_t dim = w.draw(x.rank());
    const Value init = w.constant({}, x.element, 5);
    w.use(x);
    const Shape shape = without(x.shape, dim);
    w.giveExact(join("stablehlo.reduce(", x.name, " init: ", init.name, ") applies stablehlo.",
                     w.choose({"xor", "xor", "multiply", "add", "minimum", "or"}), " across dimensions = [", dim,
                     "] : (", x.type(), ", ", init.type(), ") -> ", tensorOf(shape, x.element)),
                shape, x.element);
  }

  /// The first largest or smallest element and its place, as one reduction of two operands.
  void argmaxOfTwo() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isSummable(value); }))
      return;
    const int64_t dim = w.draw(x.rank());
    const std::string better = w.choose({"LT", "GT"}), element = tensorOf({}, x.element);
    Value places{"", x.shape, "i32", 0, 0, 0, true};
    places.name = w.define(join("dgc.iota dim ", dim, " : ", places.type()));
    const double worstOfAll = isFloat(x.element) ? x.bound + 1 : 0;
    const Value init = w.constant({}, x.element, better == "GT" ? -worstOfAll : worstOfAll);
    const Value zero = w.constant({}, "i32", 0);
    w.use(x);
    std::string n[11];
    for (std::string &name : n)
      name = "%" + w.freshName();
    const Shape shape = without(x.shape, dim);
    auto compare = [&](const std::string &result, const std::string &how, const std::string &a, const std::string &b,
                       const std::string &type) {
      return join("      ", result, " = stablehlo.compare ", how, ", ", a, ", ", b, " : (", type, ", ", type,
                  ") -> tensor<i1>\n");
    };
    w.giveAll(join("stablehlo.reduce(", x.name, " init: ", init.name, "), (", places.name, " init: ", zero.name,
                   ") across dimensions = [", dim, "] : (", x.type(), ", ", places.type(), ", ", element,
                   ", tensor<i32>) -> (", tensorOf(shape, x.element), ", ", tensorOf(shape, "i32"), ")\n    reducer(",
                   n[0], ": ", element, ", ", n[1], ": ", element, ") (", n[2], ": tensor<i32>, ", n[3],
                   ": tensor<i32>) {\n", compare(n[4], better, n[0], n[1], element),
                   compare(n[5], "EQ", n[0], n[1], element), compare(n[6], "LT", n[2], n[3], "tensor<i32>"), "      ",
                   n[7], " = stablehlo.and ", n[5], ", ", n[6], " : tensor<i1>\n      ", n[8], " = stablehlo.or ", n[4],
                   ", ", n[7], " : tensor<i1>\n      ", n[9], " = stablehlo.select ", n[8], ", ", n[0], ", ", n[1],
                   " : tensor<i1>, ", element, "\n      ", n[10], " = stablehlo.select ", n[8], ", ", n[2], ", ", n[3],
                   " : tensor<i1>, tensor<i32>\n      stablehlo.return ", n[9], ", ", n[10], " : ", element,
                   ", tensor<i32>\n    }"),
              {Value{"", shape, x.element, x.bound + 1, 0, 0, true}, Value{"", shape, "i32", 0, 0, 0, true}});
  }

  struct Windows {
    Shape window, strides, low, high, spread, gaps; // spread: of the operand; gaps: of the window
    Shape shape;
  };
  Windows windows(const Shape &shape, bool isDilated) {
    Windows result;
    for (int64_t size : shape) {
      const int64_t spread = isDilated && w.draw(2) ? 2 : 1, gaps = isDilated ? 1 + w.draw(2) : 1;
      int64_t window = w.draw(3) ? 1 + w.draw(std::min<int64_t>(size, 3)) : 1, stride = 1 + w.draw(3);
      const int64_t low = w.draw(window), high = w.draw(window), padded = (size - 1) * spread + 1 + low + high;
      if ((window - 1) * gaps + 1 > padded)
        window = 1;
      result.window.push_back(window);
      result.strides.push_back(stride);
      result.low.push_back(low);
      result.high.push_back(high);
      result.spread.push_back(spread);
      result.gaps.push_back(gaps);
      result.shape.push_back((padded - (window - 1) * gaps - 1) / stride + 1);
    }
    return result;
  }

  void reduceWindow() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isNumber(value); }))
      return;
    const Windows at = windows(x.shape, /*isDilated=*/false);
    const std::string kind = w.choose({"sum", "max", "min"});
    const std::string clauses =
        join("window ", listOf(at.window), " strides ", listOf(at.strides), " padding ", pairsOf(at.low, at.high));
    if (kind != "sum")
      return giveMoved(x, "reduce_window " + kind, clauses, at.shape);
    w.giveSum(join("dgc.reduce_window sum ", x.name, " ", clauses, " : ", x.type()), x, at.shape, sizeOf(at.window));
  }

  void windowByRegion() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isInteger(value.element); }))
      return;
    const Windows at = windows(x.shape, /*isDilated=*/true);
    if (sizeOf(at.shape) > largestSize)
      return;
    const std::string op = w.choose({"add", "multiply", "maximum", "minimum", "or", "xor"});
    const bool isExtreme = op == "maximum" || op == "minimum";
    const Value init = w.constant({}, x.element, isExtreme ? 2 : op == "multiply" ? 1 : 0);
    w.use(x);
    w.giveExact(join("\"stablehlo.reduce_window\"(", x.name, ", ", init.name,
                     ") <{base_dilations = ", arrayOf(at.spread), ", padding = ", paddingOf(at.low, at.high),
                     ", window_dilations = ", arrayOf(at.gaps), ", window_dimensions = ", arrayOf(at.window),
                     ", window_strides = ", arrayOf(at.strides), "}> (", combining(x.element, op), ") : (", x.type(),
                     ", ", init.type(), ") -> ", tensorOf(at.shape, x.element)),
                at.shape, x.element);
  }

  void selectAndScatter() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && value.rank() < 4 && isSummable(value); }))
      return;
    const Windows at = windows(x.shape, /*isDilated=*/false);
    const Value source = w.partner(x, at.shape, /*isExact=*/true);
    const std::string op = w.choose({"add", "add", "maximum"}), element = tensorOf({}, x.element);
    const double bound = op == "add" ? source.bound * sizeOf(at.window) : source.bound + 1;
    if (!isSummable(source) || !PrimitiveWriter::fits(x.element, bound))
      return;
    const Value init = w.constant({}, x.element, 0);
    w.use(x);
    const std::string a = w.freshName(), b = w.freshName(), c = w.freshName();
    const std::string selecting =
        join("{\n  ^bb0(%", a, ": ", element, ", %", b, ": ", element, "):\n    %", c, " = stablehlo.compare ",
             w.choose({"GE", "LE", "GT"}), ", %", a, ", %", b, " : (", element, ", ", element,
             ") -> tensor<i1>\n    stablehlo.return %", c, " : tensor<i1>\n  }");
    w.giveExact(join("\"stablehlo.select_and_scatter\"(", x.name, ", ", source.name, ", ", init.name,
                     ") <{padding = ", paddingOf(at.low, at.high), ", window_dimensions = ", arrayOf(at.window),
                     ", window_strides = ", arrayOf(at.strides), "}> (", selecting, ", ", combining(x.element, op),
                     ") : (", x.type(), ", ", source.type(), ", ", init.type(), ") -> ", x.type()),
                x.shape, x.element, bound);
  }

  /// By one key or two; up to two other values follow.
  void sort() {
    Value key;
    if (!w.pick(key, [](const Value &value) { return hasDims(value) && isSummable(value); }))
      return;
    std::vector<Value> operands = {key};
    for (int64_t i = w.draw(3); i > 0; --i) {
      Value other;
      w.pick(other);
      w.use(other);
      operands.push_back(w.resized(other, key.shape));
    }
    w.use(key);
    std::string names, types, block;
    std::vector<std::string> left, right;
    for (const Value &operand : operands) {
      left.push_back("%" + w.freshName());
      right.push_back("%" + w.freshName());
      const std::string comma = names.empty() ? "" : ", ", element = tensorOf({}, operand.element);
      names += comma + operand.name;
      types += comma + operand.type();
      block += join(comma, left.back(), ": ", element, ", ", right.back(), ": ", element);
    }
    std::string text;
    auto compare = [&](const std::string &how, size_t operand) {
      const std::string name = "%" + w.freshName(), element = tensorOf({}, operands[operand].element);
      text += join("      ", name, " = stablehlo.compare ", how, ", ", left[operand], ", ", right[operand], " : (",
                   element, ", ", element, ") -> tensor<i1>\n");
      return name;
    };
    std::string isLess = compare(w.choose({"LT", "GT"}), 0);
    if (operands.size() > 1 && isSummable(operands[1]) && w.draw(2)) {
      const std::string isEqual = compare("EQ", 0), isGreater = compare("GT", 1);
      const std::string both = "%" + w.freshName(), either = "%" + w.freshName();
      text += join("      ", both, " = stablehlo.and ", isEqual, ", ", isGreater, " : tensor<i1>\n      ", either,
                   " = stablehlo.or ", isLess, ", ", both, " : tensor<i1>\n");
      isLess = either;
    }
    const std::string op =
        join("\"stablehlo.sort\"(", names, ") <{dimension = ", w.draw(key.rank()),
             " : i64, is_stable = true}> ({\n    ^bb0(", block, "):\n", text, "      stablehlo.return ", isLess,
             " : tensor<i1>\n    }) : (", types, ") -> (", types, ")");
    w.giveAll(op, operands);
  }

  void cumulativeSum() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isNumber(value); }))
      return;
    const int64_t dim = w.draw(x.rank());
    w.giveSum(join("dgc.cumulative_sum ", x.name, " dim ", dim,
                   w.choose({"", " reverse", " exclusive", " reverse exclusive"}), " : ", x.type()),
              x, x.shape, x.shape[dim]);
  }

  void oneHot() {
    Shape shape = {3 + w.draw(4)};
    if (w.draw(2))
      shape.push_back(5);
    const Value i = w.indices(shape, -1, 4);
    shape.push_back(4);
    w.giveExact(join("dgc.one_hot ", i.name, " classes 4 : ", i.type()), shape, "f32", 1);
  }

  void largest() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isFloat(value.element) && isSummable(value); }))
      return;
    w.use(x);
    if (w.draw(2)) {
      const int64_t dim = w.draw(x.rank());
      return w.giveExact(join("dgc.argmax ", x.name, " dim ", dim, " : ", x.type()), without(x.shape, dim), "i32");
    }
    Value values = x, places{"", x.shape, "i32", 0, 0, 0, true};
    const int64_t count = 1 + w.draw(x.shape.back());
    values.shape.back() = places.shape.back() = count;
    w.giveAll(join("dgc.top_k ", x.name, " k ", count, " : ", x.type()), {values, places});
  }
};

} // namespace

std::vector<PrimitiveOp> reducingOps() {
  return {add<Reductions, &Reductions::reduce>,         add<Reductions, &Reductions::reduceByRegion>,
          add<Reductions, &Reductions::argmaxOfTwo>,    add<Reductions, &Reductions::reduceWindow>,
          add<Reductions, &Reductions::windowByRegion>, add<Reductions, &Reductions::selectAndScatter>,
          add<Reductions, &Reductions::sort>,           add<Reductions, &Reductions::sort>,
          add<Reductions, &Reductions::cumulativeSum>,  add<Reductions, &Reductions::oneHot>,
          add<Reductions, &Reductions::largest>};
}

} // namespace dgc::testing
