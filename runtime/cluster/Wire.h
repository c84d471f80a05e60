// The messages of the control plane as structs and as Protobuf.
#pragma once

#include "runtime/cluster/Messages.h"

#include "runtime/cluster/cluster.pb.h"

#include <optional>

namespace dgc::rt {

cluster::FromWorker toWire(const FromWorker &message);
cluster::ToWorker toWire(const ToWorker &message);
/// Nothing for a message of a kind that this version does not know.
std::optional<FromWorker> fromWire(const cluster::FromWorker &in);
std::optional<ToWorker> fromWire(const cluster::ToWorker &in);

} // namespace dgc::rt
