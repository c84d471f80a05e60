#include "dialects/dgc/DiscardableAttributes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc::discardable {

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

bool isUnit(Attribute value) { return isa<UnitAttr>(value); }

bool isIndex(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(64) && number.getInt() >= 0;
}

bool isName(Attribute value) { return isa<StringAttr>(value); }

bool isSymbol(Attribute value) { return isa<FlatSymbolRefAttr>(value); }

bool isRole(Attribute value) {
  auto role = dyn_cast<StringAttr>(value);
  return role && llvm::is_contained({"data", "step", "seed", "valid_count", "loss", "metric", "prediction"}, role);
}

bool isTensorType(Attribute value) {
  auto type = dyn_cast<TypeAttr>(value);
  return type && isa<RankedTensorType>(type.getValue());
}

bool isIntegers(Attribute value) { return isa<DenseI64ArrayAttr>(value); }

bool isIndices(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, isIndex);
}

static bool isDictionaryOf(Attribute value, bool (*accepts)(Attribute)) {
  auto dictionary = dyn_cast<DictionaryAttr>(value);
  return dictionary && llvm::all_of(dictionary, [&](NamedAttribute entry) { return accepts(entry.getValue()); });
}

bool isNames(Attribute value) { return isDictionaryOf(value, isName); }

bool isDecisions(Attribute value) {
  return isDictionaryOf(value, [](Attribute each) { return isa<DenseBoolArrayAttr>(each); });
}

bool isEncodings(Attribute value) { return isa<ArrayAttr>(value); }

bool isRowBlock(Attribute value) {
  auto block = dyn_cast<DictionaryAttr>(value);
  if (!block || block.size() != 3)
    return false;
  Attribute of = block.get("of"), first = block.get("first"), type = block.get("type");
  return of && isName(of) && first && isIndex(first) && type && isTensorType(type);
}

bool isLaunches(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, [](Attribute entry) {
           auto launch = dyn_cast<ArrayAttr>(entry);
           return launch && launch.size() == 3 && isName(launch[0]) && isIndex(launch[1]) && isIndex(launch[2]);
         });
}

bool isMeshBytes(Attribute value) {
  return isDictionaryOf(value, [](Attribute entry) {
    auto bytes = dyn_cast<DenseI64ArrayAttr>(entry);
    return bytes && bytes.size() == 2 && bytes[0] >= 0 && bytes[1] >= 0;
  });
}

bool isPipeline(Attribute value) {
  auto pipeline = dyn_cast<DictionaryAttr>(value);
  if (!pipeline || !pipeline.getAs<StringAttr>("schedule"))
    return false;
  return llvm::all_of(ArrayRef<StringRef>{"positions", "microbatches", "chunks"}, [&](StringRef key) {
    Attribute number = pipeline.get(key);
    return number && isIndex(number);
  });
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

Place placesOf(Operation *op) {
  Place places = Place::Op;
  if (isa<ModuleOp>(op))
    places |= Place::Module;
  if (isa<FunctionOpInterface>(op))
    places |= Place::Function;
  return places;
}

static std::string namesOf(Place places) {
  SmallVector<StringRef> names;
  for (auto [place, name] : placeNames)
    if ((places & place) != Place::None)
      names.push_back(name);
  return llvm::join(names, "; ");
}

/// "'dist.stage', 'dist.slot'": the attributes that may be on one of `here`.
static std::string acceptedAt(Place here, ArrayRef<Row> rows) {
  std::string text;
  for (const Row &row : rows)
    if ((row.places & here) != Place::None)
      text += ((text.empty() ? "'" : ", '") + row.name + "'").str();
  return text;
}

LogicalResult verify(Operation *op, NamedAttribute attribute, ArrayRef<Row> rows, Place here, const llvm::Twine &what) {
  StringRef name = attribute.getName();
  auto emitError = [&] { return op->emitOpError() << what << "'" << name << "': "; };
  const Row *row = llvm::find_if(rows, [&](const Row &row) { return row.name == name; });
  if (row == rows.end()) {
    StringRef dialect = name.split('.').first;
    std::string accepted = acceptedAt(here, rows);
    return emitError() << "is not an attribute; the dialect " << dialect << " has "
                       << (accepted.empty() ? "none" : StringRef(accepted)) << " here";
  }
  if ((row->places & here) == Place::None)
    return emitError() << "is for " << namesOf(row->places);
  if (!row->kind.accepts(attribute.getValue()))
    return emitError() << "expected " << row->kind.expected << ", got " << attribute.getValue();
  return success();
}

LogicalResult verifyArgument(Operation *op, unsigned index, NamedAttribute attribute, ArrayRef<Row> rows) {
  Place here = isa<FunctionOpInterface>(op) ? Place::Argument : Place::None;
  return verify(op, attribute, rows, here, "argument " + llvm::Twine(index) + ": ");
}

LogicalResult verifyResult(Operation *op, unsigned index, NamedAttribute attribute, ArrayRef<Row> rows) {
  Place here = isa<FunctionOpInterface>(op) ? Place::Result : Place::None;
  return verify(op, attribute, rows, here, "result " + llvm::Twine(index) + ": ");
}

} // namespace dgc::discardable
