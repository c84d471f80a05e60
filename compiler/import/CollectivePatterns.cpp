// From the collectives of StableHLO, in a computation that is written for one device, to those of dist.

#include "compiler/import/MhloShardings.h"
#include "compiler/import/Patterns.h"
#include "dialects/dist/Dist.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

/// An attribute of an op that is not registered: one that was parsed as a property, or one of the dictionary.
static Attribute attributeOf(Operation *op, StringRef name) {
  auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  Attribute attribute = properties ? properties.get(name) : Attribute();
  return attribute ? attribute : op->getAttr(name);
}

static std::optional<int64_t> numberOf(Operation *op, StringRef name) {
  auto number = dyn_cast_or_null<IntegerAttr>(attributeOf(op, name));
  return number && number.getValue().getSignificantBits() <= 64 ? std::optional(number.getValue().getSExtValue())
                                                                : std::nullopt;
}

/// Whether there are more numbers than pairs of devices have. The text of them may be short: `dense<0>`.
static bool isTooLong(ShapedType type) {
  int64_t count = 1;
  return llvm::any_of(type.getShape(), [&](int64_t size) { return llvm::MulOverflow(count, size, count); }) ||
         count > 2 * kMostDevices;
}

SmallVector<SmallVector<int64_t>> dgc::import::rowsOf(Operation *op, StringRef name) {
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(attributeOf(op, name));
  SmallVector<SmallVector<int64_t>> rows;
  if (!elements || elements.getType().getRank() != 2 || !elements.getElementType().isInteger(64) ||
      isTooLong(elements.getType()))
    return rows;
  const int64_t columns = elements.getType().getDimSize(1);
  for (auto [i, value] : llvm::enumerate(elements.getValues<int64_t>())) {
    if (i % columns == 0)
      rows.emplace_back();
    rows.back().push_back(value);
  }
  return rows;
}

namespace {

/// The devices of a manual computation, numbered as the mesh says: the first axis is the major one.
class Devices {
public:
  Devices(dist::ManualOp manual, dist::MeshAttr mesh) : manual(manual) {
    for (dist::MeshAxisAttr axis : llvm::reverse(mesh.getAxes())) {
      axes.insert(axes.begin(), {axis.getName(), count, axis.getSize()});
      count *= axis.getSize();
    }
  }

  /// The manual computation around the op; nothing, with the reason, where there is none.
  static std::optional<Devices> around(Operation *op, std::string &reason) {
    auto manual = op->getParentOfType<dist::ManualOp>();
    dist::MeshAttr mesh = manual ? dist::lookupMesh(op, manual.getMeshAttr()) : dist::MeshAttr();
    if (mesh)
      return Devices(manual, mesh);
    reason = "it is outside of a manual computation (shard_map)";
    return std::nullopt;
  }

  StringRef mesh() { return manual.getMesh(); }
  ArrayAttr all() { return namesOf(llvm::to_vector(llvm::seq<size_t>(0, axes.size()))); }
  bool areManual(ArrayAttr names) {
    return llvm::all_of(names, [&](Attribute name) { return llvm::is_contained(manual.getAxes(), name); });
  }

  /// The axes that number the members of all groups; null where there are none.
  ArrayAttr axesOf(ArrayRef<SmallVector<int64_t>> groups);
  /// The axes along which each pair of devices differs, the same for all, and the member that each sends to; null where there are
  /// none.
  ArrayAttr axesOf(ArrayRef<SmallVector<int64_t>> pairs, SmallVectorImpl<int64_t> &targets);

private:
  struct Axis {
    StringAttr name;
    int64_t stride, size;
  };
  ArrayAttr namesOf(ArrayRef<size_t> indices) {
    SmallVector<Attribute> names;
    for (const size_t index : indices)
      names.push_back(axes[index].name);
    return ArrayAttr::get(manual.getContext(), names);
  }
  /// The position of a device along these axes, the first being the major one.
  int64_t positionOf(int64_t device, ArrayRef<size_t> indices) {
    int64_t position = 0;
    for (const size_t index : indices)
      position = position * axes[index].size + device / axes[index].stride % axes[index].size;
    return position;
  }
  /// The device with position 0 along these axes, and else as `device`.
  int64_t firstOf(int64_t device, ArrayRef<size_t> indices) {
    for (const size_t index : indices)
      device -= device / axes[index].stride % axes[index].size * axes[index].stride;
    return device;
  }

  dist::ManualOp manual;
  SmallVector<Axis> axes;
  int64_t count = 1;
};

} // namespace

ArrayAttr Devices::axesOf(ArrayRef<SmallVector<int64_t>> groups) {
  // Where the device next to the first one along an axis is in the group says how far the axis counts.
  SmallVector<std::pair<int64_t, size_t>> order;
  if (groups.empty() || groups[0].empty() || groups[0][0] < 0 || groups[0][0] >= count)
    return {};
  for (auto [index, axis] : llvm::enumerate(axes)) {
    const auto *found = llvm::find(groups[0], groups[0][0] + axis.stride);
    if (axis.size > 1 && found != groups[0].end())
      order.push_back({-(found - groups[0].begin()), index});
  }
  llvm::sort(order);
  SmallVector<size_t> indices(llvm::make_second_range(order));
  int64_t members = 1, total = 0;
  for (const size_t index : indices)
    members *= axes[index].size;
  for (ArrayRef<int64_t> group : groups)
    for (auto [position, device] : llvm::enumerate(group)) {
      if (device < 0 || device >= count || static_cast<int64_t>(group.size()) != members ||
          positionOf(device, indices) != static_cast<int64_t>(position) ||
          firstOf(device, indices) != firstOf(group[0], indices))
        return {};
      ++total;
    }
  return total == count ? namesOf(indices) : ArrayAttr();
}

ArrayAttr Devices::axesOf(ArrayRef<SmallVector<int64_t>> pairs, SmallVectorImpl<int64_t> &targets) {
  SmallVector<size_t> indices;
  int64_t members = 1;
  for (auto [index, axis] : llvm::enumerate(axes))
    if (llvm::any_of(pairs, [&, &axis = axis](ArrayRef<int64_t> pair) {
          return pair.size() == 2 && pair[0] / axis.stride % axis.size != pair[1] / axis.stride % axis.size;
        })) {
      indices.push_back(index);
      members *= axis.size;
    }
  targets.assign(members, -1);
  SmallVector<int64_t> seen(members, 0);
  for (ArrayRef<int64_t> pair : pairs) {
    if (pair.size() != 2 || llvm::any_of(pair, [&](int64_t device) { return device < 0 || device >= count; }) ||
        firstOf(pair[0], indices) != firstOf(pair[1], indices))
      return {};
    const int64_t source = positionOf(pair[0], indices), target = positionOf(pair[1], indices);
    if (seen[source]++ != 0 && targets[source] != target)
      return {};
    targets[source] = target;
  }
  for (const int64_t number : seen)
    if (number != 0 && number != count / members)
      return {}; // not in all groups
  return indices.empty() ? ArrayAttr() : namesOf(indices);
}

/// How dist combines values in the way of the region; nothing where it cannot.
static std::optional<dist::Reduction> reductionOf(Operation *op) {
  std::optional<ReductionKind> kind =
      op->getNumRegions() == 1 && op->getRegion(0).hasOneBlock() ? combinationOf(op->getRegion(0)) : std::nullopt;
  if (!kind)
    return std::nullopt;
  switch (*kind) {
  case ReductionKind::Sum:
    return dist::Reduction::Sum;
  case ReductionKind::Product:
    return dist::Reduction::Product;
  case ReductionKind::Max:
    return dist::Reduction::Max;
  case ReductionKind::Min:
    return dist::Reduction::Min;
  default:
    return std::nullopt;
  }
}

/// Whether each device communicates with itself alone, as on a mesh of one device, so that the results are the operands.
static bool isOfOneDevice(Operation *op) {
  const SmallVector<SmallVector<int64_t>> groups = rowsOf(op, "replica_groups");
  return !groups.empty() && groups[0].size() == 1 && op->getOperandTypes() == op->getResultTypes();
}

namespace {

/// A collective of StableHLO, none of which is registered: it is known by its name.
class CollectiveLowering : public RewritePattern {
public:
  CollectiveLowering(StringRef name, MLIRContext *context) : RewritePattern(name, 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (isOfOneDevice(op)) {
      rewriter.replaceOp(op, op->getOperands());
      return success();
    }
    StringRef name = op->getName().stripDialect();
    const bool isPermute = name == "collective_permute";
    StringRef list = isPermute ? "source_target_pairs" : "replica_groups";
    if (auto elements = dyn_cast_or_null<DenseElementsAttr>(attributeOf(op, list));
        elements && isTooLong(elements.getType()))
      return rewriter.notifyMatchFailure(op, "its " + list + " are for more than " + Twine(kMostDevices) + " devices");
    std::string reason;
    std::optional<Devices> devices = Devices::around(op, reason);
    if (!devices)
      return rewriter.notifyMatchFailure(op, reason);
    SmallVector<int64_t> targets;
    const bool isOfOne = isPermute || name == "all_to_all";
    if (op->getNumOperands() == 0 || op->getNumOperands() != op->getNumResults() ||
        (isOfOne && op->getNumOperands() != 1))
      return rewriter.notifyMatchFailure(op, "it has " + Twine(op->getNumOperands()) + " operands");
    ArrayAttr axes = isPermute ? devices->axesOf(rowsOf(op, list), targets) : devices->axesOf(rowsOf(op, list));
    if (!axes || !devices->areManual(axes))
      return rewriter.notifyMatchFailure(op, "its devices are not those along manual axes of the mesh");
    Operation *made =
        isPermute ? permute(op, rewriter, *devices, axes, targets) : lower(op, rewriter, *devices, axes, reason);
    if (!made)
      return rewriter.notifyMatchFailure(op, reason);
    rewriter.replaceOp(op, made->getResults());
    return success();
  }

private:
  static Operation *permute(Operation *op, PatternRewriter &rewriter, Devices &devices, ArrayAttr axes,
                            ArrayRef<int64_t> targets) {
    return dist::PermuteOp::create(rewriter, op->getLoc(), op->getResult(0).getType(), op->getOperand(0), targets,
                                   devices.mesh(), axes, ArrayAttr());
  }

  static Operation *lower(Operation *op, PatternRewriter &rewriter, Devices &devices, ArrayAttr axes,
                          std::string &reason) {
    StringRef name = op->getName().stripDialect();
    const Location location = op->getLoc();
    if (name.contains("reduce")) {
      std::optional<dist::Reduction> kind = reductionOf(op);
      std::optional<int64_t> dim = numberOf(op, "scatter_dimension");
      reason = "it combines in another way than by a sum, product, maximum or minimum";
      if (kind && name == "all_reduce")
        return dist::AllReduceOp::create(rewriter, location, op->getResultTypes(), *kind, op->getOperands(),
                                         devices.mesh(), axes, ArrayAttr());
      if (kind && dim)
        return dist::ReduceScatterOp::create(rewriter, location, op->getResultTypes(), op->getOperands(), *kind, *dim,
                                             devices.mesh(), axes, ArrayAttr());
      return nullptr;
    }
    reason = "its dimensions are missing";
    if (name == "all_gather") {
      std::optional<int64_t> dim = numberOf(op, "all_gather_dim");
      if (!dim)
        return nullptr;
      return dist::AllGatherOp::create(rewriter, location, op->getResultTypes(), op->getOperands(), *dim,
                                       devices.mesh(), axes, ArrayAttr());
    }
    std::optional<int64_t> split = numberOf(op, "split_dimension"), concat = numberOf(op, "concat_dimension");
    if (!split || !concat)
      return nullptr;
    return dist::AllToAllOp::create(rewriter, location, op->getResult(0).getType(), op->getOperand(0), *split, *concat,
                                    devices.mesh(), axes, ArrayAttr());
  }
};

/// The number of the device.
struct PartitionIdLowering : Lowering<stablehlo::PartitionIdOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::PartitionIdOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    std::optional<Devices> devices = Devices::around(op, reason);
    if (!devices)
      return failure();
    if (!devices->areManual(devices->all()))
      return refuse(reason, "not all axes of the mesh are manual");
    Value index = dist::AxisIndexOp::create(b.builder, op.getLoc(), devices->mesh(), devices->all());
    results.push_back(b.convert(index, elementOf(op.getResult())));
    return success();
  }
};

} // namespace

static constexpr llvm::StringLiteral kCollectives[] = {"stablehlo.all_gather", "stablehlo.all_reduce",
                                                       "stablehlo.all_to_all", "stablehlo.collective_permute",
                                                       "stablehlo.reduce_scatter"};

bool dgc::import::isCollective(Operation *op) { return llvm::is_contained(kCollectives, op->getName().getStringRef()); }

void dgc::import::addCollectivePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (StringRef name : kCollectives)
    patterns.add(std::make_unique<CollectiveLowering>(name, context));
  patterns.add<PartitionIdLowering>(context);
}
