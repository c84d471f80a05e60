// The dist dialect and its discardable attributes.

#include "dialects/dist/Dist.h"

#include "dialects/dgc/DiscardableAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

#include "dialects/dist/DistDialect.cpp.inc"

void DistDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/Dist.cpp.inc"
      >();
}

MeshAttr dist::lookupMesh(Operation *anchor, FlatSymbolRefAttr name) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(anchor, name);
  return mesh ? mesh.getMesh() : MeshAttr();
}

int64_t dist::getGroupSize(MeshAttr mesh, ArrayAttr axes) {
  int64_t size = 1;
  for (auto axis : axes.getAsRange<StringAttr>())
    size *= mesh.getAxisSize(axis);
  return size;
}

RankedTensorType dist::dropEncoding(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

ArrayAttr dist::mergeOrigins(ArrayAttr a, ArrayAttr b) {
  if (!a || !b || a == b)
    return a ? a : b;
  SmallVector<Attribute> all(a.begin(), a.end());
  for (Attribute origin : b)
    if (!llvm::is_contained(all, origin))
      all.push_back(origin);
  return ArrayAttr::get(a.getContext(), all);
}

RankedTensorType dist::removePartial(RankedTensorType type, ArrayAttr axes) {
  auto partial = dyn_cast_or_null<PartialAttr>(type.getEncoding());
  if (!partial)
    return type;
  SmallVector<StringAttr> left;
  for (StringAttr axis : partial.getAxes())
    if (!llvm::is_contained(axes, axis))
      left.push_back(axis);
  if (left.empty())
    return dropEncoding(type);
  auto encoding = PartialAttr::get(type.getContext(), partial.getKind(), partial.getMesh(), left);
  return RankedTensorType::get(type.getShape(), type.getElementType(), encoding);
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

static bool isSharding(Attribute value) { return isa<ShardingAttr>(value); }

static bool isShardings(Attribute value) {
  auto shardings = dyn_cast<ArrayAttr>(value);
  return shardings && llvm::all_of(shardings, isSharding);
}

static bool isDevice(Attribute value) { return isa<DeviceAttr>(value); }

/// The rows of Attributes.def.
static ArrayRef<discardable::Row> attributeRows() {
  using namespace discardable;
  using enum Place;
  static constexpr Kind Sharding{"a #dist.sharding", isSharding};
  static constexpr Kind Shardings{"an array of #dist.sharding", isShardings};
  static constexpr Kind Device{"a #dist.device", isDevice};
  static constexpr Row rows[] = {
#define DGC_ATTRIBUTE(constant, name, places, kind, meaning) {name, places, kind},
#include "dialects/dist/Attributes.def"
#undef DGC_ATTRIBUTE
  };
  return rows;
}

/// Checks a sharding of a function's argument or result of type `type`. `globalType` is the value of `dist.global_type`
/// there, if any: shardings are of the global type.
static LogicalResult verifySharding(Operation *op, NamedAttribute attribute, Type type, Attribute globalType,
                                    llvm::Twine what) {
  if (attribute.getName() != kShardingAttr)
    return success();
  if (auto global = dyn_cast_or_null<TypeAttr>(globalType))
    type = global.getValue();
  return cast<ShardingAttr>(attribute.getValue()).verifyFor(type, op, [&] {
    return op->emitOpError() << what << ": ";
  });
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  if (failed(discardable::verifyArgument(op, index, attribute, attributeRows())))
    return failure();
  auto function = cast<FunctionOpInterface>(op);
  return verifySharding(op, attribute, function.getArgumentTypes()[index], function.getArgAttr(index, kGlobalTypeAttr),
                        "argument " + llvm::Twine(index));
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attribute) {
  if (failed(discardable::verifyResult(op, index, attribute, attributeRows())))
    return failure();
  auto function = cast<FunctionOpInterface>(op);
  return verifySharding(op, attribute, function.getResultTypes()[index], function.getResultAttr(index, kGlobalTypeAttr),
                        "result " + llvm::Twine(index));
}

/// Checks the sharding of each of the values of `op` that `what` says.
static LogicalResult verifyShardings(Operation *op, ArrayAttr shardings, TypeRange types, StringRef what,
                                     llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (shardings.size() != types.size())
    return emitError() << "has " << shardings.size() << " entries for " << types.size() << " " << what;
  for (auto [sharding, type] : llvm::zip(shardings.getAsRange<ShardingAttr>(), types))
    if (failed(sharding.verifyFor(type, op, emitError)))
      return failure();
  return success();
}

/// The type of an input, variable, output or state; null for any other op.
static Type typeOfMember(Operation *op) {
  return llvm::TypeSwitch<Operation *, Type>(op)
      .Case<dgc::InputOp, dgc::VariableOp>([](auto each) { return each.getDeclared(); })
      .Case([](dgc::StateOp state) { return state.getTensorType(); })
      .Case([](dgc::OutputOp output) { return output.getValue().getType(); })
      .Default(Type());
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto emitError = [&] { return op->emitOpError() << "'" << name << "': "; };
  Type memberType = typeOfMember(op);
  if (name == kShardingAttr && !memberType)
    return emitError() << "is for inputs, variables and outputs of a model; dist.constraint spreads other values";
  discardable::Place here = discardable::placesOf(op);
  if (memberType)
    here |= discardable::Place::Member;
  if (isa<CollectiveOpInterface, TransferOpInterface>(op))
    here |= discardable::Place::Communication;
  if (failed(discardable::verify(op, attribute, attributeRows(), here)))
    return failure();
  if (name == kShardingsAttr)
    return verifyShardings(op, cast<ArrayAttr>(attribute.getValue()), op->getResultTypes(), "results", emitError);
  if (name == kArgumentShardingsAttr) {
    if (!isa<RegionTiesOpInterface>(op))
      return emitError() << "is for loops and branches";
    return verifyShardings(op, cast<ArrayAttr>(attribute.getValue()), op->getRegion(0).getArgumentTypes(), "arguments",
                           emitError);
  }
  if (name == kShardingAttr && isa<RankedTensorType>(memberType))
    return cast<ShardingAttr>(attribute.getValue()).verifyFor(memberType, op, emitError);
  return success();
}
