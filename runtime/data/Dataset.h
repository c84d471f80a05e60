// A folder of arrays: which file serves which input of a program.
#pragma once

#include "runtime/data/Tokens.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace dgc::rt {

/// The arrays of --data DIR, read when they are first asked for and kept.
///
/// Input `x` of split `s` ("train", "test") is the first of these that exists:
///   s-x.npy, s-x.idx, x.npy, x.idx, and the same with .gz appended;
///   for x = image and label the names of MNIST: train-images-idx3-ubyte,
///   train-labels-idx1-ubyte, t10k-..., with or without .gz.
/// A file without a split in its name serves every split.
///
/// The inputs `tokens` and `next_tokens`, where no array serves them, are windows of the only sequence of tokens in the
/// folder, and the same windows one token later. A sequence is a text in UTF-8 (.txt), whose tokens are its characters,
/// or raw little-endian numbers (.u16, .i32), also with .gz appended. The numbers of characters are those of the lines of
/// vocabulary.txt, or ascending over the characters that the text has.
class Dataset {
public:
  /// Lists the folder; an error where there is none.
  static absl::StatusOr<Dataset> open(Disk &disk, std::string folder);

  /// Whether some file serves `input` of `split`.
  bool has(std::string_view split, std::string_view input) const;

  /// Whether an array will do, by its header.
  using Accept = std::function<absl::Status(const ArrayHeader &)>;

  /// The array that serves `input` of `split`. Lives as long as the data set. An error lists what the folder has, or is
  /// that of `accept`, which sees the header before any memory is taken for the elements.
  absl::StatusOr<const Array *> find(std::string_view split, std::string_view input, const Accept &accept = nullptr);

  /// The distance of an input of token windows from the first token of a window; nothing for other inputs, and where
  /// an array serves it.
  std::optional<int64_t> tokenShift(std::string_view split, std::string_view input) const;

  /// The sequence of tokens. Lives as long as the data set. An error lists what the folder has.
  absl::StatusOr<const Tokens *> tokens();

  /// The names in the folder that serve `input` of any split, or its tokens.
  std::set<std::string> filesOf(std::string_view input) const;

  /// What the folder has, one array after the other, for messages: "train image u8 [60000x28x28] in
  /// train-images-idx3-ubyte.gz; ...". Reads headers only.
  std::string contents() const;

  const std::string &folder() const { return folder_; }

private:
  Dataset(Disk &disk, std::string folder, std::vector<std::string> names)
      : disk(&disk), folder_(std::move(folder)), names(std::move(names)) {}

  /// The file that serves an input; empty where there is none.
  std::string fileOf(std::string_view split, std::string_view input) const;
  absl::StatusOr<ArrayHeader> headerOf(const std::string &name) const;
  absl::StatusOr<const Array *> load(const std::string &name);
  std::vector<std::string> tokenFiles() const;
  absl::StatusOr<Tokens> loadTokens(const std::string &name);

  Disk *disk;
  std::string folder_;
  std::vector<std::string> names;                       // sorted
  std::map<std::string, std::unique_ptr<Array>> arrays; // by file name
  std::unique_ptr<Tokens> sequence;
};

} // namespace dgc::rt
