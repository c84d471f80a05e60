#include "compiler/driver/ParsedModel.h"
#include "mlir/Parser/Parser.h"
#include "runtime/base/Limits.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

namespace dgc {

/// None where the process may not have as many.
static MLIRContext::Threading threading() {
  const auto threads = static_cast<int>(llvm::hardware_concurrency().compute_thread_count());
  const bool mayHave = rt::checkResources({.threads = threads}).ok();
  return mayHave ? MLIRContext::Threading::ENABLED : MLIRContext::Threading::DISABLED;
}

ParsedModel::ParsedModel(const DialectRegistry &registry, std::unique_ptr<llvm::MemoryBuffer> text, Read read)
    : context(registry, threading()), diagnostics(sources, &context) {
  context.printOpOnDiagnostic(false); // a message and its place; not the function around it
  sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
  parsed = read ? read(sources, &context) : parseSourceFile<ModuleOp>(sources, &context);
}

} // namespace dgc
