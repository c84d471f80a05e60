// Ops of the dist dialect.

#include "dialects/dist/OpUtil.h"

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/ModelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace dgc::dist {

using Unresolved = OpAsmParser::UnresolvedOperand;

/// Types of a list of operands, all written out; in a model nothing.
static ParseResult parseListTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types,
                                  const SmallVectorImpl<Unresolved> &operands) {
  if (succeeded(parser.parseOptionalColon()))
    return parser.parseTypeList(types);
  types.assign(operands.size(), dgc::UntypedType::get(parser.getContext()));
  return success();
}

static void printListTypes(OpAsmPrinter &printer, Operation *, TypeRange types, OperandRange) {
  if (!llvm::all_of(types, llvm::IsaPred<dgc::UntypedType>))
    printer << ": " << types;
}

/// `: tensor<4xf32> to tensor<8xf32>`, of operands and results; in a model nothing.
static ParseResult parseListFromTo(OpAsmParser &parser, SmallVectorImpl<Type> &from,
                                   const SmallVectorImpl<Unresolved> &operands, SmallVectorImpl<Type> &to) {
  if (succeeded(parser.parseOptionalColon()))
    return failure(parser.parseTypeList(from) || parser.parseKeyword("to") || parser.parseTypeList(to));
  from.assign(operands.size(), dgc::UntypedType::get(parser.getContext()));
  to = from;
  return success();
}

static void printListFromTo(OpAsmPrinter &printer, Operation *, TypeRange from, OperandRange, TypeRange to) {
  if (!llvm::all_of(from, llvm::IsaPred<dgc::UntypedType>))
    printer << ": " << from << " to " << to;
}

/// `"a", "b"`: what caused a collective or a transfer.
static ParseResult parseOrigins(OpAsmParser &parser, ArrayAttr &origins) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList([&] {
        std::string origin;
        if (parser.parseString(&origin))
          return failure();
        list.push_back(parser.getBuilder().getStringAttr(origin));
        return success();
      }))
    return failure();
  origins = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printOrigins(OpAsmPrinter &printer, Operation *, ArrayAttr origins) {
  llvm::interleaveComma(origins, printer);
}

static Type indexType(MLIRContext *context) { return RankedTensorType::get({}, IntegerType::get(context, 64)); }

/// The position that an op gives: nothing, but in a model `: tensor<i64>` once types are inferred.
static ParseResult parseIndexResult(OpAsmParser &parser, Type &type) {
  if (succeeded(parser.parseOptionalColon()))
    return parser.parseType(type);
  type = dgc::ModelBodyScope::innermost() ? Type(dgc::UntypedType::get(parser.getContext()))
                                          : indexType(parser.getContext());
  return success();
}

static void printIndexResult(OpAsmPrinter &printer, Operation *op, Type type) {
  if (!isa<dgc::UntypedType>(type) && dgc::isInModelBody(op))
    printer << ": " << type;
}

/// The type of a value, and that of a position, which is not written.
static ParseResult parseIndexedTypes(OpAsmParser &parser, Type &type, Type &index) {
  if (parseOperandTypes(parser, type))
    return failure();
  index = isa<dgc::UntypedType>(type) ? type : indexType(parser.getContext());
  return success();
}

static void printIndexedTypes(OpAsmPrinter &printer, Operation *op, Type type, Type) {
  printOperandTypes(printer, op, type);
}

static ParseResult parseFromTo(OpAsmParser &parser, Type &from, Type &to) {
  if (succeeded(parser.parseOptionalColon()))
    return failure(parser.parseType(from) || parser.parseKeyword("to") || parser.parseType(to));
  from = to = dgc::UntypedType::get(parser.getContext());
  return success();
}

static void printFromTo(OpAsmPrinter &printer, Operation *, Type from, Type to) {
  if (!isa<dgc::UntypedType>(from))
    printer << ": " << from << " to " << to;
}
} // namespace dgc::dist

#include "dialects/dist/DistInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

FailureOr<MeshAttr> dgc::dist::verifyAxes(Operation *op, FlatSymbolRefAttr name, ArrayAttr axes,
                                          SymbolTableCollection &symbols) {
  auto mesh = symbols.lookupNearestSymbolFrom<MeshOp>(op, name);
  if (!mesh)
    return op->emitOpError() << "names the mesh " << name << ", which the module does not have";
  if (axes.empty())
    return op->emitOpError("needs at least one axis of the mesh");
  llvm::StringSet<> seen;
  for (auto axis : axes.getAsRange<StringAttr>()) {
    if (mesh.getMesh().getAxisIndex(axis) < 0)
      return op->emitOpError() << "mesh " << name << " has no axis " << axis;
    if (!seen.insert(axis.getValue()).second)
      return op->emitOpError() << "has the axis " << axis << " twice";
  }
  return mesh.getMesh();
}

static LogicalResult verifySharding(Operation *op, ShardingAttr sharding, Type type) {
  return sharding.verifyFor(type, op, [&] { return op->emitOpError(); });
}

//===----------------------------------------------------------------------===//
// Global level
//===----------------------------------------------------------------------===//

LogicalResult ConstraintOp::verifySymbolUses(SymbolTableCollection &) {
  if (isa<RankedTensorType>(getType()))
    return verifySharding(*this, getSharding(), getType());
  if (lookupMesh(*this, getSharding().getMesh()))
    return success();
  return emitOpError() << "names the mesh " << getSharding().getMesh() << ", which the module does not have";
}

SmallVector<Value> ConstraintOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                const llvm::BitVector &wanted) {
  if (!wanted[0] || !resultGradients[0])
    return {Value()};
  return {ConstraintOp::create(builder, getLoc(), resultGradients[0], getSharding())};
}

dgc::ShardingRule ConstraintOp::getShardingRule() { return dgc::ShardingRuleBuilder(*this).elementwise().build(); }

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  return verifySharding(*this, getSharding(), getType());
}

//===----------------------------------------------------------------------===//
// Local level
//===----------------------------------------------------------------------===//

void AxisIndexOp::build(OpBuilder &builder, OperationState &state, StringRef mesh, ArrayAttr axes) {
  build(builder, state, indexType(builder.getContext()), mesh, axes);
}

RankedTensorType AxisIndexOp::getDeclared() { return cast<RankedTensorType>(indexType(getContext())); }

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
}

LogicalResult VaryOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAxes(*this, getMeshAttr(), getAxes(), symbols);
}

LogicalResult dist::SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  if (dgc::anyUntyped(adaptor.getInput())) {
    types.push_back(adaptor.getInput().getType());
    return success();
  }
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t dim = adaptor.getDim(), parts = adaptor.getParts();
  if (dim < 0 || dim >= input.getRank())
    return emitOptionalError(location, "dimension ", dim, " is not one of ", input);
  if (parts < 1 || input.getDimSize(dim) % parts)
    return emitOptionalError(location, "dimension ", dim, " has size ", input.getDimSize(dim),
                             ", which cannot be cut in ", parts, " equal parts");
  SmallVector<int64_t> shape(input.getShape());
  shape[dim] /= parts;
  types.push_back(RankedTensorType::get(shape, input.getElementType(), input.getEncoding()));
  return success();
}

/// Elements of `input` from `start`, an index, on, as many as `type` has in dimension `dim`.
static SmallVector<Value> extractFrom(OpBuilder &builder, Location location, Value input, Value start, int64_t dim,
                                      RankedTensorType type) {
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1)), sizes;
  offsets[dim] = start;
  for (int64_t extent : type.getShape())
    sizes.push_back(builder.getIndexAttr(extent));
  Value part = tensor::ExtractSliceOp::create(builder, location, input, offsets, sizes, strides);
  return {part};
}

/// A scalar i64 tensor as an index.
static Value asIndex(OpBuilder &builder, Location location, Value scalar) {
  Value number = tensor::ExtractOp::create(builder, location, scalar, ValueRange());
  return arith::IndexCastOp::create(builder, location, builder.getIndexType(), number);
}

FailureOr<SmallVector<Value>> dist::SliceOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto type = cast<RankedTensorType>(getType());
  Value index = asIndex(builder, getLoc(), operands[1]);
  Value size = arith::ConstantIndexOp::create(builder, getLoc(), type.getDimSize(getDim()));
  Value start = arith::MulIOp::create(builder, getLoc(), index, size);
  return extractFrom(builder, getLoc(), operands[0], start, getDim(), type);
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t dim = adaptor.getDim(), size = adaptor.getSize();
  if (dim < 0 || dim >= input.getRank())
    return emitOptionalError(location, "dimension ", dim, " is not one of ", input);
  if (size < 0 || size > input.getDimSize(dim))
    return emitOptionalError(location, "dimension ", dim, " has ", input.getDimSize(dim), " elements, of which ", size,
                             " cannot be taken");
  SmallVector<int64_t> shape(input.getShape());
  shape[dim] = size;
  types.push_back(RankedTensorType::get(shape, input.getElementType(), input.getEncoding()));
  return success();
}

FailureOr<SmallVector<Value>> DynamicSliceOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Value start = asIndex(builder, getLoc(), operands[1]);
  return extractFrom(builder, getLoc(), operands[0], start, getDim(), cast<RankedTensorType>(getType()));
}

#define GET_OP_CLASSES
#include "dialects/dist/Dist.cpp.inc"
