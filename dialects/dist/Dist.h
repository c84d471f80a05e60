//===- Dist.h - the dist dialect -------------------------------------------===//
//
// Meshes, shardings, collectives and transfers. See Base.td and Ops.td for what each attribute and op means.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DIST_DIST_H
#define DGC_DIALECTS_DIST_DIST_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/AttributeNames.h"
#include "dialects/dist/Enums.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/dist/DistDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.h.inc"

namespace dgc::dist {

/// The mesh axis whose positions are the groups of devices that `dist.stage` numbers.
inline constexpr llvm::StringLiteral kStageAxis = "stage";

/// What send and receive read and write: keeps them in order.
struct ChannelResource : SideEffects::Resource::Base<ChannelResource> {
  llvm::StringRef getName() final { return "dist.channel"; }
};

/// What a collective does, in terms that do not need the op.
struct CollectiveDescription {
  CollectiveKind kind;
  std::optional<Reduction> reduction = std::nullopt; ///< Of those that combine values.
  bool inPlace = false;                              ///< The results may take over the memory of the operands.
  bool makesEqual = false;                           ///< All members have the same results.
  SmallVector<int64_t, 2> dims = {};                 ///< The dimensions that are cut or put together.
  SmallVector<int64_t> permutation = {};             ///< Of a permute: the member that each sends to, or -1.
  int64_t root = 0;                                  ///< Of a broadcast: the member whose value it is.
};

/// The mesh of that name in the module around `anchor`; null when there is
/// none.
MeshAttr lookupMesh(Operation *anchor, FlatSymbolRefAttr name);

/// The number of devices along `axes` (string attributes) of `mesh`; 0 when one
/// of them does not exist.
int64_t getGroupSize(MeshAttr mesh, ArrayAttr axes);

/// `type` without being partial along `axes`; unchanged when it is not partial.
RankedTensorType removePartial(RankedTensorType type, ArrayAttr axes);

/// The causes of both, each once; either may be null.
ArrayAttr mergeOrigins(ArrayAttr a, ArrayAttr b);

/// Whether a collective or a transfer is in the regions of the op.
bool communicatesInside(Operation *op);

/// `type` without an encoding.
RankedTensorType dropEncoding(RankedTensorType type);

} // namespace dgc::dist

#include "dialects/dist/DistInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/dist/Dist.h.inc"

namespace dgc::dist {

/// True when each device gets what it has: alone in its group, or sending to itself.
bool movesNothing(CollectiveOpInterface op);

} // namespace dgc::dist

#endif // DGC_DIALECTS_DIST_DIST_H
