// The manifest of a sharded checkpoint: which file holds which block of which variable.
//
// It is a JSON object whose last member is the SHA-256 of all text ahead of `,\n"sha256"`:
//   {
//   "format": "dgc checkpoint",
//   "version": 1,
//   "state": {"dgc.step": "500", ...},            as the metadata of a checkpoint of one file
//   "extra": {...},                               strings of who saved it
//   "index.sha256": "...",                        of model.safetensors.index.json
//   "files": [
//   {"name": "model-00001-of-00002.safetensors", "size": 4096, "dgc.sha256": "..."}, ...
//   ],
//   "variables": {
//   "w": {"dtype": "f32", "shape": [64, 128], "pieces": [
//    {"file": 0, "tensor": "w[0:32,0:128]", "start": [0, 0], "size": [32, 128]}, ...]}, ...
//   },
//   "sha256": "..."
//   }
// The digest of a file is the one in its own metadata, for which the digits of the digest count as zeros.
// What a worker gave is written in the same form, with one file or none.
#pragma once

#include "runtime/checkpoint/Safetensors.h"

namespace dgc::rt {

struct Manifest {
  struct File {
    std::string name; // in the folder of the manifest
    uint64_t bytes = 0;
    std::string digest; // 64 hex digits
  };
  /// A block of a variable, which is a whole tensor of a file.
  struct Piece {
    uint64_t file = 0; // an index of `files`
    std::string tensor;
    std::vector<int64_t> start, size;
  };
  struct Variable {
    DType dtype = DType::F32;
    std::vector<int64_t> globalShape;
    std::vector<Piece> pieces;
  };

  Metadata state, extra;
  std::string indexDigest; // 64 hex digits; empty: no index
  std::vector<File> files;
  std::map<std::string, Variable> variables;
};

/// The text of a manifest. An error when it would have more than 256 MiB.
absl::StatusOr<std::string> formatManifest(const Manifest &manifest);

/// Reads a manifest: its digest matches, and every member is there once and of its type. What the members say is not
/// compared. Takes little more memory than the text.
absl::StatusOr<Manifest> parseManifest(std::string_view text);

/// The same from a file of at most 256 MiB. Errors name it.
absl::StatusOr<Manifest> readManifest(Disk &disk, const std::string &path);

/// Whether files have distinct plain names, and the pieces of each variable cover it: each element is in one of them.
absl::Status checkManifest(const Manifest &manifest);

} // namespace dgc::rt
