//===- GradientParts.cpp - what products on GPUs do for gradients -----------===//
//
// cuBLASLt computes gelu after a product and keeps its operand, keeps where a relu let through, multiplies a product
// by the derivatives of both, and adds up the rows of that, or of an operand, to the gradient of a bias.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/ClusterGraph.h"
#include "passes/kernel/LibraryCalls.h"

using namespace mlir;
using dgc::exec::MatmulOp;
using dgc::exec::MatmulValue;
using dgc::exec::PostOpAttr;
using dgc::exec::PostOpKind;

namespace dgc {
namespace {

/// A value of fewer elements is added up where it is computed, in a kernel that is small.
constexpr int64_t kMuch = 1 << 20;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The operand of a reshape, or the value itself.
Value behindView(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  return reshape ? reshape.getOperand() : value;
}

/// The result of a call as its users see it, maybe with more dimensions and the same last one.
Value viewed(exec::MatmulOp call) {
  Value result = call->getResult(0);
  auto reshape = result.hasOneUse() ? dyn_cast<ReshapeOp>(*result.user_begin()) : nullptr;
  return reshape && !shapeOf(reshape).empty() && shapeOf(reshape).back() == shapeOf(result).back() ? reshape.getResult()
                                                                                                   : result;
}

/// A product for which the library has such epilogues: a single one of 16 bits, of matrices that are no vectors, with
/// all rows aligned to 16 bytes.
bool isSingle(exec::MatmulOp call) {
  RankedTensorType type = typeOf(call->getResult(0));
  if (!(type.getElementType().isBF16() || type.getElementType().isF16()) || type.getRank() != 2 || call.isStrided())
    return false;
  ArrayRef<int64_t> a = shapeOf(call.getA());
  auto isAligned = [](Value value) { return shapeOf(value).back() % 8 == 0; };
  return type.getDimSize(0) > 1 && a[call.getTransposeA() ? 0 : 1] > 1 && isAligned(call->getResult(0)) &&
         isAligned(call.getA()) && isAligned(call.getB());
}

bool isPlain(exec::MatmulOp call) {
  return !call.getBias() && !call.getPostOps() && !call.getKeepAux() && !call.getBiasGradient();
}

/// What a call is to become.
struct Parts {
  std::optional<PostOpKind> postOp;
  Value arg; // of the post op, in the shape that it has there
  bool keepAux = false;
  std::optional<MatmulValue> biasGradient;
};

/// A copy of the call at the place of the builder that has these parts, those that are not given as before.
exec::MatmulOp rebuild(OpBuilder &builder, exec::MatmulOp call, Parts parts, ArrayRef<Location> locations) {
  MLIRContext *context = builder.getContext();
  auto type = RankedTensorType::get(shapeOf(call->getResult(0)), typeOf(call->getResult(0)).getElementType());
  SmallVector<Value> args(call.getArgs());
  ArrayAttr postOps = call.getPostOpsAttr();
  if (parts.postOp) {
    if (parts.arg)
      args.push_back(parts.arg);
    postOps = builder.getArrayAttr(PostOpAttr::get(context, *parts.postOp, parts.arg ? args.size() - 1 : -1));
  }
  SmallVector<Type> types{type};
  if (parts.keepAux) {
    auto kind = cast<PostOpAttr>(postOps[0]).getKind();
    types.push_back(kind == PostOpKind::Relu ? exec::MatmulOp::getReluMaskType(type) : type);
  }
  exec::MatmulValueAttr biasGradient;
  if (parts.biasGradient) {
    int64_t size = type.getDimSize(*parts.biasGradient == MatmulValue::A ? 0 : 1);
    types.push_back(RankedTensorType::get(size, type.getElementType()));
    biasGradient = exec::MatmulValueAttr::get(context, *parts.biasGradient);
  }
  return exec::MatmulOp::create(builder, FusedLoc::get(context, locations), types, call.getA(), call.getB(),
                                call.getBias(), args, ValueRange(), call.getTransposeA(), call.getTransposeB(), postOps,
                                parts.keepAux, biasGradient, {}, {}, {});
}

/// Puts a result of a call in place of `value`, whose users may see it in another shape.
void replace(OpBuilder &builder, Value value, Value result) {
  if (value.use_empty())
    return;
  Value same = reshaped(builder, value.getLoc(), result, shapeOf(value));
  same.setType(value.getType()); // with the mark of a partial sum
  value.replaceAllUsesWith(same);
}

/// Removes a call and its view, which nothing uses any more.
void erase(exec::MatmulOp call, Value view) {
  if (view != call->getResult(0))
    view.getDefiningOp()->erase();
  call->erase();
}

/// The sum of all rows of `value`, each along the last dimension, in its type.
ReduceOp findSumOfRows(Value value) {
  for (Operation *user : value.getUsers()) {
    auto reduce = dyn_cast<ReduceOp>(user);
    int64_t rows = shapeOf(value).size() - 1;
    if (reduce && reduce.getKind() == ReductionKind::Sum && rows > 0 &&
        llvm::equal(reduce.getDims(), llvm::seq<int64_t>(0, rows)) &&
        typeOf(reduce).getElementType() == typeOf(value).getElementType())
      return reduce;
  }
  return {};
}

/// Lets an op that is computed in f32 between values of 16 bits take and give these: it computes in f32 all the same.
template <typename OpT> void narrow(OpT op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    auto convert = operand.getDefiningOp<ConvertOp>();
    if (!convert)
      return;
    operands.push_back(convert.getOperand());
  }
  Type element = typeOf(operands[0]).getElementType();
  auto isElement = [&](Value value) { return typeOf(value).getElementType() == element; };
  auto isNarrowed = [&](Operation *user) {
    return isa<ConvertOp>(user) && isElement(user->getResult(0)) && !typeOf(user->getResult(0)).getEncoding();
  };
  if (!(element.isBF16() || element.isF16()) || !typeOf(op).getElementType().isF32() ||
      !llvm::all_of(operands, isElement) || !llvm::all_of(op->getUsers(), isNarrowed))
    return;
  SmallVector<Operation *> converts(op->getUsers());
  for (auto [number, operand] : llvm::enumerate(operands)) {
    Operation *convert = op->getOperand(number).getDefiningOp();
    op->setOperand(number, operand);
    if (convert->use_empty())
      convert->erase();
  }
  op.getResult().setType(RankedTensorType::get(shapeOf(op), element));
  for (Operation *convert : converts) {
    convert->replaceAllUsesWith(ValueRange{op.getResult()});
    convert->erase();
  }
}

class GradientParts {
public:
  GradientParts(func::FuncOp func, SizeDecisions &decide, bool takesDerivatives)
      : decide(decide), takesDerivatives(takesDerivatives) {
    func.walk([&](exec::MatmulOp call) {
      if (isSingle(call))
        calls.push_back(call);
    });
  }

  unsigned run() {
    for (exec::MatmulOp call : calls)
      if (!takeGelu(call) && !(takesDerivatives && takeDerivative(call)))
        takeSum(call);
    return taken;
  }

private:
  /// Gelu after a product. Where something else needs its operand, the gradient above all, the call keeps that.
  bool takeGelu(exec::MatmulOp call) {
    if (call.getPostOps() || call.getKeepAux() || call.getBiasGradient())
      return false;
    Value operand = viewed(call);
    SmallVector<GeluOp> gelus;
    for (Operation *user : operand.getUsers())
      if (auto gelu = dyn_cast<GeluOp>(user); gelu && gelu.getApproximate())
        gelus.push_back(gelu);
    if (gelus.size() != 1)
      return false;
    OpBuilder builder(call);
    Parts parts;
    parts.postOp = PostOpKind::GeluTanh;
    parts.keepAux = !operand.hasOneUse();
    exec::MatmulOp made = rebuild(builder, call, parts, {call.getLoc(), gelus[0].getLoc()});
    replace(builder, gelus[0].getResult(), made->getResult(0));
    gelus[0]->erase();
    if (parts.keepAux)
      replace(builder, operand, made->getResult(1));
    erase(call, operand);
    ++taken;
    return true;
  }

  /// The derivative of gelu or relu that a product, the gradient of the result of these, is multiplied by.
  bool takeDerivative(exec::MatmulOp call) {
    Value gradient = viewed(call);
    if (!isPlain(call) || !gradient.hasOneUse())
      return false;
    Operation *user = *gradient.user_begin();
    if (user->getBlock() != call->getBlock())
      return false;
    ArrayRef<int64_t> shape = shapeOf(call->getResult(0));
    OpBuilder builder(user);
    Parts parts;
    if (auto gelu = dyn_cast<GeluGradOp>(user)) {
      if (!gelu.getApproximate() || gelu.getInput() == gradient)
        return false;
      parts.postOp = PostOpKind::GeluTanhGrad;
      parts.arg = reshaped(builder, user->getLoc(), gelu.getInput(), shape);
    } else {
      Value mask = findMask(user, gradient, shape);
      if (!mask)
        return false;
      parts.postOp = PostOpKind::ReluGrad;
      parts.arg = mask;
    }
    Value result = user->getResult(0);
    ReduceOp sum = findSumOfRows(result);
    if (sum)
      parts.biasGradient = MatmulValue::Result;
    exec::MatmulOp made = rebuild(builder, call, parts, {call.getLoc(), user->getLoc()});
    if (sum) {
      replace(builder, sum.getResult(), made->getResult(1));
      sum->erase();
      ++taken;
    }
    replace(builder, result, made->getResult(0));
    user->erase();
    erase(call, gradient);
    ++taken;
    return true;
  }

  /// The sum of the rows of an operand that comes from the library: no kernel that computes it could add it up on the way.
  void takeSum(exec::MatmulOp call) {
    if (!isPlain(call))
      return;
    for (auto [of, value, isTransposed] : {std::tuple(MatmulValue::B, call.getB(), !call.getTransposeB()),
                                           std::tuple(MatmulValue::A, call.getA(), call.getTransposeA())}) {
      Value stored = behindView(value);
      bool isComputed = !isa_and_present<exec::StepOpInterface>(stored.getDefiningOp());
      if (!isTransposed || shapeOf(stored).empty() || shapeOf(stored).back() != shapeOf(value).back() ||
          (isComputed && (!takesDerivatives || decide(typeOf(stored).getNumElements() < kMuch))))
        continue;
      ReduceOp sum = findSumOfRows(stored);
      if (!sum || sum->getBlock() != call->getBlock() || !llvm::all_of(sum->getUsers(), [&](Operation *user) {
            return user->getBlock() == call->getBlock() && call->isBeforeInBlock(user);
          }))
        continue;
      OpBuilder builder(call);
      Parts parts;
      parts.biasGradient = of;
      exec::MatmulOp made = rebuild(builder, call, parts, {call.getLoc(), sum.getLoc()});
      replace(builder, sum.getResult(), made->getResult(1));
      sum->erase();
      made->getResult(0).setType(call->getResult(0).getType());
      call->getResult(0).replaceAllUsesWith(made->getResult(0));
      call->erase();
      ++taken;
      return;
    }
  }

  /// Where a relu let through, when `user` is select(relu > 0, gradient, 0) and a call computes the relu.
  Value findMask(Operation *user, Value gradient, ArrayRef<int64_t> shape) {
    auto select = dyn_cast<SelectOp>(user);
    if (!select || select.getOnTrue() != gradient || !isSplat(select.getOnFalse(), 0))
      return {};
    auto compare = select.getPred().getDefiningOp<CompareOp>();
    if (!compare || compare.getComparisonDirection() != ComparisonDirection::GT || !isSplat(compare.getRhs(), 0))
      return {};
    Value relu = behindView(compare.getLhs());
    auto call = relu.getDefiningOp<exec::MatmulOp>();
    if (!call || call->getResult(0) != relu || shapeOf(relu) != shape || !isSingle(call) ||
        !call.findPostOp(PostOpKind::Relu) || call.getPostOps()->size() != 1)
      return {};
    if (call.getKeepAux())
      return call->getResult(1);
    OpBuilder builder(call);
    Parts parts;
    parts.keepAux = true;
    exec::MatmulOp made = rebuild(builder, call, parts, {call.getLoc()});
    made->getResult(0).setType(relu.getType());
    relu.replaceAllUsesWith(made->getResult(0));
    std::replace(calls.begin(), calls.end(), call, made); // it may be still to come
    call->erase();
    return made->getResult(1);
  }

  SmallVector<exec::MatmulOp> calls; // in the order of the block; those after the current one are complete
  SizeDecisions &decide;
  const bool takesDerivatives;
  unsigned taken = 0;
};

} // namespace

unsigned absorbGradients(func::FuncOp func, SizeDecisions &decide, bool takesDerivatives) {
  for (auto op : llvm::to_vector(func.getOps<GeluOp>()))
    narrow(op);
  for (auto op : llvm::to_vector(func.getOps<GeluGradOp>()))
    narrow(op);
  return GradientParts(func, decide, takesDerivatives).run();
}

} // namespace dgc
