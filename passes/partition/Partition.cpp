// dgc-partition: rewrites functions to the shapes that one device holds.

#include "passes/partition/Halo.h"
#include "passes/partition/Padding.h"
#include "passes/partition/Passes.h"
#include "passes/partition/ReshardLowering.h"

#include "mlir/IR/IRMapping.h"

namespace dgc {
#define GEN_PASS_DEF_PARTITIONPASS
#include "passes/partition/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
/// Rewrites one function.
class Partitioner {
public:
  Partitioner(func::FuncOp function, const MeshRef &mesh)
      : function(function), mesh(mesh), builder(function.getContext()) {}

  LogicalResult run() {
    if (!function.isExternal() && failed(rewriteBody()))
      return failure();
    rewriteSignature();
    return success();
  }

  unsigned numReshards = 0, numMasks = 0;

private:
  /// The type of the block that a device holds, padding included.
  Type localType(Type type, ShardingAttr sharding) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !sharding)
      return type;
    SmallVector<int64_t> shape = sharding.getLocalShape(tensor.getShape(), mesh.mesh);
    Attribute encoding = tensor.getEncoding();
    if (!sharding.getUnreduced().empty()) {
      auto names = llvm::map_to_vector(sharding.getUnreduced(), [](AxisRefAttr axis) { return axis.getName(); });
      encoding = PartialAttr::get(type.getContext(), sharding.getKind(), mesh.name, names);
    }
    return RankedTensorType::get(shape, tensor.getElementType(), encoding);
  }

  Type localType(Value value) {
    if (!isa<RankedTensorType>(value.getType()))
      return value.getType();
    return localType(value.getType(), declaredSharding(value, mesh));
  }

  LogicalResult rewriteBody() {
    Block &global = function.getBody().front();
    auto *local = new Block();
    function.getBody().push_back(local);
    for (BlockArgument argument : global.getArguments())
      mapping.map(argument, local->addArgument(localType(argument), argument.getLoc()));
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

  void rewriteSignature() {
    SmallVector<Type> arguments, results;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto sharding = function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr);
      arguments.push_back(localType(type, sharding));
      if (sharding)
        function.setArgAttr(i, kGlobalTypeAttr, TypeAttr::get(type));
    }
    for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
      auto sharding = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
      results.push_back(localType(type, sharding));
      if (sharding)
        function.setResultAttr(i, kGlobalTypeAttr, TypeAttr::get(type));
    }
    function.setFunctionType(FunctionType::get(function.getContext(), arguments, results));
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
    if (auto regions = dyn_cast<RegionTiesOpInterface>(op))
      return rewriteRegions(regions);
    return rewriteOp(op);
  }

  /// A loop or branch, of which each region is rewritten as the body of a function is.
  LogicalResult rewriteRegions(RegionTiesOpInterface op) {
    Operation *copy = builder.insert(op->cloneWithoutRegions(mapping));
    copy->removeAttr(kShardingsAttr);
    copy->removeAttr(kArgumentShardingsAttr);
    for (auto [result, type] : llvm::zip_equal(copy->getResults(), op->getResults()))
      result.setType(localType(type));
    recordEncodings(copy);
    OpBuilder::InsertionGuard guard(builder);
    for (auto [from, to] : llvm::zip_equal(op->getRegions(), copy->getRegions())) {
      Block &block = to.emplaceBlock();
      for (BlockArgument argument : from.getArguments())
        mapping.map(argument, block.addArgument(localType(argument), argument.getLoc()));
      builder.setInsertionPointToEnd(&block);
      for (Operation &inner : from.front())
        if (failed(rewrite(&inner)))
          return failure();
    }
    return success();
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
    std::string where = "written in " + describe(op);
    for (Operation &inner : body.without_terminator()) {
      Operation *copy = builder.clone(inner, mapping);
      for (StringRef name : {kStageAttr, kDeviceAttr})
        if (Attribute value = op->getDiscardableAttr(name))
          copy->setDiscardableAttr(name, value);
      if (auto collective = dyn_cast<CollectiveOpInterface>(copy); collective && !collective.getOriginsAttr())
        copy->setAttr("origins", builder.getStrArrayAttr(StringRef(where)));
    }
    for (auto [result, value] : llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
      mapping.map(result, mapping.lookup(value));
  }

  LogicalResult rewriteOp(Operation *op) {
    auto types = llvm::map_to_vector(op->getResults(), [&](Value result) { return localType(result); });
    auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return mapping.lookup(operand); });
    maskReduced(op, operands);
    SmallVector<Move, 1> moves = movesOf(op);
    fetchWindows(op, moves, operands);
    SmallVector<Value> offsets;
    auto positional = dyn_cast<PositionalOpInterface>(op);
    Value positioned;
    if (positional) {
      int operand = positional.getPositionedOperand();
      positioned = operand < 0 ? Value(op->getResult(0)) : op->getOperand(operand);
      offsets = buildOffsets(op, positioned,
                             cast<RankedTensorType>(operand < 0 ? types[0] : mapping.lookup(positioned).getType()));
    }
    Operation *copy = builder.clone(*op, mapping);
    copy->removeAttr(kShardingsAttr);
    copy->setOperands(operands);
    for (auto [result, type] : llvm::zip_equal(copy->getResults(), types))
      result.setType(type);
    if (llvm::any_of(offsets, [](Value offset) { return bool(offset); }))
      cast<PositionalOpInterface>(copy).setGlobalPosition(cast<RankedTensorType>(positioned.getType()).getShape(),
                                                          offsets);
    auto localizable = dyn_cast<LocalizableOpInterface>(copy);
    if (localizable && failed(localizable.localize(op->getOperandTypes(), op->getResultTypes())))
      return failure();
    if (!moves.empty() && failed(applyToWindows(op, copy, moves)))
      return failure();
    recordEncodings(copy);
    return checkInferred(op, copy);
  }

  /// What `op` reduces over a padded dimension gets the identity of the reduction there, so that the padding does not
  /// count: in a product of several operands each of them, as the padding of one may hold a NaN. Everything else
  /// carries its padding along.
  void maskReduced(Operation *op, MutableArrayRef<Value> operands) {
    auto interface = dyn_cast<ShardingRuleOpInterface>(op);
    if (!interface || op->getNumResults() == 0)
      return;
    ShardingRule rule = interface.getShardingRule();
    for (auto [operand, local, shape] : llvm::zip_equal(op->getOperands(), operands, rule.operands)) {
      DimAxes dims = mesh.dimsOf(declaredSharding(operand, mesh));
      for (auto [dim, factors] : llvm::enumerate(shape.dims)) {
        // Several factors in one dimension are cut into equal parts only.
        if (factors.size() != 1)
          continue;
        const Factor &factor = rule.factors[factors[0]];
        int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(dim);
        if (factor.kind != FactorKind::Reduction || factor.moves || mesh.isEven(size, dims[dim]))
          continue;
        ++numMasks;
        local = maskPadding(builder, op->getLoc(), mesh, local, dim, dims[dim], size, factor.reduction);
      }
    }
  }

  /// A factor that is cut and along which elements move.
  struct Move {
    unsigned factor;
    AxisList axes;
    PartNeeds needs;
    std::optional<unsigned> resultDim;
  };

  SmallVector<Move, 1> movesOf(Operation *op) {
    SmallVector<Move, 1> moves;
    auto moving = dyn_cast<MovingOpInterface>(op);
    if (!moving)
      return moves;
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    SmallVector<AxisList> axes(rule.factors.size());
    SmallVector<std::optional<unsigned>> resultDims(rule.factors.size());
    auto visit = [&](Value value, const TensorFactors &shape, bool isResult) {
      DimAxes dims = mesh.dimsOf(declaredSharding(value, mesh));
      for (auto [dim, factors] : llvm::enumerate(shape.dims))
        for (unsigned factor : factors)
          if (rule.factors[factor].moves) {
            axes[factor] = dims[dim];
            if (isResult)
              resultDims[factor] = dim;
          }
    };
    for (auto [operand, shape] : llvm::zip_equal(op->getOperands(), rule.operands))
      visit(operand, shape, /*isResult=*/false);
    visit(op->getResult(0), rule.results[0], /*isResult=*/true);
    for (unsigned factor = 0; factor < axes.size(); ++factor)
      if (!axes[factor].empty())
        moves.push_back({factor, axes[factor], moving.getNeeds(factor, mesh.parts(axes[factor])), resultDims[factor]});
    return moves;
  }

  /// Replaces operands by the windows that the parts of the result need.
  void fetchWindows(Operation *op, ArrayRef<Move> moves, MutableArrayRef<Value> operands) {
    std::string user = describe(op);
    HaloBuilder halo(builder, op->getLoc(), mesh, user);
    for (const Move &move : moves)
      for (const OperandWindow &window : move.needs.windows) {
        Value operand = op->getOperand(window.operand);
        CutDim cut{unsigned(window.dim), cast<RankedTensorType>(operand.getType()).getDimSize(window.dim), move.axes};
        Value fill = window.fillOperand ? operands[*window.fillOperand] : Value();
        operands[window.operand] = halo.fetch(operands[window.operand], cut, window, fill);
      }
  }

  /// Lets a copy of `op` work on windows: its results become the parts, taken out of what it gives.
  LogicalResult applyToWindows(Operation *op, Operation *copy, ArrayRef<Move> moves) {
    auto moving = cast<MovingOpInterface>(copy);
    for (const Move &move : moves)
      moving.takeWindows(move.factor, move.needs);
    SmallVector<Type> inferred;
    auto part = cast<RankedTensorType>(copy->getResult(0).getType());
    if (failed(cast<InferTypeOpInterface>(copy).inferReturnTypes(
            copy->getContext(), copy->getLoc(), copy->getOperands(), copy->getRawDictionaryAttrs(),
            copy->getPropertiesStorage(), copy->getRegions(), inferred)))
      return op->emitOpError("cannot be applied to what its parts need of its operands");
    auto produced = cast<RankedTensorType>(inferred[0]);
    copy->getResult(0).setType(
        RankedTensorType::get(produced.getShape(), produced.getElementType(), part.getEncoding()));
    std::string user = describe(op);
    HaloBuilder halo(builder, op->getLoc(), mesh, user);
    Value value = copy->getResult(0);
    for (const Move &move : moves)
      if (!move.needs.crops.empty())
        value = halo.take(value, {*move.resultDim, 0, move.axes}, move.needs.crops, part.getDimSize(*move.resultDim));
    if (value.getType() != part)
      return op->emitOpError() << "gives " << value.getType()
                               << " for what its parts need of its operands, where a part "
                               << "of its result is " << part;
    mapping.map(op->getResult(0), value);
    return success();
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
    if (equalUpToEncoding(inferred, copy->getResultTypes()))
      return success();
    return op->emitOpError() << "gives " << inferred[0] << " for parts of its operands, where a part of its result is "
                             << copy->getResult(0).getType();
  }

  func::FuncOp function;
  const MeshRef &mesh;
  OpBuilder builder;
  IRMapping mapping;
};

struct Partition : dgc::impl::PartitionPassBase<Partition> {
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
      numMasks += partitioner.numMasks;
    }
  }
};
} // namespace
