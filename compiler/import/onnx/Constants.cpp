// What a graph computes of integers that are known, shapes in models that were exported with open ones; and of few numbers.

#include "compiler/import/onnx/Constants.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

using namespace mlir;

namespace dgc::import {
namespace {

constexpr int64_t kMostElements = 4096;

/// Integers or truth values, as 64 bits.
struct Integers {
  SmallVector<int64_t> shape, values;
  Type element;
};

std::optional<Integers> integersOf(DenseElementsAttr elements) {
  auto type = elements ? dyn_cast<IntegerType>(elements.getElementType()) : IntegerType();
  if (!type || elements.getNumElements() > kMostElements)
    return std::nullopt;
  Integers result{SmallVector<int64_t>(elements.getType().getShape()), {}, type};
  for (const APInt &value : elements.getValues<APInt>())
    result.values.push_back(type.isUnsigned() || type.getWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                                                      : value.getSExtValue());
  return result;
}

DenseElementsAttr attributeOf(const Integers &integers) {
  const unsigned width = integers.element.getIntOrFloatBitWidth();
  SmallVector<APInt> values = llvm::map_to_vector(integers.values, [&](int64_t value) {
    return APInt(width, static_cast<uint64_t>(value), /*isSigned=*/true, /*implicitTrunc=*/true);
  });
  return DenseElementsAttr::get(RankedTensorType::get(integers.shape, integers.element), values);
}

/// The number that element `i` of a tensor of shape `whole` has in one of `own`, which is broadcast to it.
int64_t placeIn(ArrayRef<int64_t> own, ArrayRef<int64_t> whole, int64_t i) {
  int64_t place = 0, stride = 1;
  for (size_t d = whole.size(); d-- > 0; i /= whole[d]) {
    const size_t missing = whole.size() - own.size();
    if (d < missing)
      continue;
    place += own[d - missing] == 1 ? 0 : i % whole[d] * stride;
    stride *= own[d - missing];
  }
  return place;
}

using Function = std::optional<int64_t> (*)(ArrayRef<int64_t> x);
struct Row {
  Function compute;
  bool isTruth = false; // the result is true or false
};

/// Integer division of ONNX is that of C; nothing for one that has no result.
std::optional<int64_t> divide(int64_t x, int64_t y) {
  return y == 0 || (y == -1 && x == INT64_MIN) ? std::nullopt : std::optional(x / y);
}
/// Of the sign of the divisor.
std::optional<int64_t> remainder(int64_t x, int64_t y) {
  if (y == 0 || y == -1)
    return y == 0 ? std::nullopt : std::optional<int64_t>(0);
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
int64_t wrapping(uint64_t x) { return static_cast<int64_t>(x); }

const std::map<StringRef, Row> rows = {
    {"Add", {[](ArrayRef<int64_t> x) { return std::optional(wrapping(uint64_t(x[0]) + uint64_t(x[1]))); }}},
    {"And", {[](ArrayRef<int64_t> x) { return std::optional<int64_t>(x[0] && x[1]); }, true}},
    {"Div", {[](ArrayRef<int64_t> x) { return divide(x[0], x[1]); }}},
    {"Equal", {[](ArrayRef<int64_t> x) { return std::optional<int64_t>(x[0] == x[1]); }, true}},
    {"Greater", {[](ArrayRef<int64_t> x) { return std::optional<int64_t>(x[0] > x[1]); }, true}},
    {"GreaterOrEqual", {[](ArrayRef<int64_t> x) { return std::optional<int64_t>(x[0] >= x[1]); }, true}},
    {"Less", {[](ArrayRef<int64_t> x) { return std::optional<int64_t>(x[0] < x[1]); }, true}},
    {"LessOrEqual", {[](ArrayRef<int64_t> x) { return std::optional<int64_t>(x[0] <= x[1]); }, true}},
    {"Max", {[](ArrayRef<int64_t> x) { return std::optional(*std::max_element(x.begin(), x.end())); }}},
    {"Min", {[](ArrayRef<int64_t> x) { return std::optional(*std::min_element(x.begin(), x.end())); }}},
    {"Mod", {[](ArrayRef<int64_t> x) { return remainder(x[0], x[1]); }}},
    {"Mul", {[](ArrayRef<int64_t> x) { return std::optional(wrapping(uint64_t(x[0]) * uint64_t(x[1]))); }}},
    {"Neg", {[](ArrayRef<int64_t> x) { return std::optional(wrapping(-uint64_t(x[0]))); }}},
    {"Not", {[](ArrayRef<int64_t> x) { return std::optional<int64_t>(!x[0]); }, true}},
    {"Or", {[](ArrayRef<int64_t> x) { return std::optional<int64_t>(x[0] || x[1]); }, true}},
    {"Sub", {[](ArrayRef<int64_t> x) { return std::optional(wrapping(uint64_t(x[0]) - uint64_t(x[1]))); }}},
    {"Where", {[](ArrayRef<int64_t> x) { return std::optional(x[0] ? x[1] : x[2]); }}},
};

} // namespace

//===-- Numbers ----------------------------------------------------------===//

namespace {

/// Floating-point numbers. What a double computes of two narrower ones and then rounds is the nearest one of these.
struct Numbers {
  SmallVector<int64_t> shape;
  SmallVector<double> values;
  FloatType element;
};

std::optional<Numbers> numbersOf(DenseElementsAttr elements) {
  auto type = elements ? dyn_cast<FloatType>(elements.getElementType()) : FloatType();
  if (!type || elements.getNumElements() > kMostElements)
    return std::nullopt;
  Numbers result{SmallVector<int64_t>(elements.getType().getShape()), {}, type};
  for (const APFloat &value : elements.getValues<APFloat>())
    result.values.push_back(value.convertToDouble());
  return result;
}

DenseElementsAttr attributeOf(const Numbers &numbers) {
  SmallVector<APFloat> values = llvm::map_to_vector(numbers.values, [&](double value) {
    APFloat number(value);
    bool loses = false;
    number.convert(numbers.element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    return number;
  });
  return DenseElementsAttr::get(RankedTensorType::get(numbers.shape, numbers.element), values);
}

using NumberFunction = double (*)(ArrayRef<double> x);
const std::map<StringRef, NumberFunction> numberRows = {
    {"Add", [](ArrayRef<double> x) { return x[0] + x[1]; }},
    {"Ceil", [](ArrayRef<double> x) { return std::ceil(x[0]); }},
    {"Div", [](ArrayRef<double> x) { return x[0] / x[1]; }},
    {"Floor", [](ArrayRef<double> x) { return std::floor(x[0]); }},
    {"Max", [](ArrayRef<double> x) { return *std::max_element(x.begin(), x.end()); }},
    {"Min", [](ArrayRef<double> x) { return *std::min_element(x.begin(), x.end()); }},
    {"Mul", [](ArrayRef<double> x) { return x[0] * x[1]; }},
    {"Neg", [](ArrayRef<double> x) { return -x[0]; }},
    {"Relu", [](ArrayRef<double> x) { return std::max(x[0], 0.0); }},
    {"Sqrt", [](ArrayRef<double> x) { return std::sqrt(x[0]); }},
    {"Sub", [](ArrayRef<double> x) { return x[0] - x[1]; }},
};
const std::map<StringRef, bool (*)(ArrayRef<double> x)> numberTests = {
    {"Equal", [](ArrayRef<double> x) { return x[0] == x[1]; }},
    {"Greater", [](ArrayRef<double> x) { return x[0] > x[1]; }},
    {"GreaterOrEqual", [](ArrayRef<double> x) { return x[0] >= x[1]; }},
    {"Less", [](ArrayRef<double> x) { return x[0] < x[1]; }},
    {"LessOrEqual", [](ArrayRef<double> x) { return x[0] <= x[1]; }},
};

/// Calls `compute` for the operands of each element of the shape that they have together; false where they do not fit, or
/// `compute` has no result.
template <class Operand, class Value>
bool combine(ArrayRef<Operand> inputs, SmallVectorImpl<int64_t> &shape,
             llvm::function_ref<bool(ArrayRef<Value>)> compute) {
  SmallVector<int64_t> before;
  for (const Operand &input : inputs) {
    before.assign(shape.begin(), shape.end());
    if (!Node::joinShapes(before, input.shape, shape))
      return false;
  }
  const int64_t count = elementsOf(shape);
  if (count > kMostElements)
    return false;
  SmallVector<Value> operands(inputs.size());
  for (int64_t i = 0; i < count; ++i) {
    for (auto [operand, input] : llvm::zip_equal(operands, inputs))
      operand = input.values[placeIn(input.shape, shape, i)];
    if (!compute(operands))
      return false;
  }
  return true;
}

DenseElementsAttr combineIntegers(const Row &row, ArrayRef<Integers> inputs) {
  Integers result;
  result.element = row.isTruth ? IntegerType::get(inputs[0].element.getContext(), 1) : inputs.back().element;
  const bool isDone = combine<Integers, int64_t>(inputs, result.shape, [&](ArrayRef<int64_t> operands) {
    std::optional<int64_t> value = row.compute(operands);
    if (value)
      result.values.push_back(*value);
    return value.has_value();
  });
  return isDone ? attributeOf(result) : DenseElementsAttr();
}

/// Integers toward zero, or truth values; null where a number is not among those of the type.
DenseElementsAttr truncated(const Numbers &numbers, Type to) {
  Integers result{numbers.shape, {}, to};
  const double limit = std::ldexp(1.0, static_cast<int>(to.getIntOrFloatBitWidth()) - 1);
  for (double value : numbers.values) {
    if (!to.isInteger(1) && !(std::abs(value) < limit))
      return {};
    result.values.push_back(to.isInteger(1) ? value != 0 : static_cast<int64_t>(value));
  }
  return attributeOf(result);
}

/// The result where all operands are few numbers that are known.
DenseElementsAttr computeNumbers(const Node &node) {
  SmallVector<Numbers> inputs;
  auto row = numberRows.find(node.op());
  auto test = numberTests.find(node.op());
  const bool isCast = node.op() == "Cast";
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    std::optional<Numbers> input;
    if (isCast || row != numberRows.end() || test != numberTests.end())
      input = numbersOf(node.constant(i));
    if (!input)
      return {};
    inputs.push_back(*std::move(input));
  }
  if (inputs.empty())
    return {};
  MLIRContext *context = inputs[0].element.getContext();
  if (isCast) {
    Type element = elementTypeOf(node.integer("to", 0), context);
    auto to = dyn_cast_or_null<FloatType>(element);
    if (!to)
      return element ? truncated(inputs[0], element) : DenseElementsAttr();
    inputs[0].element = to;
    return attributeOf(inputs[0]);
  }
  Numbers result{{}, {}, inputs.back().element};
  Integers truth{{}, {}, IntegerType::get(context, 1)};
  const bool isDone = combine<Numbers, double>(inputs, result.shape, [&](ArrayRef<double> operands) {
    if (row != numberRows.end())
      result.values.push_back(row->second(operands));
    else
      truth.values.push_back(test->second(operands) ? 1 : 0);
    return true;
  });
  truth.shape = result.shape;
  return !isDone ? DenseElementsAttr() : row != numberRows.end() ? attributeOf(result) : attributeOf(truth);
}

} // namespace

DenseElementsAttr computeConstant(const Node &node) {
  SmallVector<Integers> inputs;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    std::optional<Integers> input = integersOf(node.constant(i));
    if (!input)
      return computeNumbers(node);
    inputs.push_back(*std::move(input));
  }
  if (inputs.empty())
    return {};
  if (node.op() == "Mod" && node.integer("fmod", 0) != 0)
    return {};
  if (auto row = rows.find(node.op()); row != rows.end())
    return combineIntegers(row->second, inputs);
  if (node.op() == "Cast") {
    Type to = elementTypeOf(node.integer("to", 0), inputs[0].element.getContext());
    if (auto number = dyn_cast_or_null<FloatType>(to)) {
      Numbers result{inputs[0].shape, {}, number};
      llvm::append_range(result.values, inputs[0].values);
      return attributeOf(result);
    }
    if (!to)
      return {};
    if (to.isInteger(1))
      for (int64_t &value : inputs[0].values)
        value = value != 0;
    inputs[0].element = to;
    return attributeOf(inputs[0]);
  }
  const bool isAll = inputs.size() == 1 && !node.hasAttribute("axes");
  if (isAll && (node.op() == "ReduceProd" || node.op() == "ReduceSum")) {
    const bool isSum = node.op() == "ReduceSum";
    int64_t all = isSum ? 0 : 1;
    for (int64_t value : inputs[0].values)
      all = wrapping(isSum ? uint64_t(all) + uint64_t(value) : uint64_t(all) * uint64_t(value));
    const size_t rank = node.integer("keepdims", 1) != 0 ? inputs[0].shape.size() : 0;
    return attributeOf({SmallVector<int64_t>(rank, 1), {all}, inputs[0].element});
  }
  return {};
}

} // namespace dgc::import
