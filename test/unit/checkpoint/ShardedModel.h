// Variables that some workers hold in blocks, and save together.
#pragma once

#include "runtime/base/Shape.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/ShardedCheckpoint.h"
#include "test/unit/support/FakeDisk.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dgc::rt::test {

/// Along which dimension a variable is cut; -1: worker 0 has it.
struct ModelVariable {
  VariableSpec spec;
  int cut = -1;
};

inline const std::vector<ModelVariable> &modelVariables() {
  static const std::vector<ModelVariable> variables = {
      {{"b", DType::F32, {7}}, 0},     {{"empty", DType::F32, {0, 3}}, -1},
      {{"scale", DType::F32, {}}, -1}, {{"steps", DType::I64, {1}, /*slot=*/true}, -1},
      {{"w", DType::F32, {5, 7}}, 0},  {{"w/momentum", DType::F32, {5, 7, 2}, /*slot=*/true}, 1},
  };
  return variables;
}

inline std::vector<VariableSpec> modelPlan() {
  std::vector<VariableSpec> plan;
  for (const ModelVariable &variable : modelVariables())
    plan.push_back(variable.spec);
  return plan;
}

inline size_t bytesOf(DType dtype, const std::vector<int64_t> &shape) { return *byteSize(dtype, shape); }

/// Element i of a variable is version * 1000 + i.
inline std::vector<std::byte> wholeValue(const VariableSpec &spec, int version) {
  std::vector<std::byte> whole(bytesOf(spec.dtype, spec.globalShape));
  for (size_t i = 0; i < whole.size() / sizeOf(spec.dtype); ++i)
    storeElement(spec.dtype, whole.data(), static_cast<int64_t>(i), version * 1000.0 + static_cast<double>(i));
  return whole;
}

inline std::vector<std::byte> blockOf(const VariableSpec &spec, int version, const std::vector<int64_t> &start,
                                      const std::vector<int64_t> &size) {
  const std::vector<std::byte> whole = wholeValue(spec, version);
  std::vector<std::byte> block(bytesOf(spec.dtype, size));
  const size_t width = sizeOf(spec.dtype);
  for (const BlockPiece &piece : blockPieces(spec.globalShape, start, size))
    std::memcpy(block.data() + piece.to * width, whole.data() + piece.from * width, piece.count * width);
  return block;
}

/// Where block `i` of `parts` begins, and how long it is: ceil(n / parts), less at the end.
inline std::pair<int64_t, int64_t> partOf(int64_t n, int64_t parts, int64_t i) {
  const int64_t each = (n + parts - 1) / parts, begin = std::min(i * each, n);
  return {begin, std::min(each, n - begin)};
}

/// What a worker holds.
class Worker {
public:
  Worker(uint32_t rank, uint32_t world, int version) {
    for (const auto &[spec, cut] : modelVariables()) {
      std::vector<int64_t> start(spec.globalShape.size()), size = spec.globalShape;
      if (cut < 0 && rank != 0)
        continue;
      if (cut >= 0)
        std::tie(start[static_cast<size_t>(cut)], size[static_cast<size_t>(cut)]) =
            partOf(spec.globalShape[static_cast<size_t>(cut)], world, rank);
      memory.push_back(blockOf(spec, version, start, size));
      pieces.push_back({spec.name, spec.dtype, spec.globalShape, start, size, memory.back()});
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<VariablePiece> pieces;
};

inline std::string nonceOf(int attempt) {
  std::string digits = std::to_string(attempt);
  return std::string(16 - digits.size(), 'a') + digits;
}

inline RunState stateOf(int64_t step) { return {step, {1, step - 1}, 7, "ab01", "dgc 0.1.0"}; }

/// All workers write their shard, and rank 0 commits.
inline absl::Status save(Disk &disk, int64_t step, uint32_t world, int version, int attempt = 1) {
  ShardId id{step, nonceOf(attempt), 0, world};
  for (; id.rank < world; ++id.rank)
    DGC_RETURN_IF_ERROR(writeShard(disk, "d", id, Worker(id.rank, world, version).pieces));
  id.rank = 0;
  DGC_ASSIGN_OR_RETURN(std::vector<uint32_t> missing, missingShards(disk, "d", id));
  if (!missing.empty())
    return absl::InternalError("shards are missing");
  return commitShards(disk, "d", id, stateOf(step), {{"version", std::to_string(version)}});
}

/// What is wrong with a checkpoint: empty where it has the values of the version.
inline std::string problemOf(Disk &disk, const std::string &path, const std::string &version) {
  auto checkpoint = Checkpoint::open(disk, path, modelPlan());
  if (!checkpoint.ok())
    return std::string(checkpoint.status().message());
  if (checkpoint->extra().at("version") != version)
    return "it is of version " + checkpoint->extra().at("version");
  for (const VariableSpec &spec : modelPlan()) {
    std::vector<std::byte> read(bytesOf(spec.dtype, spec.globalShape));
    absl::Status status =
        checkpoint->read(spec.name, std::vector<int64_t>(spec.globalShape.size()), spec.globalShape, read);
    if (!status.ok() || read != wholeValue(spec, std::stoi(version)))
      return "wrong: " + spec.name + " " + std::string(status.message());
  }
  return "";
}

inline std::vector<int64_t> stepsIn(Disk &disk) {
  auto found = listCheckpoints(disk, "d");
  EXPECT_TRUE(found.ok()) << found.status();
  std::vector<int64_t> steps;
  for (const FoundCheckpoint &checkpoint : *found)
    steps.push_back(checkpoint.step);
  return steps;
}

} // namespace dgc::rt::test
