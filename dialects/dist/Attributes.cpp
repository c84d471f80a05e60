// Attributes of the dist dialect, but for shardings: meshes, partial values, devices. Syntax and verifiers, which check
// the constraints that Base.td lists, in that order.

#include "dialects/dist/AttributeSyntax.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

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
    if (axis.getName().getValue() == "first")
      return emitError() << "no mesh axis can be called \"first\": that is the number of the first device";
    if (!names.insert(axis.getName().getValue()).second)
      return emitError() << "mesh axis \"" << axis.getName().getValue() << "\" appears twice";
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
