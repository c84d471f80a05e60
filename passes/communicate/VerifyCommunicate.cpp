// dgc-verify-communicate: proves that communication comes to an end.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "passes/communicate/Passes.h"
#include "passes/communicate/Uniformity.h"
#include "runtime/artifact/CommunicationOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYCOMMUNICATEPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;
using rt::Communication;
using rt::CommunicationPlan;

namespace {
/// Writes down what each device does in functions that run at the same time.
///
/// What is in a loop is there once. That proves it for all rounds: where a loop has transfers, all devices that have such
/// loops are taken to wait for each other where it begins and where it ends, so one round is followed by the same one of
/// all; and what is sent in a loop is received in one.
class PlanBuilder {
public:
  explicit PlanBuilder(ArrayRef<func::FuncOp> functions) {
    for (func::FuncOp function : functions) {
      bool hasLoops = false;
      function.walk([&](WhileOp loop) { hasLoops |= hasTransfers(loop.getBody()); });
      auto name = function->getAttrOfType<FlatSymbolRefAttr>(kMeshAttr);
      MeshAttr mesh = hasLoops && name ? lookupMesh(function, name) : MeshAttr();
      if (!mesh)
        continue; // addLoop says so
      for (int64_t device = 0; device < mesh.getNumDevices(); ++device)
        inLoops.push_back(mesh.getFirst() + device);
    }
    if (!inLoops.empty())
      plan.groups.push_back(inLoops);
  }

  LogicalResult add(func::FuncOp function) {
    int64_t next = 0;
    return add(function.getBody().front(), next);
  }

  const CommunicationPlan &getPlan() const { return plan; }

private:
  static bool hasTransfers(Region &region) {
    return region
        .walk([](Operation *inside) {
          return isa<TransferOpInterface>(inside) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  LogicalResult add(Block &block, int64_t &next) {
    for (Operation &op : block) {
      if (auto done = dyn_cast<DoneOp>(op))
        addCollective(done.getInputs()[0].getDefiningOp<CollectiveOpInterface>(), "the end of ");
      const bool isJoint = llvm::any_of(op.getRegions(), hasTransfers);
      auto loop = dyn_cast<WhileOp>(op);
      if (isJoint && (!loop || !loop.getRounds() || !op.hasAttr(kCountedAttr) || hasTransfers(loop.getCondition())))
        return op.emitOpError(
            "sends or receives in it, and other devices may do another number of rounds: only the body of a "
            "loop that is counted (rounds, dgc.counted) may have transfers");
      depth += isJoint;
      if (isJoint && failed(addLoop(loop, "the beginning of ")))
        return failure();
      for (Region &region : op.getRegions())
        for (Block &inside : region)
          if (failed(add(inside, next)))
            return failure();
      if (isJoint && failed(addLoop(loop, "the end of ")))
        return failure();
      depth -= isJoint;
      if (!isa<CollectiveOpInterface, TransferOpInterface>(op))
        continue;
      auto order = op.getAttrOfType<IntegerAttr>(kOrderAttr);
      if (!order || order.getInt() != next)
        return op.emitOpError() << "is number " << next << " in the order of communication, and says "
                                << (order ? std::to_string(order.getInt()) : std::string("nothing of it"))
                                << "; dgc-order-collectives numbers all of them";
      ++next;
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        addCollective(collective, "");
      else
        addTransfer(cast<TransferOpInterface>(op));
    }
    return success();
  }

  /// All devices with such loops come to it together.
  LogicalResult addLoop(WhileOp loop, StringRef which) {
    auto name = loop->getParentOfType<func::FuncOp>()->getAttrOfType<FlatSymbolRefAttr>(kMeshAttr);
    MeshAttr mesh = name ? lookupMesh(loop, name) : MeshAttr();
    if (!mesh)
      return loop.emitOpError("has transfers, and its function does not say which devices run it (dist.mesh)");
    std::string text = (which + "a loop of " + Twine(loop.getRounds().value_or(0)) + " rounds").str();
    const uint32_t signature = intern(text, signatureNumbers, plan.signatures), location = locationOf(loop);
    for (int64_t device = 0; device < mesh.getNumDevices(); ++device)
      worker(mesh.getFirst() + device).push_back({Communication::Kind::Collective, 0, signature, 0, 0, location});
    return success();
  }

  /// The number of a text in a table; appends it when it is new.
  static uint32_t intern(const std::string &text, llvm::StringMap<uint32_t> &numbers, std::vector<std::string> &table) {
    auto [it, isNew] = numbers.try_emplace(text, table.size());
    if (isNew)
      table.push_back(text);
    return it->second;
  }

  uint32_t signatureOf(std::string text, TypeRange types) {
    llvm::raw_string_ostream os(text);
    for (Type type : types)
      os << ' ' << dropEncoding(cast<RankedTensorType>(type));
    return intern(text, signatureNumbers, plan.signatures);
  }

  /// What must be the same on all sides: all that the collective does, and the types.
  uint32_t signatureOf(CollectiveOpInterface op, StringRef which) {
    CollectiveDescription description = op.describe();
    std::string text = (which + op->getName().getStringRef()).str() + inLoopsText();
    llvm::raw_string_ostream os(text);
    if (description.reduction)
      os << ' ' << stringifyReduction(*description.reduction);
    for (int64_t dim : description.dims)
      os << " dim " << dim;
    if (description.root != 0)
      os << " root " << description.root;
    if (!description.permutation.empty())
      llvm::interleave(description.permutation, os << " to ", ",");
    return signatureOf(std::move(text), op->getOperandTypes());
  }

  /// What is communicated in a loop that others go through, too, is so on all sides.
  std::string inLoopsText() const { return depth ? " in " + std::to_string(depth) + " loops" : ""; }

  uint32_t locationOf(Operation *op) {
    std::string text;
    llvm::raw_string_ostream os(text);
    op->getLoc().print(os);
    return intern(text, locationNumbers, plan.places);
  }

  std::vector<Communication> &worker(uint32_t rank) {
    if (plan.workers.size() <= rank)
      plan.workers.resize(rank + 1);
    return plan.workers[rank];
  }

  /// The groups that axes of a mesh span, by their numbers in the plan.
  ArrayRef<uint32_t> groupsOf(MeshAttr mesh, ArrayAttr axes) {
    auto [it, isNew] = groups.try_emplace({mesh, axes});
    if (!isNew)
      return it->second;
    // Devices that agree in all other axes form a group.
    llvm::MapVector<int64_t, std::vector<uint32_t>> members;
    for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
      int64_t rest = 0, left = device, stride = 1;
      for (MeshAxisAttr axis : llvm::reverse(mesh.getAxes())) {
        if (!llvm::is_contained(axes, axis.getName()))
          rest += left % axis.getSize() * stride;
        left /= axis.getSize();
        stride *= axis.getSize();
      }
      members[rest].push_back(mesh.getFirst() + device);
    }
    for (auto &[rest, ranks] : members) {
      it->second.push_back(plan.groups.size());
      plan.groups.push_back(std::move(ranks));
    }
    return it->second;
  }

  /// `which` says what of the op it is: its end, where that is another place.
  void addCollective(CollectiveOpInterface op, StringRef which) {
    MeshAttr mesh = lookupMesh(op, op.getMeshAttr());
    uint32_t signature = signatureOf(op, which);
    uint32_t location = locationOf(op);
    for (uint32_t group : groupsOf(mesh, op.getAxes()))
      for (uint32_t rank : plan.groups[group])
        worker(rank).push_back({Communication::Kind::Collective, group, signature, 0, 0, location});
  }

  /// What one device sends to another.
  static RankedTensorType typeOfPart(TransferOpInterface op, int64_t sources, int64_t targets) {
    RankedTensorType type = op.getTransferType();
    if (!op.getGathered())
      return type;
    SmallVector<int64_t> shape(type.getShape());
    shape[0] /= op.isSend() ? targets : sources;
    return type.clone(shape);
  }

  void addTransfer(TransferOpInterface op) {
    MeshAttr source = lookupMesh(op, op.getSourceAttr()), target = lookupMesh(op, op.getTargetAttr());
    bool sends = op.isSend();
    uint32_t location = locationOf(op), channel = op.getChannel();
    uint32_t sources = source.getNumDevices(), targets = target.getNumDevices();
    uint32_t signature = signatureOf("transfer" + inLoopsText(), Type(typeOfPart(op, sources, targets)));
    auto kind = sends ? Communication::Kind::Send : Communication::Kind::Receive;
    for (uint32_t position = 0; position < sources; ++position)
      for (uint32_t other : rt::targetsOf(position, sources, targets, op.getGathered())) {
        uint32_t from = source.getFirst() + position, to = target.getFirst() + other;
        worker(std::max(from, to));
        worker(sends ? from : to).push_back({kind, 0, signature, channel, sends ? to : from, location});
      }
  }

  CommunicationPlan plan;
  int depth = 0;                 // of loops with transfers
  std::vector<uint32_t> inLoops; // the devices that have loops with transfers: group 0, if there are any
  llvm::StringMap<uint32_t> signatureNumbers, locationNumbers;
  DenseMap<std::pair<Attribute, Attribute>, SmallVector<uint32_t>> groups;
};
} // namespace

/// Proves that the communication of each step comes to an end.
static LogicalResult verifyCommunication(ModuleOp module) {
  // Functions of one step run at the same time; others by themselves.
  llvm::MapVector<StringRef, SmallVector<func::FuncOp>> steps;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto step = function->getAttrOfType<StringAttr>(kStepAttr);
    steps[step ? step.getValue() : function.getSymName()].push_back(function);
  }
  for (auto &[name, functions] : steps) {
    PlanBuilder builder(functions);
    for (func::FuncOp function : functions)
      if (failed(verifyUniform(function)) || failed(builder.add(function)))
        return failure();
    if (std::optional<std::string> error = rt::findCommunicationError(builder.getPlan()))
      return functions[0].emitOpError() << "does not come to an end: " << *error;
  }
  return success();
}

namespace {
struct VerifyCommunicate : dgc::impl::VerifyCommunicatePassBase<VerifyCommunicate> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    if (failed(verifyCommunication(getOperation())))
      signalPassFailure();
  }
};
} // namespace
