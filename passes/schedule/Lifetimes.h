//===- Lifetimes.h - how long buffers are in use, and which are at the worst step -===//

#ifndef DGC_PASSES_SCHEDULE_LIFETIMES_H
#define DGC_PASSES_SCHEDULE_LIFETIMES_H

#include "dialects/exec/Exec.h"
#include "passes/schedule/ArenaPlan.h"

namespace dgc {

/// Bytes of a buffer of this type.
uint64_t byteSize(mlir::Type type);

/// The ops of a program by number, in the order of the text; an op with steps inside ends with the last of them.
struct StepNumbers {
  explicit StepNumbers(exec::ProgramOp program);

  llvm::DenseMap<mlir::Operation *, int64_t> begin, end;
  int64_t last = 0; // behind all of them
};

/// The first and the last step at which `buffer`, or a view of it, is in use. Inputs are filled before the first
/// step and outputs read after the last one. What a loop uses that others use, too, is in use in the whole loop.
ArenaRequest lifetime(exec::BufferOp buffer, const StepNumbers &steps);

/// A value that takes memory.
struct HeldValue {
  std::string name;
  uint64_t bytes;
  mlir::Location location;
  bool isVariable = false;
  int64_t age = 0; // at the worst step: how many steps before it was made
};

/// What a worker holds at the worst step of the program that holds most.
struct MemoryPeak {
  uint64_t bytes = 0;     // of the worker, with what libraries need where that is known
  uint64_t variables = 0; // of these
  std::string program;
  std::vector<HeldValue> largest; // variables among them; largest first
};

/// The peak of a module after dgc-plan-memory, with up to `count` of the largest values.
MemoryPeak findMemoryPeak(mlir::ModuleOp module, size_t count);

/// "12.3 MiB".
std::string formatBytes(uint64_t bytes);

} // namespace dgc

#endif // DGC_PASSES_SCHEDULE_LIFETIMES_H
