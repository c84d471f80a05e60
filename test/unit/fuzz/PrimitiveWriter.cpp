#include "test/unit/fuzz/PrimitiveWriter.h"

#include <algorithm>
#include <cmath>

namespace dgc::testing {

namespace {
struct FloatType {
  const char *name;
  double epsilon, tolerance;
  double largest; // multiples of 1/8 up to it are exact, and so are some sums of them
};
constexpr FloatType floatTypes[] = {
    {"f64", 2.3e-16, 1e-12, 4096}, {"f32", 1.2e-7, 1e-5, 4096}, {"f16", 9.8e-4, 4e-3, 128}, {"bf16", 7.9e-3, 3e-2, 16}};
constexpr double largestRounded = 64;

const FloatType *floatType(const std::string &element) {
  for (const FloatType &type : floatTypes)
    if (element == type.name)
      return &type;
  return nullptr;
}

Shape allDims(const Shape &shape) {
  Shape dims(shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}
} // namespace

bool isFloat(const std::string &element) { return floatType(element); }
int bitsOf(const std::string &element) { return std::stoi(element.substr(element.find_first_of("0123456789"))); }
double epsilonOf(const std::string &element) { return isFloat(element) ? floatType(element)->epsilon : 0; }
double toleranceOf(const std::string &element) { return isFloat(element) ? floatType(element)->tolerance : 0; }

PrimitiveValue worst(PrimitiveValue a, const PrimitiveValue &b) {
  a.bound = std::max(a.bound, b.bound);
  a.error = std::max(a.error, b.error);
  a.tolerance = std::max(a.tolerance, b.tolerance);
  a.onGrid &= b.onGrid;
  return a;
}

std::string PrimitiveWriter::define(const std::string &text) {
  std::string name = "%" + freshName();
  body += "  " + name + " = " + text + "\n";
  return name;
}

PrimitiveValue PrimitiveWriter::define(const std::string &text, const Value &like, Shape shape) {
  Value value = like;
  value.name = define(text);
  value.shape = std::move(shape);
  value.isUsed = false;
  return value;
}

PrimitiveValue PrimitiveWriter::constant(const Shape &shape, const std::string &element, double value) {
  std::string number = std::to_string(value); // with six decimals
  if (!isFloat(element))
    number = isBool(element) ? value != 0 ? "true" : "false" : std::to_string(static_cast<int64_t>(value));
  Value result{"", shape, element, std::fabs(value), 0, 0, true};
  result.name = define(join("dgc.constant dense<", number, "> : ", result.type()));
  return result;
}

void PrimitiveWriter::giveAll(const std::string &text, std::vector<Value> results) {
  std::string name = "%" + freshName();
  body += join("  ", name, ":", results.size(), " = ", text, "\n");
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].name = join(name, "#", i);
    results[i].isUsed = false;
    give(results[i]);
  }
}

void PrimitiveWriter::giveExact(const std::string &text, Shape shape, const std::string &element, double bound) {
  give({define(text), std::move(shape), element, bound, 0, 0, true});
}

void PrimitiveWriter::use(const Value &value) {
  for (Value &each : values)
    each.isUsed |= each.name == value.name;
}

bool PrimitiveWriter::pick(Value &value, const Condition &condition) {
  std::vector<Value> fit, unused;
  for (const Value &each : values)
    if (condition(each)) {
      fit.push_back(each);
      if (!each.isUsed)
        unused.push_back(each);
    }
  if (!unused.empty() && draw(3))
    fit = unused;
  if (fit.empty())
    return false;
  value = fit[std::max(draw(fit.size()), draw(fit.size()))];
  return true;
}

bool PrimitiveWriter::fits(const std::string &element, double bound, double error, double tolerance) {
  if (!isFloat(element))
    return true;
  if (tolerance == 0)
    return bound <= floatType(element)->largest;
  return bound <= largestRounded && error <= tolerance / 2;
}

bool PrimitiveWriter::rounded(Value &result, const std::string &text, const Shape &shape, double bound,
                              const std::vector<Value> &operands, double slope, double roundings) {
  const std::string element = operands[0].element;
  // A conversion names the type of its result.
  const size_t to = text.starts_with("dgc.convert ") ? text.find(" to ") + 4 : std::string::npos;
  const std::string own = to == std::string::npos ? element : text.substr(to, text.find(' ', to) - to);
  double error = 0, tolerance = toleranceOf(own);
  for (const Value &operand : operands) {
    error = std::max(error, operand.error);
    tolerance = std::max(tolerance, operand.tolerance);
  }
  error = slope * error + roundings * epsilonOf(own) * std::max(1.0, bound);
  if (!fits(own, bound, error, tolerance))
    return false;
  for (const Value &operand : operands)
    use(operand);
  result = {define(text), shape, own, bound, error, tolerance};
  return true;
}

void PrimitiveWriter::giveSum(const std::string &text, const Value &operand, const Shape &shape, int64_t count) {
  const double bound = count * operand.bound;
  if (!isFloat(operand.element) || (operand.isExact() && operand.onGrid)) {
    if (!fits(operand.element, bound))
      return;
    use(operand);
    return giveExact(text, shape, operand.element, bound);
  }
  const double roundings = bitsOf(operand.element) > 16 ? 0.5 + 0.5 * std::log2(count + 1.0) : 0.5;
  Value sum;
  if (rounded(sum, text, shape, bound, {operand}, count, roundings))
    give(sum);
}

PrimitiveValue PrimitiveWriter::clamped(const Value &value, int64_t low, int64_t high) {
  const Value least = constant(value.shape, value.element, isUnsigned(value.element) ? std::max<int64_t>(low, 0) : low);
  const Value most = constant(value.shape, value.element, high);
  Value result = define(join("dgc.clamp ", least.name, ", ", value.name, ", ", most.name, " : ", value.type()), value);
  result.bound = high;
  return result;
}

bool PrimitiveWriter::cast(Value &value, const std::string &element) {
  if (value.element == element)
    return true;
  auto text = [&](const Value &x) { return join("dgc.convert ", x.name, " to ", element, " : ", x.type()); };
  auto exact = [&](const Value &x, double bound) {
    return Value{define(text(x)), x.shape, element, bound, 0, 0, true};
  };
  if (isFloat(value.element) && isFloat(element)) {
    if (!value.isExact() || !value.onGrid || value.bound > floatType(element)->largest)
      return rounded(value, text(value), value.shape, value.bound, {value}, 1, 0.5);
    use(value);
    value = exact(value, value.bound);
    return true;
  }
  if (isFloat(value.element) && (!value.isExact() || value.bound > 120))
    return false;
  use(value);
  if (isFloat(value.element) && isUnsigned(element))
    value = define(join("dgc.abs ", value.name, " : ", value.type()), value);
  if (isInteger(value.element) && isFloat(element))
    value = clamped(value, -12, 12);
  value = exact(value, isFloat(element) ? isBool(value.element) ? 1 : 12 : 0);
  return true;
}

PrimitiveValue PrimitiveWriter::resized(Value value, const Shape &shape) {
  if (value.shape == shape)
    return value;
  use(value);
  const int64_t size = sizeOf(shape);
  if (value.rank() != 1)
    value = define(join("dgc.reshape ", value.name, " to ", listOf({sizeOf(value.shape)}), " : ", value.type()), value,
                   {sizeOf(value.shape)});
  while (value.shape[0] < size)
    value =
        define(join("dgc.concatenate ", value.name, ", ", value.name, " dim 0 : ", value.type(), ", ", value.type()),
               value, {2 * value.shape[0]});
  if (value.shape[0] > size) {
    const int64_t start = draw(value.shape[0] - size + 1);
    value = define(
        join("dgc.slice ", value.name, " from ", listOf({start}), " to ", listOf({start + size}), " : ", value.type()),
        value, {size});
  }
  if (value.shape != shape)
    value = define(join("dgc.reshape ", value.name, " to ", listOf(shape), " : ", value.type()), value, shape);
  return value;
}

PrimitiveValue PrimitiveWriter::partner(const Value &of, const Shape &shape, bool isExact) {
  std::vector<Value> fit, same;
  for (const Value &value : values)
    if (value.name != of.name && (!isExact || value.isExact())) {
      fit.push_back(value);
      if (value.shape == shape)
        same.push_back(value);
    }
  if (!same.empty() && draw(4))
    fit = same;
  for (int i = 0; i < 3 && !fit.empty(); ++i) {
    Value value = fit[draw(fit.size())];
    const Value source = value;
    if (!cast(value, of.element))
      continue;
    use(source);
    return resized(value, shape);
  }
  if (shape.empty() || isBool(of.element))
    return constant(shape, of.element, draw(2));
  Value result{"", shape, of.element, 512, 0, 0, true};
  const int64_t dim = draw(result.rank());
  result.bound = shape[dim];
  result.name = define(join("dgc.iota dim ", dim, " : ", result.type()));
  return result;
}

PrimitiveValue PrimitiveWriter::indices(const Shape &shape, int64_t low, int64_t high) {
  Value value;
  pick(value, [](const Value &each) { return isInteger(each.element); });
  use(value);
  value = resized(value, shape);
  const Value divisor = constant(shape, value.element, high + 2);
  value = define(join("dgc.remainder ", value.name, ", ", divisor.name, " : ", value.type()), value);
  return clamped(value, low, high);
}

PrimitiveValue PrimitiveWriter::scalar() {
  Value value;
  pick(value, [](const Value &each) { return isInteger(each.element); });
  use(value);
  if (value.rank() > 0)
    value = define(join("dgc.reduce max ", value.name, " dims ", listOf(allDims(value.shape)), " : ", value.type()),
                   value, {});
  const Value divisor = constant({}, value.element, 7);
  return define(join("dgc.remainder ", value.name, ", ", divisor.name, " : ", value.type()), value);
}

PrimitiveValue PrimitiveWriter::predicate() {
  Value value;
  if (!pick(value, [](const Value &each) { return isBool(each.element); })) {
    const Value number = scalar(), limit = constant({}, number.element, 3);
    Value result{"", {}, "i1"};
    result.name =
        define(join("dgc.compare ", choose({"lt", "ge"}), " ", number.name, ", ", limit.name, " : ", number.type()));
    return result;
  }
  use(value);
  if (value.rank() == 0)
    return value;
  return define(join("dgc.reduce ", choose({"and", "or"}), " ", value.name, " dims ", listOf(allDims(value.shape)),
                     " : ", value.type()),
                value, {});
}

} // namespace dgc::testing
