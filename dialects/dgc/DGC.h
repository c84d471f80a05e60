//===- DGC.h - the dgc dialect ----------------------------------*- C++ -*-===//
//
// The one header to include: dialect, types, attributes, interfaces and ops.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_DGC_H
#define DGC_DIALECTS_DGC_DGC_H

#include "dialects/MLIR.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include <mutex>

#include "dialects/dgc/Dialect.h.inc"

#include "dialects/dgc/Geometry.h"
#include "dialects/dgc/RegionTies.h"
#include "dialects/dgc/ShardingRule.h"

#define GET_TYPEDEF_CLASSES
#include "dialects/dgc/Types.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/dgc/Attrs.h.inc"

#include "dialects/dgc/Interfaces.h.inc"

namespace dgc {

/// An op that is a kernel by itself, or a call of the device's library.
template <typename ConcreteType> class ControlFlow : public OpTrait::TraitBase<ConcreteType, ControlFlow> {};
template <typename ConcreteType> class StandaloneKernel : public OpTrait::TraitBase<ConcreteType, StandaloneKernel> {};

/// A composite op whose decomposition has a dgc.scan, for which dgc-block-scans decomposes it.
template <typename ConcreteType>
class DecomposesIntoScan : public OpTrait::TraitBase<ConcreteType, DecomposesIntoScan> {};

/// An op whose work is products: with mixed precision it takes floats of 16 bits and gives such.
template <typename ConcreteType> class LowPrecision : public OpTrait::TraitBase<ConcreteType, LowPrecision> {};

/// An op that gives elements of its operands, zeros, or their sum: with mixed precision its result has 16 bits where all
/// operands have.
template <typename ConcreteType> class AnyPrecision : public OpTrait::TraitBase<ConcreteType, AnyPrecision> {};

/// An op that computes in f32 whatever its first operand is: with mixed precision its first result has the type of that.
template <typename ConcreteType>
class AnyPrecisionOfFirst : public OpTrait::TraitBase<ConcreteType, AnyPrecisionOfFirst> {};

/// True when one of the values is still to get its type from dgc-infer-types.
bool anyUntyped(ValueRange values);

/// Checks that every operand is a ranked tensor of static shape, as type inference needs it: it runs before the
/// operands are verified.
LogicalResult checkTensors(std::optional<Location> location, StringRef op, ValueRange operands);

/// True when the types are equal one by one, tensor encodings left aside: the
/// partitioner marks partial sums there.
bool equalUpToEncoding(TypeRange a, TypeRange b);

/// Gives the types the encodings that the attribute `dgc.encodings` lists, one for each result. Text says the types of
/// operands alone, so an op whose results are marked (partial sums, say) carries their encodings in this attribute.
void applyEncodings(DictionaryAttr attributes, SmallVectorImpl<Type> &types);

/// Sets `dgc.encodings` to the encodings of the results of `op`; removes it when no result has one.
void recordEncodings(Operation *op);

/// The tensor type without its encoding.
RankedTensorType withoutEncoding(RankedTensorType type);

// The ops that contain ops of other families.
class BlockOp;
class ModelOp;
class OptimizerDefOp;
class RepeatOp;
class ScheduleDefOp;

} // namespace dgc

#include "dialects/dgc/Ops.h.inc"

#endif // DGC_DIALECTS_DGC_DGC_H
