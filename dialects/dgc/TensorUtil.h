//===- TensorUtil.h - types and sizes of tensor values ----------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_TENSORUTIL_H
#define DGC_DIALECTS_DGC_TENSORUTIL_H

#include "dialects/MLIR.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/Value.h"
#include "llvm/Support/MathExtras.h"

namespace dgc {

/// The type of a value that is a ranked tensor.
inline RankedTensorType tensorOf(Value value) { return llvm::cast<RankedTensorType>(value.getType()); }
inline ArrayRef<int64_t> shapeOf(Value value) { return tensorOf(value).getShape(); }
inline Type elementOf(Value value) { return tensorOf(value).getElementType(); }

/// Bytes of a tensor of static shape, 0 for other types. An element of less than a byte takes one.
inline int64_t bytesOf(Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return 0;
  return tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}
inline int64_t bytesOf(Value value) { return bytesOf(value.getType()); }
/// The sum over `types`.
inline int64_t bytesOf(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    bytes += bytesOf(type);
  return bytes;
}

} // namespace dgc

#endif // DGC_DIALECTS_DGC_TENSORUTIL_H
