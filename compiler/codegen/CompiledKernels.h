//===- CompiledKernels.h - machine code of the kernels of a program --------===//
//
// What a code generator gives to the artifact writer. No MLIR in here.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_COMPILEDKERNELS_H
#define DGC_COMPILER_CODEGEN_COMPILEDKERNELS_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dgc {

/// One grid of a kernel for GPUs: `grid` blocks of `block` threads, all along one dimension.
struct KernelLaunch {
  std::string symbol;
  uint32_t grid = 1, block = 1;
};

/// One kernel. Its arguments are the inputs of the kernel in order, then its results.
struct CompiledKernel {
  std::string symbol;
  uint32_t argCount = 0;
  std::vector<int32_t> inplace; // for each result the input whose memory it may have, or -1: see inplaceOf
  int64_t extent = 1;           // independent parts, see runtime/artifact/KernelAbi.h
  uint64_t costNs = 0;          // rough time of the whole kernel on one thread
  uint64_t flops = 0;
  // For GPUs: what runs one after the other, with the pointers of the arguments and of memory for values in between.
  std::vector<KernelLaunch> launches;
  uint64_t workspaceBytes = 0;
};

/// All kernels for one architecture of GPUs.
struct DeviceCode {
  uint32_t architecture = 0; // 90: sm_90
  bool isBinary = false;     // a cubin; else the text of PTX
  std::vector<uint8_t> bytes;
};

struct CompiledKernels {
  std::string kind = "cpu";
  std::vector<uint8_t> object; // all kernels, as the kind has them; empty when there are none
  std::vector<DeviceCode> deviceCode;
  /// All kernels, those of `host` as well, as bytecode of the reference; empty where that is not asked for, or `object` is it.
  std::vector<uint8_t> semantics;
  std::vector<CompiledKernel> kernels;
  std::string triple, cpu;
  std::vector<std::string> features; // CPU features that the code uses, as LLVM names them; architectures of GPUs
  /// With code for GPUs: the code of those workers that are on CPUs. Null where all have a GPU.
  std::shared_ptr<const CompiledKernels> host;
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_COMPILEDKERNELS_H
