// Compiles a program and runs it in this process, every worker as a thread: for tests of what a program computes.
//
//   auto result = execute("func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {..}",
//                         {{"arg0", HostArray::of({2, 3}, {..})}});
//   result->outputs.at("result0").as<float>()
//
// Arguments and results without a name are arg0, arg1, .. and result0, result1, ..
#pragma once

#include "runtime/executor/RunOnce.h"

#include <cstdlib>
#include <string>

namespace dgc::testing {

using rt::HostArray;
using rt::NamedArrays;

/// What tests compile for where they do not say: for CPUs, or for DGC_TEST_TARGET of the environment.
inline std::string targetOfTests() {
  const char *target = std::getenv("DGC_TEST_TARGET");
  return target ? target : "cpu";
}

struct ExecuteOptions {
  std::string mesh;                     // "data=2"; empty: one worker
  std::string strategy;                 // as for dgc-compile
  int64_t microbatches = 0;             // of the strategy pipeline
  std::string from = "model";           // the phase that the program has been through; a model begins at "input"
  std::string links;                    // as for dgc-compile
  int64_t batch = 0;                    // the global batch; 0: as the model says
  bool overlap = false;                 // collectives overlap with other work
  std::string precision = "f32";        // of products: f32, bf16, f16
  std::string attention = "auto";       // as for dgc-compile
  std::string repeats = "auto";         // as for dgc-compile
  std::string epilogues = "auto";       // as for dgc-compile
  bool noPadding = false;               // refuse dimensions that their axes do not divide
  std::string target = targetOfTests(); // as for dgc-compile
  std::string serverTarget;
  bool withSemantics = false;     // as for dgc-compile
  std::string *explain = nullptr; // gets what dgc-compile --explain prints
  rt::RunOnceOptions run;
};

/// The artifact, or the diagnostics of the compiler.
absl::StatusOr<std::vector<uint8_t>> compileText(const std::string &text, const ExecuteOptions &options = {});

/// An artifact whose kernels have no code, for tests that read plans: most of the time of a compilation goes into it.
absl::StatusOr<std::vector<uint8_t>> compileWithoutCode(const std::string &text, const ExecuteOptions &options = {});

/// An artifact for GPUs whose code is that of the emulator (GpuEmulator.h), as a cubin for sm_90.
absl::StatusOr<std::vector<uint8_t>> compileForFakeGpu(const std::string &text, ExecuteOptions options = {});

/// Compiles and runs. The diagnostics of the compiler, or the error of the run, are in the status.
absl::StatusOr<rt::RunOnceResult> execute(const std::string &text, const NamedArrays &inputs,
                                          const ExecuteOptions &options = {});

} // namespace dgc::testing
