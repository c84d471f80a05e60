// dgc-partition: rewrites functions to the shapes that one device holds.

#include "passes/partition/Passes.h"
#include "passes/partition/ReshardLowering.h"

#include "mlir/IR/IRMapping.h"

namespace dgc {
#define GEN_PASS_DEF_PARTITIONPASS
#include "passes/partition/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using namespace ::dgc;

namespace {
/// Rewrites one function.
class Partitioner {
public:
  Partitioner(func::FuncOp function, const MeshRef &mesh)
      : function(function), mesh(mesh), builder(function.getContext()) {}

  LogicalResult run() {
    if (!function.isExternal() && failed(rewriteBody()))
      return failure();
    return rewriteSignature();
  }

  unsigned numReshards = 0;

private:
  using EmitError = llvm::function_ref<InFlightDiagnostic()>;

  /// The type of the part that a device holds.
  FailureOr<Type> localType(Type type, ShardingAttr sharding, EmitError emitError) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !sharding)
      return type;
    FailureOr<SmallVector<int64_t>> shape = sharding.getLocalShape(tensor.getShape(), mesh.mesh, emitError);
    if (failed(shape))
      return failure();
    Attribute encoding = tensor.getEncoding();
    if (!sharding.getUnreduced().empty()) {
      auto names = llvm::map_to_vector(sharding.getUnreduced(), [](AxisRefAttr axis) { return axis.getName(); });
      encoding = PartialAttr::get(type.getContext(), sharding.getKind(), mesh.name, names);
    }
    return Type(RankedTensorType::get(*shape, tensor.getElementType(), encoding));
  }

  FailureOr<Type> localType(Value value, EmitError emitError) {
    if (!isa<RankedTensorType>(value.getType()))
      return value.getType();
    return localType(value.getType(), declaredSharding(value, mesh), emitError);
  }

  LogicalResult rewriteBody() {
    Block &global = function.getBody().front();
    auto *local = new Block();
    function.getBody().push_back(local);
    for (BlockArgument argument : global.getArguments()) {
      FailureOr<Type> type =
          localType(argument, [&] { return function.emitOpError() << "argument " << argument.getArgNumber() << ": "; });
      if (failed(type))
        return failure();
      mapping.map(argument, local->addArgument(*type, argument.getLoc()));
    }
    builder.setInsertionPointToEnd(local);
    for (Operation &op : global)
      if (failed(rewrite(&op)))
        return failure();
    global.dropAllReferences();
    for (Operation &op : global)
      op.dropAllUses();
    global.erase();
    return success();
  }

  LogicalResult rewriteSignature() {
    SmallVector<Type> arguments, results;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Type type = function.getArgumentTypes()[i];
      auto sharding = function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr);
      auto emitError = [&] { return function.emitOpError() << "argument " << i << ": "; };
      FailureOr<Type> local = localType(type, sharding, emitError);
      if (failed(local))
        return failure();
      arguments.push_back(*local);
      if (sharding)
        function.setArgAttr(i, kGlobalTypeAttr, TypeAttr::get(type));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      Type type = function.getResultTypes()[i];
      auto sharding = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
      auto emitError = [&] { return function.emitOpError() << "result " << i << ": "; };
      FailureOr<Type> local = localType(type, sharding, emitError);
      if (failed(local))
        return failure();
      results.push_back(*local);
      if (sharding)
        function.setResultAttr(i, kGlobalTypeAttr, TypeAttr::get(type));
    }
    function.setFunctionType(FunctionType::get(function.getContext(), arguments, results));
    return success();
  }

  LogicalResult rewrite(Operation *op) {
    if (auto reshard = dyn_cast<ReshardOp>(op))
      return rewriteReshard(reshard);
    if (auto constraint = dyn_cast<ConstraintOp>(op)) {
      mapping.map(constraint.getResult(), mapping.lookup(constraint.getInput()));
      return success();
    }
    if (auto manual = dyn_cast<ManualOp>(op)) {
      inlineManual(manual);
      return success();
    }
    return rewriteOp(op);
  }

  LogicalResult rewriteReshard(ReshardOp op) {
    ++numReshards;
    ShardingAttr from = declaredSharding(op.getInput(), mesh), to = op.getSharding();
    StringRef user = op.getCause() ? *op.getCause() : "dist.reshard";
    Value input = mapping.lookup(op.getInput());
    FailureOr<Value> value = lowerReshard(builder, op.getLoc(), mesh, input, op.getType().getShape(), from, to, user);
    if (failed(value))
      return failure();
    // What is written on the reshard, as that it must not be shared with others, holds for what it becomes.
    for (Value each = *value; each != input && each.getDefiningOp() && each.getDefiningOp()->getNumOperands() > 0;
         each = each.getDefiningOp()->getOperand(0))
      for (NamedAttribute attribute : op->getDiscardableAttrs())
        each.getDefiningOp()->setDiscardableAttr(attribute.getName(), attribute.getValue());
    mapping.map(op.getResult(), *value);
    return success();
  }

  /// What is inside is written for one device already.
  void inlineManual(ManualOp op) {
    Block &body = op.getBody().front();
    for (auto [inside, outside] : llvm::zip_equal(body.getArguments(), op.getInputs()))
      mapping.map(inside, mapping.lookup(outside));
    for (Operation &inner : body.without_terminator())
      builder.clone(inner, mapping);
    for (auto [result, value] : llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
      mapping.map(result, mapping.lookup(value));
  }

  LogicalResult rewriteOp(Operation *op) {
    SmallVector<Type> types;
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      FailureOr<Type> type = localType(result, [&, i = i] { return op->emitOpError() << "result " << i << ": "; });
      if (failed(type))
        return failure();
      types.push_back(*type);
    }
    SmallVector<Value> offsets;
    auto positional = dyn_cast<mlir::dgc::PositionalOpInterface>(op);
    Value positioned;
    if (positional) {
      int operand = positional.getPositionedOperand();
      positioned = operand < 0 ? Value(op->getResult(0)) : op->getOperand(operand);
      offsets = buildOffsets(op, positioned,
                             cast<RankedTensorType>(operand < 0 ? types[0] : mapping.lookup(positioned).getType()));
    }
    Operation *copy = builder.clone(*op, mapping);
    copy->removeAttr(kShardingsAttr);
    for (auto [result, type] : llvm::zip_equal(copy->getResults(), types))
      result.setType(type);
    if (llvm::any_of(offsets, [](Value offset) { return bool(offset); }))
      cast<mlir::dgc::PositionalOpInterface>(copy).setGlobalPosition(
          cast<RankedTensorType>(positioned.getType()).getShape(), offsets);
    auto localizable = dyn_cast<mlir::dgc::LocalizableOpInterface>(copy);
    if (localizable && failed(localizable.localize(op->getOperandTypes(), op->getResultTypes())))
      return failure();
    mlir::dgc::recordEncodings(copy);
    return checkInferred(op, copy);
  }

  /// Where this device's part of `value`, a result or operand of `op`, begins; null in dimensions that are not cut.
  SmallVector<Value> buildOffsets(Operation *op, Value value, RankedTensorType local) {
    SmallVector<Value> offsets;
    for (auto [dim, axes] : llvm::enumerate(mesh.dimsOf(declaredSharding(value, mesh))))
      offsets.push_back(axes.empty() ? Value() : buildOffset(builder, op->getLoc(), mesh, axes, local.getDimSize(dim)));
    return offsets;
  }

  /// Checks that an op gives its part when it is applied to parts.
  LogicalResult checkInferred(Operation *op, Operation *copy) {
    auto inferable = dyn_cast<InferTypeOpInterface>(copy);
    if (!inferable)
      return success();
    SmallVector<Type> inferred;
    if (failed(inferable.inferReturnTypes(copy->getContext(), copy->getLoc(), copy->getOperands(),
                                          copy->getRawDictionaryAttrs(), copy->getPropertiesStorage(),
                                          copy->getRegions(), inferred)))
      return op->emitOpError("cannot be applied to parts of its operands");
    if (mlir::dgc::equalUpToEncoding(inferred, copy->getResultTypes()))
      return success();
    return op->emitOpError() << "gives " << inferred[0] << " for parts of its operands, where a part of its result is "
                             << copy->getResult(0).getType();
  }

  func::FuncOp function;
  const MeshRef &mesh;
  OpBuilder builder;
  IRMapping mapping;
};

struct Partition : ::dgc::impl::PartitionPassBase<Partition> {
  void runOnOperation() override {
    FailureOr<MeshRef> mesh = findMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Partitioner partitioner(function, *mesh);
      if (failed(partitioner.run()))
        return signalPassFailure();
      numReshards += partitioner.numReshards;
    }
  }
};
} // namespace
