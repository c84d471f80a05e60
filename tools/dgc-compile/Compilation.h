// What dgc-compile does once the model is read.

#ifndef DGC_TOOLS_DGC_COMPILE_COMPILATION_H
#define DGC_TOOLS_DGC_COMPILE_COMPILATION_H

#include "compiler/driver/Compile.h"
#include "compiler/driver/MeshRange.h"
#include "compiler/driver/ParsedModel.h"
#include "compiler/verify/CheckCompiled.h"
#include "tools/dgc-compile/Outputs.h"

#include <optional>
#include <vector>

namespace dgc::tool {

/// One model, and what becomes of it: a plan, a range of plans or, where no output is open, a print of the options. Each
/// function prints what is wrong and gives the exit status.
struct Compilation {
  Outputs &outputs;
  ParsedModel &model;
  const CompileReports &reports;
  ParsedModel *reference; // a plan is written only if it computes this, whose text is `text`; null: it is not compared
  llvm::StringRef text;

  /// Compiles for each mesh of the range, or once, and writes.
  int run(CompileOptions options, const MeshRange &range);

private:
  int compileRange(CompileOptions &options, const MeshRange &range);
  int compileOne(mlir::ModuleOp module, const CompileOptions &options, std::vector<uint8_t> &bytes);
  int compilePlan(mlir::ModuleOp module, const CompilePlan &plan, std::vector<uint8_t> &bytes);
};

} // namespace dgc::tool

#endif // DGC_TOOLS_DGC_COMPILE_COMPILATION_H
