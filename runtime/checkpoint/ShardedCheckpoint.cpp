// Writes sharded checkpoints.
#include "runtime/checkpoint/ShardedCheckpoint.h"

#include "runtime/base/Printable.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Shape.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/ShardNames.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace dgc::rt;

static absl::Status checkId(const ShardId &id) {
  if (id.step < 0 || !isToken(id.nonce) || id.rank >= id.world)
    return absl::InvalidArgumentError(str("no shard of a checkpoint: step ", id.step, ", nonce '",
                                          printable(id.nonce, 64), "', rank ", id.rank, " of ", id.world));
  return absl::OkStatus();
}

/// Creates a file and brings it to the medium, but for its name. On an error there is no file.
static absl::Status writeNew(Disk &disk, const std::string &path, const OutputFile::Write &write) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, disk.createNew(path, path));
  absl::Status status = write(*file);
  if (status.ok())
    status = file->sync();
  if (absl::Status closed = file->close(); status.ok())
    status = closed;
  if (!status.ok())
    disk.remove(path).IgnoreError(); // the error of the write is the one to tell
  return status;
}

static absl::Status writeNew(Disk &disk, const std::string &path, const std::string &text) {
  return writeNew(disk, path, [&](WritableFile &file) { return file.write(text); });
}

/// What a worker says that it gave, so that no other attempt is taken for it.
static Metadata signature(const ShardId &id, uint32_t rank) {
  return {{"step", str(id.step)}, {"nonce", id.nonce}, {"rank", str(rank)}, {"world", str(id.world)}};
}

static bool isUtf8(const std::string &text) {
  using nlohmann::json;
  const json value(text);
  return value.dump(-1, ' ', false, json::error_handler_t::replace) ==
         value.dump(-1, ' ', false, json::error_handler_t::ignore);
}

//===-- Phase 1 ---------------------------------------------------------===//

static absl::Status checkPiece(const VariablePiece &piece) {
  const std::string shown = printable(piece.variable, 256);
  if (!isUtf8(piece.variable))
    return absl::InvalidArgumentError(str("the name ", shown, " is not UTF-8"));
  const std::optional<uint64_t> bytes = byteSize(piece.dtype, piece.size);
  if (!byteSize(piece.dtype, piece.globalShape) || !isBlockInside(piece.globalShape, piece.start, piece.size))
    return absl::InvalidArgumentError(
        str("a piece of ", shown, " is not inside of ", describe(piece.dtype, piece.globalShape)));
  if (bytes != piece.bytes.size())
    return absl::InvalidArgumentError(
        str("a piece of ", shown, " has ", piece.bytes.size(), " bytes for ", describe(piece.dtype, piece.size)));
  return absl::OkStatus();
}

/// "w[0:64,0:128]", for people.
static std::string nameOfSlice(const VariablePiece &piece) {
  std::string text = piece.variable;
  for (size_t d = 0; d < piece.size.size(); ++d)
    text += str(d ? "," : "[", piece.start[d], ":", piece.start[d] + piece.size[d]);
  return text + "]";
}

namespace {
/// The tensors of a file, and what the manifest says of them.
struct Shard {
  absl::Status add(const VariablePiece &piece) {
    DGC_RETURN_IF_ERROR(checkPiece(piece));
    const bool isOfNothing = *byteSize(piece.dtype, piece.globalShape) == 0;
    if (piece.bytes.empty() && !isOfNothing)
      return absl::OkStatus();
    auto [it, isNew] = manifest.variables.try_emplace(piece.variable);
    Manifest::Variable &variable = it->second;
    if (isNew) {
      variable.dtype = piece.dtype;
      variable.globalShape = piece.globalShape;
    } else if (variable.dtype != piece.dtype || variable.globalShape != piece.globalShape) {
      return absl::InvalidArgumentError(str(printable(piece.variable, 256), " is both ",
                                            describe(variable.dtype, variable.globalShape), " and ",
                                            describe(piece.dtype, piece.globalShape)));
    }
    std::string name = piece.variable;
    if (piece.size != piece.globalShape) {
      name = nameOfSlice(piece);
      while (names.contains(name)) // also the name of a whole variable
        name += "~";
    }
    if (!names.insert(name).second)
      return absl::InvalidArgumentError(str(printable(piece.variable, 256), " is given twice"));
    variable.pieces.push_back({0, name, piece.start, piece.size});
    tensors.push_back({name, piece.dtype, piece.size, piece.bytes});
    return absl::OkStatus();
  }

  Manifest manifest;
  std::vector<Tensor> tensors;
  std::set<std::string> names;
};
} // namespace

/// Whole variables first: these keep their names.
static absl::StatusOr<Shard> shardOf(std::span<const VariablePiece> pieces) {
  Shard shard;
  for (bool isWhole : {true, false})
    for (const VariablePiece &piece : pieces)
      if ((piece.size == piece.globalShape) == isWhole)
        DGC_RETURN_IF_ERROR(shard.add(piece));
  return shard;
}

static absl::Status writeTensors(Disk &disk, const std::string &folder, const ShardId &id, Shard &shard) {
  const std::string name = shardName(id.rank, id.world), path = inFolder(folder, name);
  // Transformers of Hugging Face ask for the format, by which they mean whose tensors these are.
  auto layout = layOutSafetensors(shard.tensors, {{"format", "pt"}, {std::string(digestKey), ""}});
  if (!layout.ok())
    return annotate(layout.status(), path);
  DGC_RETURN_IF_ERROR(
      writeNew(disk, path, [&](WritableFile &file) { return writeSafetensors(file, *layout, shard.tensors); }));
  shard.manifest.files.push_back({name, layout->bytes, layout->digest});
  return disk.syncDirectory(folder);
}

absl::Status dgc::rt::writeShard(Disk &disk, const std::string &dir, const ShardId &id,
                                 std::span<const VariablePiece> pieces) {
  DGC_RETURN_IF_ERROR(checkId(id));
  const std::string folder = inFolder(dir, temporaryName(id.step, id.nonce));
  auto shard = shardOf(pieces);
  if (!shard.ok())
    return annotate(shard.status(), folder);
  if (!disk.exists(dir))
    return absl::NotFoundError(str("there is no folder ", dir, " here, on ", hostName(),
                                   ": name one that the machines of all workers have in common"));
  DGC_RETURN_IF_ERROR(disk.makeDirectory(folder));
  if (!shard->tensors.empty())
    DGC_RETURN_IF_ERROR(writeTensors(disk, folder, id, *shard));
  shard->manifest.extra = signature(id, id.rank);
  const std::string marker = inFolder(folder, markerName(id.rank)), unfinished = str(marker, temporarySuffix);
  auto text = formatManifest(shard->manifest);
  if (!text.ok())
    return annotate(text.status(), marker);
  DGC_RETURN_IF_ERROR(writeNew(disk, unfinished, *text));
  return disk.rename(unfinished, marker); // rank 0 may rename the folder from here on
}

//===-- Phase 2 ---------------------------------------------------------===//

absl::StatusOr<std::vector<uint32_t>> dgc::rt::missingShards(Disk &disk, const std::string &dir, const ShardId &id) {
  DGC_RETURN_IF_ERROR(checkId(id));
  auto listed = disk.list(inFolder(dir, temporaryName(id.step, id.nonce)));
  if (!listed.ok() && !absl::IsNotFound(listed.status()))
    return listed.status();
  const std::vector<std::string> names = listed.ok() ? *std::move(listed) : std::vector<std::string>();
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < id.world; ++rank)
    if (!std::binary_search(names.begin(), names.end(), markerName(rank)))
      missing.push_back(rank);
  return missing;
}

/// Adds what a worker gave.
static absl::Status merge(const Manifest &shard, Manifest &all) {
  if (shard.files.size() > 1)
    return absl::DataLossError("it has more than one file");
  for (const auto &[name, variable] : shard.variables) {
    auto [it, isNew] = all.variables.try_emplace(name, Manifest::Variable{variable.dtype, variable.globalShape, {}});
    if (it->second.dtype != variable.dtype || it->second.globalShape != variable.globalShape)
      return absl::FailedPreconditionError(str("variable '", printable(name, 256), "' is ",
                                               describe(variable.dtype, variable.globalShape), ", and ",
                                               describe(it->second.dtype, it->second.globalShape),
                                               " for workers of lower ranks: all workers need the same plan"));
    for (Manifest::Piece piece : variable.pieces) {
      if (piece.file >= shard.files.size())
        return absl::DataLossError("it has a piece without a file");
      piece.file = all.files.size();
      it->second.pieces.push_back(std::move(piece));
    }
  }
  all.files.insert(all.files.end(), shard.files.begin(), shard.files.end());
  return absl::OkStatus();
}

/// Adds what `rank` gave. Its file is there as far as this machine can see.
static absl::Status addShard(Disk &disk, const std::string &folder, const ShardId &id, uint32_t rank, Manifest &all) {
  const std::string marker = inFolder(folder, markerName(rank));
  DGC_ASSIGN_OR_RETURN(Manifest shard, readManifest(disk, marker));
  if (shard.extra != signature(id, rank))
    return absl::FailedPreconditionError(str(marker, ": it is of another attempt to save"));
  DGC_RETURN_IF_ERROR(annotate(merge(shard, all), marker));
  for (const Manifest::File &file : shard.files) {
    const std::string path = inFolder(folder, file.name);
    if (file.name != shardName(rank, id.world))
      return absl::DataLossError(str(marker, ": it has the file ", printable(file.name)));
    DGC_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> opened, disk.open(path));
    if (opened->size() != file.bytes)
      return absl::DataLossError(str(path, " has ", opened->size(), " bytes, and rank ", rank, " wrote ", file.bytes));
  }
  return absl::OkStatus();
}

/// The index of Hugging Face: the tensors that are whole variables.
static std::string indexOf(const Manifest &manifest) {
  nlohmann::ordered_json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", nlohmann::ordered_json::object()}};
  uint64_t total = 0;
  for (const auto &[name, variable] : manifest.variables)
    for (const Manifest::Piece &piece : variable.pieces)
      if (piece.tensor == name && piece.size == variable.globalShape) {
        index["weight_map"][name] = manifest.files[piece.file].name;
        total += *byteSize(variable.dtype, variable.globalShape);
      }
  index["metadata"]["total_size"] = total;
  return index.dump(2) + "\n";
}

/// Whether what has the name of the checkpoint may be replaced: nothing, or a folder of dgc's files.
static absl::Status checkReplaceable(Disk &disk, const std::string &path) {
  if (!disk.exists(path))
    return absl::OkStatus();
  std::string what = "a folder of another user, or none";
  if (disk.isOwnFolder(path)) {
    DGC_ASSIGN_OR_RETURN(std::vector<std::string> names, disk.list(path));
    auto foreign = std::find_if_not(names.begin(), names.end(), isOfCheckpoint);
    if (foreign == names.end())
      return absl::OkStatus();
    what = str("it has ", printable(*foreign, 256));
  }
  return absl::FailedPreconditionError(
      str(path, " is there and is not a checkpoint of dgc alone (", what, "): move it away"));
}

/// Gives the complete folder its name.
static absl::Status publish(Disk &disk, const std::string &dir, const ShardId &id, const std::string &folder) {
  const std::string path = inFolder(dir, stepName(id.step)), replaced = inFolder(dir, replacedName(id.step, id.nonce));
  const bool replaces = disk.exists(path);
  if (replaces)
    DGC_RETURN_IF_ERROR(disk.rename(path, replaced));
  if (absl::Status status = disk.rename(folder, path); !status.ok()) {
    if (replaces)
      disk.rename(replaced, path).IgnoreError(); // or removeLeftovers() does it
    return status;
  }
  DGC_RETURN_IF_ERROR(disk.syncDirectory(dir));
  if (replaces)
    removeCheckpoint(disk, replaced).IgnoreError(); // removeLeftovers() will
  return absl::OkStatus();
}

absl::Status dgc::rt::commitShards(Disk &disk, const std::string &dir, const ShardId &id, const RunState &state,
                                   const std::map<std::string, std::string> &extra) {
  DGC_RETURN_IF_ERROR(checkId(id));
  const std::string folder = inFolder(dir, temporaryName(id.step, id.nonce));
  if (state.step != id.step)
    return absl::InvalidArgumentError(str(folder, ": the state of the run is of step ", state.step));
  for (const auto &[key, value] : extra)
    if (!isUtf8(key) || !isUtf8(value))
      return absl::InvalidArgumentError(str(folder, ": the value of '", printable(key, 256), "' is not UTF-8"));
  DGC_RETURN_IF_ERROR(checkReplaceable(disk, inFolder(dir, stepName(id.step))));
  Manifest manifest;
  manifest.state = toMetadata(state);
  manifest.extra = extra;
  for (uint32_t rank = 0; rank < id.world; ++rank)
    DGC_RETURN_IF_ERROR(addShard(disk, folder, id, rank, manifest));
  DGC_RETURN_IF_ERROR(annotate(checkManifest(manifest), str(folder, ": what the workers wrote is not whole")));
  const std::string index = indexOf(manifest);
  manifest.indexDigest = sha256Of(index);
  auto text = formatManifest(manifest);
  if (!text.ok())
    return annotate(text.status(), folder);
  DGC_RETURN_IF_ERROR(writeNew(disk, inFolder(folder, indexName), index));
  for (uint32_t rank = 0; rank < id.world; ++rank)
    DGC_RETURN_IF_ERROR(disk.remove(inFolder(folder, markerName(rank))));
  DGC_RETURN_IF_ERROR(writeNew(disk, inFolder(folder, manifestName), *text));
  DGC_RETURN_IF_ERROR(disk.syncDirectory(folder));
  return publish(disk, dir, id, folder);
}
