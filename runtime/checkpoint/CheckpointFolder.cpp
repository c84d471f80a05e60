// Finds, prunes and clears up the checkpoints of a folder.
#include "runtime/checkpoint/ShardNames.h"
#include "runtime/checkpoint/ShardedCheckpoint.h"

#include <algorithm>
#include <filesystem>

using namespace dgc::rt;

/// Creates a folder and those around it that are missing, on the medium.
static absl::Status createFolder(Disk &disk, const std::string &dir) {
  std::vector<std::string> parents;                                                   // of folders that are created
  std::filesystem::path at = std::filesystem::path(inFolder(dir, ".")).parent_path(); // without a slash at the end
  for (; !at.empty() && !disk.exists(at.string()); at = at.parent_path())
    parents.push_back(at.has_parent_path() ? at.parent_path().string() : ".");
  DGC_RETURN_IF_ERROR(disk.makeDirectory(dir));
  for (const std::string &parent : parents)
    DGC_RETURN_IF_ERROR(disk.syncDirectory(parent));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileLock>> dgc::rt::lockFolder(Disk &disk, const std::string &dir) {
  DGC_RETURN_IF_ERROR(createFolder(disk, dir));
  auto lock = disk.lock(inFolder(dir, folderLock));
  return lock.ok() ? std::move(lock) : annotate(lock.status(), str("cannot write checkpoints to ", dir));
}

absl::StatusOr<std::vector<FoundCheckpoint>> dgc::rt::listCheckpoints(Disk &disk, const std::string &dir) {
  auto names = disk.list(dir);
  if (absl::IsNotFound(names.status()))
    return std::vector<FoundCheckpoint>();
  if (!names.ok())
    return names.status();
  std::vector<FoundCheckpoint> found;
  for (const std::string &name : *names)
    if (std::optional<int64_t> step = stepOf(name); step && disk.exists(inFolder(inFolder(dir, name), manifestName)))
      found.push_back({*step, inFolder(dir, name)});
  std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.step > b.step; });
  return found;
}

absl::Status dgc::rt::pruneCheckpoints(Disk &disk, const std::string &dir, size_t keep,
                                       const std::set<int64_t> &alsoKeep) {
  DGC_ASSIGN_OR_RETURN(std::vector<FoundCheckpoint> found, listCheckpoints(disk, dir));
  for (size_t i = found.size(); i-- > std::max<size_t>(keep, 1);)
    if (!alsoKeep.contains(found[i].step) && disk.isOwnFolder(found[i].path))
      DGC_RETURN_IF_ERROR(removeCheckpoint(disk, found[i].path));
  return absl::OkStatus();
}

absl::Status dgc::rt::removeCheckpoint(Disk &disk, const std::string &path) {
  const std::string manifest = inFolder(path, manifestName), pruned = inFolder(path, prunedName);
  if (disk.exists(manifest)) {
    DGC_RETURN_IF_ERROR(disk.rename(manifest, pruned));
    DGC_RETURN_IF_ERROR(disk.syncDirectory(path));
  }
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> names, disk.list(path));
  bool isEmpty = true;
  for (const std::string &name : names) {
    const std::string file = inFolder(path, name);
    if (name == prunedName)
      continue; // last, as it tells that the rest goes
    if (isOfCheckpoint(name) && disk.isOwnFile(file))
      DGC_RETURN_IF_ERROR(disk.remove(file));
    else
      isEmpty = false;
  }
  if (disk.isOwnFile(pruned)) {
    DGC_RETURN_IF_ERROR(disk.syncDirectory(path));
    DGC_RETURN_IF_ERROR(disk.remove(pruned));
  }
  return isEmpty ? disk.remove(path) : absl::OkStatus();
}

/// Whether a folder with the name of a checkpoint is what an interrupted removal left.
static bool isHalfRemoved(Disk &disk, const std::string &path) {
  if (disk.exists(inFolder(path, manifestName)))
    return false;
  auto names = disk.list(path);
  return names.ok() && (names->empty() || std::find(names->begin(), names->end(), prunedName) != names->end());
}

/// Clears up `name` of `dir`, if it is a folder of dgc that is no checkpoint.
static absl::Status clearUp(Disk &disk, const std::string &dir, const std::string &name) {
  const std::string path = inFolder(dir, name);
  if (!disk.isOwnFolder(path))
    return absl::OkStatus();
  if (std::optional<int64_t> step = stepOfReplaced(name)) {
    const std::string original = inFolder(dir, stepName(*step));
    if (disk.exists(original) || !disk.exists(inFolder(path, manifestName)))
      return removeCheckpoint(disk, path);
    DGC_RETURN_IF_ERROR(disk.rename(path, original));
    return disk.syncDirectory(dir);
  }
  if (stepOfTemporary(name) || (stepOf(name) && isHalfRemoved(disk, path)))
    return removeCheckpoint(disk, path);
  return absl::OkStatus();
}

absl::Status dgc::rt::removeLeftovers(Disk &disk, const std::string &dir, const FileLock &lock) {
  if (!lock.excludesOthers())
    return absl::OkStatus();
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> names, disk.list(dir));
  absl::Status first;
  for (const std::string &name : names)
    first.Update(clearUp(disk, dir, name));
  return first;
}
