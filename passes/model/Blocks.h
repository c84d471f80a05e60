// Copies of layers that are written once.

#ifndef DGC_PASSES_MODEL_BLOCKS_H
#define DGC_PASSES_MODEL_BLOCKS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace dgc {

class RepeatOp;

/// Says that an op is in the block `name`, which holds any block that it is in already: a variable has `name` and a
/// point before its own name, and so has what makes names for what is inside of it (a repeat, a call). The location of
/// the op has the block as its name.
void putInBlock(mlir::Operation *op, llvm::StringRef name);

/// Replaces a repeat by copies of its body; repeats in these are added to `inner`.
void unrollRepeat(RepeatOp repeat, llvm::SmallVectorImpl<RepeatOp> &inner);

/// The most ops that a model may have when its repeats and calls are written out.
inline constexpr uint64_t mostWrittenOps = uint64_t{1} << 18;

/// Refuses, before anything is copied, models whose repeats and calls would become more ops than that. Each round of a
/// repeat counts as one op more. Blocks must not call themselves.
llvm::LogicalResult checkWrittenOps(mlir::ModuleOp module, const mlir::SymbolTable &symbols);

} // namespace dgc

#endif // DGC_PASSES_MODEL_BLOCKS_H
