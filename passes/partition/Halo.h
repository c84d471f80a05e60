// Elements that a device needs of the blocks of others.

#ifndef DGC_PASSES_PARTITION_HALO_H
#define DGC_PASSES_PARTITION_HALO_H

#include "passes/analysis/Layout.h"

namespace dgc {

/// A dimension of a value as it is cut: `size` elements in the whole, in blocks along `axes`.
struct CutDim {
  unsigned dim;
  int64_t size;
  llvm::ArrayRef<AxisUse> axes;
};

/// Builds the parts of values that moving elements takes.
class HaloBuilder {
public:
  /// `user` says who needs the elements; it becomes part of the origins.
  HaloBuilder(mlir::OpBuilder &builder, mlir::Location location, const MeshRef &mesh, llvm::StringRef user)
      : builder(builder), location(location), mesh(mesh), user(user) {}

  /// The elements that `window` asks for, on each device those for its part: element e on device p is element
  /// `starts[p]` + e of the whole. What is outside of the whole is as `window` says; `fill` is the value of its fill
  /// operand. Each device receives what it lacks from the devices that have it: at most as much as it would with the
  /// whole dimension, which is gathered instead where the windows reach too far.
  mlir::Value fetch(mlir::Value value, const CutDim &cut, const OperandWindow &window, mlir::Value fill);

  /// `size` elements from `starts[p]` on of what device p holds, zeros where there are none.
  mlir::Value take(mlir::Value value, const CutDim &cut, llvm::ArrayRef<int64_t> starts, int64_t size);

private:
  mlir::Value perDevice(llvm::ArrayRef<AxisUse> axes, llvm::ArrayRef<int64_t> values);

  mlir::OpBuilder &builder;
  mlir::Location location;
  const MeshRef &mesh;
  llvm::StringRef user;
};

} // namespace dgc

#endif // DGC_PASSES_PARTITION_HALO_H
