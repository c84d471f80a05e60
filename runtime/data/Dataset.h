// A folder of arrays: which file serves which input of a program.
#pragma once

#include "runtime/data/Array.h"

#include <map>
#include <memory>

namespace dgc::rt {

/// The arrays of --data DIR, read when they are first asked for and kept.
///
/// Input `x` of split `s` ("train", "test") is the first of these that exists:
///   s-x.npy, s-x.idx, x.npy, x.idx, and with .gz behind;
///   for x = image and label the names of MNIST: train-images-idx3-ubyte,
///   train-labels-idx1-ubyte, t10k-..., with or without .gz.
/// A file without a split in its name serves every split.
class Dataset {
public:
  /// Lists the folder; an error where there is none.
  static absl::StatusOr<Dataset> open(Disk &disk, std::string folder);

  /// Whether some file serves `input` of `split`.
  bool has(std::string_view split, std::string_view input) const;

  /// The array that serves `input` of `split`. Lives as long as the data set.
  /// An error lists what the folder has.
  absl::StatusOr<const Array *> find(std::string_view split,
                                     std::string_view input);

  /// What the folder has, one array after the other, for messages: "train
  /// image u8 [60000x28x28] in train-images-idx3-ubyte.gz; ...". Reads the
  /// files that were not read yet.
  std::string contents();

  const std::string &folder() const { return folder_; }

private:
  Dataset(Disk &disk, std::string folder, std::vector<std::string> names)
      : disk(&disk), folder_(std::move(folder)), names(std::move(names)) {}

  /// The file that serves an input; empty where there is none.
  std::string fileOf(std::string_view split, std::string_view input) const;
  absl::StatusOr<const Array *> load(const std::string &name);

  Disk *disk;
  std::string folder_;
  std::vector<std::string> names;                       // sorted
  std::map<std::string, std::unique_ptr<Array>> arrays; // by file name
};

} // namespace dgc::rt
