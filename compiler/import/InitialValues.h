// Arrays of files that states begin with.

#ifndef DGC_COMPILER_IMPORT_INITIALVALUES_H
#define DGC_COMPILER_IMPORT_INITIALVALUES_H

#include "mlir/IR/BuiltinAttributes.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dgc::import {

/// A file of arrays: .npz or .safetensors.
class ArrayFile {
public:
  virtual ~ArrayFile() = default;
  virtual std::vector<std::string> names() const = 0;
  /// The elements of an array that there is, of exactly this type; null, with what is wrong.
  virtual mlir::DenseElementsAttr read(const std::string &name, mlir::RankedTensorType type,
                                       std::string &error) const = 0;
};

/// Opens files once each.
class ArrayFiles {
public:
  /// Paths are relative to `folder`.
  explicit ArrayFiles(std::string folder) : folder(std::move(folder)) {}
  /// Null, with what is wrong, where the file cannot be read.
  const ArrayFile *open(const std::string &path, std::string &error);

private:
  std::string folder;
  std::map<std::string, std::unique_ptr<ArrayFile>> files;
};

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_INITIALVALUES_H
