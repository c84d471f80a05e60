// Attributes of the dist dialect.
//
// Syntax and verifiers. Each verifier checks the constraints that Base.td
// lists, in that order.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Syntax shared by the attributes
//===----------------------------------------------------------------------===//

static ParseResult parseString(AsmParser &parser, StringAttr &value) {
  std::string text;
  if (parser.parseString(&text))
    return failure();
  value = StringAttr::get(parser.getContext(), text);
  return success();
}

static ParseResult parseReduction(AsmParser &parser, Reduction &kind) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Reduction> parsed = symbolizeReduction(keyword);
  if (!parsed)
    return parser.emitError(loc) << "unknown reduction '" << keyword << "'; expected sum, product, max or min";
  kind = *parsed;
  return success();
}

/// origin ::= `user` | `strategy` string | `op` string
static ParseResult parseOrigin(AsmParser &parser, OriginAttr &origin) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<OriginKind> kind = symbolizeOriginKind(keyword);
  if (!kind)
    return parser.emitError(loc) << "unknown origin '" << keyword << "'; expected user, strategy or op";
  StringAttr name = StringAttr::get(parser.getContext());
  if (*kind != OriginKind::User && parseString(parser, name))
    return failure();
  origin = parser.getChecked<OriginAttr>(loc, parser.getContext(), *kind, name);
  return success(bool(origin));
}

static void printOrigin(llvm::raw_ostream &os, OriginAttr origin) {
  os << stringifyOriginKind(origin.getKind());
  if (origin.getKind() != OriginKind::User) {
    os << " \"";
    llvm::printEscapedString(origin.getName(), os);
    os << '"';
  }
}

/// axis ::= string (`by` origin)?
static ParseResult parseAxis(AsmParser &parser, AxisRefAttr &axis) {
  SMLoc loc = parser.getCurrentLocation();
  StringAttr name;
  if (parseString(parser, name))
    return failure();
  OriginAttr origin = OriginAttr::get(parser.getContext(), OriginKind::User, StringAttr::get(parser.getContext()));
  if (succeeded(parser.parseOptionalKeyword("by")) && parseOrigin(parser, origin))
    return failure();
  axis = parser.getChecked<AxisRefAttr>(loc, parser.getContext(), name, origin);
  return success(bool(axis));
}

static void printAxis(llvm::raw_ostream &os, AxisRefAttr axis) {
  os << '"';
  llvm::printEscapedString(axis.getName(), os);
  os << '"';
  if (axis.getOrigin().getKind() != OriginKind::User) {
    os << " by ";
    printOrigin(os, axis.getOrigin());
  }
}

/// axes ::= `[` axis (`,` axis)* `]`
static ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parseAxis(parser, axes.emplace_back()); });
}

static void printAxes(llvm::raw_ostream &os, ArrayRef<AxisRefAttr> axes) {
  os << '[';
  llvm::interleaveComma(axes, os, [&](AxisRefAttr axis) { printAxis(os, axis); });
  os << ']';
}

/// dim ::= `{` ((axis (`,` axis)*)? (`,`)? `?`?) `}` (`round` integer)?
static ParseResult parseDim(AsmParser &parser, DimShardingAttr &dim) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<AxisRefAttr> axes;
  bool open = false;
  auto parseEntry = [&]() -> ParseResult {
    if (open)
      return parser.emitError(parser.getCurrentLocation(), "'?' comes last in a dimension");
    if (succeeded(parser.parseOptionalQuestion())) {
      open = true;
      return success();
    }
    return parseAxis(parser, axes.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  int64_t round = 0;
  if (succeeded(parser.parseOptionalKeyword("round")) && parser.parseInteger(round))
    return failure();
  dim = parser.getChecked<DimShardingAttr>(loc, parser.getContext(), axes, open, round);
  return success(bool(dim));
}

static void printDim(llvm::raw_ostream &os, DimShardingAttr dim) {
  os << '{';
  llvm::interleaveComma(dim.getAxes(), os, [&](AxisRefAttr axis) { printAxis(os, axis); });
  if (dim.getOpen())
    os << (dim.getAxes().empty() ? "?" : ", ?");
  os << '}';
  if (dim.getRound())
    os << " round " << dim.getRound();
}

//===----------------------------------------------------------------------===//
// MeshAxisAttr, MeshAttr
//===----------------------------------------------------------------------===//

/// `name = size`, the name a keyword or, where it is not one, a string.
static ParseResult parseMeshAxis(AsmParser &parser, StringAttr &name, int64_t &size) {
  std::string text;
  if (parser.parseKeywordOrString(&text) || parser.parseEqual() || parser.parseInteger(size))
    return failure();
  name = StringAttr::get(parser.getContext(), text);
  return success();
}

static void printMeshAxis(AsmPrinter &printer, MeshAxisAttr axis) {
  printer.printKeywordOrString(axis.getName());
  printer << " = " << axis.getSize();
}

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringAttr name;
  int64_t size;
  if (parser.parseLess() || parseMeshAxis(parser, name, size) || parser.parseGreater())
    return {};
  return parser.getChecked<MeshAxisAttr>(loc, parser.getContext(), name, size);
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printMeshAxis(printer, *this);
  printer << '>';
}

LogicalResult MeshAxisAttr::verify(EmitError emitError, StringAttr name, int64_t size) {
  if (name.empty())
    return emitError() << "a mesh axis needs a name";
  if (size < 1)
    return emitError() << "mesh axis \"" << name.getValue() << "\" has size " << size << "; expected at least 1";
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<MeshAxisAttr> axes;
  int64_t first = 0;
  bool hasFirst = false;
  auto parseEntry = [&]() -> ParseResult {
    SMLoc entry = parser.getCurrentLocation();
    StringAttr name;
    int64_t size;
    if (parseMeshAxis(parser, name, size))
      return failure();
    if (hasFirst)
      return parser.emitError(entry, "'first' comes last in a mesh");
    if (name.getValue() == "first") {
      hasFirst = true;
      first = size;
      return success();
    }
    axes.push_back(parser.getChecked<MeshAxisAttr>(entry, parser.getContext(), name, size));
    return success(bool(axes.back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseEntry))
    return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), axes, first);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) { printMeshAxis(printer, axis); });
  if (getFirst())
    printer << ", first = " << getFirst();
  printer << '>';
}

LogicalResult MeshAttr::verify(EmitError emitError, ArrayRef<MeshAxisAttr> axes, int64_t first) {
  if (axes.empty())
    return emitError() << "a mesh needs at least one axis, as in <data = 2>";
  llvm::StringSet<> names;
  int64_t devices = 1;
  for (MeshAxisAttr axis : axes) {
    if (!names.insert(axis.getName().getValue()).second || axis.getName().getValue() == "first")
      return emitError() << "mesh axis \"" << axis.getName().getValue() << "\" appears twice or has a reserved name";
    if (llvm::MulOverflow(devices, axis.getSize(), devices) || devices > INT32_MAX)
      return emitError() << "a mesh has at most " << INT32_MAX << " devices";
  }
  if (first < 0)
    return emitError() << "the first device of a mesh is " << first << "; expected at least 0";
  return success();
}

int64_t MeshAttr::getAxisSize(StringRef axis) const {
  int64_t index = getAxisIndex(axis);
  return index < 0 ? 0 : getAxes()[index].getSize();
}

int64_t MeshAttr::getAxisIndex(StringRef axis) const {
  for (auto [index, meshAxis] : llvm::enumerate(getAxes()))
    if (meshAxis.getName().getValue() == axis)
      return index;
  return -1;
}

int64_t MeshAttr::getNumDevices() const {
  int64_t devices = 1;
  for (MeshAxisAttr axis : getAxes())
    devices *= axis.getSize();
  return devices;
}

//===----------------------------------------------------------------------===//
// OriginAttr, AxisRefAttr, DimShardingAttr
//===----------------------------------------------------------------------===//

Attribute OriginAttr::parse(AsmParser &parser, Type) {
  OriginAttr origin;
  if (parser.parseLess() || parseOrigin(parser, origin) || parser.parseGreater())
    return {};
  return origin;
}

void OriginAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printOrigin(printer.getStream(), *this);
  printer << '>';
}

LogicalResult OriginAttr::verify(EmitError emitError, OriginKind kind, StringAttr name) {
  if (name.empty() != (kind == OriginKind::User))
    return emitError() << "an origin has a name exactly when it is a strategy or an op";
  return success();
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  AxisRefAttr axis;
  if (parser.parseLess() || parseAxis(parser, axis) || parser.parseGreater())
    return {};
  return axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxis(printer.getStream(), *this);
  printer << '>';
}

LogicalResult AxisRefAttr::verify(EmitError emitError, StringAttr name, OriginAttr) {
  if (name.empty())
    return emitError() << "an axis needs a name";
  return success();
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  DimShardingAttr dim;
  if (parser.parseLess() || parseDim(parser, dim) || parser.parseGreater())
    return {};
  return dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDim(printer.getStream(), *this);
  printer << '>';
}

LogicalResult DimShardingAttr::verify(EmitError emitError, ArrayRef<AxisRefAttr> axes, bool open, int64_t round) {
  llvm::StringSet<> names;
  for (AxisRefAttr axis : axes)
    if (!names.insert(axis.getName().getValue()).second)
      return emitError() << "axis \"" << axis.getName().getValue() << "\" cuts a dimension twice";
  if (round < 0)
    return emitError() << "round " << round << " of propagation; expected at least 0";
  if (round && axes.empty() && !open)
    return emitError() << "a closed dimension without axes takes no part in "
                          "propagation and has no round";
  return success();
}

//===----------------------------------------------------------------------===//
// ShardingAttr
//===----------------------------------------------------------------------===//

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  Reduction kind = Reduction::Sum;
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseDim(parser, dims.emplace_back()); }))
    return {};
  bool hasReplicated = false, hasUnreduced = false;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc entry = parser.getCurrentLocation();
    if (!hasReplicated && !hasUnreduced && succeeded(parser.parseOptionalKeyword("replicated"))) {
      hasReplicated = true;
      if (parser.parseEqual() || parseAxes(parser, replicated))
        return {};
    } else if (!hasUnreduced && succeeded(parser.parseOptionalKeyword("unreduced"))) {
      hasUnreduced = true;
      if (parser.parseEqual() || parseReduction(parser, kind) || parseAxes(parser, unreduced))
        return {};
      if (unreduced.empty()) {
        parser.emitError(entry, "a kind of reduction needs unreduced axes");
        return {};
      }
    } else {
      parser.emitError(entry, "expected 'replicated = [...]' or 'unreduced = "
                              "KIND [...]', once and in this order");
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh, dims, replicated, kind, unreduced);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << '<' << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer, [&](DimShardingAttr dim) { printDim(printer.getStream(), dim); });
  printer << ']';
  if (!getReplicated().empty()) {
    printer << ", replicated = ";
    printAxes(printer.getStream(), getReplicated());
  }
  if (!getUnreduced().empty()) {
    printer << ", unreduced = " << stringifyReduction(getKind()) << ' ';
    printAxes(printer.getStream(), getUnreduced());
  }
  printer << '>';
}

LogicalResult ShardingAttr::verify(EmitError emitError, FlatSymbolRefAttr, ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<AxisRefAttr> replicated, Reduction kind, ArrayRef<AxisRefAttr> unreduced) {
  llvm::StringSet<> names;
  auto checkOnce = [&](ArrayRef<AxisRefAttr> axes) -> LogicalResult {
    for (AxisRefAttr axis : axes)
      if (!names.insert(axis.getName().getValue()).second)
        return emitError() << "axis \"" << axis.getName().getValue() << "\" appears twice in a sharding";
    return success();
  };
  for (DimShardingAttr dim : dims)
    if (failed(checkOnce(dim.getAxes())))
      return failure();
  if (failed(checkOnce(replicated)) || failed(checkOnce(unreduced)))
    return failure();
  if (unreduced.empty() && kind != Reduction::Sum)
    return emitError() << "a kind of reduction needs unreduced axes";
  return success();
}

LogicalResult ShardingAttr::verifyFor(Type type, Operation *anchor, EmitError emitError) const {
  MeshAttr mesh = lookupMesh(anchor, getMesh());
  if (!mesh)
    return emitError() << "sharding names the mesh " << getMesh() << ", which the module does not have";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || size_t(tensor.getRank()) != getDims().size())
    return emitError() << "sharding has " << getDims().size() << " dimensions, but the value has the type " << type;
  auto checkAxes = [&](ArrayRef<AxisRefAttr> axes, bool sorted) -> LogicalResult {
    int64_t last = -1;
    for (AxisRefAttr axis : axes) {
      int64_t index = mesh.getAxisIndex(axis.getName());
      if (index < 0)
        return emitError() << "mesh " << getMesh() << " has no axis \"" << axis.getName().getValue() << '"';
      if (sorted && index < last)
        return emitError() << "replicated and unreduced axes are listed in the "
                              "order of the mesh; \""
                           << axis.getName().getValue() << "\" comes too late";
      last = index;
    }
    return success();
  };
  for (DimShardingAttr dim : getDims())
    if (failed(checkAxes(dim.getAxes(), /*sorted=*/false)))
      return failure();
  if (failed(checkAxes(getReplicated(), /*sorted=*/true)) || failed(checkAxes(getUnreduced(), /*sorted=*/true)))
    return failure();
  bool arithmetic = getKind() == Reduction::Sum || getKind() == Reduction::Product;
  if (!getUnreduced().empty() && arithmetic && tensor.getElementType().isInteger(1))
    return emitError() << "a boolean tensor cannot be unreduced by " << stringifyReduction(getKind());
  return success();
}

bool ShardingAttr::isWhole() const {
  return getUnreduced().empty() && llvm::all_of(getDims(), [](DimShardingAttr dim) { return dim.getAxes().empty(); });
}

FailureOr<SmallVector<int64_t>> ShardingAttr::getLocalShape(ArrayRef<int64_t> globalShape, MeshAttr mesh,
                                                            EmitError emitError) const {
  SmallVector<int64_t> shape(globalShape);
  for (auto [index, dim] : llvm::enumerate(getDims())) {
    int64_t parts = 1;
    for (AxisRefAttr axis : dim.getAxes())
      parts *= mesh.getAxisSize(axis.getName());
    if (shape[index] % parts == 0) {
      shape[index] /= parts;
      continue;
    }
    auto diagnostic = emitError() << "dimension " << index << " has size " << shape[index] << ", which its axes (";
    llvm::interleaveComma(dim.getAxes(), diagnostic, [&](AxisRefAttr axis) {
      diagnostic << axis.getName().getValue() << " = " << mesh.getAxisSize(axis.getName());
    });
    return diagnostic << ") do not divide into " << parts << " equal parts; make one a multiple of the other";
  }
  return shape;
}

static bool sameAxes(ArrayRef<AxisRefAttr> a, ArrayRef<AxisRefAttr> b) {
  return llvm::equal(a, b, [](AxisRefAttr x, AxisRefAttr y) { return x.getName() == y.getName(); });
}

bool ShardingAttr::hasSameLayout(ShardingAttr other) const {
  return getMesh() == other.getMesh() && sameAxes(getUnreduced(), other.getUnreduced()) &&
         (getUnreduced().empty() || getKind() == other.getKind()) &&
         llvm::equal(getDims(), other.getDims(),
                     [](DimShardingAttr x, DimShardingAttr y) { return sameAxes(x.getAxes(), y.getAxes()); });
}

ShardingAttr ShardingAttr::getWhole(FlatSymbolRefAttr mesh, int64_t rank, bool open) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimShardingAttr> dims(rank, DimShardingAttr::get(context, {}, open, 0));
  return get(context, mesh, dims, {}, Reduction::Sum, {});
}

std::string ShardingAttr::describe() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto names = [&](ArrayRef<AxisRefAttr> axes) {
    llvm::interleaveComma(axes, os, [&](AxisRefAttr axis) { os << axis.getName().getValue(); });
  };
  os << '[';
  llvm::interleaveComma(getDims(), os, [&](DimShardingAttr dim) {
    os << '{';
    names(dim.getAxes());
    os << '}';
  });
  os << ']';
  if (!getUnreduced().empty()) {
    os << " unreduced " << stringifyReduction(getKind()) << " [";
    names(getUnreduced());
    os << ']';
  }
  return text;
}

//===----------------------------------------------------------------------===//
// PartialAttr
//===----------------------------------------------------------------------===//

Attribute PartialAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Reduction kind;
  FlatSymbolRefAttr mesh;
  SmallVector<StringAttr> axes;
  if (parser.parseLess() || parseReduction(parser, kind) || parser.parseComma() || parser.parseAttribute(mesh) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseString(parser, axes.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<PartialAttr>(loc, parser.getContext(), kind, mesh, axes);
}

void PartialAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyReduction(getKind()) << ", " << getMesh() << " [";
  llvm::interleaveComma(getAxes(), printer, [&](StringAttr axis) { printer << axis; });
  printer << "]>";
}

LogicalResult PartialAttr::verify(EmitError emitError, Reduction, FlatSymbolRefAttr, ArrayRef<StringAttr> axes) {
  if (axes.empty())
    return emitError() << "a partial value needs the axes along which it is partial";
  llvm::StringSet<> names;
  for (StringAttr axis : axes)
    if (!names.insert(axis.getValue()).second)
      return emitError() << "axis \"" << axis.getValue() << "\" appears twice";
  return success();
}

LogicalResult PartialAttr::verifyEncoding(ArrayRef<int64_t>, Type elementType, EmitError emitError) const {
  bool arithmetic = getKind() == Reduction::Sum || getKind() == Reduction::Product;
  if (arithmetic && elementType.isInteger(1))
    return emitError() << "a boolean tensor cannot be partial by " << stringifyReduction(getKind());
  return success();
}

//===----------------------------------------------------------------------===//
// DeviceAttr
//===----------------------------------------------------------------------===//

Attribute DeviceAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringAttr name;
  if (parser.parseLess() || parseString(parser, name) || parser.parseGreater())
    return {};
  return parser.getChecked<DeviceAttr>(loc, parser.getContext(), name);
}

void DeviceAttr::print(AsmPrinter &printer) const { printer << '<' << getName() << '>'; }

LogicalResult DeviceAttr::verify(EmitError emitError, StringAttr name) {
  SmallVector<StringRef> parts;
  StringRef text = name.getValue();
  text.consume_front("/");
  text.split(parts, '/');
  int lastPlace = -1;
  for (StringRef part : parts) {
    auto [key, value] = part.split(':');
    int place = llvm::StringSwitch<int>(key).Case("job", 0).Case("task", 1).Cases({"cpu", "gpu"}, 2).Default(-1);
    unsigned number;
    bool wellFormed = place > lastPlace && !value.empty() && (place == 0 || !value.getAsInteger(10, number));
    if (!wellFormed)
      return emitError() << "device \"" << name.getValue() << "\": '" << part
                         << "' is not expected here; a device is written as "
                            "\"/job:NAME/task:NUMBER/gpu:NUMBER\" (or "
                            "cpu), parts may be left out";
    lastPlace = place;
  }
  return success();
}

StringRef DeviceAttr::getPart(StringRef part) const {
  SmallVector<StringRef> parts;
  getName().getValue().split(parts, '/', -1, /*KeepEmpty=*/false);
  for (StringRef text : parts)
    if (text.split(':').first == part)
      return text.split(':').second;
  return {};
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

#include "dialects/dist/DistEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.cpp.inc"

void DistDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/DistAttrs.cpp.inc"
      >();
}
