// The dialects `stablehlo` and `chlo`, in which imported programs are written.

#ifndef DGC_DIALECTS_STABLEHLO_STABLEHLO_H
#define DGC_DIALECTS_STABLEHLO_STABLEHLO_H

#include "dialects/MLIR.h"
#include "dialects/stablehlo/Attributes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/stablehlo/StableHLODialect.h.inc"

#include "dialects/stablehlo/ChloDialect.h.inc"

#include "dialects/stablehlo/StableHLOEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/stablehlo/StableHLOTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/stablehlo/StableHLOAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/stablehlo/ChloOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/stablehlo/ContractionOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/stablehlo/ControlOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/stablehlo/ElementwiseOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/stablehlo/IndexOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/stablehlo/ReductionOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/stablehlo/ShapeOps.h.inc"

#endif // DGC_DIALECTS_STABLEHLO_STABLEHLO_H
