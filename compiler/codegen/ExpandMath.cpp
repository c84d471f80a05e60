//===- ExpandMath.cpp - dgc-expand-math -----------------------------------===//

#include "compiler/codegen/DeviceMath.h"
#include "compiler/codegen/MathLibrary.h"
#include "compiler/codegen/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <limits>

namespace dgc {
#define GEN_PASS_DEF_EXPANDMATH
#include "compiler/codegen/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {
namespace {

// Those that are accurate to a few units in the last place; the others go to the mathematical library.
bool isExpanded(StringRef name) {
  return llvm::is_contained({"math.expm1", "math.log", "math.log1p", "math.log2", "math.tanh", "math.erf"}, name);
}

/// exp of an f32, to about one unit in the last place; overflow, underflow, infinities and NaN are as they should be.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2, and exp(x) = 2^n exp(r): exp(r) as a polynomial (Cephes' expf), and 2^n as the
/// product of two powers, so that each is a normal number.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    Type f32 = rewriter.getF32Type(), i32 = rewriter.getI32Type();
    if (op.getType() != f32)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto number = [&](float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)).getResult(); };
    auto integer = [&](int32_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)).getResult(); };
    auto fma = [&](Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z).getResult(); };
    // Beyond these the result is 0 or infinity anyway. A comparison with NaN fails and leaves it as it is.
    Value x = op.getOperand();
    auto clamp = [&](arith::CmpFPredicate beyond, float bound) {
      Value limit = number(bound);
      x = arith::SelectOp::create(b, arith::CmpFOp::create(b, beyond, x, limit), limit, x);
    };
    clamp(arith::CmpFPredicate::OLT, -104.0f);
    clamp(arith::CmpFPredicate::OGT, 89.0f);
    // Adding 1.5 * 2^23 rounds to the nearest integer and leaves that in the low bits.
    constexpr float magic = 12582912.0f;
    Value shifted = fma(x, number(1.44269504088896341f), number(magic));
    Value n = arith::SubFOp::create(b, shifted, number(magic));
    Value r = fma(n, number(-0.693359375f), x);
    r = fma(n, number(2.12194440e-4f), r);
    Value p = number(1.9875691500e-4f);
    for (float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
      p = fma(p, r, number(c));
    Value square = arith::MulFOp::create(b, r, r);
    Value y = fma(p, square, arith::AddFOp::create(b, r, number(1.0f)).getResult());
    Value k = arith::SubIOp::create(b, arith::BitcastOp::create(b, i32, shifted).getResult(),
                                    integer(llvm::bit_cast<int32_t>(magic)));
    Value half = arith::ShRSIOp::create(b, k, integer(1));
    auto power = [&](Value exponent) {
      Value bits = arith::ShLIOp::create(b, arith::AddIOp::create(b, exponent, integer(127)).getResult(), integer(23));
      return arith::BitcastOp::create(b, f32, bits).getResult();
    };
    Value scaled = arith::MulFOp::create(b, y, power(half));
    Value rest = arith::SubIOp::create(b, k, half);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, scaled, power(rest));
    return success();
  }
};

/// pow of f32 as exp(y log |x|), with the sign, zeros and infinities as they should be. The relative error is about
/// |y log x| units of the last place.
struct ExpandPow : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getLhs(), y = op.getRhs();
    auto number = [&](float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)).getResult(); };
    auto compare = [&](arith::CmpFPredicate predicate, Value l, Value r) {
      return arith::CmpFOp::create(b, predicate, l, r).getResult();
    };
    auto both = [&](Value l, Value r) { return arith::AndIOp::create(b, l, r).getResult(); };
    auto choose = [&](Value condition, Value yes, Value no) {
      return arith::SelectOp::create(b, condition, yes, no).getResult();
    };
    Value one = number(1), zero = number(0), infinity = number(std::numeric_limits<float>::infinity());
    Value magnitude = math::AbsFOp::create(b, x);
    Value exponent = arith::MulFOp::create(b, y, math::LogOp::create(b, magnitude).getResult());
    Value result = math::ExpOp::create(b, exponent);
    Value isUnit = both(compare(arith::CmpFPredicate::OEQ, magnitude, one), compare(arith::CmpFPredicate::OEQ, y, y));
    result = choose(isUnit, one, result);
    // The sign of x stays where y is odd.
    Value half = arith::MulFOp::create(b, y, number(0.5f));
    Value isWhole = compare(arith::CmpFPredicate::OEQ, y, math::FloorOp::create(b, y));
    Value isOdd = both(isWhole, compare(arith::CmpFPredicate::ONE, half, math::FloorOp::create(b, half)));
    result = choose(isOdd, math::CopySignOp::create(b, result, x), result);
    // No real number: a root of one that is negative.
    Value isBroken = compare(arith::CmpFPredicate::ONE, y, math::FloorOp::create(b, y));
    Value isRoot = both(compare(arith::CmpFPredicate::OLT, x, zero), isBroken);
    isRoot = both(isRoot, compare(arith::CmpFPredicate::ONE, magnitude, infinity));
    result = choose(isRoot, number(std::numeric_limits<float>::quiet_NaN()), result);
    Value isOne = arith::OrIOp::create(b, compare(arith::CmpFPredicate::OEQ, y, zero),
                                       compare(arith::CmpFPredicate::OEQ, x, one));
    rewriter.replaceOp(op, choose(isOne, one, result));
    return success();
  }
};

/// The integer type of as many bits, for bf16 and vectors of it; null for others.
Type bitsOfBf16(Type type) {
  if (!getElementTypeOrSelf(type).isBF16())
    return {};
  Type bits = IntegerType::get(type.getContext(), 16);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(bits)) : bits;
}

// What only moves a bf16 moves its bits: LLVM would convert it to f32 and back by a function that few libraries have.
struct SelectBits : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override {
    Type bits = bitsOfBf16(op.getType());
    if (!bits)
      return failure();
    auto bitsOf = [&](Value value) { return arith::BitcastOp::create(rewriter, op.getLoc(), bits, value).getResult(); };
    Value chosen = arith::SelectOp::create(rewriter, op.getLoc(), op.getCondition(), bitsOf(op.getTrueValue()),
                                           bitsOf(op.getFalseValue()));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), chosen);
    return success();
  }
};

struct LoadBits : OpRewritePattern<LLVM::LoadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LLVM::LoadOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType(), bits = bitsOfBf16(type);
    if (!bits)
      return failure();
    auto load = cast<LLVM::LoadOp>(rewriter.clone(*op));
    load.getResult().setType(bits);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, type, load.getResult());
    return success();
  }
};

struct StoreBits : OpRewritePattern<LLVM::StoreOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LLVM::StoreOp op, PatternRewriter &rewriter) const override {
    Type bits = bitsOfBf16(op.getValue().getType());
    if (!bits)
      return failure();
    Value value = arith::BitcastOp::create(rewriter, op.getLoc(), bits, op.getValue());
    rewriter.modifyOpInPlace(op, [&] { op.getValueMutable().assign(value); });
    return success();
  }
};

// An f64 to the nearest bf16, by an f32: the last bit of that is 1 where it is not exact (rounded to odd), so that rounding it
// again is as rounding once. LLVM calls a function that few libraries have.
struct TruncateF64 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!op.getIn().getType().isF64() || !op.getType().isBF16())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type f32 = b.getF32Type(), f64 = b.getF64Type(), i32 = b.getI32Type();
    Value x = op.getIn(), near = arith::TruncFOp::create(b, f32, x), back = arith::ExtFOp::create(b, f64, near);
    Value bits = arith::BitcastOp::create(b, i32, near);
    Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
    Value isBeyond = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, back).getResult(),
                                           math::AbsFOp::create(b, x).getResult());
    Value towardsZero = arith::SelectOp::create(b, isBeyond, arith::SubIOp::create(b, bits, one), bits);
    Value isInexact = arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, x);
    Value odd = arith::SelectOp::create(b, isInexact, arith::OrIOp::create(b, towardsZero, one), bits);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), arith::BitcastOp::create(b, f32, odd).getResult());
    return success();
  }
};

struct ExpandMath : dgc::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp>(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) { return isExpanded(name); });
    if (allOfThem) {
      patterns.add<ExpandPow>(&getContext());
      populateDeviceMathPatterns(patterns);
    }
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (!convertsBf16) {
      arith::populateExpandBFloat16Patterns(patterns);
      patterns.add<SelectBits, LoadBits, StoreBits, TruncateF64>(&getContext());
    }
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    // The flags that let conversions be left out have done their work; the LLVM dialect has no place for them.
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        op->removeAttr("fastmath");
    });
  }
};

} // namespace

bool isLibraryCall(Operation *op) {
  if (isa<math::ExpOp>(op) || isExpanded(op->getName().getStringRef()))
    return op->getResult(0).getType().isF64();
  return isa<math::PowFOp, math::SinOp, math::CosOp, math::TanOp, math::ErfcOp, math::Exp2Op, math::CbrtOp,
             math::AtanOp, math::Atan2Op>(op);
}

} // namespace dgc
