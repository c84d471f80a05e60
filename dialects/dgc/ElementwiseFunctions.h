// What the definitions of ops of the TableGen class DGC_FunctionOp use.

#ifndef DGC_DIALECTS_DGC_ELEMENTWISEFUNCTIONS_H
#define DGC_DIALECTS_DGC_ELEMENTWISEFUNCTIONS_H

#include "dialects/dgc/CompositeBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <numbers>

#endif // DGC_DIALECTS_DGC_ELEMENTWISEFUNCTIONS_H
