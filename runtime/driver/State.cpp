// Initial values, --load and --save.
#include "runtime/driver/State.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"

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

absl::StatusOr<std::optional<RunState>> dgc::rt::restoreVariables(Executor &executor, const RunOptions &options,
                                                                  Disk &disk) {
  DGC_RETURN_IF_ERROR(executor.initializeVariables([&](const VariableView &view) {
    // --load replaces it anyway.
    return options.load.empty() ? readInitialValue(view, options, disk) : absl::OkStatus();
  }));
  if (options.load.empty())
    return std::optional<RunState>();
  std::vector<VariableSpec> specs;
  for (const VariableView &view : executor.variables())
    specs.push_back({view.name, view.dtype, view.globalShape, view.variable->role() == artifact::VariableRole::Slot});
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

absl::Status dgc::rt::saveVariables(const Executor &executor, const RunOptions &options, const RunState &state,
                                    Disk &disk) {
  std::vector<Tensor> tensors;
  for (const VariableView &view : executor.variables())
    tensors.push_back({view.name, view.dtype, view.globalShape, view.memory});
  return saveCheckpoint(disk, options.save, tensors, state);
}
