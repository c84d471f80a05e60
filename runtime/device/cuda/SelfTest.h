// Checks of a GPU that need no plan and no other worker.
#pragma once

#include "runtime/device/Plugin.h"
#include "runtime/device/cuda/Nccl.h"
#include "runtime/device/cuda/Peers.h"

namespace dgc::rt::cuda {

/// Every collective by NCCL on a communicator of one rank, queued and as a part of a graph, a line for each kind.
std::vector<SelfTestLine> testNccl(Driver &driver, const NcclFunctions &nccl);

/// The kernels by which workers reduce each other's memory, against the same on the CPU, bit by bit; one line.
SelfTestLine testPeerKernels(Driver &driver);

/// The kernels that put slices in place, likewise.
SelfTestLine testSliceKernels(Driver &driver);

/// The kernels that add up slices, likewise.
SelfTestLine testScatterKernels(Driver &driver);

} // namespace dgc::rt::cuda
