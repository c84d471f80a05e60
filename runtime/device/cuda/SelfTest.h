// Checks of a GPU that need no plan and no other worker.
#pragma once

#include "runtime/device/Plugin.h"
#include "runtime/device/cuda/Nccl.h"

namespace dgc::rt::cuda {

/// Every collective by NCCL on a communicator of one rank, queued and as a part of a graph, a line for each kind.
std::vector<SelfTestLine> testNccl(Driver &driver, const NcclFunctions &nccl);

} // namespace dgc::rt::cuda
