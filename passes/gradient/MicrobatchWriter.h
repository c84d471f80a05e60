// What writing out micro-batches and writing a loop over them have in common.

#ifndef DGC_PASSES_GRADIENT_MICROBATCHWRITER_H
#define DGC_PASSES_GRADIENT_MICROBATCHWRITER_H

#include "passes/gradient/Microbatches.h"

namespace dgc {

/// Writes the ops of a function for one micro-batch. Where their operands are found is up to who derives from it.
class MicrobatchWriter {
public:
  virtual ~MicrobatchWriter() = default;

protected:
  MicrobatchWriter(mlir::func::FuncOp function, const MicrobatchAnalysis &analysis, int64_t count);

  /// The examples of the current micro-batch of a value, along `dim`.
  virtual mlir::Value partOf(mlir::Value value, unsigned dim) = 0;
  /// A value that is computed once, or the sum over all micro-batches.
  virtual mlir::Value wholeOf(mlir::Value value) = 0;
  /// The addend that the current micro-batch has of a value.
  virtual mlir::Value addendOf(mlir::Value value) = 0;
  /// Marks an op of the current micro-batch.
  virtual void tag(mlir::Operation *op) {}

  /// A copy of `op` for the current micro-batch.
  mlir::Operation *copyOf(mlir::Operation *op);
  /// A whole value that an op repeats or computes along `dim` is computed for the part that is wanted. Null where
  /// that cannot be.
  mlir::Value rematerialized(mlir::Value value, unsigned dim);
  /// The size of a dimension that begins with the batch, in the current micro-batch.
  int64_t sizeOfPart(int64_t size) const { return size / analysis.getBatch() * analysis.getExamples(current); }
  /// The shape with the dimension `dim`, which begins with the batch, as [`examples`, `middle`..] and what follows
  /// the batch in it.
  llvm::SmallVector<int64_t> splitShape(llvm::ArrayRef<int64_t> shape, unsigned dim, int64_t examples,
                                        llvm::ArrayRef<int64_t> middle = {}) const;

  /// The ops of each level: those that run once, and those of each micro-batch.
  struct Levels {
    llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> once, perMicrobatch;
  };
  Levels levels();
  /// Lets an op that runs once read whole values, behind what has been written so far.
  void moveOnce(mlir::Operation *op);
  /// Erases the ops of which there are copies.
  void eraseOriginals(llvm::ArrayRef<mlir::Operation *> ops);

  /// All examples of a cut value, which `make` puts together where that was not done yet.
  mlir::Value allOf(mlir::Value value, llvm::function_ref<mlir::Value()> make);
  /// The cut value that this one has all examples of; else the value itself.
  mlir::Value cutOf(mlir::Value value) const { return cuts.lookup_or(value, value); }

  mlir::func::FuncOp function;
  mlir::Block &block;
  const MicrobatchAnalysis &analysis;
  mlir::OpBuilder builder;
  int64_t count, current = 0;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> joins, cuts;
  mlir::Operation *cloneOnParts(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands,
                                llvm::function_ref<std::optional<unsigned>(unsigned)> cutDim);
};

/// Computes the micro-batches of a function in loops, one for each time that they wait for each other: the code does not
/// grow with their number. False, and nothing is changed, where there can be no such loop: micro-batches that differ in
/// their number of examples or cannot be cut into equal parts for so many workers, stages, reductions that are no sums.
bool writeMicrobatchLoops(mlir::func::FuncOp function, const MicrobatchAnalysis &analysis, int64_t count,
                          int64_t workers);

} // namespace dgc

#endif // DGC_PASSES_GRADIENT_MICROBATCHWRITER_H
