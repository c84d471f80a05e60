// Binds inputs to arrays and gathers batches.
#include "runtime/data/Feed.h"

#include <algorithm>
#include <cstring>

using namespace dgc::rt;

/// The dimensions that matter for the order of elements.
static std::vector<int64_t> withoutOnes(std::span<const int64_t> shape) {
  std::vector<int64_t> result;
  for (int64_t dim : shape)
    if (dim != 1)
      result.push_back(dim);
  return result;
}

static bool serves(DType have, DType want) {
  return have == want || (have == DType::U8 && (want == DType::I32 || want == DType::I64));
}

static absl::Status mismatch(const ArrayHeader &array, const InputSpec &input, std::string_view what) {
  return badData(str("input '", input.name, "' is ", describe(input.dtype, input.globalShape), ", but ", array.file,
                     " holds ", describe(array.dtype, array.shape), ": ", what));
}

/// The shape of a row of an input: without the dimension of the batch.
static std::vector<int64_t> rowShape(const InputSpec &input) {
  std::vector<int64_t> row = input.globalShape;
  if (input.batchDim >= 0)
    row.erase(row.begin() + input.batchDim);
  return row;
}

/// Whether an array can serve an input.
static absl::Status checkFits(const ArrayHeader &array, const InputSpec &input, const FeedOptions &options) {
  bool batched = input.batchDim >= 0;
  std::span<const int64_t> want = input.globalShape, have = array.shape;
  if (!serves(array.dtype, input.dtype))
    return mismatch(array, input,
                    "element types must be equal (u8 also serves i32 and i64); "
                    "declare the input with the type of the data and convert "
                    "it in the model");
  if (batched && want[static_cast<size_t>(input.batchDim)] != options.globalBatch)
    return withExitCode(absl::InvalidArgumentError(str("input '", input.name, "' is ", describe(input.dtype, want),
                                                       " in a program with a global batch of ", options.globalBatch)),
                        ExitCode::BadArtifact);
  if (batched && have.empty())
    return mismatch(array, input, "the data has no dimension of samples");
  if (withoutOnes(rowShape(input)) != withoutOnes(have.subspan(batched)))
    return mismatch(array, input, batched ? "the shapes of one sample differ" : "the shapes differ");
  return absl::OkStatus();
}

absl::StatusOr<Feed::Source> Feed::bind(const Array &array, const InputSpec &input, const FeedOptions &options) {
  DGC_ASSIGN_OR_RETURN(Source source, bindRows(input, options));
  source.data = array.bytes().data();
  source.width = sizeOf(array.dtype);
  source.rowBytes = *byteSize(array.dtype, rowShape(input));
  return source;
}

/// The part of each row, and of the batch, that this worker holds.
absl::StatusOr<Feed::Source> Feed::bindRows(const InputSpec &input, const FeedOptions &) {
  bool batched = input.batchDim >= 0;
  std::span<const int64_t> want = input.globalShape;
  std::vector<int64_t> start = input.localStart, shape = input.localShape;
  if (shape.empty() && start.empty()) {
    start.assign(want.size(), 0);
    shape.assign(want.begin(), want.end());
  }
  if (!isBlockInside(want, start, shape))
    return absl::InvalidArgumentError(
        str("input '", input.name, "': the local block is outside of ", describe(input.dtype, want)));

  std::vector<int64_t> row(want.begin(), want.end());
  std::vector<int64_t> extents = input.localExtents.empty() ? shape : input.localExtents;
  Source source;
  source.localWidth = sizeOf(input.dtype);
  source.batched = batched;
  source.firstRow = 0;
  source.rows = 1;
  source.localRowBytes = *byteSize(input.dtype, extents);
  if (batched) {
    size_t d = static_cast<size_t>(input.batchDim);
    source.firstRow = start[d];
    source.rows = extents[d]; // in the padding of the block the last sample again: it is computed with, too
    source.localRowBytes = *byteSize(input.dtype, std::span(extents).subspan(d + 1));
    // A row leaves the batch dimension out. In memory that is between the dimensions around it: the next one is as
    // far apart as both together; where there is no next one, one of size 1 is.
    if (d + 1 == want.size())
      for (std::vector<int64_t> *v : {&row, &shape, &extents})
        v->push_back(1);
    if (d + 1 == want.size())
      start.push_back(0);
    extents[d + 1] *= extents[d];
    for (std::vector<int64_t> *v : {&row, &start, &shape, &extents})
      v->erase(v->begin() + input.batchDim);
  }
  source.pieces = blockPieces(row, start, shape, extents);
  return source;
}

/// Windows of the sequence, `shift` tokens after their beginning.
absl::StatusOr<Feed::Source> Feed::bindTokens(const Tokens &tokens, std::string_view split, int64_t shift,
                                              const InputSpec &input, const FeedOptions &options) {
  const Array &array = tokens.array;
  if (input.batchDim != 0 || input.globalShape.size() != 2 || input.globalShape[0] != options.globalBatch ||
      (input.dtype != DType::I32 && input.dtype != DType::I64))
    return badData(str("input '", input.name, "' is ", describe(input.dtype, input.globalShape), ", but ", array.file,
                       " holds tokens: these serve inputs of i32 or i64 [", options.globalBatch,
                       "xT], T tokens for each example of the batch"));
  DGC_ASSIGN_OR_RETURN(Source source, bindRows(input, options));
  source.width = source.rowBytes = sizeOf(array.dtype);
  source.data = array.bytes().data() + static_cast<size_t>(splitOf(tokens.size(), split).begin + shift) * source.width;
  source.windows = true;
  return source;
}

/// Counts the windows of a split; all inputs of tokens have the same length.
absl::Status Feed::setWindows(const Tokens &tokens, std::string_view split, int64_t length) {
  if (windowLength != 0 && windowLength != length)
    return badData(str("the inputs 'tokens' and 'next_tokens' are windows of ", windowLength, " and ", length,
                       " tokens; they must be as long"));
  TokenRange range = splitOf(tokens.size(), split);
  windowLength = length;
  windowPlaces = range.end - range.begin - length; // each has a next token
  if (windowPlaces < 1)
    return badData(str(tokens.array.file, " has ", range.end - range.begin, " tokens for the ", split,
                       " split, fewer than a window of ", length, " and its next token"));
  return absl::OkStatus();
}

absl::StatusOr<Feed> Feed::create(Dataset &dataset, std::string_view split, std::span<const InputSpec> inputs,
                                  const FeedOptions &options) {
  if (options.globalBatch < 1)
    return withExitCode(absl::InvalidArgumentError(
                            str("the plan has a global batch of ", options.globalBatch,
                                ", so none of its inputs counts examples: there is nothing to read from --data")),
                        ExitCode::Usage);
  Feed feed;
  feed.options = options;
  const Array *first = nullptr;
  for (const InputSpec &input : inputs) {
    if (std::optional<int64_t> shift = dataset.tokenShift(split, input.name)) {
      DGC_ASSIGN_OR_RETURN(const Tokens *tokens, dataset.tokens());
      DGC_ASSIGN_OR_RETURN(Source source, bindTokens(*tokens, split, *shift, input, options));
      DGC_RETURN_IF_ERROR(feed.setWindows(*tokens, split, input.globalShape[1]));
      feed.sources.push_back(std::move(source));
      continue;
    }
    bool isRefused = false;
    auto array = dataset.find(split, input.name, [&](const ArrayHeader &header) {
      absl::Status fits = checkFits(header, input, options);
      isRefused = !fits.ok();
      return fits;
    });
    if (!array.ok())
      return isRefused ? array.status()
                       : annotate(array.status(), str("the model wants ", describe(input.dtype, input.globalShape)));
    DGC_ASSIGN_OR_RETURN(Source source, bind(**array, input, options));
    feed.sources.push_back(std::move(source));
    if (input.batchDim < 0)
      continue;
    if (!first)
      first = *array;
    else if (first->shape[0] != (*array)->shape[0])
      return badData(str(first->file, " has ", first->shape[0], " samples, ", (*array)->file, " has ",
                         (*array)->shape[0], "; the inputs of a split need the same number"));
  }
  if (first && feed.windowLength)
    return badData(str(first->file, " has samples, but other inputs are windows of tokens: a program reads one or the "
                                    "other"));
  // Without any batched input a step is an epoch.
  feed.samples_ = first               ? first->shape[0]
                  : feed.windowLength ? (feed.windowPlaces + feed.windowLength - 1) / feed.windowLength
                                      : options.globalBatch;
  if (feed.samples_ > UINT32_MAX)
    return badData(str("the ", split, " split has ", feed.samples_, " samples; at most ", UINT32_MAX, " are accepted"));
  feed.steps = dgc::rt::stepsPerEpoch(feed.samples_, options.globalBatch, options.lastBatch);
  if (feed.steps == 0)
    return badData(str("the ", split, " split has ", feed.samples_, " samples, less than one global batch of ",
                       options.globalBatch, "; compile with a smaller --batch",
                       feed.samples_ ? ", or take --last-batch weight" : ""));
  if (options.shuffle && !feed.windowLength)
    feed.order.reserve(static_cast<size_t>(feed.samples_));
  return feed;
}

void Feed::seek(Cursor cursor) {
  at = cursor;
  if (at.step >= steps)
    at = {at.epoch + 1, 0};
}

/// The row of a source that is position `position` of the epoch; of windows, the token that it begins at.
uint64_t Feed::rowAt(const Source &source, int64_t position) const {
  if (!source.batched)
    return 0;
  if (source.windows)
    return static_cast<uint64_t>(
        options.shuffle
            ? drawWindow(windowPlaces, options.seed, static_cast<uint64_t>(at.epoch), static_cast<uint64_t>(position))
            : position * windowLength);
  return options.shuffle ? order[static_cast<size_t>(position)] : static_cast<uint64_t>(position);
}

/// Copies integers to wider little-endian ones.
template <typename From> static void widen(const std::byte *in, std::byte *out, size_t count, size_t width) {
  for (size_t i = 0; i < count; ++i) {
    From narrow;
    std::memcpy(&narrow, in + i * sizeof(From), sizeof(From));
    int64_t value = narrow;
    std::memcpy(out + i * width, &value, width);
  }
}

void Feed::copyRow(const Source &source, uint64_t row, std::byte *to) {
  const std::byte *from = source.data + row * source.rowBytes;
  for (const BlockPiece &piece : source.pieces) {
    const std::byte *in = from + piece.from * source.width;
    std::byte *out = to + piece.to * source.localWidth;
    if (source.width == source.localWidth)
      std::memcpy(out, in, piece.count * source.width);
    else if (source.width == 1)
      widen<uint8_t>(in, out, piece.count, source.localWidth);
    else if (source.width == 2)
      widen<uint16_t>(in, out, piece.count, source.localWidth);
    else
      widen<int32_t>(in, out, piece.count, source.localWidth);
  }
}

int64_t Feed::next(std::span<std::byte *const> destinations) {
  if (options.shuffle && !windowLength && orderEpoch != at.epoch) {
    permute(order, static_cast<uint32_t>(samples_), options.seed, static_cast<uint64_t>(at.epoch));
    orderEpoch = at.epoch;
  }
  int64_t begin = at.step * options.globalBatch;
  int64_t valid = std::min(options.globalBatch, samples_ - begin);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source &source = sources[i];
    for (int64_t r = 0; r < source.rows; ++r) {
      int64_t position = begin + std::min(source.firstRow + r, valid - 1);
      copyRow(source, rowAt(source, position), destinations[i] + static_cast<size_t>(r) * source.localRowBytes);
    }
  }
  seek({at.epoch, at.step + 1});
  return valid;
}
