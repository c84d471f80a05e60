//===- MatmulOp.cpp - exec.matmul -------------------------------------------===//

#include "dialects/exec/StepUtil.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;

/// 0, 1, .. with the last two exchanged where `transposed`; or the order that is given.
static SmallVector<int64_t> storedOrder(std::optional<ArrayRef<int64_t>> order, int64_t rank, bool transposed) {
  if (order) {
    return SmallVector<int64_t>(*order);
  }
  auto identity = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (transposed) {
    std::swap(identity[rank - 2], identity[rank - 1]);
  }
  return identity;
}

SmallVector<int64_t> exec::MatmulOp::getStoredOrderA() {
  return storedOrder(getAOrder(), shaped(getA()).getRank(), getTransposeA());
}
SmallVector<int64_t> exec::MatmulOp::getStoredOrderB() {
  return storedOrder(getBOrder(), shaped(getB()).getRank(), getTransposeB());
}
SmallVector<int64_t> exec::MatmulOp::getStoredOrder() {
  return storedOrder(getOrder(), shaped(getA()).getRank(), false);
}

/// The sizes of a stored type in the order of the dimensions of a product.
static SmallVector<int64_t> inOrder(ShapedType type, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t dim) { return type.getDimSize(dim); });
}

RankedTensorType exec::MatmulOp::getReluMaskType(RankedTensorType result) {
  int64_t bytes = llvm::divideCeil(result.getDimSize(1), 128) * 16;
  return RankedTensorType::get({result.getDimSize(0), bytes},
                               IntegerType::get(result.getContext(), 8, IntegerType::Unsigned));
}

PostOpAttr exec::MatmulOp::findPostOp(PostOpKind kind) {
  for (auto op : getPostOps().value_or(ArrayAttr::get(getContext(), {})).getAsRange<PostOpAttr>()) {
    if (op.getKind() == kind) {
      return op;
    }
  }
  return {};
}

/// The additional operands and results of products whose epilogue computes gradients.
static LogicalResult verifyGradientParts(exec::MatmulOp op, ArrayRef<ShapedType> given) {
  PostOpAttr reluGrad = op.findPostOp(PostOpKind::ReluGrad), geluGrad = op.findPostOp(PostOpKind::GeluTanhGrad);
  if (!op.getKeepAux() && !op.getBiasGradient() && !reluGrad && !geluGrad) {
    return success();
  }
  ShapedType result = given[0];
  bool is16Bits = result.getElementType().isBF16() || result.getElementType().isF16();
  if (result.getRank() != 2 || op.isStrided() || !is16Bits) {
    return op.emitOpError(
        "has parts of gradients, which only a single product of 16 bits that is not strided can have");
  }
  size_t postOps = op.getPostOps() ? op.getPostOps()->size() : 0;
  if ((reluGrad || geluGrad) && (postOps != 1 || op.getBias())) {
    return op.emitOpError("has the gradient of an activation, which goes with no bias and no other post op");
  }
  if (geluGrad && shaped(op.getArgs()[geluGrad.getArg()]).getShape() != result.getShape()) {
    return op.emitOpError("has the gradient of gelu at ")
           << op.getArgs()[geluGrad.getArg()].getType() << "; it needs the shape of the result, " << result;
  }
  auto mask = exec::MatmulOp::getReluMaskType(RankedTensorType::get(result.getShape(), result.getElementType()));
  auto isMask = [&](ShapedType type) {
    return type.getShape() == mask.getShape() && type.getElementType() == mask.getElementType();
  };
  if (reluGrad && !isMask(shaped(op.getArgs()[reluGrad.getArg()]))) {
    return op.emitOpError("has the gradient of relu with a mask of type ")
           << op.getArgs()[reluGrad.getArg()].getType() << "; it needs " << mask;
  }
  auto next = given.begin() + 1;
  if (op.getKeepAux()) {
    PostOpAttr relu = op.findPostOp(PostOpKind::Relu);
    if (postOps != 1 || (!relu && !op.findPostOp(PostOpKind::GeluTanh))) {
      return op.emitOpError("keeps what a gradient needs, and has no post op relu or gelu_tanh alone");
    }
    bool fits = relu ? isMask(*next)
                     : next->getShape() == result.getShape() && next->getElementType() == result.getElementType();
    if (!fits) {
      return op.emitOpError("keeps ") << *next << " for the gradient; it has to be of type "
                                      << (relu ? ShapedType(mask) : result);
    }
    ++next;
  }
  if (std::optional<MatmulValue> of = op.getBiasGradient()) {
    if ((*of == MatmulValue::Result) != (reluGrad || geluGrad) || (postOps && !reluGrad && !geluGrad) || op.getBias()) {
      return op.emitOpError(
          "has the gradient of a bias: that of the result goes with relu_grad or gelu_tanh_grad, that "
          "of an operand with nothing else");
    }
    int64_t size = result.getDimSize(*of == MatmulValue::A ? 0 : 1);
    if (next->getShape() != ArrayRef<int64_t>{size} || next->getElementType() != result.getElementType()) {
      return op.emitOpError("has a gradient of a bias of type ")
             << *next << "; it needs " << size << " elements of " << result.getElementType();
    }
  }
  return success();
}

LogicalResult exec::MatmulOp::verify() {
  if (failed(verifyLevel(*this, getReads(), getOuts()))) {
    return failure();
  }
  SmallVector<ShapedType> given = givenTypes(*this, getOuts());
  ShapedType a = shaped(getA()), b = shaped(getB());
  if (given.empty() || a.getRank() < 2 || b.getRank() != a.getRank() || given[0].getRank() != a.getRank()) {
    return emitOpError("takes two operands of equal rank, at least 2, and gives one result of that rank");
  }
  if (size_t count = 1 + getKeepAux() + getBiasGradient().has_value(); given.size() != count) {
    return emitOpError("gives ") << given.size() << " results; it has to give " << count;
  }
  int64_t rank = a.getRank();
  for (std::optional<ArrayRef<int64_t>> order : {getAOrder(), getBOrder(), getOrder()}) {
    if (order && (static_cast<int64_t>(order->size()) != rank || !isPermutationVector(*order))) {
      return emitOpError("has an order of dimensions that is no permutation of 0 to ") << rank - 1;
    }
  }
  if ((getAOrder() && getTransposeA()) || (getBOrder() && getTransposeB())) {
    return emitOpError("gives an order of dimensions and a transpose for the same operand: the order says it all");
  }
  SmallVector<int64_t> left = inOrder(a, getStoredOrderA()), right = inOrder(b, getStoredOrderB());
  int64_t m = left[rank - 2], n = right[rank - 1];
  SmallVector<int64_t> expected(ArrayRef(left).drop_back(2));
  expected.append({m, n});
  if (left[rank - 1] != right[rank - 2] || ArrayRef(left).drop_back(2) != ArrayRef(right).drop_back(2) ||
      inOrder(given[0], getStoredOrder()) != expected) {
    return emitOpError("has shapes that do not fit: ") << a << " times " << b << " gives " << given[0];
  }
  if (getBias() && shaped(getBias()).getShape() != ArrayRef<int64_t>{n}) {
    return emitOpError("has a bias of type ") << getBias().getType() << "; it needs " << n << " elements";
  }
  if ((getBias() || getPostOps()) && getStoredOrder().back() != rank - 1) {
    return emitOpError("has a bias or post ops, which need n as the last dimension of what is stored");
  }
  if (failed(verifyPostOps(*this, getPostOps(), getArgs(), given[0]))) {
    return failure();
  }
  return verifyGradientParts(*this, given);
}
