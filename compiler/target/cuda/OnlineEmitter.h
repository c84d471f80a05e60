//===- OnlineEmitter.h - sums of exponentials with a running maximum, on GPUs -===//

#ifndef DGC_COMPILER_TARGET_CUDA_ONLINEEMITTER_H
#define DGC_COMPILER_TARGET_CUDA_ONLINEEMITTER_H

#include "compiler/codegen/NestEmitter.h"
#include "compiler/target/cuda/Online.h"

namespace dgc {

/// The sums of a nest that follow a running maximum, by their roots (Online.h).
class OnlineEmitter {
public:
  using Sums = llvm::SmallDenseMap<unsigned, OnlineSum>;

  OnlineEmitter(NestEmitter &nests, ElementEmitter &code, const Sums &online)
      : online(online), nests(nests), code(code), graph(code.graph), builder(code.builder), loc(code.loc) {}

  /// One step of any reduction of the nest.
  void reduce(const Root &root, Running &run);
  /// Some items: first the maxima and all else, then the sums, which follow the maxima before.
  void items(llvm::SmallVectorImpl<Running> &running, llvm::function_ref<void(llvm::SmallVectorImpl<Running> &)> each);
  /// Adds what a thread had of a sum before a block to that of the block. The maxima of a sum that follows one: before
  /// the block and now; else null.
  void addBlock(const Running &before, mlir::Value maximumBefore, mlir::Value maximum, Running &block);
  /// What a thread has of a sum, for the maximum of all.
  mlir::Value forAll(const Running &run, mlir::Value own, mlir::Value ofAll);

  const Sums &online;

private:
  mlir::Value exponential(mlir::Value x, mlir::Value maximum);
  mlir::Value reference(mlir::Value maximum);
  mlir::Value number(float value);
  mlir::Value grown(const Running &run, mlir::Value before, mlir::Value now);

  NestEmitter &nests;
  ElementEmitter &code;
  const KernelGraph &graph;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallDenseMap<unsigned, mlir::Value>
      references; // by the root of the maximum: what is subtracted from exponents now
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_ONLINEEMITTER_H
