// Shapes and blocks.
#include "runtime/base/Shape.h"

#include "runtime/base/Status.h"

using namespace dgc::rt;

std::string dgc::rt::describe(DType dtype, std::span<const int64_t> shape) {
  std::string text = str(nameOf(dtype), " [");
  for (size_t i = 0; i < shape.size(); ++i)
    text += str(i ? "x" : "", shape[i]);
  return text + "]";
}

std::optional<uint64_t> dgc::rt::byteSize(DType dtype, std::span<const int64_t> shape) {
  // A zero anywhere makes the product zero, but the other dimensions are still
  // held to the bound, so that products over parts of the shape are safe too.
  constexpr uint64_t most = INT64_MAX;
  uint64_t product = sizeOf(dtype);
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (product > most / static_cast<uint64_t>(dim))
      return std::nullopt;
    product *= static_cast<uint64_t>(dim);
  }
  return empty ? 0 : product;
}

bool dgc::rt::isBlockInside(std::span<const int64_t> shape, std::span<const int64_t> start,
                            std::span<const int64_t> size) {
  if (start.size() != shape.size() || size.size() != shape.size())
    return false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (start[d] < 0 || size[d] < 0 || start[d] > shape[d] || size[d] > shape[d] - start[d])
      return false;
  return true;
}

std::vector<BlockPiece> dgc::rt::blockPieces(std::span<const int64_t> shape, std::span<const int64_t> start,
                                             std::span<const int64_t> size, std::span<const int64_t> extents) {
  if (extents.empty())
    extents = size;
  // From the last dimension outwards. While everything further in is whole on
  // both sides, a run of this dimension is one piece; else each index repeats
  // the pieces.
  std::vector<BlockPiece> pieces = {{0, 0, 1}};
  size_t elements = 1, blockElements = 1;
  bool whole = true, empty = false;
  for (size_t d = shape.size(); d-- > 0;) {
    size_t first = static_cast<size_t>(start[d]);
    size_t count = static_cast<size_t>(size[d]);
    if (whole) {
      pieces = {{first * elements, 0, count * elements}};
    } else {
      std::vector<BlockPiece> repeated;
      for (size_t i = 0; i < count; ++i)
        for (const BlockPiece &piece : pieces)
          repeated.push_back({piece.from + (first + i) * elements, piece.to + i * blockElements, piece.count});
      pieces = std::move(repeated);
    }
    whole &= size[d] == shape[d] && extents[d] == shape[d];
    empty |= count == 0;
    elements *= static_cast<size_t>(shape[d]);
    blockElements *= static_cast<size_t>(extents[d]);
  }
  if (empty)
    return {};
  return pieces;
}
