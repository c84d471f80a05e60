// The request for a gradient.

#include "dialects/dgc/Assembly.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/GradientOps.cpp.inc"

namespace dgc {
void registerGradientOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/GradientOps.cpp.inc"
      >();
}
} // namespace dgc

LogicalResult GradientOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, ValueRange operands,
                                           DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
                                           SmallVectorImpl<Type> &types) {
  for (Type type : operands.drop_front().getTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    types.push_back(tensor ? withoutEncoding(tensor) : type);
  }
  return success();
}

bool GradientOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return equalUpToEncoding(inferred, actual);
}
