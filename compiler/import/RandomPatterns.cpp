// From the random numbers of StableHLO to dgc. Bits are those of Threefry and Philox, written out, with the order of bits and the states that
// XLA gives on CPUs and GPUs.
//
// Counters are computed from the indices of an element, so that devices compute the bits of their part of a tensor alone.

#include "compiler/import/Indexing.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <array>

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

/// Formulas of unsigned integers; tensors of one shape.
struct Words {
  TensorBuilder &b;
  Type word = b.builder.getIntegerType(32, /*isSigned=*/false), wide = b.builder.getIntegerType(64, /*isSigned=*/false);

  Value number(uint32_t value, Value like) { return b.splat(value, like); }
  Value add(Value x, uint32_t value) { return b.add(x, number(value, x)); }
  Value bitXor(Value x, Value y) { return XorOp::create(b.builder, b.location, x, y); }
  Value bitOr(Value x, Value y) { return OrOp::create(b.builder, b.location, x, y); }
  Value left(Value x, uint32_t bits) { return ShiftLeftOp::create(b.builder, b.location, x, number(bits, x)); }
  Value right(Value x, uint32_t bits) { return ShiftRightLogicalOp::create(b.builder, b.location, x, number(bits, x)); }
  Value rotated(Value x, uint32_t bits) { return bitOr(left(x, bits), right(x, 32 - bits)); }
  Value low(Value x) { return b.convert(x, word); }
  Value high(Value x) { return b.convert(right(x, 32), word); }
  Value joined(Value low, Value high) { return bitOr(b.convert(low, wide), left(b.convert(high, wide), 32)); }
  /// 1 where adding to some number gave `sum`, less than what was added.
  Value carry(Value sum, Value added) { return b.convert(b.compare(ComparisonDirection::LT, sum, added), wide); }

  /// Element `i` of a vector, everywhere in the shape.
  Value element(Value x, int64_t i, ArrayRef<int64_t> shape) {
    return b.broadcast(b.reshape(b.slice(x, {i}, {i + 1}), {}), shape, {});
  }
  /// The number of each element in row-major order; of a shape with dimensions.
  Value numbers(ArrayRef<int64_t> shape) {
    const auto last = static_cast<int64_t>(shape.size()) - 1;
    Value sum = indicesAlong(b, shape, wide, last);
    int64_t stride = shape[last];
    for (int64_t dim = last - 1; dim >= 0; --dim) {
      sum = b.add(sum, b.multiply(indicesAlong(b, shape, wide, dim), static_cast<double>(stride)));
      stride *= shape[dim];
    }
    return sum;
  }
  Value concatenate(ArrayRef<Value> parts, int64_t dim) {
    return ConcatenateOp::create(b.builder, b.location, parts, dim);
  }
  /// The tensors side by side in a new dimension after `dim`, which is joined with that; then the first elements of each
  /// dimension.
  Value interleaved(ArrayRef<Value> parts, int64_t dim, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> apart(tensorOf(parts[0]).getShape()), whole = apart;
    apart.insert(apart.begin() + dim + 1, 1);
    whole[dim] *= static_cast<int64_t>(parts.size());
    SmallVector<Value> each;
    for (Value part : parts)
      each.push_back(b.reshape(part, apart));
    SmallVector<int64_t> starts(whole.size(), 0);
    return b.slice(b.reshape(concatenate(each, dim + 1), whole), starts, shape);
  }
};

/// Threefry 2x32 of 20 rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011).
std::array<Value, 2> threefry(Words &w, std::array<Value, 2> x, std::array<Value, 2> key) {
  constexpr uint32_t kParity = 0x1BD11BDA;
  constexpr uint32_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Value third = w.bitXor(w.bitXor(key[0], key[1]), w.number(kParity, key[0]));
  const std::array<Value, 3> schedule = {key[0], key[1], third};
  x = {w.b.add(x[0], schedule[0]), w.b.add(x[1], schedule[1])};
  for (uint32_t group = 0; group < 5; ++group) {
    for (uint32_t rotation : kRotations[group % 2]) {
      x[0] = w.b.add(x[0], x[1]);
      x[1] = w.bitXor(w.rotated(x[1], rotation), x[0]);
    }
    x[0] = w.b.add(x[0], schedule[(group + 1) % 3]);
    x[1] = w.add(w.b.add(x[1], schedule[(group + 2) % 3]), group + 1);
  }
  return x;
}

/// Philox 4x32 of 10 rounds (as above).
std::array<Value, 4> philox(Words &w, std::array<Value, 4> x, std::array<Value, 2> key) {
  auto product = [&](Value a, uint32_t factor) {
    Value wide = w.b.convert(a, w.wide);
    return w.b.multiply(wide, w.number(factor, wide));
  };
  for (int round = 0; round < 10; ++round) {
    Value first = product(x[0], 0xD2511F53), second = product(x[2], 0xCD9E8D57);
    x = {w.bitXor(w.bitXor(w.high(second), x[1]), key[0]), w.low(second),
         w.bitXor(w.bitXor(w.high(first), x[3]), key[1]), w.low(first)};
    key = {w.add(key[0], 0x9E3779B9), w.add(key[1], 0xBB67AE85)};
  }
  return x;
}

/// The words of a key, everywhere in the shape.
std::array<Value, 2> keyOf(Words &w, Value state, ArrayRef<int64_t> shape) {
  Value key = w.element(state, 0, shape);
  return {w.low(key), w.high(key)};
}

/// The state with its counter, the elements after the first, raised by `count`.
Value raised(Words &w, Value state, int64_t count) {
  const int64_t size = tensorOf(state).getDimSize(0);
  Value counter = w.b.slice(state, {1}, {2});
  Value added = w.b.splat(static_cast<double>(count), counter), sum = w.b.add(counter, added);
  SmallVector<Value> parts = {w.b.slice(state, {0}, {1}), sum};
  if (size == 3)
    parts.push_back(w.b.add(w.b.slice(state, {2}, {3}), w.carry(sum, added)));
  return w.concatenate(parts, 0);
}

/// The dimension that is halved: the first of an even size, else the largest.
int64_t halvedDim(ArrayRef<int64_t> shape) {
  const int64_t *even = llvm::find_if(shape, [](int64_t size) { return size % 2 == 0; });
  return (even != shape.end() ? even : llvm::max_element(shape)) - shape.begin();
}

/// Random bits as ui32 or ui64, and the state after them.
struct Bits {
  Value bits, state;
};

/// Of 64 bits, each element has both words of a counter of its own; else two elements do.
Bits threefryBits(Words &w, Value state, ArrayRef<int64_t> shape, bool isWide) {
  const int64_t dim = halvedDim(shape);
  SmallVector<int64_t> counters(shape);
  if (!isWide)
    counters[dim] = llvm::divideCeil(shape[dim], 2);
  Value counter = w.b.add(w.element(state, 1, counters), w.numbers(counters));
  std::array<Value, 2> words = threefry(w, {w.low(counter), w.high(counter)}, keyOf(w, state, counters));
  return {isWide ? w.joined(words[0], words[1]) : w.interleaved(words, dim, shape),
          raised(w, state, ShapedType::getNumElements(counters))};
}

/// A counter has 128 bits and gives so many for the next elements in row-major order. In a state of two elements, the upper
/// half of the counter is the key.
Bits philoxBits(Words &w, Value state, ArrayRef<int64_t> shape, bool isWide) {
  const int64_t each = isWide ? 2 : 4, last = static_cast<int64_t>(shape.size()) - 1;
  const int64_t count = ShapedType::getNumElements(shape);
  // By rows, which can be on several devices, where no counter is for two of them.
  const bool isByRow = shape[last] % each == 0;
  SmallVector<int64_t> counters = isByRow ? SmallVector<int64_t>(shape) : SmallVector<int64_t>{count};
  counters.back() = static_cast<int64_t>(llvm::divideCeil(counters.back(), each));
  Value added = w.numbers(counters);
  Value low = w.b.add(w.element(state, 1, counters), added);
  Value high = w.b.add(w.element(state, tensorOf(state).getDimSize(0) == 3 ? 2 : 0, counters), w.carry(low, added));
  std::array<Value, 4> words =
      philox(w, {w.low(low), w.high(low), w.low(high), w.high(high)}, keyOf(w, state, counters));
  SmallVector<Value> parts(words.begin(), words.end());
  if (isWide)
    parts = {w.joined(words[0], words[1]), w.joined(words[2], words[3])};
  Value bits = isByRow ? w.interleaved(parts, last, shape) : w.interleaved(parts, 0, {count});
  return {w.b.reshape(bits, shape), raised(w, state, ShapedType::getNumElements(counters))};
}

struct RngBitGenerator final : Lowering<stablehlo::RngBitGeneratorOp> {
  using Lowering::Lowering;

  LogicalResult lower(stablehlo::RngBitGeneratorOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    Value state = op.getInitialState();
    auto type = tensorOf(op.getOutput());
    const bool isThreefry = op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY;
    const int64_t size = tensorOf(state).getRank() == 1 ? tensorOf(state).getDimSize(0) : 0;
    if (!elementOf(state).isUnsignedInteger(64) || op.getOutputState().getType() != state.getType() ||
        (size != 2 && (isThreefry || size != 3)))
      return refuse(reason,
                    Twine("a state that is not of the type tensor<2xui64>") + (isThreefry ? "" : " or tensor<3xui64>"));
    if (type.getElementType().isInteger(1))
      return refuse(reason, "bits as truth values");
    const unsigned width = type.getElementTypeBitWidth();
    // A scalar is the only element of a vector.
    SmallVector<int64_t> shape = type.getRank() == 0 ? SmallVector<int64_t>{1} : SmallVector<int64_t>(type.getShape());
    Words w{b};
    // DEFAULT is Philox, as on CPUs and GPUs with XLA.
    Bits made = isThreefry ? threefryBits(w, state, shape, width == 64) : philoxBits(w, state, shape, width == 64);
    Value bits = b.reshape(made.bits, type.getShape());
    if (width < 32)
      bits = b.convert(bits, b.builder.getIntegerType(width, /*isSigned=*/false));
    if (elementOf(bits) != type.getElementType())
      bits = BitcastConvertOp::create(b.builder, b.location, bits, type.getElementType());
    results.assign({made.state, bits});
    return success();
  }
};

/// Numbers of the seed of the run and of the step, as a model draws them: StableHLO leaves open which they are.
struct RngLowering final : Lowering<stablehlo::RngOp> {
  using Lowering::Lowering;

  LogicalResult lower(stablehlo::RngOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    auto function = dyn_cast<func::FuncOp>(op->getParentOp());
    auto type = tensorOf(op.getResult());
    Type element = type.getElementType();
    auto integer = dyn_cast<IntegerType>(element);
    if (!function)
      return refuse(reason, "random numbers in a region, of which each run would need a step of its own");
    if (integer && (integer.getWidth() == 1 || integer.getWidth() > 32))
      return refuse(reason, "random integers but of 8, 16 or 32 bits");
    const bool isNormal = op.getRngDistribution() == stablehlo::RngDistribution::NORMAL;
    Type compute = integer || element.isF64() ? b.builder.getF64Type() : Type(b.builder.getF32Type());
    Value drawn = draw(b, function, type.clone(compute), isNormal);
    auto everywhere = [&](Value scalar) { return b.broadcast(scalar, type.getShape(), {}); };
    Value first = b.convert(op.getA(), compute), second = b.convert(op.getB(), compute);
    Value scale = everywhere(isNormal ? second : b.subtract(second, first));
    Value scaled = b.multiply(drawn, scale);
    if (integer) // below the second number, though a product is rounded
      scaled = b.minimum(b.floor(scaled), b.subtract(scale, b.splat(1, scale)));
    results.push_back(b.convert(b.add(everywhere(first), scaled), element));
    return success();
  }

private:
  /// Between 0 and 1, or of the standard normal distribution.
  static Value draw(TensorBuilder &b, func::FuncOp function, RankedTensorType type, bool isNormal) {
    int64_t before = 0;
    function.walk([&](Operation *op) { before += op->hasAttr(kDrawAttr) ? 1 : 0; });
    OperationState state(b.location,
                         isNormal ? RandomNormalOp::getOperationName() : RandomUniformOp::getOperationName());
    state.addTypes(type);
    Operation *op = b.builder.create(state);
    if (isNormal)
      cast<RandomNormalOp>(op).setAlways(true);
    else
      cast<RandomUniformOp>(op).setAlways(true);
    op->setAttr(kDrawAttr, b.builder.getI64IntegerAttr(before));
    return op->getResult(0);
  }
};

} // namespace

void dgc::import::addRandomPatterns(RewritePatternSet &patterns) {
  patterns.add<RngBitGenerator, RngLowering>(patterns.getContext());
}
