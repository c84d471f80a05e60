// dgc-mhlo-shardings-to-sdy: shardings of XLA as those of one mesh.

#include "compiler/import/MhloShardings.h"
#include "compiler/import/Passes.h"
#include "compiler/import/Patterns.h"
#include "compiler/import/Sdy.h"
#include "compiler/import/ShardMaps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <set>

namespace dgc {
#define GEN_PASS_DEF_MHLOSHARDINGSTOSDYPASS
#include "compiler/import/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

static constexpr llvm::StringLiteral kMhloShardingAttr = "mhlo.sharding";
static constexpr llvm::StringLiteral kSdyShardingAttr = "sdy.sharding";

namespace {

/// A sharding of one value, and how it is attached once the mesh is known.
struct Use {
  Operation *op; // for messages
  RankedTensorType type;
  StringRef text;
  MhloSharding sharding;
  std::vector<std::vector<MhloDigit>> digits; // of the dimensions of the value, then of what is manual
  std::set<int64_t> openDims;
  std::function<void(Attribute)> attach;
};

/// The shardings of a module, and the mesh that all of them have in common.
class Converter {
public:
  explicit Converter(ModuleOp module) : module(module), builder(module.getContext()) {}
  LogicalResult run();
  unsigned converted = 0;

private:
  LogicalResult collectFunction(func::FuncOp function);
  LogicalResult collectOp(Operation *op);
  LogicalResult collectInside(Operation *op, StringRef text);
  LogicalResult collectShardMap(const ShardMap &shardMap);
  LogicalResult collectManual(Operation *op, StringRef text);
  LogicalResult collect(Operation *op, StringRef text, TypeRange types,
                        llvm::function_ref<std::function<void(Attribute)>(unsigned)> attachTo);
  LogicalResult addUse(Use use);
  LogicalResult addDevices(Use &use);
  void constrain(Value value, Operation *op, Attribute sharding);
  LogicalResult findDevices();
  LogicalResult findAxes();
  void addGroups(std::set<int64_t> &all);
  void addMesh();
  SmallVector<std::string> axesOf(ArrayRef<MhloDigit> digits);
  LogicalResult addManualAxes();
  Attribute shardingOf(const Use &use);
  Attribute dictionary(ArrayRef<NamedAttribute> entries) { return builder.getDictionaryAttr(entries); }
  NamedAttribute entry(StringRef name, Attribute value) { return builder.getNamedAttr(name, value); }

  ModuleOp module;
  OpBuilder builder;
  std::vector<Use> uses;
  std::vector<ShardMap> shardMaps;
  std::vector<Use> manual;   // what is manual in each of these, in their order
  int64_t devices = 0;       // 0: no value is cut
  std::vector<int64_t> cuts; // strides of axes and the number of devices, ascending; each divides the next
  std::vector<Operation *> shardingCalls;
  std::string mesh;
};

} // namespace

static InFlightDiagnostic refuse(Operation *op, StringRef text) {
  return op->emitError() << "the sharding '" << text << "': ";
}

/// Finds the digits of what is cut; all that are cut are so over the same number of devices.
LogicalResult Converter::addDevices(Use &use) {
  const auto count = static_cast<int64_t>(use.sharding.devices.size());
  if (devices != 0 && devices != count)
    return refuse(use.op, use.text) << "it is over " << count << " devices, and another one over " << devices;
  devices = count;
  std::string error;
  auto digits = digitsOf(use.sharding, error);
  if (!digits)
    return refuse(use.op, use.text) << error;
  use.digits = *std::move(digits);
  return success();
}

/// Keeps a sharding of a value.
LogicalResult Converter::addUse(Use use) {
  if (use.sharding.isForOneDevice())
    return refuse(use.op, use.text) << "the value is written for one device (shard_map), and is not between "
                                       "@SPMDFullToShardShape and @SPMDShardToFullShape: export the program with "
                                       "Shardy (jax_use_shardy_partitioner), which says where it is so";
  if (use.sharding.kind == MhloSharding::Kind::Tiled) {
    if (!use.type || use.sharding.rank != static_cast<size_t>(use.type.getRank()))
      return refuse(use.op, use.text) << "it is of " << use.sharding.rank << " dimensions, and not for " << use.type;
    if (failed(addDevices(use)))
      return failure();
  }
  uses.push_back(std::move(use));
  return success();
}

/// Takes a text for values of these types: one sharding for each, or one for all.
LogicalResult Converter::collect(Operation *op, StringRef text, TypeRange types,
                                 llvm::function_ref<std::function<void(Attribute)>(unsigned)> attachTo) {
  std::string error;
  auto all = parseMhloShardings(text, error);
  if (!all)
    return refuse(op, text) << error;
  if (all->size() != 1 && all->size() != types.size())
    return refuse(op, text) << all->size() << " shardings for " << types.size() << " values";
  for (auto [i, type] : llvm::enumerate(types))
    if (failed(addUse(
            {op, dyn_cast<RankedTensorType>(type), text, (*all)[all->size() == 1 ? 0 : i], {}, {}, attachTo(i)})))
      return failure();
  return success();
}

LogicalResult Converter::collectFunction(func::FuncOp function) {
  auto takeAll = [&](bool isArgument, unsigned i, DictionaryAttr attributes) -> LogicalResult {
    auto text = attributes ? attributes.getAs<StringAttr>(kMhloShardingAttr) : StringAttr();
    if (!text)
      return success();
    if (isArgument)
      function.removeArgAttr(i, StringAttr::get(module.getContext(), kMhloShardingAttr));
    else
      function.removeResultAttr(i, StringAttr::get(module.getContext(), kMhloShardingAttr));
    if (attributes.contains(kSdyShardingAttr))
      return success(); // the same once more
    return collect(function, text, isArgument ? function.getArgumentTypes()[i] : function.getResultTypes()[i],
                   [=](unsigned) -> std::function<void(Attribute)> {
                     return [=](Attribute sharding) mutable {
                       isArgument ? function.setArgAttr(i, kSdyShardingAttr, sharding)
                                  : function.setResultAttr(i, kSdyShardingAttr, sharding);
                     };
                   });
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(takeAll(true, i, function.getArgAttrDict(i))))
      return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(takeAll(false, i, function.getResultAttrDict(i))))
      return failure();
  return success();
}

/// Puts a constraint behind the value, for all its uses.
void Converter::constrain(Value value, Operation *op, Attribute sharding) {
  builder.setInsertionPointAfter(op);
  OperationState state(op->getLoc(), "sdy.sharding_constraint", value, value.getType(), entry("sharding", sharding));
  Operation *constraint = builder.create(state);
  value.replaceAllUsesExcept(constraint->getResult(0), constraint);
}

/// `unspecified_dims=[0,1]`, which propagation may cut further.
static std::set<int64_t> openDimsOf(stablehlo::CustomCallOp call) {
  auto config = dyn_cast_or_null<StringAttr>(call->getAttr("backend_config"));
  std::set<int64_t> dims;
  SmallVector<StringRef> parts;
  if (config && config.getValue().contains("unspecified_dims=["))
    config.getValue().split("unspecified_dims=[").second.split(']').first.split(parts, ',');
  for (StringRef part : parts)
    if (int64_t dim; !part.trim().getAsInteger(10, dim))
      dims.insert(dim);
  return dims;
}

/// Sets one of an array of attributes.
static void setElement(Operation *op, StringRef name, unsigned i, Attribute element) {
  SmallVector<Attribute> all(op->getAttrOfType<ArrayAttr>(name).getValue());
  all[i] = element;
  op->setAttr(name, ArrayAttr::get(op->getContext(), all));
}

/// Keeps what a text says of the devices that are manual.
LogicalResult Converter::collectManual(Operation *op, StringRef text) {
  std::string error;
  auto all = parseMhloShardings(text, error);
  if (!all)
    return refuse(op, text) << error;
  if (all->size() != 1 || !all->front().isForOneDevice() || all->front().isCut())
    return refuse(op, text) << "a value that is written for one device (shard_map) is whole on its devices: {manual}, "
                               "or last_tile_dims={manual}, is expected";
  Use use{op, {}, text, all->front(), {}, {}, {}};
  if (use.sharding.manual && failed(addDevices(use)))
    return failure();
  manual.push_back(std::move(use));
  return success();
}

/// Keeps the shardings of what goes into a computation for one device and comes out of it.
LogicalResult Converter::collectShardMap(const ShardMap &shardMap) {
  Operation *op = shardMap.op;
  auto collectAll = [&](StringRef name, ArrayRef<StringAttr> texts, TypeRange types) -> LogicalResult {
    op->setAttr(name, builder.getArrayAttr(SmallVector<Attribute>(texts.begin(), texts.end())));
    for (auto [i, text, type] : llvm::enumerate(texts, types)) {
      const size_t first = uses.size();
      auto attachTo = [=, i = i](unsigned) -> std::function<void(Attribute)> {
        return [=](Attribute sharding) { setElement(op, name, i, sharding); };
      };
      if (failed(collect(op, text, type, attachTo)))
        return failure();
      if (uses[first].sharding.kind == MhloSharding::Kind::Unknown)
        return refuse(op, text) << "how a value is cut that goes into a computation for one device (shard_map), or "
                                   "comes out of it, has to be said: {replicated} or devices=[..]";
    }
    return success();
  };
  for (StringAttr text : shardMap.manual)
    if (failed(collectManual(op, text)))
      return failure();
  return failure(failed(collectAll("in_shardings", shardMap.in, op->getOperandTypes())) ||
                 failed(collectAll("out_shardings", shardMap.out, op->getResultTypes())));
}

/// Reads what is said inside of a computation for one device, where a value is whole on each device.
LogicalResult Converter::collectInside(Operation *op, StringRef text) {
  std::string error;
  auto all = parseMhloShardings(text, error);
  if (!all)
    return refuse(op, text) << error;
  if (llvm::any_of(*all, [](const MhloSharding &sharding) { return sharding.isCut(); }))
    return refuse(op, text) << "inside of a computation for one device (shard_map) a value cannot be cut along the "
                               "other axes: leave out the constraint (jax.lax.with_sharding_constraint), or make "
                               "these axes manual, too";
  return success();
}

/// Whether the op is in a computation for one device.
static bool isInside(Operation *op) {
  while ((op = op->getParentOp()))
    if (op->getName().getStringRef() == "sdy.manual_computation")
      return true;
  return false;
}

LogicalResult Converter::collectOp(Operation *op) {
  auto text = op->getAttrOfType<StringAttr>(kMhloShardingAttr);
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  const bool isSharding = call && call.getCallTargetName() == "Sharding" && op->getNumOperands() == 1 &&
                          op->getResultTypes() == op->getOperandTypes();
  if (isSharding)
    shardingCalls.push_back(op);
  if (!text || isa<func::FuncOp>(op) || (call && !isSharding))
    return success(); // a call of something else is refused by its name
  op->removeAttr(kMhloShardingAttr);
  if (isInside(op))
    return collectInside(op, text);
  const size_t first = uses.size();
  if (failed(collect(op, text, op->getResultTypes(), [=, this](unsigned i) -> std::function<void(Attribute)> {
        return [=, this](Attribute sharding) { constrain(op->getResult(i), op, sharding); };
      })))
    return failure();
  for (size_t i = first; isSharding && i < uses.size(); ++i)
    uses[i].openDims = openDimsOf(call);
  return success();
}

/// Checks the number of devices, and finds it where no value is cut.
LogicalResult Converter::findDevices() {
  auto number = module->getAttrOfType<IntegerAttr>("mhlo.num_partitions");
  if (devices == 0 && (!number || !number.getValue().isIntN(20) || number.getValue().isZero()))
    return shardMaps.front().op->emitError("nothing says over how many devices a computation for one device "
                                           "(shard_map) is: the module needs mhlo.num_partitions = N : i32");
  if (devices == 0)
    devices = static_cast<int64_t>(number.getValue().getZExtValue());
  if (number && number.getValue() != static_cast<uint64_t>(devices))
    return refuse(uses.front().op, uses.front().text)
           << "values are cut over " << devices << " devices, and mhlo.num_partitions is "
           << number.getValue().getZExtValue();
  return success();
}

/// Adds where the digits begin and end. The first one that does not divide the next, and that one, where there are such.
static std::optional<std::pair<int64_t, int64_t>> addCuts(std::set<int64_t> &all, ArrayRef<MhloDigit> digits) {
  std::set<int64_t> sum = all;
  for (const MhloDigit &digit : digits)
    sum.insert({digit.stride, digit.stride * digit.size});
  int64_t before = 1;
  for (const int64_t cut : sum) {
    if (cut % before != 0)
      return std::pair(before, cut);
    before = cut;
  }
  all = std::move(sum);
  return std::nullopt;
}

/// The strides of axes: where one sharding begins a digit, the axes of all begin.
LogicalResult Converter::findAxes() {
  std::set<int64_t> all = {1, devices};
  for (const std::vector<Use> *list : {&uses, &manual})
    for (const Use &use : *list)
      for (const std::vector<MhloDigit> &dim : use.digits)
        if (auto pair = addCuts(all, dim))
          return refuse(use.op, use.text)
                 << "it cuts by every " << pair->second << "th device, and another one by every " << pair->first
                 << "th: there is no mesh for both";
  addGroups(all);
  cuts.assign(all.begin(), all.end());
  if (cuts.size() == 1)
    cuts.push_back(1); // one device: an axis of size 1
  return success();
}

/// Adds the axes along which the computations for one device communicate. Groups that do not fit are refused with their op.
void Converter::addGroups(std::set<int64_t> &all) {
  for (const ShardMap &shardMap : shardMaps)
    shardMap.op->walk([&](Operation *op) {
      const auto groups = rowsOf(op, "replica_groups");
      if (auto digits = groups.empty() ? std::nullopt : digitsOf(groups.front(), devices))
        (void)addCuts(all, *digits);
    });
}

/// The axis between a cut and the next; the major one is the first.
static std::string axisName(size_t cut, size_t cuts) { return "axis" + std::to_string(cuts - 2 - cut); }

void Converter::addMesh() {
  mesh = "mesh";
  while (module.lookupSymbol(mesh))
    mesh += "_";
  SmallVector<Attribute> axes;
  for (size_t i = cuts.size() - 1; i-- > 0;)
    axes.push_back(dictionary({entry("name", builder.getStringAttr(axisName(i, cuts.size()))),
                               entry("size", builder.getI64IntegerAttr(cuts[i + 1] / cuts[i]))}));
  builder.setInsertionPointToStart(module.getBody());
  OperationState state(module.getLoc(), "sdy.mesh");
  state.addAttribute("sym_name", builder.getStringAttr(mesh));
  state.addAttribute("mesh", dictionary({entry("axes", builder.getArrayAttr(axes)),
                                         entry("device_ids", builder.getDenseI64ArrayAttr({}))}));
  builder.create(state);
}

/// The axes that the digits are made of, the major one first.
SmallVector<std::string> Converter::axesOf(ArrayRef<MhloDigit> digits) {
  SmallVector<std::string> axes;
  for (const MhloDigit &digit : digits)
    for (size_t i = cuts.size() - 1; i-- > 0;)
      if (cuts[i] >= digit.stride && cuts[i] < digit.stride * digit.size)
        axes.push_back(axisName(i, cuts.size()));
  return axes;
}

/// Says which axes are manual in each computation for one device.
LogicalResult Converter::addManualAxes() {
  for (const Use &use : manual) {
    SmallVector<Attribute> names;
    const std::vector<MhloDigit> whole = {{1, std::max<int64_t>(devices, 2)}}; // an axis of size 1, too
    SmallVector<std::string> axes = axesOf(use.sharding.manual ? use.digits.back() : whole);
    llvm::sort(axes);
    for (StringRef axis : axes)
      names.push_back(builder.getStringAttr(axis));
    Attribute all = builder.getArrayAttr(names), other = use.op->getAttr("manual_axes");
    if (other && other != all)
      return refuse(use.op, use.text) << "other axes are manual than for another value of the same computation for one "
                                         "device (shard_map)";
    use.op->setAttr("manual_axes", all);
  }
  return success();
}

/// As Sdy.h says that it looks.
Attribute Converter::shardingOf(const Use &use) {
  SmallVector<Attribute> dims;
  for (int64_t d = 0; d < use.type.getRank(); ++d) {
    SmallVector<Attribute> axes;
    for (StringRef axis : axesOf(use.digits.empty() ? ArrayRef<MhloDigit>() : ArrayRef(use.digits[d])))
      axes.push_back(dictionary(entry("name", builder.getStringAttr(axis))));
    dims.push_back(dictionary({entry("axes", builder.getArrayAttr(axes)),
                               entry("is_closed", builder.getBoolAttr(!use.openDims.contains(d))),
                               entry("priority", builder.getI64IntegerAttr(0))}));
  }
  return dictionary({entry("mesh", FlatSymbolRefAttr::get(builder.getContext(), mesh)),
                     entry("dims", builder.getArrayAttr(dims)), entry("replicated", builder.getArrayAttr({}))});
}

LogicalResult Converter::run() {
  if (failed(takeShardMaps(module, shardMaps)))
    return failure();
  for (const ShardMap &shardMap : shardMaps)
    if (failed(collectShardMap(shardMap)))
      return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(collectFunction(function)))
      return failure();
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(collectOp(op)))
      return failure();
  if (devices > 1 || !shardMaps.empty()) {
    if (failed(findDevices()) || failed(findAxes()))
      return failure();
    addMesh();
    if (failed(addManualAxes()))
      return failure();
    for (const Use &use : uses)
      if (use.type && use.sharding.kind != MhloSharding::Kind::Unknown) {
        use.attach(shardingOf(use));
        ++converted;
      }
  }
  for (Operation *call : shardingCalls) {
    call->getResult(0).replaceAllUsesWith(call->getOperand(0));
    call->erase();
  }
  return success();
}

namespace {
struct MhloShardingsToSdy : dgc::impl::MhloShardingsToSdyPassBase<MhloShardingsToSdy> {
  void getDependentDialects(DialectRegistry &registry) const override {
    MhloShardingsToSdyPassBase::getDependentDialects(registry);
    registerSdy(registry);
  }

  void runOnOperation() override {
    Converter converter(getOperation());
    if (failed(converter.run()))
      return signalPassFailure();
    numConverted += converter.converted;
  }
};
} // namespace
