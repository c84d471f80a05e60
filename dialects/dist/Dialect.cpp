// The dist dialect and its discardable attributes.

#include "dialects/dist/Dist.h"

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

static bool isNumber(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getInt() >= 0;
}

/// Checks a `dist.*` attribute of a function's argument or result of type
/// `type`. `globalType` is the value of `dist.global_type` there, if any:
/// shardings are of the global type.
static LogicalResult verifyValueAttribute(Operation *op, NamedAttribute attribute, Type type, Attribute globalType,
                                          llvm::Twine what) {
  auto emitError = [&] { return op->emitOpError() << what << ": "; };
  StringRef name = attribute.getName();
  if (name == kShardingAttr) {
    auto sharding = dyn_cast<ShardingAttr>(attribute.getValue());
    if (!sharding)
      return emitError() << "'" << name << "' is not a #dist.sharding";
    if (auto global = dyn_cast_or_null<TypeAttr>(globalType))
      type = global.getValue();
    return sharding.verifyFor(type, op, emitError);
  }
  if (name == kGlobalTypeAttr) {
    auto global = dyn_cast<TypeAttr>(attribute.getValue());
    if (!global || !isa<RankedTensorType>(global.getValue()))
      return emitError() << "'" << name << "' is not a tensor type";
    return success();
  }
  if (name == kDeviceAttr && isa<DeviceAttr>(attribute.getValue()))
    return success();
  if (name == kStageAttr && isNumber(attribute.getValue()))
    return success();
  if (name == kColocateAttr && isa<StringAttr>(attribute.getValue()))
    return success();
  return emitError() << "'" << name << "' with the value " << attribute.getValue()
                     << " is not an attribute of a function's argument or result";
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "'" << attribute.getName().getValue() << "' is for arguments of functions";
  return verifyValueAttribute(op, attribute, function.getArgumentTypes()[index],
                              function.getArgAttr(index, kGlobalTypeAttr), "argument " + llvm::Twine(index));
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "'" << attribute.getName().getValue() << "' is for results of functions";
  return verifyValueAttribute(op, attribute, function.getResultTypes()[index],
                              function.getResultAttr(index, kGlobalTypeAttr), "result " + llvm::Twine(index));
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto emitError = [&] { return op->emitOpError() << "'" << name << "': "; };
  if (name == kShardingsAttr) {
    auto shardings = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!shardings || !llvm::all_of(shardings, llvm::IsaPred<ShardingAttr>))
      return emitError() << "expected an array of #dist.sharding";
    if (shardings.size() != op->getNumResults())
      return emitError() << "has " << shardings.size() << " entries for " << op->getNumResults() << " results";
    for (auto [sharding, result] : llvm::zip(shardings.getAsRange<ShardingAttr>(), op->getResults()))
      if (failed(sharding.verifyFor(result.getType(), op, emitError)))
        return failure();
    return success();
  }
  if (name == kShardingAttr) {
    auto sharding = dyn_cast<ShardingAttr>(attribute.getValue());
    if (!sharding)
      return emitError() << "expected a #dist.sharding";
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<dgc::InputOp, dgc::VariableOp>(
            [&](auto each) { return sharding.verifyFor(each.getDeclared(), op, emitError); })
        .Case([&](dgc::StateOp state) { return sharding.verifyFor(state.getTensorType(), op, emitError); })
        .Case([&](dgc::OutputOp output) {
          Type type = output.getValue().getType();
          return isa<RankedTensorType>(type) ? sharding.verifyFor(type, op, emitError) : success();
        })
        .Default([&](Operation *) {
          return emitError() << "is for inputs, variables and outputs of a model; dist.constraint spreads other values";
        });
  }
  if (name == kDeviceAttr)
    return isa<DeviceAttr>(attribute.getValue()) ? success() : emitError() << "expected a #dist.device";
  if (name == kOrderAttr) {
    auto order = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!order || order.getInt() < 0)
      return emitError() << "expected an integer of at least 0";
    if (!isa<CollectiveOpInterface, TransferOpInterface>(op))
      return emitError() << "is for collectives and transfers";
    return success();
  }
  if (name == kColocateAttr)
    return isa<StringAttr>(attribute.getValue()) ? success() : emitError() << "expected a name, as a string";
  if (name == kStageAttr || name == kSlotAttr)
    return isNumber(attribute.getValue()) ? success() : emitError() << "expected an integer of at least 0";
  if (name == kPipelineAttr)
    return isa<DictionaryAttr>(attribute.getValue()) && isa<ModuleOp>(op)
               ? success()
               : emitError() << "expected a dictionary, on a module";
  if (name == kMeshAttr)
    return isa<FlatSymbolRefAttr>(attribute.getValue()) && isa<FunctionOpInterface>(op)
               ? success()
               : emitError() << "expected the name of a mesh, on a function";
  if (name == kStepAttr)
    return isa<StringAttr>(attribute.getValue()) && isa<FunctionOpInterface>(op)
               ? success()
               : emitError() << "expected a string, on a function";
  return emitError() << "is not an attribute of ops";
}
