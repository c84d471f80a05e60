// Collects predictions and writes them.
#include "runtime/driver/Predictions.h"

#include "runtime/artifact/Groups.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Order.h"

#include <algorithm>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

static absl::Status usage(const std::string &message) {
  return withExitCode(absl::InvalidArgumentError(message), ExitCode::Usage);
}

absl::StatusOr<Predictions> Predictions::create(const Artifact &artifact, const ProgramRunner &runner, int rank,
                                                int64_t samples) {
  const artifact::Plan &plan = artifact.plan();
  Predictions result(runner, rank);
  result.samples = samples;
  result.globalBatch = std::max<int64_t>(static_cast<int64_t>(plan.global_batch()), 1);
  for (uint32_t r = 0; r < plan.world_size(); ++r) {
    const artifact::Program *program = programOf(plan, runner.name(), r);
    for (uint32_t i = 0; program && program->outputs() && i < program->outputs()->size(); ++i)
      if (program->outputs()->Get(i)->role() == artifact::OutputRole::Prediction)
        result.addOutput(plan, *program, *program->outputs()->Get(i), r);
  }
  if (result.outputs.empty())
    return usage(
        str("program '", runner.name(),
            "' has no predictions to write: leave out --predictions, or use --entry with one that has dgc.output"));
  return result;
}

void Predictions::addOutput(const artifact::Plan &plan, const artifact::Program &program,
                            const artifact::Output &output, uint32_t r) {
  auto known = std::find_if(outputs.begin(), outputs.end(),
                            [&](const Output &o) { return o.name == output.name()->string_view(); });
  size_t index = static_cast<size_t>(known - outputs.begin());
  if (known == outputs.end()) {
    Output made{output.name()->str(), toDType(program.buffers()->Get(output.buffer())->dtype()),
                toVector(output.global_shape()), output.batch_dim(), 1};
    if (made.batchDim >= 0) {
      int64_t extent = made.shape[static_cast<size_t>(made.batchDim)];
      made.perSample = extent / globalBatch;
      if (extent % globalBatch != 0)
        made.batchDim = -1;
    }
    outputs.push_back(std::move(made));
  }
  // Of the workers that hold the same part the first one gives it.
  Slice slice = localSlice(plan, output.global_shape(), output.sharding(), r);
  bool isGiven = std::any_of(parts.begin(), parts.end(),
                             [&](const Part &part) { return part.output == index && part.slice == slice; });
  if (!isGiven)
    parts.push_back({index, r, std::move(slice)});
}

/// What of a part is no padding of a short batch.
Slice Predictions::real(const Part &part, int64_t valid) const {
  const Output &output = outputs[part.output];
  Slice slice{part.slice.offsets, part.slice.sizes, part.slice.extents()};
  if (output.batchDim >= 0) {
    size_t d = static_cast<size_t>(output.batchDim);
    slice.sizes[d] = std::clamp<int64_t>(valid * output.perSample - slice.offsets[d], 0, slice.sizes[d]);
  }
  return slice;
}

void Predictions::add(int64_t valid) {
  for (const Part &part : parts) {
    if (part.rank != rank)
      continue;
    auto views = runner->outputs();
    auto view =
        std::find_if(views.begin(), views.end(), [&](const auto &v) { return v.name == outputs[part.output].name; });
    std::vector<std::byte> bytes = packed(view->memory.data(), real(part, valid), sizeOf(view->dtype));
    mine.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  }
  valids.push_back(valid);
}

std::vector<int64_t> Predictions::fileShape(const Output &output) const {
  std::vector<int64_t> shape = output.shape;
  if (output.batchDim >= 0)
    shape[static_cast<size_t>(output.batchDim)] = samples * output.perSample;
  else
    shape.insert(shape.begin(), stepsPerEpoch(samples, globalBatch, LastBatch::Weight));
  return shape;
}

/// Copies the part of a batch to its place in the file, and advances in the stream.
void Predictions::place(const Part &part, int64_t batch, const std::byte *&from, std::vector<std::byte> &to) const {
  const Output &output = outputs[part.output];
  Slice slice = real(part, valids[static_cast<size_t>(batch)]);
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

/// NumPy has no bf16; f32 has all of its values.
static DType fileType(DType dtype) { return dtype == DType::BF16 ? DType::F32 : dtype; }

static std::vector<std::byte> inFileType(DType dtype, std::vector<std::byte> bytes) {
  if (dtype != DType::BF16)
    return bytes;
  std::vector<std::byte> wide(bytes.size() * 2);
  for (size_t i = 0; i < bytes.size() / 2; ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    uint32_t f32 = uint32_t{bits} << 16;
    std::memcpy(wide.data() + 4 * i, &f32, 4);
  }
  return wide;
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
  bool isHere = std::all_of(parts.begin(), parts.end(), [](const Part &part) { return part.rank == 0; });
  if (!isHere) {
    DGC_ASSIGN_OR_RETURN(streams, gatherLong(gather, static_cast<int>(rank), rank == 0 ? std::string() : mine));
  }
  if (rank != 0)
    return absl::OkStatus();
  streams.resize(std::max<size_t>(streams.size(), 1));
  std::vector<std::vector<std::byte>> whole;
  for (const Output &output : outputs)
    whole.emplace_back(*byteSize(output.dtype, fileShape(output)));
  for (uint32_t r = 0; r < streams.size(); ++r) {
    const std::byte *from = reinterpret_cast<const std::byte *>((r == 0 ? mine : streams[r]).data());
    for (int64_t batch = 0; batch < static_cast<int64_t>(valids.size()); ++batch)
      for (const Part &part : parts)
        if (part.rank == r)
          place(part, batch, from, whole[part.output]);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    DGC_RETURN_IF_ERROR(writeNpy(files[i], fileType(outputs[i].dtype), fileShape(outputs[i]),
                                 inFileType(outputs[i].dtype, std::move(whole[i]))));
  return absl::OkStatus();
}

std::string Predictions::describe() const {
  std::string text;
  for (const Output &output : outputs)
    text += str(text.empty() ? "" : ", ", output.name, " ", rt::describe(fileType(output.dtype), fileShape(output)));
  return text;
}
