// Checkpoints: files, folders that workers have written together, models of ONNX that get new weights.
#include "runtime/base/Sha256.h"
#include "runtime/checkpoint/ManifestText.h"
#include "runtime/checkpoint/OnnxWeights.h"
#include "runtime/checkpoint/ShardNames.h"
#include "runtime/checkpoint/ShardedCheckpoint.h"
#include "test/unit/readers/Reader.h"

namespace dgc::rt::test {
namespace {

/// What the plan has; files with other variables do not fit.
const std::vector<VariableSpec> plan{
    {"w", DType::F32, {2, 3}}, {"b", DType::F32, {3}}, {"w.m", DType::F32, {2, 3}, true}};

uint64_t bytesOf(DType dtype, std::span<const int64_t> shape) {
  uint64_t bytes = sizeOf(dtype);
  for (int64_t size : shape)
    bytes *= static_cast<uint64_t>(size);
  return bytes;
}

/// Every tensor as a whole, and all of each but its first row.
void readTensors(const TensorSource &source) {
  for (const auto &[name, info] : source.tensors()) {
    std::vector<std::byte> out(bytesOf(info.dtype, info.shape));
    std::vector<int64_t> start(info.shape.size()), size = info.shape;
    require(source.read(name, start, size, out).ok(), "a tensor of a file that was checked can be read");
    if (size.empty() || size[0] < 2)
      continue;
    start[0] = 1;
    --size[0];
    out.resize(bytesOf(info.dtype, size));
    require(source.read(name, start, size, out).ok(), "a block of a file that was checked can be read");
  }
}

/// Whether it fits the plan.
bool readCheckpoint(Disk &disk, const std::string &path) {
  readRunState(disk, path).status().IgnoreError();
  if (const auto source = TensorSource::open(disk, path); source.ok()) {
    readTensors(**source);
    for (size_t i = 0; i < (*source)->numShards(); ++i)
      (*source)->verifyShard(i).IgnoreError();
  }
  Checkpoint::open(disk, path, plan, Restore::Weights).status().IgnoreError();
  return Checkpoint::open(disk, path, plan, Restore::All, Verify::Manifest).ok();
}

bool readSafetensors(std::span<const uint8_t> bytes) {
  FakeDisk disk;
  disk.put("m.safetensors", std::string(textOf(bytes)));
  return readCheckpoint(disk, "m.safetensors");
}

/// Makes the digest at the end of a manifest that of its text.
void seal(std::string &manifest) {
  const size_t end = manifest.rfind(digestBegin);
  if (end != std::string::npos)
    manifest =
        manifest.substr(0, end) + std::string(digestBegin) + sha256Of(manifest.substr(0, end)) + std::string(digestEnd);
}

/// The folder of a checkpoint, and that of one which is about to be committed.
bool readFolder(std::span<const uint8_t> bytes) {
  FakeDisk disk;
  const ShardId id{7, "0123456789abcdef", 0, 2};
  const std::string done = "c/" + stepName(7), begun = "w/" + temporaryName(7, id.nonce);
  for (auto [name, data] : filesOf(textOf(bytes))) {
    if (name.empty() || name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
      continue;
    if (name.ends_with(".json"))
      seal(data);
    disk.put(done + "/" + name, data);
    disk.put(begun + "/" + name, data);
  }
  const bool isRead = readCheckpoint(disk, done);
  listCheckpoints(disk, "c").status().IgnoreError();
  missingShards(disk, "w", id).status().IgnoreError();
  commitShards(disk, "w", id, {7, {0, 7}, 1, std::string(64, 'a'), "dgc"}, {}).IgnoreError();
  return isRead;
}

bool readOnnxWeights(std::span<const uint8_t> bytes) {
  FakeDisk disk;
  disk.put("m.onnx", std::string(textOf(bytes)));
  auto model = OnnxWeights::open(disk, "m.onnx", std::span(plan).first(2));
  if (!model.ok())
    return false;
  const std::vector<std::byte> zeros(24);
  const Tensor tensors[] = {{"w", DType::F32, {2, 3}, zeros}, {"b", DType::F32, {3}, std::span(zeros).first(12)}};
  auto file = OutputFile::reserve(disk, "out.onnx");
  require(file.ok() && model->save(*file, tensors).ok(), "a model that was checked takes weights");
  return true;
}

const RegisteredReader safetensors("safetensors", readSafetensors), folder("checkpoint_folder", readFolder),
    onnx("onnx_weights", readOnnxWeights);

} // namespace
} // namespace dgc::rt::test
