// Ops without operands: constant.

#include "dialects/dgc/Assembly.h"

using namespace mlir;
using namespace mlir::dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ConstantOps.cpp.inc"

namespace mlir::dgc {
void registerConstantOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ConstantOps.cpp.inc"
      >();
}
} // namespace mlir::dgc

LogicalResult ConstantOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getType());
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

// A constant is there wherever it is needed: each device makes its own part.
ShardingRule ConstantOp::getShardingRule() { return ShardingRuleBuilder(*this).elementwise().build(); }
