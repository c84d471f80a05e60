// dgc-lsp-server: the language server for editors. It knows every dialect of dgc, reports errors while one types,
// and finds definitions and uses.

#include "compiler/driver/Plugin.h"
#include "compiler/driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  if (!dgc::takePlugins(argc, argv, registry))
    return 2;
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "dgc-lsp-server " DGC_VERSION "\n"; });
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
