// Shardings: how the dimensions of a tensor are cut, and who decided it. Syntax and verifiers, which check the
// constraints that Base.td lists, in that order.

#include "dialects/dist/AttributeSyntax.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

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
  dim = parser.getChecked<DimShardingAttr>(loc, parser.getContext(), ArrayRef(axes), open, round);
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
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh, ArrayRef(dims), ArrayRef(replicated), kind,
                                         ArrayRef(unreduced));
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

/// The number of parts that the axes of a dimension make.
static int64_t countParts(DimShardingAttr dim, MeshAttr mesh) {
  int64_t parts = 1;
  for (AxisRefAttr axis : dim.getAxes())
    parts *= mesh.getAxisSize(axis.getName());
  return parts;
}

SmallVector<int64_t> ShardingAttr::getLocalShape(ArrayRef<int64_t> globalShape, MeshAttr mesh) const {
  return llvm::map_to_vector(llvm::zip_equal(globalShape, getDims()), [&](auto pair) -> int64_t {
    auto [size, dim] = pair;
    return llvm::divideCeil(size, countParts(dim, mesh));
  });
}

LogicalResult ShardingAttr::verifyEqualParts(ArrayRef<int64_t> globalShape, MeshAttr mesh, EmitError emitError,
                                             StringRef remedy) const {
  for (auto [index, size, dim] : llvm::enumerate(globalShape, getDims())) {
    int64_t parts = countParts(dim, mesh);
    if (size % parts == 0)
      continue;
    auto diagnostic = emitError() << "dimension " << index << " has size " << size << ", which its axes (";
    llvm::interleaveComma(dim.getAxes(), diagnostic, [&](AxisRefAttr axis) {
      diagnostic << axis.getName().getValue() << " = " << mesh.getAxisSize(axis.getName());
    });
    return diagnostic << ") do not divide into " << parts << " equal parts; " << remedy;
  }
  return success();
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

ShardingAttr ShardingAttr::getClosed() const {
  SmallVector<DimShardingAttr> dims = llvm::map_to_vector(getDims(), [&](DimShardingAttr dim) {
    return DimShardingAttr::get(getContext(), dim.getAxes(), /*open=*/false, 0);
  });
  return get(getContext(), getMesh(), dims, getReplicated(), getKind(), getUnreduced());
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
