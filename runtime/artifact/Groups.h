// Groups of workers that run programs of their own, and which worker belongs where.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include "absl/status/status.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// The number of the group that `rank` is in; -1 when the plan has no groups.
int32_t groupOf(const artifact::Plan &plan, uint32_t rank);

/// Whether a worker of group `mine` runs (or holds) what says that it belongs to `group`; -1 belongs to all.
inline bool belongs(int32_t group, int32_t mine) { return group < 0 || group == mine; }

/// Whether the workers of a group are on the host, beside others that have a device (Plan.host_target).
bool isOnHost(const artifact::Plan &plan, int32_t group);

/// What the workers of a group, or all where there are none (-1), run on.
const artifact::Target &targetOf(const artifact::Plan &plan, int32_t group);

/// The program `name` that `rank` runs; null if there is none.
const artifact::Program *programOf(const artifact::Plan &plan, std::string_view name, uint32_t rank);

/// Sizes of the private arena and of the used part of the shared arena of one worker.
uint64_t privateBytesOf(const artifact::Plan &plan, int32_t group);
uint64_t sharedBytesOf(const artifact::Plan &plan, int32_t group);

/// One end of a transfer: `group`, `peer` and `gathered` of a send or a receive.
struct TransferEnd {
  int32_t group = -1;
  uint32_t peer = 0;
  bool gathered = false;

  TransferEnd() = default;
  TransferEnd(const artifact::Send &op) : group(op.group()), peer(op.peer()), gathered(op.gathered()) {}
  TransferEnd(const artifact::Receive &op) : group(op.group()), peer(op.peer()), gathered(op.gathered()) {}
};

/// The ranks that a send of `rank` goes to: in `group` as targetsOf (CommunicationOrder.h) says, or `peer` if that is
/// -1.
std::vector<uint32_t> receiversOf(const artifact::Plan &plan, const TransferEnd &send, uint32_t rank);

/// The equal parts along dimension 0 of a buffer that is sent or received, one for each partner in their order; 1 where all
/// partners have the same.
uint32_t partsOf(const artifact::Plan &plan, const TransferEnd &end);

/// The ranks that `rank` receives from: one, or, where it is gathered, all of the group in the order of their parts.
std::vector<uint32_t> sendersOf(const artifact::Plan &plan, const TransferEnd &receive, uint32_t rank);

/// Whether a group has a worker at each position of the axes behind the first one, and so can have collectives over
/// them. Groups that have not have one worker: parameter servers.
bool isFull(const artifact::Plan &plan, int32_t group);

/// Groups follow each other and have every rank once, full ones before others; variables and programs name one that
/// exists; each program is there for every group. Groups on the host are those of a plan whose target takes such, with a host target that runs them.
absl::Status checkGroups(const artifact::Plan &plan);

} // namespace dgc::rt
