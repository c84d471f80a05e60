// For people: where the workers of a plan run, and how they communicate.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include "runtime/device/cuda/LaunchMode.h"

#include <string>
#include <vector>

namespace dgc::rt::cuda {

/// Lines for --dry-run, on a machine with `gpus` GPUs and this version of NCCL (0: none): the GPU of each worker, and
/// for each group of workers that communicate how they do it and why; of NCCL, whether that is in graphs. `launch`: what
/// is wished of it, but for what $DGC_CUDA_COLLECTIVES says; `warning`: why nothing that was measured counts.
std::vector<std::string> describeWorkers(const artifact::Plan &plan, int gpus, int nccl, LaunchPreferences launch = {},
                                         std::string warning = "");

} // namespace dgc::rt::cuda
