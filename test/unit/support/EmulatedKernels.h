// Kernels for GPUs as code of this machine, which GpuEmulator runs.
#pragma once

#include "compiler/codegen/CompiledKernels.h"
#include "mlir/IR/BuiltinOps.h"

namespace dgc::testing {

/// The code that a GPU would run: `object` has a function `SYMBOL_emulated(void *const *args)` for each launch, which is
/// called for every thread. It calls the functions of GpuEmulator.cpp where it asks for its place and meets others.
mlir::FailureOr<CompiledKernels> compileForEmulator(mlir::ModuleOp kernels);

} // namespace dgc::testing
