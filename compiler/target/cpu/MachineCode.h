//===- MachineCode.h - LLVM IR to a shared object ---------------------------===//

#ifndef DGC_COMPILER_TARGET_CPU_MACHINECODE_H
#define DGC_COMPILER_TARGET_CPU_MACHINECODE_H

#include "compiler/target/cpu/CpuTarget.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace dgc {

/// Optimizes the module for the target and links its code, position-independent, into an ELF shared object. Functions
/// of the C and mathematical libraries that it calls are left to be found in the process that loads it.
llvm::Expected<std::vector<uint8_t>> generateSharedObject(llvm::Module &module, const CpuTarget &target);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CPU_MACHINECODE_H
