//===- GroupNestEmitter.h - loop nests by the threads of a group ----------------===//
//
// The points of a nest are distributed cyclically over the threads of a group: in loops, unrolled so that enough loads
// are in flight, or, where a row is kept in registers, without a loop, so that the next nest reuses the registers.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_GROUPNESTEMITTER_H
#define DGC_COMPILER_TARGET_CUDA_GROUPNESTEMITTER_H

#include "compiler/target/cuda/GroupPlan.h"
#include "compiler/target/cuda/ThreadGroupEmitter.h"

namespace dgc {

class GroupNestEmitter : public ThreadGroupEmitter {
protected:
  using ThreadGroupEmitter::ThreadGroupEmitter;

  unsigned alignmentAt(mlir::Value memory, mlir::AffineExpr linear, mlir::Type storage) const override;
  mlir::Value addressOf(mlir::Value memory, mlir::Type storage, mlir::AffineExpr linear) override;

  void bindLinear(llvm::ArrayRef<unsigned> loops, llvm::ArrayRef<int64_t> trips, mlir::Value linear, int64_t vector);
  void bindInner(const LoopNest &nest, llvm::ArrayRef<unsigned> bound);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t b);
  mlir::Value below(mlir::Value a, int64_t b);
  mlir::Value atMost(mlir::Value a, int64_t b);

  void serial(const Segment &segment, const NestPlan &plan);
  /// `bounds`: what is known of indices where a thread takes a whole vector.
  void ownPoints(const Segment &segment, const NestPlan &plan, llvm::ArrayRef<Bound> bounds);
  void emitGroupNest(const Segment &segment, const GroupNestPlan &plan);
  void cooperate(const GroupNestPlan &plan);
  void onceForAll(const LoopNest &nest);
  /// The stores of one point, with the indices of its loops.
  struct Pending {
    llvm::SmallVector<mlir::Value> dims;
    mlir::Value first;
    int64_t step;
    llvm::SmallVector<Store> stores;
  };
  void storeAll(int64_t vector, llvm::ArrayRef<Pending> pending, mlir::Value isValid);
  void reduce(const Root &root, Running &run) override;
  /// Stores the partial result of this block of a reduction that several blocks share.
  virtual void storePartial(mlir::Value value, mlir::Value total) = 0;

  llvm::SmallPtrSet<mlir::Value, 4> alignedRows; // memory of the block that begins at a multiple of 16 bytes
  mlir::Value part;                              // the part of the addends that the block takes
  using Known = llvm::DenseMap<Key, mlir::Value>;
  std::vector<Known> kept; // the known values of each point of the row that the thread has

private:
  mlir::Value isWithin(llvm::ArrayRef<Bound> bounds);
  void item(const ItemRange &range, mlir::Value at, mlir::Value isValid, llvm::SmallVectorImpl<Running> &running,
            Known *known, llvm::SmallVectorImpl<Pending> &pending);
  void emitResident(const ItemRange &range, size_t &next, llvm::SmallVectorImpl<Running> &running);
  void emitRange(const ItemRange &range, llvm::SmallVectorImpl<Running> &running);
  void emitRangeLoop(const ItemRange &range, mlir::Value from, mlir::Value to, int64_t unroll,
                     llvm::SmallVectorImpl<Running> &running);
  void emitRangeBlocks(const ItemRange &range, mlir::Value from, mlir::Value to, int64_t unroll,
                       llvm::ArrayRef<int64_t> blocks, llvm::SmallVectorImpl<Running> &running);
  void join(llvm::ArrayRef<Running> running);

  // Sums that follow a running maximum (Online.h).
  void itemsOnline(llvm::SmallVectorImpl<Running> &running,
                   llvm::function_ref<void(llvm::SmallVectorImpl<Running> &)> each);
  mlir::Value exponential(mlir::Value x, mlir::Value maximum);
  mlir::Value reference(mlir::Value maximum);
  mlir::Value number(float value);
  mlir::Value grown(const Running &run, mlir::Value before, mlir::Value now);
  void addBlock(const Running &before, mlir::Value maximumBefore, mlir::Value maximum, Running &block);
  mlir::Value forAll(const Running &run, mlir::Value own, mlir::Value ofAll);

  llvm::SmallDenseMap<unsigned, OnlineSum> online; // the online sums of the nest, by their roots
  llvm::SmallDenseMap<unsigned, mlir::Value>
      references; // by the root of the maximum: what is subtracted from exponents now
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_GROUPNESTEMITTER_H
