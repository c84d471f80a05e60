// What is not supported of a program.

#include "compiler/import/Refusals.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace dgc::import {

void Refusals::add(StringRef what, Location location) {
  ++entries.insert({what.str(), {location}}).first->second.count;
  ++number;
}

void Refusals::attachTo(InFlightDiagnostic &error) const {
  for (const auto &[what, entry] : entries) {
    Diagnostic &note = error.attachNote(entry.first)
                       << entry.count << " x " << what << (entry.count > 1 ? "; the first is here" : "");
    note.getMetadata().push_back(DiagnosticArgument(static_cast<int64_t>(entry.count)));
    note.getMetadata().push_back(DiagnosticArgument(StringRef(what)));
  }
}

std::string placeOf(Location location) {
  std::string place;
  location->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner); file && file.getLine() != 0) {
      place = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
      return WalkResult::interrupt();
    }
    if (auto name = dyn_cast<NameLoc>(inner); name && place.empty())
      place = name.getName().str();
    return WalkResult::advance();
  });
  return place;
}

SmallVector<Refusal> refusalsOf(Diagnostic &error) {
  SmallVector<Refusal> all;
  for (Diagnostic &note : error.getNotes())
    if (note.getMetadata().size() == 2)
      all.push_back({note.getMetadata()[1].getAsString().str(), note.getMetadata()[0].getAsInteger(),
                     placeOf(note.getLocation())});
  if (all.empty())
    all.push_back({error.str(), 1, placeOf(error.getLocation())});
  return all;
}

} // namespace dgc::import
