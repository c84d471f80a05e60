// stablehlo-to-dgc: replaces the ops of StableHLO by those of dgc.

#include "compiler/import/Complex.h"
#include "compiler/import/Passes.h"
#include "compiler/import/Patterns.h"
#include "compiler/import/Refusals.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "llvm/ADT/StringSwitch.h"

namespace dgc {
#define GEN_PASS_DEF_STABLEHLOTODGCPASS
#include "compiler/import/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

/// So many ops are converted, those of loops that are written out included. Loops in loops multiply.
static constexpr int64_t kMostConverted = 500'000;

namespace {

/// Keeps the reason why no pattern applied.
struct ReasonListener : RewriterBase::Listener {
  void notifyMatchFailure(Location location, function_ref<void(Diagnostic &)> describe) override {
    Diagnostic text(location, DiagnosticSeverity::Remark);
    describe(text);
    reason = text.str();
  }
  std::string reason;
};

struct StableHLOToDGC : dgc::impl::StableHLOToDGCPassBase<StableHLOToDGC> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    addBatchNormPatterns(set);
    addChloPatterns(set);
    addCollectivePatterns(set);
    addContractionPatterns(set);
    addControlPatterns(set);
    addDynamicShapePatterns(set);
    addEinsumPatterns(set);
    addElementwisePatterns(set);
    addIndexPatterns(set);
    addRandomPatterns(set);
    addReductionPatterns(set);
    addScatterPatterns(set);
    addShapePatterns(set);
    addSortPatterns(set);
    addSpecialFunctionPatterns(set);
    addWindowPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    Refusals refusals;
    for (auto function : getOperation().getOps<func::FuncOp>())
      convert(function, refusals);
    if (refusals.empty())
      return;
    InFlightDiagnostic error = getOperation().emitError() << "dgc has no equivalent for " << refusals.count() << " op"
                                                          << (refusals.count() == 1 ? "" : "s") << " of this program";
    refusals.attachTo(error);
    signalPassFailure();
  }

  /// What is at hand while the ops of a function are converted.
  struct Conversion {
    PatternRewriter &rewriter;
    ReasonListener &listener;
    PatternApplicator &applicator;
    Refusals &refusals;
    int64_t converted = 0;
  };
  void convert(func::FuncOp function, Refusals &refusals);
  bool convert(Block &block, Conversion &conversion);

  FrozenRewritePatternSet patterns;
};

} // namespace

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Why dgc cannot have a value of the type, or of its real and imaginary parts; empty where it can.
static std::string refusalOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType())
    return refusalOf(tensor.clone(complex.getElementType()));
  Type element = tensor ? tensor.getElementType() : type;
  auto integer = dyn_cast<IntegerType>(element);
  bool isInteger = integer && !integer.isSigned() &&
                   (integer.isInteger(1) || llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth()));
  if (tensor && !isInteger && !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element))
    return "elements of the type " + textOf(element);
  if (!tensor)
    return "values of the type " + textOf(type);
  if (!tensor.hasStaticShape())
    return "shapes that are not known";
  return tensor.getNumElements() == 0 ? "tensors without elements" : "";
}

/// Why dgc cannot have a value that the op takes or gives.
static std::string refusalOfTypes(Operation *op) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (std::string refusal = refusalOf(type); !refusal.empty())
        return refusal;
  return "";
}

/// Why an op that is not known is refused, where its name says it.
static std::string refusalOfName(Operation *op) {
  return StringSwitch<std::string>(op->getName().getStringRef())
      .Case("stablehlo.set_dimension_size", "sizes that are only known when the program runs")
      .Cases({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.recv", "stablehlo.send"},
             "an exchange with the host or another program")
      .Default("");
}

static bool isImported(Operation *op) {
  return isa_and_nonnull<stablehlo::StableHLODialect, chlo::ChloDialect>(op->getDialect());
}

/// Replaces an op of dgc on constant scalars, as the counters of loops are, by its result.
static bool foldScalar(Operation *op, PatternRewriter &rewriter) {
  if (!isa_and_nonnull<DGCDialect>(op->getDialect()) || op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      tensorOf(op->getResult(0)).getNumElements() != 1)
    return false;
  SmallVector<Value> folded;
  rewriter.setInsertionPoint(op);
  if (failed(rewriter.tryFold(op, folded)) || folded.empty())
    return false;
  rewriter.replaceOp(op, folded);
  return true;
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// The op, by its name, and why it is refused.
static std::string describe(Operation *op, StringRef reason) {
  std::string text = ("'" + op->getName().getStringRef() + "'").str();
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
    text += (" of @" + call.getCallTargetName()).str();
  return reason.empty() ? text : (text + ": " + reason).str();
}

/// Ops that do with complex numbers what they do with others: their regions compute, or other ops of StableHLO take their place.
static bool isGeneric(Operation *op) {
  return op->getNumRegions() != 0 || isDynamicShape(op) ||
         isa<stablehlo::GetDimensionSizeOp, stablehlo::OptimizationBarrierOp, stablehlo::TorchIndexSelectOp>(op);
}

void StableHLOToDGC::convert(func::FuncOp function, Refusals &refusals) {
  resolveTuples(function);
  resolveEmptyTensors(function);
  splitArguments(function);
  PatternRewriter rewriter(&getContext());
  ReasonListener listener;
  rewriter.setListener(&listener);
  PatternApplicator applicator(patterns);
  applicator.applyDefaultCostModel();
  Conversion conversion{rewriter, listener, applicator, refusals};
  for (Block &block : function.getBody())
    if (!convert(block, conversion))
      return refusals.add(
          describe(function, "more than " + std::to_string(kMostConverted) + " ops with its loops written out"),
          function.getLoc());
  splitResults(function);
  for (Block &block : function.getBody())
    eraseDead(block);
  numConverted += conversion.converted;
}

/// Converts the ops of a block and of those in it. False where they are too many.
bool StableHLOToDGC::convert(Block &block, Conversion &conversion) {
  PatternRewriter &rewriter = conversion.rewriter;
  std::string &reason = conversion.listener.reason;
  // A pattern may leave other ops of StableHLO, in place of the one that it replaced.
  Operation *next = block.empty() ? nullptr : &block.front();
  while (next) {
    Operation *op = next, *before = op->getPrevNode();
    if (foldScalar(op, rewriter)) {
      next = before ? before->getNextNode() : &block.front();
      continue;
    }
    reason = isa_and_nonnull<func::FuncDialect>(op->getDialect()) ? "" : refusalOfName(op);
    if (reason.empty() && !isa_and_nonnull<func::FuncDialect>(op->getDialect()))
      reason = refusalOfTypes(op);
    bool isConverted = !isImported(op);
    if (!isConverted && reason.empty()) {
      rewriter.setInsertionPoint(op);
      if (isa<stablehlo::ComplexOp>(op)) { // the parts of a value
        next = op->getNextNode();
        continue;
      }
      if (hasComplex(op) && !isGeneric(op))
        isConverted = succeeded(splitComplex(op, rewriter, reason));
      else
        isConverted = succeeded(conversion.applicator.matchAndRewrite(op, rewriter));
      if (isConverted && ++conversion.converted > kMostConverted)
        return false;
      if (isConverted) {
        next = before ? before->getNextNode() : &block.front();
        continue;
      }
    }
    bool isKnown = isa_and_nonnull<DGCDialect, dist::DistDialect, func::FuncDialect>(op->getDialect());
    if (!isConverted || !isKnown)
      conversion.refusals.add(describe(op, reason), op->getLoc());
    else
      for (Region &region : op->getRegions())
        if (!convert(region.front(), conversion))
          return false;
    next = op->getNextNode();
  }
  eraseDead(block);
  return true;
}
