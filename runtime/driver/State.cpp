// Initial values, --load and --save.
#include "runtime/driver/State.h"

#include "runtime/artifact/VariableParts.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/base/Task.h"
#include "runtime/data/Npy.h"

#include <algorithm>
#include <map>
#include <set>

using namespace dgc;
using namespace dgc::rt;

/// Calls `read` with memory for the elements of the block alone, and puts them where they belong among the padding.
template <typename F> static absl::Status readPacked(const VariableView &view, F read) {
  if (view.slice.block.empty())
    return read(view.memory);
  std::vector<std::byte> bytes(static_cast<size_t>(view.slice.numElements()) * sizeOf(view.dtype));
  DGC_RETURN_IF_ERROR(read(std::span(bytes)));
  unpack(bytes.data(), view.slice, sizeOf(view.dtype), view.memory.data());
  return absl::OkStatus();
}

/// Reads this worker's block of a .npy or .safetensors file below --data.
static absl::Status readInitialValue(const VariableView &view, const RunOptions &options, Disk &disk,
                                     std::set<std::string> &verified) {
  if (options.data.empty())
    return badData("give the folder that holds it with --data");
  std::string path = str(options.data, "/", view.variable->file()->str());
  if (path.ends_with(".safetensors")) {
    DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(disk, path));
    if (verified.insert(path).second)
      DGC_RETURN_IF_ERROR(file.verify());
    const std::string &name = view.beginsAs.empty() ? view.name : view.beginsAs;
    auto entry = file.entries().find(name);
    if (entry == file.entries().end())
      return badData(str(path, " has no tensor '", name, "'"));
    if (entry->second.dtype != view.dtype || entry->second.shape != view.globalShape)
      return badData(str(path, " holds ", describe(entry->second.dtype, entry->second.shape), ", needed is ",
                         describe(view.dtype, view.globalShape)));
    return readPacked(view, [&](std::span<std::byte> out) {
      return file.readBlock(entry->second, view.slice.offsets, view.slice.sizes, out);
    });
  }
  DGC_ASSIGN_OR_RETURN(ArrayHeader header, readArrayHeader(disk, path, npyFormat));
  if (header.dtype != view.dtype || header.shape != view.globalShape)
    return badData(str(path, " holds ", describe(header.dtype, header.shape), ", needed is ",
                       describe(view.dtype, view.globalShape)));
  DGC_ASSIGN_OR_RETURN(Array array, readArray(disk, path, npyFormat));
  copySliceOut(array.bytes().data(), view.globalShape, view.slice, sizeOf(view.dtype), view.memory.data());
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> dgc::rt::seedOf(const RunOptions &options, Disk &disk) {
  if (options.seed || options.load.empty())
    return options.seed.value_or(0);
  auto state = readRunState(disk, options.load);
  if (!state.ok())
    return annotate(state.status(), "--load");
  return *state ? (*state)->seed : 0;
}

/// Sums of an evaluation are part of no checkpoint.
static bool isSaved(const artifact::Variable &variable) { return variable.role() != artifact::VariableRole::Total; }

int64_t dgc::rt::countSaved(const artifact::Plan &plan) {
  int64_t count = 0;
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i)
    if (const artifact::Variable &variable = *plan.variables()->Get(i); isSaved(variable))
      count += static_cast<int64_t>(countParts(variable));
  return count;
}

std::vector<VariableSpec> dgc::rt::variableSpecs(const artifact::Plan &plan) {
  std::vector<VariableSpec> specs;
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
    const artifact::Variable &variable = *plan.variables()->Get(i);
    if (variable.first_row() || !isSaved(variable)) // the first block represents the variable
      continue;
    const DType dtype = toDType(plan.variable_buffers()->Get(variable.buffer())->dtype());
    for (const VariablePart &part : partsOf(variable))
      specs.push_back({part.name, dtype, part.shape, variable.role() == artifact::VariableRole::Slot,
                       variable.role() == artifact::VariableRole::LossScale, part.beginsAs});
  }
  return specs;
}

absl::StatusOr<Restored> dgc::rt::restoreVariables(Executor &executor, const artifact::Plan &plan,
                                                   const RunOptions &options, Disk &disk, bool isVerified) {
  bool weightsOnly = !options.loadWeights.empty();
  const std::string &path = weightsOnly ? options.loadWeights : options.load;
  std::set<std::string> verified; // files that many variables are in
  DGC_RETURN_IF_ERROR(executor.initializeVariables([&](const VariableView &view) {
    // What is loaded replaces it anyway.
    return path.empty() ? readInitialValue(view, options, disk, verified) : absl::OkStatus();
  }));
  if (path.empty())
    return Restored();
  auto opened = Checkpoint::open(disk, path, variableSpecs(plan), weightsOnly ? Restore::Weights : Restore::All,
                                 isVerified ? Verify::Manifest : Verify::All);
  if (!opened.ok())
    return annotate(opened.status(), weightsOnly ? "--load-weights" : "--load");
  const Checkpoint &checkpoint = *opened;
  for (const VariableView &part : partsOf(executor.variables()))
    if (checkpoint.has(part.name)) {
      DGC_RETURN_IF_ERROR(readPacked(part, [&](std::span<std::byte> out) {
        return checkpoint.read(part.name, part.slice.offsets, part.slice.sizes, out);
      }));
      DGC_RETURN_IF_ERROR(executor.upload(part));
    }
  return Restored{checkpoint.state(), checkpoint.leftOut(), checkpoint.extra()};
}

namespace {
/// Brings to rank 0 what it does not hold: the blocks of split variables, and variables of other groups. Of the workers
/// that hold the same block one gives it: each worker has a stream, the blocks that it gives one after the other, and
/// all streams move at once, piece by piece.
class BlockGatherer {
public:
  BlockGatherer(const Artifact &artifact, const Executor &executor, int rank)
      : plan(artifact.plan()), held(executor.variables()), self(static_cast<uint32_t>(rank)) {}

  /// The variables of the plan. On rank 0 only.
  absl::StatusOr<WholeVariables> run(const GatherBytes &gather) {
    std::string mine;
    for (uint32_t v = 0; v < count(); ++v)
      if (gives(v, self)) {
        const VariableView &view = *viewOf(v);
        std::vector<std::byte> block = packed(view.memory.data(), view.slice, sizeOf(view.dtype));
        mine.append(reinterpret_cast<const char *>(block.data()), block.size());
      }
    std::vector<std::string> streams(plan.world_size());
    // What all give at once must fit into one message.
    const size_t piece = std::max<size_t>((size_t{2} << 20) / plan.world_size(), 1);
    const size_t longest = longestStream();
    Task task("gathering variables", longest * streams.size(), Task::Bytes);
    for (size_t at = 0; at < longest; at += piece) {
      task.advance(piece * streams.size());
      DGC_ASSIGN_OR_RETURN(auto pieces, gather(at < mine.size() ? mine.substr(at, piece) : std::string()));
      for (size_t rank = 0; self == 0 && rank < streams.size(); ++rank)
        streams[rank] += pieces[rank];
    }
    return self == 0 ? assemble(streams) : WholeVariables();
  }

private:
  uint32_t count() const { return plan.variables() ? plan.variables()->size() : 0; }
  const artifact::Variable &variable(uint32_t v) const { return *plan.variables()->Get(v); }
  DType dtypeOf(uint32_t v) const { return toDType(plan.variable_buffers()->Get(variable(v).buffer())->dtype()); }

  const VariableView *viewOf(uint32_t v) const {
    auto view = std::find_if(held.begin(), held.end(), [&](const auto &h) { return h.variable == &variable(v); });
    return view == held.end() ? nullptr : &*view;
  }

  Slice sliceOf(uint32_t v, uint32_t rank) const { return localSlice(plan, variable(v), rank); }

  /// Whether `rank` gives its block: it is the first one that holds it, and rank 0 does not have everything.
  bool gives(uint32_t v, uint32_t rank) const {
    uint32_t first = 0, ranks = plan.world_size();
    if (int32_t group = variable(v).group(); group >= 0) {
      first = plan.groups()->Get(static_cast<uint32_t>(group))->first_rank();
      ranks = plan.groups()->Get(static_cast<uint32_t>(group))->rank_count();
    }
    if (rank < first || rank - first >= ranks || (first == 0 && !isSplit(plan, variable(v))))
      return false;
    // The first along the axes that do not cut the variable.
    std::vector<uint32_t> position = meshPosition(plan, rank), begin = meshPosition(plan, first);
    if (const artifact::Sharding *sharding = variable(v).sharding(); sharding && sharding->dims())
      for (const artifact::DimSharding *dim : *sharding->dims())
        for (uint32_t i = 0; dim->axes() && i < dim->axes()->size(); ++i)
          position[dim->axes()->Get(i)] = begin[dim->axes()->Get(i)];
    return position == begin;
  }

  size_t bytesOf(uint32_t v, uint32_t rank) const {
    return static_cast<size_t>(sliceOf(v, rank).numElements()) * sizeOf(dtypeOf(v));
  }

  size_t longestStream() const {
    size_t longest = 0;
    for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
      size_t length = 0;
      for (uint32_t v = 0; v < count(); ++v)
        length += gives(v, rank) ? bytesOf(v, rank) : 0;
      longest = std::max(longest, length);
    }
    return longest;
  }

  WholeVariables assemble(const std::vector<std::string> &streams) {
    WholeVariables result;
    std::vector<std::vector<std::byte>> &whole = result.memory;
    whole.resize(count());
    std::vector<size_t> at(streams.size(), 0);
    std::map<std::string_view, uint32_t> firsts; // the first entry of each variable: all blocks go to the memory there
    for (uint32_t v = 0; v < count(); ++v) {
      std::vector<int64_t> shape = toVector(variable(v).global_shape());
      auto [first, isNew] = firsts.try_emplace(variable(v).name()->string_view(), v);
      std::vector<std::byte> &memory = whole[first->second];
      for (uint32_t rank = 0; rank < streams.size(); ++rank) {
        if (!gives(v, rank))
          continue;
        memory.resize(*byteSize(dtypeOf(v), shape));
        Slice slice = sliceOf(v, rank);
        slice.block.clear();
        copySliceIn(reinterpret_cast<const std::byte *>(streams[rank].data()) + at[rank], shape, slice,
                    sizeOf(dtypeOf(v)), memory.data());
        at[rank] += bytesOf(v, rank);
      }
      if (!isNew)
        continue;
      bool isHere = !gives(v, firstGiver(v));
      addParts(v, isHere ? std::span<const std::byte>(viewOf(v)->memory) : std::span<const std::byte>(whole[v]),
               result.tensors);
    }
    return result;
  }

  /// The parts of a variable, from its whole.
  void addParts(uint32_t v, std::span<const std::byte> whole, std::vector<Tensor> &tensors) const {
    const std::vector<VariablePart> parts = partsOf(variable(v));
    const size_t bytes = whole.size() / parts.size();
    for (size_t i = 0; i < parts.size(); ++i)
      tensors.push_back({parts[i].name, dtypeOf(v), parts[i].shape, whole.subspan(i * bytes, bytes)});
  }

  /// The first rank that may hold the variable.
  uint32_t firstGiver(uint32_t v) const {
    int32_t group = variable(v).group();
    return group < 0 ? 0 : plan.groups()->Get(static_cast<uint32_t>(group))->first_rank();
  }

  const artifact::Plan &plan;
  std::span<const VariableView> held;
  uint32_t self;
};
} // namespace

absl::StatusOr<WholeVariables> dgc::rt::gatherVariables(const Artifact &artifact, const Executor &executor, int rank,
                                                        const GatherBytes &gather) {
  return BlockGatherer(artifact, executor, rank).run(gather);
}

absl::Status dgc::rt::saveVariables(const Artifact &artifact, const Executor &executor, int rank, OutputFile *file,
                                    OnnxWeights *onnx, const RunState &state, const GatherBytes &gather) {
  DGC_ASSIGN_OR_RETURN(WholeVariables whole, gatherVariables(artifact, executor, rank, gather));
  if (rank != 0)
    return absl::OkStatus();
  std::set<std::string> saved;
  for (const VariableSpec &spec : variableSpecs(artifact.plan()))
    saved.insert(spec.name);
  std::erase_if(whole.tensors, [&](const Tensor &tensor) { return !saved.contains(tensor.name); });
  return onnx ? onnx->save(*file, whole.tensors) : saveCheckpoint(*file, whole.tensors, state);
}
