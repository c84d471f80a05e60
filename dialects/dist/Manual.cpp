// Manual regions: assembly, constraints, and their types in a model.

#include "dialects/dist/OpUtil.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// True in a model whose types are not inferred yet.
static bool isUntyped(ManualOp op) { return dgc::anyUntyped(op.getInputs()) || dgc::anyUntyped(op.getResults()); }

/// `%x over ..` followed by types, or `(%local = %x) over ..` in a model.
ParseResult ManualOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  OptionalParseResult assigned = parser.parseOptionalAssignmentList(arguments, inputs);
  bool untyped = assigned.has_value();
  if (untyped ? failed(*assigned) : failed(parser.parseOperandList(inputs)))
    return failure();
  if (parser.parseKeyword("over") || parser.parseAttribute(properties.mesh) || parser.parseAttribute(properties.axes) ||
      parser.parseKeyword("in") || parser.parseAttribute(properties.in_shardings) || parser.parseKeyword("out") ||
      parser.parseAttribute(properties.out_shardings))
    return failure();
  Region *body = state.addRegion();
  if (untyped) {
    Type type = dgc::UntypedType::get(parser.getContext());
    for (OpAsmParser::Argument &argument : arguments)
      argument.type = type;
    state.addTypes(SmallVector<Type>(properties.out_shardings.size(), type));
    if (parser.resolveOperands(inputs, type, state.operands) ||
        parser.parseOptionalAttrDictWithKeyword(state.attributes) || parser.parseRegion(*body, arguments))
      return failure();
  } else {
    FunctionType type;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
        parser.resolveOperands(inputs, type.getInputs(), location, state.operands) || parser.parseRegion(*body))
      return failure();
    state.addTypes(type.getResults());
  }
  ensureTerminator(*body, parser.getBuilder(), state.location);
  return success();
}

void ManualOp::print(OpAsmPrinter &printer) {
  bool untyped = isUntyped(*this);
  printer << ' ';
  if (untyped) {
    printer << '(';
    llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getInputs()), printer,
                          [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
    printer << ')';
  } else {
    printer << getInputs();
  }
  printer << " over " << getMeshAttr() << ' ' << getAxes() << " in " << getInShardings() << " out "
          << getOutShardings();
  ArrayRef<NamedAttribute> attributes = (*this)->getDiscardableAttrDictionary().getValue();
  if (untyped) {
    printer.printOptionalAttrDictWithKeyword(attributes);
  } else {
    printer.printOptionalAttrDict(attributes);
    printer << " : ";
    printer.printFunctionalType(getInputs().getTypes(), getResultTypes());
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/!untyped);
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// Checks what holds of the shardings of operands or results whatever their types are.
static LogicalResult verifyEnds(ManualOp op, StringRef what, ArrayAttr shardings, size_t outside, size_t inside) {
  if (shardings.size() != outside || inside != outside)
    return op.emitOpError() << "has " << outside << " " << what << "s outside, " << inside << " inside and "
                            << shardings.size() << " shardings of them";
  for (auto [index, sharding] : llvm::enumerate(shardings.getAsRange<ShardingAttr>())) {
    auto emitError = [&, index = index] { return op.emitOpError() << what << " " << index << ": "; };
    if (sharding.getMesh() != op.getMeshAttr())
      return emitError() << "is spread over " << sharding.getMesh() << ", the region over " << op.getMeshAttr();
    for (DimShardingAttr dim : sharding.getDims())
      for (AxisRefAttr axis : dim.getAxes())
        if (!llvm::is_contained(op.getAxes(), axis.getName()))
          return emitError() << "is cut by " << axis.getName() << ", which is not a manual axis";
  }
  return success();
}

/// The type inside of a region of what has the type `global` outside.
static FailureOr<RankedTensorType> localType(ManualOp op, ShardingAttr sharding, Type global, MeshAttr mesh,
                                             llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (failed(sharding.verifyFor(global, op, emitError)))
    return failure();
  auto type = cast<RankedTensorType>(global);
  if (failed(sharding.verifyEqualParts(type.getShape(), mesh, emitError,
                                       "a region that is written for one device has equal parts only")))
    return failure();
  return RankedTensorType::get(sharding.getLocalShape(type.getShape(), mesh), type.getElementType());
}

/// Checks that the types inside of a manual region are the local types of those outside.
static LogicalResult verifyTypes(ManualOp op, StringRef what, ArrayAttr shardings, TypeRange global, TypeRange local,
                                 MeshAttr mesh) {
  for (auto [index, sharding, outside, inside] : llvm::enumerate(shardings.getAsRange<ShardingAttr>(), global, local)) {
    auto emitError = [&, index = index] { return op.emitOpError() << what << " " << index << ": "; };
    FailureOr<RankedTensorType> part = localType(op, sharding, outside, mesh, emitError);
    if (failed(part))
      return failure();
    if (dropEncoding(cast<RankedTensorType>(inside)) != *part)
      return emitError() << "has the type " << inside << " inside, where the part of a device is " << *part;
  }
  return success();
}

LogicalResult ManualOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
}

LogicalResult ManualOp::verifyRegions() {
  MeshAttr mesh = lookupMesh(*this, getMeshAttr());
  if (!mesh)
    return success(); // verifySymbolUses says so.
  Block &block = getBody().front();
  Operation *end = block.getTerminator();
  if (failed(verifyEnds(*this, "operand", getInShardings(), getNumOperands(), block.getNumArguments())) ||
      failed(verifyEnds(*this, "result", getOutShardings(), getNumResults(), end->getNumOperands())))
    return failure();
  if (isUntyped(*this))
    return success();
  if (failed(verifyTypes(*this, "operand", getInShardings(), getOperandTypes(), block.getArgumentTypes(), mesh)))
    return failure();
  return verifyTypes(*this, "result", getOutShardings(), getResultTypes(), end->getOperandTypes(), mesh);
}

//===----------------------------------------------------------------------===//
// Types in a model
//===----------------------------------------------------------------------===//

/// Refuses ops that have to know of the whole batch or of the entry point that they are in.
static LogicalResult checkInside(ManualOp op) {
  WalkResult result = op.getBody().walk([&](Operation *inner) {
    if (isa<dgc::BatchMeanOpInterface, dgc::ModeOpInterface>(inner)) {
      inner->emitOpError() << "cannot be in a dist.manual of a model, which sees the part of one device: "
                           << (isa<dgc::ModeOpInterface>(inner) ? "what differs between training and evaluating"
                                                                : "a mean over the global batch")
                           << " goes before or after the region";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult ManualOp::inferTypesInside() {
  if (failed(checkInside(*this)))
    return failure();
  MeshAttr mesh = lookupMesh(*this, getMeshAttr());
  for (auto [index, sharding, outside, inside] :
       llvm::enumerate(getInShardings().getAsRange<ShardingAttr>(), getOperandTypes(), getBody().getArguments())) {
    auto emitError = [&, index = index] { return emitOpError() << "operand " << index << ": "; };
    FailureOr<RankedTensorType> part = localType(*this, sharding, outside, mesh, emitError);
    if (failed(part))
      return failure();
    inside.setType(*part);
  }
  return success();
}

LogicalResult ManualOp::inferResultTypes() {
  MeshAttr mesh = lookupMesh(*this, getMeshAttr());
  Operation *end = getBody().front().getTerminator();
  for (auto [index, sharding, local, result] :
       llvm::enumerate(getOutShardings().getAsRange<ShardingAttr>(), end->getOperandTypes(), getResults())) {
    auto type = cast<RankedTensorType>(local);
    auto emitError = [&, index = index] { return emitOpError() << "result " << index << ": "; };
    if (int64_t(sharding.getDims().size()) != type.getRank())
      return emitError() << "its sharding has " << sharding.getDims().size() << " dimensions, and the region gives "
                         << type;
    SmallVector<int64_t> shape(type.getShape());
    for (auto [size, dim] : llvm::zip_equal(shape, sharding.getDims()))
      for (AxisRefAttr axis : dim.getAxes())
        size *= mesh.getAxes()[mesh.getAxisIndex(axis.getName())].getSize();
    result.setType(RankedTensorType::get(shape, type.getElementType()));
  }
  return success();
}
