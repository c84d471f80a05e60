// Random bits, and random numbers in models.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/LinalgUtil.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace dgc;

/// ` 0.0 0.5` or nothing.
static ParseResult parseTwoNumbers(OpAsmParser &parser, FloatAttr &first, FloatAttr &second) {
  if (!startsLiteral(parser))
    return success();
  return failure(parseNumber(parser, first) || parseNumber(parser, second));
}
static void printTwoNumbers(OpAsmPrinter &printer, Operation *, FloatAttr first, FloatAttr second) {
  if (!first)
    return;
  printer << ' ';
  printNumber(printer, nullptr, first);
  printer << ' ';
  printNumber(printer, nullptr, second);
}

#define GET_OP_CLASSES
#include "dialects/dgc/RandomOps.cpp.inc"

namespace dgc {
void registerRandomOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/RandomOps.cpp.inc"
      >();
}
} // namespace dgc

void RngBitGeneratorOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type, Value seed, Value step,
                              int64_t id) {
  build(builder, state, type, seed, step, id, ValueRange(), ArrayRef<int64_t>(), TypeAttr());
}

RankedTensorType RngBitGeneratorOp::getDeclared() {
  return getDeclaredType() ? dyn_cast<RankedTensorType>(*getDeclaredType()) : RankedTensorType();
}

void RngBitGeneratorOp::resolveType(RankedTensorType type) {
  getResult().setType(type);
  removeDeclaredTypeAttr();
}

LogicalResult RngBitGeneratorOp::verify() {
  RankedTensorType type = getDeclared() ? getDeclared() : dyn_cast<RankedTensorType>(getType());
  if (!type)
    return emitOpError("needs its result type: a tensor of static shape of ui32 or ui64");
  if (!getDeclared() && !type.hasStaticShape())
    return emitOpError("must have a result of static shape, but it is ") << type;
  if (getId() < 0 || getId() >= (int64_t(1) << 24))
    return emitOpError("has id ") << getId() << ", which must be in [0, 2^24)";
  ArrayRef<int64_t> global = getGlobalShape();
  if (getOffsets().empty() && global.empty())
    return success();
  if (int64_t(getOffsets().size()) != type.getRank() || int64_t(global.size()) != type.getRank())
    return emitOpError("has ") << getOffsets().size() << " offsets and a global shape of rank " << global.size()
                               << "; for the result " << type << " it needs " << type.getRank() << " of both";
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (global[i] < size)
      return emitOpError("computes ") << size << " elements of dimension " << i << ", which has only " << global[i]
                                      << " in the whole tensor";
  return success();
}

void RngBitGeneratorOp::setGlobalPosition(ArrayRef<int64_t> globalShape, ValueRange offsets) {
  OpBuilder builder(*this);
  Value zero;
  SmallVector<Value> values;
  for (Value offset : offsets) {
    if (!offset && !zero)
      zero = ConstantOp::create(builder, getLoc(),
                                DenseElementsAttr::get(RankedTensorType::get({}, builder.getI64Type()), int64_t(0)));
    values.push_back(offset ? offset : zero);
  }
  getOffsetsMutable().assign(values);
  setGlobalShape(globalShape);
}

ShardingRule RngBitGeneratorOp::getShardingRule() { return ShardingRuleBuilder(*this).elementwise().build(); }

// Ten rounds of two products, four exclusive ors and the sums of the keys.
OpCost RngBitGeneratorOp::getCost() { return costPerElement(*this, 80); }

namespace {
/// Philox4x32-10 on scalars: i32 words, i64 products.
struct PhiloxBuilder {
  OpBuilder &b;
  Location location;

  Value constant(int64_t value, unsigned width) { return arith::ConstantIntOp::create(b, location, value, width); }
  Value low(Value wide) { return arith::TruncIOp::create(b, location, b.getI32Type(), wide); }
  Value high(Value wide) { return low(arith::ShRUIOp::create(b, location, wide, constant(32, 64))); }
  Value wide(Value word) { return arith::ExtUIOp::create(b, location, b.getI64Type(), word); }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, location, x, y); }

  /// The keys of the ten rounds.
  SmallVector<std::array<Value, 2>> keys(Value seed) {
    SmallVector<std::array<Value, 2>> keys{{low(seed), high(seed)}};
    for (int round = 1; round < 10; ++round) {
      auto [k0, k1] = keys.back();
      keys.push_back({arith::AddIOp::create(b, location, k0, constant(int32_t(0x9E3779B9), 32)).getResult(),
                      arith::AddIOp::create(b, location, k1, constant(int32_t(0xBB67AE85), 32)).getResult()});
    }
    return keys;
  }

  std::array<Value, 4> block(std::array<Value, 4> c, ArrayRef<std::array<Value, 2>> keys) {
    for (auto [k0, k1] : keys) {
      Value p0 = arith::MulIOp::create(b, location, wide(c[0]), constant(0xD2511F53, 64));
      Value p1 = arith::MulIOp::create(b, location, wide(c[2]), constant(0xCD9E8D57, 64));
      c = {exclusiveOr(exclusiveOr(high(p1), c[1]), k0), low(p1), exclusiveOr(exclusiveOr(high(p0), c[3]), k1),
           low(p0)};
    }
    return c;
  }
};
} // namespace

/// The linear index in the whole tensor of the element that the loops are at.
static Value globalIndex(OpBuilder &b, Location location, ArrayRef<int64_t> shape, ArrayRef<Value> offsets) {
  Value index = arith::ConstantIntOp::create(b, location, 0, 64);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    Value place = arith::IndexCastOp::create(b, location, b.getI64Type(), linalg::IndexOp::create(b, location, dim));
    if (!offsets.empty())
      place = arith::AddIOp::create(b, location, place, offsets[dim]);
    Value extent = arith::ConstantIntOp::create(b, location, size, 64);
    index = arith::AddIOp::create(b, location, arith::MulIOp::create(b, location, index, extent), place);
  }
  return index;
}

FailureOr<SmallVector<Value>> RngBitGeneratorOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Location location = getLoc();
  auto type = cast<RankedTensorType>(getType());
  bool isWide = type.getElementTypeBitWidth() == 64;
  auto scalar = [&](Value tensor) -> Value {
    return tensor::ExtractOp::create(builder, location, tensor, ValueRange());
  };
  PhiloxBuilder outside{builder, location};
  auto keys = outside.keys(scalar(operands[0]));
  Value draw = arith::AddIOp::create(builder, location, scalar(operands[1]), outside.constant(getId() << 40, 64));
  Value drawLow = outside.low(draw), drawHigh = outside.high(draw);
  SmallVector<Value> offsets = llvm::map_to_vector(operands.drop_front(2), scalar);
  ArrayRef<int64_t> shape = offsets.empty() ? type.getShape() : getGlobalShape();

  Value empty = tensor::EmptyOp::create(builder, location, type.getShape(), builder.getIntegerType(isWide ? 64 : 32));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto bits = linalg::GenericOp::create(
      builder, location, empty.getType(), ValueRange(), empty,
      ArrayRef<AffineMap>{builder.getMultiDimIdentityMap(type.getRank())}, iterators,
      [&](OpBuilder &b, Location l, ValueRange) {
        PhiloxBuilder philox{b, l};
        Value index = globalIndex(b, l, shape, offsets);
        Value block = arith::ShRUIOp::create(b, l, index, philox.constant(isWide ? 1 : 2, 64));
        auto words = philox.block({philox.low(block), philox.high(block), drawLow, drawHigh}, keys);
        Value place = philox.low(index);
        auto bit = [&](int64_t mask) -> Value {
          Value masked = arith::AndIOp::create(b, l, place, philox.constant(mask, 32));
          return arith::CmpIOp::create(b, l, arith::CmpIPredicate::ne, masked, philox.constant(0, 32));
        };
        auto choose = [&](Value condition, Value yes, Value no) -> Value {
          return arith::SelectOp::create(b, l, condition, yes, no);
        };
        Value result;
        if (isWide) {
          Value lowWord = choose(bit(1), words[2], words[0]), highWord = choose(bit(1), words[3], words[1]);
          Value shifted = arith::ShLIOp::create(b, l, philox.wide(highWord), philox.constant(32, 64));
          result = arith::OrIOp::create(b, l, shifted, philox.wide(lowWord));
        } else {
          result = choose(bit(2), choose(bit(1), words[3], words[2]), choose(bit(1), words[1], words[0]));
        }
        linalg::YieldOp::create(b, l, result);
      });
  return SmallVector<Value>{bits.getResult(0)};
}

//===----------------------------------------------------------------------===//
// RandomNormalOp, RandomUniformOp
//===----------------------------------------------------------------------===//

/// The written type; null once types are inferred.
template <typename OpT> static RankedTensorType declaredType(OpT op) {
  return op.getDeclaredType() ? dyn_cast<RankedTensorType>(*op.getDeclaredType()) : RankedTensorType();
}

template <typename OpT> static void resolveNoise(OpT op, RankedTensorType type) {
  op.getResult().setType(type);
  op.removeDeclaredTypeAttr();
}

template <typename OpT> static LogicalResult verifyNoise(OpT op) {
  RankedTensorType type = declaredType(op) ? declaredType(op) : dyn_cast<RankedTensorType>(op.getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return op.emitOpError("needs the type of its numbers, a tensor of f16, bf16, f32 or f64 such as tensor<?x20xf32>");
  if (bool(op.getFirst()) != bool(op.getSecond()))
    return op.emitOpError("needs both numbers of its distribution, or none of them");
  if (bool(op.getSeed()) != bool(op.getStep()) || bool(op.getSeed()) != op.getRngId().has_value())
    return op.emitOpError("needs seed, step and rng together, or none of them");
  return success();
}

template <typename OpT> static void setModeOfNoise(OpT op, bool training, Value seed, Value step, int64_t rngId) {
  if (!training && !op.getAlways())
    return;
  op.getSeedMutable().assign(seed);
  op.getStepMutable().assign(step);
  op.setRngId(rngId);
}

/// One of the two numbers of a distribution.
static double numberOr(const std::optional<APFloat> &number, double otherwise) {
  return number ? number->convertToDouble() : otherwise;
}

/// Random bits for each element of the result, of this width.
template <typename OpT> static Value bitsOf(CompositeBuilder &b, OpT op, unsigned width) {
  auto element = IntegerType::get(b.builder.getContext(), width, IntegerType::Unsigned);
  auto type = RankedTensorType::get(shapeOf(op.getResult()), element);
  return RngBitGeneratorOp::create(b.builder, b.location, type, op.getSeed(), op.getStep(), *op.getRngId());
}

/// The `count` bits from bit `from` on, of `width` that there are, as a fraction of 2^count: in [0, 1).
static Value fractionOf(CompositeBuilder &b, Value bits, int64_t from, int64_t count, int64_t width, Type element) {
  auto number = [&](int64_t value) { return b.splat(double(value), bits); };
  if (int64_t above = width - from - count)
    bits = ShiftLeftOp::create(b.builder, b.location, bits, number(above));
  bits = ShiftRightLogicalOp::create(b.builder, b.location, bits, number(width - count));
  return b.multiply(b.convert(bits, element), std::ldexp(1.0, -int(count)));
}

/// x * by + plus, in the type of the result.
template <typename OpT> static SmallVector<Value> scaled(CompositeBuilder &b, OpT op, Value x, double by, double plus) {
  if (by != 1)
    x = b.multiply(x, by);
  return {b.convert(plus == 0 ? x : b.plus(x, plus), elementOf(op.getResult()))};
}

RankedTensorType RandomNormalOp::getDeclared() { return declaredType(*this); }
void RandomNormalOp::resolveType(RankedTensorType type) { resolveNoise(*this, type); }
bool RandomNormalOp::drawsRandomNumbers() { return true; }
void RandomNormalOp::setMode(bool training, Value seed, Value step, int64_t rngId) {
  setModeOfNoise(*this, training, seed, step, rngId);
}

LogicalResult RandomNormalOp::verify() {
  if (numberOr(getSecond(), 1) < 0)
    return emitOpError("has the standard deviation ") << numberOr(getSecond(), 1) << ", which must be at least 0";
  return verifyNoise(*this);
}

// Box-Muller on two fractions of 24 bits, those of Philox::normal of the runtime: sqrt(-2 log(1 - u)) cos(2 pi v).
FailureOr<SmallVector<Value>> RandomNormalOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  const double mean = numberOr(getFirst(), 0), deviation = numberOr(getSecond(), 1);
  if (!getSeed())
    return SmallVector<Value>{b.splat(mean, getResult())};
  Type compute = computeType(elementOf(getResult()));
  Value bits = bitsOf(b, *this, 64);
  Value u = fractionOf(b, bits, 8, 24, 64, compute), v = fractionOf(b, bits, 40, 24, 64, compute);
  Value radius = b.sqrt(b.multiply(b.log(b.subtract(b.splat(1, u), u)), -2));
  Value normal = b.multiply(radius, b.cosine(b.multiply(v, 2 * std::numbers::pi)));
  return scaled(b, *this, normal, deviation, mean);
}

RankedTensorType RandomUniformOp::getDeclared() { return declaredType(*this); }
void RandomUniformOp::resolveType(RankedTensorType type) { resolveNoise(*this, type); }
bool RandomUniformOp::drawsRandomNumbers() { return true; }
void RandomUniformOp::setMode(bool training, Value seed, Value step, int64_t rngId) {
  setModeOfNoise(*this, training, seed, step, rngId);
}

LogicalResult RandomUniformOp::verify() {
  if (!(numberOr(getFirst(), 0) < numberOr(getSecond(), 1)))
    return emitOpError("draws from ") << numberOr(getFirst(), 0) << " up to " << numberOr(getSecond(), 1)
                                      << ": the first number must be below the second";
  return verifyNoise(*this);
}

FailureOr<SmallVector<Value>> RandomUniformOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  const double low = numberOr(getFirst(), 0), high = numberOr(getSecond(), 1);
  if (!getSeed())
    return SmallVector<Value>{b.splat(low + (high - low) / 2, getResult())};
  Type compute = computeType(elementOf(getResult()));
  Value u = compute.isF64() ? fractionOf(b, bitsOf(b, *this, 64), 11, 53, 64, compute)
                            : fractionOf(b, bitsOf(b, *this, 32), 8, 24, 32, compute);
  return scaled(b, *this, u, high - low, low);
}
