// dgc-take-shardings: meshes and shardings of the dialect `sdy` as those of `dist`.

#include "compiler/import/Passes.h"
#include "compiler/import/Sdy.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <set>

namespace dgc {
#define GEN_PASS_DEF_TAKESHARDINGSPASS
#include "compiler/import/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

static constexpr llvm::StringLiteral kSdyShardingAttr = "sdy.sharding";

namespace {

/// A piece of an axis that shardings use parts of: `begin` and `end` are products of the sizes before it and with it.
struct Piece {
  std::string name;
  int64_t begin, end;
};

/// An axis of a mesh, by both names.
using AxisName = std::pair<StringRef, StringRef>;

/// Sdy.h says how the attributes of `sdy` look.
class Taker {
public:
  explicit Taker(ModuleOp module) : module(module), builder(module.getContext()) {}

  LogicalResult run();
  unsigned taken = 0;

private:
  void collectParts(Attribute attribute);
  LogicalResult takeMesh(Operation *op);
  LogicalResult takeAxis(Operation *op, AxisName axis, int64_t size);
  LogicalResult takeFunction(func::FuncOp function);
  LogicalResult takeConstraint(Operation *op);
  LogicalResult takeManual(Operation *op);
  LogicalResult takeAll(Operation *op, ArrayAttr shardings, TypeRange types, SmallVectorImpl<Attribute> &own);
  /// Null where the value is only said to be somewhere, on a mesh without axes.
  FailureOr<dist::ShardingAttr> shardingOf(Operation *op, Attribute attribute, Type type);
  FailureOr<SmallVector<dist::AxisRefAttr>> axesOf(function_ref<InFlightDiagnostic()> emit, StringRef mesh,
                                                   ArrayAttr uses);

  ModuleOp module;
  OpBuilder builder;
  std::map<AxisName, std::set<int64_t>> cuts; // where parts of an axis begin and end
  std::map<AxisName, SmallVector<Piece>> pieces;
};

} // namespace

/// Notes the parts of axes that a sharding uses.
void Taker::collectParts(Attribute attribute) {
  auto sharding = dyn_cast_or_null<DictionaryAttr>(attribute);
  auto mesh = sharding ? sharding.getAs<FlatSymbolRefAttr>("mesh") : FlatSymbolRefAttr();
  if (!mesh || !import::isSdySharding(sharding))
    return; // refused where it is taken
  SmallVector<ArrayAttr> lists{sharding.getAs<ArrayAttr>("replicated")};
  for (auto dim : sharding.getAs<ArrayAttr>("dims").getAsRange<DictionaryAttr>())
    lists.push_back(dim.getAs<ArrayAttr>("axes"));
  for (ArrayAttr list : lists)
    for (auto use : list.getAsRange<DictionaryAttr>())
      if (auto size = use.getAs<IntegerAttr>("size")) {
        const int64_t begin = use.getAs<IntegerAttr>("pre_size").getInt();
        auto &all = cuts[{mesh.getValue(), use.getAs<StringAttr>("name").getValue()}];
        int64_t end = 0;
        all.insert({begin, llvm::MulOverflow(begin, size.getInt(), end) ? 0 : end});
      }
}

/// Splits an axis into the pieces that its parts are made of: `x_0`, the major one, `x_1` ..
LogicalResult Taker::takeAxis(Operation *op, AxisName axis, int64_t size) {
  SmallVector<Piece> &own = pieces[axis];
  auto found = cuts.find(axis);
  if (found == cuts.end()) {
    own.push_back({axis.second.str(), 1, size});
    return success();
  }
  std::set<int64_t> ends = found->second;
  ends.insert({1, size});
  int64_t before = 0;
  for (const int64_t end : ends) {
    if (end < 1 || end > size || (before != 0 && end % before != 0))
      return op->emitError() << "axis \"" << axis.second << "\" of size " << size
                             << " has no parts that begin or end at " << (end < 1 || end > size ? end : before)
                             << " and " << (end < 1 || end > size ? size : end) << ": each has to divide the next";
    if (before != 0)
      own.push_back({(axis.second + "_" + Twine(own.size())).str(), before, end});
    before = end;
  }
  return success();
}

/// The axes of a mesh; those of size 1 are kept, as shardings may name them.
LogicalResult Taker::takeMesh(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("sym_name");
  auto mesh = op->getAttrOfType<DictionaryAttr>("mesh");
  if (!name || !import::isSdyMesh(mesh))
    return op->emitError("a mesh has a name and axes, each with a name and a size: sdy.mesh @mesh = <[\"x\"=2]>");
  auto emit = [&] { return op->emitError(); };
  SmallVector<dist::MeshAxisAttr> own;
  for (auto axis : mesh.getAs<ArrayAttr>("axes").getAsRange<DictionaryAttr>()) {
    auto axisName = axis.getAs<StringAttr>("name");
    const int64_t size = axis.getAs<IntegerAttr>("size").getInt();
    if (failed(dist::MeshAxisAttr::verify(emit, axisName, size)) ||
        failed(takeAxis(op, {name.getValue(), axisName.getValue()}, size)))
      return failure();
    for (const Piece &piece : pieces[{name.getValue(), axisName.getValue()}])
      own.push_back(
          dist::MeshAxisAttr::get(builder.getContext(), builder.getStringAttr(piece.name), piece.end / piece.begin));
  }
  if (!own.empty()) {
    if (failed(dist::MeshAttr::verify(emit, own, /*first=*/0)))
      return failure();
    builder.setInsertionPoint(op);
    dist::MeshOp::create(builder, op->getLoc(), name, dist::MeshAttr::get(builder.getContext(), own, /*first=*/0));
  }
  op->erase();
  return success();
}

/// The axes of a mesh that are used, those that were split by their pieces.
FailureOr<SmallVector<dist::AxisRefAttr>> Taker::axesOf(function_ref<InFlightDiagnostic()> emit, StringRef mesh,
                                                        ArrayAttr uses) {
  MLIRContext *context = builder.getContext();
  auto user = dist::OriginAttr::get(context, dist::OriginKind::User, builder.getStringAttr(""));
  SmallVector<dist::AxisRefAttr> axes;
  for (auto use : uses.getAsRange<DictionaryAttr>()) {
    auto name = use.getAs<StringAttr>("name");
    auto found = pieces.find({mesh, name.getValue()});
    if (failed(dist::AxisRefAttr::verify(emit, name, user)))
      return failure();
    if (found == pieces.end()) // refused as one that the mesh does not have
      axes.push_back(dist::AxisRefAttr::get(context, name, user));
    auto size = use.getAs<IntegerAttr>("size");
    const int64_t begin = size ? use.getAs<IntegerAttr>("pre_size").getInt() : 1;
    for (const Piece &piece : found == pieces.end() ? ArrayRef<Piece>() : ArrayRef(found->second))
      if (!size || (piece.begin >= begin && piece.end <= begin * size.getInt()))
        axes.push_back(dist::AxisRefAttr::get(context, builder.getStringAttr(piece.name), user));
  }
  return axes;
}

FailureOr<dist::ShardingAttr> Taker::shardingOf(Operation *op, Attribute attribute, Type type) {
  auto emit = [&] { return op->emitError() << "a sharding of " << type << ": "; };
  auto sharding = dyn_cast_or_null<DictionaryAttr>(attribute);
  auto mesh = sharding ? sharding.getAs<FlatSymbolRefAttr>("mesh") : FlatSymbolRefAttr();
  if (!mesh)
    return op->emitError("a sharding names no mesh of the program: meshes are declared, as `sdy.mesh @mesh = <..>`");
  if (!import::isSdySharding(sharding))
    return emit() << "it is of another form than #sdy.sharding<@mesh, [{\"x\"}, {?}], replicated={\"y\"}>";
  if (sharding.contains("unreduced"))
    return op->emitError(
        "a sharding has unreduced axes, which is not supported: values that go in and out are whole or cut");
  if (!module.lookupSymbol<dist::MeshOp>(mesh.getValue()))
    return dist::ShardingAttr();
  SmallVector<dist::DimShardingAttr> dims;
  for (auto dim : sharding.getAs<ArrayAttr>("dims").getAsRange<DictionaryAttr>()) {
    const auto axes = axesOf(emit, mesh.getValue(), dim.getAs<ArrayAttr>("axes"));
    if (failed(axes))
      return failure();
    const bool isOpen = !dim.getAs<BoolAttr>("is_closed").getValue();
    const int64_t round = isOpen || !axes->empty() ? dim.getAs<IntegerAttr>("priority").getInt() : 0;
    if (failed(dist::DimShardingAttr::verify(emit, *axes, isOpen, round)))
      return failure();
    dims.push_back(dist::DimShardingAttr::get(builder.getContext(), *axes, isOpen, round));
  }
  const auto replicated = axesOf(emit, mesh.getValue(), sharding.getAs<ArrayAttr>("replicated"));
  if (failed(replicated) || failed(dist::ShardingAttr::verify(emit, mesh, dims, *replicated, dist::Reduction::Sum, {})))
    return failure();
  auto made = dist::ShardingAttr::get(builder.getContext(), mesh, dims, *replicated, dist::Reduction::Sum, {});
  return failed(made.verifyFor(type, op, emit)) ? FailureOr<dist::ShardingAttr>() : made;
}

LogicalResult Taker::takeFunction(func::FuncOp function) {
  auto take = [&](Attribute attribute, Type type, function_ref<void(Attribute)> set) -> LogicalResult {
    if (!attribute)
      return success();
    FailureOr<dist::ShardingAttr> sharding = shardingOf(function, attribute, type);
    if (failed(sharding))
      return failure();
    if (*sharding) {
      set(*sharding);
      ++taken;
    }
    return success();
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Attribute attribute = function.removeArgAttr(i, builder.getStringAttr(kSdyShardingAttr));
    if (failed(take(attribute, function.getArgumentTypes()[i],
                    [&](Attribute own) { function.setArgAttr(i, dist::kShardingAttr, own); })))
      return failure();
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Attribute attribute = function.removeResultAttr(i, builder.getStringAttr(kSdyShardingAttr));
    if (failed(take(attribute, function.getResultTypes()[i],
                    [&](Attribute own) { function.setResultAttr(i, dist::kShardingAttr, own); })))
      return failure();
  }
  return success();
}

static bool isInManual(Operation *op) {
  while ((op = op->getParentOp()))
    if (op->getName().getStringRef() == "sdy.manual_computation")
      return true;
  return false;
}

LogicalResult Taker::takeConstraint(Operation *op) {
  FailureOr<dist::ShardingAttr> sharding = shardingOf(op, op->getAttr("sharding"), op->getResult(0).getType());
  if (failed(sharding))
    return failure();
  Value value = op->getOperand(0);
  // What is written for one device is whole there already: JAX says so even in the function of a reduction.
  if (*sharding && !(sharding->isWhole() && isInManual(op))) {
    builder.setInsertionPoint(op);
    value = dist::ConstraintOp::create(builder, op->getLoc(), value.getType(), value, *sharding);
    ++taken;
  }
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return success();
}

/// The shardings of the operands or results of a manual computation, whose mesh has axes.
LogicalResult Taker::takeAll(Operation *op, ArrayAttr shardings, TypeRange types, SmallVectorImpl<Attribute> &own) {
  if (!shardings || shardings.size() != types.size())
    return op->emitError() << "has " << (shardings ? shardings.size() : 0) << " shardings for " << types.size()
                           << " values";
  for (auto [attribute, type] : llvm::zip_equal(shardings, types)) {
    FailureOr<dist::ShardingAttr> sharding = shardingOf(op, attribute, type);
    if (failed(sharding))
      return failure();
    if (!*sharding)
      return op->emitError("a manual computation needs a mesh with axes");
    own.push_back(*sharding);
    ++taken;
  }
  return success();
}

LogicalResult Taker::takeManual(Operation *op) {
  SmallVector<Attribute> in, out, axes;
  auto names = op->getAttrOfType<ArrayAttr>("manual_axes");
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>) || op->getNumRegions() != 1 ||
      !op->getRegion(0).hasOneBlock())
    return op->emitError("a manual computation has names of axes and a body of one block");
  if (failed(takeAll(op, op->getAttrOfType<ArrayAttr>("in_shardings"), op->getOperandTypes(), in)) ||
      failed(takeAll(op, op->getAttrOfType<ArrayAttr>("out_shardings"), op->getResultTypes(), out)))
    return failure();
  if (in.empty() && out.empty())
    return op->emitError("a manual computation without operands and results computes nothing");
  auto mesh = cast<dist::ShardingAttr>(in.empty() ? out.front() : in.front()).getMesh();
  for (auto name : names.getAsRange<StringAttr>())
    for (const Piece &piece : pieces[{mesh.getValue(), name.getValue()}])
      axes.push_back(builder.getStringAttr(piece.name));
  Operation *end = op->getRegion(0).front().getTerminator();
  builder.setInsertionPoint(end);
  dist::ReturnOp::create(builder, end->getLoc(), end->getOperands());
  end->erase();
  builder.setInsertionPoint(op);
  auto manual = dist::ManualOp::create(builder, op->getLoc(), op->getResultTypes(), op->getOperands(), mesh,
                                       builder.getArrayAttr(axes), builder.getArrayAttr(in), builder.getArrayAttr(out));
  manual.getBody().takeBody(op->getRegion(0));
  op->replaceAllUsesWith(manual.getResults());
  op->erase();
  return success();
}

LogicalResult Taker::run() {
  SmallVector<Operation *> meshes, constraints, manuals;
  module.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (name == "sdy.mesh")
      meshes.push_back(op);
    else if (name == "sdy.sharding_constraint" && op->getNumOperands() == 1 && op->getNumResults() == 1)
      constraints.push_back(op);
    else if (name == "sdy.manual_computation")
      manuals.push_back(op);
  });
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      collectParts(function.getArgAttr(i, kSdyShardingAttr));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      collectParts(function.getResultAttr(i, kSdyShardingAttr));
  }
  for (Operation *op : constraints)
    collectParts(op->getAttr("sharding"));
  for (Operation *op : manuals)
    for (StringRef name : {"in_shardings", "out_shardings"})
      for (Attribute sharding : op->getAttrOfType<ArrayAttr>(name) ? op->getAttrOfType<ArrayAttr>(name)
                                                                   : ArrayAttr::get(op->getContext(), {}))
        collectParts(sharding);
  for (Operation *op : meshes)
    if (failed(takeMesh(op)))
      return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(takeFunction(function)))
      return failure();
  for (Operation *op : constraints)
    if (failed(takeConstraint(op)))
      return failure();
  for (Operation *op : manuals)
    if (failed(takeManual(op)))
      return failure();
  return success();
}

namespace {
struct TakeShardings : dgc::impl::TakeShardingsPassBase<TakeShardings> {
  void runOnOperation() override {
    Taker taker(getOperation());
    if (failed(taker.run()))
      return signalPassFailure();
    numTaken += taker.taken;
  }
};
} // namespace
