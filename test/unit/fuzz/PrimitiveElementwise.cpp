// Elementwise ops of random programs.
#include "test/unit/fuzz/PrimitiveOps.h"

#include <algorithm>

namespace dgc::testing {

namespace {

struct Elementwise : PrimitiveMaker {
  /// Functions where they are smooth: logarithms and roots of positive numbers, exponentials of small ones.
  void floatFunction() {
    struct Function {
      const char *name;
      const char *domain; // tanh: of its tanh; abs: of its absolute value and a half
      double bound, slope;
    };
    static constexpr Function functions[] = {{"sine", "", 1, 1},        {"cosine", "", 1, 1},
                                             {"tanh", "", 1, 1},        {"logistic", "", 1, 1},
                                             {"erf", "", 1, 1.2},       {"exponential", "tanh", 2.8, 2.8},
                                             {"tan", "tanh", 1.6, 3.5}, {"exponential_minus_one", "tanh", 1.8, 2.8},
                                             {"log", "abs", 4.2, 2},    {"log_plus_one", "abs", 4.2, 1},
                                             {"sqrt", "abs", 8.1, 0.8}, {"rsqrt", "abs", 1.5, 1.5},
                                             {"cbrt", "abs", 4.1, 0.6}, {"softplus", "tanh", 1.4, 1}};
    const Function &f = functions[w.draw(std::size(functions))];
    Value x;
    if (!w.pick(x, [](const Value &value) { return isFloat(value.element); }))
      return;
    const double roundings = PrimitiveWriter::roundingsOf(x.element);
    const std::string domain = f.domain;
    if (domain == "tanh" && !roundedUnary(x, "tanh", 1, 1, roundings))
      return;
    if (domain == "abs") {
      if (!PrimitiveWriter::fits(x.element, x.bound + 0.5, x.error, std::max(x.tolerance, toleranceOf(x.element))))
        return;
      w.use(x);
      x = w.define(join("dgc.abs ", x.name, " : ", x.type()), x);
      if (!plus(x, 0.5))
        return;
    }
    if (roundedUnary(x, f.name, f.bound, f.slope, roundings))
      w.give(x);
  }

  /// Multiples of 1/8, of which rounding to integers and remainders are exact.
  void floatsOnGrid() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return isFloat(value.element) && isSummable(value); }))
      return;
    if (w.draw(2)) {
      if (!PrimitiveWriter::fits(x.element, x.bound + 1))
        return;
      const std::string op =
          w.choose({"floor", "ceil", "round_nearest_even", "round_nearest_afz", "sign", "abs", "negate", "is_finite"});
      w.use(x);
      return w.giveExact(join("dgc.", op, " ", x.name, " : ", x.type()), x.shape, op == "is_finite" ? "i1" : x.element,
                         x.bound + 1);
    }
    const std::string op = w.choose({"maximum", "minimum", "add", "subtract", "remainder", "clamp"});
    Value y = w.partner(x, /*isExact=*/true);
    const double bound = op == "add" || op == "subtract" ? x.bound + y.bound : std::max({x.bound, y.bound, 2.5});
    if (!isSummable(y) || !PrimitiveWriter::fits(x.element, bound))
      return;
    w.use(x);
    if (op == "clamp") {
      const Value low = w.constant(x.shape, x.element, -1.25), high = w.constant(x.shape, x.element, 2.5);
      return w.giveExact(join("dgc.clamp ", low.name, ", ", x.name, ", ", high.name, " : ", x.type()), x.shape,
                         x.element, 2.5);
    }
    if (op == "remainder") { // by what is far from zero
      y = w.define(join("dgc.abs ", y.name, " : ", y.type()), y);
      const Value least = w.constant(x.shape, x.element, 0.625);
      y = w.define(join("dgc.maximum ", y.name, ", ", least.name, " : ", y.type()), y);
    }
    w.giveExact(join("dgc.", op, " ", x.name, ", ", y.name, " : ", x.type()), x.shape, x.element, bound);
  }

  void twoFloats() {
    Value x, result;
    if (!w.pick(x, [](const Value &value) { return isFloat(value.element); }))
      return;
    Value y = w.partner(x);
    const double roundings = PrimitiveWriter::roundingsOf(x.element);
    const std::string op = w.choose({"add", "subtract", "multiply", "maximum", "minimum", "atan2", "power", "divide"});
    double bound = x.bound + y.bound, slope = 2;
    if (op == "multiply")
      slope = bound, bound = x.bound * y.bound;
    if (op == "atan2" || op == "divide" || op == "power") { // of what is positive
      Value &positive = op == "power" ? x : y;
      if (!roundedUnary(y, "tanh", 1, 1, roundings))
        return;
      if (op == "power" && !roundedUnary(x, "logistic", 1, 1, roundings))
        return;
      if (!plus(positive, op == "power" ? 0.5 : 1.75))
        return;
      bound = op == "divide" ? 1.4 * x.bound : 2;
      slope = op == "divide" ? 1.4 + 2 * x.bound : 5;
    }
    const bool isOneRounding = op != "atan2" && op != "power";
    if (w.rounded(result, join("dgc.", op, " ", x.name, ", ", y.name, " : ", x.type()), x.shape, bound, {x, y}, slope,
                  isOneRounding ? 0.5 : roundings))
      w.give(result);
  }

  void integer() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return isInteger(value.element); }))
      return;
    w.use(x);
    const std::string op = isUnsigned(x.element)
                               ? w.choose({"negate", "not", "popcnt", "count_leading_zeros"})
                               : w.choose({"negate", "not", "popcnt", "count_leading_zeros", "abs", "sign"});
    w.giveExact(join("dgc.", op, " ", x.name, " : ", x.type()), x.shape, x.element);
  }

  void twoIntegers() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return isInteger(value.element); }))
      return;
    const Value y = w.partner(x);
    w.use(x);
    const std::string op =
        w.choose({"add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "shift_left",
                  "shift_right_arithmetic", "shift_right_logical", "divide", "remainder", "power"});
    w.giveExact(join("dgc.", op, " ", x.name, ", ", y.name, " : ", x.type()), x.shape, x.element);
  }

  void compare() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return isNumber(value) && value.isExact(); }))
      return;
    const Value y = w.partner(x, /*isExact=*/true);
    if (!y.isExact())
      return;
    w.use(x);
    w.giveExact(join("dgc.compare ", w.choose({"eq", "ne", "lt", "le", "gt", "ge"}), " ", x.name, ", ", y.name, " : ",
                     x.type()),
                x.shape, "i1");
  }

  void logic() {
    Value p;
    if (!w.pick(p, [](const Value &value) { return isBool(value.element); }))
      return compare();
    w.use(p);
    const std::string op = w.choose({"and", "or", "xor", "not", "select", "select"});
    if (op == "not")
      return w.giveExact(join("dgc.not ", p.name, " : ", p.type()), p.shape, "i1");
    if (op != "select") {
      const Value q = w.partner(p);
      return w.giveExact(join("dgc.", op, " ", p.name, ", ", q.name, " : ", p.type()), p.shape, "i1");
    }
    Value x;
    w.pick(x);
    w.use(x);
    x = w.resized(x, p.shape);
    const Value y = w.partner(x);
    w.give(w.define(
        join("dgc.select ", p.name, ", ", x.name, ", ", y.name, " : ", p.type(), ", ", x.type(), ", ", x.type()),
        worst(x, y)));
  }

  void convert() {
    Value x;
    w.pick(x);
    const std::string element =
        w.choose({"i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f64", "f32", "f16", "bf16"});
    if (element != x.element && w.cast(x, element))
      w.give(x);
  }

  void bitcast() {
    Value x;
    if (!w.pick(x, isSummable))
      return;
    const int64_t kind = w.draw(3);
    auto as = [&](const Value &value, const std::string &element) {
      return join("dgc.bitcast_convert ", value.name, " to ", element, " : ", value.type());
    };
    w.use(x);
    const std::string bits = std::to_string(bitsOf(x.element));
    if (isFloat(x.element)) { // without the sign of zeros
      x = w.define(join("dgc.abs ", x.name, " : ", x.type()), x);
      return w.giveExact(as(x, (kind ? "i" : "ui") + bits), x.shape, (kind ? "i" : "ui") + bits);
    }
    if (kind == 0) { // how large integers are rounded
      const std::string width = w.choose({"32", "64"});
      Value y{"", x.shape, "f" + width};
      y.name = w.define(join("dgc.convert ", x.name, " to ", y.element, " : ", x.type()));
      return w.giveExact(as(y, "ui" + width), x.shape, "ui" + width);
    }
    if (kind == 1 && bits == "32") { // floats from 1 to 2
      const Value mask = w.constant(x.shape, x.element, 0x007fffff), one = w.constant(x.shape, x.element, 0x3f800000);
      x = w.define(join("dgc.and ", x.name, ", ", mask.name, " : ", x.type()), x);
      x = w.define(join("dgc.or ", x.name, ", ", one.name, " : ", x.type()), x);
      return w.give({w.define(as(x, "f32")), x.shape, "f32", 2});
    }
    const std::string element = (isUnsigned(x.element) ? "i" : "ui") + bits;
    w.giveExact(as(x, element), x.shape, element);
  }

  void randomBits() {
    Shape shape = {2 + w.draw(5), 1 + w.draw(6)};
    if (w.draw(2))
      shape.push_back(3);
    Value seed = w.scalar(), step = w.scalar();
    w.cast(seed, "i64");
    w.cast(step, "i64");
    const std::string element = w.choose({"ui32", "ui64"});
    // No two ops have the same number.
    w.giveExact(join("dgc.rng_bit_generator ", seed.name, ", ", step.name, " id ", w.values.size(), " : ",
                     tensorOf(shape, element)),
                shape, element);
  }
};

} // namespace

std::vector<PrimitiveOp> rareElementwiseOps() { return {add<Elementwise, &Elementwise::randomBits>}; }

std::vector<PrimitiveOp> elementwiseOps() {
  return {add<Elementwise, &Elementwise::floatFunction>, add<Elementwise, &Elementwise::floatFunction>,
          add<Elementwise, &Elementwise::floatsOnGrid>,  add<Elementwise, &Elementwise::twoFloats>,
          add<Elementwise, &Elementwise::integer>,       add<Elementwise, &Elementwise::twoIntegers>,
          add<Elementwise, &Elementwise::twoIntegers>,   add<Elementwise, &Elementwise::compare>,
          add<Elementwise, &Elementwise::logic>,         add<Elementwise, &Elementwise::convert>,
          add<Elementwise, &Elementwise::convert>,       add<Elementwise, &Elementwise::bitcast>};
}

} // namespace dgc::testing
