// A matrix product by oneDNN whose additions are in the same order for any number of threads. Internal to
// runtime/device/cpu.
#pragma once

#include "runtime/device/cpu/MatmulLayout.h"

#include <limits>

namespace dgc::rt {

/// An operand of a product: at `data`, or in the scratch block, `offset` bytes behind its begin.
struct ProductOperand {
  Matrices matrices;
  dnnl::memory::data_type type;
  void *data = nullptr;
  size_t offset = 0;
};

struct ProductSpec {
  ProductOperand a, b, dst;
  const void *bias = nullptr;            ///< of the type of dst, one element for each column; null: none
  const PostOpVector *postOps = nullptr; ///< null: none
  bool accumulates = false;              ///< dst += product; only without post-ops
};

/// One call where oneDNN gives each sum to one thread, with as many threads as leave it so, else tiles of the result
/// that are computed on one thread each. Tiles depend on sizes alone, but where any tiles give the same bits.
class TiledProduct {
public:
  TiledProduct() = default;
  /// Reserves scratch memory from `freeScratch` on, and moves that behind it. Throws dnnl::error. With
  /// isOnOneThread there is one call; it is made, and run, while there is a OneThread.
  TiledProduct(const OpContext &context, const ProductSpec &spec, size_t &freeScratch, bool isOnOneThread = false);

  absl::Status run();

private:
  std::vector<std::vector<BoundPrimitive>> tiles; ///< the calls for each
  bool isTiled = false;
  int64_t mostThreads = std::numeric_limits<int>::max(); ///< of a call that is not tiled
};

} // namespace dgc::rt
