//===- CpuTarget.h - the machine that kernels are compiled for -------------===//

#ifndef DGC_COMPILER_TARGET_CPU_CPUTARGET_H
#define DGC_COMPILER_TARGET_CPU_CPUTARGET_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>
#include <vector>

namespace dgc {

/// What `--target` names. The code uses the base instruction set of x86-64 and `features`, nothing else; `cpu` is the
/// model that instructions are scheduled for.
struct CpuTarget {
  std::string triple, cpu;
  std::vector<std::string> features; // LLVM names, sorted

  bool has(llvm::StringRef feature) const;
  /// "+avx,+avx2": as LLVM takes them.
  std::string featureString() const;

  /// `cpu` (this machine), `x86-64-v3` or `x86-64-v4`. Anything else is an error that names these.
  static std::optional<CpuTarget> parse(llvm::StringRef name, std::string &error);
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CPU_CPUTARGET_H
