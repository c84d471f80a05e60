//===- ExpandMath.cpp - dgc-expand-math -----------------------------------===//

#include "compiler/codegen/cpu/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace dgc {
#define GEN_PASS_DEF_EXPANDMATH
#include "compiler/codegen/cpu/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {
namespace {

// Those that are accurate to a few units in the last place; the others go to the mathematical library.
bool isExpanded(StringRef name) {
  return llvm::is_contained({"math.exp", "math.expm1", "math.log", "math.log1p", "math.log2", "math.tanh", "math.erf"}, name);
}

struct ExpandMath : impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, isExpanded);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace dgc
