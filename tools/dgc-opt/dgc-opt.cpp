// dgc-opt: runs passes over a file of dgc, dist or exec, in the way of mlir-opt.

#include "compiler/pipeline/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  dgc::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "dgc compiler passes\n", registry));
}
