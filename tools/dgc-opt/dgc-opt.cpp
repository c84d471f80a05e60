// dgc-opt: runs passes over a file of dgc, dist or exec, in the way of mlir-opt.

#include "compiler/driver/Plugin.h"
#include "compiler/driver/Registration.h"
#include "compiler/import/Import.h"
#include "compiler/import/Passes.h"
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

/// Whether the command line asks for help, which lists passes in alphabetical order.
static bool wantsHelp(int argc, char **argv) {
  return llvm::any_of(llvm::ArrayRef(argv, argc), [](llvm::StringRef argument) {
    return argument.ltrim('-') == "help" || argument.ltrim('-') == "help-hidden" || argument == "-h";
  });
}

int main(int argc, char **argv) {
  hideOptionsOfLLVM();
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  dgc::import::registerDialects(registry);
  dgc::registerImportPasses();
  if (!dgc::takePlugins(argc, argv, registry))
    return 2;
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "dgc-opt " DGC_VERSION "\n"; });
  if (wantsHelp(argc, argv)) { // ours first, then what is named here
    dgc::registerOwnPasses();
    static llvm::cl::extrahelp upstream("\nPasses of MLIR: --canonicalize, --cse.\n");
  } else {
    dgc::registerAllPasses();
  }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "dgc-opt: runs passes over models and programs.\n", registry));
}
