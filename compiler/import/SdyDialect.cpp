// The dialect of shardings, as text and as bytecode.

#include "compiler/import/Sdy.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/ExtensibleDialect.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace dgc::import {

static DictionaryAttr dictionary(MLIRContext *context, ArrayRef<std::pair<StringRef, Attribute>> entries) {
  NamedAttrList list;
  for (auto [name, value] : entries)
    if (value)
      list.append(name, value);
  return list.getDictionary(context);
}

namespace {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Parses the parts of shardings. On failure there is a diagnostic.
class SdyParser {
public:
  explicit SdyParser(AsmParser &parser) : parser(parser), builder(parser.getContext()) {}

  /// `<["data"=2, "model"=2], device_ids=[1, 0]>`
  ParseResult skip();
  ParseResult parseMesh(Attribute &mesh);
  /// `<@mesh, [{"data"}, {?}], replicated={"model"}>`
  ParseResult parseSharding(Attribute &sharding);

private:
  ParseResult parseAxis(Attribute &axis);
  ParseResult parseAxisUse(Attribute &use);
  ParseResult parseUses(SmallVectorImpl<Attribute> &uses);
  ParseResult parseDim(Attribute &dim);
  Attribute number(int64_t value) { return builder.getI64IntegerAttr(value); }

  AsmParser &parser;
  Builder builder;
};

ParseResult SdyParser::parseAxis(Attribute &axis) {
  std::string name;
  int64_t size = 0;
  if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
    return failure();
  axis = dictionary(builder.getContext(), {{"name", builder.getStringAttr(name)}, {"size", number(size)}});
  return success();
}

ParseResult SdyParser::parseMesh(Attribute &mesh) {
  SmallVector<Attribute> axes;
  SmallVector<int64_t> devices;
  auto parseOne = [&] { return parseAxis(axes.emplace_back()); };
  auto parseDevice = [&] { return parser.parseInteger(devices.emplace_back()); };
  if (parser.parseLess())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("maximal_device_id"))) {
    if (parser.parseEqual() || parseDevice() || parser.parseGreater())
      return failure();
  } else if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
             (succeeded(parser.parseOptionalComma()) &&
              (parser.parseKeyword("device_ids") || parser.parseEqual() ||
               parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDevice))) ||
             parser.parseGreater()) {
    return failure();
  }
  mesh = dictionary(builder.getContext(),
                    {{"axes", builder.getArrayAttr(axes)}, {"device_ids", builder.getDenseI64ArrayAttr(devices)}});
  return success();
}

/// Goes behind `<..>`, whatever is inside.
ParseResult SdyParser::skip() {
  if (parser.parseLess())
    return failure();
  StringRef word;
  std::string text;
  int64_t integer = 0;
  auto isOther = [&] {
    return succeeded(parser.parseOptionalKeyword(&word)) || succeeded(parser.parseOptionalString(&text)) ||
           succeeded(parser.parseOptionalComma()) || succeeded(parser.parseOptionalEqual()) ||
           succeeded(parser.parseOptionalColon()) || succeeded(parser.parseOptionalArrow()) ||
           succeeded(parser.parseOptionalLParen()) || succeeded(parser.parseOptionalRParen()) ||
           succeeded(parser.parseOptionalLSquare()) || succeeded(parser.parseOptionalRSquare()) ||
           succeeded(parser.parseOptionalLBrace()) || succeeded(parser.parseOptionalRBrace());
  };
  while (failed(parser.parseOptionalGreater()))
    if (OptionalParseResult number = parser.parseOptionalInteger(integer);
        number.has_value() ? failed(*number) : !isOther())
      return parser.emitError(parser.getCurrentLocation()) << "expected the end of this, '>'";
  return success();
}

/// Parses `"x"` or, of the axis in parts of 2 and 4, the second one: `"x":(2)4`.
ParseResult SdyParser::parseAxisUse(Attribute &use) {
  std::string name;
  if (parser.parseString(&name))
    return failure();
  int64_t before = 0, size = 0;
  bool isPart = succeeded(parser.parseOptionalColon());
  if (isPart &&
      (parser.parseLParen() || parser.parseInteger(before) || parser.parseRParen() || parser.parseInteger(size)))
    return failure();
  use = dictionary(builder.getContext(), {{"name", builder.getStringAttr(name)},
                                          {"pre_size", isPart ? number(before) : Attribute()},
                                          {"size", isPart ? number(size) : Attribute()}});
  return success();
}

ParseResult SdyParser::parseUses(SmallVectorImpl<Attribute> &uses) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                        [&] { return parseAxisUse(uses.emplace_back()); });
}

ParseResult SdyParser::parseDim(Attribute &dim) {
  SmallVector<Attribute> uses;
  bool isClosed = true;
  auto parseEntry = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      isClosed = false;
      return success();
    }
    return parseAxisUse(uses.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  StringRef word; // p0, p1 ..: which shardings are propagated first
  int64_t priority = 0;
  if (succeeded(parser.parseOptionalKeyword(&word)) && (!word.consume_front("p") || word.getAsInteger(10, priority)))
    return parser.emitError(parser.getCurrentLocation()) << "expected a priority such as p1";
  dim = dictionary(builder.getContext(), {{"axes", builder.getArrayAttr(uses)},
                                          {"is_closed", builder.getBoolAttr(isClosed)},
                                          {"priority", number(priority)}});
  return success();
}

ParseResult SdyParser::parseSharding(Attribute &sharding) {
  if (parser.parseLess())
    return failure();
  Attribute mesh;
  StringAttr name;
  if (succeeded(parser.parseOptionalSymbolName(name)))
    mesh = FlatSymbolRefAttr::get(name);
  else if (parser.parseKeyword("mesh") || parseMesh(mesh))
    return failure();
  SmallVector<Attribute> dims, replicated, unreduced;
  if (parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseDim(dims.emplace_back()); }))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    bool isReplicated = succeeded(parser.parseOptionalKeyword("replicated"));
    if ((!isReplicated && parser.parseKeyword("unreduced")) || parser.parseEqual() ||
        parseUses(isReplicated ? replicated : unreduced))
      return failure();
  }
  sharding = dictionary(builder.getContext(),
                        {{"mesh", mesh},
                         {"dims", builder.getArrayAttr(dims)},
                         {"replicated", builder.getArrayAttr(replicated)},
                         {"unreduced", unreduced.empty() ? Attribute() : builder.getArrayAttr(unreduced)}});
  return parser.parseGreater();
}

/// Parses `@mesh = <["x"=2]>`.
ParseResult parseMeshOp(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  Attribute mesh;
  if (parser.parseSymbolName(name) || parser.parseEqual() || SdyParser(parser).parseMesh(mesh) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  state.addAttribute("sym_name", name);
  state.addAttribute("mesh", mesh);
  return success();
}

/// Parses `%x <@mesh, [{}]> : tensor<2xui32>`.
ParseResult parseConstraintOp(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  Attribute sharding;
  Type type;
  if (parser.parseOperand(operand) || SdyParser(parser).parseSharding(sharding) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.resolveOperand(operand, type, state.operands))
    return failure();
  state.addAttribute("sharding", sharding);
  state.addTypes(type);
  return success();
}

/// Parses `(%x) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"a"} (%y: tensor<2xf32>) {..} : TYPE`.
ParseResult parseManualOp(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Attribute> in, out, axes;
  SmallVector<OpAsmParser::Argument> arguments;
  FunctionType type;
  auto parseShardings = [&](StringRef name, SmallVectorImpl<Attribute> &shardings) -> ParseResult {
    auto parseOne = [&] { return SdyParser(parser).parseSharding(shardings.emplace_back()); };
    return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                   parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne));
  };
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  Region *body = state.addRegion();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) || parseShardings("in_shardings", in) ||
      parseShardings("out_shardings", out) || parser.parseKeyword("manual_axes") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseAxis) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseRegion(*body, arguments) || parser.parseOptionalAttrDict(state.attributes))
    return failure();
  const SMLoc location = parser.getCurrentLocation();
  if (parser.parseColonType(type) || parser.resolveOperands(operands, type.getInputs(), location, state.operands))
    return failure();
  state.addAttribute("in_shardings", parser.getBuilder().getArrayAttr(in));
  state.addAttribute("manual_axes", parser.getBuilder().getArrayAttr(axes));
  state.addAttribute("out_shardings", parser.getBuilder().getArrayAttr(out));
  state.addTypes(type.getResults());
  return success();
}

/// `sdy.return %x : tensor<2xf32>`, the end of a manual computation.
class ReturnOp : public Op<ReturnOp, OpTrait::ZeroRegions, OpTrait::ZeroResults, OpTrait::VariadicOperands,
                           OpTrait::IsTerminator> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReturnOp)
  using Op::Op;
  static StringRef getOperationName() { return "sdy.return"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }

  static ParseResult parse(OpAsmParser &parser, OperationState &state) {
    SmallVector<OpAsmParser::UnresolvedOperand> operands;
    SmallVector<Type> types;
    const SMLoc location = parser.getCurrentLocation();
    if (parser.parseOptionalAttrDict(state.attributes) || parser.parseOperandList(operands) ||
        (!operands.empty() && parser.parseColonTypeList(types)))
      return failure();
    return parser.resolveOperands(operands, types, location, state.operands);
  }
  void print(OpAsmPrinter &printer) {
    printer.printOptionalAttrDict((*this)->getAttrs());
    if (getNumOperands() != 0)
      printer << ' ' << getOperands() << " : " << getOperandTypes();
  }
};

//===----------------------------------------------------------------------===//
// Bytecode
//===----------------------------------------------------------------------===//

struct SdyBytecode : BytecodeDialectInterface {
  explicit SdyBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}
  Attribute readAttribute(DialectBytecodeReader &reader) const override;
};

Attribute SdyBytecode::readAttribute(DialectBytecodeReader &reader) const {
  Builder builder(reader.getContext());
  uint64_t code = 0, priority = 0;
  StringRef name;
  int64_t size = 0, before = 0;
  bool flag = false;
  SmallVector<int64_t> devices;
  SmallVector<Attribute> list, more;
  Attribute part;
  if (failed(reader.readVarInt(code)))
    return {};
  auto numberOf = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  switch (code) {
  case 1: // an axis
    if (failed(reader.readString(name)) || failed(reader.readSignedVarInt(size)))
      return {};
    return dictionary(reader.getContext(), {{"name", builder.getStringAttr(name)}, {"size", numberOf(size)}});
  case 2: // a mesh
    if (failed(reader.readAttributes(list)) || failed(reader.readSignedVarInts(devices)))
      return {};
    return dictionary(reader.getContext(),
                      {{"axes", builder.getArrayAttr(list)}, {"device_ids", builder.getDenseI64ArrayAttr(devices)}});
  case 3: // which part of an axis
    if (failed(reader.readSignedVarInt(before)) || failed(reader.readSignedVarInt(size)))
      return {};
    return dictionary(reader.getContext(), {{"pre_size", numberOf(before)}, {"size", numberOf(size)}});
  case 4: { // the use of an axis
    if (failed(reader.readString(name)) || failed(reader.readOptionalAttribute(part)))
      return {};
    NamedAttrList use;
    if (auto fields = dyn_cast_or_null<DictionaryAttr>(part))
      use.append(fields.begin(), fields.end());
    use.set("name", builder.getStringAttr(name));
    return use.getDictionary(reader.getContext());
  }
  case 5: // a dimension
    if (failed(reader.readAttributes(list)) || failed(reader.readBool(flag)))
      return {};
    if (bool hasPriority = false; failed(reader.readVarIntWithFlag(priority, hasPriority)))
      return {};
    return dictionary(reader.getContext(), {{"axes", builder.getArrayAttr(list)},
                                            {"is_closed", builder.getBoolAttr(flag)},
                                            {"priority", numberOf(static_cast<int64_t>(priority))}});
  case 6: // a sharding
    if (failed(reader.readAttribute(part)) || failed(reader.readAttributes(list)) ||
        failed(reader.readAttributes(more)))
      return {};
    return dictionary(
        reader.getContext(),
        {{"mesh", part}, {"dims", builder.getArrayAttr(list)}, {"replicated", builder.getArrayAttr(more)}});
  case 8: // the factors of a dimension
    return failed(reader.readSignedVarInts(devices)) ? Attribute() : builder.getDenseI64ArrayAttr(devices);
  case 9: // those of the dimensions of a tensor
    return failed(reader.readAttributes(list)) ? Attribute() : builder.getArrayAttr(list);
  case 10: { // the rule of an op of another program, which is refused by the name of the op
    SmallVector<int64_t> factors[5];
    if (failed(reader.readSignedVarInts(factors[0])) || failed(reader.readAttributes(list)) ||
        failed(reader.readAttributes(more)))
      return {};
    for (size_t kind = 1; kind < std::size(factors); ++kind)
      if (failed(reader.readSignedVarInts(factors[kind])))
        return {};
    return failed(reader.readBool(flag)) ? Attribute() : builder.getUnitAttr();
  }
  case 0: // names of axes
  case 7: // the shardings of several values
    if (failed(reader.readAttributes(list)))
      return {};
    return builder.getArrayAttr(list);
  default:
    reader.emitError() << "the sharding attribute with the code " << code << " is not known";
    return {};
  }
}

/// The attributes of each op, in the order in which they are stored.
ArrayRef<StringRef> attributesOf(StringRef op) {
  static constexpr StringRef manual[] = {"in_shardings", "manual_axes", "out_shardings"}, mesh[] = {"mesh", "sym_name"},
                             constraint[] = {"sharding"};
  return op == "manual_computation" ? ArrayRef(manual) : op == "mesh" ? ArrayRef(mesh) : ArrayRef(constraint);
}

struct SdyProperties : BytecodeOpInterface::FallbackModel<SdyProperties> {
  static LogicalResult readProperties(DialectBytecodeReader &reader, OperationState &state) {
    for (StringRef name : attributesOf(state.name.stripDialect())) {
      Attribute value;
      if (failed(reader.readAttribute(value)))
        return failure();
      state.attributes.set(name, value); // the dictionary of what dgc wrote has it as well
    }
    return success();
  }
  void writeProperties(Operation *op, DialectBytecodeWriter &writer) const {
    for (StringRef name : attributesOf(op->getName().stripDialect()))
      writer.writeAttribute(op->getAttr(name));
  }
};

class SdyDialect : public ExtensibleDialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SdyDialect)
  static constexpr StringLiteral getDialectNamespace() { return "sdy"; }

  explicit SdyDialect(MLIRContext *context)
      : ExtensibleDialect(getDialectNamespace(), context, TypeID::get<SdyDialect>()) {
    addInterfaces<SdyBytecode>();
    addOp("mesh", parseMeshOp);
    addOp("sharding_constraint", parseConstraintOp);
    addOp("manual_computation", parseManualOp);
    addOperations<ReturnOp>();
    allowUnknownOperations(); // they are refused all at once, by stablehlo-to-dgc
  }

  /// Only shardings are attributes by themselves.
  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    StringRef name;
    Attribute attribute;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return {};
    SdyParser own(parser);
    if (name == "sharding")
      return failed(own.parseSharding(attribute)) ? Attribute() : attribute;
    if (name == "mesh")
      return failed(own.parseMesh(attribute)) ? Attribute() : attribute;
    if (name == "sharding_per_value") {
      SmallVector<Attribute> all;
      const bool isWrong = failed(parser.parseLess()) ||
                           failed(parser.parseCommaSeparatedList(
                               AsmParser::Delimiter::Square, [&] { return own.parseSharding(all.emplace_back()); })) ||
                           failed(parser.parseGreater());
      return isWrong ? Attribute() : ArrayAttr::get(getContext(), all);
    }
    if (name == "op_sharding_rule") { // of another program's op, which is refused by its name
      return failed(own.skip()) ? Attribute() : UnitAttr::get(getContext());
    }
    parser.emitError(location) << "the sharding attribute '" << name << "' is not supported";
    return {};
  }

private:
  void addOp(StringRef name, OperationName::ParseAssemblyFn parse) {
    auto verifies = [](Operation *) { return success(); };
    auto prints = [](Operation *op, OpAsmPrinter &printer, StringRef) { printer.printGenericOp(op); };
    registerDynamicOp(DynamicOpDefinition::get(name, this, verifies, verifies, std::move(parse), prints));
    OperationName(("sdy." + name).str(), getContext()).getRegisteredInfo()->attachInterface<SdyProperties>();
  }
};

} // namespace

void registerSdy(DialectRegistry &registry) { registry.insert<SdyDialect>(); }

//===----------------------------------------------------------------------===//
// The form of attributes
//===----------------------------------------------------------------------===//

static bool isNumber(Attribute attribute) {
  auto number = dyn_cast_or_null<IntegerAttr>(attribute);
  return number && number.getType().isSignlessInteger(64);
}

static bool isListOf(Attribute attribute, function_ref<bool(DictionaryAttr)> isElement) {
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  return list && llvm::all_of(list, [&](Attribute each) {
           auto fields = dyn_cast<DictionaryAttr>(each);
           return fields && isElement(fields);
         });
}

static bool isAxis(DictionaryAttr axis) { return axis.getAs<StringAttr>("name") && isNumber(axis.get("size")); }

static bool isUse(DictionaryAttr use) {
  return use.contains("size") ? isAxis(use) && isNumber(use.get("pre_size"))
                              : static_cast<bool>(use.getAs<StringAttr>("name"));
}

static bool isDim(DictionaryAttr dim) {
  return isListOf(dim.get("axes"), isUse) && dim.getAs<BoolAttr>("is_closed") && isNumber(dim.get("priority"));
}

bool isSdyMesh(Attribute attribute) {
  auto mesh = dyn_cast_or_null<DictionaryAttr>(attribute);
  return mesh && isListOf(mesh.get("axes"), isAxis);
}

bool isSdySharding(Attribute attribute) {
  auto sharding = dyn_cast_or_null<DictionaryAttr>(attribute);
  return sharding && isListOf(sharding.get("dims"), isDim) && isListOf(sharding.get("replicated"), isUse);
}

} // namespace dgc::import
