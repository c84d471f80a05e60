//===- Exec.h - the exec dialect -------------------------------------------===//
//
// Steps of a schedule, on tensors (after kernel formation) and on buffers (after scheduling).
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_EXEC_EXEC_H
#define DGC_DIALECTS_EXEC_EXEC_H

#include "dialects/MLIR.h"
#include "dialects/dist/Enums.h"
#include "dialects/exec/AttributeNames.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/exec/ExecDialect.h.inc"
#include "dialects/exec/ExecEnums.h.inc"

namespace dgc::exec {
using dist::CollectiveKind;
using dist::Reduction;

} // namespace dgc::exec

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.h.inc"

#include "dialects/exec/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/Exec.h.inc"

namespace dgc::exec {

/// Bytes of one element as it is stored: i1 takes one.
uint64_t storageBytes(Type element);

} // namespace dgc::exec

#endif // DGC_DIALECTS_EXEC_EXEC_H
