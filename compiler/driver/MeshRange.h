// The meshes of an artifact with plans for several numbers of workers.

#ifndef DGC_COMPILER_DRIVER_MESHRANGE_H
#define DGC_COMPILER_DRIVER_MESHRANGE_H

#include "passes/analysis/OptionTypes.h"

namespace dgc {

/// What --mesh takes: a mesh, "data=4,model=2", or several that differ in the size of one axis: of all from MIN to MAX,
/// "data=2:4,model=2"; of a list of sizes and ranges, "data=1+2+4:8"; or from 1 to 8, "data=*".
struct MeshRange {
  static constexpr int64_t kDefaultMax = 8;

  /// Ascending by that size. One, which may be empty, where no axis has several.
  std::vector<MeshShape> meshes;
  /// Whether an axis has a range or a list in place of a number.
  bool isRange = false;

  static std::optional<MeshRange> parse(llvm::StringRef text, std::string &error);
  std::string text() const { return given; }
  /// A range without one of its meshes, which is not the only one: "data=2+4" of data=2:4 without the second.
  std::string without(size_t index) const;

private:
  std::string given;
  size_t axis = 0; // that has several sizes
};

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_MESHRANGE_H
