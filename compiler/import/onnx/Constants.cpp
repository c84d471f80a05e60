// What a graph computes of integers that are known: shapes, in models that were exported with open ones.

#include "compiler/import/onnx/Constants.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

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

/// Element by element.
static DenseElementsAttr combine(const Row &row, ArrayRef<Integers> inputs) {
  Integers result;
  SmallVector<int64_t> before;
  for (const Integers &input : inputs) {
    before = result.shape;
    if (!Node::joinShapes(before, input.shape, result.shape))
      return {};
  }
  result.element = row.isTruth ? IntegerType::get(inputs[0].element.getContext(), 1) : inputs.back().element;
  const int64_t count = std::accumulate(result.shape.begin(), result.shape.end(), int64_t{1}, std::multiplies<>());
  if (count > kMostElements)
    return {};
  SmallVector<int64_t> operands(inputs.size());
  for (int64_t i = 0; i < count; ++i) {
    for (auto [operand, input] : llvm::zip_equal(operands, inputs))
      operand = input.values[placeIn(input.shape, result.shape, i)];
    std::optional<int64_t> value = row.compute(operands);
    if (!value)
      return {};
    result.values.push_back(*value);
  }
  return attributeOf(result);
}

DenseElementsAttr computeConstant(const Node &node) {
  SmallVector<Integers> inputs;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    std::optional<Integers> input = integersOf(node.constant(i));
    if (!input)
      return {};
    inputs.push_back(*std::move(input));
  }
  if (inputs.empty())
    return {};
  if (node.op() == "Mod" && node.integer("fmod", 0) != 0)
    return {};
  if (auto row = rows.find(node.op()); row != rows.end())
    return combine(row->second, inputs);
  if (node.op() == "Cast") {
    Type to = elementTypeOf(node.integer("to", 0), inputs[0].element.getContext());
    if (!to || !isa<IntegerType>(to))
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
