// dgc-cut-programs: cuts functions by stage into programs joined by send and receive.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/Layout.h"
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
  IRMapping mapping;
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  SmallVector<Value> results;
  llvm::DenseSet<Value> needed; // values of the original that ops of this part, or its results, use
};

/// What the devices of a group may have different values of: parts of the batch, and what follows from them. What is
/// held whole, and what a collective over all of them has put together, is the same everywhere.
class Differences {
public:
  explicit Differences(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (isDataInput(function, argument.getArgNumber()))
        values.insert(argument);
    for (Operation &op : function.getBody().front())
      if (isa<AxisIndexOp>(op) ||
          (!unites(&op) && llvm::any_of(op.getOperands(), [&](Value operand) { return values.contains(operand); })))
        values.insert_range(op.getResults());
  }
  bool contains(Value value) const { return values.contains(value); }

private:
  static bool unites(Operation *op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective)
      return false;
    MeshAttr mesh = lookupMesh(op, collective.getMeshAttr());
    CollectiveKind kind = collective.describe().kind;
    return (kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather ||
            kind == CollectiveKind::Broadcast) &&
           getGroupSize(mesh, collective.getAxes()) * mesh.getAxisSize(kStageAxis) == mesh.getNumDevices();
  }

  llvm::DenseSet<Value> values;
};

/// Cuts one function.
class Cutter {
public:
  Cutter(func::FuncOp function, MeshOp world, ArrayRef<MeshOp> meshes)
      : function(function), world(world), uniform(function), differences(function), parts(meshes.size()) {
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
    if (Operation *op = value.getDefiningOp())
      return positionOf(stageOf(op).value_or(0));
    return positionOf(argumentStage(function, cast<BlockArgument>(value).getArgNumber()).value_or(0));
  }

  /// Every position has it, or can compute it.
  bool isAnywhere(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return uniform.contains(value) || (argument && isDataInput(function, argument.getArgNumber()));
  }

  /// Notes that a part uses a value, and what it needs to compute it.
  void need(Part &part, Value value) {
    SmallVector<Value> work{value};
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (!part.needed.insert(next).second)
        continue;
      if (!isAnywhere(next))
        parts[ownerOf(next)].needed.insert(next); // it has to be there to be sent
      else if (Operation *op = next.getDefiningOp())
        llvm::append_range(work, op->getOperands());
    }
  }

  void findNeeded() {
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator())
      if (!uniform.contains(&op))
        for (Value operand : op.getOperands())
          need(parts[positionOf(stageOf(&op).value_or(0))], operand);
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      need(parts[positionOf(resultStage(function, i).value_or(0))], value);
  }

  /// What goes to fewer devices must be the same on all that have it: the first one sends.
  LogicalResult checkTransfers() {
    for (Part &to : parts)
      for (Value value : to.needed) {
        if (isAnywhere(value) || !differences.contains(value))
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
      Block *block = part.function.addEntryBlock();
      for (BlockArgument argument : function.getArguments()) {
        bool isHere = isAnywhere(argument) || ownerOf(argument) == static_cast<int64_t>(i);
        if (!isHere || !part.needed.contains(argument))
          continue;
        part.mapping.map(argument, block->addArgument(argument.getType(), argument.getLoc()));
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
      if (&to == &from || !to.needed.contains(value))
        continue;
      auto source = FlatSymbolRefAttr::get(from.mesh.getSymNameAttr());
      auto target = FlatSymbolRefAttr::get(to.mesh.getSymNameAttr());
      OpBuilder out = OpBuilder::atBlockEnd(&from.function.getBody().front());
      OpBuilder in = OpBuilder::atBlockEnd(&to.function.getBody().front());
      ArrayAttr cause = out.getStrArrayAttr(StringRef(causeIn(value, i)));
      IntegerAttr number = out.getI64IntegerAttr(channel++ % kChannels);
      SendOp::create(out, value.getLoc(), from.mapping.lookup(value), number, source, target, cause);
      auto received = RecvOp::create(in, value.getLoc(), value.getType(), number, source, target, cause);
      to.mapping.map(value, received.getResult());
    }
  }

  /// The first op at a position that uses the value, for people.
  std::string causeIn(Value value, int64_t position) {
    for (Operation &op : *value.getParentBlock())
      if (stageOf(&op) && positionOf(*stageOf(&op)) == position && llvm::is_contained(op.getOperands(), value))
        return describe(&op);
    return "a result of " + function.getSymName().str();
  }

  void emit(Operation &op) {
    if (uniform.contains(&op)) {
      for (Part &part : parts)
        if (llvm::any_of(op.getResults(), [&](Value result) { return part.needed.contains(result); }))
          OpBuilder::atBlockEnd(&part.function.getBody().front()).clone(op, part.mapping);
      return;
    }
    Part &part = parts[positionOf(stageOf(&op).value_or(0))];
    OpBuilder::atBlockEnd(&part.function.getBody().front()).clone(op, part.mapping);
    for (Value result : op.getResults())
      transfer(result);
  }

  /// A receive moves down to the first use of what it gives, or to the next communication.
  static void delayReceives(Block &block) {
    SmallVector<RecvOp> receives(block.getOps<RecvOp>());
    for (RecvOp receive : llvm::reverse(receives)) {
      Operation *next = receive->getNextNode();
      while (!isa<CollectiveOpInterface, TransferOpInterface>(next) && !next->hasTrait<OpTrait::IsTerminator>() &&
             !llvm::is_contained(next->getOperands(), receive.getResult()))
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
        FailureOr<int64_t> transfers = Cutter(function, world, parts).run();
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
