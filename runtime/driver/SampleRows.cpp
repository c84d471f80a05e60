// Collects the outputs of batches.
#include "runtime/driver/SampleRows.h"

#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"

#include <algorithm>

using namespace dgc::rt;

void SampleRows::add(int64_t valid) {
  given.append(*runner, rank, valid, mine);
  const Batch last = batches.empty() ? Batch{-1, 0, 0} : batches.back();
  batches.push_back({last.number + 1, last.first + last.valid, valid});
}

std::vector<int64_t> SampleRows::shapeOf(const WholeOutput &output) const {
  std::vector<int64_t> shape = output.shape;
  const int64_t samples = batches.empty() ? 0 : batches.back().first + batches.back().valid;
  if (output.batchDim >= 0)
    shape[static_cast<size_t>(output.batchDim)] = samples * output.perSample;
  else
    shape.insert(shape.begin(), static_cast<int64_t>(batches.size()));
  return shape;
}

/// Copies the part of a batch to its place, and advances in the stream.
void SampleRows::place(const OutputPart &part, const Batch &batch, const std::byte *&from,
                       std::vector<std::byte> &to) const {
  const WholeOutput &output = given.outputs()[part.output];
  Slice slice = given.real(part, batch.valid);
  slice.block.clear();
  size_t bytes = static_cast<size_t>(slice.numElements()) * sizeOf(output.dtype);
  if (output.batchDim >= 0) {
    slice.offsets[static_cast<size_t>(output.batchDim)] += batch.first * output.perSample;
  } else {
    slice.offsets.insert(slice.offsets.begin(), batch.number);
    slice.sizes.insert(slice.sizes.begin(), 1);
  }
  if (bytes != 0)
    copySliceIn(from, shapeOf(output), slice, sizeOf(output.dtype), to.data());
  from += bytes;
}

absl::StatusOr<std::vector<std::vector<std::byte>>> SampleRows::gather(const GatherBytes &gather) const {
  std::vector<std::string> streams;
  if (!given.areOnFirstRank()) {
    DGC_ASSIGN_OR_RETURN(streams, gatherLong(gather, static_cast<int>(rank), rank == 0 ? std::string() : mine));
  }
  std::vector<std::vector<std::byte>> whole;
  if (rank != 0)
    return whole;
  streams.resize(std::max<size_t>(streams.size(), 1));
  for (const WholeOutput &output : given.outputs())
    whole.emplace_back(*byteSize(output.dtype, shapeOf(output)));
  for (uint32_t r = 0; r < streams.size(); ++r) {
    const std::byte *from = reinterpret_cast<const std::byte *>((r == 0 ? mine : streams[r]).data());
    for (const Batch &batch : batches)
      for (const OutputPart &part : given.parts())
        if (part.rank == r)
          place(part, batch, from, whole[part.output]);
  }
  return whole;
}
