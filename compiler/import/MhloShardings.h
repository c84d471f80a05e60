// Shardings as XLA writes them: `{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}`.

#ifndef DGC_COMPILER_IMPORT_MHLOSHARDINGS_H
#define DGC_COMPILER_IMPORT_MHLOSHARDINGS_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>
#include <vector>

namespace dgc::import {

/// No program is for more devices.
inline constexpr int64_t kMostDevices = int64_t{1} << 20;

/// One sharding of the text. Of a tile the devices are numbered as the dimensions of `tile` say, the last one fastest.
struct MhloSharding {
  enum class Kind { Replicated, Tiled, Manual, Unknown };
  Kind kind = Kind::Replicated;
  std::vector<int64_t> tile;    // the number of parts of each dimension, then of what is replicated or manual
  std::vector<int64_t> devices; // all of them
  size_t rank = 0;              // how many of `tile` are dimensions of the value
  std::optional<size_t>
      manual; // which of `tile` numbers the devices along manual axes; the kind Manual is along all axes

  /// Whether the value is written for one device, along some axes of the mesh or all.
  bool isForOneDevice() const { return kind == Kind::Manual || manual; }
  /// Whether the value has more than one part.
  bool isCut() const;
};

/// The shardings of a text: one, or those of a tuple. Nothing, with what is wrong, where it cannot be read or names what a mesh
/// does not have: a single device.
std::optional<std::vector<MhloSharding>> parseMhloShardings(llvm::StringRef text, std::string &error);

/// Some of the parts of a dimension: `size` of them, whose devices are `stride` apart.
struct MhloDigit {
  int64_t stride = 1, size = 1;
};

/// For each dimension of the value its parts as digits, the major one first; then, where some axes are manual, those of the devices
/// along them. Nothing, with what is wrong, where the devices are in an order that no mesh has.
std::optional<std::vector<std::vector<MhloDigit>>> digitsOf(const MhloSharding &sharding, std::string &error);

/// The same of a group of devices, all from 0 to `count` - 1; nothing where no mesh has their order.
std::optional<std::vector<MhloDigit>> digitsOf(llvm::ArrayRef<int64_t> group, int64_t count);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_MHLOSHARDINGS_H
