// Puts identities of reductions in place of the padding of a batch that is not full.

#ifndef DGC_PASSES_MODEL_MASKER_H
#define DGC_PASSES_MODEL_MASKER_H

#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/Decompose.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/analysis/BatchDims.h"

namespace dgc {

/// Masks one function. Methods that return a LogicalResult fail with `reason` set where the function takes whole
/// batches only, and with a diagnostic where an op cannot be decomposed.
class Masker {
public:
  Masker(mlir::func::FuncOp function, mlir::BlockArgument valid, int64_t batch)
      : function(function), valid(valid), batch(batch) {}

  mlir::LogicalResult run();

  std::string reason;
  unsigned numMasked = 0, numTold = 0;

private:
  mlir::LogicalResult readWrittenBatches();
  void readWrittenBatches(mlir::Block &block);
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitPrimitive(mlir::Operation *op);
  mlir::LogicalResult visitComposite(DecomposableOpInterface op);
  mlir::LogicalResult visitMean(BatchMeanOpInterface op, int64_t inner);
  mlir::LogicalResult visitCollective(dist::CollectiveOpInterface op);
  mlir::LogicalResult visitManual(dist::ManualOp op);
  mlir::LogicalResult enterManual(dist::ManualOp op);
  mlir::LogicalResult leaveManual(dist::ManualOp op);
  mlir::LogicalResult visitRegions(RegionTiesOpInterface op);
  mlir::LogicalResult followRounds(RegionTiesOpInterface op);
  mlir::LogicalResult visitRegion(mlir::Region &region);
  mlir::LogicalResult maskInside(RegionTiesOpInterface op);
  mlir::LogicalResult addDims(mlir::Value value, const BatchDims &dims);
  void forgetInside(mlir::Operation *op);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> decompose(DecomposableOpInterface op, mlir::OpBuilder &builder);
  mlir::FailureOr<bool> probe(DecomposableOpInterface op);
  mlir::LogicalResult checkResults();
  mlir::LogicalResult checkResult(mlir::OpOperand &result);
  bool isReportedOfBatch(unsigned result);

  std::optional<int64_t> examplesOfFirstDim(mlir::Operation *op) const;
  BatchDims countedExamples(SizeDependentOpInterface op) const;
  mlir::Value countReal(CompositeBuilder &b, SizeDependentOpInterface op, const BatchDims &examples);
  mlir::LogicalResult maskOperand(mlir::Operation *op, const ExampleFlow &flow, BatchFactor factor);
  mlir::Value masked(mlir::Value value, BatchDim at, ReductionKind kind, mlir::Operation *user);
  mlir::Value realAlong(CompositeBuilder &b, int64_t size, BatchDim at);
  mlir::LogicalResult refuse(const llvm::Twine &why);
  /// Where `value` has examples.
  void setDims(mlir::Value value, const BatchDims &dims) {
    if (!dims.empty())
      dimsOf[value] = dims;
  }

  mlir::func::FuncOp function;
  mlir::Value valid;                        // how many examples are real, in the region that is looked at
  int64_t batch;                            // in a manual region: the examples of a device
  llvm::SmallVector<mlir::StringAttr> axes; // in a manual region: what cuts the batch
  mlir::Operation *current = nullptr;       // the op of the function that is looked at, or whose decomposition is
  bool probing = false;                     // nothing is changed, but it is noted in `needed` that it would be
  bool needed = false;
  llvm::DenseMap<mlir::Value, BatchDims> dimsOf; // without an entry: a value for the whole batch
  struct MaskedValue {
    BatchDim at;
    ReductionKind kind;
    mlir::Value value;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<MaskedValue, 1>> known;
};

} // namespace dgc

#endif // DGC_PASSES_MODEL_MASKER_H
