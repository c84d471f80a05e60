// dgc-opt: runs passes over a file of dgc, dist or exec, in the way of mlir-opt.

#include "compiler/pipeline/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

/// Leaves the options of LLVM's back ends to --help-hidden, so that --help shows those of MLIR and the passes.
static void hideOptionsOfLLVM() {
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (entry.second->getOptionHiddenFlag() == llvm::cl::NotHidden && entry.first != "help" &&
        entry.first != "help-hidden" && entry.first != "version")
      entry.second->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  hideOptionsOfLLVM();
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  dgc::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "dgc-opt: runs passes over models and programs. The passes of dgc begin with --dgc-.\n", registry));
}
