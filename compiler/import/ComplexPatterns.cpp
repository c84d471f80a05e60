// Ops of StableHLO on complex numbers, as ops on the real and the imaginary parts.

#include "compiler/import/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"
#include <complex>

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

static ComplexType complexElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
}

static bool isComplexType(Type type) { return complexElement(type) != nullptr; }

bool dgc::import::isComplex(Value value) { return isComplexType(value.getType()); }

bool dgc::import::hasComplex(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isComplexType) || llvm::any_of(op->getResultTypes(), isComplexType);
}

/// The type of a part.
static Type partType(Type type) {
  auto element = complexElement(type);
  return element ? cast<RankedTensorType>(type).clone(element.getElementType()) : type;
}

namespace {

using Unary = Complex (*)(TensorBuilder &, Complex);
using Binary = Complex (*)(TensorBuilder &, Complex, Complex);

/// Works on one op.
class Splitter {
public:
  Splitter(Operation *op, RewriterBase &rewriter) : op(op), rewriter(rewriter), b(rewriter, op->getLoc()) {}

  /// The parts of the result; nothing where the op is not known. An op whose result is not complex gives its real part.
  std::optional<Complex> split(std::string &reason);

private:
  std::optional<Complex> partsOf(Value value) {
    if (auto parts = value.getDefiningOp<stablehlo::ComplexOp>())
      return Complex{parts.getLhs(), parts.getRhs()};
    return std::nullopt;
  }

  Complex part(unsigned operand) { return *partsOf(op->getOperand(operand)); }

  std::optional<Complex> splitConstant(stablehlo::ConstantOp constant);
  Complex applied(Unary function);
  Complex applied(Binary function);
  Complex convert(stablehlo::ConvertOp op);
  Complex bitcast(stablehlo::BitcastConvertOp op);
  Value compare(stablehlo::CompareOp op);
  Complex product();
  Value copyOfPart(bool imaginary);
  Value copyOf(ValueRange operands);
  Complex inElements(Complex x, Type element) { return {b.convert(x.real, element), b.convert(x.imaginary, element)}; }
  Complex wide(Complex x) { return inElements(x, b.builder.getF64Type()); }

  Operation *op;
  RewriterBase &rewriter;
  TensorBuilder b;
};

} // namespace

/// Functions, in f64 for elements of f32: what is left of large numbers is exact then, and nothing overflows.
static Unary unaryOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Unary>(op)
      .Case<stablehlo::ExponentialOp>([](auto) -> Unary { return formula::exponential; })
      .Case<stablehlo::ExponentialMinusOneOp>([](auto) -> Unary { return formula::exponentialMinusOne; })
      .Case<stablehlo::LogOp>([](auto) -> Unary { return formula::log; })
      .Case<stablehlo::LogPlusOneOp>([](auto) -> Unary { return formula::logPlusOne; })
      .Case<stablehlo::LogisticOp>([](auto) -> Unary { return formula::logistic; })
      .Case<stablehlo::SqrtOp>([](auto) -> Unary { return formula::sqrt; })
      .Case<stablehlo::RsqrtOp>([](auto) -> Unary { return formula::rsqrt; })
      .Case<stablehlo::SignOp>([](auto) -> Unary { return formula::sign; })
      .Case<stablehlo::SineOp>([](auto) -> Unary { return formula::sine; })
      .Case<stablehlo::CosineOp>([](auto) -> Unary { return formula::cosine; })
      .Case<stablehlo::TanOp, chlo::TanOp>([](auto) -> Unary { return formula::tan; })
      .Case<stablehlo::TanhOp>([](auto) -> Unary { return formula::tanh; })
      .Case<chlo::SinhOp>([](auto) -> Unary { return formula::sinh; })
      .Case<chlo::CoshOp>([](auto) -> Unary { return formula::cosh; })
      .Case<chlo::AcoshOp>([](auto) -> Unary { return formula::acosh; })
      .Case<chlo::AtanOp>([](auto) -> Unary { return formula::atan; })
      .Case<chlo::SquareOp>([](auto) -> Unary { return formula::square; })
      .Default([](auto) -> Unary { return nullptr; });
}

static Binary binaryOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Binary>(op)
      .Case<stablehlo::MultiplyOp>([](auto) -> Binary { return formula::multiply; })
      .Case<stablehlo::DivideOp>([](auto) -> Binary { return formula::divide; })
      .Case<stablehlo::Atan2Op>([](auto) -> Binary { return formula::atan2; })
      .Case<stablehlo::PowerOp>([](auto) -> Binary { return formula::power; })
      .Default([](auto) -> Binary { return nullptr; });
}

/// Ops that do the same with both parts.
static bool isSameForParts(Operation *op) {
  return isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::NegateOp, stablehlo::ReshapeOp, stablehlo::TransposeOp,
             stablehlo::BroadcastInDimOp, stablehlo::BroadcastOp, stablehlo::SliceOp, stablehlo::ConcatenateOp,
             stablehlo::ReverseOp, stablehlo::PadOp, stablehlo::GatherOp, stablehlo::DynamicSliceOp,
             stablehlo::DynamicUpdateSliceOp, stablehlo::SelectOp, stablehlo::UnaryEinsumOp>(op);
}

std::optional<Complex> Splitter::splitConstant(stablehlo::ConstantOp constant) {
  auto values = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!values)
    return std::nullopt;
  auto type = cast<RankedTensorType>(partType(constant.getType()));
  SmallVector<APFloat> real, imaginary;
  auto add = [&](const std::complex<APFloat> &value) {
    real.push_back(value.real());
    imaginary.push_back(value.imag());
  };
  if (values.isSplat())
    add(values.getSplatValue<std::complex<APFloat>>());
  else
    for (const std::complex<APFloat> &value : values.getValues<std::complex<APFloat>>())
      add(value);
  auto make = [&](ArrayRef<APFloat> part) -> Value {
    return ConstantOp::create(b.builder, b.location, DenseElementsAttr::get(type, part));
  };
  return Complex{make(real), make(imaginary)};
}

Complex Splitter::applied(Unary function) {
  Complex x = part(0);
  Type element = elementOf(x.real);
  return inElements(function(b, wide(x)), element);
}

Complex Splitter::applied(Binary function) {
  Complex x = part(0), y = part(1);
  Type element = elementOf(x.real);
  return inElements(function(b, wide(x), wide(y)), element);
}

Complex Splitter::convert(stablehlo::ConvertOp convert) {
  Type element = elementOf(convert.getResult());
  const bool isFromComplex = isComplex(convert.getOperand());
  Value real = isFromComplex ? part(0).real : convert.getOperand();
  if (auto to = dyn_cast<ComplexType>(element)) {
    element = to.getElementType();
    real = b.convert(real, element);
    return {real, isFromComplex ? b.convert(part(0).imaginary, element) : b.splat(0, real)};
  }
  return {b.convert(real, element), Value()};
}

/// The bits of complex numbers in memory: the real part comes first, and of that the lowest bits.
Complex Splitter::bitcast(stablehlo::BitcastConvertOp bitcast) {
  Complex x = part(0);
  Type element = complexElement(bitcast.getType()).getElementType();
  if (elementOf(x.real) == element)
    return x;
  const bool splits = element.getIntOrFloatBitWidth() < elementOf(x.real).getIntOrFloatBitWidth();
  SmallVector<int64_t> shape(tensorOf(splits ? Value(bitcast.getResult()) : x.real).getShape());
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  /// The parts that are the number `i` of a pair.
  auto pairOf = [&](Value real, Value imaginary, int64_t i) -> Value {
    SmallVector<int64_t> starts(shape.size(), 0), limits(shape);
    starts[last] = i;
    limits[last] = i + 1;
    Value both[] = {b.slice(real, starts, limits), b.slice(imaginary, starts, limits)};
    return ConcatenateOp::create(b.builder, b.location, ValueRange(both), last);
  };
  auto cast = [&](Value value, ArrayRef<int64_t> to) -> Value {
    return stablehlo::BitcastConvertOp::create(b.builder, b.location, RankedTensorType::get(to, element), value);
  };
  if (splits) {
    Value real = cast(x.real, shape), imaginary = cast(x.imaginary, shape);
    return {pairOf(real, imaginary, 0), pairOf(real, imaginary, 1)};
  }
  ArrayRef<int64_t> joined = ArrayRef(shape).drop_back();
  return {cast(pairOf(x.real, x.imaginary, 0), joined), cast(pairOf(x.real, x.imaginary, 1), joined)};
}

Value Splitter::compare(stablehlo::CompareOp compare) {
  Complex x = part(0), y = part(1);
  if (compare.getComparisonDirection() == stablehlo::ComparisonDirection::EQ)
    return AndOp::create(b.builder, b.location, b.equal(x.real, y.real), b.equal(x.imaginary, y.imaginary));
  return OrOp::create(b.builder, b.location, b.compare(ComparisonDirection::NE, x.real, y.real),
                      b.compare(ComparisonDirection::NE, x.imaginary, y.imaginary));
}

/// The op on these operands, with a result of real numbers.
Value Splitter::copyOf(ValueRange operands) {
  Operation *copy = rewriter.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(partType(op->getResult(0).getType()));
  return copy->getResult(0);
}

Value Splitter::copyOfPart(bool imaginary) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Complex> parts = partsOf(operand);
    operands.push_back(!parts ? operand : imaginary ? parts->imaginary : parts->real);
  }
  return copyOf(operands);
}

/// A product of tensors.
Complex Splitter::product() {
  auto partsOr = [&](unsigned operand) {
    return isComplex(op->getOperand(operand)) ? part(operand) : Complex{op->getOperand(operand), Value()};
  };
  Complex x = partsOr(0), y = partsOr(1);
  auto times = [&](Value p, Value q) { return p && q ? copyOf({p, q}) : Value(); };
  Value both = times(x.real, y.real), cross = times(x.real, y.imaginary);
  Value turned = times(x.imaginary, y.imaginary), other = times(x.imaginary, y.real);
  return {turned ? b.subtract(both, turned) : both, cross && other ? b.add(cross, other) : cross ? cross : other};
}

std::optional<Complex> Splitter::split(std::string &reason) {
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return splitConstant(constant);
  if (isa<stablehlo::IotaOp>(op)) {
    Value real = copyOf({});
    return Complex{real, b.splat(0, real)};
  }
  for (Value operand : op->getOperands())
    if (isComplex(operand) && !partsOf(operand)) {
      reason = "complex numbers of an op that is refused itself";
      return std::nullopt;
    }
  if (isSameForParts(op))
    return Complex{copyOfPart(false), copyOfPart(true)};
  if (Unary function = unaryOf(op))
    return applied(function);
  if (Binary function = binaryOf(op))
    return applied(function);
  if (isa<stablehlo::RealOp>(op))
    return Complex{part(0).real, Value()};
  if (isa<stablehlo::ImagOp>(op))
    return Complex{part(0).imaginary, Value()};
  if (isa<stablehlo::AbsOp>(op)) {
    Complex x = part(0);
    return Complex{b.convert(formula::magnitude(b, wide(x)), elementOf(x.real)), Value()};
  }
  if (isa<chlo::ConjOp>(op))
    return Complex{part(0).real, b.negate(part(0).imaginary)};
  if (auto each = dyn_cast<stablehlo::ConvertOp>(op))
    return convert(each);
  if (auto each = dyn_cast<stablehlo::BitcastConvertOp>(op))
    return bitcast(each);
  if (isa<stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp, stablehlo::EinsumOp>(op))
    return product();
  if (auto each = dyn_cast<stablehlo::CompareOp>(op);
      each && (each.getComparisonDirection() == stablehlo::ComparisonDirection::EQ ||
               each.getComparisonDirection() == stablehlo::ComparisonDirection::NE))
    return Complex{compare(each), Value()};
  reason = "complex numbers";
  return std::nullopt;
}

LogicalResult dgc::import::splitComplex(Operation *op, RewriterBase &rewriter, std::string &reason) {
  std::optional<Complex> parts = Splitter(op, rewriter).split(reason);
  if (!parts)
    return failure();
  Value result = parts->real;
  if (isComplex(op->getResult(0)))
    result =
        stablehlo::ComplexOp::create(rewriter, op->getLoc(), op->getResult(0).getType(), parts->real, parts->imaginary);
  rewriter.replaceOp(op, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// The type of a complex tensor in memory.
static Type typeInMemory(Type type) {
  if (!isComplexType(type))
    return type;
  auto tensor = cast<RankedTensorType>(partType(type));
  SmallVector<int64_t> shape(tensor.getShape());
  shape.push_back(2);
  return tensor.clone(shape);
}

static void updateType(func::FuncOp function) {
  FunctionType type = function.getFunctionType();
  function.setType(FunctionType::get(function.getContext(), llvm::map_to_vector(type.getInputs(), typeInMemory),
                                     llvm::map_to_vector(type.getResults(), typeInMemory)));
}

void dgc::import::splitArguments(func::FuncOp function) {
  if (function.isExternal())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  for (BlockArgument argument : function.getArguments()) {
    if (!isComplex(argument))
      continue;
    TensorBuilder b(builder, argument.getLoc());
    auto type = tensorOf(argument);
    argument.setType(typeInMemory(type));
    auto part = [&](int64_t number) {
      SmallVector<int64_t> starts(type.getRank() + 1, 0), limits(type.getShape());
      starts.back() = number;
      limits.push_back(number + 1);
      return b.reshape(b.slice(argument, starts, limits), type.getShape());
    };
    Value real = part(0), imaginary = part(1);
    auto joined = stablehlo::ComplexOp::create(builder, argument.getLoc(), type, real, imaginary);
    argument.replaceUsesWithIf(joined, [&](OpOperand &use) {
      return use.getOwner() != real.getDefiningOp() && !isa<SliceOp, ReshapeOp>(use.getOwner());
    });
  }
}

void dgc::import::splitResults(func::FuncOp function) {
  if (function.isExternal())
    return;
  Operation *end = function.getBody().front().getTerminator();
  OpBuilder builder(end);
  for (OpOperand &result : end->getOpOperands()) {
    auto parts = result.get().getDefiningOp<stablehlo::ComplexOp>();
    if (!parts)
      continue;
    TensorBuilder b(builder, parts.getLoc());
    SmallVector<int64_t> shape(tensorOf(parts).getShape());
    const auto last = static_cast<int64_t>(shape.size());
    shape.push_back(1);
    Value both[] = {b.reshape(parts.getLhs(), shape), b.reshape(parts.getRhs(), shape)};
    result.set(ConcatenateOp::create(builder, parts.getLoc(), ValueRange(both), last));
  }
  updateType(function);
}
