// How convolutions with long sums are cut, by their sizes alone. Internal to runtime/device/cpu.
#pragma once

#include "runtime/base/DType.h"

#include <cstdint>
#include <optional>

namespace dgc::rt {

/// The channels that one call adds up in a convolution, or the gradient of its input, whose sums are longer than oneDNN
/// adds up accurately; nothing for others. `channels`: those that are added up; `window`: positions of the filter.
std::optional<int64_t> channelsOfLongPart(DType type, int64_t groups, int64_t channels, int64_t window);

/// The parts of the gradient of a convolution's weights: tiles of output channels, and for each of them chunks of the
/// pixels of the result, whose sums are added up in segments that threads work on independently of each other.
struct WeightChunks {
  /// Pixels of the result that one call takes: rows of output of `images` images from `image` on.
  struct Chunk {
    int64_t image, images, row, rows;
  };

  WeightChunks(int64_t images, int64_t rows, int64_t pixelsOfRow, int64_t channels, int64_t groups);

  Chunk chunk(int64_t index) const; ///< the first is the largest

  int64_t images, rows;      ///< of the result
  int64_t imagesOfChunk;     ///< whole images ..
  int64_t chunksOfImage = 1; ///< .. or some rows of one
  int64_t rowsOfChunk;
  int64_t tileChannels, tiles; ///< channels of a tile at most
  int64_t count;               ///< of chunks
  int64_t segments;            ///< of each tile
  int slots;                   ///< for the sums of a segment
};

} // namespace dgc::rt
