// dgc-cut-programs: cuts functions by stage into programs joined by send and receive.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/Layout.h"
#include "passes/partition/Differences.h"
#include "passes/partition/Passes.h"
#include "passes/place/Stages.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_CUTPROGRAMSPASS
#include "passes/partition/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// Channels that transports have.
static constexpr int64_t kChannels = 256;

namespace {
/// The program that the devices at one position along `stage` get.
struct Part {
  MeshOp mesh;
  func::FuncOp function;
  Block *block = nullptr; // that ops are added to: of the function, or of a loop in it
  IRMapping mapping;
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  SmallVector<Value> results;
  llvm::DenseSet<Value> needed; // values of the original that ops of this part, or its results, use
};

/// Cuts one function.
class Cutter {
public:
  Cutter(func::FuncOp function, MeshOp world, ArrayRef<MeshOp> meshes, bool hasServers)
      : function(function), world(world), hasServers(hasServers), uniform(function), differences(function),
        parts(meshes.size()) {
    for (auto [part, mesh] : llvm::zip_equal(parts, meshes))
      part.mesh = mesh;
  }

  /// The number of transfers.
  FailureOr<int64_t> run() {
    numberInputsAndOutputs();
    findNeeded();
    if (failed(checkTransfers()))
      return failure();
    createFunctions();
    for (BlockArgument argument : function.getArguments())
      transfer(argument);
    for (Operation &op : function.getBody().front().without_terminator())
      emit(op);
    for (auto [i, part] : llvm::enumerate(parts))
      finish(part, i);
    function.erase();
    return channel;
  }

private:
  /// The parts have some of the inputs and outputs each: where these have no positions they get those that they have here.
  void numberInputsAndOutputs() {
    Builder builder(function.getContext());
    SmallVector<unsigned> inputs, outputs;
    bool areInputsNumbered = false, areOutputsNumbered = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      areInputsNumbered |= static_cast<bool>(function.getArgAttr(i, kArgumentAttr));
      if (isDataInput(function, i))
        inputs.push_back(i);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      areOutputsNumbered |= static_cast<bool>(function.getResultAttr(i, kResultAttr));
      if (!resultState(function, i))
        outputs.push_back(i);
    }
    for (auto [position, i] : llvm::enumerate(inputs))
      if (!areInputsNumbered)
        function.setArgAttr(i, kArgumentAttr, builder.getI64IntegerAttr(position));
    for (auto [position, i] : llvm::enumerate(outputs))
      if (!areOutputsNumbered)
        function.setResultAttr(i, kResultAttr, builder.getI64IntegerAttr(position));
  }

  int64_t positionOf(int64_t stage) const { return stage % static_cast<int64_t>(parts.size()); }

  /// Where a value that is not uniform is computed, or held.
  int64_t ownerOf(Value value) const {
    llvm::DenseSet<Value> seen;
    while (seen.insert(value).second) { // what a loop hands on is where its last round computes it
      SmallVector<Value, 2> sources = sourcesOf(value);
      if (sources.empty())
        break;
      value = sources.back();
    }
    if (Operation *op = value.getDefiningOp())
      return positionOf(stageOf(op).value_or(0));
    if (isa<WhileOp>(value.getParentBlock()->getParentOp()))
      return 0;
    return positionOf(argumentStage(function, cast<BlockArgument>(value).getArgNumber()).value_or(0));
  }

  /// Every position has it, or can compute it. Parameter servers read no data: workers send them what they need of it.
  bool isAnywhere(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return uniform.contains(value) || (!hasServers && argument && isDataInput(function, argument.getArgNumber()));
  }

  /// The argument in a loop that a result of it is in the end; null for other values.
  static BlockArgument insideOf(Value value) {
    auto loop = value.getDefiningOp<WhileOp>();
    return loop && isAcrossStages(loop) ? loop.getBody().getArgument(cast<OpResult>(value).getResultNumber())
                                        : BlockArgument();
  }

  /// Notes that a part uses a value, and what it needs to compute it.
  void need(Part &part, Value value) {
    SmallVector<std::pair<Part *, Value>> work{{&part, value}};
    while (!work.empty()) {
      auto [user, next] = work.pop_back_val();
      if (!user->needed.insert(next).second)
        continue;
      if (isInLoop(next)) { // each part carries what it needs, and gets it where it is computed
        for (Value source : sourcesOf(next))
          work.push_back({user, source});
        continue;
      }
      Part *owner = isAnywhere(next) ? user : &parts[ownerOf(next)];
      if (isCarriedIn(*user, next))
        continue;
      if (owner != user)
        work.push_back({owner, next}); // it has to be there to be sent
      else if (BlockArgument inside = insideOf(next))
        work.push_back({user, inside});
      else if (Operation *op = next.getDefiningOp(); op && isAnywhere(next))
        for (Value operand : op->getOperands())
          work.push_back({user, operand});
    }
  }

  /// True for a result of a loop that the part has, too, as it carries it for ops in the loop.
  static bool isCarriedIn(const Part &part, Value value) {
    BlockArgument inside = insideOf(value);
    return inside && part.needed.contains(inside);
  }

  /// True for an argument in the body of a loop.
  static bool isInLoop(Value value) { return isa<BlockArgument>(value) && !sourcesOf(value).empty(); }

  void findNeeded() {
    for (Operation *op : opsOnStages(function))
      if (!uniform.contains(op))
        for (Value operand : op->getOperands())
          need(parts[positionOf(stageOf(op).value_or(0))], operand);
    for (Part &part : parts) // a loop counts its rounds everywhere
      for (WhileOp loop : function.getOps<WhileOp>())
        if (isAcrossStages(loop))
          for (BlockArgument argument : loop.getCondition().getArguments())
            if (!argument.use_empty())
              need(part, loop.getBody().getArgument(argument.getArgNumber()));
    for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
      need(parts[positionOf(resultStage(function, i).value_or(0))], value);
  }

  /// What goes to fewer devices must be the same on all that have it: the first one sends.
  LogicalResult checkTransfers() {
    for (Part &to : parts)
      for (Value value : to.needed) {
        if (isInLoop(value) || isAnywhere(value) || isCarriedIn(to, value) || !differences.contains(value))
          continue;
        Part &from = parts[ownerOf(value)];
        if (from.mesh.getMesh().getNumDevices() > to.mesh.getMesh().getNumDevices())
          return emitError(value.getLoc())
                 << "this value differs between the workers, and the parameter server '" << to.mesh.getSymName()
                 << "' needs it whole; take the op that needs it off the server";
      }
    return success();
  }

  /// Makes the functions with the arguments that they use.
  void createFunctions() {
    OpBuilder builder(function);
    for (auto [i, part] : llvm::enumerate(parts)) {
      std::string name = (function.getSymName() + "_" + part.mesh.getSymName()).str();
      part.function = func::FuncOp::create(builder, function.getLoc(), name, builder.getFunctionType({}, {}));
      part.block = part.function.addEntryBlock();
      for (BlockArgument argument : function.getArguments()) {
        bool isHere = isAnywhere(argument) || ownerOf(argument) == static_cast<int64_t>(i);
        if (!isHere || !part.needed.contains(argument))
          continue;
        part.mapping.map(argument, part.block->addArgument(argument.getType(), argument.getLoc()));
        part.argumentAttributes.push_back(function.getArgAttrDict(argument.getArgNumber()));
      }
    }
  }

  /// Sends a value to every other part that needs it.
  void transfer(Value value) {
    if (isAnywhere(value))
      return;
    Part &from = parts[ownerOf(value)];
    for (auto [i, to] : llvm::enumerate(parts)) {
      if (&to == &from || !to.needed.contains(value) || isCarriedIn(to, value))
        continue;
      auto source = FlatSymbolRefAttr::get(from.mesh.getSymNameAttr());
      auto target = FlatSymbolRefAttr::get(to.mesh.getSymNameAttr());
      OpBuilder out = OpBuilder::atBlockEnd(from.block);
      OpBuilder in = OpBuilder::atBlockEnd(to.block);
      ArrayAttr cause = out.getStrArrayAttr(StringRef(causeIn(value, i)));
      IntegerAttr number = out.getI64IntegerAttr(channel++ % kChannels);
      SendOp::create(out, value.getLoc(), from.mapping.lookup(value), number, source, target, cause);
      auto received = RecvOp::create(in, value.getLoc(), value.getType(), number, source, target, cause);
      to.mapping.map(value, received.getResult());
    }
  }

  /// The first op at a position that uses the value, for people.
  std::string causeIn(Value value, int64_t position) {
    Operation *first = nullptr;
    forEachUser(value, [&](Operation *user) {
      if (stageOf(user) && positionOf(*stageOf(user)) == position &&
          (!first || (user->getBlock() == first->getBlock() && user->isBeforeInBlock(first))))
        first = user;
    });
    return first ? describe(first) : "a result of " + function.getSymName().str();
  }

  void emit(Operation &op) {
    if (isAcrossStages(&op)) {
      emitLoop(cast<WhileOp>(op));
    } else if (uniform.contains(&op)) {
      for (Part &part : parts)
        if (llvm::any_of(op.getResults(), [&](Value result) { return part.needed.contains(result); }))
          OpBuilder::atBlockEnd(part.block).clone(op, part.mapping);
      return;
    } else {
      Part &part = parts[positionOf(stageOf(&op).value_or(0))];
      OpBuilder::atBlockEnd(part.block).clone(op, part.mapping);
    }
    for (Value result : op.getResults())
      transfer(result);
  }

  /// A loop in each part, with what that needs of what is carried and of the rest.
  void emitLoop(WhileOp loop) {
    Block &body = loop.getBody().front(), &condition = loop.getCondition().front();
    SmallVector<WhileOp> loops;
    SmallVector<Block *> outside;
    for (Part &part : parts) {
      SmallVector<Value> carried, invariants;
      SmallVector<Type> types;
      SmallVector<unsigned> numbers;
      for (BlockArgument argument : body.getArguments()) {
        if (!part.needed.contains(argument))
          continue;
        const unsigned i = argument.getArgNumber();
        const bool isCarried = i < loop.getCarried().size();
        (isCarried ? carried : invariants).push_back(part.mapping.lookup(loop->getOperand(i)));
        numbers.push_back(i);
        if (isCarried)
          types.push_back(argument.getType());
      }
      OpBuilder builder = OpBuilder::atBlockEnd(part.block);
      auto own = WhileOp::create(builder, loop.getLoc(), types, carried, invariants, loop.getRoundsAttr());
      own->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
      IRMapping decided;
      for (Region *region : own.getRegions()) {
        Block *block = builder.createBlock(region);
        for (unsigned i : numbers) {
          BlockArgument argument = body.getArgument(i);
          Value copy = block->addArgument(argument.getType(), argument.getLoc());
          if (region == &own.getBody())
            part.mapping.map(argument, copy);
          else
            decided.map(condition.getArgument(i), copy);
        }
      }
      builder.setInsertionPointToEnd(&own.getCondition().front());
      for (Operation &op : condition)
        builder.clone(op, decided);
      loops.push_back(own);
      outside.push_back(std::exchange(part.block, &own.getBody().front()));
    }
    for (Operation &op : body.without_terminator())
      emit(op);
    for (auto [part, own, before] : llvm::zip_equal(parts, loops, outside)) {
      SmallVector<Value> next;
      unsigned position = 0;
      for (auto [argument, value, result] :
           llvm::zip(body.getArguments(), body.getTerminator()->getOperands(), loop.getResults()))
        if (part.needed.contains(argument)) {
          next.push_back(part.mapping.lookup(value));
          part.mapping.map(result, own.getResult(position++));
        }
      OpBuilder builder = OpBuilder::atBlockEnd(part.block);
      YieldOp::create(builder, loop.getLoc(), next);
      delayReceives(*part.block);
      part.block = before;
    }
  }

  /// A receive moves down to the first use of what it gives, or to the next communication.
  static void delayReceives(Block &block) {
    SmallVector<RecvOp> receives(block.getOps<RecvOp>());
    for (RecvOp receive : llvm::reverse(receives)) {
      Operation *next = receive->getNextNode();
      while (!isa<CollectiveOpInterface, TransferOpInterface>(next) && !next->hasTrait<OpTrait::IsTerminator>() &&
             next->getNumRegions() == 0 && !llvm::is_contained(next->getOperands(), receive.getResult()))
        next = next->getNextNode();
      receive->moveBefore(next);
    }
  }

  void finish(Part &part, int64_t position) {
    Block &block = part.function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
      if (positionOf(resultStage(function, i).value_or(0)) == position) {
        part.results.push_back(part.mapping.lookup(value));
        part.resultAttributes.push_back(function.getResultAttrDict(i));
      }
    func::ReturnOp::create(builder, function.getLoc(), part.results);
    auto orEmpty = [&](DictionaryAttr attributes) -> Attribute {
      return attributes ? attributes : builder.getDictionaryAttr({});
    };
    part.function.setFunctionType(
        builder.getFunctionType(block.getArgumentTypes(), TypeRange(ValueRange(part.results))));
    part.function.setAllArgAttrs(llvm::map_to_vector(part.argumentAttributes, orEmpty));
    part.function.setAllResultAttrs(llvm::map_to_vector(part.resultAttributes, orEmpty));
    delayReceives(block);
    rename(part);
    part.function->setAttr(kStepAttr, function.getSymNameAttr());
    part.function->setAttr(kMeshAttr, FlatSymbolRefAttr::get(part.mesh.getSymNameAttr()));
  }

  /// What names the mesh of all devices is about those of the part here.
  void rename(Part &part) {
    auto all = FlatSymbolRefAttr::get(world.getSymNameAttr());
    auto here = FlatSymbolRefAttr::get(part.mesh.getSymNameAttr());
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](FlatSymbolRefAttr name) { return name == all ? here : name; });
    replacer.recursivelyReplaceElementsIn(part.function, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }

  func::FuncOp function;
  MeshOp world;
  bool hasServers;
  UniformValues uniform;
  Differences differences;
  std::vector<Part> parts;
  int64_t channel = 0; // transfers so far
};

struct CutPrograms : dgc::impl::CutProgramsPassBase<CutPrograms> {
  using CutProgramsPassBase::CutProgramsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool found = false;
    module.walk([&](Operation *op) { found |= stageOf(op).has_value(); });
    auto meshes = llvm::to_vector(module.getOps<MeshOp>());
    MeshOp world = meshes.empty() ? MeshOp() : meshes.front();
    int64_t stages = world ? world.getMesh().getAxisSize(kStageAxis) : 0;
    if (!found || stages <= 1)
      return markAllAnalysesPreserved();
    if (world.getMesh().getAxisIndex(kStageAxis) != 0) {
      world.emitError() << "the axis \"stage\" must be the first one of the mesh, so that each stage is a range of "
                           "ranks; as in --mesh stage="
                        << stages << ",data=2";
      return signalPassFailure();
    }
    SmallVector<MeshOp> parts = createMeshes(world, stages);
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!function.isExternal() && !function->hasAttr(kStepAttr)) {
        FailureOr<int64_t> transfers = Cutter(function, world, parts, servers > 0).run();
        if (failed(transfers))
          return signalPassFailure();
        numTransfers += *transfers;
      }
  }

  /// A mesh for each position along `stage`: the same axes, with one position there; for a server with one everywhere.
  SmallVector<MeshOp> createMeshes(MeshOp world, int64_t stages) {
    SmallVector<MeshOp> parts;
    OpBuilder builder(world);
    builder.setInsertionPointAfter(world);
    MeshAttr mesh = world.getMesh();
    int64_t each = mesh.getNumDevices() / stages, workers = stages - servers, first = 0;
    for (int64_t i = 0; i < stages; ++i) {
      SmallVector<MeshAxisAttr> axes(mesh.getAxes());
      for (MeshAxisAttr &axis : i < workers ? MutableArrayRef(axes).take_front() : MutableArrayRef(axes))
        axis = MeshAxisAttr::get(&getContext(), axis.getName(), 1);
      std::string name = (i >= workers ? "ps" + Twine(i - workers)
                          : servers    ? Twine("workers")
                                       : "stage" + Twine(i))
                             .str();
      parts.push_back(MeshOp::create(builder, world.getLoc(), name, MeshAttr::get(&getContext(), axes, first)));
      if (i >= workers && hostServers)
        parts.back()->setAttr(kDeviceAttr, DeviceAttr::get(&getContext(), builder.getStringAttr("cpu:0")));
      first += i < workers ? each : 1;
    }
    return parts;
  }
};
} // namespace
