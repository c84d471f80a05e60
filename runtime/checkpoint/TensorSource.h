// Where the tensors of a checkpoint come from: one file, or the files of a folder.
#pragma once

#include "runtime/checkpoint/Safetensors.h"

namespace dgc::rt {

/// An open checkpoint whose structure was checked. Safe to use from several threads.
class TensorSource {
public:
  struct Info {
    DType dtype = DType::F32;
    std::vector<int64_t> shape;
  };

  virtual ~TensorSource() = default;

  /// Opens a safetensors file, or a folder with a manifest. Of a folder the pieces of each tensor cover it, and each file
  /// has the size, the tensors and the digest that the manifest says. What files hold is not compared with their digests.
  static absl::StatusOr<std::unique_ptr<TensorSource>> open(Disk &disk, const std::string &path);

  const std::string &path() const { return path_; }
  const std::map<std::string, Info> &tensors() const { return tensors_; } // whole ones
  const Metadata &metadata() const { return metadata_; }                  // has the state of the run
  const Metadata &extra() const { return extra_; }                        // of a folder

  /// Reads the block of `size` elements per dimension from `start` on of the tensor `name`, which must be there, dense and
  /// row-major.
  virtual absl::Status read(const std::string &name, std::span<const int64_t> start, std::span<const int64_t> size,
                            std::span<std::byte> out) const = 0;

  /// How many files there are.
  virtual size_t numShards() const = 0;
  /// Compares file `i` with its digest. OK where it has none.
  virtual absl::Status verifyShard(size_t i) const = 0;

protected:
  std::string path_;
  std::map<std::string, Info> tensors_;
  Metadata metadata_, extra_;
};

/// The metadata of the checkpoint alone. Of a folder the manifest is all that is read.
absl::StatusOr<Metadata> readCheckpointMetadata(Disk &disk, const std::string &path);

} // namespace dgc::rt
