// The cluster of one worker, without communication.
#pragma once

#include "runtime/cluster/Cluster.h"

namespace dgc::rt {

absl::StatusOr<std::unique_ptr<Cluster>> createSoleCluster(const ClusterOptions &options);

} // namespace dgc::rt
