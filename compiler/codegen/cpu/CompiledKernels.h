//===- CompiledKernels.h - machine code of the kernels of a program --------===//
//
// What the code generator gives to the artifact writer. No MLIR in here.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_CPU_COMPILEDKERNELS_H
#define DGC_COMPILER_CODEGEN_CPU_COMPILEDKERNELS_H

#include <cstdint>
#include <string>
#include <vector>

namespace dgc {

/// One function of the object. Its arguments are the inputs of the kernel in order, then its results.
struct CompiledKernel {
  std::string symbol;
  uint32_t argCount = 0;
  int64_t extent = 1;  // independent parts, see runtime/artifact/KernelAbi.h
  uint64_t costNs = 0; // rough time of the whole kernel on one thread
  uint64_t flops = 0;
};

struct CompiledKernels {
  std::vector<uint8_t> object; // an ELF shared object; empty when there are no kernels
  std::vector<CompiledKernel> kernels;
  std::string triple, cpu;
  std::vector<std::string> features; // CPU features that the code uses, as LLVM names them
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_CPU_COMPILEDKERNELS_H
