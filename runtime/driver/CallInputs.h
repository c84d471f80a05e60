// --feed: arrays of .npz files as the arguments of calls.
#pragma once

#include "runtime/base/Disk.h"
#include "runtime/data/Npz.h"
#include "runtime/driver/Signature.h"
#include "runtime/executor/Executor.h"

namespace dgc::rt {

/// A file for each call of an entry. An array is for the argument of its name, an input before a variable, or for that of
/// the position N where it is called inN. The arrays are whole; each worker takes its part.
class CallInputs {
public:
  struct Options {
    std::vector<std::string> files;
    bool areVariablesLoaded = false; // those that are arguments by position need no value then
  };

  /// Checks all files as far as their headers tell. Every input must be in each; variables that the plan has as an
  /// argument and no initial value for, in the first one. A file may have fewer examples than the global batch, the same number in all its inputs.
  static absl::StatusOr<CallInputs> open(Disk &disk, const artifact::Plan &plan, const std::string &entry,
                                         Options options);

  size_t size() const { return options.files.size(); }

  /// What the files hold, in a few bytes.
  const std::string &digest() const { return digest_; }

  /// Fills the inputs and variables of this worker from file `i`; returns how many of the examples are real. The others
  /// repeat the last one.
  absl::StatusOr<int64_t> load(size_t i, Executor &executor, const ProgramRunner &runner) const;

private:
  /// A file with its arrays and what they are for.
  struct Call {
    NpzFile file;
    std::vector<std::pair<size_t, size_t>> arrays; // index into arguments, and into file.entries()
    int64_t valid;
    std::string digest;
  };

  CallInputs(Disk &disk, const artifact::Plan &plan, const std::string &entry, Options options);
  absl::StatusOr<Call> bind(size_t i) const;
  absl::StatusOr<size_t> argumentOf(const std::string &path, const std::string &name) const;
  absl::Status check(const Parameter &argument, const ArrayHeader &array, std::optional<int64_t> &valid) const;
  absl::Status checkComplete(size_t i, const Call &call) const;
  absl::Status checkShort(const std::string &path, int64_t valid) const;
  std::string list() const;

  Disk *disk;
  const artifact::Plan *plan;
  std::string entry;
  Options options;
  std::vector<Parameter> arguments;
  std::vector<std::string> digests; // of the files, when they were checked
  std::string digest_;
};

} // namespace dgc::rt
