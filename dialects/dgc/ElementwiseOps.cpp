// Elementwise ops.

#include "dialects/dgc/Assembly.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ElementwiseOps.cpp.inc"

namespace mlir::dgc {
void registerElementwiseOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ElementwiseOps.cpp.inc"
      >();
}
} // namespace mlir::dgc

LogicalResult AddOp::inferTypes(std::optional<Location> location,
                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(
      withoutEncoding(cast<RankedTensorType>(adaptor.getLhs().getType())));
  return success();
}
ShardingRule AddOp::getShardingRule() {
  return ShardingRuleBuilder(*this).elementwise().build();
}
Value AddOp::buildScalar(OpBuilder &builder, Location location,
                         ValueRange scalars) {
  if (isa<FloatType>(scalars[0].getType()))
    return arith::AddFOp::create(builder, location, scalars[0], scalars[1]);
  return arith::AddIOp::create(builder, location, scalars[0], scalars[1]);
}
SmallVector<Value> AddOp::buildGradients(OpBuilder &builder,
                                         ValueRange resultGradients,
                                         const llvm::BitVector &wanted) {
  return {resultGradients[0], resultGradients[0]};
}
