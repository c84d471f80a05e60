// Opens checkpoints of one file and of many.
#include "runtime/checkpoint/TensorSource.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Shape.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/ShardNames.h"
#include "runtime/checkpoint/ShardedCheckpoint.h"

#include <algorithm>

using namespace dgc::rt;

namespace {
class FileSource final : public TensorSource {
public:
  static absl::StatusOr<std::unique_ptr<TensorSource>> open(Disk &disk, const std::string &path);

  absl::Status read(const std::string &name, std::span<const int64_t> start, std::span<const int64_t> size,
                    std::span<std::byte> out) const override {
    return file.readBlock(file.entries().at(name), start, size, out);
  }
  size_t numShards() const override { return 1; }
  absl::Status verifyShard(size_t) const override { return file.verify(); }

private:
  explicit FileSource(SafetensorsFile opened) : file(std::move(opened)) {
    path_ = file.path();
    metadata_ = file.metadata();
    for (const auto &[name, entry] : file.entries())
      tensors_[name] = {entry.dtype, entry.shape};
  }

  SafetensorsFile file;
};

class FolderSource final : public TensorSource {
public:
  static absl::StatusOr<std::unique_ptr<TensorSource>> open(Disk &disk, const std::string &path);

  absl::Status read(const std::string &name, std::span<const int64_t> start, std::span<const int64_t> size,
                    std::span<std::byte> out) const override;
  size_t numShards() const override { return files.size(); }
  absl::Status verifyShard(size_t i) const override { return files[i].verify(); }

private:
  FolderSource(const std::string &path, Manifest read) : manifest(std::move(read)) {
    path_ = path;
    metadata_ = manifest.state;
    extra_ = manifest.extra;
    for (const auto &[name, variable] : manifest.variables)
      tensors_[name] = {variable.dtype, variable.globalShape};
  }
  absl::Status checkIndex(Disk &disk) const;
  absl::Status openFiles(Disk &disk);
  absl::Status checkPieces() const;

  Manifest manifest;
  std::vector<SafetensorsFile> files; // as the manifest has them
};
} // namespace

static bool isFolderWithManifest(Disk &disk, const std::string &path) {
  return disk.exists(inFolder(path, manifestName));
}

/// What is wrong with a path that cannot be opened as a file: where it is a folder, what to name in its place.
static absl::Status explain(Disk &disk, const std::string &path, const absl::Status &status) {
  if (!disk.list(path).ok())
    return status;
  auto found = listCheckpoints(disk, path);
  if (found.ok() && !found->empty())
    return badData(str(path, " is a folder of checkpoints: name one of them, as ", found->front().path));
  return badData(str(path, " is a folder without a checkpoint in it: it has no ", manifestName));
}

absl::StatusOr<std::unique_ptr<TensorSource>> FileSource::open(Disk &disk, const std::string &path) {
  auto file = SafetensorsFile::open(disk, path);
  if (!file.ok())
    return explain(disk, path, file.status());
  return std::unique_ptr<TensorSource>(new FileSource(*std::move(file)));
}

//===-- Folders ---------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<TensorSource>> FolderSource::open(Disk &disk, const std::string &path) {
  const std::string manifestPath = inFolder(path, manifestName);
  DGC_ASSIGN_OR_RETURN(Manifest manifest, readManifest(disk, manifestPath));
  DGC_RETURN_IF_ERROR(annotate(checkManifest(manifest), manifestPath));
  std::unique_ptr<FolderSource> source(new FolderSource(path, std::move(manifest)));
  DGC_RETURN_IF_ERROR(source->checkIndex(disk));
  DGC_RETURN_IF_ERROR(source->openFiles(disk));
  DGC_RETURN_IF_ERROR(source->checkPieces());
  return std::unique_ptr<TensorSource>(std::move(source));
}

static constexpr std::string_view advice = ": it was damaged or replaced; take another checkpoint";

/// The index is for other programs, and small.
absl::Status FolderSource::checkIndex(Disk &disk) const {
  if (manifest.indexDigest.empty())
    return absl::OkStatus();
  const std::string path = inFolder(path_, indexName);
  auto text = readFile(disk, path, uint64_t{256} << 20);
  if (!text.ok())
    return withExitCode(text.status(), ExitCode::BadData);
  return sha256Of(*text) == manifest.indexDigest
             ? absl::OkStatus()
             : badData(str(path, " has another SHA-256 than ", manifestName, " says", advice));
}

absl::Status FolderSource::openFiles(Disk &disk) {
  for (const Manifest::File &listed : manifest.files) {
    DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(disk, inFolder(path_, listed.name)));
    if (file.bytes() != listed.bytes)
      return badData(
          str(file.path(), " has ", file.bytes(), " bytes, and ", listed.bytes, " in ", manifestName, advice));
    auto digest = file.metadata().find(std::string(digestKey));
    if (digest == file.metadata().end() || digest->second != listed.digest)
      return badData(str(file.path(), " has another ", digestKey, " than ", manifestName, " says", advice));
    files.push_back(std::move(file));
  }
  return absl::OkStatus();
}

/// Whether each piece is a tensor, and each tensor a piece.
absl::Status FolderSource::checkPieces() const {
  std::vector<size_t> pieces(files.size()); // of each file; no two are the same tensor
  for (const auto &[name, variable] : manifest.variables)
    for (const Manifest::Piece &piece : variable.pieces) {
      const SafetensorsFile &file = files[piece.file];
      auto entry = file.entries().find(piece.tensor);
      const std::string shown = str("tensor ", printable(piece.tensor, 256));
      if (entry == file.entries().end())
        return badData(str(file.path(), " lacks the ", shown, " that ", manifestName, " says"));
      if (entry->second.dtype != variable.dtype || entry->second.shape != piece.size)
        return badData(str(file.path(), ": ", shown, " is ", describe(entry->second.dtype, entry->second.shape),
                           ", and ", describe(variable.dtype, piece.size), " in ", manifestName));
      ++pieces[piece.file];
    }
  for (size_t i = 0; i < files.size(); ++i)
    if (pieces[i] != files[i].entries().size())
      return badData(
          str(files[i].path(), " has ", files[i].entries().size(), " tensors, and ", pieces[i], " in ", manifestName));
  return absl::OkStatus();
}

/// Where a block and a piece overlap, along each dimension: from the beginnings of both, and how many elements. False
/// where they do not.
static bool overlap(std::span<const int64_t> start, std::span<const int64_t> size, const Manifest::Piece &piece,
                    std::vector<int64_t> &inBlock, std::vector<int64_t> &inPiece, std::vector<int64_t> &count) {
  const size_t rank = size.size();
  inBlock.resize(rank);
  inPiece.resize(rank);
  count.resize(rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t begin = std::max(start[d], piece.start[d]);
    count[d] = std::min(start[d] + size[d], piece.start[d] + piece.size[d]) - begin;
    if (count[d] <= 0)
      return false;
    inBlock[d] = begin - start[d];
    inPiece[d] = begin - piece.start[d];
  }
  return true;
}

absl::Status FolderSource::read(const std::string &name, std::span<const int64_t> start, std::span<const int64_t> size,
                                std::span<std::byte> out) const {
  const Manifest::Variable &variable = manifest.variables.at(name);
  if (!isBlockInside(variable.globalShape, start, size) || out.size() != byteSize(variable.dtype, size))
    return absl::InvalidArgumentError(
        str(path_, ": a block that is not inside of ", describe(variable.dtype, variable.globalShape)));
  std::vector<int64_t> inBlock, inPiece, count;
  for (const Manifest::Piece &piece : variable.pieces) {
    if (!overlap(start, size, piece, inBlock, inPiece, count))
      continue;
    size_t first = 0; // the first element of the overlap in the block
    for (size_t d = 0; d < size.size(); ++d)
      first = first * static_cast<size_t>(size[d]) + static_cast<size_t>(inBlock[d]);
    const SafetensorsFile &file = files[piece.file];
    DGC_RETURN_IF_ERROR(file.readInto(file.entries().at(piece.tensor), inPiece, count, size,
                                      out.subspan(first * sizeOf(variable.dtype))));
  }
  return absl::OkStatus();
}

//===-- Either ----------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<TensorSource>> TensorSource::open(Disk &disk, const std::string &path) {
  return isFolderWithManifest(disk, path) ? FolderSource::open(disk, path) : FileSource::open(disk, path);
}

absl::StatusOr<Metadata> dgc::rt::readCheckpointMetadata(Disk &disk, const std::string &path) {
  if (isFolderWithManifest(disk, path)) {
    DGC_ASSIGN_OR_RETURN(Manifest manifest, readManifest(disk, inFolder(path, manifestName)));
    return std::move(manifest.state);
  }
  auto file = SafetensorsFile::open(disk, path);
  if (!file.ok())
    return explain(disk, path, file.status());
  return file->metadata();
}
