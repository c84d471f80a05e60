// Shardings as frameworks write them: the dialect `sdy`, as far as reading it takes.
//
// Its attributes are read as dictionaries:
//   an axis         {name, size}
//   a mesh          {axes = [axis..], device_ids = array<i64>}
//   a use of one    {name} or, of a part of it, {name, pre_size, size}
//   a dimension     {axes = [use..], is_closed, priority}
//   a sharding      {mesh = @mesh or a mesh, dims = [dimension..], replicated = [use..]}
// Its ops are `sdy.mesh`, a symbol; `sdy.sharding_constraint`, whose result is its operand; and `sdy.manual_computation`, with lists
// of shardings, names of axes and a region that `sdy.return` ends.

#ifndef DGC_COMPILER_IMPORT_SDY_H
#define DGC_COMPILER_IMPORT_SDY_H

namespace mlir {
class Attribute;
class DialectRegistry;
} // namespace mlir

namespace dgc::import {

void registerSdy(mlir::DialectRegistry &registry);

/// Whether the attribute looks so: bytecode and the generic form of ops may have any. Null does not.
bool isSdyMesh(mlir::Attribute attribute);
bool isSdySharding(mlir::Attribute attribute);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_SDY_H
