// Dropout.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/CompositeBuilder.h"
#include <cmath>

using namespace mlir;
using namespace dgc;

static ParseResult parseRate(OpAsmParser &parser, FloatAttr &rate) {
  return failed(parseWord(parser, "rate", "dgc.dropout %x rate 0.5")) ? failure() : parseNumber(parser, rate);
}

static void printRate(OpAsmPrinter &printer, Operation *, FloatAttr rate) {
  printer << "rate ";
  printNumber(printer, nullptr, rate);
}

#define GET_OP_CLASSES
#include "dialects/dgc/DropoutOps.cpp.inc"

namespace dgc {
void registerDropoutOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/DropoutOps.cpp.inc"
      >();
}
} // namespace dgc

LogicalResult DropoutOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "has rate " << rate << ", which must be at least 0 and below 1";
  if (bool(getSeed()) != bool(getStep()) || bool(getSeed()) != getRngId().has_value())
    return emitOpError("needs seed, step and rng together, or none of them");
  return success();
}

LogicalResult DropoutOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(withoutEncoding(tensorOf(adaptor.getInput())));
  return success();
}

void DropoutOp::setMode(bool training, Value seed, Value step, int64_t rngId) {
  if (!training)
    return;
  getSeedMutable().assign(seed);
  getStepMutable().assign(step);
  setRngId(rngId);
}

bool DropoutOp::drawsRandomNumbers() { return true; }

OpFoldResult DropoutOp::fold(FoldAdaptor) { return getRate().isZero() ? getInput() : Value(); }

FailureOr<SmallVector<Value>> DropoutOp::decompose(OpBuilder &builder) {
  double rate = getRate().convertToDouble();
  if (!getSeed() || rate == 0)
    return SmallVector<Value>{getInput()};
  CompositeBuilder b(builder, getLoc());
  // An element is dropped when its 32 random bits are below rate * 2^32.
  auto ui32 = IntegerType::get(builder.getContext(), 32, IntegerType::Unsigned);
  auto type = RankedTensorType::get(shapeOf(getInput()), ui32);
  Value bits = RngBitGeneratorOp::create(builder, getLoc(), type, getSeed(), getStep(), *getRngId());
  Value threshold = b.splat(std::floor(rate * 0x1p32), bits);
  Value kept = b.multiply(getInput(), b.splat(1 / (1 - rate), getInput()));
  return SmallVector<Value>{
      b.select(b.compare(ComparisonDirection::GE, bits, threshold), kept, b.splat(0, getInput()))};
}
