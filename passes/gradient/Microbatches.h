// The execution of a training function on micro-batches: which ops run once, and which for each micro-batch.

#ifndef DGC_PASSES_GRADIENT_MICROBATCHES_H
#define DGC_PASSES_GRADIENT_MICROBATCHES_H

#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {

/// How a value of the original function is composed from the micro-batches.
struct MicrobatchLayout {
  enum Kind {
    Whole,   // computed once
    Cut,     // each micro-batch has its examples, along `dim`
    Partial, // each micro-batch has an addend (for other reductions: an operand)
  } kind = Whole;
  unsigned dim = 0;
  dist::Reduction reduction = dist::Reduction::Sum;
  /// How many times all micro-batches must have been waited for before it can be computed.
  int level = 0;
};

/// How an op runs.
struct MicrobatchExecution {
  static constexpr int kWhole = -1, kPartial = -2;
  bool perMicrobatch = false;
  llvm::SmallVector<int> operandDims; // per micro-batch: where the operand is cut, or kWhole, kPartial
  /// Once: that of the first op that needs it. Per micro-batch: the first at which it can be computed.
  int level = 0;
};

/// The dimension of a tensor of which a factor is the major one; `present` if the tensor has the factor at all.
struct FactorDim {
  bool present = false;
  std::optional<unsigned> dim;
};
FactorDim factorDimOf(const TensorFactors &tensor, llvm::ArrayRef<Factor> factors, unsigned factor);

/// Goes through a function from its arguments on. Micro-batch m has the examples whose number modulo `count` is m.
class MicrobatchAnalysis {
public:
  MicrobatchAnalysis(mlir::func::FuncOp function, int64_t count);

  /// Fails with a diagnostic where the regions of an op need all examples at once, or any op of a pipeline does.
  llvm::LogicalResult run();

  /// The global batch; 0 when no argument has one.
  int64_t getBatch() const { return batch; }
  /// The examples of a micro-batch: the first ones have one more where the count does not divide the batch.
  int64_t getExamples(int64_t microbatch) const { return llvm::divideCeil(batch - microbatch, count); }
  MicrobatchLayout getLayout(mlir::Value value) const { return layouts.lookup(value); }
  const MicrobatchExecution &getExecution(mlir::Operation *op) const { return executions.find(op)->second; }
  /// False for an op that came after the analysis.
  bool knows(mlir::Operation *op) const { return executions.contains(op); }
  /// True for a partial value that is needed as a whole.
  bool isSummed(mlir::Value value) const { return summed.contains(value); }
  int getLastLevel() const { return lastLevel; }
  /// The factor that dimension `dim` of a tensor belongs to, if that is the batch.
  std::optional<unsigned> batchFactor(const TensorFactors &tensor, llvm::ArrayRef<Factor> factors, unsigned dim) const;

private:
  llvm::LogicalResult readBatch();
  llvm::LogicalResult analyze(mlir::Operation *op);
  llvm::LogicalResult analyzeCut(mlir::Operation *op, MicrobatchExecution &execution, llvm::ArrayRef<unsigned> cut);
  llvm::LogicalResult runOnAll(mlir::Operation *op, MicrobatchExecution &execution, const llvm::Twine &reason);
  llvm::LogicalResult checkRegions(mlir::Operation *op);
  int levelOf(mlir::Operation *op, llvm::ArrayRef<unsigned> asAddends) const;
  int latestLevel(mlir::Operation *op) const;
  void delayWhatInputsGive();
  bool waits(mlir::OpOperand &use) const;
  bool mayStayPartial(mlir::Operation *op, llvm::ArrayRef<unsigned> partial) const;

  mlir::func::FuncOp function;
  mlir::Block &block;
  int64_t count, batch = 0;
  int lastLevel = 0;
  llvm::DenseMap<mlir::Value, MicrobatchLayout> layouts; // without an entry: whole
  llvm::DenseMap<mlir::Operation *, MicrobatchExecution> executions;
  llvm::DenseSet<mlir::Value> summed;
};

} // namespace dgc

#endif // DGC_PASSES_GRADIENT_MICROBATCHES_H
