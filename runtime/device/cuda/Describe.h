// For people: where the workers of a plan run, and how they communicate.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <string>
#include <vector>

namespace dgc::rt::cuda {

/// Lines for --dry-run, on a machine with `gpus` GPUs and this version of NCCL (0: none): the GPU of each worker, and
/// for each group of workers that communicate how they do it and why.
std::vector<std::string> describeWorkers(const artifact::Plan &plan, int gpus, int nccl);

} // namespace dgc::rt::cuda
