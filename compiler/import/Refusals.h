// What is not supported of a program: everything in one error, with a note for each.

#ifndef DGC_COMPILER_IMPORT_REFUSALS_H
#define DGC_COMPILER_IMPORT_REFUSALS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <string>

namespace dgc::import {

/// Kinds of what is not supported, each with how often it is there and where first.
class Refusals {
public:
  void add(llvm::StringRef what, mlir::Location location);
  bool empty() const { return entries.empty(); }
  int64_t count() const { return number; }
  size_t kinds() const { return entries.size(); }

  /// Attaches a note for each. Its metadata are the number and what it is, for those who read diagnostics.
  void attachTo(mlir::InFlightDiagnostic &error) const;

private:
  struct Entry {
    mlir::Location first;
    int64_t count = 0;
  };
  llvm::MapVector<std::string, Entry, std::map<std::string, unsigned>> entries;
  int64_t number = 0;
};

/// An entry of the metadata of a diagnostic.
struct Refusal {
  std::string what;
  int64_t count = 1;
  std::string place; // FILE:LINE:COLUMN, the name of a node, or empty
};

/// The place of a location in a file, or its name.
std::string placeOf(mlir::Location location);

/// What an error says is not supported: its notes where they have that as metadata, else the error itself.
llvm::SmallVector<Refusal> refusalsOf(mlir::Diagnostic &error);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_REFUSALS_H
