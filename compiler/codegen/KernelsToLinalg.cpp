//===- KernelsToLinalg.cpp - dgc-lower-kernels-to-linalg ------------------===//

#include "compiler/codegen/Lowering.h"
#include "compiler/codegen/Passes.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

namespace dgc {
#define GEN_PASS_DEF_LOWERKERNELSTOLINALG
#include "compiler/codegen/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {

/// The type that holds the elements of `type`: signless, without encoding.
static Type storageType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return RankedTensorType::get(tensor.getShape(), storageType(tensor.getElementType()));
  return type;
}

/// linalg.generic with identity maps around the scalar body of an elementwise op.
static FailureOr<Value> lowerElementwise(ElementwiseOpInterface op, OpBuilder &builder, ValueRange operands) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(storageType(op->getResult(0).getType()));
  for (Value operand : operands)
    if (cast<RankedTensorType>(operand.getType()).getShape() != type.getShape())
      return op.emitOpError("operands and result must have the same shape");
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  SmallVector<AffineMap> maps(operands.size() + 1, builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> kinds(type.getRank(), utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, operands, empty, maps, kinds, [&](OpBuilder &inner, Location innerLoc, ValueRange arguments) {
        Value result = op.buildScalar(inner, innerLoc, arguments.take_front(operands.size()));
        linalg::YieldOp::create(inner, innerLoc, result);
      });
  return generic.getResult(0);
}

static FailureOr<SmallVector<Value>> lowerOp(Operation &op, OpBuilder &builder, ValueRange operands) {
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op)) {
    FailureOr<Value> result = lowerElementwise(elementwise, builder, operands);
    if (failed(result))
      return failure();
    return SmallVector<Value>{*result};
  }
  if (auto lowerable = dyn_cast<LinalgLowerableOpInterface>(op))
    return lowerable.lowerToLinalg(builder, operands);
  ElementsAttr value;
  if (op.getNumResults() == 1 && op.getNumOperands() == 0 && matchPattern(&op, m_Constant(&value))) {
    auto dense = dyn_cast<DenseElementsAttr>(value);
    if (!dense)
      return op.emitOpError("must be a dense constant"), failure();
    auto type = cast<RankedTensorType>(storageType(op.getResult(0).getType()));
    dense = DenseElementsAttr::getFromRawBuffer(type, dense.getRawData());
    return SmallVector<Value>{arith::ConstantOp::create(builder, op.getLoc(), dense)};
  }
  // Ops below dgc stay as they are.
  if (!isa_and_present<DGCDialect>(op.getDialect())) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    if (!captured.empty()) {
      InFlightDiagnostic error =
          op.emitOpError("has a region that uses a value from outside: in a kernel that must be an "
                         "operand of the op, or be computed in the region");
      error.attachNote(captured.front().getLoc()) << "the value";
      return error;
    }
    IRMapping mapping;
    for (auto [from, to] : llvm::zip_equal(op.getOperands(), operands))
      mapping.map(from, to);
    Operation *copy = builder.clone(op, mapping);
    return SmallVector<Value>(copy->getResults());
  }
  return op.emitOpError("cannot be part of a kernel: it has neither a scalar body nor a lowering to linalg"), failure();
}

LogicalResult lowerKernelToLinalg(func::FuncOp func) {
  Block &old = func.getBody().front();
  SmallVector<Type> inputs, results;
  for (Type type : func.getArgumentTypes())
    inputs.push_back(storageType(type));
  for (Type type : func.getResultTypes())
    results.push_back(storageType(type));
  for (Type type : llvm::concat<Type>(inputs, results))
    if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
      return func.emitOpError("kernels are on tensors of known shape, not on ") << type;

  auto *block = new Block;
  func.getBody().push_back(block);
  DenseMap<Value, Value> lowered;
  for (auto [argument, type] : llvm::zip_equal(old.getArguments(), inputs))
    lowered[argument] = block->addArgument(type, argument.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  for (Operation &op : old) {
    SmallVector<Value> operands =
        llvm::map_to_vector(op.getOperands(), [&](Value value) { return lowered.lookup(value); });
    if (isa<func::ReturnOp>(op)) {
      func::ReturnOp::create(builder, op.getLoc(), operands);
      continue;
    }
    if (isOpTriviallyDead(&op))
      continue;
    FailureOr<SmallVector<Value>> values = lowerOp(op, builder, operands);
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op.getResults(), *values)) {
      if (value.getType() != storageType(result.getType()))
        return op.emitOpError("is lowered to ") << value.getType() << " instead of " << storageType(result.getType());
      lowered[result] = value;
    }
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(old)))
    op.erase();
  old.erase();
  // Ops that a lowering built and nothing uses.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  func.setFunctionType(builder.getFunctionType(inputs, results));
  return success();
}

std::vector<int32_t> inplaceOf(func::FuncOp kernel) {
  std::vector<int32_t> result(kernel.getNumResults(), -1);
  if (auto inplace = kernel->getAttrOfType<DenseI64ArrayAttr>(kInplaceAttr))
    llvm::copy(inplace.asArrayRef(), result.begin());
  return result;
}

LogicalResult forEachKernel(ModuleOp kernels, llvm::function_ref<LogicalResult(func::FuncOp)> use) {
  loadKernelDialects(*kernels.getContext());
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(kernels->clone());
  for (func::FuncOp func : copy->getOps<func::FuncOp>())
    if (!func.isExternal() && (failed(lowerKernelToLinalg(func)) || failed(use(func))))
      return failure();
  return success();
}

namespace {
struct LowerKernelsToLinalg : dgc::impl::LowerKernelsToLinalgBase<LowerKernelsToLinalg> {
  void runOnOperation() override {
    auto walk = getOperation()->walk(
        [](func::FuncOp func) { return WalkResult(func.isExternal() ? success() : lowerKernelToLinalg(func)); });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

} // namespace dgc
