//===- LLVMStatistics.h - llvm::Statistic as in the shared library ---------===//
//
// `llvm/ADT/Statistic.h` chooses the layout of `llvm::Statistic` by NDEBUG. The distribution's libLLVM and libMLIR
// are built with NDEBUG, and pass statistics are constructed in libMLIR; code that is built with assertions would
// read members that libMLIR never initializes. This header is included before any other header of LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_CMAKE_LLVMSTATISTICS_H
#define DGC_CMAKE_LLVMSTATISTICS_H

#include "llvm/Support/Compiler.h"
#include <atomic>
#include <memory>
#include <vector>

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define NDEBUG 1
#include "llvm/ADT/Statistic.h"
#pragma pop_macro("NDEBUG")

#endif
