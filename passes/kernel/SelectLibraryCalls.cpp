//===- SelectLibraryCalls.cpp - dgc-select-library-calls ------------------===//

#include "dialects/dgc/TensorUtil.h"
#include "dialects/dist/Hosts.h"
#include "mlir/IR/Matchers.h"
#include "passes/kernel/LibraryCalls.h"
#include "passes/kernel/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_SELECTLIBRARYCALLS
#include "passes/kernel/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {

bool isSplat(Value value, double number) {
  DenseElementsAttr constant;
  if (auto broadcast = value.getDefiningOp<BroadcastInDimOp>())
    return isSplat(broadcast.getOperand(), number);
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat() &&
         isa<FloatType>(constant.getElementType()) && constant.getSplatValue<APFloat>().convertToDouble() == number;
}

Value reshaped(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  bool has = cast<RankedTensorType>(value.getType()).getShape() == shape;
  return has ? value : ReshapeOp::create(builder, loc, value, shape).getResult();
}

/// x when `op` is maximum(x, 0).
static Value reluOperand(Operation *op) {
  auto maximum = dyn_cast<MaximumOp>(op);
  if (!maximum)
    return {};
  if (isSplat(maximum.getRhs(), 0))
    return maximum.getLhs();
  return isSplat(maximum.getLhs(), 0) ? maximum.getRhs() : Value();
}

/// Lets comparisons x > 0 look at relu(x) instead, which holds the same: then x may be needed nowhere else.
static void compareBehindRelu(func::FuncOp func) {
  func.walk([&](MaximumOp maximum) {
    Value operand = reluOperand(maximum);
    if (!operand)
      return;
    for (OpOperand &use : llvm::make_early_inc_range(operand.getUses())) {
      auto compare = dyn_cast<CompareOp>(use.getOwner());
      if (!compare || compare->getBlock() != maximum->getBlock())
        continue;
      auto direction = compare.getComparisonDirection();
      bool positive =
          (direction == ComparisonDirection::GT && use.getOperandNumber() == 0 && isSplat(compare.getRhs(), 0)) ||
          (direction == ComparisonDirection::LT && use.getOperandNumber() == 1 && isSplat(compare.getLhs(), 0));
      if (!positive)
        continue;
      if (compare->isBeforeInBlock(maximum)) {
        // The comparison can wait, if the value is there by then.
        if (llvm::any_of(compare->getUsers(), [&](Operation *user) { return user->isBeforeInBlock(maximum); }))
          continue;
        compare->moveAfter(maximum);
      }
      use.set(maximum.getResult());
    }
  });
}

namespace {

struct SelectLibraryCalls : dgc::impl::SelectLibraryCallsBase<SelectLibraryCalls> {
  using SelectLibraryCallsBase::SelectLibraryCallsBase;

  void runOnOperation() override {
    SizeDecisions decide(getOperation(), getArgument());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      const bool isNvidia = library == LibraryKind::Nvidia &&
                            !isOnHost(getOperation(), func->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr));
      compareBehindRelu(func);
      // Those that calls are made of. What a call absorbs on the way, and erases, is none of them.
      SmallVector<Operation *> ops;
      func.walk([&](Operation *op) {
        if (op->hasTrait<StandaloneKernel>() || isa<ScatterAddOp, DynamicUpdateSliceOp>(op))
          ops.push_back(op);
      });
      SmallVector<Operation *> selected;
      for (Operation *op : ops) {
        Operation *call = selectMatmul(op, /*anyOrder=*/!isNvidia);
        if (!call && isNvidia)
          call = selectAttention(op);
        if (!call)
          call = selectConvolution(op, /*forGpus=*/isNvidia);
        if (!call && !isNvidia)
          call = selectPool(op);
        if (!call && (!isNvidia || isLargeScatterAdd(op, decide)))
          call = selectScatterAdd(op);
        if (!call)
          call = selectUpdateSlice(op);
        if (call)
          selected.push_back(call);
      }
      calls += selected.size();
      for (Operation *call : selected)
        postOps += absorbUsers(call, /*reluOnly=*/isNvidia);
      if (isNvidia && epilogues != Epilogues::Bias)
        postOps += absorbGradients(func, decide, /*takesDerivatives=*/epilogues == Epilogues::All);
    }
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// What follows a call
//===----------------------------------------------------------------------===//

/// The only user of a value.
static Operation *onlyUser(Value value) { return value.hasOneUse() ? *value.getUsers().begin() : nullptr; }

/// The vector that `value` repeats along all dimensions but the last one.
static Value repeatedVector(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  auto type = cast<RankedTensorType>(value.getType());
  if (!broadcast)
    return {};
  auto from = cast<RankedTensorType>(broadcast.getOperand().getType());
  if (from.getRank() == 1 && broadcast.getBroadcastDimensions()[0] == type.getRank() - 1 &&
      from.getDimSize(0) == type.getShape().back())
    return broadcast.getOperand();
  return {};
}

namespace {

/// A library call that takes bias and post ops, being built up.
class Absorber {
public:
  Absorber(Operation *call, bool reluOnly) : call(call), reluOnly(reluOnly), builder(call->getContext()) {
    // A product of matrices may replace one of tensors with more dimensions, of the same channels.
    auto reshape = dyn_cast_or_null<ReshapeOp>(onlyUser(call->getResult(0)));
    if (reshape && isa<exec::MatmulOp>(call) && reshape->getBlock() == call->getBlock() && !shapeOf(reshape).empty() &&
        shapeOf(reshape).back() == shapeOf(call->getResult(0)).back())
      view = reshape;
  }

  unsigned run() {
    unsigned count = 0;
    while (step())
      ++count;
    if (count)
      rebuild();
    return count;
  }

private:
  /// Takes the only user of the value in, if it can be a part of the call.
  bool step() {
    Value value = last ? last->getResult(0) : view ? view.getResult() : call->getResult(0);
    Operation *user = onlyUser(value);
    if (!user || user->getBlock() != call->getBlock() || user->getNumResults() != 1 ||
        user->getResult(0).getType() != value.getType())
      return false;
    if (auto add = dyn_cast<AddOp>(user)) {
      Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
      if (other == value)
        return false;
      Value vector = repeatedVector(other);
      if (vector && !bias && postOps.empty()) {
        bias = vector;
      } else if (vector || reluOnly || fusesBetter(add, other)) {
        return false;
      } else {
        args.push_back(other);
        postOps.push_back(postOp(exec::PostOpKind::Add, args.size() - 1));
      }
      return accept(user);
    }
    if (reluOnly) {
      // cuDNN has relu after a bias, not after a bare convolution. That of oneDNN makes zeros of NaNs, so that a loss does not
      // show them.
      const bool isTaken = postOps.empty() && reluOperand(user) == value && (bias || !isa<exec::ConvolutionOp>(call));
      return isTaken && accept(user, exec::PostOpKind::Relu);
    }
    if (isa<TanhOp>(user))
      return accept(user, exec::PostOpKind::Tanh);
    if (isa<LogisticOp>(user))
      return accept(user, exec::PostOpKind::Sigmoid);
    return false;
  }

  /// The sum of two large tensors costs nothing in a kernel that computes one of them, or that uses the sum.
  static bool fusesBetter(AddOp add, Value other) {
    auto isElementwise = [](Operation *op) { return isa_and_present<ElementwiseOpInterface>(op); };
    return isElementwise(other.getDefiningOp()) || llvm::any_of(add->getUsers(), isElementwise);
  }

  Attribute postOp(exec::PostOpKind kind, int64_t arg) {
    return exec::PostOpAttr::get(builder.getContext(), kind, arg);
  }
  bool accept(Operation *user, exec::PostOpKind kind) {
    postOps.push_back(postOp(kind, -1));
    return accept(user);
  }
  bool accept(Operation *user) {
    absorbed.push_back(user);
    last = user;
    return true;
  }

  /// The call with all that was taken in, at the place of the last op, where all of it is known.
  void rebuild() {
    builder.setInsertionPoint(last);
    SmallVector<Location> locations{call->getLoc()};
    for (Operation *op : absorbed)
      locations.push_back(op->getLoc());
    Location loc = FusedLoc::get(builder.getContext(), locations);
    ArrayAttr posts = postOps.empty() ? ArrayAttr() : builder.getArrayAttr(postOps);
    Value result;
    if (auto matmul = dyn_cast<exec::MatmulOp>(call))
      result = exec::MatmulOp::create(builder, loc, call->getResultTypes(), matmul.getA(), matmul.getB(), bias,
                                      reshapedArgs(), ValueRange(), matmul.getTransposeA(), matmul.getTransposeB(),
                                      posts, /*keep_aux=*/false, exec::MatmulValueAttr(), matmul.getAOrderAttr(),
                                      matmul.getBOrderAttr(), matmul.getOrderAttr())
                   .getResult(0);
    else if (auto conv = dyn_cast<exec::ConvolutionOp>(call))
      result = exec::ConvolutionOp::create(builder, loc, call->getResultTypes(), conv.getKind(), conv.getLhs(),
                                           conv.getRhs(), bias, args, ValueRange(), conv.getStrides(), conv.getPadLow(),
                                           conv.getPadHigh(), conv.getDilation(), conv.getGroups(), posts,
                                           conv.getWeightsOutFirst())
                   .getResult(0);
    if (view) {
      result = ReshapeOp::create(builder, loc, result, shapeOf(view));
      result.setType(last->getResult(0).getType());
    }
    last->getResult(0).replaceAllUsesWith(result);
    for (Operation *op : llvm::reverse(absorbed))
      op->erase();
    if (view)
      view->erase();
    call->erase();
  }

  /// The arguments in the shape of the call's result.
  SmallVector<Value> reshapedArgs() {
    ArrayRef<int64_t> shape = shapeOf(call->getResult(0));
    return llvm::map_to_vector(args, [&](Value arg) { return reshaped(builder, call->getLoc(), arg, shape); });
  }

  Operation *call, *last = nullptr;
  bool reluOnly;  // the library has no other post op
  ReshapeOp view; // of the call's result, which the absorbed ops see
  OpBuilder builder;
  Value bias;
  SmallVector<Value> args;
  SmallVector<Attribute> postOps;
  SmallVector<Operation *> absorbed;
};

} // namespace

unsigned absorbUsers(Operation *call, bool reluOnly) {
  if (auto conv = dyn_cast<exec::ConvolutionOp>(call); conv && conv.getKind() != exec::ConvKind::Forward)
    return 0;
  if (!isa<exec::MatmulOp, exec::ConvolutionOp>(call))
    return 0;
  return Absorber(call, reluOnly).run();
}

} // namespace dgc
