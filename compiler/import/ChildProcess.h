// Work on files that may be damaged, in a process of its own.

#ifndef DGC_COMPILER_IMPORT_CHILDPROCESS_H
#define DGC_COMPILER_IMPORT_CHILDPROCESS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace dgc::import {

enum class ChildEnd {
  Done,       // the output is what was written
  Refused,    // `work` was false; the output is the last error
  Died,       // a crash, or more memory or time than a file may take; the output may be the last error before it
  NotStarted, // the system has no more processes or pipes
};

/// Runs `work`, which reads a file of so many bytes, in a copy of this process, which may take so many seconds of a
/// processor and one more for each MiB. On some damaged files MLIR's reader accesses memory that is not there, or asks for
/// more and more of it, and what makes ops ends the process where types do not fit. Errors are not printed.
ChildEnd runInChild(size_t bytes, uint64_t seconds, mlir::MLIRContext *context,
                    llvm::function_ref<bool(llvm::raw_ostream &)> work, std::string &output);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_CHILDPROCESS_H
