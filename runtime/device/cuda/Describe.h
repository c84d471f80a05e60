// Text for --dry-run: where the workers of a plan run, and how they communicate.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include "runtime/device/cuda/LaunchMode.h"

#include <string>
#include <vector>

namespace dgc::rt::cuda {

/// Lines for --dry-run on a machine with `gpus` GPUs and version `nccl` of NCCL (0: not available): the GPU of each
/// worker, and the transport of each group of workers with its reason; for NCCL also the launch mode. `launch`: the
/// preferences without $DGC_CUDA_COLLECTIVES. `warning`: why measured times are ignored.
std::vector<std::string> describeWorkers(const artifact::Plan &plan, int gpus, int nccl, LaunchPreferences launch = {},
                                         std::string warning = "");

} // namespace dgc::rt::cuda
