// The messages of the control plane as structs and as Protobuf.
#pragma once

#include "runtime/cluster/Messages.h"

#include "runtime/cluster/cluster.pb.h"

#include <optional>

namespace dgc::rt {

::dgc::cluster::FromWorker toWire(const FromWorker &message);
::dgc::cluster::ToWorker toWire(const ToWorker &message);
/// Nothing for a message of a kind that this version does not know.
std::optional<FromWorker> fromWire(const ::dgc::cluster::FromWorker &message);
std::optional<ToWorker> fromWire(const ::dgc::cluster::ToWorker &message);

} // namespace dgc::rt
