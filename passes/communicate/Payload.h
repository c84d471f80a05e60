// How many bytes communication moves, as runtime/artifact/Traffic.h counts them.

#ifndef DGC_PASSES_COMMUNICATE_PAYLOAD_H
#define DGC_PASSES_COMMUNICATE_PAYLOAD_H

#include "dialects/dgc/TensorUtil.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/artifact/Traffic.h"

namespace dgc {

/// The payload of a collective on one device, in bytes.
int64_t payloadOf(dist::CollectiveOpInterface op);

/// What one device that runs a partitioned function communicates. The plan that is made from the function has the same
/// traffic (rt::trafficOf), as passes after dgc-order-collectives add and remove no communication.
rt::Traffic trafficOf(mlir::func::FuncOp function);

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_PAYLOAD_H
