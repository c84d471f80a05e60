// Complex numbers in random programs: made of floats, and floats again at the end. Functions are taken where they are smooth,
// so that a difference of the last bit remains one.
#include "test/unit/fuzz/PrimitiveOps.h"

#include <cmath>

namespace dgc::testing {

namespace {

/// A complex value is one of the type of its parts. Its bound is that of its absolute value.
struct ComplexNumbers : PrimitiveMaker {
  static std::string elementOf(const Value &z) { return "complex<" + z.element + ">"; }
  static std::string typeOf(const Value &z) { return tensorOf(z.shape, elementOf(z)); }
  static bool isPart(const Value &value) { return value.element == "f32" || value.element == "f64"; }

  Value joined(const Value &real, const Value &imaginary) {
    w.use(real);
    w.use(imaginary);
    Value z = worst(real, imaginary);
    z.bound = std::hypot(real.bound, imaginary.bound);
    z.name = w.define(join("stablehlo.complex ", real.name, ", ", imaginary.name, " : ", typeOf(z)));
    return z;
  }

  /// Parts from -1 to 1; or a real one from 0.5 to 1.5, far from where functions are cut.
  bool small(Value &z, Value real, Value imaginary, bool isRight) {
    const bool fits = isRight ? roundedUnary(real, "logistic", 1, 1, 2) && plus(real, 0.5) : smallUnary(real, "tanh");
    if (!fits || !smallUnary(imaginary, "sine"))
      return false;
    z = joined(real, imaginary);
    return true;
  }

  bool rounded(Value &z, const std::string &op, double bound, double slope) {
    const std::string type = typeOf(z);
    return w.rounded(z, join(op, " ", z.name, " : ", type, op.starts_with("chlo") ? " -> " + type : ""), z.shape, bound,
                     {z}, slope, 2);
  }

  bool function(Value &z, bool isRight) {
    struct Function {
      const char *name;
      double bound, slope;
    };
    std::vector<Function> functions = {{"stablehlo.exponential", 4.5, 4.5},
                                       {"stablehlo.exponential_minus_one", 5.5, 4.5},
                                       {"stablehlo.sine", 1.6, 1.6},
                                       {"stablehlo.cosine", 1.6, 1.6},
                                       {"stablehlo.tanh", 1.6, 3.5},
                                       {"stablehlo.logistic", 1, 0.5},
                                       {"stablehlo.negate", 1.9, 1},
                                       {"chlo.conj", 1.9, 1},
                                       {"chlo.square", 3.3, 3.7},
                                       {"chlo.sinh", 2.4, 2.4},
                                       {"chlo.cosh", 2.4, 2.4}};
    if (isRight)
      functions.insert(functions.end(), {{"stablehlo.log", 1.3, 2},
                                         {"stablehlo.log_plus_one", 1.3, 1},
                                         {"stablehlo.sqrt", 1.4, 0.8},
                                         {"stablehlo.rsqrt", 1.5, 1.5},
                                         {"stablehlo.sign", 1, 2.5},
                                         {"chlo.atan", 1.5, 1}});
    else // no further than 1 from 0
      functions.push_back({"stablehlo.tan", 1.6, 3.5});
    const Function f = w.choose(functions);
    return rounded(z, f.name, f.bound, f.slope);
  }

  /// Of z and another number, by which it may be divided, or its logarithm multiplied.
  bool two(Value &z, bool isRight, const Value &like) {
    const std::string op =
        isRight ? w.choose({"divide", "multiply", "power"}) : w.choose({"add", "subtract", "multiply", "divide"});
    Value y;
    if (!small(y, w.partner(like), w.partner(like), op == "divide"))
      return false;
    double bound = z.bound + y.bound, slope = 2;
    if (op == "multiply")
      slope = 1.5 * bound, bound = z.bound * y.bound;
    if (op == "divide")
      bound = 2 * z.bound, slope = 3 + 6 * z.bound;
    if (op == "power")
      bound = 6, slope = 24;
    return w.rounded(z, join("stablehlo.", op, " ", z.name, ", ", y.name, " : ", typeOf(z)), z.shape, bound, {z, y},
                     slope, 2);
  }

  /// A product along one dimension of z, perhaps with another one as the batch.
  struct Product {
    Shape ofOther, shape;
    int64_t count;
    std::string clauses;
  };
  Product productOf(const Value &z) {
    const int64_t dim = w.draw(z.rank()), batch = z.rank() > 1 && w.draw(2) ? (dim + 1) % z.rank() : -1;
    const int64_t columns = 1 + w.draw(4);
    Product product{{columns, z.shape[dim]}, {}, z.shape[dim], ""};
    if (batch >= 0) {
      product.ofOther.insert(product.ofOther.begin(), z.shape[batch]);
      product.shape.push_back(z.shape[batch]);
      product.clauses = join(", batching_dims = [", batch, "] x [0]");
    }
    for (int64_t d = 0; d < z.rank(); ++d)
      if (d != dim && d != batch)
        product.shape.push_back(z.shape[d]);
    product.shape.push_back(columns);
    product.clauses += join(", contracting_dims = [", dim, "] x [", batch >= 0 ? 2 : 1, "]");
    return product;
  }
  static std::string textOf(const Product &product, const Value &x, const Value &y) {
    return join("stablehlo.dot_general ", x.name, ", ", y.name, product.clauses, " : (", typeOf(x), ", ", typeOf(y),
                ") -> ", tensorOf(product.shape, elementOf(x)));
  }

  bool multiplied(Value &z, const Value &like) {
    const Product product = productOf(z);
    const int64_t count = product.count;
    Value y;
    if (!small(y, w.partner(like, product.ofOther), w.partner(like, product.ofOther), /*isRight=*/false))
      return false;
    return w.rounded(z, textOf(product, z, y), product.shape, count * z.bound * y.bound, {z, y},
                     2 * count * (z.bound + y.bound), 1 + std::log2(count + 1.0));
  }

  bool sum(Value &z) {
    const int64_t dim = w.draw(z.rank()), count = z.shape[dim];
    const std::string scalar = tensorOf({}, elementOf(z));
    const std::string zero = w.define("stablehlo.constant dense<(0.0, 0.0)> : " + scalar);
    const Shape shape = without(z.shape, dim);
    return w.rounded(z,
                     join("stablehlo.reduce(", z.name, " init: ", zero, ") applies stablehlo.add across dimensions = [",
                          dim, "] : (", typeOf(z), ", ", scalar, ") -> ", tensorOf(shape, elementOf(z))),
                     shape, count * z.bound, {z}, count, 1 + std::log2(count + 1.0));
  }

  void giveParts(const Value &z) {
    for (const char *part : {"real", "imag"}) {
      Value value = z;
      value.name = w.define(join("stablehlo.", part, " ", z.name, " : (", typeOf(z), ") -> ", z.type()));
      value.isUsed = false;
      w.give(value);
    }
  }

  void give(Value z) {
    if (w.draw(3))
      return giveParts(z);
    if (w.rounded(z, join("stablehlo.abs ", z.name, " : (", typeOf(z), ") -> ", z.type()), z.shape, z.bound, {z}, 1.5,
                  2))
      w.give(z);
  }

  /// One or two functions, and perhaps a product or a sum.
  void numbers() {
    Value x, z;
    if (!w.pick(x, [](const Value &value) { return isPart(value) && sizeOf(value.shape) <= largestSize / 2; }))
      return;
    const bool isRight = w.draw(2);
    if (!small(z, x, w.partner(x), isRight) || !(w.draw(3) ? function(z, isRight) : two(z, isRight, x)))
      return;
    if (w.draw(2))
      (void)two(z, /*isRight=*/false, x);
    if (z.rank() > 0 && w.draw(2))
      (void)(w.draw(2) ? multiplied(z, x) : sum(z));
    give(z);
  }

  /// Numbers whose parts every target computes exactly: compared, and moved.
  void exactNumbers() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return isPart(value) && isSummable(value); }))
      return;
    const Value y = w.partner(x, /*isExact=*/true), other = w.partner(x, /*isExact=*/true);
    if (!isSummable(y) || !isSummable(other))
      return;
    const Value a = joined(x, y);
    Value b = joined(other, w.draw(2) ? y : x);
    const std::string type = typeOf(a), both = "(" + type + ", " + type + ")";
    if (!w.draw(3))
      return w.giveExact(join("stablehlo.compare ", w.choose({"EQ", "NE"}), ", ", a.name, ", ", b.name, " : ", both,
                              " -> ", tensorOf(x.shape, "i1")),
                         x.shape, "i1");
    b.bound += a.bound;
    if (!PrimitiveWriter::fits(b.element, b.bound))
      return;
    b.name = w.define(join("stablehlo.", w.choose({"add", "subtract"}), " ", a.name, ", ", b.name, " : ", type));
    b.onGrid = true;
    if (x.rank() > 1) {
      Shape order, shape;
      for (int64_t d = x.rank() - 1; d >= 0; --d) {
        order.push_back(d);
        shape.push_back(x.shape[d]);
      }
      b.name = w.define(join("stablehlo.transpose ", b.name, ", dims = ", listOf(order), " : (", type, ") -> ",
                             tensorOf(shape, elementOf(b))));
      b.shape = shape;
    }
    giveParts(b);
  }

  /// Parts that are integers.
  Value whole(const Shape &shape, const std::string &element) {
    Value parts[2];
    for (Value &part : parts) {
      w.pick(part, [](const Value &value) { return isInteger(value.element); });
      w.use(part);
      part = w.resized(part, shape);
      w.cast(part, element);
    }
    return joined(parts[0], parts[1]);
  }

  /// A product of integers, which is exact.
  void exactProduct() {
    const std::string element = w.choose({"f32", "f64"});
    Shape shape = {1 + w.draw(4), 1 + w.draw(5)};
    if (w.draw(2))
      shape.push_back(1 + w.draw(3));
    Value x = whole(shape, element);
    const Product product = productOf(x);
    const Value y = whole(product.ofOther, element);
    x.bound *= product.count * y.bound;
    if (!PrimitiveWriter::fits(element, x.bound))
      return;
    x.name = w.define(textOf(product, x, y));
    x.shape = product.shape;
    giveParts(x);
  }
};

} // namespace

std::vector<PrimitiveOp> complexOps() {
  return {add<ComplexNumbers, &ComplexNumbers::numbers>, add<ComplexNumbers, &ComplexNumbers::numbers>,
          add<ComplexNumbers, &ComplexNumbers::exactNumbers>, add<ComplexNumbers, &ComplexNumbers::exactProduct>};
}

} // namespace dgc::testing
