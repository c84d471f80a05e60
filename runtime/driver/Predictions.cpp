// Collects predictions and writes them.
#include "runtime/driver/Predictions.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Order.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::rt;

static absl::Status usage(const std::string &message) {
  return withExitCode(absl::InvalidArgumentError(message), ExitCode::Usage);
}

Predictions::Predictions(const artifact::Plan &plan, const ProgramRunner &runner, int rank)
    : runner(&runner), rank(static_cast<uint32_t>(rank)),
      globalBatch(std::max<int64_t>(static_cast<int64_t>(plan.global_batch()), 1)), given(plan, runner.name()) {
  given.keepRole(artifact::OutputRole::Prediction);
}

absl::StatusOr<Predictions> Predictions::create(const Artifact &artifact, const ProgramRunner &runner, int rank,
                                                int64_t samples) {
  Predictions result(artifact.plan(), runner, rank);
  result.samples = samples;
  if (result.given.outputs().empty())
    return usage(
        str("program '", runner.name(),
            "' has no predictions to write: leave out --predictions, or use --entry with one that has dgc.output"));
  return result;
}

void Predictions::add(int64_t valid) {
  given.append(*runner, rank, valid, mine);
  valids.push_back(valid);
}

std::vector<int64_t> Predictions::fileShape(const WholeOutput &output) const {
  std::vector<int64_t> shape = output.shape;
  if (output.batchDim >= 0)
    shape[static_cast<size_t>(output.batchDim)] = samples * output.perSample;
  else
    shape.insert(shape.begin(), stepsPerEpoch(samples, globalBatch, LastBatch::Weight));
  return shape;
}

/// Copies the part of a batch to its place in the file, and advances in the stream.
void Predictions::place(const OutputPart &part, int64_t batch, const std::byte *&from,
                        std::vector<std::byte> &to) const {
  const WholeOutput &output = given.outputs()[part.output];
  Slice slice = given.real(part, valids[static_cast<size_t>(batch)]);
  slice.block.clear();
  size_t bytes = static_cast<size_t>(slice.numElements()) * sizeOf(output.dtype);
  if (output.batchDim >= 0) {
    slice.offsets[static_cast<size_t>(output.batchDim)] += batch * globalBatch * output.perSample;
  } else {
    slice.offsets.insert(slice.offsets.begin(), batch);
    slice.sizes.insert(slice.sizes.begin(), 1);
  }
  if (bytes != 0)
    copySliceIn(from, fileShape(output), slice, sizeOf(output.dtype), to.data());
  from += bytes;
}

std::string dgc::rt::predictionPath(const std::string &folder, std::string name) {
  for (char &c : name)
    if (c == '/' || static_cast<unsigned char>(c) < 32)
      c = '_';
  return str(folder, "/", name, ".npy");
}

absl::Status Predictions::reserve(Disk &disk, const std::string &folder) {
  if (rank != 0)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(disk.makeDirectory(folder));
  std::span<const WholeOutput> outputs = given.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string path = predictionPath(folder, outputs[i].name);
    for (size_t j = 0; j < i; ++j)
      if (path == predictionPath(folder, outputs[j].name))
        return badData(str("the outputs '", outputs[j].name, "' and '", outputs[i].name, "' would both go to ", path));
    DGC_ASSIGN_OR_RETURN(OutputFile file, OutputFile::reserve(disk, path));
    files.push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::Status Predictions::write(const GatherBytes &gather) {
  std::vector<std::string> streams;
  if (!given.areOnFirstRank()) {
    DGC_ASSIGN_OR_RETURN(streams, gatherLong(gather, static_cast<int>(rank), rank == 0 ? std::string() : mine));
  }
  if (rank != 0)
    return absl::OkStatus();
  streams.resize(std::max<size_t>(streams.size(), 1));
  std::span<const WholeOutput> outputs = given.outputs();
  std::vector<std::vector<std::byte>> whole;
  for (const WholeOutput &output : outputs)
    whole.emplace_back(*byteSize(output.dtype, fileShape(output)));
  for (uint32_t r = 0; r < streams.size(); ++r) {
    const std::byte *from = reinterpret_cast<const std::byte *>((r == 0 ? mine : streams[r]).data());
    for (int64_t batch = 0; batch < static_cast<int64_t>(valids.size()); ++batch)
      for (const OutputPart &part : given.parts())
        if (part.rank == r)
          place(part, batch, from, whole[part.output]);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    DGC_RETURN_IF_ERROR(writeNpy(files[i], npyType(outputs[i].dtype), fileShape(outputs[i]),
                                 toNpyType(outputs[i].dtype, std::move(whole[i]))));
  return absl::OkStatus();
}

std::string Predictions::describe() const {
  std::string text;
  for (const WholeOutput &output : given.outputs())
    text += str(text.empty() ? "" : ", ", output.name, " ", rt::describe(npyType(output.dtype), fileShape(output)));
  return text;
}
