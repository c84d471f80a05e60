// The dialects stablehlo and chlo: what they register.

#include "dialects/stablehlo/StableHLO.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/stablehlo/StableHLOEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/stablehlo/StableHLOTypes.cpp.inc"

#include "dialects/stablehlo/StableHLODialect.cpp.inc"

#include "dialects/stablehlo/ChloDialect.cpp.inc"

void dgc::stablehlo::StableHLODialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/stablehlo/StableHLOTypes.cpp.inc"
      >();
  registerAttributes();
  registerContractionOps();
  registerControlOps();
  registerElementwiseOps();
  registerIndexOps();
  registerReductionOps();
  registerShapeOps();
  allowUnknownOperations(); // they are refused all at once, by stablehlo-to-dgc
}
