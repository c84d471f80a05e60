// The dgc dialect: registration, and what its ops share.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dgc/DiscardableAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dgc;

#include "dialects/dgc/Dialect.cpp.inc"

#include "dialects/dgc/Enums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/dgc/Types.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/dgc/Attrs.cpp.inc"

#include "dialects/dgc/Interfaces.cpp.inc"

namespace dgc {
#include "dialects/dgc/FamilyRegistration.h.inc"
} // namespace dgc

void DGCDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/dgc/Types.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dgc/Attrs.cpp.inc"
      >();
#define DGC_OP_FAMILY(family) register##family##Ops(*this);
#include "dialects/dgc/Families.inc"
#undef DGC_OP_FAMILY
}

Operation *DGCDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, location, type, elements);
}

/// The rows of Attributes.def.
static ArrayRef<discardable::Row> attributeRows() {
  using namespace discardable;
  using enum Place;
  static constexpr Row rows[] = {
#define DGC_ATTRIBUTE(constant, name, places, kind, meaning) {name, places, kind},
#include "dialects/dgc/Attributes.def"
#undef DGC_ATTRIBUTE
  };
  return rows;
}

LogicalResult DGCDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  discardable::Place here = discardable::placesOf(op);
  if (isa<StateOp>(op))
    here |= discardable::Place::State;
  if (failed(discardable::verify(op, attribute, attributeRows(), here)))
    return failure();
  auto encodings = dyn_cast<ArrayAttr>(attribute.getValue());
  if (attribute.getName() == kEncodingsAttr && encodings.size() != op->getNumResults())
    return op->emitOpError() << "'" << kEncodingsAttr << "': has " << encodings.size() << " entries for "
                             << op->getNumResults() << " results";
  return success();
}

LogicalResult DGCDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  return discardable::verifyArgument(op, index, attribute, attributeRows());
}

LogicalResult DGCDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                      NamedAttribute attribute) {
  return discardable::verifyResult(op, index, attribute, attributeRows());
}

bool dgc::anyUntyped(ValueRange values) {
  return llvm::any_of(values.getTypes(), [](Type type) { return isa<UntypedType>(type); });
}

LogicalResult dgc::checkTensors(std::optional<Location> location, StringRef op, ValueRange operands) {
  for (auto [index, type] : llvm::enumerate(operands.getTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return emitOptionalError(location, "'", op, "' op needs tensors of static shape, but operand #", index, " is ",
                               type);
  }
  return success();
}

RankedTensorType dgc::withoutEncoding(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

void dgc::applyEncodings(DictionaryAttr attributes, SmallVectorImpl<Type> &types) {
  auto encodings = attributes ? attributes.getAs<ArrayAttr>(kEncodingsAttr) : ArrayAttr();
  if (!encodings || encodings.size() != types.size())
    return;
  for (auto [encoding, type] : llvm::zip_equal(encodings, types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && !isa<UnitAttr>(encoding))
      type = RankedTensorType::get(tensor.getShape(), tensor.getElementType(), encoding);
  }
}

void dgc::recordEncodings(Operation *op) {
  SmallVector<Attribute> encodings;
  bool any = false;
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    Attribute encoding = tensor ? tensor.getEncoding() : Attribute();
    any |= bool(encoding);
    encodings.push_back(encoding ? encoding : UnitAttr::get(op->getContext()));
  }
  if (any)
    op->setAttr(kEncodingsAttr, ArrayAttr::get(op->getContext(), encodings));
  else
    op->removeAttr(kEncodingsAttr);
}

bool dgc::equalUpToEncoding(TypeRange a, TypeRange b) {
  auto strip = [](Type type) -> Type {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? withoutEncoding(tensor) : type;
  };
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [&](auto pair) { return strip(std::get<0>(pair)) == strip(std::get<1>(pair)); });
}
