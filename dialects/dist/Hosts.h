// Which workers of a program for GPUs run on CPUs: those whose mesh says that its device is one.

#ifndef DGC_DIALECTS_DIST_HOSTS_H
#define DGC_DIALECTS_DIST_HOSTS_H

#include "dialects/dist/Dist.h"
#include "mlir/IR/BuiltinOps.h"

namespace dgc {

/// True for `dist.mesh @ps0 <..> {dist.device = #dist.device<"cpu:0">}`. Programs for CPUs do not say so.
inline bool isOnHost(dgc::dist::MeshOp mesh) {
  auto device = mesh ? mesh->getAttrOfType<dgc::dist::DeviceAttr>(dgc::dist::kDeviceAttr) : dgc::dist::DeviceAttr();
  return device && !device.getPart("cpu").empty();
}

/// The same of what runs on the workers of the mesh of this name; null: on all workers.
inline bool isOnHost(mlir::ModuleOp module, mlir::FlatSymbolRefAttr mesh) {
  return mesh && isOnHost(module.lookupSymbol<dgc::dist::MeshOp>(mesh.getValue()));
}

} // namespace dgc

#endif // DGC_DIALECTS_DIST_HOSTS_H
