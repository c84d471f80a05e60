// Batches for one worker: the rows of the global batch that it holds, put where
// the program reads them.
#pragma once

#include "runtime/data/Dataset.h"
#include "runtime/data/Order.h"

namespace dgc::rt {

/// What a program wants of one of its data inputs, and which block of it this
/// worker holds.
struct InputSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> globalShape; // with the global batch
  int batchDim = 0;                 // -1: the whole array in every step
  // The block of this worker, per dimension. Both empty: everything.
  std::vector<int64_t> localStart, localShape;
  // The extents of the memory that it is put into, when some of that is
  // padding; empty: localShape.
  std::vector<int64_t> localExtents = {};
};

struct FeedOptions {
  int64_t globalBatch = 0;
  uint64_t seed = 0;
  bool shuffle = true;
  LastBatch lastBatch = LastBatch::Drop;
};

/// Position p of global batch k of epoch e holds sample order_e[k * B + p],
/// where order_e is the permutation of (seed, e), or the identity without
/// shuffle. So it does not depend on the number of workers.
///
/// An array [N, d...] serves an input [B, d...] of the same element type, and
/// one whose batch is another dimension: the rows of the array go there. u8
/// also serves i32 and i64, and dimensions of size 1 may differ: nothing else
/// is converted.
///
/// Windows of a sequence of tokens serve inputs [B, T] of i32 and i64. With
/// shuffle each is drawn anew from (seed, epoch, k * B + p); without it the
/// windows follow each other. An epoch has as many as fit without overlap.
class Feed {
public:
  /// Resolves every input in `dataset`, which must outlive the feed. An error
  /// names the input, what it wants, and what the folder has.
  static absl::StatusOr<Feed> create(Dataset &dataset, std::string_view split, std::span<const InputSpec> inputs,
                                     const FeedOptions &options);

  int64_t samples() const { return samples_; }
  int64_t stepsPerEpoch() const { return steps; }

  /// The batch that next() gives next; `step` is below stepsPerEpoch().
  Cursor cursor() const { return at; }
  /// Goes to any batch, for a run that continues. `cursor.step` may be
  /// stepsPerEpoch(): the start of the next epoch.
  void seek(Cursor cursor);

  /// Copies this worker's block of each input, row-major, to
  /// `destinations` (one for each input, in the order of create), advances by
  /// one batch and returns how many samples of the global batch are real. The
  /// others, at the end of the batch, repeat the last one. Allocates nothing.
  int64_t next(std::span<std::byte *const> destinations);

private:
  struct Source {
    const std::byte *data;
    size_t rowBytes, localRowBytes;
    size_t width, localWidth; // bytes of an element; they differ when widening
    int64_t firstRow, rows;   // of the batch; one row without a batch dimension
    bool batched;
    std::vector<BlockPiece> pieces; // of a row
    bool windows = false;           // a row begins at any token; rowBytes is that of one
  };

  static absl::StatusOr<Source> bind(const Array &array, const InputSpec &input, const FeedOptions &options);
  static absl::StatusOr<Source> bindTokens(const Tokens &tokens, std::string_view split, int64_t shift,
                                           const InputSpec &input, const FeedOptions &options);
  static absl::StatusOr<Source> bindRows(const InputSpec &input, const FeedOptions &options);
  absl::Status setWindows(const Tokens &tokens, std::string_view split, int64_t length);
  uint64_t rowAt(const Source &source, int64_t position) const;
  static void copyRow(const Source &source, uint64_t row, std::byte *to);

  Feed() = default;

  FeedOptions options;
  std::vector<Source> sources;
  std::vector<uint32_t> order; // of epoch orderEpoch; unused without shuffle
  int64_t orderEpoch = -1;
  int64_t samples_ = 0, steps = 0;
  int64_t windowLength = 0, windowPlaces = 0; // of tokens; 0: there are none
  Cursor at;
};

} // namespace dgc::rt
