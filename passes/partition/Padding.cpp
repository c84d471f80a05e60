// Elements of a block that are none of the whole tensor.

#include "passes/partition/Padding.h"

#include "dialects/dgc/TensorBuilder.h"
#include "passes/partition/ReshardLowering.h"

using namespace mlir;

namespace dgc {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value keepEncoding(Value result, Value like) {
  Attribute encoding = typeOf(like).getEncoding();
  if (!encoding || result == like)
    return result;
  RankedTensorType type = typeOf(result);
  result.setType(RankedTensorType::get(type.getShape(), type.getElementType(), encoding));
  recordEncodings(result.getDefiningOp());
  return result;
}

Value maskOutside(OpBuilder &builder, Location location, Value value, unsigned dim, Value start, int64_t size,
                  Value fill, bool mayBegin) {
  TensorBuilder b(builder, location);
  RankedTensorType type = typeOf(value);
  auto places = RankedTensorType::get({type.getDimSize(dim)}, builder.getI64Type());
  Value place = IotaOp::create(builder, location, places, 0, start);
  Value inside = b.compare(ComparisonDirection::LT, place, b.splat(double(size), places));
  if (mayBegin) {
    Value begun = b.compare(ComparisonDirection::GE, place, b.splat(0, places));
    inside = AndOp::create(builder, location, begun, inside);
  }
  Value spread = b.broadcast(inside, type.getShape(), {int64_t(dim)});
  return keepEncoding(b.select(spread, value, b.broadcast(fill, type.getShape(), {})), value);
}

Value maskPadding(OpBuilder &builder, Location location, const MeshRef &mesh, Value value, unsigned dim,
                  ArrayRef<AxisUse> axes, int64_t size, ReductionKind kind) {
  Value start = buildOffset(builder, location, mesh, axes, typeOf(value).getDimSize(dim));
  Value identity = TensorBuilder(builder, location).identity(kind, typeOf(value).getElementType());
  return maskOutside(builder, location, value, dim, start, size, identity, /*mayBegin=*/false);
}

} // namespace dgc
