//===- MachineCode.h - LLVM IR to a shared object ---------------------------===//

#ifndef DGC_COMPILER_TARGET_CPU_MACHINECODE_H
#define DGC_COMPILER_TARGET_CPU_MACHINECODE_H

#include "compiler/target/cpu/CpuTarget.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace dgc {

/// An object file in memory.
using ObjectFile = llvm::SmallVector<char, 0>;

/// A second name of a symbol.
struct SymbolAlias {
  std::string name, of;
};

/// Optimizes the module for the target and generates its code, position-independent.
llvm::Expected<ObjectFile> generateObject(llvm::Module &module, const CpuTarget &target);

/// Links objects into an ELF shared object. Functions of the C and mathematical libraries that they call are left to be
/// found in the process that loads it.
llvm::Expected<std::vector<uint8_t>> linkObjects(llvm::ArrayRef<const ObjectFile *> objects,
                                                 llvm::ArrayRef<SymbolAlias> aliases = {});

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CPU_MACHINECODE_H
