// Initial values, --load and --save.
#include "runtime/driver/State.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"

#include <algorithm>
#include <deque>

using namespace dgc;
using namespace dgc::rt;

/// Reads this worker's block of a .npy or .safetensors file below --data.
static absl::Status readInitialValue(const VariableView &view, const RunOptions &options, Disk &disk) {
  if (options.data.empty())
    return badData("give the folder that holds it with --data");
  std::string path = str(options.data, "/", view.variable->file()->str());
  if (path.ends_with(".safetensors")) {
    DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(disk, path));
    auto entry = file.entries().find(view.name);
    if (entry == file.entries().end())
      return badData(str(path, " has no tensor '", view.name, "'"));
    if (entry->second.dtype != view.dtype || entry->second.shape != view.globalShape)
      return badData(str(path, " holds ", describe(entry->second.dtype, entry->second.shape), ", needed is ",
                         describe(view.dtype, view.globalShape)));
    return file.readBlock(entry->second, view.slice.offsets, view.slice.sizes, view.memory);
  }
  DGC_ASSIGN_OR_RETURN(Bytes bytes, readWhole(disk, path));
  DGC_ASSIGN_OR_RETURN(Array array, parseNpy(std::move(bytes), path));
  if (array.dtype != view.dtype || array.shape != view.globalShape)
    return badData(str(path, " holds ", describe(array.dtype, array.shape), ", needed is ",
                       describe(view.dtype, view.globalShape)));
  copySliceOut(array.bytes().data(), view.globalShape, view.slice, sizeOf(view.dtype), view.memory.data());
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> dgc::rt::seedOf(const RunOptions &options, Disk &disk) {
  if (options.seed || options.load.empty())
    return options.seed.value_or(0);
  DGC_ASSIGN_OR_RETURN(std::optional<RunState> state, readRunState(disk, options.load));
  return state ? state->seed : 0;
}

absl::StatusOr<std::optional<RunState>> dgc::rt::restoreVariables(Executor &executor, const artifact::Plan &plan,
                                                                  const RunOptions &options, Disk &disk) {
  DGC_RETURN_IF_ERROR(executor.initializeVariables([&](const VariableView &view) {
    // --load replaces it anyway.
    return options.load.empty() ? readInitialValue(view, options, disk) : absl::OkStatus();
  }));
  if (options.load.empty())
    return std::optional<RunState>();
  std::vector<VariableSpec> specs; // of all workers: what is in the file and in none of them is an error
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
    const artifact::Variable &variable = *plan.variables()->Get(i);
    specs.push_back({variable.name()->str(), toDType(plan.variable_buffers()->Get(variable.buffer())->dtype()),
                     toVector(variable.global_shape()), variable.role() == artifact::VariableRole::Slot});
  }
  DGC_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::open(disk, options.load, specs));
  for (const VariableView &view : executor.variables())
    if (checkpoint.has(view.name))
      DGC_RETURN_IF_ERROR(checkpoint.read(view.name, view.slice.offsets, view.slice.sizes, view.memory));
  return checkpoint.state();
}

absl::Status dgc::rt::checkSaveable(const Executor &executor) {
  for (const VariableView &view : executor.variables())
    if (!view.replicated())
      return withExitCode(absl::UnimplementedError(str("--save: variable '", view.name,
                                                       "' is split over the workers, and split variables cannot be "
                                                       "saved; use a strategy that keeps variables whole")),
                          ExitCode::Usage);
  return absl::OkStatus();
}

/// The bytes of a variable that `owner` holds and rank 0 does not, on rank 0; empty elsewhere. They travel in pieces,
/// as they pass through every worker.
static absl::StatusOr<std::vector<std::byte>> fetchVariable(const VariableView *view, uint64_t size, uint32_t owner,
                                                            const WorkerContext &context) {
  constexpr uint64_t piece = 1 << 20;
  std::vector<std::byte> whole;
  for (uint64_t at = 0; at < size; at += piece) {
    std::string mine;
    if (view)
      mine.assign(reinterpret_cast<const char *>(view->memory.data()) + at, std::min(piece, size - at));
    DGC_ASSIGN_OR_RETURN(std::vector<std::string> all, context.gather(mine));
    if (all[owner].size() != std::min(piece, size - at))
      return absl::InternalError(str("rank ", owner, " sent ", all[owner].size(), " bytes of a variable, expected are ",
                                     std::min(piece, size - at)));
    const auto *begin = reinterpret_cast<const std::byte *>(all[owner].data());
    if (context.transport.rank() == 0)
      whole.insert(whole.end(), begin, begin + all[owner].size());
  }
  return whole;
}

absl::Status dgc::rt::saveVariables(const Executor &executor, const artifact::Plan &plan, const RunOptions &options,
                                    const RunState &state, Disk &disk, const WorkerContext &context) {
  const bool first = context.transport.rank() == 0;
  std::vector<Tensor> tensors;
  std::deque<std::vector<std::byte>> fetched; // memory of the tensors that came from others
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
    const artifact::Variable &variable = *plan.variables()->Get(i);
    auto views = executor.variables();
    auto view = std::find_if(views.begin(), views.end(), [&](const auto &v) { return v.variable == &variable; });
    const VariableView *held = view == views.end() ? nullptr : &*view;
    uint32_t owner =
        variable.group() < 0 ? 0 : plan.groups()->Get(static_cast<uint32_t>(variable.group()))->first_rank();
    DType dtype = toDType(plan.variable_buffers()->Get(variable.buffer())->dtype());
    std::vector<int64_t> shape = toVector(variable.global_shape());
    if (owner == 0) {
      if (first)
        tensors.push_back({held->name, dtype, shape, held->memory});
      continue;
    }
    bool sends = context.transport.rank() == static_cast<int>(owner);
    DGC_ASSIGN_OR_RETURN(std::vector<std::byte> bytes,
                         fetchVariable(sends ? held : nullptr, byteSize(dtype, shape).value_or(0), owner, context));
    if (first) {
      fetched.push_back(std::move(bytes));
      tensors.push_back({variable.name()->str(), dtype, shape, fetched.back()});
    }
  }
  return first ? saveCheckpoint(disk, options.save, tensors, state) : absl::OkStatus();
}
