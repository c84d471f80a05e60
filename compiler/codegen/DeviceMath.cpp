//===- DeviceMath.cpp - functions of f32 for GPUs ---------------------------===//
//
// GPUs have an instruction for 2^x and a quick division, both with an error of about two units of the last place.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/DeviceMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <limits>

using namespace mlir;

namespace dgc {
namespace {

/// Short names for the ops that a function is made of.
struct Writer {
  Writer(Location loc, PatternRewriter &rewriter) : b(loc, rewriter) {}

  Value number(float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }
  Value integer(int32_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value times(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value plus(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value exp2(Value x) { return math::Exp2Op::create(b, x); }
  Value less(Value x, Value y) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y); }
  Value choose(Value condition, Value yes, Value no) { return arith::SelectOp::create(b, condition, yes, no); }
  /// x / y, where neither is so large that 1 / y is no normal number.
  Value quotient(Value x, Value y) {
    return arith::DivFOp::create(b, x, y, arith::FastMathFlags::afn | arith::FastMathFlags::arcp);
  }

  ImplicitLocOpBuilder b;
};

/// exp(x) = 2^n 2^f, n the integer next to x log2 e and f the rest of it. Results that are no normal numbers are 0.
struct DeviceExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Writer w(op.getLoc(), rewriter);
    Value given = op.getOperand(), log2e = w.number(1.44269504088896341f), lowest = w.number(-86.9f);
    // Beyond these the result is 0 or infinity. A NaN stays one.
    Value x = arith::MinimumFOp::create(w.b, given, w.number(89.0f));
    x = arith::MaximumFOp::create(w.b, x, lowest);
    // Adding 1.5 * 2^23 rounds to the nearest integer and leaves that in the low bits.
    constexpr float magic = 12582912.0f;
    Value shifted = w.fma(x, log2e, w.number(magic));
    Value n = arith::SubFOp::create(w.b, shifted, w.number(magic));
    Value negative = arith::NegFOp::create(w.b, n);
    Value f = w.fma(x, w.number(1.925963033500e-8f), w.fma(x, log2e, negative));
    Value power = w.exp2(f);
    // n can be 128, for which there is no power: 2^(n - 1), and twice the other factor.
    Value bits = arith::BitcastOp::create(w.b, w.b.getI32Type(), shifted);
    bits = arith::AddIOp::create(w.b, arith::ShLIOp::create(w.b, bits, w.integer(23)).getResult(),
                                 w.integer(126 << 23)); // of `magic` nothing is left
    Value scale = arith::BitcastOp::create(w.b, w.b.getF32Type(), bits);
    Value result = w.times(w.plus(power, power), scale);
    rewriter.replaceOp(op, w.choose(w.less(given, lowest), w.number(0), result));
    return success();
  }
};

/// tanh(x) = 1 - 2 / (exp(2x) + 1), and x + x^3 p(x^2) near 0.
struct DeviceTanh : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Writer w(op.getLoc(), rewriter);
    Value x = op.getOperand(), one = w.number(1);
    Value magnitude = math::AbsFOp::create(w.b, x);
    Value power = w.exp2(w.times(magnitude, w.number(2.88539008177792681f)));
    Value far = arith::SubFOp::create(w.b, one, w.quotient(w.number(2), w.plus(power, one)));
    far = math::CopySignOp::create(w.b, far, x);
    Value square = w.times(x, x), p = w.number(-6.269119728e-03f);
    for (float c : {2.111095906e-02f, -5.387394885e-02f, 1.333291537e-01f, -3.333333033e-01f})
      p = w.fma(p, square, w.number(c));
    Value near = w.fma(w.times(p, square), x, x);
    rewriter.replaceOp(op, w.choose(w.less(magnitude, w.number(0.6f)), near, far));
    return success();
  }
};

/// tan(x) = sin(x) / cos(x).
struct DeviceTan : OpRewritePattern<math::TanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Value sine = math::SinOp::create(rewriter, op.getLoc(), op.getOperand());
    Value cosine = math::CosOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOpWithNewOp<arith::DivFOp>(op, sine, cosine);
    return success();
  }
};

/// The angle of a point: that of the smaller coordinate over the larger one, as a polynomial, and then the octant.
struct DeviceAtan2 : OpRewritePattern<math::Atan2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Atan2Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Writer w(op.getLoc(), rewriter);
    Value y = op.getLhs(), x = op.getRhs(), zero = w.number(0);
    Value high = math::AbsFOp::create(w.b, y), wide = math::AbsFOp::create(w.b, x);
    Value small = arith::MinimumFOp::create(w.b, high, wide), large = arith::MaximumFOp::create(w.b, high, wide);
    auto equal = [&](Value a, Value b) {
      return arith::CmpFOp::create(w.b, arith::CmpFPredicate::OEQ, a, b).getResult();
    };
    Value ratio = w.choose(equal(small, large), w.number(1), arith::DivFOp::create(w.b, small, large));
    ratio = w.choose(equal(large, zero), zero, ratio);
    Value square = w.times(ratio, ratio), p = w.number(-2.386997314e-03f);
    for (float c : {1.350777141e-02f, -3.587153896e-02f, 6.250169442e-02f, -8.656880429e-02f, 1.103376411e-01f,
                    -1.427856875e-01f, 1.999973933e-01f, -3.333333173e-01f})
      p = w.fma(p, square, w.number(c));
    Value angle = w.fma(w.times(p, square), ratio, ratio);
    auto minus = [&](float from) { return arith::SubFOp::create(w.b, w.number(from), angle).getResult(); };
    angle = w.choose(w.less(wide, high), minus(1.57079632679489662f), angle);
    Value sign = arith::BitcastOp::create(w.b, w.b.getI32Type(), x);
    Value isLeft = arith::CmpIOp::create(w.b, arith::CmpIPredicate::slt, sign, w.integer(0));
    angle = w.choose(isLeft, minus(3.14159265358979324f), angle);
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, angle, y);
    return success();
  }
};

/// The cube root as 2^(log2 |x| / 3), made better by a step of Newton's method.
struct DeviceCbrt : OpRewritePattern<math::CbrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::CbrtOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Writer w(op.getLoc(), rewriter);
    Value x = op.getOperand(), third = w.number(0.333333333f), magnitude = math::AbsFOp::create(w.b, x);
    Value root = w.exp2(w.times(math::Log2Op::create(w.b, magnitude).getResult(), third));
    Value quotient = arith::DivFOp::create(w.b, magnitude, w.times(root, root));
    root = w.fma(arith::SubFOp::create(w.b, quotient, root).getResult(), third, root);
    root = math::CopySignOp::create(w.b, root, x);
    // Zeros, infinities and NaN are their own roots.
    Value isFinite = w.less(magnitude, w.number(std::numeric_limits<float>::infinity()));
    Value isNumber = arith::AndIOp::create(w.b, isFinite, w.less(w.number(0), magnitude));
    rewriter.replaceOp(op, w.choose(isNumber, root, x));
    return success();
  }
};

} // namespace

void populateDeviceMathPatterns(RewritePatternSet &patterns) {
  // Before those of MLIR, which are for devices without 2^x.
  patterns.add<DeviceExp, DeviceTanh, DeviceTan, DeviceAtan2, DeviceCbrt>(patterns.getContext(), /*benefit=*/2);
  populateMathPolynomialApproximationPatterns(
      patterns, [](StringRef name) { return llvm::is_contained({"math.sin", "math.cos"}, name); });
}

} // namespace dgc
